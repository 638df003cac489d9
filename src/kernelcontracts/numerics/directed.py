"""Elementwise f64 operations with certified directed rounding.

Each function returns ``(down, up)``: the neighbouring f64 numbers that enclose the exact result,
equal to each other exactly when the result is exact. The sign of the rounding error decides, and
the error is itself computed exactly: by TwoSum for sums, by Dekker's TwoProd for products, by a
residual for quotients and square roots (Muller et al., *Handbook of Floating-Point Arithmetic*,
2018, chapter 4). Where a TwoProd could over- or underflow, the operands are first scaled by powers
of two.

Only IEEE 754 operations of numpy in rounding to nearest are used: no BLAS, no mathematical library.
"""

from __future__ import annotations

from typing import Final, TypeAlias

import numpy as np

from kernelcontracts.formats.arrays import Bools, Floats

Bracket: TypeAlias = tuple[Floats, Floats]

#: Veltkamp's splitter for 53 bits.
_SPLITTER: Final = 2.0**27 + 1.0
#: Below this a product's error may fall under 2^-1074: p >= 2^-969 leaves both factors' lowest
#: bits, 52 each below their leading ones, at -970 - 104 = -1074 or above.
_SMALLEST_SAFE: Final = 2.0**-969
#: Above this the splitter may overflow; it also keeps every product of safe operands below 2^1024.
_LARGEST_SAFE: Final = 2.0**500


def two_sum(a: Floats, b: Floats) -> Bracket:
    """Return ``(s, e)`` with ``s = fl(a + b)`` and ``s + e = a + b`` exactly (Knuth).

    NaN in `e` tells of an overflow or of operands that are not finite.
    """
    s = a + b
    part = s - a
    return s, (a - (s - part)) + (b - part)


def two_prod(a: Floats, b: Floats) -> Bracket:
    """Return ``(p, e)`` with ``p = fl(a * b)`` and ``p + e = a * b`` exactly (Dekker, Veltkamp).

    Holds for ``|a|, |b| <= 2^500`` and ``|p| >= 2^-969`` or zero factors; elsewhere `e` means
    nothing.
    """
    p = a * b
    a_high, a_low = _split(a)
    b_high, b_low = _split(b)
    e = ((a_high * b_high - p) + a_high * b_low + a_low * b_high) + a_low * b_low
    return p, e


def _split(a: Floats) -> Bracket:
    scaled = a * _SPLITTER
    high = scaled - (scaled - a)
    return high, a - high


def product_is_safe(a: Floats, b: Floats, p: Floats) -> Bools:
    """Tell where `two_prod` is error-free."""
    inside = (np.abs(a) <= _LARGEST_SAFE) & (np.abs(b) <= _LARGEST_SAFE)
    safe: Bools = inside & ((np.abs(p) >= _SMALLEST_SAFE) | (a == 0) | (b == 0))
    return safe


def bracket(value: Floats, error: Floats) -> Bracket:
    """Enclose ``value + error`` given the sign of an error below one spacing; NaN means unknown."""
    if not np.any(error):
        return value, value
    down = np.where(error >= 0, value, np.nextafter(value, -np.inf))
    up = np.where(error <= 0, value, np.nextafter(value, np.inf))
    return down, up


def add(a: Floats, b: Floats) -> Bracket:
    """Enclose ``a + b``; an overflow gives ``(largest, inf)``, infinite operands their IEEE result."""
    with np.errstate(all="ignore"):
        s, e = two_sum(a, b)
        if not np.isfinite(s).all():
            e = np.where(np.isinf(a) | np.isinf(b), 0.0, e)
        return bracket(s, e)


def multiply(a: Floats, b: Floats) -> Bracket:
    """Enclose ``a * b``; infinite operands give their IEEE result."""
    with np.errstate(all="ignore"):
        p, e = two_prod(a, b)
        safe = product_is_safe(a, b, p)
        if not safe.all():
            e = np.where(safe, e, _product_error_scaled(a, b, p))
        return bracket(p, e)


def _product_error_scaled(a: Floats, b: Floats, p: Floats) -> Floats:
    """Return the sign of the error of `p` from operands scaled into [1/2, 1).

    `p` scaled alike differs from the scaled product by what under- or overflow took. That
    difference is exact, since `p` lies on a coarser grid (or is infinite), and so has the sign of
    the whole error.
    """
    ma, ea = np.frexp(a)
    mb, eb = np.frexp(b)
    mp, me = two_prod(ma, mb)
    error = (mp - np.ldexp(p, -(ea + eb))) + me
    return np.where(np.isinf(a) | np.isinf(b), 0.0, error)


def divide(a: Floats, b: Floats) -> Bracket:
    """Enclose ``a / b`` for non-zero `b`; zero or infinite operands give their IEEE result."""
    with np.errstate(all="ignore"):
        q = a / b
        p, e = two_prod(q, b)
        # q * b is within one spacing of a, so a - p is exact and the residual keeps its sign
        residual = ((a - p) - e) * np.sign(b)
        safe = product_is_safe(q, b, p) & (np.abs(q) >= _SMALLEST_SAFE) & (np.abs(a) <= _LARGEST_SAFE)
        if not safe.all():
            residual = np.where(safe, residual, _quotient_error_scaled(a, b, q))
        return bracket(q, residual)


def _quotient_error_scaled(a: Floats, b: Floats, q: Floats) -> Floats:
    ma, ea = np.frexp(a)
    mb, eb = np.frexp(b)
    mq = ma / mb
    p, e = two_prod(mq, mb)
    lost = mq - np.ldexp(q, -(ea - eb))
    # what under- or overflow took is at least a spacing of mq, the residual at most half of one
    error = np.where(lost != 0, lost, ((ma - p) - e) * np.sign(mb))
    known = np.isinf(a) | np.isinf(b) | (a == 0) | (b == 0)
    return np.where(known, 0.0, error)


def square_root(x: Floats) -> Bracket:
    """Enclose the square root; negative operands give NaN."""
    with np.errstate(all="ignore"):
        m, e = np.frexp(x)
        is_odd = (e & 1).astype(np.float64)
        m = m * (1.0 + is_odd)
        s = np.sqrt(m)
        p, low = two_prod(s, s)
        # the exponent is even now, and a square root is never subnormal: scaling back is exact
        root = np.where(np.isinf(x), np.sqrt(x), np.ldexp(s, (e - (e & 1)) // 2))
        return bracket(root, np.where(np.isinf(x), 0.0, (m - p) - low))
