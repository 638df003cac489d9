"""When sums are exact in a format: the premises accept what they should and refuse the rest."""

from __future__ import annotations

import numpy as np
import pytest

from kernelcontracts.formats.facts import BF16, F8E4M3, F16, F32, F64, TF32
from kernelcontracts.numerics.lattice import (
    exact_dot_premise,
    exact_sum_premise,
    inexact_products,
    kept,
    kept_by_split,
    split_rest,
)
from kernelcontracts.numerics.rounding import round_to


def test_magnitudes_up_to_two_to_the_precision_are_accepted_and_no_more():
    ones = np.ones((2, 1))
    assert exact_dot_premise(np.array([[2.0**23, 2.0**23]]), ones, F32).all()
    assert not exact_dot_premise(np.array([[2.0**23 + 1, 2.0**23]]), ones, F32).any()
    assert exact_sum_premise(np.array([[2.0**52, 2.0**52], [-(2.0**52), 2.0**52 + 1]]), F64).tolist() == [True, False]


def test_cancellation_does_not_hide_large_partial_sums():
    a = np.array([[2.0**24, 1.0, -(2.0**24)]])
    assert not exact_dot_premise(a, np.ones((3, 1)), F32).any()
    assert exact_dot_premise(a, np.ones((3, 1)), F64).all()
    assert not exact_sum_premise(a, F32).any()


def test_the_lattice_may_be_anywhere_in_the_normal_range():
    a = np.arange(-8.0, 8.0).reshape(1, 16)
    b = np.ones((16, 1))
    for exponent in (-126, -20, 0, 100):
        assert exact_dot_premise(np.ldexp(a, exponent), b, F32).all()
    assert not exact_dot_premise(np.ldexp(a, -127), b, F32).any()
    assert not exact_dot_premise(np.ldexp(a, 124), b, F32).any()
    assert not exact_sum_premise(np.ldexp(a, -127), F32).any()


def test_sums_beyond_the_largest_number_are_refused():
    assert exact_sum_premise(np.array([[448.0], [480.0]]), F8E4M3).tolist() == [True, False]
    assert not exact_dot_premise(np.array([[40000.0, 40000.0]]), np.ones((2, 1)), F16).any()


def test_selecting_by_powers_of_two_is_exact_though_rows_have_wide_exponents():
    rng = np.random.default_rng(21)
    a = round_to(np.ldexp(rng.standard_normal((20, 30)), rng.integers(-20, 20, (20, 30)).astype(np.int32)), F32)
    selection = np.zeros((30, 10))
    selection[rng.permutation(30)[:10], np.arange(10)] = np.ldexp(1.0, rng.integers(-20, 20, 10).astype(np.int32))
    assert exact_dot_premise(a, selection, F32).all()
    assert not exact_dot_premise(a, selection, BF16).any()


def test_a_dot_product_is_judged_by_its_own_products():
    a = np.array([[1.0, 2.0**-30, 4.0], [1.0, 2.0**-30, 4.0]])
    b = np.array([[1.0, 1.0], [0.0, 1.0], [3.0, 3.0]])
    assert exact_dot_premise(a, b, F32).tolist() == [[True, False], [True, False]]


def test_many_terms_are_looked_at_block_by_block():
    a, b = np.ones((1, 600)), np.ones((600, 2))
    b[599, 0], a[0, 598], b[598] = 2.0**-40, 2.0**-60, 0.0
    assert exact_dot_premise(a, b, F32).tolist() == [[False, True]]


def test_full_significands_are_refused():
    rng = np.random.default_rng(22)
    a, b = round_to(rng.standard_normal((3, 50)), F32), round_to(rng.standard_normal((50, 3)), F32)
    assert not exact_dot_premise(a, b, F32).any()
    assert not exact_dot_premise(rng.standard_normal((3, 50)), b, F64).any()


def test_infinities_and_nan_are_refused_and_empty_sums_accepted():
    a = np.array([[np.inf, 1.0], [np.nan, 1.0], [0.0, 0.0], [1.0, 1.0]])
    assert exact_dot_premise(a, np.ones((2, 1)), F32).ravel().tolist() == [False, False, True, True]
    assert exact_sum_premise(a, F32).tolist() == [False, False, True, True]
    assert exact_dot_premise(np.zeros((2, 0)), np.zeros((0, 2)), F32).all()
    assert exact_sum_premise(np.zeros((2, 0)), F32).all()


def test_batches_broadcast():
    a, b = np.ones((2, 1, 3, 4)), np.ones((5, 4, 2))
    b[3] = 2.0**-30 * (1 + np.arange(8).reshape(4, 2) * 2.0**20)
    premise = exact_dot_premise(a, b, BF16)
    assert premise.shape == (2, 5, 3, 2)
    assert not premise[:, 3].any()
    assert premise[:, [0, 1, 2, 4]].all()


@pytest.mark.parametrize(
    ("bits_a", "bits_b", "fmt", "expected"),
    [
        (12, 12, F32, 0.0),
        (12, 13, F32, 1.0),
        (24, 1, F32, 0.0),
        (1, 24, F32, 0.0),
        (24, 2, F32, 1.0),
        (11, 1, TF32, 0.0),
        (5, 6, TF32, 0.0),
    ],
)
def test_products_fit_when_their_significands_do(bits_a, bits_b, fmt, expected):
    a, b = np.array([[2.0**bits_a - 1]]), np.array([[2.0**bits_b - 1]])
    assert inexact_products(a, b, fmt).item() == expected
    assert (round_to(a * b, fmt) == a * b).item() or expected == 1.0


def test_products_with_nothing_are_exact():
    a = np.array([[0.0, 0.0], [1 + 2.0**-23, 3.0]])
    assert inexact_products(a, np.full((2, 1), 1 + 2.0**-23), F32).ravel().tolist() == [0.0, 1.0]
    assert inexact_products(np.zeros((2, 0)), np.zeros((0, 2)), F32).tolist() == [[0.0, 0.0], [0.0, 0.0]]


def test_kept_means_that_rounding_changes_nothing():
    assert kept(np.array([1.0, -0.5]), np.array([384.0]), fmt=F8E4M3)
    assert not kept(np.array([1.0]), np.array([17.0]), fmt=F8E4M3)


def test_three_bf16_numbers_hold_an_f32_number_and_two_do_not():
    x = round_to(np.random.default_rng(23).standard_normal(500), F32)
    assert kept_by_split(x, BF16, 3)
    assert not kept_by_split(x, BF16, 2)
    pieces, rest = split_rest(x, BF16, 3)
    assert np.array_equal(sum(pieces), x)
    assert not rest.any()
    assert not kept_by_split(np.array([np.inf]), BF16, 3)
