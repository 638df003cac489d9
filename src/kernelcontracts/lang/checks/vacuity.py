"""E0901: no clause accepts every result.

This is the symbolic part: what can be seen without running anything. That zeros, means or permuted rows do not pass is
measured by calibration.
"""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

from kernelcontracts.formats.facts import FORMATS
from kernelcontracts.lang.checks.monotone import view_setting
from kernelcontracts.lang.checks.shadow import Point, Shadow
from kernelcontracts.lang.decl import Ladder, Match
from kernelcontracts.lang.diagnostics import diagnostic
from kernelcontracts.lang.expr import Binary, Compare, Identical, Name, Number, Unary, Within
from kernelcontracts.lang.walk import clause_parts, member_path, walk

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from kernelcontracts.lang.checks.context import View
    from kernelcontracts.lang.checks.monotone import Setting
    from kernelcontracts.lang.decl import Clause
    from kernelcontracts.lang.diagnostics import Diagnostic
    from kernelcontracts.lang.expr import Expr
    from kernelcontracts.lang.span import Span


def check_view(view: View) -> Iterator[Diagnostic]:
    """Yield clauses and tolerances that accept everything."""
    contract = view.contract
    if contract.post is None:
        return
    if not contract.post:
        yield _empty(view, "this contract has no clause", "asks for nothing", contract.span)
    setting = view_setting(view, bounds=False)
    for clause in contract.post:
        yield from _check_clause(clause, view)
        yield from _check_guards(clause, setting, view)
        yield from _check_widths(clause, setting, view)
    for bound in contract.tolerance or ():
        yield from _check_width(bound.value, setting, view)


def _empty(view: View, message: str, label: str, span: Span | None, *notes: str) -> Diagnostic:
    return diagnostic(
        "E0901",
        message,
        source=view.source,
        span=span,
        label=label,
        notes=notes or ("a clause that nothing can violate says nothing about a kernel",),
        help="ask for something that a wrong kernel would not do, or delete it",
    )


# --- clauses that are true ---------------------------------------------------------------------------------------


def _check_clause(clause: Clause, view: View) -> Iterator[Diagnostic]:
    match clause:
        case Match():
            trivial = all(always_true(arm.predicate) for arm in clause.arms)
        case Ladder():
            trivial = all(s.predicate is None or always_true(s.predicate) for s in clause.steps)
        case _:
            trivial = always_true(clause.predicate)
    if trivial:
        yield _empty(view, f"the clause `{clause.label}` accepts every result", "always true", clause.span)


def always_true(expr: Expr) -> bool:
    """Whether a predicate is true by its form."""
    match expr:
        case Name(id="true"):
            return True
        case Unary(op="not"):
            return always_false(expr.operand)
        case Binary(op="and"):
            return always_true(expr.left) and always_true(expr.right)
        case Binary(op="or"):
            return always_true(expr.left) or always_true(expr.right)
        case Binary(op="implies"):
            return always_false(expr.left) or always_true(expr.right)
        case Identical():
            return expr.left == expr.right
        case Compare():
            steps = zip(expr.operands, expr.ops, expr.operands[1:], strict=False)
            return all(_holds(a, op, b) for a, op, b in steps)
    return False


def always_false(expr: Expr) -> bool:
    """Whether a predicate is false by its form."""
    match expr:
        case Name(id="false"):
            return True
        case Unary(op="not"):
            return always_true(expr.operand)
        case Binary(op="and"):
            return always_false(expr.left) or always_false(expr.right)
        case Binary(op="or"):
            return always_false(expr.left) and always_false(expr.right)
    return False


def _holds(left: Expr, op: str, right: Expr) -> bool:
    """Whether a comparison holds whatever is computed: both sides equal, numbers, or a size that is never negative."""
    if op in {"<=", ">=", "=="} and left == right:
        return True
    if isinstance(left, Number) and isinstance(right, Number):
        a, b = left.value, right.value
        return {"<": a < b, "<=": a <= b, ">": a > b, ">=": a >= b, "==": a == b, "!=": a != b}[op]
    low, high = (right, left) if op == ">=" else (left, right)
    absolute = isinstance(high, Unary) and high.op == "abs"
    return op in {"<=", ">="} and absolute and isinstance(low, Number) and low.value <= 0


# --- guards that are false ---------------------------------------------------------------------------------------


def _check_guards(clause: Clause, setting: Setting, view: View) -> Iterator[Diagnostic]:
    for part in clause_parts(clause):
        for node in walk(part):
            if isinstance(node, Binary) and node.op == "implies" and _never(node.left, setting):
                yield _empty(
                    view,
                    f"the clause `{clause.label}` is never asked",
                    "false for every value that may be claimed",
                    node.left.span,
                )


def _never(guard: Expr, setting: Setting) -> bool:
    """Whether a guard over claims is false for all of them."""
    names = sorted({path[1] for n in walk(guard) if (path := member_path(n)) is not None and path[0] == "claim"})
    if not names or any(n not in setting.domains for n in names) or len(names) > 3:
        return False
    rows = product(*(setting.domains[n] for n in names))
    truths = [Shadow(setting.world, Point(dict(zip(names, row, strict=True)))).truth(guard) for row in rows]
    return bool(truths) and all(t is False for t in truths)


# --- tolerances without a limit ----------------------------------------------------------------------------------


def _check_widths(clause: Clause, setting: Setting, view: View) -> Iterator[Diagnostic]:
    for part in clause_parts(clause):
        for node in walk(part):
            if isinstance(node, Within) and not isinstance(node.tolerance, Name):
                yield from _check_width(node.tolerance, setting, view)


def _check_width(expr: Expr, setting: Setting, view: View) -> Iterator[Diagnostic]:
    """Twice the largest finite number is the largest distance of two finite results."""
    if setting.world.outputs and all(_covers(expr, types, setting) for types in setting.typings):
        yield _empty(
            view,
            "this tolerance accepts every finite result",
            "at least twice the largest finite number, even for zero inputs",
            expr.span,
            "no two finite numbers of the output's format are further apart",
        )


def _covers(expr: Expr, types: Mapping[str, str], setting: Setting) -> bool:
    output = FORMATS.get(types.get(setting.world.outputs[0], ""))
    if output is None:
        return False
    claims = {name: values[0] for name, values in setting.domains.items() if values}
    least = Shadow(setting.world, Point(claims, 1, 0.0, types)).number(expr)
    return least is not None and least >= 2 * output.maxfinite
