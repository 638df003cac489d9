"""E0203: every element type is a format that tensors can have."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernelcontracts.formats.facts import FORMATS
from kernelcontracts.lang.checks.name_messages import did_you_mean, unknown
from kernelcontracts.lang.diagnostics import Diagnostic, diagnostic

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kernelcontracts.lang.checks.context import Entry
    from kernelcontracts.lang.decl import Typing
    from kernelcontracts.lang.source import Source
    from kernelcontracts.lang.span import Span


def check_elements(entry: Entry) -> Iterator[Diagnostic]:
    """Yield E0203 for formats no tensor can have, and for element types that are neither variable nor format."""
    for typing in entry.operator.types:
        yield from check_typing(typing, entry, entry.source)
    constrained = {name for typing in entry.operator.types for name in typing.names}
    for param in entry.params.values():
        if param.element in constrained or param.element == "i64":
            continue
        if param.element in FORMATS and FORMATS[param.element].storage_bits is not None:
            continue
        yield _no_storage(param.element, entry.source, param.span)


def check_typing(typing: Typing, entry: Entry, source: Source) -> Iterator[Diagnostic]:
    """Yield what is wrong with ``A, B in {f32, f16}``."""
    from kernelcontracts.lang.claims import tensors_named

    for name in typing.names:
        if not tensors_named(entry.operator, name):
            known = {*entry.params, *(p.element for p in entry.params.values()), "inputs", "output"}
            what = f"a tensor or a format variable of `{entry.operator.name}`"
            yield unknown(name, known, source, typing.span, what)
    for name in typing.formats:
        if name != "i64" and (name not in FORMATS or FORMATS[name].storage_bits is None):
            yield _no_storage(name, source, typing.span)


def _no_storage(name: str, source: Source, span: Span | None) -> Diagnostic:
    storable = [f.name for f in FORMATS.values() if f.storage_bits is not None]
    exists = name in FORMATS
    return diagnostic(
        "E0203",
        f"no tensor has elements of `{name}`" if exists else f"`{name}` is not a format",
        source=source,
        span=span,
        label="exists only inside arithmetic units" if exists else "unknown format",
        notes=(f"tensors have elements of {', '.join(storable)} or i64",),
        help=did_you_mean(name, storable, 2),
    )
