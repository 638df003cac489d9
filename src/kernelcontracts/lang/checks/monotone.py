"""E0401: claiming more may not loosen anything.

Tolerances must not grow, and preconditions not shrink, when one claim is strengthened and the rest stay. Only then do
two evaluations decide for all completions of an incomplete claim sheet, and only then does a vendor gain nothing by
claiming more than is true. Where sign rules prove it nothing is computed; elsewhere the bound is evaluated for
every value of the decision, at several sizes, magnitudes, formats and values of the other claims.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from itertools import product
from typing import TYPE_CHECKING

from kernelcontracts.lang.checks.context import dim_name, formats_of
from kernelcontracts.lang.checks.provenance import view_labels
from kernelcontracts.lang.checks.shadow import Point, Shadow, World
from kernelcontracts.lang.checks.variance import Trends
from kernelcontracts.lang.decisions import compare, representatives
from kernelcontracts.lang.diagnostics import diagnostic
from kernelcontracts.lang.expr import Binary, Compare, In, Member, Name, Number, Unary, Within
from kernelcontracts.lang.instance import claims_read
from kernelcontracts.lang.walk import children, claim_predicate, clause_parts, member_path, walk

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from kernelcontracts.lang.checks.context import Entry, View
    from kernelcontracts.lang.decl import Decision, Typing
    from kernelcontracts.lang.diagnostics import Diagnostic
    from kernelcontracts.lang.expr import Expr
    from kernelcontracts.lang.source import Source
    from kernelcontracts.lang.values import ClaimValue

#: One term, a few, a tile, a long sum; the magnitudes are one and small, so that constants show.
SIZES = (1, 2, 64, 4096)
MAGNITUDES = (1.0, 2.0**-20)
#: Sizes for preconditions, where the question is at which size a limit is passed.
LIMITS = tuple(float(2**k) for k in range(0, 56, 2))

#: Two evaluations of equal bounds differ by a few roundings of binary64 (2^-53 each, at most some hundred operations).
SLACK = 1 + 2.0**-40


@dataclass(frozen=True, slots=True)
class Setting:
    """A world to evaluate in, with the claims and the formats that may occur in it."""

    world: World
    decisions: Mapping[str, Decision]
    domains: Mapping[str, tuple[ClaimValue, ...]]
    pairs: Mapping[str, list[tuple[ClaimValue, ClaimValue]]]
    typings: tuple[Mapping[str, str], ...]
    source: Source

    def read_by(self, expr: Expr, names: Mapping[str, Expr], entry: Entry) -> list[str]:
        """Return the decisions an expression depends on."""
        found = set(claims_read(expr, dict(names), entry.operator))
        return [d for d in self.decisions if d in found]


def entry_setting(entry: Entry) -> Setting:
    """Return the setting of an operator's entry."""
    return _setting(entry, entry.definitions, (), (), entry.source)


def view_setting(view: View, *, bounds: bool = True) -> Setting:
    """Return the setting of a contract; claims out of its scope do not occur.

    Without ``bounds`` the names of tolerances and of the operator's error bounds have no value, because those are
    checked where they are defined.
    """
    scope = view.contract.scope
    typings = scope.types if scope else ()
    claimed = tuple(claim_predicate(p) for p in scope.claimed) if scope else ()
    names = {**view.lets, **(view.bounds if bounds else {}), **view.bindings}
    hidden = frozenset() if bounds else frozenset(b.name for b in view.entry.operator.errors)
    return _setting(view.entry, names, typings, claimed, view.source, hidden)


def _setting(
    entry: Entry,
    names: Mapping[str, Expr],
    typings: Iterable[Typing],
    claimed: tuple[Expr, ...],
    source: Source,
    hidden: frozenset[str] = frozenset(),
) -> Setting:
    operator = entry.operator
    world = World(
        names,
        {name: value for name, value in entry.definitions.items() if name not in hidden},
        entry.dims,
        frozenset(entry.params),
        tuple(p.name for p in operator.outputs),
        tuple(p.name for p in operator.inputs),
        operator.meaning,
        frozenset(d.name for d in operator.decisions if all(_is_count(v) for v in representatives(d))),
        {p.name: last for p in entry.params.values() if p.dims and (last := dim_name(p.dims[-1]))},
    )
    domains = {d.name: _in_scope(d, claimed, world) for d in operator.decisions}
    pairs = {d.name: _ordered_pairs(d, domains[d.name]) for d in operator.decisions}
    formats = _typings(entry, tuple(typings))
    return Setting(world, entry.decisions, domains, pairs, formats, source)


def _is_count(value: ClaimValue) -> bool:
    return isinstance(value, int) and value >= 0


@cache
def _ordered_pairs(decision: Decision, values: tuple[ClaimValue, ...]) -> list[tuple[ClaimValue, ClaimValue]]:
    return [(a, b) for a in values for b in values if compare(decision, a, b) == "stronger"]


def _in_scope(decision: Decision, claimed: tuple[Expr, ...], world: World) -> tuple[ClaimValue, ...]:
    values = representatives(decision)
    return tuple(
        v
        for v in values
        if not any(Shadow(world, Point({decision.name: v})).truth(p) is False for p in claimed if _reads(p, decision))
    )


def _reads(expr: Expr, decision: Decision) -> bool:
    return any(member_path(node) == ("claim", decision.name) for node in walk(expr))


def _typings(entry: Entry, typings: tuple[Typing, ...]) -> tuple[Mapping[str, str], ...]:
    """Return typings at the corners: all inputs alike, widest and narrowest, with the widest and narrowest output."""
    outputs = [p.name for p in entry.operator.outputs]
    inputs = [p.name for p in entry.operator.inputs]
    corners = []
    for first, last in product((0, -1), repeat=2):
        chosen = {}
        for names, end in ((inputs, first), (outputs, last)):
            for name in names:
                formats = formats_of(entry, typings, name)
                if formats:
                    chosen[name] = formats[end]
        if chosen not in corners:
            corners.append(chosen)
    return tuple(corners)


# --- what is demanded --------------------------------------------------------------------------------------------


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


# --- bounds ------------------------------------------------------------------------------------------------------


def _check_bound(expr: Expr, setting: Setting, entry: Entry, *, loosens: str) -> Iterator[Diagnostic]:
    path = member_path(expr)
    if isinstance(expr, Name | Number) or (path is not None and path[0] in {"op", "claim"}):
        return  # a name for another bound, which is checked where it is defined
    reads = setting.read_by(expr, setting.world.names, entry)
    for name in reads:
        decision = setting.decisions[name]
        trend = Trends(setting.world, decision).direction(expr)
        if setting.pairs[name] and trend not in {"0", _opposite(loosens)}:
            found = _counterexample(expr, decision, reads, setting, 1 if loosens == "+" else -1)
            if found is not None:
                yield _looser(expr, decision, found, setting)
                return


def _opposite(direction: str) -> str:
    return "-" if direction == "+" else "+"


@dataclass(frozen=True, slots=True)
class Witness:
    """A stronger and a weaker value, the point at which the stronger one gives more room, and how much more."""

    strong: ClaimValue
    weak: ClaimValue
    point: Point
    at_strong: float
    at_weak: float


def _counterexample(expr: Expr, decision: Decision, reads: list[str], setting: Setting, sign: int) -> Witness | None:
    pairs = setting.pairs[decision.name]
    for size, magnitude, types in product(SIZES, MAGNITUDES, setting.typings):
        for claims in _contexts(decision, reads, setting):
            values = {}
            for value in setting.domains[decision.name]:
                point = Point({**claims, decision.name: value}, size, magnitude, types)
                values[value] = Shadow(setting.world, point).number(expr)
            for strong, weak in pairs:
                a, b = values[strong], values[weak]
                if a is not None and b is not None and sign * (a - b) > abs(b) * (SLACK - 1):
                    return Witness(strong, weak, Point(claims, size, magnitude, types), a, b)
    return None


def _contexts(decision: Decision, reads: list[str], setting: Setting) -> list[dict[str, ClaimValue]]:
    """Return values of the other claims: the ends of the ordered ones in every combination, the rest one at a time."""
    others = [n for n in reads if n != decision.name and setting.domains[n]]
    first = {n: setting.domains[n][0] for n in others}
    ordered = [n for n in others if setting.pairs[n]]
    ends = [(setting.domains[n][0], setting.domains[n][-1]) for n in ordered]
    corners = [first | dict(zip(ordered, row, strict=True)) for row in product(*ends)]
    return corners + [first | {n: v} for n in others for v in setting.domains[n][1:-1]]


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


# --- preconditions and guards ------------------------------------------------------------------------------------


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
        found = _shrinks(expr, decision, reads, setting)
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


def _shrinks(expr: Expr, decision: Decision, reads: list[str], setting: Setting) -> Witness | None:
    pairs = setting.pairs[decision.name]
    for size, magnitude, types in product(LIMITS, MAGNITUDES, setting.typings):
        for claims in _contexts(decision, reads, setting):
            values = {}
            for value in setting.domains[decision.name]:
                point = Point({**claims, decision.name: value}, size, magnitude, types)
                values[value] = Shadow(setting.world, point).truth(expr)
            for strong, weak in pairs:
                if values[strong] is False and values[weak] is True:
                    return Witness(strong, weak, Point(claims, size, magnitude, types), 0.0, 1.0)
    return None


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
