"""E0201: nothing is defined in terms of itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernelcontracts.lang.diagnostics import Diagnostic, diagnostic
from kernelcontracts.lang.expr import Name
from kernelcontracts.lang.walk import walk

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from kernelcontracts.lang.expr import Expr
    from kernelcontracts.lang.source import Source


def check_cycles(definitions: Mapping[str, Expr], source: Source) -> Iterator[Diagnostic]:
    """Yield E0201 for definitions that stand for themselves."""
    reads = {
        name: {n.id for n in walk(value) if isinstance(n, Name) and n.id in definitions}
        for name, value in definitions.items()
    }
    for name in cyclic(reads):
        yield diagnostic(
            "E0201",
            f"`{name}` is defined in terms of itself",
            source=source,
            span=definitions[name].span,
            label="this comes back to the name it defines",
        )


def cyclic(reads: Mapping[str, set[str]]) -> list[str]:
    """Return the names from which a path leads back to them."""
    found = []
    for name in reads:
        seen: set[str] = set()
        todo = [*reads[name]]
        while todo:
            other = todo.pop()
            if other not in seen:
                seen.add(other)
                todo += reads.get(other, ())
        if name in seen:
            found.append(name)
    return found
