"""Confidence limits of means over cases, for clauses that speak of an average.

The resampling unit is the case (one launch), never the element: elements of one tile fail together.
Values of different cases are independent because their inputs are; Student's t is exact for normal
values and, by the central limit theorem, approached for the means over thousands of elements that
stand here.
"""

from __future__ import annotations

import math
import statistics
from typing import TYPE_CHECKING, TypeAlias

from kernelcontracts.stats.exactly import Probability, as_count, as_written
from kernelcontracts.stats.student import quantile

if TYPE_CHECKING:
    from collections.abc import Sequence
    from fractions import Fraction

Limits: TypeAlias = tuple[float, float]
"""A lower and an upper one-sided limit, each at the stated level."""

UNKNOWN: Limits = (-math.inf, math.inf)
"""Nothing was established: both comparisons with any bound stay open."""


def mean_limits(values: Sequence[float], level: Probability) -> Limits:
    """Return two one-sided Student limits of the mean: m -+ t(level, n-1) s / sqrt(n).

    Parameters
    ----------
    values
        One number a case.
    level
        The confidence of each limit on its own.

    Returns
    -------
    Limits
        Infinite for fewer than two values, for a value that is NaN or infinite, and where the
        variance overflows: such a sample establishes nothing about the mean.

    Raises
    ------
    StatisticsInputError
        If `level` is not strictly between 0 and 1.
    """
    as_written(level, "the confidence level")
    if len(values) < 2 or not all(map(math.isfinite, values)):
        return UNKNOWN
    # both are exact in rationals and rounded once, so no cancellation hides a spread
    mean, variance = _moments(values)
    if not math.isfinite(variance):
        return UNKNOWN
    if variance == 0:
        return mean, mean
    half = quantile(level, len(values) - 1) * math.sqrt(variance / len(values))
    return mean - half, mean + half


def rms_limits(squares: Sequence[float], level: Probability) -> Limits:
    """Return one-sided limits of the root mean square, from each case's mean square.

    The square root is monotone, so limits of the mean of squares carry over; a negative lower limit
    says no more than 0.

    Parameters
    ----------
    squares
        One mean square a case, over the elements of its output.

    Raises
    ------
    StatisticsInputError
        If `level` is not strictly between 0 and 1.
    """
    low, high = mean_limits(squares, level)
    return math.sqrt(max(low, 0.0)), math.sqrt(max(high, 0.0))


def magnitude_limits(values: Sequence[float], level: Probability) -> Limits:
    """Return one-sided limits of the absolute value of the mean.

    Upper: max(|lo|, |hi|); wrong only if the true mean lies beyond the limit on its own side, so
    the level carries over. Lower: the distance of [lo, hi] from 0; it can be wrong on either side,
    so the error is halved between the two.

    Raises
    ------
    StatisticsInputError
        If `level` is not strictly between 0 and 1.
    """
    halved = (1 + as_written(level, "the confidence level")) / 2
    low, high = mean_limits(values, level)
    inner_low, inner_high = mean_limits(values, halved)
    return max(inner_low, -inner_high, 0.0), max(abs(low), abs(high))


def bonferroni(level: Probability, parts: int) -> Fraction:
    """Return the level of each of `parts` statements so that all hold at `level`: 1 - (1-c)/J.

    By the union bound, whatever the dependence between them. The result is rational, because 1 -
    1e-17 would be 1 as a float.

    Raises
    ------
    StatisticsInputError
        If `level` is not strictly between 0 and 1 or `parts` is below 1.
    """
    missed = 1 - as_written(level, "the confidence level")
    return 1 - missed / as_count(parts, "the number of statements", least=1)


def _moments(values: Sequence[float]) -> tuple[float, float]:
    try:
        return float(statistics.mean(values)), float(statistics.variance(values))
    except OverflowError:
        return math.nan, math.inf
