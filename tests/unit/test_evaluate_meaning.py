"""Meanings against rational arithmetic, element by element."""

from __future__ import annotations

from fractions import Fraction
from math import ceil, floor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from judging import arrays, case_of, scope_of, value

from kernelcontracts.evaluate.expressions import reference
from kernelcontracts.evaluate.field import Field, Tensor
from kernelcontracts.evaluate.meaning import NARROW, meaning_of, sharpen, tightened
from kernelcontracts.formats.arrays import to_f64
from kernelcontracts.formats.facts import FORMATS
from kernelcontracts.numerics.rounding import round_fraction


def random(shape, fmt, seed, spread=3):
    """Return numbers of a format over several binades, some of them zero."""
    rng = np.random.default_rng(seed)
    values = rng.standard_normal(shape) * 2.0 ** rng.integers(-spread, spread, shape)
    return arrays(np.where(rng.random(shape) < 0.1, 0.0, values), fmt)


def fractions(array):
    return np.vectorize(Fraction, otypes=[object])(to_f64(array))


def encloses(field, exact):
    assert field.value.lo.shape == exact.shape
    for lo, hi, q in zip(field.value.lo.flat, field.value.hi.flat, exact.flat, strict=True):
        assert Fraction(float(lo)) <= q <= Fraction(float(hi))


def rounds(field, exact, fmt):
    found = field.real.rounded(FORMATS[fmt])
    for got, q in zip(found.flat, exact.flat, strict=True):
        assert got == round_fraction(q, FORMATS[fmt], "rne")


@pytest.mark.parametrize("lead", [(), (2,), (2, 3)])
@pytest.mark.parametrize("fmt", ["f32", "bf16", "f8e4m3"])
def test_a_batched_product_is_the_sum_of_products(lead, fmt):
    a, b = random((*lead, 3, 5), fmt, 1), random((*lead, 5, 2), fmt, 2)
    case = case_of("matmul", a, b, output="f32")
    field = meaning_of(case)
    assert field.dims == (*(f"L.{i}" for i in range(len(lead))), "M", "N")
    x, y = fractions(a), fractions(b)
    exact = np.empty((*lead, 3, 2), object)
    for place in np.ndindex(*exact.shape):
        *batch, m, n = place
        exact[place] = sum((x[(*batch, m, k)] * y[(*batch, k, n)] for k in range(5)), Fraction(0))
    encloses(field, exact)
    rounds(field, exact, "f32")


@given(st.integers(0, 2**32 - 1), st.integers(1, 12), st.sampled_from(["f32", "f16", "f64"]))
@settings(deadline=None, max_examples=25)
def test_a_sum_is_exact_whatever_cancels(seed, n, fmt):
    x = random((2, n), fmt, seed, spread=30 if fmt != "f16" else 6)
    x = np.concatenate([x, -x[:, ::-1], random((2, 1), fmt, seed + 1)], axis=1)
    field = meaning_of(case_of("reduce_sum", x))
    exact = fractions(x).sum(axis=1)
    encloses(field, exact)
    rounds(field, exact, fmt)
    sharp = tightened(field.real)
    assert (sharp.hi - sharp.lo <= NARROW * np.abs(sharp.lo)).all()
    encloses(Field(field.dims, sharp), exact)


def test_a_small_element_beside_large_ones_is_known_as_narrowly_when_asked():
    a = arrays([[2.0**60, 1.0, -(2.0**60)]], "f32")
    b = arrays([[1.0], [2.0**-40 / 3], [1.0]], "f32")
    scope = scope_of(case_of("matmul", a, b), "C-PRC-01")
    third = float(np.float32(2.0**-40 / 3))
    wide = reference(scope)
    assert wide.value.lo[0, 0] < third < wide.value.hi[0, 0]
    # the correct rounding never depends on the width
    assert wide.real.rounded(FORMATS["f32"])[0, 0] == third
    assert sharpen(scope.case)
    assert reference(scope).value.lo[0, 0] == reference(scope).value.hi[0, 0] == third
    assert not sharpen(scope.case)


def exp_bounds(q):
    """Enclose exp of a rational within [-60, 60]: Taylor's series of q/256, squared eight times, each time outward."""
    y = q / 2**8
    total = term = Fraction(1)
    for k in range(1, 25):
        term = term * y / k
        total += term
    # |y| < 1/4, so the rest is below the last term taken
    lo, hi = total - abs(term), total + abs(term)
    for _ in range(8):
        lo, hi = Fraction(floor(lo * lo * GRID), GRID), Fraction(ceil(hi * hi * GRID), GRID)
    return lo, hi


GRID = 2**400


def test_softmax_is_enclosed_to_many_more_digits_than_f32_has():
    x = random((2, 5), "f32", 3, spread=2)
    exponentials = [[exp_bounds(q) for q in row] for row in fractions(x)]
    scope = scope_of(case_of("softmax", x), "C-PRC-02")
    for field in (meaning_of(scope.case), reference(scope)):
        for row, found_lo, found_hi in zip(exponentials, field.value.lo, field.value.hi, strict=True):
            below, above = sum(lo for lo, _ in row), sum(hi for _, hi in row)
            for (lo, hi), got_lo, got_hi in zip(row, found_lo, found_hi, strict=True):
                assert Fraction(float(got_lo)) <= hi / below
                assert lo / above <= Fraction(float(got_hi))
                assert got_hi - got_lo <= 2.0**-40 * got_hi


def test_a_gather_picks_rows_bit_for_bit():
    table = np.array([[0.0, 1.5], [-0.0, np.nan], [1e-40, np.inf]], np.float32)
    found = meaning_of(case_of("gather_rows", table, np.array([2, 0, 1, 1])))
    assert isinstance(found, Tensor)
    assert found.dims == ("N", "D")
    assert found.array.tobytes() == table[[2, 0, 1, 1]].tobytes()


def test_the_safe_row_is_the_clamped_and_wrapped_index():
    table = arrays(np.arange(6).reshape(3, 2), "f32")
    case = case_of("gather_rows", table, np.array([-1, 0, 2, 3, 99, -4]))
    clamped = scope_of(case, "C-EXC-02")
    wrapped = scope_of(case, "C-EXC-02", {"negative_index": "wrap"})
    assert value("picked", clamped).array[:, 0].tolist() == [0, 0, 4, 4, 4, 0]
    assert value("picked", wrapped).array[:, 0].tolist() == [4, 0, 4, 4, 4, 0]
    assert value("op.valid", wrapped).must.tolist() == [True, True, True, False, False, False]
    assert bool(value("oob", clamped).must)


def test_reductions_run_over_the_named_dimension_or_over_everything():
    scope = scope_of(case_of("softmax", arrays([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], "f32")), "C-PRC-02")
    assert value("sum(X, over = N)", scope).value.lo.tolist() == [6, 15]
    assert float(value("sum(X)", scope).value.lo) == 21
    assert value("mean(X, over = L)", scope).value.lo.tolist() == [2.5, 3.5, 4.5]
    assert float(value("rms(X - 3.5)", scope).value.lo) == pytest.approx((17.5 / 6) ** 0.5)
    assert value("min(X, over = N)", scope).value.lo.tolist() == [1, 4]
    assert value("max(X, 4)", scope).value.lo.tolist() == [[4, 4, 4], [4, 5, 6]]
    assert value("any(X > 5, over = N)", scope).must.tolist() == [False, True]
    assert value("all(X > 3, over = N)", scope).must.tolist() == [False, True]


def test_products_of_enclosures_are_enclosed():
    a, b = random((2, 4), "f32", 5), random((4, 3), "f32", 6)
    scope = scope_of(case_of("matmul", a, b), "C-PRC-01")
    field = value("(A / 3) @ (B / 7)", scope)
    exact = np.empty((2, 3), object)
    x, y = fractions(a), fractions(b)
    for m, n in np.ndindex(2, 3):
        exact[m, n] = sum(x[m, k] * y[k, n] for k in range(4)) / 21
    encloses(field, exact)
    assert field.real is None


@pytest.mark.parametrize(("claimed", "passes"), [("as_given", 1), ("to(tf32)", 1), ("split(bf16, 3)", 6)])
def test_the_bound_counts_the_roundings_that_can_occur(claimed, passes):
    a = arrays([[1.0, 0.0, 3.0], [0.0, 0.0, 0.0]], "f32")
    b = arrays([[1.0], [5.0], [1.0]], "f32")
    scope = scope_of(case_of("matmul", a, b), "C-PRC-01", {"operand_rounding": claimed})
    assert value("op.terms", scope).value.lo.tolist() == [[2 * passes], [0]]
    assert value("op.longest", scope) == 3 * passes


def test_gamma_is_the_bound_of_the_lemma():
    scope = scope_of(case_of("reduce_sum", arrays([[1.0]], "f32")), "C-PRC-01")
    n, u = 100, Fraction(1, 2**24)
    assert value("gamma(100, u(f32))", scope) == n * u / (1 - n * u)


def test_an_error_bound_is_the_rational_formula():
    a, b = random((3, 7), "f32", 8), random((7, 2), "f32", 9)
    scope = scope_of(case_of("matmul", a, b), "C-PRC-01")
    x, y = fractions(a), fractions(b)
    u, found = Fraction(1, 2**24), value("(1 + 2 * u(C)) * gamma(op.roundings, op.u_acc) * op.mag", scope)
    exact = np.empty((3, 2), object)
    for m, n in np.ndindex(3, 2):
        products = [x[m, k] * y[k, n] for k in range(7)]
        # every product of two f32 numbers may need more bits than f32 has: one rounding, and one per addition
        roundings = sum(p != 0 for p in products)
        exact[m, n] = (1 + 2 * u) * roundings * u / (1 - roundings * u) * sum(abs(p) for p in products)
    encloses(found, exact)
    assert (found.value.hi - found.value.lo <= 2.0**-45 * found.value.hi).all()
