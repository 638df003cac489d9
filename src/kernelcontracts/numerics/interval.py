"""Arrays of real numbers enclosed in f64 intervals, with outward rounded arithmetic.

An operation on degenerate intervals (``lo == hi``) whose exact result is an f64 number gives a
degenerate interval again, so exact data stay exact. An infinite bound is either a bound nothing is
known beyond, or, if both bounds are the same infinity, the value infinity. NaN in one bound makes
the element NaN: a value that IEEE 754 does not define, of which every comparison is undecided.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from kernelcontracts.formats.facts import F64, Format
from kernelcontracts.numerics import directed, rounding
from kernelcontracts.numerics.truth import Truth

if TYPE_CHECKING:
    from collections.abc import Callable

    from kernelcontracts.formats.arrays import Bools, Floats

Operand: TypeAlias = "Interval | Floats | Fraction | int | float"


@dataclass(frozen=True, slots=True, eq=False)
class Interval:
    """Elementwise closed intervals ``[lo, hi]``.

    Parameters
    ----------
    lo, hi
        float64 arrays of one shape (0-d for a scalar) with ``lo <= hi`` or both NaN.
    """

    lo: Floats
    hi: Floats

    # numpy then leaves `array + interval` to this class
    __array_ufunc__ = None

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the array."""
        return np.shape(self.lo)

    @property
    def is_exact(self) -> Bools:
        """True where the interval is one number."""
        same: Bools = np.asarray(self.lo == self.hi)
        return same

    @property
    def is_nan(self) -> Bools:
        """True where the value is undefined."""
        return np.asarray(np.isnan(self.lo))

    @property
    def mid(self) -> Floats:
        """A number within each interval: the midpoint, rounded; zero for the whole line."""
        with np.errstate(invalid="ignore"):
            middle = 0.5 * self.lo + 0.5 * self.hi
        unbounded = np.isnan(middle) & ~self.is_nan
        return np.where(unbounded, 0.0, np.clip(middle, self.lo, self.hi))

    def __neg__(self) -> Interval:
        return exact(-self.lo) if self.lo is self.hi else Interval(-self.hi, -self.lo)

    def __abs__(self) -> Interval:
        if self.lo is self.hi:
            return exact(np.abs(self.lo))
        small = np.where((self.lo <= 0) & (self.hi >= 0), 0.0, np.minimum(abs(self.lo), abs(self.hi)))
        return Interval(small, np.maximum(abs(self.lo), abs(self.hi)))

    def __add__(self, other: Operand) -> Interval:
        b = interval(other)
        if self.lo is self.hi and b.lo is b.hi:
            return _settled(*directed.add(self.lo, b.lo))
        return _settled(directed.add(self.lo, b.lo)[0], directed.add(self.hi, b.hi)[1])

    def __sub__(self, other: Operand) -> Interval:
        return self + (-interval(other))

    def __mul__(self, other: Operand) -> Interval:
        return _multiply(self, interval(other))

    def __truediv__(self, other: Operand) -> Interval:
        return _divide(self, interval(other))

    __radd__ = __add__
    __rmul__ = __mul__

    def __rsub__(self, other: Operand) -> Interval:
        return interval(other) - self

    def __rtruediv__(self, other: Operand) -> Interval:
        return interval(other) / self

    def __pow__(self, exponent: int | Fraction) -> Interval:
        return _power(self, Fraction(exponent))

    def __lt__(self, other: Operand) -> Truth:
        b = interval(other)
        return self._undecided_at_nan(b, self.hi < b.lo, self.lo < b.hi)

    def __le__(self, other: Operand) -> Truth:
        b = interval(other)
        return self._undecided_at_nan(b, self.hi <= b.lo, self.lo <= b.hi)

    def __gt__(self, other: Operand) -> Truth:
        return interval(other) < self

    def __ge__(self, other: Operand) -> Truth:
        return interval(other) <= self

    def equals(self, other: Operand) -> Truth:
        """Compare for equality; certain only between two equal points or disjoint intervals."""
        b = interval(other)
        overlap = (self.lo <= b.hi) & (b.lo <= self.hi)
        return self._undecided_at_nan(b, self.is_exact & b.is_exact & overlap, overlap)

    def _undecided_at_nan(self, other: Interval, must: Bools, may: Bools) -> Truth:
        return Truth(np.asarray(must), np.asarray(may | self.is_nan | other.is_nan))

    def __getitem__(self, index: Any) -> Interval:
        return self.mapped(lambda bound: bound[index])

    def mapped(self, rearrange: Callable[[Floats], Floats]) -> Interval:
        """Apply a rearrangement of elements (no arithmetic) to both bounds."""
        lo = np.asarray(rearrange(self.lo))
        return Interval(lo, lo if self.lo is self.hi else np.asarray(rearrange(self.hi)))

    def reshape(self, *shape: int) -> Interval:
        """Return the same elements in another shape."""
        return self.mapped(lambda bound: bound.reshape(shape))

    def matmul(self, other: Interval) -> Interval:
        """Enclose the matrix product (see `enclosure.matmul`)."""
        from kernelcontracts.numerics import enclosure  # which builds on this module

        return enclosure.matmul(self, other)

    def contains(self, value: Floats | Fraction | float) -> Bools:
        """Tell where the interval holds `value` (an array, or one exact rational)."""
        if isinstance(value, Fraction):
            pairs = zip(np.ravel(self.lo).tolist(), np.ravel(self.hi).tolist(), strict=True)
            return np.array([a <= value <= b for a, b in pairs], np.bool_).reshape(self.shape)
        return np.asarray((self.lo <= value) & (value <= self.hi))


def _settled(lo: Floats, hi: Floats) -> Interval:
    """Build an interval, spreading NaN over both bounds."""
    if lo is hi:
        return Interval(lo, hi)
    undefined = np.isnan(lo) != np.isnan(hi)
    if undefined.any():
        return Interval(np.where(undefined, np.nan, lo), np.where(undefined, np.nan, hi))
    return Interval(np.asarray(lo), np.asarray(hi))


def exact(x: Floats | float) -> Interval:
    """Return degenerate intervals at f64 numbers."""
    value = np.asarray(x, dtype=np.float64)
    return Interval(value, value)


def of_fraction(q: Fraction | int) -> Interval:
    """Enclose one rational number (0-d); degenerate if it is an f64 number."""
    value = Fraction(q)
    lo = np.asarray(rounding.round_fraction(value, F64, "rd"))
    hi = np.asarray(rounding.round_fraction(value, F64, "ru"))
    return Interval(lo, lo) if lo == hi else Interval(lo, hi)


def interval(value: Operand) -> Interval:
    """Turn a number, an array or an interval into an interval."""
    if isinstance(value, Interval):
        return value
    if isinstance(value, Fraction | int) and not isinstance(value, bool):
        return of_fraction(value)
    return exact(value)


def _multiply(a: Interval, b: Interval) -> Interval:
    if a.lo is a.hi and b.lo is b.hi:
        return _settled(*directed.multiply(a.lo, b.lo))
    if a is b:
        a = b = abs(a)
    if np.all(a.lo >= 0):
        return _multiply_by_nonnegative(b, a)
    if np.all(b.lo >= 0):
        return _multiply_by_nonnegative(a, b)
    corners = [_corner(x, y) for x in (a.lo, a.hi) for y in (b.lo, b.hi)]
    lo = np.minimum.reduce([down for down, _ in corners])
    hi = np.maximum.reduce([up for _, up in corners])
    return _spoiled_by_infinity(_settled(lo, hi), a, b)


def _multiply_by_nonnegative(a: Interval, b: Interval) -> Interval:
    """Multiply by ``b >= 0``: the sign of each bound of `a` says which bound of `b` is extreme."""
    lo = _corner(a.lo, np.where(a.lo < 0, b.hi, b.lo))[0]
    hi = _corner(a.hi, np.where(a.hi < 0, b.lo, b.hi))[1]
    return _spoiled_by_infinity(_settled(lo, hi), a, b)


def _corner(x: Floats, y: Floats) -> tuple[Floats, Floats]:
    """Multiply bounds. An infinite bound stands for numbers without limit, and zero times each is zero."""
    down, up = directed.multiply(x, y)
    if np.isnan(down).any():
        limit = ((x == 0) & np.isinf(y)) | ((y == 0) & np.isinf(x))
        return np.where(limit, 0.0, down), np.where(limit, 0.0, up)
    return down, up


def _spoiled_by_infinity(product: Interval, a: Interval, b: Interval) -> Interval:
    """Make zero times the *value* infinity NaN, as IEEE 754 does."""
    if np.isfinite(product.lo).all() and np.isfinite(product.hi).all():
        return product
    invalid = _is_infinity(a) & _holds_zero(b) | _is_infinity(b) & _holds_zero(a)
    if not invalid.any():
        return product
    return Interval(np.where(invalid, np.nan, product.lo), np.where(invalid, np.nan, product.hi))


def _is_infinity(a: Interval) -> Bools:
    return a.is_exact & np.isinf(a.lo)


def _holds_zero(a: Interval) -> Bools:
    return np.asarray((a.lo <= 0) & (a.hi >= 0))


def _divide(a: Interval, b: Interval) -> Interval:
    """Divide; the whole line where the divisor may be zero, NaN where it is ``0 / 0``."""
    if a.lo is a.hi and b.lo is b.hi and np.all(b.lo != 0):
        return _settled(*directed.divide(a.lo, b.lo))
    negative = b.hi < 0
    num_lo, num_hi = np.where(negative, -a.hi, a.lo), np.where(negative, -a.lo, a.hi)
    den_lo, den_hi = np.where(negative, -b.hi, b.lo), np.where(negative, -b.lo, b.hi)
    lo = directed.divide(num_lo, np.where(num_lo >= 0, den_hi, den_lo))[0]
    hi = directed.divide(num_hi, np.where(num_hi >= 0, den_lo, den_hi))[1]
    unbounded = _holds_zero(b)
    undefined = unbounded & (b.is_exact & (a.lo == 0) & (a.hi == 0)) | a.is_nan | b.is_nan
    lo = np.where(undefined, np.nan, np.where(unbounded, -np.inf, lo))
    hi = np.where(undefined, np.nan, np.where(unbounded, np.inf, hi))
    return _settled(lo, hi)


def _power(a: Interval, exponent: Fraction) -> Interval:
    if exponent < 0:
        return 1 / _power(a, -exponent)
    if exponent.denominator == 2:
        return _power(sqrt(a), Fraction(exponent.numerator))
    if exponent.denominator != 1:
        raise ValueError(f"exponent `{exponent}` has no enclosure: use an integer or half an integer")
    n = exponent.numerator
    if n % 2 and a.lo is not a.hi:
        # odd powers are increasing: each bound has its own
        return _settled(_power(exact(a.lo), exponent).lo, _power(exact(a.hi), exponent).hi)
    result, square = exact(np.ones(a.shape)), abs(a) if n % 2 == 0 else a
    while n:
        if n & 1:
            result = result * square
        n >>= 1
        square = square * square if n else square
    return result


def sqrt(a: Operand) -> Interval:
    """Enclose the square root; what lies below zero is cut off, and NaN if nothing is left."""
    x = interval(a)
    lo = np.where((x.lo < 0) & (x.hi >= 0), 0.0, x.lo)
    if x.lo is x.hi:
        return _settled(*directed.square_root(lo))
    return _settled(directed.square_root(lo)[0], directed.square_root(x.hi)[1])


def maximum(a: Operand, b: Operand) -> Interval:
    """Enclose the larger of two values; NaN if either is."""
    x, y = interval(a), interval(b)
    return _settled(np.maximum(x.lo, y.lo), np.maximum(x.hi, y.hi))


def minimum(a: Operand, b: Operand) -> Interval:
    """Enclose the smaller of two values; NaN if either is."""
    x, y = interval(a), interval(b)
    return _settled(np.minimum(x.lo, y.lo), np.minimum(x.hi, y.hi))


def where(condition: Bools | Truth, a: Operand, b: Operand) -> Interval:
    """Select elementwise; where a `Truth` is undecided, enclose both."""
    x, y = interval(a), interval(b)
    if not isinstance(condition, Truth):
        lo = np.where(condition, x.lo, y.lo)
        points = x.lo is x.hi and y.lo is y.hi
        return Interval(lo, lo if points else np.where(condition, x.hi, y.hi))
    truth = condition
    both = hull(x, y)
    lo = np.where(truth.must, x.lo, np.where(truth.may, both.lo, y.lo))
    hi = np.where(truth.must, x.hi, np.where(truth.may, both.hi, y.hi))
    return Interval(lo, hi)


def hull(a: Interval, b: Interval) -> Interval:
    """Return the smallest intervals that hold both."""
    return _settled(np.minimum(a.lo, b.lo), np.maximum(a.hi, b.hi))


def ulp(x: Interval, fmt: Format) -> Interval:
    """Enclose the spacing of a format (`rounding.ulp`), which never decreases with ``|x|``."""
    size = abs(x)
    lo = rounding.ulp(size.lo, fmt)
    return Interval(lo, lo if size.lo is size.hi else rounding.ulp(size.hi, fmt))
