"""An instance prepared for evaluation: the namespaces of a contract and of its operator."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from kernelcontracts.evaluate.dependence import claim_free_names

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kernelcontracts.lang.expr import Expr
    from kernelcontracts.lang.instance import Instance


@dataclass(frozen=True)
class Names:
    """Definitions by name for one namespace: a contract's, or its operator's."""

    lets: Mapping[str, Expr]

    @classmethod
    def of_operator(cls, instance: Instance) -> Names:
        """Collect the operator's lets, error bounds and events."""
        op = instance.operator
        lets = {let.name: let.value for let in op.lets}
        lets |= {bound.name: bound.value for bound in op.errors}
        return cls(lets | {event.label: event.value for event in op.events})

    @classmethod
    def of_contract(cls, instance: Instance) -> Names:
        """Collect the contract's lets, tolerances, reference bindings, and the operator's events."""
        contract = instance.contract
        lets = {let.name: let.value for let in contract.lets}
        lets |= {bound.name: bound.value for bound in contract.tolerance or ()}
        if contract.reference is not None:
            lets |= {let.name: let.value for let in contract.reference.bindings}
        return cls(lets)


@dataclass(frozen=True)
class Program:
    """An instance prepared for evaluation: its namespaces, and which names no claim can change."""

    instance: Instance

    @cached_property
    def contract(self) -> Names:
        """Names visible in the contract."""
        return Names.of_contract(self.instance)

    @cached_property
    def operator(self) -> Names:
        """Names visible in the operator."""
        return Names.of_operator(self.instance)

    @cached_property
    def claim_free(self) -> frozenset[tuple[str, str]]:
        """The (space, name) pairs whose value is the same under every claim."""
        events = frozenset(event.label for event in self.instance.operator.events)
        return claim_free_names({"contract": self.contract.lets, "operator": self.operator.lets}, events)
