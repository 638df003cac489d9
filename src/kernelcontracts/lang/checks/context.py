"""What a static check sees: a contract on one operator, or an operator's entry, with every name resolved.

A generic contract is checked once for each operator of its family; ``run`` in ``check.py`` merges what several of
them have in common. A ``View`` never fails: what a text names and nobody defines is simply absent, so that one
unknown name does not make everything behind it wrong as well.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kernelcontracts.formats.facts import FORMATS
from kernelcontracts.lang.claims import tensors_named
from kernelcontracts.lang.decisions import value_names
from kernelcontracts.lang.expr import Feature, Name, Star
from kernelcontracts.lang.instance import operator_definitions
from kernelcontracts.lang.walk import member_path

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from kernelcontracts.lang.decl import (
        Bound,
        Contract,
        Decision,
        Labelled,
        Operator,
        Param,
        Plan,
        Reference,
        Stratum,
        Typing,
    )
    from kernelcontracts.lang.expr import Expr
    from kernelcontracts.lang.source import Source


@dataclass(frozen=True, slots=True)
class Entry:
    """An operator's entry and where it stands."""

    operator: Operator
    source: Source

    @property
    def params(self) -> Mapping[str, Param]:
        """Every tensor of the signature by name."""
        return {p.name: p for p in self.operator.inputs + self.operator.outputs}

    @property
    def outputs(self) -> frozenset[str]:
        """The names of the outputs."""
        return frozenset(p.name for p in self.operator.outputs)

    @property
    def dims(self) -> frozenset[str]:
        """The dimensions of the signature, variadic ones by their name without the star."""
        params = self.operator.inputs + self.operator.outputs
        return frozenset(n for p in params for d in p.dims if (n := dim_name(d)) is not None)

    @property
    def definitions(self) -> Mapping[str, Expr]:
        """Lets, error bounds and events by name."""
        return operator_definitions(self.operator)

    @property
    def decisions(self) -> Mapping[str, Decision]:
        """The decisions by name."""
        return {d.name: d for d in self.operator.decisions}


def dim_name(dim: Expr) -> str | None:
    """Return the name of a dimension written ``K`` or ``*L``."""
    if isinstance(dim, Star):
        return dim.name
    return dim.id if isinstance(dim, Name) else None


@dataclass(frozen=True, slots=True)
class View:
    """A contract on one operator.

    Attributes
    ----------
    contract, source
        The contract as its author wrote it.
    entry
        The operator.
    companion
        The contract that lends its lets, precondition, reference and tolerance, or ``None``.
    base
        The plan it measures from, or ``None``.
    """

    contract: Contract
    source: Source
    entry: Entry
    companion: Contract | None = None
    base: Plan | None = None
    base_source: Source | None = None

    @property
    def lets(self) -> dict[str, Expr]:
        """Definitions a name of the contract may stand for: lets, and the operator's events."""
        events = {e.label: e.value for e in self.entry.operator.events}
        lent = {let.name: let.value for let in self.companion.lets} if self.companion else {}
        return {**events, **lent, **{let.name: let.value for let in self.contract.lets}}

    @property
    def tolerance(self) -> tuple[Bound, ...]:
        """The bounds in force: the contract's own, or its companion's."""
        if self.contract.tolerance is not None:
            return self.contract.tolerance
        return (self.companion.tolerance or ()) if self.companion else ()

    @property
    def pre(self) -> tuple[Labelled, ...]:
        """The precondition in force."""
        if self.contract.pre is not None:
            return self.contract.pre
        return (self.companion.pre or ()) if self.companion else ()

    @property
    def reference(self) -> Reference | None:
        """The reference in force."""
        if self.contract.reference is not None:
            return self.contract.reference
        return self.companion.reference if self.companion else None

    @property
    def bounds(self) -> dict[str, Expr]:
        """Tolerances by name."""
        return {b.name: b.value for b in self.tolerance}

    @property
    def bindings(self) -> dict[str, Expr]:
        """What the reference binds, by name."""
        return {b.name: b.value for b in self.reference.bindings} if self.reference else {}

    @property
    def definitions(self) -> dict[str, Expr]:
        """What names of the contract stand for: lets, tolerances, and what the reference binds."""
        return {**self.lets, **self.bounds, **self.bindings}

    @property
    def own(self) -> frozenset[str]:
        """The definitions the contract writes itself; the others are lent by a companion or the operator's events."""
        contract = self.contract
        bindings = contract.reference.bindings if contract.reference else ()
        lets = {let.name for let in (*contract.lets, *bindings)}
        return frozenset(lets | {bound.name for bound in contract.tolerance or ()})

    @property
    def strata(self) -> tuple[Stratum, ...]:
        """All strata: the base plan's, then the contract's own."""
        own = self.contract.measure.strata if self.contract.measure else ()
        return (self.base.strata if self.base else ()) + own

    @property
    def settings(self) -> dict[str, Labelled]:
        """The protocol: the base plan's settings, replaced by the contract's own."""
        own = self.contract.measure.settings if self.contract.measure else ()
        base = self.base.settings if self.base else ()
        return {s.label: s for s in (*base, *own)}


def formats_of(entry: Entry, typings: Iterable[Typing], tensor: str) -> tuple[str, ...]:
    """Return the formats a tensor may take: the operator's, narrowed by further typings."""
    param = entry.params.get(tensor)
    if param is None:
        return ()
    if not any(param.element in t.names for t in entry.operator.types):
        return (param.element,)
    allowed = [f for f in FORMATS if f != "tf32"]
    for typing in (*entry.operator.types, *typings):
        if any(tensor in tensors_named(entry.operator, name) for name in typing.names):
            allowed = [f for f in allowed if f in typing.formats]
    return tuple(allowed)


def choice_decision(expr: Expr, decisions: Mapping[str, Decision]) -> Decision | None:
    """Return the decision whose value an expression is: ``claim.x`` or ``r.best_fit(x)``.

    A decision over integers is a number like any other, so that it gives ``None``.
    """
    path = member_path(expr)
    name = path[1] if path is not None and path[0] == "claim" else None
    if isinstance(expr, Feature) and expr.name == "best_fit" and len(expr.args) == 1:
        argument = expr.args[0]
        name = argument.id if isinstance(argument, Name) else None
    decision = decisions.get(name) if name is not None else None
    return decision if decision is not None and value_names(decision) else None


def is_choice(expr: Expr) -> bool:
    """Whether an expression is a claim or a best fit, of any decision, known or not."""
    path = member_path(expr)
    return (path is not None and path[0] == "claim") or (isinstance(expr, Feature) and expr.name == "best_fit")
