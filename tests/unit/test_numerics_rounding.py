"""Rounding to formats, against the casts of numpy and ml_dtypes and against known values."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from kernelcontracts.formats.arrays import dtype_of, from_bits, to_f64
from kernelcontracts.formats.facts import BF16, F8E4M3, F8E5M2, F16, F32, F64, FORMATS, TF32, accumulator_format
from kernelcontracts.numerics.rounding import (
    NO_LSB,
    lsb_exponent,
    odd,
    representable,
    round_fraction,
    round_to,
    significant_bits,
    ulp,
)


def same(a, b):
    """Compare numbers, NaN being equal and zeros of different sign not."""
    return ((a == b) & (np.signbit(a) == np.signbit(b))) | (np.isnan(a) & np.isnan(b))


@pytest.mark.parametrize("fmt", [BF16, F8E4M3, F8E5M2], ids=str)
def test_every_f16_number_rounds_as_ml_dtypes_casts_it(fmt):
    every = from_bits(np.arange(1 << 16), "f16")
    with np.errstate(invalid="ignore", over="ignore"):
        cast = to_f64(every.astype(dtype_of(fmt.name)))
    assert same(round_to(to_f64(every), fmt), cast).all()


@pytest.mark.parametrize("fmt", [F32, F16], ids=str)
def test_f64_rounds_to_numpys_formats_as_numpy_casts(fmt):
    rng = np.random.default_rng(1)
    scaled = np.ldexp(rng.standard_normal(40_000), rng.integers(fmt.emin - 30, fmt.emax + 3, 40_000).astype(np.int32))
    with np.errstate(over="ignore", under="ignore"):
        cast = to_f64(scaled.astype(dtype_of(fmt.name)))
    assert same(round_to(scaled, fmt), cast).all()


def test_f64_rounds_to_f16_once_and_not_by_way_of_f32():
    x = np.array([1 + 2.0**-11 + 2.0**-40])
    assert round_to(x, F16) == 1 + 2.0**-10
    assert round_to(round_to(x, F32), F16) == 1.0


def test_ties_go_to_the_even_neighbour_and_near_ties_to_the_nearer():
    tie, near = 1 + 2.0**-8, 2.0**-52
    assert round_to(np.array([tie, tie + near, tie - near, 1 + 3 * 2.0**-8]), BF16).tolist() == [
        1.0,
        1 + 2.0**-7,
        1.0,
        1 + 2.0**-6,
    ]


def test_overflow_gives_infinity_or_nan_to_nearest_and_the_largest_number_towards_zero():
    x = np.array([464.0, 465.0, -1e9, np.inf])
    assert same(round_to(x, F8E4M3), np.array([448.0, np.nan, np.nan, np.nan])).all()
    assert same(round_to(x, F8E4M3, "rz"), np.array([448.0, 448.0, -448.0, np.nan])).all()
    halfway = float(F32.maxfinite) + 2.0**103
    assert round_to(np.array([halfway, np.nextafter(halfway, 0)]), F32).tolist() == [np.inf, float(F32.maxfinite)]
    assert round_to(np.array([1e300, -1e300, np.inf]), F32, "rz").tolist() == [
        float(F32.maxfinite),
        -float(F32.maxfinite),
        np.inf,
    ]


def test_directed_rounding_overflows_only_away_from_zero():
    x = np.array([1e300, -1e300])
    assert round_to(x, BF16, "ru").tolist() == [np.inf, -float(BF16.maxfinite)]
    assert round_to(x, BF16, "rd").tolist() == [float(BF16.maxfinite), -np.inf]


def test_underflow_is_gradual_and_keeps_the_sign():
    step = float(F16.minsub)
    x = np.array([0.5 * step, 1.5 * step, -0.25 * step, 0.5 * step * (1 + 2.0**-50), 5e-324])
    assert same(round_to(x, F16), np.array([0.0, 2 * step, -0.0, step, 0.0])).all()
    assert same(round_to(x, F16, "rz"), np.array([0.0, step, -0.0, 0.0, 0.0])).all()
    assert round_to(x, F16, "ru").tolist() == [step, 2 * step, 0.0, step, step]


def test_f64_numbers_are_left_alone_by_f64():
    x = np.random.default_rng(2).integers(0, 2**64, 5000, dtype=np.uint64).view(np.float64)
    assert same(round_to(x, F64), x).all()


@pytest.mark.parametrize("fmt", [*FORMATS.values(), *(accumulator_format("f32", w) for w in (1, 13, 25, 52))], ids=str)
@pytest.mark.parametrize("mode", ["rne", "rz", "ru", "rd"])
def test_arrays_round_as_exact_rationals_do(fmt, mode):
    rng = np.random.default_rng(3)
    low, high = max(fmt.lsb_min - 3, -1074), min(fmt.emax + 2, 1023)
    random = np.ldexp(rng.uniform(-2, 2, 150), rng.integers(low, high, 150).astype(np.int32))
    numbers = round_to(random, fmt)[np.isfinite(round_to(random, fmt))]
    half = ulp(numbers, fmt) / 2
    near_ties = [numbers + half, numbers + half * (1 + 2.0**-20), numbers + half * (1 - 2.0**-20)]
    x = np.concatenate([random, *near_ties])
    expected = np.array([round_fraction(Fraction(v), fmt, mode) if v else v for v in x.tolist()])
    assert same(round_to(x, fmt, mode), expected).all()


def test_a_third_rounds_to_its_neighbours():
    third = Fraction(1, 3)
    down, up = (round_fraction(third, BF16, mode) for mode in ("rd", "ru"))
    assert Fraction(down) < third < Fraction(up)
    assert up - down == 2.0**-9
    assert round_fraction(-third, BF16, "rz") == -down
    assert round_fraction(Fraction(1, 3) * BF16.minsub, BF16) == 0.0


def test_unknown_modes_are_refused():
    with pytest.raises(ValueError, match="unknown rounding mode `rn`: use one of rne, rz, ru, rd"):
        round_to(np.zeros(1), F32, "rn")


def test_rounding_to_odd_prepares_for_a_second_rounding():
    hi = np.array([1 + 2.0**-24, 1 + 2.0**-24, 1.0, 1.0])
    lo = np.array([2.0**-90, -(2.0**-90), 2.0**-80, 0.0])
    assert round_to(odd(hi, lo), F32).tolist() == [1 + 2.0**-23, 1.0, 1.0, 1.0]
    assert odd(hi, lo)[2] == np.nextafter(1.0, 2)
    assert odd(hi, lo)[3] == 1.0


@pytest.mark.parametrize(
    ("x", "expected"),
    [
        (1.0, 2.0**-24),  # below one the spacing of f32 is 2^-24, above it 2^-23
        (1.5, 2.0**-23),
        (np.nextafter(1.0, 2), 2.0**-23),
        (np.nextafter(1.0, 0), 2.0**-24),
        (2.0**-126, 2.0**-149),
        (0.0, 2.0**-149),
        (1e-60, 2.0**-149),
        (-3.0, 2.0**-22),
        (1e300, 2.0**104),
        (np.inf, 2.0**104),
    ],
)
def test_ulp_is_the_gap_around_a_real_number(x, expected):
    assert ulp(np.array(x), F32) == expected


def test_ulp_of_e4m3_beyond_its_largest_number_is_its_last_gap():
    assert ulp(np.array([448.0, 500.0, 512.0, 1e9]), F8E4M3).tolist() == [32.0] * 4
    assert np.isnan(ulp(np.array(np.nan), F8E4M3))


@pytest.mark.parametrize("fmt", [F8E4M3, F8E5M2], ids=str)
def test_ulp_at_every_midpoint_is_the_distance_of_the_neighbours(fmt):
    numbers = to_f64(from_bits(np.arange(128), fmt.name))
    numbers = np.unique(numbers[np.isfinite(numbers)])
    middle = (numbers[1:] + numbers[:-1]) / 2
    assert np.array_equal(ulp(middle, fmt), np.diff(numbers))


def test_a_format_represents_its_own_numbers_only():
    assert representable(np.array([448.0, 449.0, np.nan, np.inf, -0.0]), F8E4M3).tolist() == [
        True,
        False,
        True,
        False,
        True,
    ]
    assert representable(np.array([1 + 2.0**-10, 1 + 2.0**-11, 1e-50]), TF32).tolist() == [True, False, False]


def test_significant_bits_and_lowest_bits_of_known_numbers():
    x = np.array([0.0, 1.0, -0.75, 3 * 2.0**-1074, 5e-324, 2.0**53 - 1, np.inf, np.nan, 1e308])
    assert significant_bits(x).tolist()[:8] == [0, 1, 2, 2, 1, 53, 0, 0]
    assert lsb_exponent(x).tolist()[:8] == [NO_LSB, 0, -2, -1074, -1074, 0, NO_LSB, NO_LSB]


def test_a_number_is_an_odd_integer_times_its_lowest_bit():
    x = np.random.default_rng(4).integers(0, 2**63, 2000).view(np.float64)
    x = x[np.isfinite(x) & (x != 0)]
    for value, low, bits in zip(x.tolist(), lsb_exponent(x).tolist(), significant_bits(x).tolist(), strict=True):
        integer = Fraction(value) / Fraction(2) ** low
        assert integer.denominator == 1
        assert integer.numerator % 2 == 1
        assert abs(integer.numerator).bit_length() == bits
