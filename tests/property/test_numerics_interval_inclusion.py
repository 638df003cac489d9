"""Inclusion: whatever numbers are picked from intervals, the result of an operation holds theirs."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from kernelcontracts.numerics import interval, reductions
from kernelcontracts.numerics.interval import Interval, sqrt

finite = st.floats(allow_nan=False, allow_infinity=False)
moderate = st.floats(-1e6, 1e6)


@st.composite
def picked(draw, numbers=finite):
    """Draw an interval and a rational number within it."""
    a, b = sorted((draw(numbers), draw(numbers)))
    weight = Fraction(draw(st.integers(0, 16)), 16)
    value = Fraction(a) + weight * (Fraction(b) - Fraction(a))
    if draw(st.booleans()):
        return Interval(np.array(a), np.array(a)), Fraction(a)
    return Interval(np.array(a), np.array(b)), value


def holds(x, value):
    lo, hi = float(x.lo), float(x.hi)
    return (lo == -np.inf or Fraction(lo) <= value) and (hi == np.inf or value <= Fraction(hi))


@settings(deadline=None, max_examples=150)
@given(picked(), picked())
def test_arithmetic_includes(first, second):
    (x, p), (y, q) = first, second
    assert holds(x + y, p + q)
    assert holds(x - y, p - q)
    assert holds(x * y, p * q)
    assert holds(abs(x), abs(p))
    assert holds(interval.maximum(x, y), max(p, q))
    assert holds(interval.minimum(x, y), min(p, q))
    quotient = x / y
    if q != 0:
        assert holds(quotient, p / q)


@settings(deadline=None, max_examples=100)
@given(picked(moderate), st.integers(-3, 5))
def test_powers_include(pick, n):
    x, p = pick
    if p != 0 or n >= 0:
        assert holds(x**n, p**n)


@settings(deadline=None, max_examples=100)
@given(picked(st.floats(0, allow_infinity=False)))
def test_square_roots_include(pick):
    x, p = pick
    root = sqrt(x)
    assert Fraction(float(root.lo)) ** 2 <= p <= Fraction(float(root.hi)) ** 2


@settings(deadline=None, max_examples=100)
@given(picked(), picked())
def test_comparisons_are_never_certain_of_what_fails(first, second):
    (x, p), (y, q) = first, second
    for truth, fact in ((x < y, p < q), (x <= y, p <= q), (x > y, p > q), (x >= y, p >= q), (x.equals(y), p == q)):
        assert bool(truth.may) or not fact
        assert fact or not bool(truth.must)


@settings(deadline=None, max_examples=60)
@given(st.lists(picked(), min_size=1, max_size=9))
def test_sums_include(picks):
    x = Interval(np.array([float(i.lo) for i, _ in picks]), np.array([float(i.hi) for i, _ in picks]))
    assert holds(reductions.total(x), sum(p for _, p in picks))


@settings(deadline=None, max_examples=60)
@given(st.lists(picked(moderate), min_size=12, max_size=12), st.sampled_from([(2, 3, 2), (1, 6, 1), (2, 2, 4)]))
def test_matrix_products_include(picks, shape):
    m, k, n = shape
    if m * k + k * n > len(picks):
        m, k, n = 1, 6, 1
    lo = np.array([float(i.lo) for i, _ in picks])
    hi = np.array([float(i.hi) for i, _ in picks])
    values = [p for _, p in picks]
    a = Interval(lo[: m * k].reshape(m, k), hi[: m * k].reshape(m, k))
    b = Interval(lo[m * k : m * k + k * n].reshape(k, n), hi[m * k : m * k + k * n].reshape(k, n))
    for left, right, sign in ((a, b, 1), (abs(a), abs(b), 0)):
        product = left.matmul(right)
        for i in range(m):
            for j in range(n):
                terms = [(values[i * k + t], values[m * k + t * n + j]) for t in range(k)]
                wanted = sum(p * q if sign else abs(p) * abs(q) for p, q in terms)
                assert holds(product[i, j], wanted)
