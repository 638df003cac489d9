"""Where a premise holds, every order of summation in the format is exact, whatever the rounding."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from kernelcontracts.formats.facts import BF16, F16, F32, TF32, accumulator_format
from kernelcontracts.numerics.lattice import exact_dot_premise, exact_sum_premise, inexact_products
from kernelcontracts.numerics.rounding import round_to

FORMATS = [F32, TF32, F16, BF16, accumulator_format("f32", 13)]


def sum_in_some_order(terms, fmt, mode, rng):
    """Add two random partial sums at a time, rounding each: any tree may arise, and flush subnormals."""
    heap = [np.float64(t) for t in terms]
    while len(heap) > 1:
        a = heap.pop(rng.integers(len(heap)))
        b = heap.pop(rng.integers(len(heap)))
        total = round_to(np.array(a + b), fmt, mode)
        heap.append(np.where(np.abs(total) < float(fmt.minnormal), 0.0, total))
    return float(heap[0])


@settings(deadline=None, max_examples=150)
@given(
    fmt=st.sampled_from(FORMATS),
    mode=st.sampled_from(["rne", "rz", "ru", "rd"]),
    bits=st.integers(1, 7),
    terms=st.integers(1, 12),
    spread=st.integers(0, 4),
    exponent=st.integers(-24, 12),
    seed=st.integers(0, 2**32 - 1),
)
def test_a_dot_product_that_meets_the_premise_is_exact_in_every_order(fmt, mode, bits, terms, spread, exponent, seed):
    rng = np.random.default_rng(seed)
    top = 2**bits
    a = np.ldexp(rng.integers(-top, top + 1, terms).astype(float), rng.integers(0, spread + 1, terms).astype(np.int32))
    b = np.ldexp(rng.integers(-top, top + 1, terms).astype(float), exponent)
    assume(exact_dot_premise(a[None], b[:, None], fmt).item())
    products = round_to(a * b, fmt, mode)
    assert np.array_equal(products, a * b)
    exactly = sum(Fraction(x) * Fraction(y) for x, y in zip(a.tolist(), b.tolist(), strict=True))
    for _ in range(3):
        assert Fraction(sum_in_some_order(products, fmt, mode, rng)) == exactly


@settings(deadline=None, max_examples=150)
@given(
    fmt=st.sampled_from(FORMATS),
    mode=st.sampled_from(["rne", "rz"]),
    values=st.lists(st.integers(-300, 300), min_size=1, max_size=12),
    exponent=st.integers(-30, 14),
    seed=st.integers(0, 2**32 - 1),
)
def test_a_sum_that_meets_the_premise_is_exact_in_every_order(fmt, mode, values, exponent, seed):
    x = np.ldexp(np.array(values, dtype=float), exponent)
    assume(exact_sum_premise(x, fmt).item())
    rng = np.random.default_rng(seed)
    for _ in range(3):
        assert Fraction(sum_in_some_order(x, fmt, mode, rng)) == sum(map(Fraction, x.tolist()))


@settings(deadline=None, max_examples=100)
@given(
    fmt=st.sampled_from(FORMATS),
    a=st.lists(st.integers(-(2**13), 2**13), min_size=4, max_size=4),
    b=st.lists(st.integers(-(2**13), 2**13), min_size=4, max_size=4),
)
def test_products_said_to_be_exact_are(fmt, a, b):
    left, right = np.array([a], dtype=float), np.array([b], dtype=float).T
    if inexact_products(left, right, fmt).item() == 0:
        products = left[0] * right[:, 0]
        fits = np.abs(products) <= float(fmt.maxfinite)
        assert np.array_equal(round_to(products, fmt)[fits], products[fits])
