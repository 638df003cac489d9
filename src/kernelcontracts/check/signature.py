"""Naming the cause: the first violation signature whose condition the residual features meet.

A signature is looked at after the verdict and cannot change it. A feature that could not be measured leaves its
condition unmet: a cause is named only on evidence.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kernelcontracts.check.residuals import features_of
from kernelcontracts.kernels.observation import Outcome
from kernelcontracts.lang.decisions import value_of_expr
from kernelcontracts.lang.expr import (
    Binary,
    Call,
    Compare,
    Expr,
    Feature,
    In,
    Member,
    Name,
    Number,
    SetLiteral,
    Unary,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kernelcontracts.diagnose.features import Features
    from kernelcontracts.engine.run import Candidate, Run
    from kernelcontracts.lang.values import ClaimValue

SILENT = (Outcome.TIMED_OUT, Outcome.DIED)
"""Outcomes without an answer."""


def name_cause(run: Run, candidate: Candidate) -> tuple[str | None, str]:
    """Return the name and message of the first signature that matches, or ``(None, "")``."""
    if run.failures and all(f.observed.observation.outcome in SILENT for f in run.failures):
        # nothing was answered that could be compared, and asking again may cost a time limit or a process each
        return None, ""
    signatures = run.judge.instance.contract.violation or ()
    features = features_of(run, candidate)
    claims = run.judge.readings[0] if run.judge.readings else {}
    for signature in signatures:
        if _holds(signature.condition, features, claims) is True:
            return signature.name, signature.message
    return None, ""


def _holds(expr: Expr, features: Features, claims: Mapping[str, ClaimValue]) -> bool | None:
    """Return a condition's truth, or ``None`` where a feature is unknown."""
    match expr:
        case Binary(op="and", left=left, right=right):
            return _both(_holds(left, features, claims), _holds(right, features, claims))
        case Binary(op="or", left=left, right=right):
            return _negated(
                _both(
                    _negated(_holds(left, features, claims)),
                    _negated(_holds(right, features, claims)),
                )
            )
        case Unary(op="not", operand=operand):
            return _negated(_holds(operand, features, claims))
        case Compare(operands=(left, right), ops=(op,)):
            return _compared(op, _value(left, features, claims), _value(right, features, claims))
        case In(item=item, domain=SetLiteral(items=items)):
            value = _value(item, features, claims)
            return None if value is None else value in [_value(i, features, claims) for i in items]
    value = _value(expr, features, claims)
    return None if value is None else bool(value)


def _both(left: bool | None, right: bool | None) -> bool | None:
    if left is False or right is False:
        return False
    return None if left is None or right is None else True


def _negated(value: bool | None) -> bool | None:
    return None if value is None else not value


def _compared(op: str, left: Any, right: Any) -> bool | None:
    if left is None or right is None:
        return None
    table = {
        "==": lambda: left == right,
        "!=": lambda: left != right,
        "<": lambda: left < right,
        "<=": lambda: left <= right,
        ">": lambda: left > right,
        ">=": lambda: left >= right,
    }
    return bool(table[op]())


def _value(expr: Expr, features: Features, claims: Mapping[str, ClaimValue]) -> Any:
    match expr:
        case Feature(name=name, args=args):
            return features.value(name, tuple(_argument(arg) for arg in args))
        case Member(base=Name(id="r"), name=name):
            return features.value(name)
        case Member(base=Name(id="claim"), name=name):
            return claims.get(name)
        case Number(value=value):
            return float(value)
        case Name() | Call():
            return value_of_expr(expr)
    raise AssertionError(f"a signature may not contain {type(expr).__name__}")


def _argument(arg: Expr) -> Any:
    return arg.id if isinstance(arg, Name) else value_of_expr(arg)
