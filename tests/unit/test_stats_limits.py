from __future__ import annotations

import math
from fractions import Fraction

import pytest

from kernelcontracts.stats.exactly import StatisticsInputError
from kernelcontracts.stats.limits import (
    UNKNOWN,
    bonferroni,
    magnitude_limits,
    mean_limits,
    rms_limits,
)
from kernelcontracts.stats.student import quantile


def test_the_limits_of_a_mean_are_students():
    low, high = mean_limits([1.0, 2.0, 3.0, 4.0, 5.0], 0.95)

    # mean 3, s^2 = 5/2, n = 5
    half = quantile(0.95, 4) * math.sqrt(0.5)
    assert (low, high) == (3 - half, 3 + half)
    assert f"{low:.4f} {high:.4f}" == "1.4926 4.5074"


def test_equal_values_have_their_value_for_limits():
    assert mean_limits([0.1] * 7, 0.99) == (0.1, 0.1)


@pytest.mark.parametrize(
    "values",
    [[], [1.0], [1.0, math.nan], [math.inf, 1.0, 2.0], [-math.inf, math.inf], [1e308, -1e308]],
)
def test_a_sample_that_establishes_nothing_has_infinite_limits(values):
    assert mean_limits(values, 0.99) == UNKNOWN
    assert rms_limits(values, 0.99) == (0.0, math.inf)
    assert magnitude_limits(values, 0.99) == (0.0, math.inf)


def test_the_limits_of_an_rms_are_the_roots_of_those_of_the_mean_square():
    squares = [1.0, 1.5, 0.5, 1.25]
    low, high = mean_limits(squares, 0.9)

    assert rms_limits(squares, 0.9) == (math.sqrt(low), math.sqrt(high))


def test_a_negative_limit_of_a_mean_square_says_no_more_than_zero():
    assert mean_limits([0.0, 4.0], 0.99)[0] < 0
    assert rms_limits([0.0, 4.0], 0.99)[0] == 0.0


def test_a_mean_that_may_be_zero_has_no_lower_limit_of_magnitude():
    low, high = magnitude_limits([-1.0, 1.0, 0.5], 0.9)

    assert low == 0.0
    assert high == mean_limits([-1.0, 1.0, 0.5], 0.9)[1]


def test_a_mean_far_below_zero_has_a_magnitude_bounded_from_both_sides():
    values = [-10.0, -11.0, -10.5, -10.2]
    low, high = magnitude_limits(values, 0.9)

    # the lower limit halves the error between the two sides
    assert low == -mean_limits(values, 0.95)[1]
    assert high == -mean_limits(values, 0.9)[0]


def test_large_offsets_do_not_hide_a_spread():
    # s^2 = 1 exactly; a one-pass formula in floats would find 0 or worse
    low, high = mean_limits([2.0**53, 2.0**53 + 2, 2.0**53 + 2, 2.0**53], 0.9)

    assert high > low


def test_bonferroni_divides_the_error():
    assert bonferroni(0.99, 1) == Fraction(99, 100)
    assert bonferroni(0.99, 4) == Fraction(399, 400)
    assert bonferroni(0.99, 10**18) < 1


@pytest.mark.parametrize("parts", [0, -3])
def test_bonferroni_refuses_less_than_one_statement(parts):
    with pytest.raises(StatisticsInputError, match="number of statements is `"):
        bonferroni(0.99, parts)


def test_a_level_outside_the_open_interval_is_refused_even_without_values():
    with pytest.raises(StatisticsInputError, match="confidence level"):
        mean_limits([], 1.0)
