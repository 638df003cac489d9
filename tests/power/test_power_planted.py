"""Planted kernels: what a test on random numbers lets through, the diagnosis names."""

from __future__ import annotations

import inspect
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from kernelcontracts.diagnose.features import Features
from kernelcontracts.kernels.adapters.file_adapter import load_module
from kernelcontracts.kernels.claims_literal import read_claims
from kernelcontracts.kernels.observation import Observation, Outcome
from kernelcontracts.lang.values import Choice
from kernelcontracts.operators.emulate import INPUTS, OUTPUTS
from kernelcontracts.operators.options import decisions_of

HERE = Path(__file__).parent
BAD, GOOD = load_module(HERE / "bad_kernels.py"), load_module(HERE / "good_kernels.py")
PREFIXES = {"matmul": "matmul", "sum": "reduce_sum", "softmax": "softmax", "gather": "gather_rows"}
LARGE = {"L": (), "M": 17, "N": 20, "K": 520}
ROWS = {"L": (5,), "N": 200}

# the feature that gives each planted kernel away, and its value
PLANTED = [
    ("matmul_f16_accumulator", ("best_fit", "accumulator"), Choice("f16")),
    ("matmul_tf32_operands", ("best_fit", "operand_rounding"), Choice("to", ("tf32",))),
    ("matmul_truncating_accumulator", ("best_fit", "acc_rounding"), Choice("rz")),
    ("matmul_f16_accumulator_when_large", ("best_fit", "accumulator"), Choice("f16")),
    ("matmul_drops_tail", ("tail_fraction",), 1.0),
    ("matmul_keeps_results", ("stale_rate",), 1.0),
    ("matmul_flushes_subnormals", ("best_fit", "daz_in"), Choice("flush")),
    ("sum_one_after_another", ("best_fit", "reduction_order"), Choice("sequential")),
    ("softmax_without_shift", ("best_fit", "stabilization"), Choice("none")),
    ("softmax_clamped", ("best_fit", "stabilization"), Choice("clamp")),
    ("gather_zeros_out_of_range", ("best_fit", "oob_policy"), Choice("ZERO")),
    ("gather_nearest_out_of_range", ("best_fit", "oob_policy"), Choice("CLAMP")),
]


def operator_of(name):
    return PREFIXES[name.split("_")[0]]


def shape_of(operator):
    return {"matmul": LARGE, "reduce_sum": ROWS}.get(operator)


def functions(module):
    return [name for name, _ in inspect.getmembers(module, inspect.isfunction) if name[0] != "_"]


def run(kernel, inputs):
    if "out" in inspect.signature(kernel).parameters:
        a, b = inputs["A"], inputs["B"]
        shape = (*a.shape[:-1], b.shape[-1])
        return kernel(a, b, out=np.full(shape, np.nan, np.float32))
    return kernel(*inputs.values())


def features(kernel, name):
    operator = operator_of(name)
    out = OUTPUTS[operator]

    def call(inputs):
        try:
            with np.errstate(all="ignore"):
                outputs = {out: run(kernel, inputs)}
        except IndexError:
            return Observation(Outcome.RAISED, kind="IndexError")
        return Observation(Outcome.COMPLETED, outputs=outputs)

    types = {t: "i64" if t == "idx" else "f32" for t in (*INPUTS[operator], out)}
    entry = SimpleNamespace(name=operator, outputs=(SimpleNamespace(name=out),))
    found = Features(entry, types, call, claims=claims(GOOD, name) | claims(BAD, name))
    found._shape = lambda: shape_of(operator)
    return found


def claims(module, name):
    said = module.CLAIMS.get(name, {})
    return decisions_of(operator_of(name), {k: str(v) for k, v in said.items()}) if said else {}


def usual_inputs(operator, seed=0):
    rng = np.random.default_rng(seed)
    names = ("A", "B") if operator == "matmul" else ("X",)
    if operator == "gather_rows":
        table = rng.standard_normal((64, 64)).astype(np.float32)
        return {"table": table, "idx": rng.integers(0, 64, 64)}
    return {name: rng.standard_normal((64, 64)).astype(np.float32) for name in names}


def expected(operator, inputs):
    if operator == "gather_rows":
        return inputs["table"][inputs["idx"]]
    wide = {name: x.astype(np.float64) for name, x in inputs.items()}
    if operator == "matmul":
        return (wide["A"] @ wide["B"]).astype(np.float32)
    if operator == "reduce_sum":
        return wide["X"].sum(axis=-1).astype(np.float32)
    powers = np.exp(wide["X"])
    return (powers / powers.sum(axis=-1, keepdims=True)).astype(np.float32)


@pytest.mark.torch
@pytest.mark.parametrize("name", [name for name, _, _ in PLANTED])
def test_a_test_on_random_numbers_lets_the_planted_kernel_through(name):
    torch = pytest.importorskip("torch")
    operator = operator_of(name)
    inputs = usual_inputs(operator)
    got = torch.from_numpy(np.ascontiguousarray(run(getattr(BAD, name), inputs)))
    right = torch.from_numpy(expected(operator, inputs))
    try:
        torch.testing.assert_close(got, right)
    except AssertionError:
        # where PyTorch's own defaults are too strict even for right kernels, people write this
        assert torch.allclose(got, right, rtol=1e-2, atol=1e-2)


@pytest.mark.parametrize(("name", "feature", "value"), PLANTED)
def test_the_planted_fault_is_named(name, feature, value):
    kernel = getattr(BAD, name)
    assert features(kernel, name).value(feature[0], feature[1:]) == value


@pytest.mark.parametrize("name", sorted(set(functions(GOOD))))
def test_a_good_kernel_is_found_to_be_what_it_claims(name):
    found, claimed = features(getattr(GOOD, name), name), claims(GOOD, name)
    # orders and classes of determinism are bounds, not descriptions; the rest must be what was measured
    bounds = {"reduction_order", "determinism", "exp_ulp"}
    for decision, value in claimed.items():
        measured = found.value("best_fit", (decision,))
        if decision not in bounds and measured is not None:
            assert measured == value, decision
    assert not found.value("stale_rate")
    assert not found.value("tail_fraction")


def test_a_tree_is_not_taken_for_a_chain():
    for name in ("sum_pairwise", "sum_numpy"):
        order = features(getattr(GOOD, name), name).value("best_fit", ("reduction_order",))
        assert order is not None
        assert order != Choice("sequential")


def test_the_measured_error_of_exp_is_within_the_claim():
    for name in ("softmax_shifted", "softmax_online"):
        measured = features(getattr(GOOD, name), name).value("best_fit", ("exp_ulp",))
        assert 1 <= measured <= claims(GOOD, name)["exp_ulp"]


@pytest.mark.parametrize("module", ["bad_kernels", "good_kernels"])
def test_every_planted_kernel_makes_readable_claims(module):
    path = HERE / f"{module}.py"
    said = read_claims(path)
    assert sorted(said) == sorted(functions(load_module(path)))
    for name, own in said.items():
        assert set(own) <= set(decisions_of(operator_of(name), {}))
