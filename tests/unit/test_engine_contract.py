"""One contract against one kernel: gaps, refusals, scope, make-up cases, and odd kernels."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from judging import HONEST, LIBRARY, arrays, candidate_of, case_of, claims_of, emulated, observed_as, plan_of

from kernelcontracts.engine.contract import check_contract
from kernelcontracts.engine.domain import outside_types
from kernelcontracts.engine.judge import Judge, alternatives
from kernelcontracts.engine.result import Status
from kernelcontracts.engine.run import draw_case
from kernelcontracts.kernels.observation import Observation, Outcome
from kernelcontracts.lang.claims import from_literal
from kernelcontracts.lang.values import Choice, Unspecified
from kernelcontracts.strata.errors import NotApplicable

LOOSE = (0.3, 0.9)
"""A promise that eight cases keep."""


def check(plan, function, claims, **options):
    return check_contract(plan, candidate_of(plan, function, **options), claims)


def without(operator, *names, **changes):
    return {k: v for k, v in claims_of(operator, **changes).items() if k not in names}


def order_plan():
    """Return sums of C-ORD-01 that tell a chain from a tree; only one decision is left to vary."""
    return plan_of("C-ORD-01", "reduce_sum", strata=("swamp24", "positive"), every=3, promised=LOOSE)


# --- gaps ---------------------------------------------------------------------------------------------------------


def test_a_kernel_that_conforms_at_the_strongest_completion_conforms():
    plan = order_plan()
    found = check(plan, emulated("reduce_sum", reduction_order="pairwise(1)"), without("reduce_sum", "reduction_order"))
    assert found.conclusion.verdict is Status.CONFORM
    assert found.gaps == ("reduction_order",)
    assert found.strongest == {"reduction_order": "pairwise(1)"}


def test_a_kernel_that_only_weaker_claims_cover_is_under_specified_and_told_which():
    plan = order_plan()
    found = check(plan, emulated("reduce_sum", reduction_order="sequential"), without("reduce_sum", "reduction_order"))
    assert found.conclusion.verdict is Status.UNDER_SPECIFIED
    assert found.strongest is not None
    named = Choice(found.strongest["reduction_order"].partition("(")[0])
    assert named.name in ("sequential", "unordered", "lanes", "blocked", "pairwise")
    assert "`reduction_order` not declared" in found.conclusion.reason
    # what is named is what this run supports, and nothing stronger: claimed, it conforms
    again = check(
        plan, emulated("reduce_sum", reduction_order="sequential"), claims_of("reduce_sum", **found.strongest)
    )
    assert again.conclusion.verdict is Status.CONFORM


def test_no_completion_saves_a_wrong_kernel():
    plan = order_plan()
    found = check(plan, lambda x: np.zeros(x.shape[:-1], x.dtype), without("reduce_sum", "reduction_order"))
    assert found.conclusion.verdict is Status.VIOLATE
    assert found.strongest is None
    assert "every completion" in found.notes[0]
    assert found.run.failures


def test_a_kernel_is_called_once_for_all_completions():
    plan = order_plan()
    candidate = candidate_of(plan, emulated("reduce_sum", reduction_order="sequential"))
    check_contract(plan, candidate, without("reduce_sum", "reduction_order"))
    once = sum(1 for _ in drawn_cases(plan))
    # three reorderings a case besides the case itself
    assert len(candidate.caller.calls) == once * 4


def drawn_cases(plan):
    for planned in plan.cases:
        try:
            yield draw_case(plan, planned)
        except NotApplicable:
            continue


def test_completions_outside_the_contracts_scope_are_no_completions():
    plan = plan_of("C-PRC-02", "softmax", strata=("small",), every=5, promised=LOOSE)
    found = check(plan, emulated("softmax"), without("softmax", "stabilization"))
    assert found.conclusion.verdict is Status.CONFORM
    assert found.strongest == {"stabilization": "max_shift"}


# --- decisions that are left unspecified ---------------------------------------------------------------------------


def test_an_unspecified_decision_is_judged_on_the_union_of_its_values():
    plan = plan_of("C-PRC-03", "reduce_sum", strata=("subnormal_in",), every=4, promised=LOOSE)
    for daz in ("preserve", "flush"):
        kernel = emulated("reduce_sum", daz_in=daz)
        open_ = check(plan, kernel, claims_of("reduce_sum", daz_in=None))
        assert open_.conclusion.verdict is Status.CONFORM
        assert open_.notes == ["`daz_in` is left unspecified: judged on the union of what its values accept"]
    # and the union is not everything
    assert (
        check(plan, emulated("reduce_sum", daz_in="flush"), claims_of("reduce_sum")).conclusion.verdict
        is Status.VIOLATE
    )
    zeros = check(plan, lambda x: np.ones(x.shape[:-1], x.dtype), claims_of("reduce_sum", daz_in=None))
    assert zeros.conclusion.verdict is Status.VIOLATE


def test_the_union_of_an_ordered_decision_is_its_weakest_values():
    instance = plan_of("C-PRC-01", "reduce_sum").instance
    readings = alternatives(instance, claims_of("reduce_sum") | {"accumulator": Unspecified("not documented")})
    assert {str(r["accumulator"]) for r in readings} == {"f16", "bf16"}
    assert {str(r["acc_rounding"]) for r in readings} == {"rne"}


@pytest.mark.parametrize("accumulator", ["f16", "bf16"])
def test_averages_are_judged_on_the_union_as_well(accumulator):
    plan = plan_of("C-PRC-01", "reduce_sum", fmt="f16", strata=("gauss",), most=12, averages=12, promised=LOOSE)
    kernel = emulated("reduce_sum", accumulator=accumulator)
    claims = claims_of("reduce_sum", accumulator=None)
    found = check(plan, kernel, claims)
    spread = [c for c in found.conclusion.clauses if c.clause == "spread"]
    assert spread
    assert all(c.verdict is not Status.VIOLATE for c in spread)
    assert all(len(union.cells) == 2 for union in found.run.cells.values())


def test_a_case_that_one_reading_accepts_is_accepted():
    plan = plan_of("C-PRC-03", "reduce_sum", strata=("subnormal_in",))
    judge = Judge(plan.instance, alternatives(plan.instance, claims_of("reduce_sum", daz_in=None)))
    clause = next(c for c in plan.instance.contract.post if c.label == "inputs_policy")
    planned = next(p for p in plan.cases if p.shape["N"] > 1)
    case = draw_case(plan, planned)
    for daz, single in (("flush", (Status.VIOLATE, Status.CONFORM)), ("preserve", (Status.CONFORM, Status.VIOLATE))):
        observed = candidate_of(plan, emulated("reduce_sum", daz_in=daz)).observe(case)
        scopes = judge.scopes(case)
        assert judge.finding(clause, scopes, observed).status is Status.CONFORM, planned
        assert tuple(judge.finding(clause, [s], observed).status for s in scopes) == single


# --- what lies outside ---------------------------------------------------------------------------------------------


def test_a_claim_outside_the_scope_is_out_of_contract_and_never_a_pass():
    plan = plan_of("C-PRC-02", "softmax", most=8, promised=LOOSE)
    found = check(plan, emulated("softmax"), claims_of("softmax", stabilization="none")).conclusion
    assert found.verdict is Status.OUT_OF_CONTRACT
    assert "stabilization in {max_shift, online_max_shift}" in found.reason


def test_a_typing_outside_the_scope_is_told_by_tensor():
    instance = plan_of("C-PRC-01", "matmul").instance
    assert outside_types(instance, {"A": "f32", "B": "bf16", "C": "f32"}) == ""
    assert "`B` in f32" in outside_types(instance, {"A": "f32", "B": "f64", "C": "f32"})
    assert "`C`" in outside_types(instance, {"A": "f32", "B": "f32", "C": "f64"})


def test_a_precondition_that_rejects_everything_is_out_of_contract():
    plan = plan_of("C-PRC-01", "reduce_sum", strata=("gauss",), most=12, promised=LOOSE)
    large = replace(plan, cases=tuple(c for c in plan.cases if c.shape["N"] == 4097))
    plan = large if large.cases else plan_of("C-PRC-01", "reduce_sum", strata=("gauss",), every=3, promised=LOOSE)
    plan = replace(plan, cases=tuple(c for c in plan.cases if c.shape["N"] >= 1000))
    found = check(plan, emulated("reduce_sum"), claims_of("reduce_sum", accumulator="bf16"))
    assert found.conclusion.verdict is Status.OUT_OF_CONTRACT
    assert "`small_nu` rejects" in found.conclusion.reason


# --- cells that do not exist ---------------------------------------------------------------------------------------


def test_cells_that_do_not_exist_are_made_up_for():
    plan = plan_of("C-PRC-03", "reduce_sum", every=2)
    promised = len(plan.cases)
    found = check(plan, emulated("reduce_sum"), claims_of("reduce_sum"))
    assert found.run.empty_cells
    assert found.conclusion.verdict is Status.CONFORM or found.run.cases >= promised
    seeds = {c.seed for c in plan.cases}
    assert any("+1" in c.seed for c in plan.more_cases(1))
    assert not any("+" in seed for seed in seeds)


def test_cells_that_a_precondition_rejects_are_made_up_for_inside_the_domain():
    # a weak accumulator makes the domain smaller; the promise then speaks of what is left
    plan = plan_of("C-PRC-01", "reduce_sum", strata=("gauss", "positive"), every=2, promised=(0.1, 0.9))
    found = check(plan, emulated("reduce_sum", accumulator="bf16"), claims_of("reduce_sum", accumulator="bf16"))
    assert found.run.rejected["small_nu"] > 0
    assert found.run.cases >= 22  # 0.9^22 <= 0.1
    assert {c.shape["N"] for c in plan.cases if c.cell() not in found.run.empty_cells} <= {1, 31}


def test_cells_are_made_up_for_without_claims_too():
    plan = plan_of("C-PRC-03", "reduce_sum", every=2)
    full = check(plan, emulated("reduce_sum"), claims_of("reduce_sum"))
    open_ = check(plan, emulated("reduce_sum"), without("reduce_sum", "daz_in"))
    assert open_.run.cases >= min(full.run.cases, len(plan.cases))


# --- odd kernels ---------------------------------------------------------------------------------------------------


def said(outcome, message, kind=""):
    return lambda *_: Observation(outcome, kind=kind, message=message)


@pytest.mark.parametrize("outcome", [Outcome.DIED, Outcome.TIMED_OUT, Outcome.MALFORMED, Outcome.RAISED])
def test_a_call_without_an_answer_violates_and_says_what_happened(outcome):
    plan = plan_of("C-PRC-01", "reduce_sum", most=8, promised=LOOSE)
    found = check(plan, said(outcome, "something happened"), claims_of("reduce_sum"))
    assert found.conclusion.verdict is Status.VIOLATE
    assert found.run.failures[0].finding.reason == "something happened"


def test_a_kernel_that_hangs_is_not_asked_eight_times():
    plan = plan_of("C-PRC-01", "reduce_sum", promised=LOOSE)
    candidate = candidate_of(plan, said(Outcome.TIMED_OUT, "took too long"))
    check_contract(plan, candidate, claims_of("reduce_sum"), enough=8)
    assert len(candidate.caller.calls) == 1


def test_a_kernel_that_declines_is_undecided_with_its_own_words():
    plan = plan_of("C-PRC-01", "reduce_sum", most=8, promised=LOOSE)
    found = check(plan, said(Outcome.DECLINED, "no such format here"), claims_of("reduce_sum")).conclusion
    assert found.verdict is Status.UNDECIDED
    assert "no such format here" in found.reason


def test_a_raise_keeps_a_policy_that_declares_it_and_a_crash_does_not():
    plan = plan_of("C-EXC-02", "gather_rows", strata=("one_past",), every=4, promised=LOOSE)
    honest, dies = emulated("gather_rows"), said(Outcome.DIED, "the process died")
    assert check(plan, honest, claims_of("gather_rows")).conclusion.verdict is Status.UNDECIDED  # nothing lies inside
    found = check(plan, dies, claims_of("gather_rows")).conclusion
    assert (found.verdict, found.clause) == (Status.VIOLATE, "policy")


def test_fences_that_nobody_could_see_leave_a_clause_undecided():
    plan = plan_of("C-EXC-02", "gather_rows", every=5, promised=LOOSE)
    found = check(plan, emulated("gather_rows"), claims_of("gather_rows"), owned=False).conclusion
    assert (found.verdict, found.clause) == (Status.UNDECIDED, "fences")
    assert "output not owned" in found.reason


def test_a_promise_across_devices_needs_two_of_them():
    plan = plan_of("C-CMP-03", "reduce_sum", strata=("gauss",), most=8, promised=LOOSE)
    kernel = emulated("reduce_sum", determinism="cross_shape")
    found = check(plan, kernel, claims_of("reduce_sum", determinism="cross_device")).conclusion
    batch = next(c for c in found.clauses if c.clause == "batch")
    assert batch.verdict is Status.UNDECIDED
    assert "two devices" in batch.reason


def test_a_kernel_that_does_not_repeat_itself_breaks_a_promise_of_bits():
    rng = np.random.default_rng(0)
    plan = plan_of("C-CMP-03", "reduce_sum", strata=("gauss",), most=8, promised=LOOSE)

    def wobbles(x):
        return (x[..., rng.permutation(x.shape[-1])]).cumsum(axis=-1, dtype=np.float32)[..., -1]

    bitwise, none = (check(plan, wobbles, claims_of("reduce_sum", determinism=d)) for d in ("bitwise", "none"))
    assert (bitwise.conclusion.verdict, bitwise.conclusion.clause) == (Status.VIOLATE, "batch")
    assert not none.run.violated


def test_plain_claims_are_what_the_library_knows():
    assert set(HONEST) == {d.name for d in LIBRARY.operator("matmul").declaration.decisions}
    assert from_literal(HONEST, LIBRARY.operator("matmul").declaration)["accumulator"] == Choice("f32")


def test_a_clause_that_a_wide_reference_leaves_open_is_settled_by_a_sharp_one():
    # the answer is an element that drowns beside large ones
    plan = plan_of("C-PRC-01", "matmul", strata=("gauss",), most=1)
    a = arrays([[2.0**60, 1.0, -(2.0**60)]], "f32")
    b = arrays([[1.0], [2.0**-40 / 3], [1.0]], "f32")
    case = case_of("matmul", a, b)
    judge = Judge(plan.instance, alternatives(plan.instance, claims_of("matmul")))
    clause = next(c for c in plan.instance.contract.post if c.label == "close")
    scopes = judge.scopes(case)
    before = judge._best(clause, scopes, observed_as(case, a @ b))
    after = judge.finding(clause, judge.scopes(case), observed_as(case, a @ b))
    assert before.hi >= after.hi
    assert after.status is Status.CONFORM
