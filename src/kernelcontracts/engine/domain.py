"""What a contract covers: typings, and the order in which several contracts are told."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernelcontracts.lang.claims import tensors_named

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from kernelcontracts.lang.instance import Instance

FAMILIES = ("PRC", "ORD", "CMP", "EXC")
"""The paper's families in its order; a companion belongs to an earlier one than what leans on it."""


def outside_types(instance: Instance, types: Mapping[str, str]) -> str:
    """Return why a typing is outside a contract's scope, or ``""``.

    Integer tensors (indices) have one format by their operator's signature, which no contract restricts.
    """
    scope = instance.contract.scope
    for typing in scope.types if scope is not None else ():
        for name in typing.names:
            for tensor in tensors_named(instance.operator, name):
                fmt = types[tensor]
                if fmt != "i64" and fmt not in typing.formats:
                    return f"the contract covers `{tensor}` in {', '.join(typing.formats)}, not in {fmt}"
    return ""


def in_order(instances: Iterable[Instance]) -> tuple[Instance, ...]:
    """Sort contracts by family and number, families in the paper's order."""

    def place(instance: Instance) -> tuple[int, str]:
        family = instance.cls.split("-")[1]
        return (FAMILIES.index(family) if family in FAMILIES else len(FAMILIES)), instance.id

    return tuple(sorted(instances, key=place))
