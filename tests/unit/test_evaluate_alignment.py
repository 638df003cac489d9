"""Named dimensions, and arithmetic that is exact where it can be."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from judging import arrays, case_of, expression, scope_of, value

from kernelcontracts.evaluate import arithmetic
from kernelcontracts.evaluate.expressions import evaluate
from kernelcontracts.evaluate.field import Field, Logical, merged, spread
from kernelcontracts.lang.values import Choice
from kernelcontracts.numerics.interval import Interval, exact


def softmax_scope(rows=((0.0, 1.0, 2.0), (5.0, 4.0, 3.0))):
    return scope_of(case_of("softmax", arrays(rows, "f32")), "C-PRC-02")


def matmul_scope(a, b, **claims):
    return scope_of(case_of("matmul", arrays(a, "f32"), arrays(b, "f32")), "C-PRC-01", claims)


def test_a_row_maximum_meets_its_rows_by_name():
    depth = value("max(X, over = N) - X", softmax_scope())
    assert depth.dims == ("L.0", "N")
    assert depth.value.lo.tolist() == [[2, 1, 0], [0, 1, 2]]


def test_names_are_aligned_although_the_sizes_would_broadcast_otherwise():
    # a square: by position the maxima of the columns would be subtracted without a word
    scope = softmax_scope([[1.0, 2.0], [3.0, 10.0]])
    by_row, by_column = value("X - max(X, over = N)", scope), value("X - max(X, over = L)", scope)
    assert by_row.value.lo.tolist() == [[-1, 0], [-7, 0]]
    assert dict(zip(by_column.dims, by_column.value.lo.shape, strict=True)) == {"L.0": 2, "N": 2}
    turned = spread(by_column.value.lo, by_column.dims, ("L.0", "N"))
    assert turned.tolist() == [[-2, -8], [0, 0]]


@given(st.permutations(["a", "b", "c"]), st.integers(0, 3))
@settings(deadline=None, max_examples=30)
def test_lining_up_never_moves_a_value_to_another_place(order, kept):
    sizes = {"a": 2, "b": 3, "c": 4}
    dims = tuple(order[:kept])
    array = np.arange(int(np.prod([sizes[d] for d in dims], initial=1))).reshape([sizes[d] for d in dims])
    onto = merged(dims, ("a", "b", "c"))
    wide = np.broadcast_to(spread(array, dims, onto), [sizes[d] for d in onto])
    for place in np.ndindex(*wide.shape):
        named = dict(zip(onto, place, strict=True))
        assert wide[place] == array[tuple(named[d] for d in dims)]


def test_scalars_stay_exact_rationals():
    scope = softmax_scope()
    assert value("1 / 3 + 1 / 6", scope) == Fraction(1, 2)
    assert value("(1 / 3)^-2", scope) == 9
    assert value("u(f32) * 2^24", scope) == 1
    assert value("0.1 + 0.2 == 0.3", scope) is True
    assert value("N * (1 / 3)", scope) == 1


def test_a_third_is_enclosed_when_it_meets_an_array():
    third = value("X / 3", softmax_scope([[1.0, 3.0]]))
    assert third.value.lo[0, 0] < third.value.hi[0, 0]
    assert Fraction(third.value.lo[0, 0]) < Fraction(1, 3) < Fraction(third.value.hi[0, 0])
    assert third.value.lo[0, 1] == third.value.hi[0, 1] == 1


@given(st.lists(st.tuples(st.integers(-50, 50), st.integers(1, 30)), min_size=2, max_size=4), st.sampled_from("+-*/"))
@settings(deadline=None, max_examples=60)
def test_interval_arithmetic_encloses_what_rationals_give(pairs, op):
    values = [Fraction(n, d) for n, d in pairs]
    fields = [arithmetic.field_of(v) for v in values]
    if op == "/" and 0 in values[1:]:
        return
    true, enclosed = values[0], fields[0]
    for v, f in zip(values[1:], fields[1:], strict=True):
        true, enclosed = arithmetic.binary(op, true, v), arithmetic.binary(op, enclosed, f)
    assert isinstance(true, Fraction)
    assert Fraction(float(enclosed.value.lo)) <= true <= Fraction(float(enclosed.value.hi))


def test_a_set_of_two_numbers_is_no_range():
    scope = matmul_scope(np.ones((2, 3)), np.ones((3, 2)))
    assert value("K in {2, 4}", scope) is False
    assert value("K in {2, 3}", scope) is True
    assert value("K in 2 .. 4", scope) is True
    assert value("K in 4 .. 9", scope) is False


def test_membership_of_a_tensor_is_told_element_by_element():
    truth = value("X in {0, 2}", softmax_scope([[0.0, 1.0, 2.0]]))
    assert isinstance(truth, Logical)
    assert truth.must.tolist() == truth.may.tolist() == [[True, False, True]]


def test_a_claimed_accumulator_can_be_compared_with_a_format():
    scope = matmul_scope(np.ones((2, 3)), np.ones((3, 2)), accumulator="tf32")
    assert value("claim.accumulator == tf32", scope) is True
    assert value("claim.accumulator == f32", scope) is False
    assert value("claim.accumulator in {f64, f32}", scope) is False
    assert value("claim.operand_rounding == as_given", scope) is True
    assert value("u(claim.accumulator)", scope) == Fraction(1, 2**11)
    assert evaluate(expression("to(tf32)"), scope) == Choice("to", ("tf32",))


@pytest.mark.parametrize("op", ["<", "<=", ">", ">=", "=="])
def test_a_nan_of_the_candidate_compares_as_false_for_certain(op):
    scope = softmax_scope([[np.nan, 1.0]])
    truth = value(f"X {op} 1", scope)
    assert not truth.must[0, 0]
    assert not truth.may[0, 0]
    assert truth.must[0, 1] == truth.may[0, 1]
    assert value("X != 1", scope).must[0, 0]


@pytest.mark.parametrize(
    ("op", "must", "may"),
    [("<", 0, 1), ("<=", 0, 1), (">", 0, 1), (">=", 0, 1), ("==", 0, 1), ("!=", 0, 1)],
)
def test_nobody_knows_where_enclosures_overlap(op, must, may):
    wide = Field((), Interval(np.asarray(0.0), np.asarray(2.0)))
    truth = arithmetic.compare(op, wide, Field((), exact(1.0)))
    assert (bool(truth.must), bool(truth.may)) == (bool(must), bool(may))


@pytest.mark.parametrize(("op", "holds"), [("<", True), ("<=", True), (">", False), (">=", False), ("==", False)])
def test_enclosures_that_lie_apart_are_decided(op, holds):
    left = Field((), Interval(np.asarray(0.0), np.asarray(0.5)))
    truth = arithmetic.compare(op, left, Field((), exact(1.0)))
    assert (bool(truth.must), bool(truth.may)) == (holds, holds)


def test_a_chain_of_comparisons_is_their_conjunction():
    scope = softmax_scope([[0.0, 1.0, 2.0]])
    assert value("0 < X <= 1", scope).must.tolist() == [[False, True, False]]
    assert value("1 < 2 < 3", scope) is True
    assert value("1 < 3 < 2", scope) is False


def test_the_right_side_of_a_settled_connective_is_not_looked_at():
    scope = softmax_scope()
    # the candidate has no value here: looking would raise
    assert value("1 > 2 and completed", scope) is False
    assert value("1 < 2 or completed", scope) is True
    assert value("1 > 2 implies completed", scope) is True


def test_a_condition_on_a_tensor_picks_element_by_element():
    field = value("if X > 0 then 1 / 2 else X", softmax_scope([[-1.0, 0.0, 4.0]]))
    assert field.value.lo.tolist() == [[-1, 0, 0.5]]
