"""Interval arrays: exactness, outward rounding, infinities, NaN, comparisons, reductions."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from kernelcontracts.formats.facts import BF16
from kernelcontracts.numerics import directed, interval, reductions
from kernelcontracts.numerics.interval import Interval, exact, of_fraction, sqrt
from kernelcontracts.numerics.truth import Truth

LARGEST = float(np.finfo(np.float64).max)


def points(*values):
    return exact(np.array(values, dtype=np.float64))


def ends(x):
    return x.lo.tolist(), x.hi.tolist()


def wild_numbers(count, seed):
    """Numbers of all kinds: full significands, integers, powers of two, any bit pattern."""
    rng = np.random.default_rng(seed)
    full = np.ldexp(rng.integers(-(2**53), 2**53, count).astype(float), rng.integers(-60, 0, count).astype(np.int32))
    small = rng.integers(-9, 10, count).astype(float)
    pattern = rng.integers(0, 2**64, count, dtype=np.uint64).view(np.float64)
    power = np.ldexp(1.0, rng.integers(-1074, 1024, count).astype(np.int32))
    return np.choose(rng.integers(0, 4, count), [full, small, np.where(np.isfinite(pattern), pattern, 1.0), power])


def check_tightest(down, up, value):
    """Check that the bracket is the number itself, or its two neighbours (an overflow: the largest and infinity)."""
    if up == np.inf:
        assert Fraction(down) < value
        assert down == LARGEST
    elif down == -np.inf:
        assert Fraction(up) > value
        assert up == -LARGEST
    elif down == up:
        assert Fraction(down) == value
    else:
        assert Fraction(down) < value < Fraction(up)
        assert np.nextafter(down, np.inf) == up


@pytest.mark.parametrize("name", ["add", "multiply", "divide"])
def test_a_directed_operation_gives_the_exact_result_or_its_two_neighbours(name):
    a, b = wild_numbers(3000, 1), wild_numbers(3000, 2)
    b = np.where((name == "divide") & (b == 0), 3.0, b)
    exactly = {"add": Fraction.__add__, "multiply": Fraction.__mul__, "divide": Fraction.__truediv__}[name]
    down, up = getattr(directed, name)(a, b)
    for x, y, lo, hi in zip(a.tolist(), b.tolist(), down.tolist(), up.tolist(), strict=True):
        check_tightest(lo, hi, exactly(Fraction(x), Fraction(y)))


def test_a_directed_square_root_is_exact_or_between_its_neighbours():
    x = np.abs(wild_numbers(3000, 3))
    down, up = directed.square_root(x)
    for value, lo, hi in zip(x.tolist(), down.tolist(), up.tolist(), strict=True):
        if lo == hi:
            assert Fraction(lo) ** 2 == Fraction(value)
        else:
            assert Fraction(lo) ** 2 < Fraction(value) < Fraction(hi) ** 2


def test_exact_results_stay_points():
    x, y = points(3.0, 0.5, -1.25), points(2.0, 4.0, 0.125)
    for result in (x + y, x - y, x * y, x / y, abs(x), -x, x**3, x**0, sqrt(y * y), x * Fraction(1, 2)):
        assert result.lo is result.hi or np.array_equal(result.lo, result.hi)
    assert (x * y).lo.tolist() == [6.0, 2.0, -0.15625]


def test_a_rational_that_is_no_f64_number_is_enclosed_by_its_neighbours():
    third = of_fraction(Fraction(1, 3))
    assert third.hi == np.nextafter(third.lo, 1)
    assert third.contains(Fraction(1, 3)).all()
    assert of_fraction(Fraction(3, 4)).is_exact


def test_powers_know_about_signs():
    x = Interval(np.array([-1.0, -3.0, 1.0]), np.array([2.0, -2.0, 2.0]))
    assert ends(x**2) == ([0.0, 4.0, 1.0], [4.0, 9.0, 4.0])
    assert ends(x**3) == ([-1.0, -27.0, 1.0], [8.0, -8.0, 8.0])
    assert ends(x * x) == ends(x**2)
    assert ends(points(4.0) ** -1) == ([0.25], [0.25])
    assert ends(points(4.0) ** Fraction(1, 2)) == ([2.0], [2.0])
    with pytest.raises(ValueError, match="exponent `1/3` has no enclosure"):
        x ** Fraction(1, 3)


def test_absolute_values_of_intervals_around_zero_begin_at_zero():
    assert ends(abs(Interval(np.array([-3.0]), np.array([1.0])))) == ([0.0], [3.0])


def test_division_by_what_may_be_zero_gives_the_whole_line_and_zero_by_zero_nan():
    over_zero = exact(np.array([1.0, 0.0, 0.0])) / Interval(np.array([-1.0, 0.0, 0.0]), np.array([1.0, 0.0, 2.0]))
    assert over_zero.lo[0] == -np.inf
    assert over_zero.hi[0] == np.inf
    assert over_zero.is_nan.tolist() == [False, True, False]


def test_an_infinite_bound_is_a_limit_and_an_infinite_point_a_value():
    half_line = Interval(np.array(1.0), np.array(np.inf))
    assert ends(half_line * points(0.0)) == ([0.0], [0.0])
    assert (points(np.inf) * points(0.0)).is_nan.all()
    assert (points(np.inf) - points(np.inf)).is_nan.all()
    assert ends(1 / half_line) == (0.0, 1.0)
    assert ends(half_line - half_line) == (-np.inf, np.inf)
    assert ends(points(np.inf) + 1) == ([np.inf], [np.inf])


def test_overflow_and_underflow_are_enclosed():
    assert ends(points(1e308) * 10) == ([LARGEST], [np.inf])
    assert ends(points(1e308, -1e308) + points(1e308, -1e308)) == ([LARGEST, -np.inf], [np.inf, -LARGEST])
    assert ends(points(1e-300, -1e-300) * points(1e-300, 1e-300)) == ([0.0, -5e-324], [5e-324, -0.0])
    assert ends(points(2.0**-500) * points(2.0**-574)) == ([5e-324], [5e-324])


def test_square_roots_cut_off_what_lies_below_zero():
    root = sqrt(Interval(np.array([-1.0, -2.0]), np.array([4.0, -1.0])))
    assert (root.lo[0], root.hi[0]) == (0.0, 2.0)
    assert root.is_nan.tolist() == [False, True]


def test_comparisons_are_certain_only_when_all_values_agree():
    x = Interval(np.array([0.0, 0.0, 2.0, np.nan]), np.array([1.0, 1.0, 3.0, np.nan]))
    y = Interval(np.array([2.0, 0.5, 1.0, 0.0]), np.array([3.0, 2.0, 2.0, 0.0]))
    less = x < y
    assert less.must.tolist() == [True, False, False, False]
    assert less.may.tolist() == [True, True, False, True]
    assert (x <= y).may.tolist() == [True, True, True, True]
    assert (x > y).must.tolist() == [False, False, False, False]
    assert (x >= y).must.tolist() == [False, False, True, False]
    same = x.equals(x)
    assert same.must.tolist() == [False] * 4
    assert points(1.0).equals(1).must.all()
    assert not points(1.0).equals(2).may.any()


def test_truth_follows_kleenes_strong_logic():
    values = [Truth.known(value=False), Truth(np.array(False), np.array(True)), Truth.known(value=True)]
    level = {(False, False): 0, (False, True): 1, (True, True): 2}

    def rank(t):
        return level[bool(t.must), bool(t.may)]

    for i, a in enumerate(values):
        assert rank(~a) == 2 - i
        for j, b in enumerate(values):
            assert rank(a & b) == min(i, j)
            assert rank(a | b) == max(i, j)
            assert rank(a.implies(b)) == max(2 - i, j)
    mixed = Truth(np.array([True, False]), np.array([True, True]))
    assert (rank(mixed.all()), rank(mixed.any())) == (1, 2)
    assert mixed.decided.tolist() == [True, False]


def test_selecting_by_an_undecided_truth_encloses_both():
    truth = Truth(np.array([True, False, False]), np.array([True, True, False]))
    assert ends(interval.where(truth, points(1.0, 1.0, 1.0), points(5.0, 5.0, 5.0))) == (
        [1.0, 1.0, 5.0],
        [1.0, 5.0, 5.0],
    )
    assert ends(interval.where(np.array([True, False]), 1, 2)) == ([1.0, 2.0], [1.0, 2.0])


def test_extremes_propagate_nan():
    assert ends(interval.maximum(points(1.0), 2)) == ([2.0], [2.0])
    assert interval.minimum(points(np.nan), 2).is_nan.all()
    assert reductions.largest(points(1.0, np.nan)).is_nan
    assert ends(reductions.smallest(Interval(np.array([1.0, 2.0]), np.array([5.0, 3.0])))) == (1.0, 3.0)


def test_sums_of_lattice_data_stay_points_and_others_enclose():
    assert ends(reductions.total(exact(np.arange(1001.0)))) == (500500.0, 500500.0)
    x = np.random.default_rng(5).standard_normal((3, 77))
    summed = reductions.total(exact(x), 1)
    for i in range(3):
        assert summed[i].contains(sum(map(Fraction, x[i].tolist()))).all()
    assert (summed.hi - summed.lo).max() < 1e-13


def test_reductions_take_any_axes_and_nothing():
    x = exact(np.arange(24.0).reshape(2, 3, 4))
    assert reductions.total(x, (0, 2)).lo.tolist() == x.lo.sum(axis=(0, 2)).tolist()
    assert reductions.total(x, 0).shape == (3, 4)
    assert reductions.mean(x).lo == 11.5
    assert reductions.total(exact(np.zeros((2, 0))), 1).lo.tolist() == [0.0, 0.0]
    assert reductions.mean(exact(np.zeros((2, 0))), 1).is_nan.all()


def test_arrays_and_numbers_combine_with_intervals_from_either_side():
    x = points(1.0, 2.0)
    assert ends(np.array([10.0, 20.0]) - x) == ([9.0, 18.0], [9.0, 18.0])
    assert ends(1 / points(4.0)) == ([0.25], [0.25])
    assert ends(2 * x + 1) == ([3.0, 5.0], [3.0, 5.0])


def test_the_spacing_of_a_format_is_enclosed_over_an_interval():
    x = Interval(np.array([0.75, -3.0]), np.array([1.5, -1.0]))
    assert ends(interval.ulp(x, BF16)) == ([2.0**-8, 2.0**-8], [2.0**-7, 2.0**-6])


def test_midpoints_lie_inside():
    x = Interval(np.array([-np.inf, 1.0, -1e308, 5.0]), np.array([np.inf, np.inf, 1e308, 5.0]))
    assert x.contains(x.mid).all()


def test_a_matrix_product_with_an_unbounded_element_is_unbounded_only_where_it_reaches():
    a = Interval(np.array([[1.0, -np.inf], [1.0, 2.0]]), np.array([[1.0, np.inf], [1.0, 3.0]]))
    product = a.matmul(exact(np.ones((2, 2))))
    assert product.lo.tolist() == [[-np.inf, -np.inf], [3.0, 3.0]]
    assert product.hi[1].tolist() == [4.0, 4.0]
