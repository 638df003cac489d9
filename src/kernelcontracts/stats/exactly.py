"""Probabilities as the rationals that were written down: boundaries are decided, not rounded."""

from __future__ import annotations

from fractions import Fraction
from typing import TypeAlias

Probability: TypeAlias = float | Fraction
"""A probability strictly between 0 and 1. A float stands for its shortest decimal: 0.01 is
1/100."""


class StatisticsInputError(ValueError):
    """A statistic was asked for outside its domain. The message shows the value and the domain."""


def as_written(value: Probability, name: str) -> Fraction:
    """Return the rational that a person meant by `value`.

    The float nearest to 0.01 lies a little above 1/100. Taking it literally would change a number
    of cases at the boundary, so a float is read as the shortest decimal that prints it.

    Raises
    ------
    StatisticsInputError
        If the value is not strictly between 0 and 1.
    """
    try:
        rational = value if isinstance(value, Fraction) else Fraction(repr(value))
    except ValueError:
        rational = Fraction(0)
    if not 0 < rational < 1:
        raise StatisticsInputError(f"{name} is `{value}`; it has to be strictly between 0 and 1, such as 0.01 or 0.99")
    return rational


def as_count(value: int, name: str, *, least: int) -> int:
    """Return a whole number of at least `least`.

    Raises
    ------
    StatisticsInputError
        If it is smaller, or not a whole number.
    """
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise StatisticsInputError(f"{name} is `{value}`; it has to be a whole number of at least {least}")
    return value
