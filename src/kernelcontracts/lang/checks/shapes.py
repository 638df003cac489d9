"""E0202, E0204: shapes fit, by the names of their dimensions, wherever a bound or a reference is computed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernelcontracts.lang.checks.shape_algebra import Shape, broadcast, dims_of, show
from kernelcontracts.lang.checks.shape_inference import Shapes
from kernelcontracts.lang.expr import Name
from kernelcontracts.lang.walk import clause_parts

if TYPE_CHECKING:
    from kernelcontracts.lang.checks.context import Entry, View
    from kernelcontracts.lang.diagnostics import Diagnostic

__all__ = [
    "Shape",
    "Shapes",
    "broadcast",
    "check_entry",
    "check_view",
    "dims_of",
    "show",
]


def check_entry(entry: Entry) -> list[Diagnostic]:
    """Return what does not fit in an operator's entry."""
    shapes = Shapes(entry, entry.definitions, entry.source)
    for name in entry.definitions:
        shapes.of(Name(name))
    operator = entry.operator
    meaning = Shapes(entry, {}, entry.source)
    meaning.bind_target(operator.target)
    if operator.meaning is not None:
        meaning.of(operator.meaning)
    return shapes.found + meaning.found


def check_view(view: View) -> list[Diagnostic]:
    """Return what does not fit in a contract."""
    contract = view.contract
    names, written = view.definitions, view.own
    shapes = Shapes(view.entry, names, view.source, members=view.entry.definitions)
    for name in names:
        if name not in written:
            shapes.of(Name(name))
    shapes.found.clear()  # what a companion or the operator lends is checked where it is written
    own = [let.name for let in contract.lets] + [b.name for b in contract.tolerance or ()]
    for name in own:
        shapes.of(Name(name))
    for binding in contract.reference.bindings if contract.reference else ():
        shapes.of(binding.value)
    for item in contract.pre or ():
        shapes.of(item.value)
    for clause in contract.post or ():
        for part in clause_parts(clause):
            shapes.of(part)
    return shapes.found
