"""A-priori bounds: their values, where they hold, and that nothing exceeds them."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from kernelcontracts.formats.facts import BF16, F32
from kernelcontracts.numerics.bounds import (
    gamma,
    gamma_prob,
    hoeffding_quantile,
    random_sign_bound,
    random_sign_lambda,
)
from kernelcontracts.numerics.interval import exact
from kernelcontracts.numerics.rounding import round_to

U = F32.unit_roundoff()


def test_gamma_is_exact_for_rationals_and_enclosed_for_arrays():
    assert gamma(1, Fraction(1, 4)) == Fraction(1, 3)
    assert gamma(0, U) == 0
    enclosed = gamma(np.array([1.0, 1000.0]), U)
    assert enclosed[0].contains(gamma(1, U))
    assert enclosed[1].contains(gamma(1000, U))
    assert gamma(exact(np.array(7.0)), exact(np.array(float(U)))).contains(gamma(7, U))


def test_gamma_refuses_what_it_says_nothing_about():
    with pytest.raises(ValueError, match=r"needs n \* u < 1, but n = 16777216 .* use a wider accumulator"):
        gamma(2**24, U)
    with pytest.raises(ValueError, match=r"needs n \* u < 1"):
        gamma(np.array([1.0, 2.0**24]), U)
    with pytest.raises(ValueError, match=r"needs n \* u < 1"):
        random_sign_bound(np.ones(300), BF16.unit_roundoff(), 8.0)


def test_the_probabilistic_constant_is_that_of_higham_and_mary():
    u, n, lam = float(U), 4096, 9
    value = gamma_prob(n, U, lam)
    assert float(value.lo) <= np.expm1(lam * np.sqrt(n) * u + n * u**2 / (1 - u)) <= float(value.hi)
    assert float(value.hi) < float(gamma(n, U))


def test_lambda_bounds_the_failure_of_all_nodes_together():
    lam = random_sign_lambda(10**6, 1e-9)
    assert 10**6 * hoeffding_quantile(lam) <= 1e-9 * (1 + 1e-9)
    assert lam == pytest.approx(np.sqrt(2 * np.log(2e15)), rel=1e-12)
    with pytest.raises(ValueError, match="use nodes >= 1 and 0 < alpha < 1"):
        random_sign_lambda(0, 0.5)
    with pytest.raises(ValueError, match="use a finite number"):
        hoeffding_quantile(float("inf"))


def test_the_random_sign_bound_sums_the_norms_of_the_largest_terms():
    bound = random_sign_bound(np.array([3.0, -4.0, 0.0]), U, 1.0, exact_products=True)
    # the norms of the two and of the three largest terms are five each
    expected = U / (1 - 2 * U) * 10
    assert expected <= Fraction(float(bound)) <= expected * (1 + Fraction(1, 2**40))
    with_products = random_sign_bound(np.array([3.0, -4.0, 0.0]), U, 1.0)
    assert Fraction(float(with_products)) >= expected + 7 * U


def test_the_random_sign_bound_does_not_underflow():
    tiny = random_sign_bound(np.full(4, 2.0**-600), U, 1.0, exact_products=True)
    assert tiny == pytest.approx(2.0**-600 * random_sign_bound(np.ones(4), U, 1.0, exact_products=True), rel=1e-12)


@pytest.mark.parametrize("mode", ["rne", "rz"])
def test_sums_of_randomly_signed_constants_stay_below_the_random_sign_bound(mode):
    n, sums = 100, 400
    rng = np.random.default_rng(41)
    terms = round_to(np.full((sums, n), 0.1), BF16) * rng.choice([-1.0, 1.0], (sums, n))
    total = np.zeros(sums)
    for k in range(n):
        total = round_to(total + terms[:, k], BF16, mode)
    u = BF16.unit_roundoff(mode)
    bound = random_sign_bound(terms, u, random_sign_lambda(n * sums, 1e-9), exact_products=True)
    error = np.abs(total - terms.sum(axis=1))
    assert (error <= bound).all()
    assert error.max() > 0


def test_the_random_sign_bound_beats_gamma_on_long_sums():
    terms = np.ones(4096)
    bound = random_sign_bound(terms, U, random_sign_lambda(4096, 1e-9), exact_products=True)
    assert float(bound) < float(gamma(4095, U)) * 4096 / 4
