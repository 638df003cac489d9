"""Where bounds are evaluated: a world, with the claims and the formats that may occur in it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from itertools import product
from typing import TYPE_CHECKING

from kernelcontracts.lang.checks.context import dim_name, formats_of
from kernelcontracts.lang.checks.shadow import Point, Shadow, World
from kernelcontracts.lang.decisions import compare, representatives
from kernelcontracts.lang.instance import claims_read
from kernelcontracts.lang.walk import claim_predicate, member_path, walk

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from kernelcontracts.lang.checks.context import Entry, View
    from kernelcontracts.lang.decl import Decision, Typing
    from kernelcontracts.lang.expr import Expr
    from kernelcontracts.lang.source import Source
    from kernelcontracts.lang.values import ClaimValue


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
    names = view.definitions if bounds else {**view.lets, **view.bindings}
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
