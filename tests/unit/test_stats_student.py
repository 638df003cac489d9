from __future__ import annotations

import math

import pytest

from kernelcontracts.stats.exactly import StatisticsInputError
from kernelcontracts.stats.student import central, quantile

# Percentage points of Abramowitz and Stegun (1964), table 26.10
TABLE = {
    1: ("3.078", "6.314", "12.706", "31.821", "63.657", "318.309"),
    2: ("1.886", "2.920", "4.303", "6.965", "9.925", "22.327"),
    3: ("1.638", "2.353", "3.182", "4.541", "5.841", "10.215"),
    5: ("1.476", "2.015", "2.571", "3.365", "4.032", "5.893"),
    10: ("1.372", "1.812", "2.228", "2.764", "3.169", "4.144"),
    29: ("1.311", "1.699", "2.045", "2.462", "2.756", "3.396"),
    30: ("1.310", "1.697", "2.042", "2.457", "2.750", "3.385"),
    100: ("1.290", "1.660", "1.984", "2.364", "2.626", "3.174"),
}
LEVELS = (0.9, 0.95, 0.975, 0.99, 0.995, 0.999)


@pytest.mark.parametrize("df", TABLE)
def test_the_quantiles_are_those_of_the_published_tables(df):
    assert tuple(f"{quantile(level, df):.3f}" for level in LEVELS) == TABLE[df]


def test_many_degrees_of_freedom_approach_the_normal_distribution():
    # 1.959964 + (z^3 + z)/(4 nu), Abramowitz and Stegun 26.7.5
    z = 1.959963984540054

    assert f"{quantile(0.975, 40000):.7f}" == f"{z + (z**3 + z) / 160000:.7f}"


def test_the_quantile_is_odd_around_a_half():
    assert quantile(0.5, 7) == 0.0
    assert quantile(0.1, 7) == -quantile(0.9, 7)


def test_a_tail_that_cannot_be_resolved_has_an_infinite_quantile():
    assert quantile(1 - 1e-8, 4) < math.inf
    assert quantile(1 - 1e-10, 4) == math.inf


def test_one_and_two_degrees_of_freedom_have_their_closed_forms():
    # Cauchy: 2/pi atan(t); nu = 2: t / sqrt(2 + t^2)
    assert math.isclose(central(1.0, 1), 0.5, rel_tol=2**-52)
    assert math.isclose(central(1.0, 2), 1 / math.sqrt(3), rel_tol=2**-51)


@pytest.mark.parametrize("df", [0, -1, 1.5])
def test_degrees_of_freedom_below_one_or_broken_are_refused(df):
    with pytest.raises(StatisticsInputError, match="degrees of freedom is"):
        quantile(0.9, df)


def test_a_level_of_one_is_refused():
    with pytest.raises(StatisticsInputError, match=r"the confidence level is `1\.0`"):
        quantile(1.0, 3)
