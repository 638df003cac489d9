from __future__ import annotations

from fractions import Fraction

import pytest

from kernelcontracts.stats.binomial import establishes, tail, upper_limit
from kernelcontracts.stats.exactly import StatisticsInputError


@pytest.mark.parametrize(
    ("failures", "cases", "limit"),
    [
        # two-sided 95 % limits of Clopper and Pearson: one-sided at 97.5 %
        (0, 59, "0.0606"),
        (0, 300, "0.0122"),
        (0, 3000, "0.00123"),
        (1, 300, "0.0184"),
        (3, 1000, "0.00874"),
    ],
)
def test_the_upper_limit_is_that_of_the_tables(failures, cases, limit):
    assert f"{upper_limit(failures, cases, 0.975):.3g}" == limit


def test_one_failure_in_two_cases_has_the_closed_form_limit():
    # P(X <= 1 | 2, p) = 1 - p^2, so at confidence 1/4 the limit is 1/2
    assert upper_limit(1, 2, 0.25) == 0.5


def test_every_case_failing_and_no_case_at_all_bound_nothing():
    assert upper_limit(5, 5, 0.99) == 1.0
    assert upper_limit(0, 0, 0.99) == 1.0
    assert not establishes(5, 5, p=0.999, confidence=0.5)
    assert not establishes(0, 0, p=0.999, confidence=0.5)


def test_the_rate_is_established_exactly_from_the_required_cases_on():
    assert not establishes(0, 458, p=0.01, confidence=0.99)
    assert establishes(0, 459, p=0.01, confidence=0.99)


def test_a_boundary_with_failures_is_decided_exactly():
    # 1 - p^2 = 1 - c at p = 0.3, c = 0.09; the float 0.3 lies below 3/10
    assert establishes(1, 2, p=0.3, confidence=0.09)
    assert not establishes(1, 2, p=0.3, confidence=Fraction(9, 100) + Fraction(1, 10**60))


def test_undecided_cases_counted_as_failures_cost_cases():
    assert not establishes(1, 459, p=0.01, confidence=0.99)
    assert establishes(1, 662, p=0.01, confidence=0.99)
    assert not establishes(1, 661, p=0.01, confidence=0.99)


def test_the_limit_of_a_large_plan_is_near_its_normal_approximation():
    # k/n + z sqrt(k)/n at z = 2.326 is 0.00716; skewness adds (z^2+2)/(3n)
    limit = upper_limit(290, 46050, 0.99)

    assert 0.00716 < limit < 0.00716 + 2 * (2.326**2 + 2) / (3 * 46050)


@pytest.mark.parametrize(("failures", "cases"), [(-1, 5), (6, 5), (1, -1), (0.0, 5)])
def test_counts_that_cannot_be_are_refused(failures, cases):
    with pytest.raises(StatisticsInputError, match=r"whole number|cannot be"):
        upper_limit(failures, cases, 0.99)
    with pytest.raises(StatisticsInputError, match=r"whole number|cannot be"):
        establishes(failures, cases, p=0.1, confidence=0.99)


def test_the_exact_tail_of_a_fair_coin_counts_subsets():
    assert tail(1, 4, Fraction(1, 2)) == Fraction(1 + 4, 16)
    assert tail(4, 4, Fraction(1, 3)) == 1
