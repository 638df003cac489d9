"""A witness for people: where it was found, its inputs as rows, and the element that convicts."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from kernelcontracts.report.lines import Line, Span, clean, labelled, verbatim
from kernelcontracts.report.numbers import exact
from kernelcontracts.trace.bits import BitsError, elements, words
from kernelcontracts.trace.schema import Bits

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from kernelcontracts.engine.result import Tensor, Witness

SMALL = 16
"""The elements of a tensor that a reader takes in at a glance; larger ones are in the trace,
complete."""

_INDENT = 4


def witness_lines(witness: Witness, *, width: int) -> Iterator[Line]:
    """Yield the block that shows a witness."""
    yield from labelled("found on", _where(witness), width=width, indent=_INDENT)
    if witness.outcome != "completed":
        yield from labelled("outcome", witness.outcome, width=width, indent=_INDENT)
    for name, tensor in witness.inputs.items():
        yield from _tensor(name, tensor, width=width)
    if witness.index is not None:
        yield verbatim("worst at", f"output element {list(witness.index)}", indent=_INDENT)
    for label, number in (
        ("got", witness.got),
        ("expected", witness.expected),
        ("allowed +-", witness.tolerance),
    ):
        if number is not None:
            yield verbatim(label, exact(number), indent=_INDENT, style="number")
    if witness.note:
        yield from labelled("note", witness.note, width=width, indent=_INDENT)


def shape_text(shape: dict[str, int | list[int]]) -> str:
    """Return a shape as `M=3 N=4 L=()`."""
    return " ".join(
        f"{name}=({', '.join(map(str, size))})" if isinstance(size, list) else f"{name}={size}"
        for name, size in shape.items()
    )


def _where(witness: Witness) -> str:
    minimised = ", minimised" if witness.minimised else ""
    return (
        f"stratum {witness.stratum}, shape {shape_text(witness.shape)}, case {witness.case}, "
        f"seed {witness.seed}{minimised}"
    )


def _tensor(name: str, tensor: Tensor, *, width: int) -> Iterator[Line]:
    count = math.prod(tensor.shape)
    title = f"{tensor.format}{list(tensor.shape)}"
    if count > SMALL or count == 0:
        title += f", {count} elements" + ("; their bits are in the JSON" if count else "")
        yield verbatim(clean(name), title, indent=_INDENT)
        return
    yield verbatim(clean(name), title, indent=_INDENT)
    decimals, bits = _both(tensor)
    for row in _rows(decimals, tensor.shape):
        yield from _row(decimals[row], bits[row], width=width)


def _both(tensor: Tensor) -> tuple[Sequence[str], Sequence[str]]:
    """Return the elements' decimals and bits; what cannot be decoded is shown as it came."""
    stored = Bits(tensor.format, tensor.shape, tensor.bits)
    try:
        decimals = tensor.shown or tuple(repr(value) for value in elements(stored))
        return decimals, words(stored)
    except BitsError:
        return tensor.shown, ("",) * len(tensor.shown)


def _rows(items: Sequence[str], shape: tuple[int, ...]) -> list[slice]:
    length = shape[-1] if shape else 1
    return [slice(start, start + length) for start in range(0, len(items), length)]


def _row(decimals: Sequence[str], bits: Sequence[str], *, width: int) -> Iterator[Line]:
    """Yield a row of numbers and below it their bits, in as many pieces as the width asks for."""
    column = max(map(len, (*decimals, *bits))) + 2
    fitting = max(1, (width - _INDENT - 4) // column)
    for start in range(0, len(decimals), fitting):
        for items, style in ((decimals, "number"), (bits, "bits")):
            piece = items[start : start + fitting]
            if any(piece):
                text = "".join(clean(item).ljust(column) for item in piece).rstrip()
                yield (Span(" " * (_INDENT + 4) + text, style),)
