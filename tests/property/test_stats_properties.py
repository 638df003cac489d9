from __future__ import annotations

import math
import random
from fractions import Fraction

from hypothesis import given, settings
from hypothesis import strategies as st

from kernelcontracts.stats.binomial import establishes, tail, upper_limit
from kernelcontracts.stats.coverage import reached_rate, required_cases
from kernelcontracts.stats.limits import bonferroni, magnitude_limits, mean_limits, rms_limits
from kernelcontracts.stats.student import central, quantile

hundredths = st.integers(1, 99).map(lambda n: Fraction(n, 100))
levels = st.integers(1, 999).map(lambda n: Fraction(n, 1000))
counts = st.integers(1, 40).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))


@settings(deadline=None, max_examples=200)
@given(hundredths, levels)
def test_required_cases_suffice_and_one_less_does_not(p, confidence):
    n = required_cases(p, confidence)

    assert (1 - p) ** n <= 1 - confidence
    assert n == 1 or (1 - p) ** (n - 1) > 1 - confidence


@settings(deadline=None, max_examples=200)
@given(st.integers(1, 99), st.integers(1, 12))
def test_powers_of_a_rate_need_exactly_their_exponent(percent, n):
    p = Fraction(percent, 100)

    assert required_cases(p, 1 - (1 - p) ** n) == n


@settings(deadline=None, max_examples=100)
@given(st.integers(1, 400), levels)
def test_the_rate_reached_is_the_least_float_that_the_cases_exclude(n, confidence):
    rate = Fraction(reached_rate(n, confidence))
    below = Fraction(math.nextafter(float(rate), 0))

    assert (1 - rate) ** n <= 1 - confidence
    assert (1 - below) ** n > 1 - confidence


@settings(deadline=None, max_examples=60)
@given(counts, levels)
def test_the_upper_limit_is_the_least_float_whose_exact_tail_is_small_enough(count, confidence):
    failures, n = count
    limit = upper_limit(failures, n, confidence)

    if failures == n:
        assert limit == 1.0
        return
    assert tail(failures, n, Fraction(limit)) <= 1 - confidence
    assert tail(failures, n, Fraction(math.nextafter(limit, 0))) > 1 - confidence


@settings(deadline=None, max_examples=100)
@given(counts, hundredths, levels)
def test_a_rate_is_established_exactly_when_its_tail_is_small_enough(count, p, confidence):
    failures, n = count

    assert establishes(failures, n, p=p, confidence=confidence) == (
        failures < n and tail(failures, n, p) <= 1 - confidence
    )


@settings(deadline=None, max_examples=100)
@given(counts, hundredths)
def test_the_tail_is_the_sum_of_the_binomial_probabilities(count, p):
    failures, n = count

    direct = sum(math.comb(n, i) * p**i * (1 - p) ** (n - i) for i in range(failures + 1))
    assert tail(failures, n, p) == direct


@settings(deadline=None, max_examples=50)
@given(counts, hundredths, levels)
def test_the_upper_limit_covers_every_true_rate_often_enough(count, p, confidence):
    # the chance that the limit lies below the true rate, over everything that could be counted
    _, n = count
    n = min(n, 12)
    missed = sum(
        (tail(k, n, p) - (tail(k - 1, n, p) if k else 0)) for k in range(n + 1) if upper_limit(k, n, confidence) < p
    )

    assert missed <= 1 - confidence


@settings(deadline=None, max_examples=100)
@given(st.integers(501, 999), st.integers(1, 300))
def test_the_t_quantile_inverts_the_distribution(thousandths, df):
    level = thousandths / 1000
    t = quantile(level, df)

    # nu/2 positive terms and a quotient: nu * 2^-52 covers their rounding
    assert abs((1 + central(t, df)) / 2 - level) <= (df + 4) * 2**-52


@settings(deadline=None, max_examples=60)
@given(st.integers(1, 200), st.floats(0, 50), st.floats(0, 50))
def test_the_distribution_grows_with_t(df, one, other):
    low, high = sorted((one, other))

    assert 0 <= central(low, df) <= central(high, df) + (df + 4) * 2**-52


@settings(deadline=None, max_examples=60)
@given(st.integers(1, 100))
def test_more_degrees_of_freedom_have_lighter_tails(df):
    assert quantile(0.99, df + 1) < quantile(0.99, df)


finite = st.floats(-1e6, 1e6)


@settings(deadline=None, max_examples=100)
@given(st.lists(finite, min_size=2, max_size=20), st.integers(501, 998))
def test_limits_enclose_the_mean_and_widen_with_confidence(values, thousandths):
    low, high = mean_limits(values, thousandths / 1000)
    wide_low, wide_high = mean_limits(values, (thousandths + 1) / 1000)
    mean = float(sum(map(Fraction, values)) / len(values))

    assert wide_low <= low <= mean <= high <= wide_high


@settings(deadline=None, max_examples=100)
@given(st.lists(finite, min_size=2, max_size=20))
def test_magnitudes_and_roots_are_never_negative_and_in_order(values):
    for low, high in (
        magnitude_limits(values, 0.99),
        rms_limits([v * v for v in values], 0.99),
    ):
        assert 0 <= low <= high


@settings(deadline=None, max_examples=50)
@given(levels, st.integers(1, 10**6))
def test_bonferroni_statements_fail_together_no_more_often_than_allowed(level, parts):
    assert parts * (1 - bonferroni(level, parts)) == 1 - level


def test_one_sided_limits_of_normal_means_cover_as_often_as_they_say():
    # 4000 samples: a binomial count below 4000 * 0.95 - 5.5 sigma has a probability under 2e-8,
    # and the seed is fixed, so this neither flickers nor needs luck
    source = random.Random(1234)
    runs, level = 4000, 0.95
    covered = sum(mean_limits([source.gauss(0, 1) for _ in range(5)], level)[1] >= 0 for _ in range(runs))
    sigma = math.sqrt(runs * level * (1 - level))

    assert abs(covered - runs * level) <= 5.5 * sigma
