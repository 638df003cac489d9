"""Features of failed cases: sizes, places, leftovers and rows out of bounds."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from kernelcontracts.diagnose.failure import Failure
from kernelcontracts.diagnose.features import Features
from kernelcontracts.diagnose.tails import in_tail
from kernelcontracts.kernels.observation import Observation, Outcome
from kernelcontracts.lang.values import Choice
from kernelcontracts.operators.emulate import OUTPUTS, emulate
from kernelcontracts.operators.faults import inject

TYPES = {"A": "f32", "B": "f32", "C": "f32"}
COMPLETED = Observation(Outcome.COMPLETED)


def failure(got, ref, *, tol=None, inputs=None, observation=COMPLETED, shape=None):
    got, ref = np.asarray(got, np.float64), np.asarray(ref, np.float64)
    room = None if tol is None else np.full_like(ref, tol)
    inputs = {"A": np.ones((2, 2), np.float32)} if inputs is None else inputs
    size = {"L": (), "M": 4, "N": 5, "K": 6} if shape is None else shape
    return Failure("close", "gauss", size, inputs, got, ref, ref, room, observation)


def features(kernel=None, operator="matmul", types=TYPES, **more):
    def call(inputs):
        if kernel is None:
            return Observation(Outcome.DIED)
        return Observation(Outcome.COMPLETED, outputs=kernel(inputs))

    entry = SimpleNamespace(name=operator, outputs=(SimpleNamespace(name=OUTPUTS[operator]),))
    return Features(entry, types, call, **more)


def honest(inputs):
    return emulate("matmul", inputs, TYPES, {})


def faulty(name, *args):
    return inject(Choice(name, args), honest, operator="matmul")


def test_sizes_of_errors_are_those_of_the_finite_elements():
    found = features(failures=[failure([1.0, 5.0, np.nan], [1.0, 2.0, 3.0])])
    assert found.value("max_abs") == 3.0
    assert found.value("bias") == 1.5
    assert found.value("rms") == pytest.approx(np.sqrt(4.5))


@pytest.mark.parametrize("name", ["max_abs", "bias", "rms", "sign_of_bias", "run_spread"])
def test_sizes_are_unknown_without_failures(name):
    assert features(honest).value(name) is None


@pytest.mark.parametrize(("step", "sign"), [(1.0, 1.0), (-1.0, -1.0)])
def test_errors_of_one_sign_are_a_bias(step, sign):
    ref = np.arange(40.0)
    assert features(failures=[failure(ref + step, ref)]).value("sign_of_bias") == sign


def test_errors_of_both_signs_are_none_and_few_errors_say_nothing():
    ref = np.arange(40.0)
    both = ref + np.where(np.arange(40) % 2, 1.0, -1.0)
    assert features(failures=[failure(both, ref)]).value("sign_of_bias") == 0.0
    assert features(failures=[failure([2.0], [1.0])]).value("sign_of_bias") is None


def test_infinite_references_and_results_do_not_break_sizes():
    found = features(failures=[failure([np.inf, 2.0], [np.inf, 1.0])])
    assert found.value("max_abs") == 1.0


@pytest.mark.parametrize("tile", [16, 32, 64, 128])
def test_a_dropped_tail_is_found_by_asking_at_an_uneven_size(tile):
    assert features(faulty("drop_tail", tile)).value("tail_fraction") == 1.0


@pytest.mark.parametrize("fault", ["zeros", "mean", "permute_rows", "skip_last"])
def test_errors_everywhere_are_no_tail(fault):
    assert features(faulty(fault)).value("tail_fraction") < 0.9


def test_a_right_kernel_has_no_tail():
    assert features(honest).value("tail_fraction") == 0.0


def test_a_tail_that_shows_only_in_the_failed_cases_is_found_there():
    ref = np.zeros((3, 40))
    got = ref.copy()
    got[:, 32:] = 7.0
    assert features(honest, failures=[failure(got, ref, tol=1.0)]).value("tail_fraction") == 1.0
    got[:, 0] = 7.0
    assert features(honest, failures=[failure(got, ref, tol=1.0)]).value("tail_fraction") < 0.9


def test_one_wrong_element_in_a_tail_is_not_a_dropped_tail():
    wrong = np.zeros((33, 40), bool)
    wrong[3, 39] = True
    assert in_tail(wrong) == 0.0
    assert in_tail(np.ones((4, 5), bool)) == 0.0


def test_tails_of_sums_of_rows_are_found():
    types = {"X": "f32", "S": "f32"}
    kernel = inject(
        Choice("drop_tail", (32,)),
        lambda inputs: emulate("reduce_sum", inputs, types, {}),
        operator="reduce_sum",
    )
    assert features(kernel, "reduce_sum", types).value("tail_fraction") == 1.0


def test_results_of_an_earlier_call_are_found_by_calling_again():
    assert features(faulty("return_previous")).value("stale_rate") == 1.0


@pytest.mark.parametrize("fault", [None, "zeros", "uniform_rows", "mean", "skip_last"])
def test_wrong_is_not_stale(fault):
    kernel = honest if fault is None else faulty(fault)
    assert not features(kernel).value("stale_rate")


def test_stale_observations_count():
    stale = Observation(Outcome.COMPLETED, stale={"C": True})
    fresh = Observation(Outcome.COMPLETED, stale={"C": False})
    failures = [
        failure([1.0, 2.0], [0.0, 0.0], observation=stale),
        failure([1.0, 3.0], [0.0, 0.0], observation=fresh),
    ]
    assert features(failures=failures).value("stale_rate") == 0.5


def test_a_failed_output_that_repeats_an_earlier_one_on_other_inputs_is_stale():
    one, two = ({"A": np.full((2, 2), v, np.float32)} for v in (1, 2))
    repeated = [failure([1.0, 2.0], [0.0, 0.0], inputs=i) for i in (one, two)]
    assert features(failures=repeated).value("stale_rate") == 0.5
    same_inputs = [failure([1.0, 2.0], [0.0, 0.0], inputs=one) for _ in range(2)]
    assert features(failures=same_inputs).value("stale_rate") == 0.0
    constants = [failure([0.0, 0.0], [1.0, 2.0], inputs=i) for i in (one, two)]
    assert features(failures=constants).value("stale_rate") == 0.0


def test_rates_of_nan_are_those_counted():
    found = features(nan_counts={"hot": (3, 4), "small": (0, 9), "none": (0, 0)})
    assert found.value("nan_rate", ("hot",)) == 0.75
    assert found.value("nan_rate", ("small",)) == 0.0
    assert found.value("nan_rate", ("none",)) is None
    assert found.value("nan_rate", ("unheard",)) is None


def test_violated_clauses_are_those_named():
    found = features(violated=frozenset({"batch"}))
    assert found.value("violates", (SimpleNamespace(id="batch"),)) is True
    assert found.value("violates", ("close",)) is False


def gathered(rows, index, **more):
    table = np.array([[1.0, 2.0], [3.0, 4.0]], np.float32)
    inputs = {"table": table, "idx": np.array(index, np.int64)}
    one = failure(rows, np.zeros_like(rows), inputs=inputs)
    types = {"table": "f32", "idx": "i64", "out": "f32"}
    return features(None, "gather_rows", types, failures=[one], **more)


def test_rows_out_of_bounds_are_counted_as_zero_table_or_other():
    found = gathered([[1.0, 2.0], [0.0, 0.0], [3.0, 4.0], [9.0, np.nan]], [0, 2, 5, -1])
    assert found.value("zero_rows", ("oob",)) == pytest.approx(1 / 3)
    assert found.value("canary_rows", ("oob",)) == pytest.approx(1 / 3)


def test_wrapping_is_taken_from_the_claims():
    wraps = {"negative_index": Choice("wrap")}
    found = gathered([[3.0, 4.0]], [-1], claims=wraps)
    assert found.value("zero_rows", ("oob",)) is None
    assert gathered([[0.0, 0.0]], [-1]).value("zero_rows", ("oob",)) == 1.0


def test_reruns_that_agree_have_no_spread_and_others_have_one():
    inputs = {
        "A": np.random.default_rng(0).standard_normal((4, 200)).astype(np.float32),
        "B": np.random.default_rng(1).standard_normal((200, 3)).astype(np.float32),
    }
    shape = {"L": (), "M": 4, "N": 3, "K": 200}
    one = failure(np.zeros((4, 3)), np.ones((4, 3)), inputs=inputs, shape=shape)
    assert features(honest, failures=[one]).value("run_spread") == 0.0
    calls = iter(range(9))

    def restless(given):
        return emulate("matmul", given, TYPES, {"determinism": Choice("none")}, call=next(calls))

    assert 0 < features(restless, failures=[one]).value("run_spread") < 1e-3


@pytest.mark.parametrize("name", ["melody", "best_fit", "tail_fraction"])
def test_what_cannot_be_known_is_unknown(name):
    assert features(None).value(name, ("melody",)) is None


def test_the_largest_failed_case_gives_the_shape_to_ask_at():
    seen = []

    def kernel(inputs):
        seen.append(inputs["A"].shape[-1])
        return honest(inputs)

    cases = [
        failure(
            np.zeros((4, 5)),
            np.ones((4, 5)),
            inputs={"A": np.ones((4, k), np.float32), "B": np.ones((k, 5), np.float32)},
            shape={"L": (), "M": 4, "N": 5, "K": k},
        )
        for k in (3, 50, 7)
    ]
    features(kernel, failures=cases).value("best_fit", ("accumulator",))
    assert set(seen) == {50}
