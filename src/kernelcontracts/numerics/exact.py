"""Exact sums and matrix products, rounded correctly to any format (Ziv's strategy).

A value is first enclosed by f64 arithmetic; where both ends of the enclosure round to the same
number, so does the exact value. The few others are computed as pairs of f64 numbers
(`compensated`), and what even those cannot decide (ties with a wide range of exponents, most often)
in integers. Each stage is certified, so the result never depends on which stage gave it. See
`enclosure` for the one assumption.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np

from kernelcontracts.formats.facts import F64, Format
from kernelcontracts.numerics import compensated, directed, enclosure
from kernelcontracts.numerics.compensated import Pair
from kernelcontracts.numerics.interval import Interval
from kernelcontracts.numerics.lattice import (
    exact_dot_premise,
    exact_sum_premise,
    inexact_products,
    kept,
    kept_by_split,
)
from kernelcontracts.numerics.reductions import Axes, to_last
from kernelcontracts.numerics.rounding import lsb_exponent, round_dyadic, round_to

if TYPE_CHECKING:
    from collections.abc import Callable

    from kernelcontracts.formats.arrays import Bools, Floats, Ints

__all__ = [
    "Real",
    "dot_dyadic",
    "exact_dot_premise",
    "exact_matmul",
    "exact_sum",
    "exact_sum_premise",
    "inexact_products",
    "kept",
    "kept_by_split",
    "sum_dyadic",
]

Dyadic: TypeAlias = tuple[int, int]

#: Terms gathered at a time: eight megabytes a temporary array.
_CHUNK: Final = 1 << 20


@dataclass(frozen=True, slots=True, eq=False)
class Real:
    """An array of exact real numbers.

    Parameters
    ----------
    interval
        Certified f64 enclosure; degenerate at NaN and infinite values.
    pairs
        Gives tighter enclosures of the elements at flat indices.
    dyadic
        Gives the exact value ``numerator * 2^exponent`` of the finite element at a flat index.
    """

    interval: Interval
    pairs: Callable[[Ints], Pair]
    dyadic: Callable[[int], Dyadic]

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the array."""
        return self.interval.shape

    def fraction(self, index: int) -> Fraction:
        """Return the exact value at a flat index; the value there must be finite."""
        numerator, exponent = self.dyadic(index)
        return Fraction(numerator) * Fraction(2) ** exponent

    def rounded(self, fmt: Format, mode: str = "rne") -> Floats:
        """Round the exact values to a format, each correctly and once (see `rounding.round_to`)."""
        first = round_to(self.interval.lo, fmt, mode).ravel()
        second = round_to(self.interval.hi, fmt, mode).ravel()
        unsure = np.flatnonzero(~_agree(first, second) & ~self.interval.is_nan.ravel())
        for i in self._settle(first, unsure, fmt, mode).tolist():
            first[i] = round_dyadic(*self.dyadic(i), fmt, mode)
        return np.where(np.isnan(first), np.nan, first).reshape(self.shape)

    def _settle(self, result: Floats, unsure: Ints, fmt: Format, mode: str) -> Ints:
        """Write what pairs decide into `result`; return the indices that stay open."""
        if unsure.size == 0:
            return unsure
        low, high = compensated.rounded_pair(self.pairs(unsure), fmt, mode)
        decided = _agree(low, high) & ~np.isnan(low)
        result[unsure[decided]] = low[decided]
        return unsure[~decided]


def _agree(a: Floats, b: Floats) -> Bools:
    """Tell where two bounds round to the same number, which is then that of all between them.

    Zeros of different sign are not the same, and neither are the NaN that stand for an overflow on
    either side in a format without infinity; `round_to` keeps the sign there.
    """
    same: Bools = (a == b) | (np.isnan(a) & np.isnan(b))
    same &= np.signbit(a) == np.signbit(b)
    return same


def exact_matmul(a: Floats, b: Floats) -> Real:
    """Return the exact product of two matrices.

    Parameters
    ----------
    a, b
        float64 arrays ``(..., M, K)`` and ``(..., K, N)``; leading dimensions broadcast. The values
        may be those of any format; for f32 and narrower ones the enclosure alone settles nearly
        every rounding.

    Returns
    -------
    Real
        ``(..., M, N)``. Elements that meet infinity or NaN have their IEEE 754 value; without
        terms, zero.
    """
    product = enclosure.matmul_points(a, b)
    batch = product.shape[:-2]
    rows = np.broadcast_to(a, (*batch, *a.shape[-2:]))
    columns = np.broadcast_to(np.swapaxes(b, -1, -2), (*batch, b.shape[-1], b.shape[-2]))

    def operands(index: Ints) -> tuple[Floats, Floats]:
        *lead, i, j = np.unravel_index(index, product.shape)
        return rows[(*lead, i)], columns[(*lead, j)]

    def pairs(index: Ints) -> Pair:
        size = max(_CHUNK // max(a.shape[-1], 1), 1)
        parts = [_dot_pairs(*operands(index[k : k + size])) for k in range(0, index.size, size)]
        return _stacked(parts)

    def dyadic(index: int) -> Dyadic:
        x, y = operands(np.array([index]))
        return dot_dyadic(x[0], y[0])

    return Real(product, pairs, dyadic)


def _stacked(parts: list[Pair]) -> Pair:
    return Pair(
        np.concatenate([part.hi for part in parts]),
        np.concatenate([part.lo for part in parts]),
        np.concatenate([part.radius for part in parts]),
    )


def _dot_pairs(x: Floats, y: Floats) -> Pair:
    """Sum the products of rows ``(n, K)`` as pairs; without a bound where a product may underflow."""
    with np.errstate(all="ignore"):
        lsb = (lsb_exponent(x) + lsb_exponent(y)).min(axis=-1)
        if enclosure.products_exact(x, y):
            return compensated.pair_sum(x * y, None, lsb)
        p, e = directed.two_prod(x, y)
        safe = directed.product_is_safe(x, y, p).all(axis=-1)
        pair = compensated.pair_sum(p, e, lsb)
        return Pair(pair.hi, pair.lo, np.where(safe, pair.radius, np.nan))


def exact_sum(x: Floats, axis: Axes = -1) -> Real:
    """Return the exact sum along an axis, several, or all (``None``).

    Parameters
    ----------
    x
        float64 array of values of any format. Sums that meet infinity or NaN have their IEEE 754
        value; the sum of nothing is zero.
    """
    terms = to_last(x, axis)
    finite = np.where(np.isfinite(terms), terms, 0.0)
    pair = _sum_pair(finite)
    lo, hi = compensated.ends(pair)
    special = ~np.isfinite(terms).all(axis=-1)
    if special.any():
        value = _special_sum(terms)
        lo, hi = np.where(special, value, lo), np.where(special, value, hi)
    flat = terms.reshape(lo.size, terms.shape[-1])
    return Real(Interval(lo + 0.0, hi + 0.0), pair.take, lambda index: sum_dyadic(flat[index]))


def _sum_pair(terms: Floats) -> Pair:
    if terms.shape[-1] == 0:
        zeros = np.zeros(terms.shape[:-1])
        return Pair(zeros, zeros, zeros)
    return compensated.pair_sum(terms, None, lsb_exponent(terms).min(axis=-1))


def _special_sum(terms: Floats) -> Floats:
    plus, minus = (terms == np.inf).any(axis=-1), (terms == -np.inf).any(axis=-1)
    undefined = np.isnan(terms).any(axis=-1) | (plus & minus)
    return np.where(undefined, np.nan, np.where(plus, np.inf, -np.inf))


def sum_dyadic(x: Floats) -> Dyadic:
    """Sum finite f64 numbers exactly, in integers on a common exponent."""
    integers, exponents = _integers(x)
    return _common_sum(integers, exponents)


def dot_dyadic(x: Floats, y: Floats) -> Dyadic:
    """Return the exact dot product of finite f64 vectors."""
    left, left_exponents = _integers(x)
    right, right_exponents = _integers(y)
    products = [p * q for p, q in zip(left, right, strict=True)]
    return _common_sum(products, [p + q for p, q in zip(left_exponents, right_exponents, strict=True)])


def _integers(x: Floats) -> tuple[list[int], list[int]]:
    mantissa, exponent = np.frexp(x)
    integers = (mantissa * 2.0**F64.precision).astype(np.int64)
    return integers.tolist(), (exponent - F64.precision).tolist()


def _common_sum(integers: list[int], exponents: list[int]) -> Dyadic:
    lowest = min(exponents, default=0)
    return sum(m << (e - lowest) for m, e in zip(integers, exponents, strict=True)), lowest
