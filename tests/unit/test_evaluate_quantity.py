"""Errors with a unit, and questions about number formats."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from judging import arrays, case_of, observed_as, scope_of, value

from kernelcontracts.evaluate.field import Tensor


@pytest.fixture
def scope():
    """One row that sums to 3 exactly; the output is bf16, with a spacing of 2^-6 there."""
    return scope_of(case_of("reduce_sum", arrays([[1.0, 2.0]], "f32"), output="bf16"), "C-PRC-01")


def number(found):
    return float(found.value.lo.reshape(-1)[0])


def test_an_ulp_is_the_outputs_spacing_at_the_reference(scope):
    assert number(value("1 ulp", scope)) == 2.0**-6
    assert number(value("3 ulp", scope)) == 3 * 2.0**-6


def test_format_and_anchor_of_an_ulp_can_be_given(scope):
    assert number(value("1 ulp[f16] at (8 * X)", scope)) == 2.0**-7 * 0.5  # spacing below a power of two is the smaller
    assert number(value("1 ulp[f32] at 3", scope)) == 2.0**-22


def test_within_anchors_its_tolerance_at_its_own_reference(scope):
    seen = scope.observing(observed_as(scope.case, arrays([100.0], "bf16")))
    # the spacing of bf16 at 96 is 2^-1, at the contract's reference 3 it is 2^-6
    assert value("output within 8 ulp of 96", seen).worst() == (1, 1)


def test_a_relative_error_is_a_share_of_the_magnitude(scope):
    assert number(value("0.5 rel", scope)) == 1.5
    assert number(value("0.25 rel at (-X)", scope)) == 0.25


def test_an_absolute_error_is_itself(scope):
    assert value("1 / 8 abs", scope) == Fraction(1, 8)


def test_an_ulp_in_an_operators_entry_is_measured_at_the_meaning(scope):
    op = scope.within_operator()
    assert number(value("1 ulp", op)) == 2.0**-6


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("u(f32)", Fraction(1, 2**24)),
        ("u(f32, rz)", Fraction(1, 2**23)),
        ("u(output)", Fraction(1, 2**8)),
        ("u(X)", Fraction(1, 2**24)),
        ("precision(f16)", 11),
        ("maxfinite(f8e4m3)", 448),
        ("minnormal(f16)", Fraction(1, 2**14)),
        ("minsub(f16)", Fraction(1, 2**24)),
        ("maxfinite(output)", (2 - Fraction(1, 2**7)) * 2**127),
    ],
)
def test_facts_of_formats_are_exact(scope, text, expected):
    assert value(text, scope) == expected


def test_a_format_argument_reads_the_signature_and_never_the_buffer(scope):
    seen = scope.observing(observed_as(scope.case, np.array([1.0], np.float64)))
    assert value("u(output)", seen) == Fraction(1, 2**8)


def test_rounding_is_correct_where_the_exact_value_can_be_asked():
    # the sum lies just above a tie of f16 by less than float64 can hold beside it
    x = np.array([[1.0, 2.0**-11, 2.0**-60]])
    scope = scope_of(case_of("reduce_sum", arrays(x, "f64"), output="f16"), "C-PRC-01")
    assert number(value("round(ref, f16)", scope)) == 1 + 2.0**-10
    assert number(value("round(ref, f16, rz)", scope)) == 1


def test_representable_is_told_for_a_given_format_or_that_of_the_first_input():
    scope = scope_of(case_of("softmax", arrays([[1.0, 2048.5]], "f32")), "C-PRC-02")
    assert value("representable(X, f16)", scope).must.tolist() == [[True, False]]
    assert value("representable(X + 1024)", scope).must.tolist() == [[True, True]]
    assert value("representable(X + 2^30)", scope).must.tolist() == [[False, False]]


def test_numbers_are_subnormal_normal_or_neither():
    x = np.array([[0.0, 1e-40, 2.0**-126, -1.0, np.inf, np.nan]], np.float32)
    scope = scope_of(case_of("reduce_sum", x), "C-PRC-01")
    assert value("subnormal(X)", scope).must.tolist() == [[False, True, False, False, False, False]]
    assert value("normal(X)", scope).must.tolist() == [[False, False, True, True, False, False]]


def test_a_picked_tensor_keeps_its_bits():
    scope = scope_of(case_of("reduce_sum", np.array([[-0.0, 1e-40]], np.float32)), "C-PRC-01")
    kept = value("where(subnormal(X), X, 0)", scope)
    assert isinstance(kept, Tensor)
    assert kept.array.tolist() == [[0.0, float(np.float32(1e-40))]]
