"""Certified enclosures of matrix products from one or a few f64 matrix products.

Assumption: the BLAS behind ``numpy.matmul`` evaluates each element as a sum of its K products in
some order, with or without FMA, in round-to-nearest f64. No Strassen-like algorithm, no reduced
precision.

Then ``|fl(A @ B) - A @ B| <= r * 2^-53 * (|A| @ |B|)`` with ``r = K - 1`` when the products are
exact in f64, which those of f32 and narrower formats are, and ``r = K`` otherwise (Jeannerod and
Rump, *Improved error bounds for inner products in floating-point arithmetic*, 2013: in any order,
no restriction on K); underflowing products add at most ``2^-1075`` each. The sum of magnitudes is
bounded by Cauchy and Schwarz, ``(|A| @ |B|)_ij <= ||a_i|| * ||b_j||``, at the cost of two passes
instead of another product.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from kernelcontracts.formats.facts import F64
from kernelcontracts.numerics.interval import Interval
from kernelcontracts.numerics.rounding import lsb_exponent, round_fraction

if TYPE_CHECKING:
    from kernelcontracts.formats.arrays import Bools, Floats, Ints

#: Row norms within these are squared and multiplied without over- or underflow that matters.
_COMFORTABLE: Final = (2.0**-450, 2.0**450)
_TINY: Final = 2.0**-1074


def matmul(a: Interval, b: Interval) -> Interval:
    """Enclose ``a @ b`` for interval matrices with leading batch dimensions, as `numpy.matmul`.

    Points give the certified enclosure of their product (degenerate on lattice data), non-negative
    intervals the products of their bounds, others the midpoint-radius product (Rump, *Fast and
    parallel interval arithmetic*, 1999): ``|AB - mA mB| <= |mA| rB + rA (|mB| + rB)``.
    """
    if _is_point(a) and _is_point(b):
        return matmul_points(a.lo, b.lo)
    if np.all(a.lo >= 0) and np.all(b.lo >= 0) and _all_finite(a.hi, b.hi):
        return Interval(matmul_points(a.lo, b.lo).lo, matmul_points(a.hi, b.hi).hi)
    if not _all_finite(a.lo, a.hi, b.lo, b.hi):
        return _matmul_unbounded(a, b)
    mid_a, rad_a = _mid_rad(a)
    mid_b, rad_b = _mid_rad(b)
    spread = matmul_points(np.abs(mid_a), rad_b).hi
    widest_b = np.nextafter(np.abs(mid_b) + rad_b, np.inf)
    radius = np.nextafter(spread + matmul_points(rad_a, widest_b).hi, np.inf)
    centre = matmul_points(mid_a, mid_b)
    return centre + Interval(-radius, radius)


def _is_point(a: Interval) -> bool:
    return a.lo is a.hi or bool(np.all((a.lo == a.hi) | a.is_nan))


def _all_finite(*arrays: Floats) -> bool:
    return all(bool(np.isfinite(x).all()) for x in arrays)


def _mid_rad(a: Interval) -> tuple[Floats, Floats]:
    mid = a.mid
    radius = np.maximum(np.nextafter(a.hi - mid, np.inf), np.nextafter(mid - a.lo, np.inf))
    return mid, np.where(a.is_exact, 0.0, radius)


def _matmul_unbounded(a: Interval, b: Interval) -> Interval:
    """Give the whole line to elements that an infinite bound reaches, NaN to those NaN reaches."""
    usable = [np.isfinite(x.lo) & np.isfinite(x.hi) for x in (a, b)]
    kept = [Interval(np.where(ok, x.lo, 0.0), np.where(ok, x.hi, 0.0)) for x, ok in zip((a, b), usable, strict=True)]
    product = matmul(*kept)
    reached = _reached(~usable[0], ~usable[1], product.shape)
    undefined = _reached(a.is_nan, b.is_nan, product.shape)
    lo = np.where(undefined, np.nan, np.where(reached, -np.inf, product.lo))
    return Interval(lo, np.where(undefined, np.nan, np.where(reached, np.inf, product.hi)))


def _reached(a: Bools, b: Bools, shape: tuple[int, ...], *, every: bool = False) -> Bools:
    """Tell which elements of the product use a marked element of either operand (of both, if `every`)."""
    rows = np.asarray(a.any(axis=-1))[..., :, None]
    columns = np.asarray(b.any(axis=-2))[..., None, :]
    return np.broadcast_to(rows & columns if every else rows | columns, shape)


def matmul_points(a: Floats, b: Floats) -> Interval:
    """Enclose the product of two f64 matrices (leading dimensions broadcast).

    The interval is degenerate where the lattice premise shows `numpy.matmul` to be exact. Elements
    that meet an infinity or NaN get their IEEE 754 value, whatever the order: NaN, or an infinity.
    """
    if _all_finite(a, b):
        return _matmul_finite(a, b)
    product = _matmul_finite(_finite_part(a), _finite_part(b))
    reached = _reached(~np.isfinite(a), ~np.isfinite(b), product.shape)
    special = special_products(a, b)
    return Interval(np.where(reached, special, product.lo), np.where(reached, special, product.hi))


def _finite_part(x: Floats) -> Floats:
    return np.where(np.isfinite(x), x, 0.0)


def special_products(a: Floats, b: Floats) -> Floats:
    """Return the IEEE 754 value of elements with an infinite or NaN term; zero elsewhere.

    The counts of infinite terms of either sign and of undefined terms are small integers, so that
    matrix products of indicators give them exactly.
    """
    pos = _indicator(a == np.inf), _indicator(b == np.inf)
    neg = _indicator(a == -np.inf), _indicator(b == -np.inf)
    above = _indicator((a > 0) & np.isfinite(a)), _indicator(b > 0)
    below = _indicator((a < 0) & np.isfinite(a)), _indicator(b < 0)
    plus = pos[0] @ above[1] + neg[0] @ below[1] + above[0] @ pos[1] + below[0] @ neg[1]
    minus = pos[0] @ below[1] + neg[0] @ above[1] + above[0] @ neg[1] + below[0] @ pos[1]
    zero_times = (pos[0] + neg[0]) @ _indicator(b == 0) + _indicator(a == 0) @ (pos[1] + neg[1])
    undefined = _reached(np.isnan(a), np.isnan(b), plus.shape) | (zero_times > 0)
    undefined = undefined | ((plus > 0) & (minus > 0))
    value = np.where(plus > 0, np.inf, np.where(minus > 0, -np.inf, 0.0))
    return np.where(undefined, np.nan, value)


def _indicator(mask: Bools) -> Floats:
    return mask.astype(np.float64)


def products_exact(a: Floats, b: Floats) -> bool:
    """Tell whether every product of an element of `a` with one of `b` is an f64 number.

    Holds if the significands together need at most 53 bits and the exponents stay within f64's.
    """
    if a.size == 0 or b.size == 0:
        return True
    low = _lowest_bit(a) + _lowest_bit(b)
    high = float(np.abs(a).max()), float(np.abs(b).max())
    bits = _most_bits(a) + _most_bits(b)
    in_range = np.frexp(high[0])[1] + np.frexp(high[1])[1] <= F64.emax
    return bool(bits <= F64.precision and low >= F64.lsb_min and in_range)


def _most_bits(x: Floats) -> int:
    """Bound the significand bits of all elements through the union of their fraction fields."""
    union = int(np.bitwise_or.reduce(x.view(np.uint64), axis=None)) & ((1 << 52) - 1)
    return 53 - min((union & -union).bit_length() - 1, 52) if union else 1


def _lowest_bit(x: Floats) -> int:
    """Bound from below the exponent of every element's lowest bit."""
    smallest = np.abs(x).min(initial=1.0, where=x != 0)
    return max(int(np.frexp(smallest)[1]) - 53, F64.lsb_min)


def _matmul_finite(a: Floats, b: Floats) -> Interval:
    terms = a.shape[-1]
    with np.errstate(over="ignore", invalid="ignore"):
        product = a @ b + 0.0
    exact_terms = products_exact(a, b)
    nonnegative = bool((a >= 0).all() and (b >= 0).all())
    losses = terms - 1 if exact_terms else terms
    if losses <= 0 or product.size == 0:
        return Interval(product, product)
    if nonnegative:
        radius, bound = _radius_nonnegative(product, losses, terms)
        radius = np.where(_reached(a != 0, b != 0, product.shape, every=True), radius, 0.0)
    else:
        radius, bound = _radius_by_norms(a, b, losses, terms)
    if exact_terms:
        lattice = _rows_lsb(a)[..., :, None] + _rows_lsb(np.swapaxes(b, -1, -2))[..., None, :]
        radius = np.where(on_f64_lattice(bound, lattice), 0.0, radius)
    return _around(product, radius)


def _rows_lsb(x: Floats) -> Ints:
    lowest: Ints = lsb_exponent(x).min(axis=-1)
    return lowest


def on_f64_lattice(bound: Floats, lsb: Ints) -> Bools:
    """Tell where multiples of ``2^lsb`` whose magnitudes sum to less than ``2^53 * 2^lsb`` add exactly.

    `bound` may also be the *computed* sum of the magnitudes: rounding is monotone, so as long as
    the computed sum is below that power of two, no partial sum reached it, and none was rounded.
    """
    with np.errstate(over="ignore", under="ignore"):
        scaled = np.ldexp(bound, -lsb.astype(np.int32))
    fits: Bools = (scaled < 2.0**53) & (lsb >= F64.lsb_min)
    return fits & (bound <= float(F64.maxfinite) / 2)


def _around(product: Floats, radius: Floats) -> Interval:
    with np.errstate(over="ignore", invalid="ignore"):
        lo = np.nextafter(product - radius, -np.inf)
        hi = np.nextafter(product + radius, np.inf)
    settled = radius == 0
    lo, hi = np.where(settled, product, lo), np.where(settled, product, hi)
    # an overflow on the way says nothing about the result
    lost = ~np.isfinite(product)
    return Interval(np.where(lost, -np.inf, lo), np.where(lost, np.inf, hi))


def _coefficient(losses: int, roundings: int) -> float:
    """Return ``losses * u / (1 - roundings * u)``, rounded up: the bound of an under-estimated quantity."""
    u = F64.unit_roundoff()
    return round_fraction(losses * u / (1 - roundings * u), F64, "ru")


def _radius_nonnegative(product: Floats, losses: int, terms: int) -> tuple[Floats, Floats]:
    """Bound the error where nothing cancels: the computed product stands for the sum of magnitudes.

    The computed product is at least ``1 - losses * u`` of the exact one, less what underflowed, and
    the radius itself takes one rounding.
    """
    return product * _coefficient(losses, losses + 2) + 2 * terms * _TINY, product


def _radius_by_norms(a: Floats, b: Floats, losses: int, terms: int) -> tuple[Floats, Floats]:
    """Bound the error by the norms of rows and columns.

    A computed sum of squares is at least ``1 - terms * u`` of the exact one, its square root loses
    one more rounding and half of the former; with the two multiplications of the radius the product
    of two norms keeps at least ``1 - (terms + 4) * u`` of its value, and two more roundings cover
    the norm product returned as bound of the sums of magnitudes.
    """
    rows, scale_a = _norms(a)
    columns, scale_b = _norms(np.swapaxes(b, -1, -2))
    scale = scale_a[..., :, None] + scale_b[..., None, :]
    norms = rows[..., :, None] * columns[..., None, :]
    with np.errstate(over="ignore", under="ignore"):
        bound = np.ldexp(norms * (1.0 + (terms + 8) * 2.0**-53), scale)
        radius = np.ldexp(norms * _coefficient(losses, terms + 8), scale)
    # scaling may have rounded a tiny radius, and products of f64 numbers may underflow
    return np.where(norms == 0, 0.0, radius + (terms + 1) * _TINY), bound


def _norms(x: Floats) -> tuple[Floats, Ints]:
    """Return Euclidean norms of rows and exponents: the norm is ``value * 2^exponent``."""
    largest = np.abs(x).max(axis=-1)
    used = largest[largest > 0]
    low, high = _COMFORTABLE
    if used.size == 0 or (used.min() > low and used.max() < high):
        return np.sqrt(np.einsum("...k,...k->...", x, x)), np.zeros(largest.shape, np.int64)
    exponent = np.frexp(largest)[1]
    scaled = np.ldexp(x, -exponent[..., None])
    return np.sqrt(np.einsum("...k,...k->...", scaled, scaled)), exponent.astype(np.int64)
