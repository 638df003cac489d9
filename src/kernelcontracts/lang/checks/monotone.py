"""E0401: claiming more may not loosen anything.

Tolerances must not grow, and preconditions not shrink, when one claim is strengthened and the rest stay. Only then do
two evaluations decide for all completions of an incomplete claim sheet, and only then does a vendor gain nothing by
claiming more than is true. Where sign rules prove it nothing is computed; elsewhere the bound is evaluated for
every value of the decision, at several sizes, magnitudes, formats and values of the other claims.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernelcontracts.lang.checks.counterexample import LIMITS, MAGNITUDES, SIZES, SLACK, Witness, loosening, shrinking
from kernelcontracts.lang.checks.provenance import view_labels
from kernelcontracts.lang.checks.setting import Setting, entry_setting, view_setting
from kernelcontracts.lang.checks.shadow import Point, Shadow
from kernelcontracts.lang.checks.variance import Trends
from kernelcontracts.lang.diagnostics import diagnostic
from kernelcontracts.lang.expr import Binary, Compare, In, Member, Name, Number, Unary, Within
from kernelcontracts.lang.walk import children, clause_parts, member_path, walk

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kernelcontracts.lang.checks.context import Entry, View
    from kernelcontracts.lang.decl import Decision
    from kernelcontracts.lang.diagnostics import Diagnostic
    from kernelcontracts.lang.expr import Expr

__all__ = [
    "LIMITS",
    "MAGNITUDES",
    "SIZES",
    "SLACK",
    "Setting",
    "Witness",
    "check_entry",
    "check_view",
    "entry_setting",
    "view_setting",
]


def check_entry(entry: Entry) -> Iterator[Diagnostic]:
    """Yield error bounds of an operator that grow with a stronger claim."""
    setting = entry_setting(entry)
    for bound in entry.operator.errors:
        yield from _check_bound(bound.value, setting, entry, loosens="+")


def check_view(view: View) -> Iterator[Diagnostic]:
    """Yield tolerances that grow, and preconditions that shrink, with a stronger claim."""
    setting = view_setting(view, bounds=False)
    for bound in view.contract.tolerance or ():
        yield from _check_bound(bound.value, setting, view.entry, loosens="+")
    for item in view.contract.pre or ():
        yield from _check_selection(item.value, setting)
        yield from _check_pre(item.value, setting, view.entry)
    for clause in view.contract.post or ():
        for part in clause_parts(clause):
            yield from _check_post(part, setting, view)


def _check_post(expr: Expr, setting: Setting, view: View) -> Iterator[Diagnostic]:
    labels = view_labels(view)
    for node in walk(expr):
        if isinstance(node, Within):
            yield from _check_bound(node.tolerance, setting, view.entry, loosens="+")
        elif isinstance(node, Compare):
            for side, loosens in _bounding_sides(node):
                if "candidate" not in labels.of(side):
                    yield from _check_bound(side, setting, view.entry, loosens=loosens)
        elif isinstance(node, Binary) and node.op == "implies":
            yield from _check_guard(node.left, setting, view.entry)


def _bounding_sides(node: Compare) -> Iterator[tuple[Expr, str]]:
    """Yield each side with the direction in which the comparison gets easier as that side grows or shrinks."""
    for left, op, right in zip(node.operands, node.ops, node.operands[1:], strict=False):
        if op in {"<=", "<"}:
            yield right, "+"
            yield left, "-"
        elif op in {">=", ">"}:
            yield right, "-"
            yield left, "+"


# --- bounds ----------------------------------------------------------------------------------------------------------


def _check_bound(expr: Expr, setting: Setting, entry: Entry, *, loosens: str) -> Iterator[Diagnostic]:
    path = member_path(expr)
    if isinstance(expr, Name | Number) or (path is not None and path[0] in {"op", "claim"}):
        return  # a name for another bound, which is checked where it is defined
    reads = setting.read_by(expr, setting.world.names, entry)
    for name in reads:
        decision = setting.decisions[name]
        trend = Trends(setting.world, decision).direction(expr)
        if setting.pairs[name] and trend not in {"0", _opposite(loosens)}:
            found = loosening(expr, decision, reads, setting, 1 if loosens == "+" else -1)
            if found is not None:
                yield _looser(expr, decision, found, setting)
                return


def _opposite(direction: str) -> str:
    return "-" if direction == "+" else "+"


def _looser(expr: Expr, decision: Decision, found: Witness, setting: Setting) -> Diagnostic:
    ratio = found.at_strong / found.at_weak if found.at_weak else 0.0
    allows = f"{ratio:.3g}x what" if ratio > 1 else "more than"
    return diagnostic(
        "E0401",
        "a stronger claim loosens this bound",
        source=setting.source,
        span=expr.span,
        label=(
            f"with every dimension {found.point.size}: `{decision.name} = {found.strong}` allows {allows} "
            f"the weaker `{decision.name} = {found.weak}` allows"
        ),
        notes=(*_where_found(found.point), "claims must be monotone, or a vendor gains room by claiming more"),
        help=f"make the bound for `{found.weak}` at least as large as for `{found.strong}`",
    )


def _where_found(point: Point) -> tuple[str, ...]:
    claims = ", ".join(f"{k} = {v}" for k, v in point.claims.items())
    types = ", ".join(f"{k} = {v}" for k, v in point.types.items())
    found = "; ".join(part for part in (claims, types) if part)
    return (f"found with {found}",) if found else ()


# --- preconditions and guards ----------------------------------------------------------------------------------------


def _check_selection(expr: Expr, setting: Setting) -> Iterator[Diagnostic]:
    """Yield conditions on what is claimed: they empty the domain for some vendors, who then pass."""
    for node in walk(expr):
        sides = node.operands if isinstance(node, Compare) else (node.item,) if isinstance(node, In) else ()
        for side in sides:
            path = member_path(side)
            if path is not None and path[0] == "claim":
                yield diagnostic(
                    "E0401",
                    "a claim may not choose the domain",
                    source=setting.source,
                    span=node.span,
                    label=f"selects by what is claimed for `{path[1]}`",
                    notes=("a claim that empties the domain would pass without a single case",),
                    help=f"write `claimed {path[1]} in {{…}}` in `scope`: other claims are then out of contract",
                )


def _check_pre(expr: Expr, setting: Setting, entry: Entry) -> Iterator[Diagnostic]:
    reads = setting.read_by(expr, setting.world.names, entry)
    for name in reads:
        decision = setting.decisions[name]
        if not setting.pairs[name] or _widens(expr, decision, setting):
            continue
        found = shrinking(expr, decision, reads, setting)
        if found is not None:
            yield diagnostic(
                "E0401",
                "a stronger claim shrinks this precondition",
                source=setting.source,
                span=expr.span,
                label=(
                    f"with every dimension {found.point.size:.0f} it holds for `{decision.name} = {found.weak}` "
                    f"and fails for the stronger `{found.strong}`"
                ),
                notes=("a vendor could leave the domain, and so avoid the test, by claiming more",),
                help="make the condition no stricter as the claim gets stronger",
            )
            return


def _widens(expr: Expr, decision: Decision, setting: Setting) -> bool:
    """Whether sign rules prove that a condition only gets easier as the claim gets stronger."""
    trends = Trends(setting.world, decision)
    match expr:
        case Compare():
            steps = zip(expr.operands, expr.ops, expr.operands[1:], strict=False)
            return all(
                (trends.direction(low) in {"0", "-"} and trends.direction(high) in {"0", "+"})
                for low, high in (_low_high(a, op, b) for a, op, b in steps)
            )
        case Binary(op="and" | "or"):
            return _widens(expr.left, decision, setting) and _widens(expr.right, decision, setting)
    return all(_widens(p, decision, setting) for p in children(expr)) and not isinstance(expr, Unary | Member | Binary)


def _low_high(left: Expr, op: str, right: Expr) -> tuple[Expr, Expr]:
    return (right, left) if op in {">", ">="} else (left, right)


def _check_guard(expr: Expr, setting: Setting, entry: Entry) -> Iterator[Diagnostic]:
    """Yield guards that ask something of a claim and not of a stronger one."""
    reads = setting.read_by(expr, setting.world.names, entry)
    for name in reads:
        decision = setting.decisions[name]
        values = {
            v: Shadow(setting.world, Point({decision.name: v})).truth(expr) for v in setting.domains[decision.name]
        }
        for strong, weak in setting.pairs[name]:
            if values[strong] is False and values[weak] is True:
                yield diagnostic(
                    "E0401",
                    "a stronger claim escapes this clause",
                    source=setting.source,
                    span=expr.span,
                    label=f"asked of `{decision.name} = {weak}`, not of the stronger `{strong}`",
                    notes=("claims must be monotone, or a vendor is judged less by claiming more",),
                    help=f"ask it of `{strong}` as well",
                )
                return
