"""Student's t distribution for a whole number of degrees of freedom, from its closed form.

Abramowitz and Stegun (1964), 26.7.3 (odd) and 26.7.4 (even), with theta = atan(t / sqrt(nu)) and
A(t | nu) = P(|T| <= t):

* nu = 1:      A = 2 theta / pi
* nu odd > 1:  A = 2/pi (theta + sin(theta) (cos(theta) + 2/3 cos^3(theta) + ...
  + 2*4...(nu-3) / 3*5...(nu-2) cos^(nu-2)(theta)))
* nu even:     A = sin(theta) (1 + 1/2 cos^2(theta) + 1*3/2*4 cos^4(theta) + ...
  + 1*3...(nu-3) / 2*4...(nu-2) cos^(nu-2)(theta))
"""

from __future__ import annotations

import math
from functools import lru_cache

from kernelcontracts.stats.exactly import Probability, as_count, as_written

_RESOLVED = 1e-9
"""The least upper tail that is resolved. A(t) near 1 carries an error of about nu * 2^-53 (nu/2
positive terms); for nu = 4096 that is 5e-13, a relative 5e-4 of this tail. Below it the quantile is
reported as infinite, which leaves a clause undecided and never decides it wrongly."""


def central(t: float, df: int) -> float:
    """Return P(-t <= T <= t) for T with `df` degrees of freedom and t >= 0."""
    theta = math.atan2(t, math.sqrt(df))
    sine, square = math.sin(theta), math.cos(theta) ** 2
    if df % 2:
        body = sine * math.cos(theta) * _series(square, range(2, df - 1, 2)) if df > 1 else 0.0
        return 2 / math.pi * (theta + body)
    return sine * _series(square, range(1, df - 2, 2))


def _series(square: float, numerators: range) -> float:
    """Return 1 + a/(a+1) s + a/(a+1) (a+2)/(a+3) s^2 + ... for a, a+2, ... in `numerators`."""
    term = total = 1.0
    for a in numerators:
        term *= a / (a + 1) * square
        total += term
    return total


def quantile(level: Probability, df: int) -> float:
    """Return the t that T with `df` degrees of freedom exceeds with probability 1 - level.

    Parameters
    ----------
    level
        At least 1/2 in every use here; below it the symmetric negative value is returned.
    df
        Degrees of freedom, at least 1.

    Returns
    -------
    float
        The upper end of the last bisection interval; infinity where 1 - level is below 1e-9.

    Raises
    ------
    StatisticsInputError
        If `level` is not strictly between 0 and 1, or `df` is not a whole number of at least 1.
    """
    tail = float(1 - as_written(level, "the confidence level"))
    as_count(df, "the degrees of freedom", least=1)
    if tail > 0.5:
        return -_upper(1 - tail, df)
    return _upper(tail, df)


@lru_cache(maxsize=1024)
def _upper(tail: float, df: int) -> float:
    if tail < _RESOLVED:
        return math.inf
    if tail == 0.5:
        return 0.0
    low, high = 0.0, 1.0
    while (1 - central(high, df)) / 2 > tail:
        low, high = high, 2 * high
    # central is accurate to 2^-53 and worse, so 52 halvings exhaust what it can tell
    for _ in range(52):
        middle = (low + high) / 2
        if (1 - central(middle, df)) / 2 > tail:
            low = middle
        else:
            high = middle
    return high
