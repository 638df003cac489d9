"""One instance of a contraction to be filled, and the room its formats leave.

Generators speak in integers: both factors hold integers times a power of two, the *unit*, and every
bound of the exactness theorem is a bound on integers. This module chooses the units. Its rules, in
units of ``g``, the product of the two factors' units:

* every non-zero operand is a normal number of its format, so that a kernel that reads subnormals as zero is
  judged by the strata made for it and by no other;
* ``sum |a||b| <= maxfinite / 4`` of the output (the headroom that contracts ask for), and of binary32, which is
  the widest-used accumulator;
* every non-zero result is a normal number of the output, and ``g`` itself is normal in binary32, so that no
  partial sum is ever subnormal there.

Where it can be had, the same holds with binary16 in place of the output: then claims of any
accumulator stay within the contract's domain.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from math import floor
from typing import TYPE_CHECKING, TypeAlias

from kernelcontracts.formats.facts import format_named
from kernelcontracts.strata.errors import NotApplicable

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from kernelcontracts.formats.facts import Format
    from kernelcontracts.strata.bits import Words

    # (batch, rows, reduced) and (batch, reduced, columns); no second factor in a plain sum
    Factors: TypeAlias = "tuple[NDArray[np.float64], NDArray[np.float64] | None]"


@dataclass(frozen=True, slots=True)
class Span:
    """A closed range of exponents."""

    low: int
    high: int

    def __bool__(self) -> bool:
        return self.low <= self.high

    def __and__(self, other: Span) -> Span:
        return Span(max(self.low, other.low), min(self.high, other.high))

    def __add__(self, other: Span) -> Span:
        """Return the exponents of products of one power from each range."""
        return Span(self.low + other.low, self.high + other.high)

    def clamp(self, value: int) -> int:
        """Return the member nearest to ``value``."""
        return min(max(value, self.low), self.high)


@dataclass(frozen=True, slots=True)
class Problem:
    """Formats, sizes and randomness of one contraction.

    Attributes
    ----------
    lhs, rhs, out
        Formats; ``rhs`` is ``None`` for a plain sum.
    batch, rows, reduced, columns
        Sizes, all at least 1.
    words
        The family of random streams.
    """

    lhs: Format
    rhs: Format | None
    out: Format
    batch: int
    rows: int
    reduced: int
    columns: int
    words: Words

    def swapped(self) -> Problem:
        """Return the transposed problem: the factors change places."""
        assert self.rhs is not None
        return replace(self, lhs=self.rhs, rhs=self.lhs, rows=self.columns, columns=self.rows)

    def right_units(self, top: int) -> Span:
        """Return ``units`` of the right factor; the ones of a plain sum have exponent 0."""
        return Span(0, 0) if self.rhs is None else units(self.rhs, top)

    def right_precision(self) -> int:
        """Return the bits of an integer the right factor can hold; 1 for the ones of a plain sum."""
        return 1 if self.rhs is None else self.rhs.precision

    def budget(self, bits: int) -> int:
        """Return the largest admissible ``sum |a||b|`` in units: ``2**bits``, or what headroom leaves.

        Coarse operands (a sum of f8e4m3 in an f16) cannot be scaled down, so headroom binds first.
        """
        finest = (units(self.lhs, 1) + self.right_units(1)).low
        least = max(finest, floor_log2(minnormal(self.out)))
        room = ceiling(self.out) / Fraction(2) ** least
        return int(min(2**bits, floor(room)))

    def place(self, top_lhs: int, top_rhs: int, most: int, least: int = 1) -> tuple[int, int]:
        """Choose the units of the two factors.

        Parameters
        ----------
        top_lhs, top_rhs
            The largest integers in the factors.
        most
            A bound on ``sum |a||b|``, in units.
        least
            A bound from below on non-zero results, in units.

        Returns
        -------
        (int, int)
            Exponents of the units of ``lhs`` and ``rhs`` (0 for the ones of a plain sum).

        Raises
        ------
        NotApplicable
            If no units satisfy the module's rules.
        """
        left, right = units(self.lhs, top_lhs), self.right_units(top_rhs)
        if not (left and right):
            raise NotApplicable(f"{self.names()} hold no normal numbers as far apart as needed")
        for room in self.rooms(most, least):
            both = room & (left + right)
            if both:
                unit = self.words.integer("unit", both.low, both.high)
                share = left & Span(unit - right.high, unit - right.low)
                # near the middle, so that neither factor stands at the edge of its range without
                # need
                return (e := share.clamp(unit // 2 if self.rhs else unit)), unit - e
        raise NotApplicable(f"products of {self.names()} leave no room for {most} units in {self.out.name}")

    def rooms(self, most: int, least: int) -> tuple[Span, Span]:
        """Return where the unit of the products may lie: the narrow room of any accumulator, and all."""
        wide = self._floor() & Span(_log2(minnormal(self.out) / least, up=True), floor_log2(ceiling(self.out) / most))
        half = format_named("f16")
        narrow = Span(_log2(minnormal(half) / least, up=True), floor_log2(ceiling(half) / most))
        return wide & narrow, wide

    def _floor(self) -> Span:
        return Span(floor_log2(format_named("f32").minnormal), 2**20)

    def names(self) -> str:
        """Return the operands' formats for a message."""
        return self.lhs.name if self.rhs is None else f"{self.lhs.name} and {self.rhs.name}"


def units(fmt: Format, top: int) -> Span:
    """Return the exponents e for which every non-zero ``n * 2**e``, ``|n| <= top``, is normal in ``fmt``.

    ``n`` itself must fit the precision of the format.
    """
    return Span(floor_log2(fmt.minnormal), floor_log2(fmt.maxfinite / top))


def powers(fmt: Format) -> Span:
    """Return the exponents of the powers of two that are normal in ``fmt``."""
    return units(fmt, 1)


def significands(fmt: Format, bits: int) -> Span:
    """Return the exponents of the leading bit that every significand of ``bits`` bits may have."""
    shift = bits - 1
    return Span(floor_log2(fmt.minnormal), floor_log2(fmt.maxfinite / (2**bits - 1)) + shift)


def ceiling(out: Format) -> Fraction:
    """Return the headroom: a quarter of the largest number of the output, and of binary32."""
    return min(out.maxfinite, format_named("f32").maxfinite) / 4


def minnormal(out: Format) -> Fraction:
    """Return the smallest normal number of the output, or of binary32 if that is larger."""
    return max(out.minnormal, format_named("f32").minnormal)


def spread(problem: Problem, left: Span, right: Span, room: Span, *, width: int) -> tuple[Span, Span]:
    """Narrow two ranges of exponents until every sum of two members lies in ``room``.

    Both ranges are first cut to ``width`` binades on either side of zero; then the longer one gives
    way.

    Raises
    ------
    NotApplicable
        If nothing is left.
    """
    left, right = _central(left, width), _central(right, width)
    while left and right and (left + right).low < room.low:
        left, right = _give(left, right, 1, 0)
    while left and right and (left + right).high > room.high:
        left, right = _give(left, right, 0, -1)
    if not (left and right):
        raise NotApplicable(f"products of {problem.names()} leave the range of {problem.out.name}")
    return left, right


def _give(left: Span, right: Span, low: int, high: int) -> tuple[Span, Span]:
    if left.high - left.low >= right.high - right.low:
        return Span(left.low + low, left.high + high), right
    return left, Span(right.low + low, right.high + high)


def _central(span: Span, width: int) -> Span:
    centre = span.clamp(0)
    return span & Span(centre - width, centre + width)


def floor_log2(value: Fraction) -> int:
    """Return the largest e with ``2**e <= value``, for a positive value."""
    guess = value.numerator.bit_length() - value.denominator.bit_length()
    return guess if Fraction(2) ** guess <= value else guess - 1


def _log2(value: Fraction, *, up: bool) -> int:
    exponent = floor_log2(value)
    return exponent + 1 if up and Fraction(2) ** exponent < value else exponent
