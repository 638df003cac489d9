"""Making a failing input small, and the evidence it becomes."""

from __future__ import annotations

from dataclasses import replace

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from judging import candidate_of, claims_of, emulated, plan_of

from kernelcontracts.engine import minimise as room
from kernelcontracts.engine.contract import check_contract
from kernelcontracts.engine.minimise import cut, minimise
from kernelcontracts.engine.result import Status
from kernelcontracts.engine.witness import array_of, shape_of, tensor_of, witness_of
from kernelcontracts.formats.arrays import dtype_of, same_bits


def failing(contract, operator, function, *, strata, claims=None, **options):
    plan = plan_of(contract, operator, strata=strata, **options)
    candidate = candidate_of(plan, function)
    found = check_contract(plan, candidate, claims or claims_of(operator))
    assert found.conclusion.verdict is Status.VIOLATE
    return found.run.judge, candidate, found.run.failures[0]


def skips_the_third_column(a, b):
    out = a @ b
    out[..., 2:3] = 0
    return out


def test_a_witness_is_smaller_and_fails_in_the_same_way():
    judge, candidate, failure = failing("C-PRC-01", "matmul", skips_the_third_column, strata=("gauss",), every=7)
    smaller, changed = minimise(judge, candidate, failure)
    assert changed
    assert smaller.finding.clause == failure.finding.clause
    again = judge.finding(clause_of(judge, smaller), judge.scopes(smaller.case), candidate.observe(smaller.case))
    assert again.status is Status.VIOLATE
    assert smaller.case.shape["N"] == 3  # the third column is needed, no more
    assert smaller.case.shape["M"] == smaller.case.shape["K"] == 1
    assert np.count_nonzero(smaller.case.inputs["B"]) == 1


def clause_of(judge, failure):
    return next(c for c in judge.instance.contract.post if c.label == failure.finding.clause)


def test_numbers_become_simple_where_they_can():
    judge, candidate, failure = failing("C-PRC-01", "reduce_sum", lambda x: 2 * x.sum(-1), strata=("gauss",), every=3)
    smaller, _ = minimise(judge, candidate, failure)
    x = smaller.case.inputs["X"]
    assert x.size == 1
    assert np.frexp(x.astype(np.float64))[0].item() in (0.5, -0.5)


def test_the_precondition_holds_on_the_way():
    judge, candidate, failure = failing(
        "C-PRC-01", "matmul", emulated("matmul", accumulator="f16"), strata=("gauss",), every=11
    )
    smaller, _ = minimise(judge, candidate, failure)
    assert judge.rejected(smaller.case, judge.scopes(smaller.case)) == ""


def test_a_failure_that_does_not_repeat_is_left_as_it_is():
    state = {"calls": 0}

    def once(x):
        state["calls"] += 1
        return x.sum(-1) * (100 if state["calls"] == 1 else 1)

    judge, candidate, failure = failing("C-PRC-01", "reduce_sum", once, strata=("ints8",))
    same, changed = minimise(judge, candidate, failure)
    assert same is failure
    assert not changed


def test_minimising_has_a_budget_of_calls_and_of_time(monkeypatch):
    judge, candidate, failure = failing("C-PRC-01", "matmul", skips_the_third_column, strata=("gauss",), every=7)
    monkeypatch.setattr(room, "MOST_CALLS", 5)
    before = len(candidate.caller.calls)
    minimise(judge, candidate, failure)
    assert len(candidate.caller.calls) - before == 5
    monkeypatch.setattr(room, "MOST_CALLS", 250)
    monkeypatch.setattr(room, "MOST_SECONDS", -1.0)
    same, changed = minimise(judge, candidate, failure)
    assert (same, changed) == (failure, False)


def test_a_dimension_is_cut_in_every_tensor_that_has_it():
    judge, _, failure = failing("C-PRC-01", "matmul", skips_the_third_column, strata=("gauss",), every=7)
    case = failure.case
    shorter = cut(case, "K", slice(0, 1))
    assert shorter.shape["K"] == 1
    assert np.array_equal(shorter.inputs["A"], case.inputs["A"][..., :1])
    assert np.array_equal(shorter.inputs["B"], case.inputs["B"][..., :1, :])
    del judge


FORMATS = {"f64": "<u8", "f32": "<u4", "f16": "<u2", "bf16": "<u2", "f8e4m3": "<u1", "f8e5m2": "<u1"}


@given(st.sampled_from(sorted(FORMATS)), array_shapes(min_dims=0, max_dims=3, max_side=4), st.data())
@settings(deadline=None, max_examples=40)
def test_bits_of_evidence_come_back(fmt, shape, data):
    words = data.draw(arrays(np.dtype(FORMATS[fmt]), shape))
    array = words.view(dtype_of(fmt))
    back = array_of(tensor_of(array, fmt), dtype_of(fmt))
    assert back.dtype == array.dtype
    assert back.shape == array.shape
    assert back.tobytes() == array.tobytes()


def test_indices_of_evidence_come_back_with_their_signs():
    array = np.array([[-5, 0], [2**40, 7]])
    back = array_of(tensor_of(array, "i64"), np.dtype(np.int64))
    assert np.array_equal(back, array)
    assert tensor_of(array, "i64").shown == ("-5", "0", str(2**40), "7")


def test_evidence_is_little_endian_and_spelled_out_when_it_is_small():
    tensor = tensor_of(np.array([1.0, -0.0], np.float32), "f32")
    assert tensor.bits == "0000803f00000080"
    assert tensor.shown == ("1.0", "-0.0")
    assert tensor_of(np.ones(17, ml_dtypes.bfloat16), "bf16").shown == ()


def test_a_witness_holds_the_numbers_of_the_worst_element():
    judge, candidate, failure = failing("C-PRC-01", "reduce_sum", lambda x: x.sum(-1) + 1, strata=("ints8",))
    witness = witness_of(judge, failure, minimised=False)
    assert witness.got.value - witness.expected.value == pytest.approx(1)
    assert witness.got.value == float(failure.observed.array("S")[witness.index])
    assert witness.tolerance.value == 0
    assert shape_of(witness) == failure.case.shape
    x = array_of(witness.inputs["X"], dtype_of("f32"))
    assert bool(np.all(same_bits(x, failure.case.inputs["X"])))
    assert (witness.stratum, witness.seed) == ("ints8", failure.planned.seed)
    del candidate


def test_a_witness_of_picked_rows_names_no_place():
    # the second clause of the gather contract looks at the valid rows alone: their places are not the output's
    plan = plan_of("C-EXC-02", "gather_rows", strata=("far",))
    claims = claims_of("gather_rows", oob_policy="CLAMP")

    def wrong_everywhere(table, idx):
        return np.clip(idx, 0, len(table) - 1)[:, None] * 0 + table[:1] - 1

    found = check_contract(replace(plan, cases=plan.cases), candidate_of(plan, wrong_everywhere), claims)
    failure = found.run.failures[0]
    if failure.finding.clause == "in_range":
        shape = failure.observed.array("out").shape
        assert failure.finding.index is None or len(failure.finding.index) == len(shape)
    assert found.conclusion.verdict is Status.VIOLATE
