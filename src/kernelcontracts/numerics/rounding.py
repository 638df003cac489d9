"""Correct rounding of f64 values to any binary format, and the spacing of a format's numbers.

Each rounding is one rounding: a value never passes through a third format on the way, since
rounding f64 to f32 to f16 turns ``1 + 2^-11 + 2^-40`` into ``1`` where the nearest f16 is ``1 +
2^-10``.
"""

from __future__ import annotations

from fractions import Fraction
from math import inf, ldexp, nan
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from kernelcontracts.formats.arrays import Bools, Floats, Ints
    from kernelcontracts.formats.facts import Format

#: What `lsb_exponent` gives for values without a lowest bit (zero, infinities, NaN): above every
#: exponent.
NO_LSB: Final = 1 << 16

_SIGN: Final = np.uint64(1 << 63)
_MODES: Final = ("rne", "rz", "ru", "rd")


def round_to(x: Floats, fmt: Format, mode: str = "rne") -> Floats:
    """Round f64 values to a format, correctly and once.

    Parameters
    ----------
    x
        float64 array of any shape; every value is allowed.
    fmt
        The target format; its precision is at most 53 and its range within that of f64.
    mode
        ``rne`` to nearest with ties to even, ``rz`` towards zero, ``ru`` towards plus infinity,
        ``rd`` towards minus infinity.

    Returns
    -------
    ndarray
        float64 array of values of `fmt`, subnormals and signed zeros included. Overflow follows
        IEEE 754-2019 section 7.4: infinity when rounding to nearest or away, the largest finite
        number when rounding towards zero. A format without infinity gives NaN in place of infinity,
        for overflow and for infinite operands (the conversion of OFP8 without saturation, which ml_dtypes follows too);
        such a NaN has the sign of the operand.

    Raises
    ------
    ValueError
        If `mode` is unknown.
    """
    _check_mode(mode)
    x = np.asarray(x, dtype=np.float64)
    mag = np.abs(x)
    grows = _magnitude_grows(x, mode)
    with np.errstate(all="ignore"):
        rounded = _to_bits(mag, fmt, grows)
        small = mag < float(fmt.minnormal)
        if small.any():
            rounded = np.where(small, _to_grid(mag, fmt, grows), rounded)
        result = np.copysign(_overflowed(rounded, mag, fmt, grows), x)
    return np.where(np.isnan(x), nan, result)


def _check_mode(mode: str) -> None:
    if mode not in _MODES:
        raise ValueError(f"unknown rounding mode `{mode}`: use one of {', '.join(_MODES)}")


def _magnitude_grows(x: Floats, mode: str) -> Bools | None:
    """Tell where a directed rounding enlarges magnitudes; ``None`` for rounding to nearest."""
    if mode == "rne":
        return None
    if mode == "rz":
        return np.zeros(x.shape, np.bool_)
    negative = np.signbit(x)
    return negative if mode == "rd" else ~negative


def _to_bits(mag: Floats, fmt: Format, grows: Bools | None) -> Floats:
    """Round magnitudes of normal results by cutting low bits of the encoding.

    Encodings of positive numbers are ordered like the numbers and equally spaced within a binade,
    and a carry out of the significand correctly enters the exponent, so integer arithmetic rounds.
    """
    drop = 53 - fmt.precision
    if drop == 0:
        return mag
    word = mag.view(np.uint64)
    mask = np.uint64((1 << drop) - 1)
    if grows is None:
        lowest_kept = (word >> np.uint64(drop)) & np.uint64(1)
        carry = np.uint64((1 << (drop - 1)) - 1) + lowest_kept
    else:
        carry = np.where(grows, mask, np.uint64(0))
    cut: Floats = ((word + carry) & ~mask).view(np.float64)
    return cut


def _to_grid(mag: Floats, fmt: Format, grows: Bools | None) -> Floats:
    """Round magnitudes below the smallest normal number to multiples of the smallest subnormal.

    Adding ``2^52 * minsub`` makes the spacing of f64 equal to `minsub`, so the addition itself
    rounds to nearest even, and the subtraction is exact (both are multiples of `minsub` below
    ``2^53 * minsub``).
    """
    anchor = float(fmt.minsub * 2**52)
    step = float(fmt.minsub)
    nearest: Floats = (mag + anchor) - anchor
    if grows is None:
        return nearest
    down = np.where(nearest > mag, nearest - step, nearest)
    return np.where(grows & (down < mag), down + step, down)


def _overflowed(rounded: Floats, mag: Floats, fmt: Format, grows: Bools | None) -> Floats:
    largest = float(fmt.maxfinite)
    beyond = inf if fmt.has_inf else nan
    over = rounded > largest
    if grows is None:
        return np.where(over, beyond, rounded)
    return np.where(over, np.where(grows | np.isinf(mag), beyond, largest), rounded)


def round_dyadic(numerator: int, exponent: int, fmt: Format, mode: str = "rne") -> float:
    """Round the exact value ``numerator * 2^exponent`` to a format, in integer arithmetic.

    Overflow is treated as in `round_to`; a negative value that rounds to zero gives ``-0.0``.

    Raises
    ------
    ValueError
        If `mode` is unknown.
    """
    _check_mode(mode)
    if numerator == 0:
        return 0.0
    mag, sign = abs(numerator), (-1.0 if numerator < 0 else 1.0)
    top = mag.bit_length() - 1 + exponent
    quantum = max(top, fmt.emin) - fmt.precision + 1
    shift = quantum - exponent
    if shift <= 0:
        kept, remainder, half = mag << -shift, 0, 0
    else:
        kept, remainder, half = mag >> shift, mag & ((1 << shift) - 1), 1 << (shift - 1)
    return sign * _finish(kept, remainder, half, quantum, fmt, _grows(mode, numerator < 0))


def _grows(mode: str, negative: bool) -> bool | None:
    return None if mode == "rne" else mode == ("rd" if negative else "ru")


def _finish(kept: int, rest: int, half: int, quantum: int, fmt: Format, grows: bool | None) -> float:
    """Decide on the neighbour above, given what was cut off, and treat overflow."""
    if grows is None:
        kept += rest > half or (rest == half and rest != 0 and kept & 1 == 1)
    elif grows:
        kept += rest != 0
    # maxfinite is an integer multiple of every quantum at which overflow is possible
    if Fraction(kept) * Fraction(2) ** quantum <= fmt.maxfinite:
        return ldexp(kept, quantum)
    if grows is False:
        return float(fmt.maxfinite)
    return inf if fmt.has_inf else nan


def round_fraction(q: Fraction, fmt: Format, mode: str = "rne") -> float:
    """Round a rational number to a format: the exact reference of `round_to`.

    A non-dyadic rational is first replaced by a dyadic one on the same side of every number and of
    every midpoint of the format: its quotient with two bits to spare and a sticky bit (rounding to
    odd; Boldo and Melquiond, *Emulation of FMA and correctly rounded sums: proved algorithms using
    rounding to odd*, 2008).
    """
    bits = q.numerator.bit_length() - q.denominator.bit_length()
    # the quotient keeps at least precision + 2 bits, and reaches below half of the smallest
    # subnormal
    exponent = min(bits - fmt.precision - 3, fmt.lsb_min - 2)
    whole, rest = divmod(abs(q.numerator) << max(-exponent, 0), q.denominator << max(exponent, 0))
    odd = whole | (rest != 0)
    return round_dyadic(-odd if q < 0 else odd, exponent, fmt, mode)


def odd(hi: Floats, lo: Floats) -> Floats:
    """Round ``hi + lo`` to odd in the 53 bits of f64.

    The result is the exact sum if that is representable, and otherwise the neighbour with an odd
    significand. Rounding it on to a format of at most 51 bits equals rounding the exact sum at once
    (Boldo and Melquiond 2008, theorem 1: two spare bits suffice). Finite operands without overflow.
    """
    with np.errstate(all="ignore"):
        total = hi + lo
        part = total - hi
        error = (hi - (total - part)) + (lo - part)
        towards = np.nextafter(total, np.copysign(inf, error))
    even = (total.view(np.uint64) & np.uint64(1)) == 0
    return np.where((error != 0) & even, towards, total)


def ulp(x: Floats, fmt: Format) -> Floats:
    """Return the spacing of a format at real numbers.

    The distance between the two finite numbers of the format that bracket the real `x`, the smaller
    one where `x` is a power of two at which the spacing changes (Muller, *On the definition of
    ulp(x)*, INRIA RR-5504, 2005, as adopted by OpenCL). Beyond the largest finite number the last
    gap, near zero the smallest subnormal, NaN for NaN. It never decreases with ``|x|``.

    Parameters
    ----------
    x
        float64 array of real numbers, not necessarily numbers of `fmt`.
    """
    x = np.asarray(x, dtype=np.float64)
    mantissa, exponent = np.frexp(np.abs(x))
    # |x| = mantissa * 2^exponent with mantissa in [1/2, 1): a power of two belongs to the binade
    # below
    binade = exponent - 1 - (mantissa == 0.5)
    binade = np.where(np.isinf(x), fmt.emax, np.clip(binade, fmt.emin, fmt.emax))
    spacing = np.ldexp(1.0, (binade - fmt.precision + 1).astype(np.int32))
    return np.where(np.isnan(x), nan, np.where(x == 0, float(fmt.minsub), spacing))


def representable(x: Floats, fmt: Format) -> Bools:
    """Tell elementwise whether `x` is a number of the format; NaN is, if the format has NaN."""
    x = np.asarray(x, dtype=np.float64)
    kept: Bools = round_to(x, fmt, "rz") == x
    return kept | (np.isnan(x) & fmt.has_nan)


def significant_bits(x: Floats) -> Ints:
    """Return how many significand bits each value needs.

    Powers of two need 1; zero, infinities and NaN need 0.
    """
    mantissa, _ = np.frexp(x)
    fraction, _ = _fields(np.asarray(mantissa))
    bits = 53 - _trailing_zeros(fraction)
    return np.where((np.asarray(x) == 0) | ~np.isfinite(x), 0, bits)


def lsb_exponent(x: Floats) -> Ints:
    """Return the exponent of the lowest set bit.

    That is the largest ``e`` such that ``x`` is a multiple of ``2^e``. Zero, infinities and NaN
    give `NO_LSB`, so that a minimum over elements passes over them.
    """
    fraction, exponent = _fields(np.asarray(x, dtype=np.float64))
    # subnormals (exponent field 0) have the scale of field 1; their fraction is not zero, so its
    # lowest bit is explicit
    lowest = np.maximum(exponent, 1) - 1075 + _trailing_zeros(fraction)
    none = ((exponent == 0) & (fraction == 0)) | (exponent == 0x7FF)
    return np.where(none, NO_LSB, lowest)


def _fields(x: Floats) -> tuple[Ints, Ints]:
    """Return the fraction and exponent fields of the encoding."""
    word = x.view(np.int64)
    fraction: Ints = word & np.int64((1 << 52) - 1)
    exponent: Ints = (word >> np.int64(52)) & np.int64(0x7FF)
    return fraction, exponent


def _trailing_zeros(fraction: Ints) -> Ints:
    """Count the zeros below the lowest set bit of a fraction field, 52 where only the implicit bit is."""
    # the implicit bit stops the count; for subnormals, whose fraction is not zero, it is never
    # reached
    stopped = fraction | np.int64(1 << 52)
    zeros: Ints = np.bitwise_count((stopped & -stopped) - 1).astype(np.int64)
    return zeros
