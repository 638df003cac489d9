"""The evaluator: one function from an expression and a scope to a value.

Values are exact rationals, fields, tensors, truths, margins, formats, choices and transforms. Predicates that
compare against a tolerance give margins; all other predicates give truths, and `margins.py` joins the two.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

from kernelcontracts.evaluate import arithmetic, connectives
from kernelcontracts.evaluate.comparison import identical, within
from kernelcontracts.evaluate.field import Logical, Range, Tensor
from kernelcontracts.evaluate.functions import FUNCTIONS
from kernelcontracts.evaluate.functions.products import matmul
from kernelcontracts.evaluate.meaning import MEANING, meaning_of
from kernelcontracts.evaluate.quantity import quantity
from kernelcontracts.evaluate.scope import Scope, UnresolvedError, literal_choice
from kernelcontracts.lang.expr import (
    Binary,
    Call,
    Compare,
    Expr,
    Identical,
    If,
    In,
    Member,
    Name,
    Number,
    Quantity,
    RecordLiteral,
    SetLiteral,
    Text,
    Unary,
    Within,
)
from kernelcontracts.lang.values import Choice

if TYPE_CHECKING:
    from collections.abc import Sequence


def evaluate(expr: Expr, scope: Scope) -> Any:
    """Return the value of an expression.

    Raises
    ------
    NotCompletedError
        If the candidate's output is read although its call did not complete.
    UnresolvedError
        If a name has no meaning here, which a checked contract rules out.
    """
    match expr:
        case Number(value=value):
            return value
        case Text(value=text):
            return text
        case Name(id=name):
            return _name(name, scope)
        case Member(base=Name(id=base), name=name):
            return _member(base, name, scope)
        case Unary(op=op, operand=operand):
            return _unary(op, evaluate(operand, scope))
        case Binary(op="and" | "or" | "implies" as op, left=left, right=right):
            return _connective(op, left, right, scope)
        case Binary(op="@", left=left, right=right):
            return matmul(evaluate(left, scope), evaluate(right, scope))
        case Binary(op="..", left=left, right=right):
            return Range(evaluate(left, scope), evaluate(right, scope))
        case Binary(op=op, left=left, right=right):
            return arithmetic.binary(op, evaluate(left, scope), evaluate(right, scope))
        case Compare():
            return _chain(expr, scope)
        case In(item=item, domain=domain):
            return _in(evaluate(item, scope), evaluate(domain, scope))
        case Within():
            return _within(expr, scope)
        case Identical(left=left, right=right):
            return identical(evaluate(left, scope), evaluate(right, scope))
        case If(condition=condition, yes=yes, no=no):
            return _if(evaluate(condition, scope), yes, no, scope)
        case Call():
            return _call(expr, scope)
        case Quantity():
            return quantity(expr, scope, evaluate, reference)
        case SetLiteral(items=items):
            return tuple(evaluate(item, scope) for item in items)
        case RecordLiteral(fields=fields):
            return _record(fields)
    raise UnresolvedError(f"no value for {type(expr).__name__}")


def _record(fields: Sequence[tuple[str, Expr]]) -> Choice:
    from kernelcontracts.lang.decisions import value_of_expr

    return value_of_expr(RecordLiteral(tuple(fields)))  # type: ignore[return-value]  # a record is a Choice


def _name(name: str, scope: Scope) -> Any:
    if name in scope.bindings:
        return scope.bindings[name]
    if name in ("true", "false"):
        return name == "true"
    case = scope.case
    if any(p.name == name for p in case.operator.inputs):
        return case.tensor(name)
    if name in (case.output.name, "output"):
        return _output(scope)
    if name in case.shape:
        return case.shape[name]
    if scope.defined(name):
        return scope.let(name, evaluate)
    if name in ("ref", "meaning"):
        return reference(scope, name)
    if any(event.label == name for event in case.operator.events):
        return scope.let(name, evaluate, space="operator")
    if name in ("completed", "raised"):
        return FUNCTIONS[name](Call(name), scope, evaluate)
    return literal_choice(name)


def _output(scope: Scope) -> Tensor:
    if scope.observed is None:
        raise UnresolvedError("the candidate's output has no value here")
    out = scope.case.output
    array = scope.observed.array(out.name)
    return Tensor(out.name, scope.case.output_dims(), array, scope.case.format_of(out.name), candidate=True)


def reference(scope: Scope, name: str = "ref") -> Any:
    """Return the reference: the contract's own binding ``ref``, or the operator's meaning."""
    contract = scope.program.contract
    if name == "ref" and "ref" in contract.lets:
        return scope.let("ref", evaluate, space="contract")
    if MEANING not in scope.case.cache:
        scope.case.cache[MEANING] = meaning_of(scope.case)
    return scope.case.cache[MEANING]


def _member(base: str, name: str, scope: Scope) -> Any:
    if base == "claim":
        return scope.claim(name)
    if base == "op":
        return scope.let(name, evaluate, space="operator")
    raise UnresolvedError(f"`{base}.{name}` has no value here")


def _unary(op: str, value: Any) -> Any:
    if op == "not":
        return connectives.negate(value)
    if op == "-":
        return -value if arithmetic.is_scalar(value) else arithmetic.unary(lambda x: -x, value)
    return abs(value) if arithmetic.is_scalar(value) else arithmetic.unary(abs, value)


def _connective(op: str, left: Expr, right: Expr, scope: Scope) -> Any:
    """Join two predicates. The right side is not looked at where the left side settles it everywhere."""
    first = evaluate(left, scope)
    if connectives.settles(op, first):
        return connectives.settled(op)
    return connectives.join(op, first, evaluate(right, scope))


def _chain(expr: Compare, scope: Scope) -> Any:
    values = [evaluate(operand, scope) for operand in expr.operands]
    result: Any = True
    for op, left, right in zip(expr.ops, values, values[1:], strict=False):
        result = connectives.join("and", result, arithmetic.compare(op, left, right))
    return result


def _in(item: Any, domain: Any) -> Any:
    """Tell whether a value lies in a range or is a member of a set."""
    if isinstance(domain, Range):
        above, below = arithmetic.compare(">=", item, domain.low), arithmetic.compare("<=", item, domain.high)
        return connectives.join("and", above, below)
    result: Any = False
    for value in domain:
        result = connectives.join("or", result, arithmetic.compare("==", item, value))
    return result


def _within(expr: Within, scope: Scope) -> Any:
    target = evaluate(expr.reference, scope)
    tolerance = evaluate(expr.tolerance, scope.anchored(target))
    return within(evaluate(expr.actual, scope), tolerance, target)


def _if(condition: Any, yes: Expr, no: Expr, scope: Scope) -> Any:
    if isinstance(condition, Logical):
        from kernelcontracts.evaluate.functions.elementwise import where

        return where(condition, evaluate(yes, scope), evaluate(no, scope))
    return evaluate(yes if condition else no, scope)


def _call(expr: Call, scope: Scope) -> Any:
    function = FUNCTIONS.get(expr.function)
    if function is not None:
        return function(expr, scope, evaluate)
    # a parametrised value of a decision: to(tf32), pairwise(128)
    args = tuple(_choice_argument(arg, scope) for arg in expr.args)
    return Choice(expr.function, args)


def _choice_argument(arg: Expr, scope: Scope) -> int | str:
    if isinstance(arg, Name):
        return arg.id
    value = evaluate(arg, scope)
    assert isinstance(value, Fraction | int), "arguments of a decision's value are names or numbers"
    return int(value)
