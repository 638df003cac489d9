from __future__ import annotations

import math
from fractions import Fraction

import pytest

from kernelcontracts.stats.coverage import reached_rate, required_cases
from kernelcontracts.stats.exactly import StatisticsInputError


@pytest.mark.parametrize(
    ("confidence", "cases"),
    [
        # ceil(ln(1-c)/ln(1-p)) for p = .1, .05, .01, .001, .0001
        (0.95, (29, 59, 299, 2995, 29956)),
        (0.99, (44, 90, 459, 4603, 46050)),
        (0.999, (66, 135, 688, 6905, 69075)),
    ],
)
def test_the_cases_required_are_those_of_the_table(confidence, cases):
    found = tuple(required_cases(p, confidence) for p in (0.1, 0.05, 0.01, 0.001, 0.0001))

    assert found == cases


@pytest.mark.parametrize(
    ("p", "confidence", "cases"),
    [
        (0.5, 0.75, 2),
        (0.5, 0.9375, 4),
        (0.3, 0.51, 2),
        (0.1, 0.19, 2),
        (0.9, 0.9, 1),
        (0.9, 0.999, 3),
        (Fraction(1, 3), Fraction(65, 81), 4),
    ],
)
def test_a_quotient_that_is_a_whole_number_asks_for_no_case_more(p, confidence, cases):
    assert required_cases(p, confidence) == cases


def test_a_confidence_just_above_a_power_asks_for_one_case_more():
    just_above = Fraction(3, 4) + Fraction(1, 10**45)

    assert required_cases(0.5, just_above) == 3


def test_tiny_rates_keep_their_digits():
    # -ln(0.001) / 1e-12, up to the relative 5e-13 that ln(1-p) = -p - p^2/2 adds
    assert required_cases(1e-12, 0.999) == 6907755278979


@pytest.mark.parametrize("wrong", [0.0, 1.0, -0.1, 1.5, math.nan, math.inf])
def test_a_probability_outside_the_open_interval_is_refused_with_its_value(wrong):
    with pytest.raises(StatisticsInputError, match=f"p is `{wrong}`; it has to be strictly"):
        required_cases(wrong, 0.99)
    with pytest.raises(StatisticsInputError, match="confidence is"):
        required_cases(0.01, wrong)


def test_no_cases_reach_no_rate():
    assert reached_rate(0, 0.99) == 1.0


def test_the_rate_reached_is_exact_where_it_is_a_float():
    assert reached_rate(2, 0.75) == 0.5
    assert reached_rate(1, 0.75) == 0.75


@pytest.mark.parametrize("cases", [-1, 1.0, True])
def test_a_number_of_cases_that_is_no_count_is_refused(cases):
    with pytest.raises(StatisticsInputError, match="whole number of at least 0"):
        reached_rate(cases, 0.99)
