"""Where the tensors of one case lie in the shared memory, and what surrounds them.

Every tensor stands between two fences: bytes of a random pattern that nobody has a reason to touch. The byte at
offset ``o`` of a fence is ``pattern[o % PAGE]``, so a fence can be checked wherever it lies.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from kernelcontracts.formats.arrays import dtype_of
from kernelcontracts.kernels.wire import Place

if TYPE_CHECKING:
    from collections.abc import Mapping

#: Bytes of the fence's pattern, and the alignment of every tensor.
PAGE = 4096

#: A fence is as wide as one row of its tensor, so that writing one row too many hits it, up to this.
_WIDEST_FENCE = 1 << 16

LAYOUTS = ("contiguous", "fortran", "strided")


class LayoutError(ValueError):
    """A memory layout that does not exist."""


@dataclass(frozen=True, slots=True)
class Zone:
    """One tensor's place with the fences around it.

    Attributes
    ----------
    place
        What the worker is told.
    start, end
        The tensor's bytes, padding between rows included.
    before, after
        Where its fences begin and end: ``before <= start <= end < after``.
    row_bytes, step_bytes
        For rows of a wider buffer, the bytes of a row's elements and of the whole row; else 0.
    """

    place: Place
    start: int
    end: int
    before: int
    after: int
    row_bytes: int = 0
    step_bytes: int = 0


def _up(value: int) -> int:
    return -(-value // PAGE) * PAGE


def _strides(shape: tuple[int, ...], item: int, layout: str) -> tuple[tuple[int, ...], int, int, int]:
    """Return strides, total bytes, bytes of a row's elements, and bytes from row to row."""
    if layout not in LAYOUTS:
        known = ", ".join(f"`{name}`" for name in LAYOUTS)
        raise LayoutError(f"`{layout}` is not a memory layout; expected one of {known}")
    steps = [item] * len(shape)
    memory = list(range(len(shape)))
    if layout == "fortran" and len(shape) > 1:
        memory[-1], memory[-2] = memory[-2], memory[-1]
    padded = layout == "strided" and bool(shape)
    width = item
    for position, axis in enumerate(reversed(memory)):
        steps[axis] = width
        if padded and len(shape) == 1:
            # a vector has no rows: it becomes every second element, as a column of a two-column matrix
            steps[axis] = width = 2 * item
        width *= max(shape[axis], 1)
        if padded and position == 0 and len(shape) > 1:
            width += 3 * item  # an odd pad, so that rows are misaligned as in a real slice
    total = width if all(shape) else 0
    if not padded:
        return tuple(steps), total, 0, 0
    if len(shape) == 1:
        return tuple(steps), total, item, 2 * item
    return tuple(steps), total, shape[-1] * item, shape[-1] * item + 3 * item


def _zone(name: str, fmt: str, shape: tuple[int, ...], layout: str, before: int) -> Zone:
    item = dtype_of(fmt).itemsize
    strides, total, row, step = _strides(shape, item, layout)
    width = max(PAGE, min(_up((shape[-1] if shape else 1) * item), _WIDEST_FENCE))
    start = before + width
    end = start + total
    place = Place(name, fmt, shape, strides, start)
    return Zone(place, start, end, before, _up(end) + width, row, step)


def lay_out(
    tensors: Mapping[str, tuple[str, tuple[int, ...]]], layouts: Mapping[str, str]
) -> tuple[dict[str, Zone], int]:
    """Place tensors one after the other.

    Parameters
    ----------
    tensors
        Format name and shape, by tensor name.
    layouts
        ``contiguous`` (default), ``fortran`` (the last two axes swapped in memory) or ``strided`` (rows of a
        wider buffer), by tensor name.

    Returns
    -------
    zones
        By tensor name. Neighbours share no fence.
    int
        Bytes in all, a multiple of `PAGE`.
    """
    zones: dict[str, Zone] = {}
    top = 0
    for name, (fmt, shape) in tensors.items():
        zones[name] = _zone(name, fmt, shape, layouts.get(name, "contiguous"), top)
        top = zones[name].after
    return zones, max(top, PAGE)


def view(memory: memoryview | np.ndarray, place: Place) -> np.ndarray:
    """Return the tensor at a place as an array on the memory itself."""
    return np.ndarray(place.shape, dtype_of(place.format), memory, place.offset, place.strides)


def fill_fences(memory: np.ndarray, zone: Zone, pattern: np.ndarray) -> None:
    """Write the pattern around a tensor, and between its rows. ``memory`` is a vector of bytes."""
    first, last = zone.before, zone.after
    inside = (zone.start, zone.end) if not zone.step_bytes else (zone.start, zone.start)
    memory[first : inside[0]].reshape(-1, PAGE)[:] = pattern
    tail = _up(inside[1])
    memory[inside[1] : tail] = pattern[PAGE - (tail - inside[1]) :]
    memory[tail:last].reshape(-1, PAGE)[:] = pattern


def fences_hold(memory: np.ndarray, zone: Zone, pattern: np.ndarray) -> bool:
    """Return whether the pattern still stands around a tensor, and between its rows."""
    tail = _up(zone.end)
    return (
        bool((memory[zone.before : zone.start].reshape(-1, PAGE) == pattern).all())
        and np.array_equal(memory[zone.end : tail], pattern[PAGE - (tail - zone.end) :])
        and bool((memory[tail : zone.after].reshape(-1, PAGE) == pattern).all())
        and _gaps_hold(memory, zone, pattern)
    )


def _gaps_hold(memory: np.ndarray, zone: Zone, pattern: np.ndarray) -> bool:
    if not zone.step_bytes or zone.start == zone.end:
        return True
    shape = (-1, zone.step_bytes)
    found = memory[zone.start : zone.end].reshape(shape)[:, zone.row_bytes :]
    # tensors start on a page, so the pattern starts afresh at the first row
    expected = np.resize(pattern, zone.end - zone.start).reshape(shape)[:, zone.row_bytes :]
    return bool(np.array_equal(found, expected))
