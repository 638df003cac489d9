"""The power of the shipped contracts: what a planted fault is convicted of, and that honest kernels are not.

The default suite runs a part of each plan in this process: a conviction needs one case. The whole matrix, real
workers and whole plans are the campaign.
"""

from __future__ import annotations

import inspect
from pathlib import Path

import numpy as np
import pytest
from judging import LIBRARY, PLAIN, Kernel, candidate_of, emulated, instance_of, plan_of

from kernelcontracts.check.claims import Sourced
from kernelcontracts.check.request import resolve
from kernelcontracts.check.signature import name_cause
from kernelcontracts.check.verb import check as whole_check
from kernelcontracts.engine.contract import check_contract
from kernelcontracts.engine.result import Status
from kernelcontracts.formats.arrays import dtype_of
from kernelcontracts.kernels.adapters.file_adapter import load_module
from kernelcontracts.kernels.address import parse_address
from kernelcontracts.kernels.session import open_session
from kernelcontracts.lang.claims import claims_for, from_literal
from kernelcontracts.lang.values import Choice
from kernelcontracts.operators.faults import inject

HERE = Path(__file__).parent
BAD, GOOD = load_module(HERE / "bad_kernels.py"), load_module(HERE / "good_kernels.py")
PREFIXES = {"matmul": "matmul", "sum": "reduce_sum", "softmax": "softmax", "gather": "gather_rows"}

PLANTED = [
    ("matmul_f16_accumulator", "C-PRC-01", {"accumulator_f16"}),
    ("matmul_tf32_operands", "C-PRC-01", {"operands_tf32"}),
    ("matmul_truncating_accumulator", "C-PRC-01", {"truncating"}),
    ("matmul_f16_accumulator_when_large", "C-PRC-01", {"accumulator_f16"}),
    ("matmul_drops_tail", "C-CMP-03", {"tail_dropped"}),
    ("matmul_keeps_results", "C-CMP-03", {"stale_output"}),
    ("matmul_keeps_results", "C-PRC-01", {"stale_output"}),
    ("matmul_flushes_subnormals", "C-PRC-03", {"flushes_inputs", "flushes_outputs"}),
    ("sum_one_after_another", "C-ORD-01", {"order_sequential"}),
    ("softmax_without_shift", "C-PRC-02", {"no_shift"}),
    ("softmax_clamped", "C-PRC-02", {"clamped"}),
    ("gather_zeros_out_of_range", "C-EXC-02", {"silent_zero"}),
    ("gather_nearest_out_of_range", "C-EXC-02", {"silent_clamp"}),
]
"""Planted kernels: the class that convicts each, and the names its fault may get."""

MUTANTS = [
    ("matmul", {"accumulator": "f16"}, "C-PRC-01", "accumulator_f16"),
    ("matmul", {"accumulator": "bf16"}, "C-PRC-01", "accumulator_bf16"),
    ("matmul", {"operand_rounding": "to(tf32)"}, "C-PRC-01", "operands_tf32"),
    ("matmul", {"operand_rounding": "to(bf16)"}, "C-PRC-01", "operands_bf16"),
    ("matmul", {"acc_rounding": "rz"}, "C-PRC-01", "truncating"),
    ("reduce_sum", {"accumulator": "f16"}, "C-PRC-01", "accumulator_f16"),
    ("reduce_sum", {"reduction_order": "sequential"}, "C-ORD-01", "order_sequential"),
    ("reduce_sum", {"daz_in": "flush"}, "C-PRC-03", "flushes_inputs"),
    ("reduce_sum", {"ftz_out": "flush"}, "C-PRC-03", "flushes_outputs"),
    ("softmax", {"stabilization": "none"}, "C-PRC-02", "no_shift"),
    ("softmax", {"stabilization": "clamp"}, "C-PRC-02", "clamped"),
    ("gather_rows", {"oob_policy": "ZERO"}, "C-EXC-02", "silent_zero"),
    ("gather_rows", {"oob_policy": "CLAMP"}, "C-EXC-02", "silent_clamp"),
    ("gather_rows", {"negative_index": "wrap"}, "C-EXC-02", "wraps"),
]
"""Emulators that do another thing than is claimed, and what that is called."""

FAULTS = [
    ("matmul", Choice("drop_tail", (32,)), "C-CMP-03", "tail_dropped"),
    ("matmul", Choice("return_previous"), "C-CMP-03", "stale_output"),
    ("reduce_sum", Choice("zeros"), "C-PRC-01", None),
    ("reduce_sum", Choice("skip_last"), "C-PRC-01", None),
    ("softmax", Choice("uniform_rows"), "C-PRC-02", None),
    ("softmax", Choice("permute_rows"), "C-PRC-02", None),
    ("gather_rows", Choice("permute_rows"), "C-EXC-02", None),
]
"""Faults of any kernel; most have no name of their own, and are convicted all the same."""


def operator_of(name):
    return PREFIXES[name.split("_")[0]]


def claims(operator, said):
    return from_literal(said, LIBRARY.operator(operator).declaration)


def claimed(operator, **changes):
    """Return plain claims; sums claim a tree, so that the order can be broken."""
    order = {"reduction_order": "pairwise(8)"} if operator in ("matmul", "reduce_sum") else {}
    return claims(operator, PLAIN[operator] | order | changes)


def in_process(function):
    """Call a kernel of a file as the worker does: with a poisoned buffer if it wants one."""
    if "out" not in inspect.signature(function).parameters:
        return function

    def call(a, b, types):
        shape = (*a.shape[:-1], b.shape[-1])
        return function(a, b, out=np.full(shape, np.nan, dtype_of(types["C"])))

    call.wants_types = True
    return call


def thin(contract, operator):
    """Return a part of a plan: each stratum at some of its shapes."""
    every = {"matmul": 3, "reduce_sum": 2, "softmax": 2, "gather_rows": 2}[operator]
    return plan_of(contract, operator, every=every, averages=48)


def convicted(contract, operator, function, said, plan=None):
    """Return the signature of a conviction; the kernel is asked until eight cases fail."""
    plan = plan or thin(contract, operator)
    candidate = candidate_of(plan, function)
    with np.errstate(all="ignore"):
        found = check_contract(plan, candidate, said, enough=8)
        assert found.conclusion.verdict is Status.VIOLATE, found.conclusion.reason
        assert found.run is not None
        return name_cause(found.run, candidate)[0]


@pytest.mark.parametrize(("name", "contract", "names"), PLANTED)
def test_a_planted_fault_is_convicted_by_its_class_and_named(name, contract, names):
    operator = operator_of(name)
    kernel = in_process(getattr(BAD, name))
    assert convicted(contract, operator, kernel, claims(operator, BAD.CLAIMS[name])) in names


@pytest.mark.parametrize(("operator", "change", "contract", "name"), MUTANTS)
def test_a_kernel_that_does_another_thing_than_it_claims_is_named(operator, change, contract, name):
    order = {"reduction_order": "pairwise(8)"} if operator in ("matmul", "reduce_sum") else {}
    assert convicted(contract, operator, emulated(operator, **{**order, **change}), claimed(operator)) == name


@pytest.mark.parametrize(("operator", "fault", "contract", "name"), FAULTS)
def test_a_fault_on_top_of_a_right_kernel_is_convicted(operator, fault, contract, name):
    op = LIBRARY.operator(operator).declaration
    honest, out = emulated(operator), op.outputs[0].name
    state = {}

    def right(inputs):
        return {out: honest(*inputs.values(), types=state["types"])}

    faulty = inject(fault, right, operator=operator)

    def kernel(*inputs, types):
        state["types"] = types
        return faulty(dict(zip((p.name for p in op.inputs), inputs, strict=True)))[out]

    kernel.wants_types = True
    found = convicted(contract, operator, kernel, claims(operator, PLAIN[operator]))
    assert name is None or found == name


def unconvicted(contract, operator, function, said, plan):
    candidate = candidate_of(plan, function)
    with np.errstate(all="ignore"):
        found = check_contract(plan, candidate, said)
    concluded = found.conclusion
    assert concluded.verdict is not Status.VIOLATE, (concluded.clause, found.run.failures[:1])
    assert concluded.verdict is not Status.OUT_OF_CONTRACT, concluded.reason
    return concluded


CONTRACTS = {
    "matmul": ("C-PRC-01", "C-PRC-03", "C-ORD-01", "C-CMP-03"),
    "reduce_sum": ("C-PRC-01", "C-PRC-03", "C-ORD-01", "C-CMP-03"),
    "softmax": ("C-PRC-02",),
    "gather_rows": ("C-EXC-02",),
}


@pytest.mark.parametrize("name", sorted(GOOD.CLAIMS))
def test_a_good_twin_is_not_convicted_by_any_contract(name):
    operator = operator_of(name)
    for contract in CONTRACTS[operator]:
        plan = plan_of(contract, operator, every=47 if operator == "matmul" else 19)
        unconvicted(contract, operator, in_process(getattr(GOOD, name)), claims(operator, GOOD.CLAIMS[name]), plan)


HONEST = [
    ("matmul", "bf16", {"accumulator": "f32", "reduction_order": "lanes(8)"}),
    ("matmul", "f32", {"operand_rounding": "split(bf16, 3)"}),
    ("matmul", "f16", {"accumulator": "f16", "acc_rounding": "rz"}),
    ("reduce_sum", "f32", {"accumulator": "f64", "daz_in": "flush"}),
    ("reduce_sum", "bf16", {"accumulator": "tf32", "reduction_order": "blocked(64)"}),
    ("softmax", "f16", {"stabilization": "online_max_shift", "exp_ulp": 16}),
    ("gather_rows", "bf16", {"oob_policy": "CLAMP", "negative_index": "wrap"}),
]


@pytest.mark.parametrize("seed", [1, *(pytest.param(s, marks=pytest.mark.campaign) for s in (2, 3))])
@pytest.mark.parametrize(("operator", "fmt", "change"), HONEST)
def test_an_emulator_under_its_own_claims_is_not_convicted(operator, fmt, change, seed):
    for contract in CONTRACTS[operator]:
        plan = plan_of(contract, operator, fmt=fmt, seed=seed, every=61 if operator == "matmul" else 23)
        unconvicted(contract, operator, emulated(operator, **change), claims(operator, PLAIN[operator] | change), plan)


def real(adapter, operator, fmt, every):
    """Check a framework's own kernel under its shipped claim sheet, in a worker."""
    op = LIBRARY.operator(operator).declaration
    sheets = [s.declaration for s in LIBRARY.claim_sheets if s.declaration.name == adapter]
    with open_session(parse_address(f"{adapter}:{operator}"), op) as session:
        for contract in CONTRACTS[operator]:
            plan = plan_of(contract, operator, fmt=fmt, every=every)
            said = claims_for(sheets, op, plan.types).values
            candidate = candidate_of(plan, None)
            candidate.caller = session
            found = check_contract(plan, candidate, said)
            assert found.conclusion.verdict is not Status.VIOLATE, (contract, found.run.failures[:1])


@pytest.mark.parametrize("operator", sorted(CONTRACTS))
def test_numpy_keeps_what_its_sheet_claims(operator):
    real("numpy", operator, "f32", 61 if operator == "matmul" else 29)


# loading torch and replacing a worker take seconds each: two operators stand for the four here
@pytest.mark.torch
@pytest.mark.parametrize(
    "operator",
    [pytest.param(o, marks=[] if o in ("matmul", "softmax") else pytest.mark.campaign) for o in sorted(CONTRACTS)],
)
def test_torch_keeps_what_its_sheet_claims(operator):
    pytest.importorskip("torch")
    real("torch", operator, "bf16", 61 if operator == "matmul" else 29)


# --- the campaign: whole plans, in workers -------------------------------------------------------------------------


def whole(address, operator, said, contract=()):
    request = resolve(
        str(address), library=LIBRARY, operator=operator, contracts=contract, types=None, seed=1, redraw=False
    )
    return whole_check(request, Sourced(said, "the test"))


@pytest.mark.campaign
@pytest.mark.parametrize(("name", "contract", "names"), PLANTED)
def test_campaign_a_planted_fault_is_convicted_in_a_worker(name, contract, names):
    operator = operator_of(name)
    said = claims(operator, BAD.CLAIMS[name])
    instance = instance_of(contract, operator)
    (found,) = whole(f"{HERE / 'bad_kernels.py'}:{name}", operator, said, (instance.id,)).results
    assert (found.verdict, found.signature in names) == (Status.VIOLATE, True), found.signature
    assert found.witness is None or found.witness.inputs


@pytest.mark.campaign
@pytest.mark.parametrize("name", sorted(GOOD.CLAIMS))
def test_campaign_a_good_twin_conforms_to_every_contract(name):
    operator = operator_of(name)
    found = whole(f"{HERE / 'good_kernels.py'}:{name}", operator, claims(operator, GOOD.CLAIMS[name]))
    open_ = {r.contract: (r.verdict, r.reason) for r in found.results if r.verdict is not Status.CONFORM}
    # whether a kernel that returns its own array stays inside it cannot be seen, and that is said
    assert all(verdict is Status.UNDECIDED and "output not owned" in reason for verdict, reason in open_.values()), (
        open_
    )


@pytest.mark.campaign
@pytest.mark.parametrize("operator", sorted(CONTRACTS))
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_campaign_emulators_conform_under_their_own_claims(operator, seed):
    for contract in CONTRACTS[operator]:
        plan = plan_of(contract, operator, seed=seed, averages=48)
        order = {"reduction_order": "pairwise(8)"} if operator in ("matmul", "reduce_sum") else {}
        kernel = Kernel(plan.instance.operator, emulated(operator, **order))
        candidate = candidate_of(plan, None)
        candidate.caller = kernel
        found = check_contract(plan, candidate, claimed(operator))
        assert found.conclusion.verdict is Status.CONFORM, (contract, found.conclusion.reason)
