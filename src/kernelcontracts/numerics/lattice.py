"""When a sum or dot product is exact in a format whatever the order: lattice premises.

Theorem. Let every term be a multiple of ``g = 2^e`` with ``e >= emin``, and let the magnitudes of
the terms sum to at most ``2^p * g`` and to at most the largest finite number of a format of
precision ``p``. Then adding the terms in that format, in any order, tree or blocking, with products
rounded or fused, under any rounding mode, with or without flushing of subnormal results, makes no
error.

Proof. Each partial sum is the sum of a subset of the terms: a multiple ``m * g`` whose magnitude is
at most the sum of all magnitudes, so ``|m| <= 2^p``. An integer up to ``2^p`` has at most `p`
significant bits (``2^p`` itself has one), the partial sum is finite by the last premise, and it is
zero or at least ``g >= 2^emin``, hence normal. It is a number of the format, and an operation with
a representable result returns it. A product is the partial sum of one term. QED.

The same holds for accumulators that align a block of terms and truncate: with ``p - 1`` fraction
bits below the largest term every multiple of `g` in range survives the alignment. It says nothing
of algorithms that add other things than the terms (Strassen, Winograd, split emulation of a
format).

`exact_dot_premise` and `exact_sum_premise` are sufficient conditions: False where they are unsure.
Operands count as given: a kernel that flushes subnormal *operands* computes another dot product.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from kernelcontracts.numerics import enclosure
from kernelcontracts.numerics.reductions import Axes, to_last
from kernelcontracts.numerics.rounding import (
    NO_LSB,
    lsb_exponent,
    representable,
    round_to,
    significant_bits,
)

if TYPE_CHECKING:
    from kernelcontracts.formats.arrays import Bools, Floats, Ints
    from kernelcontracts.formats.facts import Format

#: Elements of the largest temporary array.
_CHUNK: Final = 1 << 22
#: Products looked at first; data with full significands fail at once.
_SAMPLE: Final = 8


def exact_dot_premise(a: Floats, b: Floats, fmt: Format) -> Bools:
    """Tell which dot products of ``a @ b`` are exact in `fmt` by the theorem above.

    The common lattice of a row and a column is tried first; where it is too fine, the lattice of
    the actual products, as long as it is not ruled out.

    Parameters
    ----------
    a, b
        float64 arrays ``(..., M, K)`` and ``(..., K, N)``; leading dimensions broadcast.

    Returns
    -------
    ndarray
        Booleans ``(..., M, N)``; False where an operand is not finite.
    """
    rows, columns = np.isfinite(a).all(axis=-1), np.isfinite(b).all(axis=-2)
    finite = np.asarray(rows)[..., :, None] & np.asarray(columns)[..., None, :]
    a, b = np.where(np.isfinite(a), a, 0.0), np.where(np.isfinite(b), b, 0.0)
    mag = enclosure.matmul_points(np.abs(a), np.abs(b)).hi
    lowest_b = _lowest(np.swapaxes(lsb_exponent(b), -1, -2))
    coarse = _lowest(lsb_exponent(a))[..., :, None] + lowest_b[..., None, :]
    holds = _fits(mag, coarse, fmt)
    open_ = np.flatnonzero(~holds & finite & (mag <= float(fmt.maxfinite)))
    holds.flat[_surviving(open_, a, b, mag, fmt)] = True
    return holds & finite


def _surviving(open_: Ints, a: Floats, b: Floats, mag: Floats, fmt: Format) -> Ints:
    """Return those of the flat indices whose products themselves meet the premises.

    The lattice of the first few products rules out most; what has a single term is its own lattice;
    the rest is decided product by product.
    """
    low_a, low_b = lsb_exponent(a), np.swapaxes(lsb_exponent(b), -1, -2)
    few = slice(_SAMPLE)
    open_ = open_[_fits_products(open_, mag, low_a[..., few], low_b[..., few], fmt)]
    if open_.size == 0 or not enclosure.products_exact(a, b):
        return open_[_fits_products(open_, mag, low_a, low_b, fmt)]
    single = ((a != 0).astype(np.float64) @ (b != 0).astype(np.float64)).flat[open_] <= 1
    value = (np.abs(a) @ np.abs(b)).flat[open_]
    alone = open_[single & _fits(value, lsb_exponent(value), fmt)]
    several = open_[~single]
    return np.concatenate([alone, several[_fits_products(several, mag, low_a, low_b, fmt)]])


def _lowest(lsb: Ints) -> Ints:
    lowest: Ints = lsb.min(axis=-1, initial=NO_LSB)
    return lowest


def _fits(mag: Floats, lsb: Ints, fmt: Format) -> Bools:
    """Check the three premises; without terms (`lsb` at `NO_LSB` or above) they hold."""
    with np.errstate(over="ignore", under="ignore"):
        steps = np.ldexp(mag, -lsb.astype(np.int32))
    fits: Bools = (steps <= 2.0**fmt.precision) & (lsb >= fmt.emin)
    return fits & (mag <= float(fmt.maxfinite))


def _fits_products(open_: Ints, mag: Floats, low_a: Ints, low_b: Ints, fmt: Format) -> Bools:
    """Check the premises with the lowest bit of the products themselves, for the elements `open_`.

    The lowest bit is gathered over growing blocks of K, and an element leaves as soon as it fails:
    each further product can only make the lattice finer.
    """
    batch = mag.shape[:-2]
    rows = np.broadcast_to(low_a, (*batch, *low_a.shape[-2:]))
    columns = np.broadcast_to(low_b, (*batch, *low_b.shape[-2:]))
    alive, lowest = np.ones(open_.shape, np.bool_), np.full(open_.shape, NO_LSB)
    start, width, terms = 0, _SAMPLE, low_a.shape[-1]
    while start < terms and alive.any():
        where = np.flatnonzero(alive)
        block = slice(start, start + width)
        for part in np.array_split(where, where.size * width // _CHUNK + 1):
            *lead, i, j = np.unravel_index(open_[part], mag.shape)
            left, right = rows[..., block][(*lead, i)], columns[..., block][(*lead, j)]
            found = _lowest(np.add(left, right))
            lowest[part] = np.minimum(lowest[part], found)
        alive[where] = _fits(mag.flat[open_[where]], lowest[where], fmt)
        start, width = start + width, 4 * width
    return alive


def exact_sum_premise(x: Floats, fmt: Format, axis: Axes = -1) -> Bools:
    """Tell which sums along `axis` are exact in `fmt` by the theorem above.

    Returns
    -------
    ndarray
        Booleans of the shape of the sum; False where a term is not finite.
    """
    terms = to_last(x, axis)
    finite = np.isfinite(terms).all(axis=-1)
    terms = np.where(np.isfinite(terms), terms, 0.0)
    lsb = _lowest(lsb_exponent(terms))
    with np.errstate(over="ignore"):
        mag = np.abs(terms).sum(axis=-1)
        # n - 1 roundings in whichever order, unless the terms lie on a lattice that f64 holds
        above = mag * (1.0 + 2 * terms.shape[-1] * 2.0**-53)
    mag = np.where(enclosure.on_f64_lattice(mag, lsb), mag, above)
    return _fits(mag, lsb, fmt) & finite


def inexact_products(a: Floats, b: Floats, fmt: Format) -> Floats:
    """Return 1 for dot products in which a product may need more bits than `fmt` has, else 0.

    The product of an odd ``s``-bit and an odd ``t``-bit integer is odd and below ``2^(s+t)``, so it
    has at most ``s + t`` bits; if one factor is a power of two, as many as the other factor. Rows
    and columns are judged by their element with most bits, so 1 may be pessimistic and 0 never is.
    Results below the smallest normal number are a matter of underflow, not counted here.

    Returns
    -------
    ndarray
        float64 zeros and ones ``(..., M, N)``.
    """
    rows = significant_bits(a).max(axis=-1, initial=0)[..., :, None]
    columns = significant_bits(b).max(axis=-2, initial=0)[..., None, :]
    needed = np.where(np.minimum(rows, columns) <= 1, np.maximum(rows, columns), rows + columns)
    none = np.minimum(rows, columns) == 0
    return np.where(none, 0.0, (needed > fmt.precision).astype(np.float64))


def kept(*arrays: Floats, fmt: Format) -> bool:
    """Tell whether rounding the arrays to a format would change nothing."""
    return all(bool(representable(x, fmt).all()) for x in arrays)


def kept_by_split(x: Floats, fmt: Format, parts: int) -> bool:
    """Tell whether every value is the sum of `parts` numbers of a format, each the rounding of the rest.

    Infinities and NaN are not: the rest after an infinity is NaN.
    """
    return not split_rest(x, fmt, parts)[1].any()


def split_rest(x: Floats, fmt: Format, parts: int) -> tuple[list[Floats], Floats]:
    """Split values into `parts` numbers of a format and what is left over.

    Each difference is exact: a value and its rounding are multiples of the value's lowest bit, and
    their difference is not above the value.
    """
    pieces, rest = [], x
    for _ in range(parts):
        pieces.append(round_to(rest, fmt))
        with np.errstate(invalid="ignore"):
            rest = rest - pieces[-1]
    return pieces, rest
