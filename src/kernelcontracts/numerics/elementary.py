"""Certified enclosures of the exponential and the natural logarithm.

The exponential is computed with IEEE 754 additions and multiplications of f64 alone, so its bits
are the same on every machine; the logarithm, which the language takes of dimensions and single
numbers, comes from the ball arithmetic of Arb.

Exponential (after Tang, *Table-driven implementation of the exponential function*, 1989). With
``c = ln(2) / 64``, ``k = rint(x / c)``, ``j = k mod 64`` and ``r = x - k * c``,

    exp(x) = 2^((k - j) / 64) * 2^(j / 64) * (1 + q),      q = exp(r) - 1.

Reduction. ``c = c1 + c2 + c3`` where ``c1`` has 35 bits, so that ``k * c1`` is exact for ``|k| <
2^18``, and so is ``x - k * c1``: for ``k != 0`` both are multiples of ``2^-60``, as ``|x| > 2^-8``,
and their difference is below ``2^-7``. ``c2`` has 53 bits and ``|c3| < 2^-94``. Hence ``|r| <= c /
2 + 2^-40 < 2^-7.5``, and ``r`` is off by at most ``2^-60.5`` (its own rounding) ``+ 2^-77``
(rounding of ``k * c2``, below ``2^-24``) ``+ 2^-76`` (``k * c3``).

Polynomial. Cutting the series after ``r^6 / 720`` omits less than ``2 * |r|^7 / 5040 < 2^-63``.
Evaluated as ``r + r^2 * s(r)``, ``s = 1/2 + r/6 + ...``, the second part is below ``2^-15.9`` and
gathers fewer than eight roundings, ``2^-65``; the last addition rounds by ``2^-60.5``. So `q` is
off by less than ``2^-59.2``.

Reconstruction. ``2^(j/64) = t1 + t2`` to 106 bits, ``1 <= t1 < 2``. ``t1 * q + t2`` is below
``2^-6.4``: two roundings, ``2^-58.4`` together, and the error of `q` doubled, ``2^-58.2``. The sum
with ``t1`` rounds by ``2^-53`` of its value, which is at least ``0.99``. In all less
than ``2^-52.9`` relative; ``2^-51`` is used, which leaves room for the rounding of the multiplications that apply it.

Scaling by a power of two is exact, or rounds once towards a subnormal number, which a step outwards
covers.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from math import isqrt
from typing import TYPE_CHECKING, Final

import numpy as np

from kernelcontracts.formats.facts import F64
from kernelcontracts.numerics import interval
from kernelcontracts.numerics.interval import Interval, exact
from kernelcontracts.numerics.rounding import round_fraction

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from kernelcontracts.formats.arrays import Floats

_TABLE_BITS: Final = 6
_ENTRIES: Final = 1 << _TABLE_BITS
#: The relative error derived above.
_ERROR: Final = 2.0**-51
#: exp of numbers beyond these over- or underflows whatever they are; clipping keeps `k` small.
_SMALLEST, _LARGEST = -760.0, 720.0
#: Bits of the fixed-point constants: 106 for the tables and some to spare.
_FIXED: Final = 160
#: Precision of Arb: 53 bits to return, and enough that the ball seldom straddles an f64 number.
_ARB_BITS: Final = 96


def exp(x: Interval) -> Interval:
    """Enclose the exponential of intervals; exact at zero and at infinities, NaN for NaN."""
    if x.lo is x.hi:
        return Interval(*_exp(x.lo))
    return Interval(_exp(x.lo)[0], _exp(x.hi)[1])


def _exp(x: Floats) -> tuple[Floats, Floats]:
    with np.errstate(all="ignore"):
        value, scale = _exp_scaled(np.where(np.isnan(x), 0.0, np.clip(x, _SMALLEST, _LARGEST)))
        lo = np.ldexp(value * (1.0 - _ERROR), scale)
        hi = np.ldexp(value * (1.0 + _ERROR), scale)
        # only a subnormal number can have been rounded by the scaling
        lo = np.where(lo < 2.0**-1021, np.maximum(np.nextafter(lo, -np.inf), 0.0), lo)
        hi = np.where(hi < 2.0**-1021, np.nextafter(hi, np.inf), hi)
        lo = np.minimum(lo, float(F64.maxfinite))
        known = (x == 0) | np.isinf(x) | np.isnan(x)
        special = np.where(x == 0, 1.0, np.where(x > 0, np.inf, np.where(np.isnan(x), np.nan, 0.0)))
        return np.where(known, special, lo), np.where(known, special, hi)


def _exp_scaled(x: Floats) -> tuple[Floats, NDArray[np.int32]]:
    """Return ``(v, e)`` with ``exp(x) = v * 2^e`` within the relative error."""
    inverse, c1, c2, high, low = _constants()
    k = np.rint(x * inverse)
    r = (x - k * c1) - k * c2
    s = 0.5 + r * (1 / 6 + r * (1 / 24 + r * (1 / 120 + r * (1 / 720))))
    q = r + r * r * s
    whole = k.astype(np.int32)
    j = whole & (_ENTRIES - 1)
    value: Floats = high[j] + (low[j] + high[j] * q)
    return value, np.right_shift(whole - j, _TABLE_BITS, dtype=np.int32)


@lru_cache(maxsize=1)
def _constants() -> tuple[float, float, float, Floats, Floats]:
    """Compute ``1/c, c1, c2`` and the table of ``2^(j/64)`` as pairs, in integers."""
    c = ln2_fixed(_FIXED + 64) / Fraction(2) ** (_FIXED + 64) / _ENTRIES
    # 2^-7 < c < 2^-6: a multiple of 2^-41 has 35 bits
    c1 = Fraction(int(c * 2**41), 2**41)
    roots = [Fraction(_root_of_two(j), 2**_FIXED) for j in range(_ENTRIES)]
    high = [float(root) for root in roots]
    low = [float(root - Fraction(h)) for root, h in zip(roots, high, strict=True)]
    return float(1 / c), float(c1), float(c - c1), np.array(high), np.array(low)


def _root_of_two(j: int) -> int:
    """Return ``floor(2^(j/64) * 2^160)``: nested integer square roots are the floor of the 64th root."""
    value = 1 << (j + _ENTRIES * _FIXED)
    for _ in range(_TABLE_BITS):
        value = isqrt(value)
    return value


def ln2_fixed(bits: int) -> int:
    """Return ``ln(2) * 2^bits`` to within ``bits + 1`` units, from ``ln 2 = sum 1 / (n * 2^n)``."""
    return sum((1 << (bits - n)) // n for n in range(1, bits + 1))


def log(x: Interval) -> Interval:
    """Enclose the natural logarithm: minus infinity at zero, NaN where an interval is below it.

    An interval that reaches below zero is cut off there. Every distinct number costs a few
    microseconds.
    """
    if x.lo is x.hi:
        return Interval(*_log(x.lo))
    reaches = (x.lo < 0) & (x.hi >= 0)
    lo, hi = _log(np.where(reaches, 0.0, x.lo))[0], _log(x.hi)[1]
    undefined = np.isnan(lo) | np.isnan(hi)
    return Interval(np.where(undefined, np.nan, lo), np.where(undefined, np.nan, hi))


def _log(x: Floats) -> tuple[Floats, Floats]:
    numbers, inverse = np.unique(x, return_inverse=True)
    ends = np.array([_log_number(number) for number in numbers.tolist()]).reshape(-1, 2)
    both = ends[inverse.reshape(np.shape(x))]
    return np.asarray(both[..., 0]), np.asarray(both[..., 1])


def _log_number(x: float) -> tuple[float, float]:
    if x != x or x < 0:  # noqa: PLR0124  # NaN alone differs from itself
        return np.nan, np.nan
    if x in {0.0, 1.0, np.inf}:
        value = {0.0: -np.inf, 1.0: 0.0}.get(x, np.inf)
        return value, value
    import flint  # deferred: only logarithms need it

    with flint.ctx.workprec(_ARB_BITS):
        ball = flint.arb(x).log()
    middle, radius = _dyadic(ball.mid()), _dyadic(ball.rad())
    return round_fraction(middle - radius, F64, "rd"), round_fraction(middle + radius, F64, "ru")


def _dyadic(number: object) -> Fraction:
    mantissa, exponent = number.man_exp()  # type: ignore[attr-defined]  # flint publishes no types
    return Fraction(int(mantissa)) * Fraction(2) ** int(exponent)


def expm1_bounds(t: Interval) -> Interval:
    """Enclose ``exp(t) - 1`` for ``t >= 0`` without cancellation.

    For ``t <= 2^-11`` it lies between ``t + t^2/2 + t^3/6`` and that plus ``t^4/24 / (1 - t/5)``, where the last
    term bounds the rest of the series by a geometric one. Beyond, the subtraction of one loses 11 bits at most.
    """
    small = t.hi <= 2.0**-11
    start = t + t**2 * Fraction(1, 2) + t**3 * Fraction(1, 6)
    below_one = interval.minimum(t, 1)
    rest = t**4 * Fraction(1, 24) / (1 - below_one * Fraction(1, 5))
    direct = exp(t) - exact(1.0)
    lo = np.where(small, start.lo, direct.lo)
    return Interval(lo, np.where(small, (start + rest).hi, direct.hi))
