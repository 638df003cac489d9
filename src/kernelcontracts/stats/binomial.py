"""The one-sided Clopper-Pearson limit: what a number of failures says of the rate.

Clopper and Pearson (1934), "The use of confidence or fiducial limits illustrated in the case of the
binomial": the upper limit at confidence c for k failures in n cases is the p with P(X <= k | n, p)
= 1-c. The tail falls as p grows, so bisection finds it; the coverage is at least c for every true
rate.
"""

from __future__ import annotations

from decimal import Context, Decimal, localcontext
from fractions import Fraction
from functools import lru_cache

from kernelcontracts.stats.coverage import reached_rate, required_cases
from kernelcontracts.stats.exactly import (
    Probability,
    StatisticsInputError,
    as_count,
    as_written,
)

_DIGITS = 50
"""Every term of the tail is positive, so k terms of n factors lose about log10(k*n) of 50 digits,
under 12."""

_DECIDED = Decimal("1e-35")
"""Differences above this share of 1-c are decided by the 50 digits; smaller ones go to rational
arithmetic."""


def upper_limit(failures: int, cases: int, confidence: Probability) -> float:
    """Return the Clopper-Pearson upper limit of the failure rate, rounded up to a float.

    Parameters
    ----------
    failures, cases
        What was counted; undecided cases are to be counted among the failures.
    confidence
        One-sided confidence c.

    Returns
    -------
    float
        1 if every case failed, or there was none.

    Raises
    ------
    StatisticsInputError
        If the counts are negative, there are more failures than cases, or c is not strictly between
        0 and 1.
    """
    _check_counts(failures, cases)
    missed = 1 - as_written(confidence, "confidence")
    if failures == cases:
        return 1.0
    if failures == 0:
        return reached_rate(cases, confidence)
    return _bisect(failures, cases, missed)


def establishes(failures: int, cases: int, *, p: Probability, confidence: Probability) -> bool:
    """Decide whether the upper limit is at most p, at the boundary too.

    Equal to ``upper_limit(...) <= p`` but for p being read as it was written: with no failures it
    holds exactly from ``required_cases(p, confidence)`` on.

    Raises
    ------
    StatisticsInputError
        As `upper_limit`, and if p is not strictly between 0 and 1.
    """
    _check_counts(failures, cases)
    rate, missed = as_written(p, "p"), 1 - as_written(confidence, "confidence")
    if failures == cases:
        return False
    if failures == 0:
        return cases >= required_cases(p, confidence)
    return _tail_at_most(failures, cases, rate, missed)


def tail(failures: int, cases: int, p: Fraction) -> Fraction:
    """Return P(X <= failures) for X binomial(cases, p), exactly.

    The sum of C(n, i) p^i (1-p)^(n-i), over the common denominator: exact, and for small n only.
    """
    hit, out_of = p.numerator, p.denominator
    term, total = (out_of - hit) ** cases, 0
    for i in range(failures + 1):
        total += term
        # every C(n, i) hit^i miss^(n-i) with i < n is a multiple of what is divided out here
        term = term * (cases - i) * hit // ((i + 1) * (out_of - hit))
    return Fraction(total, out_of**cases)


def _check_counts(failures: int, cases: int) -> None:
    as_count(cases, "the number of cases", least=0)
    as_count(failures, "the number of failures", least=0)
    if failures > cases:
        raise StatisticsInputError(f"`{failures}` failures in `{cases}` cases cannot be")


@lru_cache(maxsize=256)
def _bisect(failures: int, cases: int, missed: Fraction) -> float:
    # invariant: the tail exceeds the bound at `low` (it is 1 at p = 0) and does not at `high` (0 at
    # p = 1)
    low, high = 0.0, 1.0
    while True:
        middle = (low + high) / 2
        if not low < middle < high:
            return high
        if _tail_at_most(failures, cases, Fraction(middle), missed):
            high = middle
        else:
            low = middle


def _tail_at_most(failures: int, cases: int, p: Fraction, bound: Fraction) -> bool:
    with localcontext(Context(prec=_DIGITS)):
        limit = Decimal(bound.numerator) / bound.denominator
        difference = _decimal_tail(failures, cases, p) - limit
        if abs(difference) > _DECIDED * limit:
            return difference < 0
    return tail(failures, cases, p) <= bound


def _decimal_tail(failures: int, cases: int, p: Fraction) -> Decimal:
    hit = Decimal(p.numerator) / p.denominator
    miss = Decimal(p.denominator - p.numerator) / p.denominator
    odds = hit / miss
    term = miss**cases
    total = term
    for i in range(failures):
        term = term * (cases - i) * odds / (i + 1)
        total += term
    return total
