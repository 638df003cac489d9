"""Exact sums and products against rationals, on inputs made to mislead floating-point arithmetic."""

from __future__ import annotations

import functools
import operator
from fractions import Fraction

import numpy as np
import pytest

from kernelcontracts.formats.facts import BF16, F8E4M3, F16, F32, F64, TF32, accumulator_format
from kernelcontracts.numerics import exact as exact_module
from kernelcontracts.numerics.exact import exact_matmul, exact_sum
from kernelcontracts.numerics.interval import Interval, exact
from kernelcontracts.numerics.rounding import round_fraction, round_to

FORMATS = [F64, F32, TF32, F16, BF16, F8E4M3, accumulator_format("f32", 13), accumulator_format("f64", 51)]
MODES = ["rne", "rz", "ru", "rd"]


def scaled(rng, shape, low, high):
    return np.ldexp(rng.standard_normal(shape), rng.integers(low, high, shape).astype(np.int32))


def normal(rng):
    return round_to(rng.standard_normal((5, 33)), F32), round_to(rng.standard_normal((33, 6)), F32)


def wide(rng):
    return round_to(scaled(rng, (4, 9), -60, 60), F32), round_to(scaled(rng, (9, 5), -60, 60), F32)


def cancelling(rng):
    a, b = normal(rng)
    tiny = np.zeros((1, b.shape[1]))
    tiny[0, ::2] = 2.0**-100
    return np.concatenate([a, a, np.ones((5, 1))], 1), np.concatenate([b, -b, tiny])


def integers(rng):
    return rng.integers(-99, 100, (6, 40)).astype(float), rng.integers(-99, 100, (40, 6)).astype(float)


def ties(rng, off=None):
    """Make sums half-way between bf16 numbers, or off by a tiny term, with large terms that cancel."""
    a = np.zeros((6, 5))
    b = np.zeros((5, 6))
    a[:, 0], b[0] = 1 + rng.integers(0, 128, 6) * 2.0**-7, 1
    a[:, 1], b[1] = 2.0**-8, rng.choice([1.0, -1.0], 6)
    if off is not None:
        a[:, 2], b[2] = off, rng.choice([1.0, -1.0, 0.0], 6)
    a[:, 3], a[:, 4], b[3:] = 2.0**90, -(2.0**90), 1.0
    return a, b


def subnormal_results(rng):
    return round_to(scaled(rng, (5, 7), -72, -68), F32), round_to(scaled(rng, (7, 4), -76, -70), F32)


def full_f64(rng):
    return rng.standard_normal((4, 9)), rng.standard_normal((9, 5))


def nonnegative_f64(rng):
    return np.abs(rng.standard_normal((4, 9))), np.abs(rng.standard_normal((9, 5)))


def cancelling_f64(rng):
    a, b = full_f64(rng)
    return np.concatenate([a, a], 1), np.concatenate([b, -b])


def f64_of_all_sizes(rng):
    return scaled(rng, (4, 6), -600, 500), scaled(rng, (6, 4), -600, 500)


def underflowing_f64(rng):
    return scaled(rng, (4, 6), -562, -558), scaled(rng, (6, 4), -505, -500)


def overflowing_f64(rng):
    return scaled(rng, (3, 4), 510, 514), scaled(rng, (4, 3), 508, 512)


INPUTS = {
    "normal": normal,
    "wide exponents": wide,
    "cancellation": cancelling,
    "integers": integers,
    "ties": ties,
    "ties off by 2^-60": lambda rng: ties(rng, 2.0**-60),
    "ties off by 2^-120": lambda rng: ties(rng, 2.0**-120),
    "subnormal results": subnormal_results,
    "f64": full_f64,
    "non-negative f64": nonnegative_f64,
    "f64 cancellation": cancelling_f64,
    "f64 of all sizes": f64_of_all_sizes,
    "f64 underflow": underflowing_f64,
    "f64 overflow": overflowing_f64,
}


def same(a, b):
    return np.all(((a == b) & (np.signbit(a) == np.signbit(b))) | (np.isnan(a) & np.isnan(b)))


def rational_product(a, b):
    return [
        [
            sum((Fraction(x) * Fraction(y) for x, y in zip(row, column, strict=True)), Fraction(0))
            for column in b.T.tolist()
        ]
        for row in a.tolist()
    ]


def rounded_rationals(table, fmt, mode="rne"):
    return np.array([[round_fraction(q, fmt, mode) for q in row] for row in table])


@pytest.mark.parametrize("kind", INPUTS)
def test_matrix_products_are_enclosed_and_round_correctly(kind):
    a, b = INPUTS[kind](np.random.default_rng(11))
    product, wanted = exact_matmul(a, b), rational_product(a, b)
    for lo, hi, q in zip(
        product.interval.lo.flat, product.interval.hi.flat, functools.reduce(operator.iadd, wanted, []), strict=True
    ):
        assert lo == -np.inf or Fraction(float(lo)) <= q
        assert hi == np.inf or q <= Fraction(float(hi))
    for fmt in FORMATS:
        for mode in MODES:
            assert same(product.rounded(fmt, mode), rounded_rationals(wanted, fmt, mode)), (fmt.name, mode)


@pytest.mark.parametrize("kind", INPUTS)
def test_sums_are_enclosed_and_round_correctly(kind):
    a, b = INPUTS[kind](np.random.default_rng(12))
    x = np.concatenate([a, b.T], 1) if a.shape == b.T.shape else a
    summed = exact_sum(x)
    wanted = [sum(map(Fraction, row), Fraction(0)) for row in x.tolist()]
    for i, q in enumerate(wanted):
        assert summed.interval[i].contains(q)
        assert summed.fraction(i) == q
    for fmt in FORMATS:
        assert same(summed.rounded(fmt), rounded_rationals([wanted], fmt)[0])


def test_batches_broadcast():
    rng = np.random.default_rng(13)
    a, b = round_to(rng.standard_normal((2, 1, 3, 4)), F32), round_to(rng.standard_normal((5, 4, 2)), F32)
    product = exact_matmul(a, b)
    assert product.shape == (2, 5, 3, 2)
    rounded = product.rounded(F64)
    for i in range(2):
        for j in range(5):
            assert same(rounded[i, j], rounded_rationals(rational_product(a[i, 0], b[j]), F64))


def test_lattice_data_give_points():
    a, b = integers(np.random.default_rng(14))
    assert exact_matmul(a, b).interval.is_exact.all()
    assert exact_matmul(a * 2.0**-30, b * 2.0**40).interval.is_exact.all()
    assert exact_sum(a).interval.is_exact.all()
    assert exact_matmul(np.abs(a), np.abs(b)).interval.is_exact.all()


def test_integers_at_the_edge_of_f64_are_points_and_beyond_it_are_not():
    inside, beyond = np.array([[2.0**52, 2.0**52 - 1]]), np.array([[2.0**53 - 1, 2.0]])
    ones = np.ones((2, 1))
    assert exact_matmul(inside, ones).interval.is_exact.all()
    interval = exact_matmul(beyond, ones).interval
    assert Fraction(float(interval.lo[0, 0])) <= 2**53 + 1 <= Fraction(float(interval.hi[0, 0]))
    assert not interval.is_exact.any()


def test_nothing_sums_to_zero():
    product = exact_matmul(np.zeros((2, 0)), np.zeros((0, 3)))
    assert same(product.rounded(BF16), np.zeros((2, 3)))
    assert same(exact_sum(np.zeros((2, 0))).rounded(BF16), np.zeros(2))
    assert exact_matmul(np.zeros((0, 4)), np.zeros((4, 3))).rounded(F32).shape == (0, 3)


def test_exact_zeros_are_points():
    a, b = cancelling_f64(np.random.default_rng(15))
    product = exact_matmul(a, b)
    assert same(product.rounded(F64), np.zeros((4, 5)))
    assert exact_matmul(np.zeros((2, 3)), np.full((3, 2), 1e300)).interval.is_exact.all()


def test_infinities_and_nan_take_their_ieee_values_and_leave_the_rest_alone():
    a = np.array([[np.inf, 1, 2], [1, 0, 3], [1, 2, 3], [np.nan, 0, 1], [1, -np.inf, np.inf], [1, 1, 1]])
    b = np.array([[1, 0, -1, 1], [1, 1, 2, 1], [2, -np.inf, 3, 1.0]])
    with np.errstate(invalid="ignore"):
        ieee = (a[:, :, None] * b).sum(axis=1)
    product = exact_matmul(a, b)
    assert same(product.rounded(F32), ieee)
    assert product.interval.is_exact[np.isfinite(ieee)].all()
    with np.errstate(invalid="ignore"):
        assert same(exact_sum(a).rounded(F32), a.sum(axis=1))


def test_sums_take_any_axes():
    x = np.random.default_rng(16).standard_normal((3, 4, 5))
    assert exact_sum(x, (0, 2)).rounded(F64)[1] == float(sum(map(Fraction, x[:, 1].ravel().tolist())))
    assert exact_sum(x, None).shape == ()
    assert exact_sum(x, 0).shape == (4, 5)


def test_large_products_hold_a_sample_of_exact_elements():
    rng = np.random.default_rng(17)
    a, b = round_to(rng.standard_normal((32, 512)), BF16), round_to(rng.standard_normal((512, 32)), BF16)
    product = exact_matmul(a, b)
    for fmt in (F32, BF16, F64):
        rounded = product.rounded(fmt)
        for i, j in rng.integers(0, 32, (10, 2)).tolist():
            assert rounded[i, j] == round_fraction(rational_product(a[[i]], b[:, [j]])[0][0], fmt)


def test_the_first_two_stages_alone_settle_ordinary_data(monkeypatch):
    def integers_are_not_needed(*_):
        raise AssertionError("ordinary data must not need integer arithmetic")

    monkeypatch.setattr(exact_module, "dot_dyadic", integers_are_not_needed)
    for make in (normal, ties, full_f64):
        for fmt in (F64, F32, BF16):
            exact_matmul(*make(np.random.default_rng(18))).rounded(fmt)


def test_interval_products_of_nonnegative_and_mixed_intervals_hold_their_corners():
    rng = np.random.default_rng(19)
    for low in (0.0, -1.0):
        lo_a, lo_b = rng.uniform(low, 1, (4, 6)), rng.uniform(low, 1, (6, 3))
        a, b = Interval(lo_a, lo_a + 0.5), Interval(lo_b, lo_b + 0.25)
        product = a.matmul(b)
        for x in (a.lo, a.hi):
            for y in (b.lo, b.hi):
                inside = exact_matmul(x, y).interval
                assert (product.lo <= inside.lo).all()
                assert (inside.hi <= product.hi).all()


def test_points_with_nan_stay_points():
    product = exact(np.array([[np.nan, 1.0], [2.0, 1.0]])).matmul(exact(np.ones((2, 1))))
    assert product.is_nan.tolist() == [[True], [False]]
    assert product.lo[1, 0] == product.hi[1, 0] == 3.0
