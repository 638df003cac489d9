"""Enclosed sums, means and extremes along axes of interval arrays.

Sums are trees of enclosed additions, vectorised over the other axes: each bound is wider than the
exact sum by at most one spacing of a partial sum per level, and exact while the partial sums are
f64 numbers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from kernelcontracts.numerics.interval import Interval, exact

if TYPE_CHECKING:
    from kernelcontracts.formats.arrays import Floats

Axes = int | tuple[int, ...] | None


def total(x: Interval, axis: Axes = None) -> Interval:
    """Enclose the sum along `axis` (all axes if ``None``); an empty sum is zero."""
    x = _to_last(x, axis)
    if x.shape[-1] == 0:
        return exact(np.zeros(x.shape[:-1]))
    while (length := x.shape[-1]) > 1:
        half = length // 2
        paired = x[..., :half] + x[..., half : 2 * half]
        x = _joined(paired, x[..., 2 * half :]) if length % 2 else paired
    return x[..., 0]


def mean(x: Interval, axis: Axes = None) -> Interval:
    """Enclose the mean along `axis`; the mean of nothing is NaN."""
    summed = total(x, axis)
    count = x.lo.size // summed.lo.size if summed.lo.size else 0
    return summed / exact(float(count))


def largest(x: Interval, axis: Axes = None) -> Interval:
    """Enclose the maximum along `axis`; NaN if an element is.

    Raises
    ------
    ValueError
        If the axis is empty.
    """
    return _to_last(x, axis).mapped(lambda bound: np.max(bound, axis=-1))


def smallest(x: Interval, axis: Axes = None) -> Interval:
    """Enclose the minimum along `axis`; NaN if an element is.

    Raises
    ------
    ValueError
        If the axis is empty.
    """
    return _to_last(x, axis).mapped(lambda bound: np.min(bound, axis=-1))


def to_last(x: Floats, axis: Axes) -> Floats:
    """Move the axes to reduce behind the others and join them into one."""
    axes = tuple(range(x.ndim)) if axis is None else (axis,) if isinstance(axis, int) else axis
    moved = np.moveaxis(x, axes, range(-len(axes), 0)) if axes else x[..., None]
    rest = x.ndim - len(axes)
    return moved.reshape(*moved.shape[:rest], int(np.prod(moved.shape[rest:])))


def _to_last(x: Interval, axis: Axes) -> Interval:
    return x.mapped(lambda bound: to_last(bound, axis))


def _joined(a: Interval, b: Interval) -> Interval:
    lo = np.concatenate([a.lo, b.lo], axis=-1)
    points = a.lo is a.hi and b.lo is b.hi
    return Interval(lo, lo if points else np.concatenate([a.hi, b.hi], axis=-1))
