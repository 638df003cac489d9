"""How many cases without a failure establish a rate, and what rate a number of cases establishes.

If each of n independent cases fails with probability p, all n pass with probability (1-p)^n. So n
passes exclude a rate of p or more at confidence c as soon as (1-p)^n <= 1-c. For a stratified plan
with rates p_i the same holds of their mean, because prod(1-p_i) <= (1-mean(p))^n by the inequality
of the arithmetic and the geometric mean.
"""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, Context, Decimal, localcontext
from typing import TYPE_CHECKING

from kernelcontracts.stats.exactly import Probability, as_count, as_written

if TYPE_CHECKING:
    from fractions import Fraction

_DIGITS = 60
"""Digits of the working precision. Every use compares at 40, which leaves 20 for cancellation and
growth."""


def required_cases(p: Probability, confidence: Probability) -> int:
    """Return the smallest n with (1-p)^n <= 1-c: the cases that establish a rate below p.

    Parameters
    ----------
    p
        The rate of violations to exclude.
    confidence
        The confidence c of the exclusion.

    Notes
    -----
    n = ceil(ln(1-c) / ln(1-p)), evaluated in 60 digits. The quotient is a whole number only if
    (1-p)^n = 1-c exactly, and that is decided in rational arithmetic: a float quotient of
    2.0000000000000004 would ask for a case too many, and 1.9999999999999998 of a power slightly off
    would ask for one too few.

    Raises
    ------
    StatisticsInputError
        If an argument is not strictly between 0 and 1.

    Examples
    --------
    >>> required_cases(0.01, 0.99)
    459
    >>> required_cases(0.5, 0.75)
    2
    """
    passes, missed = 1 - as_written(p, "p"), 1 - as_written(confidence, "confidence")
    with localcontext(Context(prec=_DIGITS + _magnitude(passes))):
        quotient = _log(missed) / _log(passes)
        nearest = int(quotient.to_integral_value())
        if nearest >= 1 and _is_power(missed, passes, nearest):
            return nearest
        return max(1, int(quotient.to_integral_value(rounding=ROUND_CEILING)))


def reached_rate(cases: int, confidence: Probability) -> float:
    """Return the smallest rate p that `cases` passes and no failure exclude, rounded up to a float.

    p = 1 - (1-c)^(1/n), the Clopper-Pearson limit for no failures; 1 without cases.

    Raises
    ------
    StatisticsInputError
        If `cases` is negative or the confidence is not strictly between 0 and 1.
    """
    missed = 1 - as_written(confidence, "confidence")
    if as_count(cases, "the number of cases", least=0) == 0:
        return 1.0
    with localcontext(Context(prec=_DIGITS)):
        return rounded_up(1 - (_log(missed) / cases).exp())


def rounded_up(value: Decimal) -> float:
    """Return the smallest float that is not below a positive `value`.

    A value within 1e-40 of a float is that float: the working precision cannot tell them apart, and
    the limit is exact there (no failures in two cases at 3/4 is a rate of 1/2).
    """
    nearest = float(value)
    if value - Decimal(nearest) > Decimal("1e-40") * value:
        return math.nextafter(nearest, math.inf)
    return nearest


def _log(value: Fraction) -> Decimal:
    return Decimal(value.numerator).ln() - Decimal(value.denominator).ln()


def _magnitude(passes: Fraction) -> int:
    """Return the digits that a difference of logarithms loses when 1-p is close to 1."""
    return 2 * len(str(passes.denominator))


def _is_power(value: Fraction, base: Fraction, exponent: int) -> bool:
    """Decide value == base^exponent without forming a huge power.

    Both are in lowest terms, so the denominators would have to be equal; base's is at least 2, so
    an exponent above the bit length of value's denominator is out of the question.
    """
    if exponent > value.denominator.bit_length():
        return False
    return base**exponent == value
