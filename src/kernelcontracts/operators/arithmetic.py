"""Arithmetic of an accumulator: every operation rounded once, to one format, in one direction."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from kernelcontracts.numerics.rounding import round_to

if TYPE_CHECKING:
    from kernelcontracts.formats.facts import Format

Floats: TypeAlias = NDArray[Any]
Doubles: TypeAlias = NDArray[np.float64]
Mode: TypeAlias = Literal["rne", "rz"]

BINARY64 = 53
"""Significant bits of the carrier, IEEE 754 binary64."""

INNOCUOUS = 25
"""Widest precision p at which rounding to 53 bits and then to p equals rounding once.

Figueroa 1995: rounding to nearest twice is harmless for +, -, * and / on p-bit operands when the
wider format has at least 2p + 2 bits; 53 >= 2p + 2 holds up to p = 25.
"""

VELTKAMP = 2.0**27 + 1.0
"""Dekker 1971: splits 53 bits into two halves of at most 26."""


@dataclass(frozen=True, slots=True)
class Arithmetic:
    """Addition, multiplication and division of an accumulator.

    Values are carried in float64 arrays, or in float32 arrays where NumPy's own single precision is
    the very arithmetic meant (f32, round to nearest even, operands of at most 24 bits).

    Attributes
    ----------
    fmt
        The accumulator's format.
    mode
        ``"rne"`` or ``"rz"``.
    flush
        Whether results below the smallest normal number become zero.
    native
        Whether the carrier is float32.
    exact_products
        Whether float64 holds every product of operands: nothing is lost before the rounding.
    """

    fmt: Format
    mode: Mode = "rne"
    flush: bool = False
    native: bool = False
    exact_products: bool = False

    @property
    def carrier(self) -> type[np.floating[Any]]:
        """The dtype in which values travel."""
        return np.float32 if self.native else np.float64

    def load(self, x: Doubles) -> Floats:
        """Round float64 values to the accumulator. A conversion is no result: it is not flushed."""
        return self._rounded(np.asarray(x, np.float64)).astype(self.carrier)

    def add(self, a: Floats, b: Floats) -> Floats:
        """Return the rounded sum of two arrays of accumulator values."""
        total = a + b
        if self._odd:
            total = self._sticky(total, _sum_error(a, b, total))
        return self._flushed(total if self.native else self._rounded(total))

    def subtract(self, a: Floats, b: Floats) -> Floats:
        """Return the rounded difference."""
        return self.add(a, -b)

    def multiply(self, a: Floats, b: Floats) -> Floats:
        """Return the rounded product; the operands may be wider than the accumulator."""
        product = a * b
        nearest = self.mode == "rne" and self.fmt.precision >= BINARY64
        if not (self.native or self.exact_products or nearest):
            product = self._sticky(product, _product_error(a, b, product))
        return self._flushed(product if self.native else self._rounded(product))

    def multiply_add(self, a: Floats, b: Floats, c: Floats) -> Floats:
        """Return ``a * b + c`` rounded once, for products that are exact in 53 bits."""
        wide = Arithmetic(self.fmt, self.mode, self.flush)
        product = a.astype(np.float64) * b.astype(np.float64)
        total = product + c
        total = wide._sticky(total, _sum_error(product, c.astype(np.float64), total))
        return wide._flushed(wide._rounded(total)).astype(self.carrier)

    def divide(self, a: Floats, b: Floats) -> Floats:
        """Return the rounded quotient.

        Below 53 bits a quotient of p-bit numbers is either a p-bit number or at least 2^-2p away
        from one, so the nearest double falls on the right side of it in both modes.
        """
        quotient = a / b
        if self.mode == "rz" and self.fmt.precision >= BINARY64:
            back = quotient * b
            rest = (a - back) - _product_error(quotient, b, back)
            quotient = self._sticky(quotient, np.where(b < 0, -rest, rest))
        return self._flushed(quotient if self.native else self._rounded(quotient))

    @property
    def _odd(self) -> bool:
        # The nearest double of a sum loses what decides a truncation, and above 25 bits also a tie.
        exact = self.native or (self.mode == "rne" and self.fmt.precision >= BINARY64)
        return not exact and (self.mode == "rz" or self.fmt.precision > INNOCUOUS)

    def _rounded(self, x: Floats) -> Floats:
        if self.fmt.precision >= BINARY64:
            return x
        return round_to(np.asarray(x, np.float64), self.fmt, self.mode)

    def _flushed(self, x: Floats) -> Floats:
        if not self.flush:
            return x
        smallest = float(self.fmt.minnormal)
        kept: Floats = np.where(np.abs(x) < smallest, np.copysign(x.dtype.type(0), x), x)
        return kept

    def _sticky(self, nearest: Floats, error: Floats) -> Floats:
        """Round to odd (Boldo and Melquiond 2008); towards zero where no format is wider."""
        lost = (error != 0) & np.isfinite(nearest) & np.isfinite(error)
        if self.fmt.precision >= BINARY64:
            away = lost & ((error < 0) == (nearest > 0))
            return np.where(away, np.nextafter(nearest, 0.0), nearest) if away.any() else nearest
        even = lost & ((nearest.view(np.int64) & 1) == 0)
        if not even.any():
            return nearest
        return np.where(even, np.nextafter(nearest, np.copysign(np.inf, error)), nearest)


def _sum_error(a: Floats, b: Floats, total: Floats) -> Floats:
    """Return what rounding lost in ``total = a + b`` (Knuth's two-sum)."""
    with np.errstate(invalid="ignore"):
        shadow = total - a
        lost: Floats = (a - (total - shadow)) + (b - shadow)
    return lost


def _product_error(a: Floats, b: Floats, product: Floats) -> Floats:
    """Return what rounding lost in ``product = a * b`` (Dekker's two-product)."""
    with np.errstate(invalid="ignore", over="ignore"):
        a_high, a_low = _halves(a)
        b_high, b_low = _halves(b)
        rest = ((a_high * b_high - product) + a_high * b_low) + a_low * b_high
        lost: Floats = rest + a_low * b_low
    return lost


def _halves(x: Floats) -> tuple[Floats, Floats]:
    big = x * VELTKAMP
    high = big - (big - x)
    return high, x - high
