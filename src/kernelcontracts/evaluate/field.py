"""Arrays with named dimensions: what expressions over tensors denote.

Dimensions are aligned by name, never by position: a row maximum of shape ``[L]`` meets its rows of shape
``[L, N]`` without a word about axes. A real value is an interval in float64, because a reference has a width;
on lattice data both ends coincide and nothing is lost.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from kernelcontracts.numerics.interval import Interval, of_fraction
from kernelcontracts.numerics.interval import exact as exact_interval

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kernelcontracts.formats.facts import Format
    from kernelcontracts.numerics.exact import Real

Dims = tuple[str, ...]
Array = np.ndarray[Any, np.dtype[Any]]


@dataclass(frozen=True, slots=True)
class Field:
    """Real values over named dimensions.

    Attributes
    ----------
    dims
        One name per axis of ``value``.
    value
        float64 interval; ``lo == hi`` where the value is known exactly.
    real
        The exact value behind the interval, where it can still be asked for its correct rounding.
    """

    dims: Dims
    value: Interval
    real: Real | None = None


@dataclass(frozen=True, slots=True)
class Tensor:
    """A formatted tensor: an input, an output of the candidate, or rows picked from one.

    It carries bits. ``candidate`` tells outputs from inputs; nothing that is ``candidate`` ever reaches a
    tolerance, which the static checks prove and the evaluation scope makes impossible.
    """

    name: str
    dims: Dims
    array: Array
    format: Format | None
    candidate: bool = False

    @property
    def exact(self) -> Array:
        """The values in float64, without loss (integers stay below 2^53 by the operators' preconditions)."""
        return self.array.astype(np.float64)

    def as_field(self) -> Field:
        """Return the same values as reals."""
        return Field(self.dims, exact_interval(self.exact))


@dataclass(frozen=True, slots=True)
class Range:
    """A closed range ``low .. high``, told from the set of two numbers ``{low, high}``."""

    low: Any
    high: Any


@dataclass(frozen=True, slots=True)
class Logical:
    """Truth over named dimensions, three-valued: ``must`` implies ``may``; where they differ nobody knows."""

    dims: Dims
    must: Array
    may: Array

    @classmethod
    def known(cls, dims: Dims, truth: Array) -> Logical:
        """Wrap truth values that are certain."""
        return cls(dims, truth, truth)


@dataclass(frozen=True, slots=True)
class Margins:
    """Error over tolerance over named dimensions, unit-free; above 1 is a violation.

    ``lo`` is what is certain, ``hi`` what cannot be excluded: a violation needs ``lo > 1``, a pass ``hi <= 1``.
    """

    dims: Dims
    lo: Array
    hi: Array

    @classmethod
    def of(cls, truth: Logical) -> Margins:
        """Read a truth as a margin: 0 where it holds, infinite where it does not."""
        return cls(
            truth.dims,
            np.where(truth.may, 0.0, np.inf),
            np.where(truth.must, 0.0, np.inf),
        )

    def worst(self) -> tuple[float, float]:
        """Return the largest certain and the largest possible margin; (0, 0) of nothing."""
        if self.lo.size == 0:
            return 0.0, 0.0
        return float(self.lo.max()), float(self.hi.max())


def merged(first: Dims, second: Dims) -> Dims:
    """Return the dimensions of a result that depends on both, in the order of the longer one."""
    base, other = (first, second) if len(first) >= len(second) else (second, first)
    return base + tuple(name for name in other if name not in base)


def spread(array: Array, dims: Dims, onto: Dims) -> Array:
    """View an array with extra axes of length 1 so that its dimensions line up with ``onto``."""
    if dims == onto:
        return array
    order = [dims.index(name) for name in onto if name in dims]
    turned = array.transpose(order)
    shape = iter(turned.shape)
    return turned.reshape([next(shape) if name in dims else 1 for name in onto])


def spread_interval(field: Field, onto: Dims) -> Interval:
    """Line an interval up with ``onto`` (see `spread`)."""
    if field.dims == onto:
        return field.value
    lo, hi = field.value.lo, field.value.hi
    if lo is hi:
        turned = spread(lo, field.dims, onto)
        return Interval(turned, turned)
    return Interval(spread(lo, field.dims, onto), spread(hi, field.dims, onto))


def axes_of(dims: Dims, names: Sequence[str]) -> tuple[int, ...]:
    """Return the axes that belong to some dimension names."""
    return tuple(i for i, name in enumerate(dims) if name in names)


@lru_cache(maxsize=4096)
def constant(value: Fraction | int) -> Field:
    """Turn an exact rational into a field without dimensions: the tightest float64 enclosure.

    A contract has few constants and every case meets them all, so they are kept; nothing writes to a field.
    """
    return Field((), of_fraction(Fraction(value)))
