"""The exponential and the logarithm against Arb and, independently, against MPFR."""

from __future__ import annotations

import hashlib
from fractions import Fraction

import flint
import gmpy2
import numpy as np
import pytest

from kernelcontracts.numerics import elementary
from kernelcontracts.numerics.interval import Interval, exact

LARGEST = float(np.finfo(np.float64).max)
CELL = np.log(2.0) / 64


def exp_points():
    rng = np.random.default_rng(31)
    return np.concatenate(
        [
            rng.uniform(-745.2, 709.9, 3000),
            rng.uniform(-1, 1, 2000),
            np.ldexp(rng.standard_normal(1000), rng.integers(-70, 9, 1000).astype(np.int32)),
            np.arange(-1000, 1000) * CELL,  # where the table entry is hit
            (np.arange(-1000, 1000) + 0.5) * CELL,  # where the reduced argument is largest
            (np.arange(-30000, 30000, 60) + 0.5) * CELL,
            [709.782712893384, 709.7827128933841, -708.39, -708.4, -745.13, -745.14, 5e-324, -5e-324],
        ]
    )


def arb_bounds(function, x):
    """Bound a function of one number by rationals, from a ball of 128 bits."""
    with flint.ctx.workprec(128):
        ball = function(flint.arb(x))
    middle, radius = (Fraction(int(m)) * Fraction(2) ** int(e) for m, e in (ball.mid().man_exp(), ball.rad().man_exp()))
    return middle - radius, middle + radius


def test_the_exponential_is_enclosed_within_a_few_spacings():
    x = exp_points()
    value = elementary.exp(exact(x))
    for number, lo, hi in zip(x.tolist(), value.lo.tolist(), value.hi.tolist(), strict=True):
        below, above = arb_bounds(lambda a: a.exp(), number)
        assert Fraction(lo) <= below
        assert hi == np.inf or above <= Fraction(hi)
        if -700 < number < 700:
            assert (Fraction(hi) - Fraction(lo)) / below < Fraction(1, 2**49)


def test_the_exponential_agrees_with_mpfr():
    x = exp_points()[::10]
    value = elementary.exp(exact(x))
    with gmpy2.context(precision=113):
        reference = [gmpy2.exp(gmpy2.mpfr(number)) for number in x.tolist()]
    assert all(lo <= y for lo, y in zip(value.lo.tolist(), reference, strict=True))
    assert all(y <= hi for y, hi in zip(reference, value.hi.tolist(), strict=True))


def test_the_exponential_over_and_underflows_into_bounds():
    value = elementary.exp(exact(np.array([-1000.0, 1e308, -1e308, 710.0, -746.0])))
    assert value.lo.tolist() == [0.0, LARGEST, 0.0, LARGEST, 0.0]
    assert value.hi.tolist() == [5e-324, np.inf, 5e-324, np.inf, 5e-324]


def test_the_exponential_is_exact_at_zero_and_at_infinities():
    value = elementary.exp(exact(np.array([0.0, -0.0, np.inf, -np.inf, np.nan])))
    assert value.lo.tolist()[:4] == value.hi.tolist()[:4] == [1.0, 1.0, np.inf, 0.0]
    assert value.is_nan.tolist() == [False] * 4 + [True]


def test_the_exponential_of_an_interval_holds_both_ends():
    value = elementary.exp(Interval(np.array([0.0, -np.inf]), np.array([1.0, 0.0])))
    assert (value.lo[0], value.lo[1], value.hi[1]) == (1.0, 0.0, 1.0)
    assert value.hi[0] >= np.e


def test_the_bits_of_the_exponential_are_the_same_on_every_machine():
    x = np.arange(-70000, 70000, 7) / 100.0
    value = elementary.exp(exact(x))
    digest = hashlib.sha256(value.lo.astype("<f8").tobytes() + value.hi.astype("<f8").tobytes()).hexdigest()
    assert digest == "1df4f6cb8905082f21c13f2555de0c6068e08c91927c7a3692f08f368fd5817e"


def test_the_constants_are_those_of_arb():
    with flint.ctx.workprec(300):
        assert (
            abs(flint.arb(elementary.ln2_fixed(200)) / flint.arb(2) ** 200 - flint.arb(2).log()) < flint.arb(2) ** -190
        )
        _, c1, c2, high, low = elementary._constants()
        for j in range(64):
            root = (flint.arb(2).log() * j / 64).exp()
            assert abs(root - flint.arb(high[j]) - flint.arb(low[j])) < flint.arb(2) ** -104
        assert abs(flint.arb(2).log() / 64 - flint.arb(c1) - flint.arb(c2)) < flint.arb(2) ** -94
    assert Fraction(c1).numerator.bit_length() <= 35


def test_the_logarithm_is_enclosed_by_neighbours():
    rng = np.random.default_rng(32)
    patterns = rng.integers(1, 0x7FF0 << 48, 500).view(np.float64)
    x = np.concatenate([np.arange(2.0, 500.0), patterns, 1 + rng.uniform(-1e-8, 1e-8, 200)])
    value = elementary.log(exact(x))
    for number, lo, hi in zip(x.tolist(), value.lo.tolist(), value.hi.tolist(), strict=True):
        below, above = arb_bounds(lambda a: a.log(), number)
        assert Fraction(lo) <= below
        assert above <= Fraction(hi)
        assert hi <= np.nextafter(lo, np.inf)


def test_the_logarithm_knows_its_special_values():
    value = elementary.log(exact(np.array([[0.0, 1.0, np.inf], [-1.0, np.nan, -0.0]])))
    assert value.lo[0].tolist() == value.hi[0].tolist() == [-np.inf, 0.0, np.inf]
    assert value.is_nan.tolist() == [[False] * 3, [True, True, False]]
    cut = elementary.log(Interval(np.array([-1.0, -2.0]), np.array([1.0, -1.0])))
    assert (cut.lo[0], cut.hi[0]) == (-np.inf, 0.0)
    assert cut.is_nan.tolist() == [False, True]


@pytest.mark.parametrize("t", [0.0, 1e-300, 1e-12, 2.0**-10, 0.3, 5.0, 800.0])
def test_exp_minus_one_is_enclosed_without_cancellation(t):
    value = elementary.expm1_bounds(exact(np.array(t)))
    below, above = arb_bounds(lambda a: a.expm1(), t)
    # the ball has 128 bits, of which a tiny `t` leaves none for its square
    assert Fraction(float(value.lo)) <= above
    assert np.isinf(value.hi) or below <= Fraction(float(value.hi))
    if 0 < t < 1:
        assert Fraction(float(value.hi)) - Fraction(float(value.lo)) <= below / 2**37 + Fraction(5e-324) * 4
