"""Measured decisions: every probe against emulated kernels whose decisions are known."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from kernelcontracts.diagnose.features import Features
from kernelcontracts.kernels.observation import Observation, Outcome
from kernelcontracts.lang.values import Choice
from kernelcontracts.operators.defaults import DEFAULTS
from kernelcontracts.operators.emulate import OUTPUTS, OperatorRaised, emulate

WIDE = {"L": (), "M": 17, "N": 12, "K": 96}
SMALL = {"L": (), "M": 5, "N": 3, "K": 40}
ROWS = {"L": (7,), "N": 120}
LINE = {"L": (), "N": 40}


def features(operator, types, decisions, **more):
    calls = [0]

    def call(inputs):
        calls[0] += 1
        try:
            outputs = emulate(operator, inputs, types, decisions, call=calls[0])
        except OperatorRaised:
            return Observation(Outcome.RAISED, kind="IndexError")
        return Observation(Outcome.COMPLETED, outputs=outputs)

    entry = SimpleNamespace(name=operator, outputs=(SimpleNamespace(name=OUTPUTS[operator]),))
    return Features(entry, types, call, **more)


def at(found, shape):
    found._shape = lambda: shape
    return found


def sums(operator, inputs, out, shape, decisions):
    names = ("A", "B") if operator == "matmul" else ("X",)
    types = {**dict.fromkeys(names, inputs), OUTPUTS[operator]: out}
    return at(features(operator, types, decisions), shape)


CASES = [
    ("matmul", WIDE, "f32", "f32"),
    ("matmul", WIDE, "bf16", "bf16"),
    ("matmul", WIDE, "f16", "f16"),
    ("matmul", WIDE, "f8e4m3", "f32"),
    ("matmul", SMALL, "f32", "f16"),
    ("reduce_sum", ROWS, "f32", "f32"),
    ("reduce_sum", ROWS, "bf16", "f32"),
    ("reduce_sum", LINE, "f16", "f16"),
]
KINDS = pytest.mark.parametrize(("operator", "shape", "inputs", "out"), CASES)


@KINDS
@pytest.mark.parametrize("name", ["f32", "f16", "tf32", "bf16"])
@pytest.mark.parametrize("order", [Choice("sequential"), Choice("pairwise", (1,))], ids=str)
def test_the_accumulator_is_named_in_any_order(operator, shape, inputs, out, name, order):
    if (operator, inputs, name) in {("reduce_sum", "f16", "f16"), ("reduce_sum", "f16", "tf32")}:
        shape = ROWS  # f16 terms must add up past f16's range
    decisions = {"accumulator": Choice(name), "reduction_order": order}
    found = sums(operator, inputs, out, shape, decisions)
    assert found.value("best_fit", ("accumulator",)) == Choice(name)


def test_a_double_accumulator_and_an_odd_width_are_named():
    f64 = sums("matmul", "f32", "f32", WIDE, {"accumulator": Choice("f64")})
    assert f64.value("best_fit", ("accumulator",)) == Choice("f64")
    narrow = Choice("f32", (), (("width", 13),))
    odd = sums("matmul", "f8e4m3", "f32", WIDE, {"accumulator": narrow})
    assert odd.value("best_fit", ("accumulator",)) == narrow


@KINDS
@pytest.mark.parametrize("accumulator", ["f32", "bf16"])
@pytest.mark.parametrize("mode", ["rne", "rz"])
def test_truncation_is_told_from_rounding_to_nearest(operator, shape, inputs, out, accumulator, mode):
    decisions = {"accumulator": Choice(accumulator), "acc_rounding": Choice(mode)}
    found = sums(operator, inputs, out, shape, decisions)
    assert found.value("best_fit", ("acc_rounding",)) == Choice(mode)


@pytest.mark.parametrize("out", ["f32", "f16", "bf16"])
@pytest.mark.parametrize(("operator", "shape"), [("matmul", WIDE), ("reduce_sum", ROWS)])
@pytest.mark.parametrize("cast", [Choice("as_given"), Choice("to", ("tf32",)), Choice("to", ("bf16",))], ids=str)
def test_a_cast_of_operands_is_named_whatever_the_output(operator, shape, out, cast):
    found = sums(operator, "f32", out, shape, {"operand_rounding": cast})
    assert found.value("best_fit", ("operand_rounding",)) == cast
    assert found.value("best_fit", ("accumulator",)) == Choice("f32")


def test_a_cast_of_one_operand_is_seen():
    def call(inputs):
        b = inputs["B"].astype(np.float16).astype(np.float32)
        return Observation(Outcome.COMPLETED, outputs={"C": inputs["A"] @ b})

    types = {"A": "f32", "B": "f32", "C": "f32"}
    entry = SimpleNamespace(name="matmul", outputs=(SimpleNamespace(name="C"),))
    with np.errstate(all="ignore"):
        found = at(Features(entry, types, call), {"L": (), "M": 4, "N": 4, "K": 8})
        assert found.value("best_fit", ("operand_rounding",)) == Choice("to", ("f16",))


def test_a_narrow_accumulator_is_not_taken_for_a_cast_of_operands():
    found = sums("matmul", "f32", "f32", WIDE, {"accumulator": Choice("f16")})
    assert found.value("best_fit", ("operand_rounding",)) == Choice("as_given")


@pytest.mark.parametrize(
    ("operator", "shape", "inputs", "out"),
    [*CASES[:4], ("reduce_sum", ROWS, "f32", "f32"), ("reduce_sum", ROWS, "f16", "f32")],
)
@pytest.mark.parametrize(
    "order",
    [
        Choice("sequential"),
        Choice("pairwise", (1,)),
        Choice("pairwise", (8,)),
        Choice("blocked", (32,)),
        Choice("lanes", (4,)),
    ],
    ids=str,
)
def test_the_order_of_summation_is_named(operator, shape, inputs, out, order):
    found = sums(operator, inputs, out, shape, {"reduction_order": order})
    assert found.value("best_fit", ("reduction_order",)) == order


def test_an_order_is_asked_for_with_enough_terms_to_tell_a_tree_from_a_chain():
    # at the failed shape, two terms, every order is a chain; so are 100 terms for a base of 128
    short = {"L": (5,), "N": 2}
    for base, found in ((8, Choice("pairwise", (8,))), (128, Choice("pairwise", (128,)))):
        order = {"reduction_order": Choice("pairwise", (base,))}
        asked = features("reduce_sum", {"X": "f32", "S": "f32"}, order, claims=order)
        assert at(asked, short).value("best_fit", ("reduction_order",)) == found


def test_an_order_is_named_through_a_narrow_accumulator():
    decisions = {"accumulator": Choice("f16"), "reduction_order": Choice("blocked", (32,))}
    found = sums("matmul", "f32", "f32", WIDE, decisions)
    assert found.value("best_fit", ("reduction_order",)) == Choice("blocked", (32,))


def test_a_scrambled_chain_is_still_a_chain_and_a_scrambled_tree_is_unordered():
    chain = sums("matmul", "f32", "f32", WIDE, {"reduction_order": Choice("unordered")})
    assert chain.value("best_fit", ("reduction_order",)) == Choice("sequential")

    def call(inputs):
        mixed = np.random.Generator(np.random.Philox(4)).permutation(inputs["X"].shape[-1])
        parts = inputs["X"][..., mixed].reshape(*inputs["X"].shape[:-1], 6, -1)
        return Observation(Outcome.COMPLETED, outputs={"S": parts.sum(-1).sum(-1)})

    entry = SimpleNamespace(name="reduce_sum", outputs=(SimpleNamespace(name="S"),))
    tree = at(Features(entry, {"X": "f32", "S": "f32"}, call), {"L": (3,), "N": 96})
    assert tree.value("best_fit", ("reduction_order",)) == Choice("unordered")


@KINDS
@pytest.mark.parametrize("decision", ["daz_in", "ftz_out"])
@pytest.mark.parametrize("policy", ["preserve", "flush"])
def test_subnormals_are_never_misjudged(operator, shape, inputs, out, decision, policy):
    found = sums(operator, inputs, out, shape, {decision: Choice(policy)})
    other = "ftz_out" if decision == "daz_in" else "daz_in"
    # where no output can show it the answer is None
    assert found.value("best_fit", (decision,)) in {Choice(policy), None}
    assert found.value("best_fit", (other,)) in {Choice("preserve"), None}


@pytest.mark.parametrize("policy", ["preserve", "flush"])
@pytest.mark.parametrize(("operator", "shape"), [("matmul", WIDE), ("reduce_sum", ROWS)])
@pytest.mark.parametrize("fmt", ["f32", "f16", "bf16"])
def test_subnormal_policies_are_seen_where_input_and_output_share_a_format(operator, shape, fmt, policy):
    for decision in ("daz_in", "ftz_out"):
        found = sums(operator, fmt, fmt, shape, {decision: Choice(policy)})
        assert found.value("best_fit", (decision,)) == Choice(policy)


@pytest.mark.parametrize("fmt", ["f32", "f16", "bf16"])
@pytest.mark.parametrize("method", ["max_shift", "clamp", "none"])
def test_the_stabilisation_of_a_softmax_is_named(fmt, method):
    found = features("softmax", {"X": fmt, "Y": fmt}, {"stabilization": Choice(method)})
    assert found.value("best_fit", ("stabilization",)) == Choice(method)


def test_an_online_softmax_is_given_the_benefit_of_its_claim():
    online = {"stabilization": Choice("online_max_shift")}
    types = {"X": "f32", "Y": "f32"}
    claimed = features("softmax", types, online, claims=online)
    assert claimed.value("best_fit", ("stabilization",)) == Choice("online_max_shift")
    unclaimed = features("softmax", types, online)
    assert unclaimed.value("best_fit", ("stabilization",)) == Choice("max_shift")


@pytest.mark.parametrize("error", [1, 2, 32])
def test_the_error_of_exp_is_measured_and_never_overstated(error):
    found = features("softmax", {"X": "f32", "Y": "f32"}, {"exp_ulp": error})
    measured = found.value("best_fit", ("exp_ulp",))
    assert error / 2 < measured <= error


GATHER = {"table": "f32", "idx": "i64", "out": "f32"}


@pytest.mark.parametrize("negative", ["wrap", "out_of_bounds"])
@pytest.mark.parametrize("policy", ["RAISE", "CLAMP", "ZERO", "UNDEFINED"])
def test_the_policy_out_of_bounds_is_named(policy, negative):
    decisions = {"oob_policy": Choice(policy), "negative_index": Choice(negative)}
    found = features("gather_rows", GATHER, decisions)
    assert found.value("best_fit", ("oob_policy",)) == Choice(policy)
    known = Choice(negative) if (policy, negative) != ("UNDEFINED", "out_of_bounds") else None
    assert found.value("best_fit", ("negative_index",)) == known


@pytest.mark.parametrize("operator", sorted(DEFAULTS))
@pytest.mark.parametrize("outcome", [Outcome.DIED, Outcome.DECLINED, Outcome.TIMED_OUT])
def test_a_candidate_that_gives_nothing_leaves_every_decision_unknown(operator, outcome):
    types = GATHER if operator == "gather_rows" else dict.fromkeys("ABCXSY", "f32")
    entry = SimpleNamespace(name=operator, outputs=(SimpleNamespace(name=OUTPUTS[operator]),))
    found = Features(entry, types, lambda inputs: Observation(outcome))
    for decision in DEFAULTS[operator]:
        assert found.value("best_fit", (decision,)) is None


def test_a_candidate_that_returns_nan_is_no_particular_kernel():
    def call(inputs):
        shape = (inputs["A"].shape[0], inputs["B"].shape[1])
        return Observation(Outcome.COMPLETED, outputs={"C": np.full(shape, np.nan, np.float32)})

    entry = SimpleNamespace(name="matmul", outputs=(SimpleNamespace(name="C"),))
    found = at(Features(entry, dict.fromkeys("ABC", "f32"), call), SMALL)
    for decision in DEFAULTS["matmul"]:
        assert found.value("best_fit", (decision,)) is None


def test_nothing_is_measured_twice():
    calls = []

    def call(inputs):
        calls.append(1)
        return Observation(Outcome.COMPLETED, outputs={"C": inputs["A"] @ inputs["B"]})

    entry = SimpleNamespace(name="matmul", outputs=(SimpleNamespace(name="C"),))
    found = at(Features(entry, dict.fromkeys("ABC", "f32"), call), SMALL)
    first = found.value("best_fit", ("accumulator",))
    spent = len(calls)
    assert found.value("best_fit", ("accumulator",)) == first
    assert len(calls) == spent
