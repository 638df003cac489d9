"""Variations of the inputs, and the way back."""

from __future__ import annotations

import numpy as np
import pytest
from judging import arrays, candidate_of, case_of, plan_of

from kernelcontracts.evaluate import transforms
from kernelcontracts.evaluate.case import NotCompletedError
from kernelcontracts.evaluate.transforms import UNAVAILABLE, Transform, domain, run
from kernelcontracts.kernels.observation import Observation, Outcome

RNG = np.random.default_rng(5)


def ints(*shape):
    """Return small integers: every order of summation gives the same bits."""
    return arrays(RNG.integers(-8, 9, shape), "f32")


CASES = {
    "matmul": ("C-CMP-03", lambda: (ints(5, 7), ints(7, 4)), lambda a, b: a @ b),
    "batched": ("C-CMP-03", lambda: (ints(3, 2, 5, 7), ints(3, 2, 7, 4)), lambda a, b: a @ b),
    "reduce_sum": ("C-CMP-03", lambda: (ints(6, 9),), lambda x: x.sum(axis=-1)),
    "vector": ("C-CMP-03", lambda: (ints(9),), lambda x: np.asarray(x.sum(axis=-1))),
}
TRANSFORMS = [
    *(Transform("embedding", pad) for pad in (1, 31)),
    *(Transform("row_split", i) for i in range(3)),
    *(Transform("reordering", i) for i in range(3)),
    *(Transform("layout", i) for i in range(2)),
    Transform("rerun", 0),
]


def subject(name):
    contract, draw, function = CASES[name]
    operator = {"batched": "matmul", "vector": "reduce_sum"}.get(name, name)
    case = case_of(operator, *draw())
    candidate = candidate_of(plan_of(contract, operator, most=1), function)
    return case, candidate, candidate.observe(case)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("transform", TRANSFORMS, ids=str)
def test_the_answer_is_mapped_back_exactly(name, transform):
    case, _, observed = subject(name)
    if transform.kind == "row_split" and not domain("row_splits", [3], case):
        assert name == "vector"
        return
    found = run(transform, case, observed)
    base = observed.array(case.output.name)
    assert found.shape == base.shape
    assert found.tobytes() == base.tobytes()


@pytest.mark.parametrize("transform", TRANSFORMS, ids=str)
def test_a_variation_is_asked_for_once_and_differs_from_the_case(transform):
    case, candidate, observed = subject("matmul")
    run(transform, case, observed)
    asked = len(candidate.caller.calls)
    run(transform, case, observed)
    assert len(candidate.caller.calls) == asked
    inputs, layouts = candidate.caller.calls[-1]
    same = all(np.array_equal(inputs[name], case.inputs[name]) for name in inputs) and not layouts
    assert same == (transform.kind == "rerun")


def test_an_embedding_is_larger_by_the_padding_and_zero_there():
    case, candidate, observed = subject("batched")
    run(Transform("embedding", 31), case, observed)
    a = candidate.caller.calls[-1][0]["A"]
    assert a.shape == (3, 2, 36, 38)
    assert np.array_equal(a[..., :5, :7], case.inputs["A"])
    assert not a[..., 5:, :].any()
    assert not a[..., :, 7:].any()


@pytest.mark.parametrize("rows", [2, 3, 4, 9])
def test_a_row_split_is_two_calls_that_share_the_rows(rows):
    case = case_of("matmul", ints(rows, 3), ints(3, 2))
    candidate = candidate_of(plan_of("C-CMP-03", "matmul", most=1), lambda a, b: a @ b)
    observed = candidate.observe(case)
    cuts = set()
    for transform in domain("row_splits", [3], case):
        before = len(candidate.caller.calls)
        run(transform, case, observed)
        parts = [inputs["A"].shape[0] for inputs, _ in candidate.caller.calls[before:]]
        assert len(parts) == 2
        assert sum(parts) == rows
        assert min(parts) > 0
        cuts.add(parts[0])
    assert len(cuts) == min(rows - 1, 3)


def test_a_reordering_permutes_every_input_alike_and_moves_something():
    case, candidate, observed = subject("matmul")
    seen = set()
    for transform in domain("reorderings", [3], case):
        run(transform, case, observed)
        inputs, _ = candidate.caller.calls[-1]
        order = [case.inputs["B"].tolist().index(row) for row in inputs["B"].tolist()]
        assert np.array_equal(inputs["A"], case.inputs["A"][:, order])
        seen.add(tuple(order))
    assert len(seen) == 3
    assert tuple(range(7)) not in seen


def test_permutations_are_fixed_for_all_time():
    # witnesses are replayed by number: another shuffle under the same number would be another input
    assert transforms._permutation(7, 0).tolist() == [5, 6, 1, 0, 3, 4, 2]
    for n in (1, 2, 64, 333):
        assert sorted(transforms._permutation(n, 2).tolist()) == list(range(n))


def test_layouts_change_how_matrices_lie_and_nothing_else():
    case, candidate, observed = subject("matmul")
    run(Transform("layout", 0), case, observed)
    inputs, layouts = candidate.caller.calls[-1]
    assert layouts == {"A": "fortran", "B": "fortran"}
    assert all(np.array_equal(inputs[name], case.inputs[name]) for name in inputs)


def test_one_machine_is_not_two_devices():
    case, _, _ = subject("matmul")
    assert domain("devices", [2], case) is UNAVAILABLE


def test_a_call_that_does_not_complete_under_a_variation_is_told_every_time():
    case = case_of("reduce_sum", ints(4, 5))
    raised = Observation(Outcome.RAISED, kind="ValueError", message="raised ValueError: odd")
    candidate = candidate_of(
        plan_of("C-CMP-03", "reduce_sum", most=1), lambda x: x.sum(axis=-1) if x.shape[-1] == 5 else raised
    )
    observed = candidate.observe(case)
    for _ in range(2):
        with pytest.raises(NotCompletedError, match="odd"):
            run(Transform("embedding", 1), case, observed)
