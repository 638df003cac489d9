"""Fault operators and the emulator's addresses."""

from __future__ import annotations

import numpy as np
import pytest

from kernelcontracts.kernels.adapters.protocol import Adapter, AdapterError
from kernelcontracts.kernels.address import parse_address
from kernelcontracts.lang.values import Choice
from kernelcontracts.operators.adapter import EmulatorAdapter, claims_of
from kernelcontracts.operators.defaults import DEFAULTS
from kernelcontracts.operators.emulate import emulate
from kernelcontracts.operators.faults import FAULTS, inject
from kernelcontracts.operators.options import read_value

TYPES = {"A": "f32", "B": "f32", "C": "f32"}


def gauss(shape, seed=1):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def right(inputs):
    return emulate("matmul", inputs, TYPES, {})


def inputs_of(m, k, n, seed=1):
    return {"A": gauss((m, k), seed), "B": gauss((k, n), seed + 1)}


def faulty(fault, inputs):
    return inject(fault, right, operator="matmul")(inputs)["C"]


def test_a_dropped_tail_is_what_was_found_there_and_nothing_else():
    inputs = inputs_of(5, 7, 70)
    kernel = inject(
        Choice("drop_tail", (32,)),
        right,
        operator="matmul",
        found=lambda name, result: np.full_like(result, np.nan),
    )
    got, expected = kernel(inputs)["C"], right(inputs)["C"]
    assert np.array_equal(got[:, :64], expected[:, :64])
    assert np.isnan(got[:, 64:]).all()


def test_a_tail_is_not_dropped_where_tiles_fit():
    inputs = inputs_of(5, 7, 64)
    assert np.array_equal(faulty(Choice("drop_tail", (32,)), inputs), right(inputs)["C"])


def test_a_previous_result_returns_when_the_shape_repeats():
    kernel = inject(Choice("return_previous"), right, operator="matmul")
    first, other = kernel(inputs_of(4, 5, 6))["C"], kernel(inputs_of(4, 5, 7))["C"]
    assert np.array_equal(first, right(inputs_of(4, 5, 6))["C"])
    assert np.array_equal(other, right(inputs_of(4, 5, 7))["C"])
    assert np.array_equal(kernel(inputs_of(4, 5, 6, seed=9))["C"], first)


def test_skipping_the_last_term_leaves_it_out():
    inputs = inputs_of(3, 6, 4)
    shorter = {"A": inputs["A"][:, :-1], "B": inputs["B"][:-1]}
    assert np.array_equal(faulty(Choice("skip_last"), inputs), right(shorter)["C"])


@pytest.mark.parametrize("name", sorted(set(FAULTS) - {"drop_tail", "return_previous"}))
def test_every_fault_changes_the_result(name):
    inputs = inputs_of(5, 7, 33)
    assert not np.array_equal(faulty(Choice(name), inputs), right(inputs)["C"])


@pytest.mark.parametrize("name", sorted(FAULTS))
def test_every_fault_keeps_shape_and_format(name):
    fault = Choice(name, (32,) * FAULTS[name][0])
    got = faulty(fault, inputs_of(5, 7, 33))
    assert (got.shape, got.dtype) == ((5, 33), np.float32)


def test_uniform_rows_are_the_baseline_of_softmax():
    x = gauss((2, 8))
    kernel = inject(
        Choice("uniform_rows"),
        lambda inputs: emulate("softmax", inputs, {"X": "f32", "Y": "f32"}, {}),
        operator="softmax",
    )
    assert (kernel({"X": x})["Y"] == 1 / 8).all()


@pytest.mark.parametrize(
    ("fault", "word"),
    [
        (Choice("melt"), "melt"),
        (Choice("drop_tail"), "drop_tail"),
        (Choice("drop_tail", (0,)), "drop_tail"),
        (Choice("zeros", (3,)), "zeros"),
    ],
)
def test_what_is_no_fault_is_named(fault, word):
    with pytest.raises(ValueError, match=word):
        inject(fault, right, operator="matmul")


def load(text, operator="matmul"):
    address = parse_address(text)
    return EmulatorAdapter().load(address.target, operator, dict(address.options))


def call(kernel, inputs):
    out = np.full((inputs["A"].shape[0], inputs["B"].shape[1]), np.nan, np.float32)
    assert kernel(inputs["A"], inputs["B"], out=out) is out
    return out


def test_an_address_gives_the_kernel_it_describes():
    inputs = inputs_of(9, 40, 5)
    kernel = load("emulator:matmul?accumulator=f16&reduction_order=sequential")
    decisions = {"accumulator": Choice("f16"), "reduction_order": Choice("sequential")}
    assert np.array_equal(call(kernel, inputs), emulate("matmul", inputs, TYPES, decisions)["C"])


def test_a_dropped_tail_behind_an_address_leaves_the_buffer_alone():
    out = call(load("emulator:matmul?fault=drop_tail(32)"), inputs_of(2, 3, 40))
    assert np.isnan(out[:, 32:]).all()
    assert np.isfinite(out[:, :32]).all()


def test_a_kernel_without_determinism_counts_its_calls():
    kernel, inputs = load("emulator:matmul?determinism=none"), inputs_of(9, 200, 5)
    assert not np.array_equal(call(kernel, inputs), call(kernel, inputs))


def test_the_adapter_keeps_the_protocol():
    adapter = EmulatorAdapter()
    assert isinstance(adapter, Adapter)
    assert adapter.available().ok
    assert adapter.declines("matmul", TYPES) == ""
    assert "conv" in adapter.declines("conv", {})
    assert "copies bits" in adapter.declines("gather_rows", {"table": "f32", "out": "f16"})
    assert adapter.provenance()["numpy"] == np.__version__


@pytest.mark.parametrize("operator", sorted(DEFAULTS))
def test_every_operator_runs_behind_an_address(operator):
    assert callable(load(f"emulator:{operator}", operator))


@pytest.mark.parametrize(
    "text",
    [
        "emulator:conv",
        "emulator:softmax",
        "emulator:matmul?accumulator=f99",
        "emulator:matmul?speed=high",
        "emulator:matmul?reduction_order=pairwise(x)",
        "emulator:matmul?reduction_order=!",
        "emulator:matmul?fault=melt()",
        "emulator:matmul?fault=3",
        "emulator:matmul?fma=maybe",
        "emulator:matmul?accumulator={width = 3}",
    ],
)
def test_an_address_that_cannot_be_served_says_why_in_one_line(text):
    with pytest.raises(AdapterError) as caught:
        load(text)
    assert "\n" not in str(caught.value)
    assert "`" in str(caught.value)


def test_the_claims_of_an_address_are_the_decisions_it_has():
    claims = claims_of(parse_address("emulator:matmul?accumulator=f16&fault=zeros()"))
    assert claims == {**DEFAULTS["matmul"], "accumulator": Choice("f16")}
    with pytest.raises(ValueError, match="numpy"):
        claims_of(parse_address("numpy:matmul"))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("f16", Choice("f16")),
        ("pairwise(8)", Choice("pairwise", (8,))),
        ("to(tf32)", Choice("to", ("tf32",))),
        ("split(bf16, 3)", Choice("split", ("bf16", 3))),
        ("{format = f32, width = 13}", Choice("f32", (), (("width", 13),))),
        ("zeros()", Choice("zeros")),
        ("12", 12),
    ],
)
def test_values_are_read_as_claim_sheets_write_them(text, value):
    assert read_value(text) == value
