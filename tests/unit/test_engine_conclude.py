"""From tallies to verdicts."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from judging import candidate_of, claims_of, emulated, plan_of

from kernelcontracts.engine.conclude import LOOKS, conclude, level_of
from kernelcontracts.engine.contract import check_contract
from kernelcontracts.engine.judge import Judge
from kernelcontracts.engine.result import Status
from kernelcontracts.engine.run import Run
from kernelcontracts.engine.tally import Cell, ClauseTally, Finding, Union, over

INF = float("inf")


def run_of(*, cases=500, undecided=0, tallies=(), cells=(), rejected=None, promised=(0.01, 0.99)):
    plan = plan_of("C-PRC-01", "matmul", promised=promised)
    run = Run(plan, Judge(plan.instance, ()))
    run.cases, run.undecided, run.rejected = cases, undecided, rejected or {}
    run.clauses = {t.clause: t for t in tallies}
    run.cells = {(c.clause, c.name): Union((c,)) for c in cells}
    if any(t.violated for t in tallies):
        run.failures.append(SimpleNamespace())
    return run


def tally(clause="close", cases=500, **counts):
    return ClauseTally(clause, cases=cases, **{"reached": cases, **counts})


def cell(values, *, kind="rms", bound=1.0, clause="spread"):
    return Cell(clause, "gauss at N=1", kind, bound, list(values))


@pytest.mark.parametrize(
    ("lo", "hi", "status"),
    [
        (0.0, 1.0, Status.CONFORM),
        (0.0, 1.0000001, Status.UNDECIDED),
        (1.0, 1.0, Status.CONFORM),
        (1.0, 2.0, Status.UNDECIDED),
        (1.0000001, 2.0, Status.VIOLATE),
        (0.0, INF, Status.UNDECIDED),
        (INF, INF, Status.VIOLATE),
    ],
)
def test_a_finding_is_judged_by_both_ends_of_its_margin(lo, hi, status):
    assert Finding("c", lo, hi).status is status


def test_a_tally_keeps_the_largest_margins_and_the_most_frequent_reason():
    found = ClauseTally("c")
    for lo, hi, reason in ((0.1, 0.2, ""), (0.0, 2.0, "wide"), (0.0, 3.0, "far"), (0.3, 4.0, "far"), (5.0, 6.0, "x")):
        found.add(Finding("c", lo, hi, reason=reason))
    assert (found.cases, found.undecided, found.violated, found.reached) == (5, 3, 1, 5)
    assert (found.lo, found.hi, found.reason) == (5.0, 6.0, "far")


def test_enough_clean_cases_conform_and_say_how_sure_that_is():
    found = conclude(run_of(tallies=[tally()]))
    assert found.verdict is Status.CONFORM
    # (1 - p)^500 <= 0.01
    assert (1 - found.p) ** 500 == pytest.approx(0.01, rel=1e-6)
    assert found.confidence == 0.99


def test_too_few_cases_are_undecided_and_the_number_needed_is_named():
    found = conclude(run_of(cases=100, tallies=[tally(cases=100)], rejected={"headroom": 12}))
    assert found.verdict is Status.UNDECIDED
    assert "100 of the 459 needed" in found.reason
    assert "precondition `headroom` rejected 12" in found.reason


def test_a_violation_wins_over_everything():
    tallies = [tally("exact", undecided=3), tally("close", violated=1)]
    found = conclude(run_of(cases=1, tallies=tallies))
    assert (found.verdict, found.clause) == (Status.VIOLATE, "close")


def test_an_undecided_clause_is_named_with_its_reason():
    found = conclude(run_of(undecided=2, tallies=[tally("exact", undecided=2, reasons={"too wide": 2})]))
    assert (found.verdict, found.clause, found.reason) == (Status.UNDECIDED, "exact", "too wide")
    assert found.p > 2 / 500


def test_a_clause_whose_condition_never_held_is_undecided():
    found = conclude(run_of(tallies=[tally("exact", reached=0), tally("close")]))
    assert (found.verdict, found.clause) == (Status.UNDECIDED, "exact")
    assert "nothing was compared" in found.reason


def test_no_case_at_all_is_out_of_contract_and_says_why():
    found = conclude(run_of(cases=0, rejected={"small_nu": 9}))
    assert found.verdict is Status.OUT_OF_CONTRACT
    assert "precondition `small_nu` rejects 9 cases" in found.reason


def test_a_clause_without_a_case_is_listed_and_says_nothing():
    run = run_of(tallies=[tally("close")])
    run.inapplicable = {"ints24": "no such integers in bf16"}
    results = {c.clause: c for c in conclude(run).clauses}
    assert results["exact"].verdict is Status.OUT_OF_CONTRACT
    assert results["exact"].cases == 0
    assert results["close"].verdict is Status.CONFORM


def test_a_clause_that_was_not_reached_before_a_violation_is_not_listed():
    results = [c.clause for c in conclude(run_of(tallies=[tally("close", violated=1)])).clauses]
    assert results == ["close"]


@pytest.mark.parametrize(
    ("values", "kind", "status"),
    [
        ([0.25] * 24, "rms", Status.CONFORM),
        ([4.0] * 24, "rms", Status.VIOLATE),
        ([0.2, 1.9] * 3, "rms", Status.UNDECIDED),
        ([0.25] * 24, "mean", Status.CONFORM),
        ([-4.0] * 24, "mean", Status.VIOLATE),
        ([3.0, -3.0] * 12, "mean", Status.UNDECIDED),
        ([0.25] * 23 + [INF], "rms", Status.VIOLATE),
    ],
)
def test_a_cell_is_judged_by_its_confidence_limits(values, kind, status):
    assert cell(values, kind=kind).status(0.999) is status


def test_a_statistical_clause_is_as_good_as_its_worst_cell():
    good, bad = cell([0.25] * 24), cell([4.0] * 24)
    bad.name = "positive at N=1"
    found = conclude(run_of(tallies=[tally("exact"), tally("close")], cells=[good, bad]))
    assert (found.verdict, found.clause) == (Status.VIOLATE, "spread")
    spread = next(c for c in found.clauses if c.clause == "spread")
    assert spread.statistic.cell == "positive at N=1"
    assert spread.margin.lo.value > 1
    assert spread.cases == 48


def test_every_statement_shares_the_confidence():
    one, four = run_of(cells=[cell([1.0])]), run_of(cells=[])
    four.cells = {("spread", str(i)): Union((cell([1.0]),)) for i in range(4)}
    assert level_of(one) == pytest.approx(1 - 0.01 / LOOKS)
    assert level_of(four) == pytest.approx(1 - 0.01 / (4 * LOOKS))


def test_what_one_reading_of_the_claims_accepts_the_union_accepts():
    bad, good, unsure = cell([4.0] * 24), cell([0.25] * 24), cell([0.2, 1.9] * 3)
    assert Union((bad, good)).best(0.999) is good
    assert Union((bad, unsure)).best(0.999) is unsure
    assert Union((bad,)).best(0.999).status(0.999) is Status.VIOLATE


def test_a_bound_of_zero_allows_nothing_and_breaks_nothing_else():
    assert over(0.0, 0.0) == 0
    assert over(0.5, 0.0) == INF
    assert cell([0.0] * 5, bound=0.0).status(0.99) is Status.CONFORM
    found = conclude(run_of(tallies=[tally("exact"), tally("close")], cells=[cell([1.0] * 24, bound=0.0)]))
    assert found.verdict is Status.VIOLATE


@pytest.mark.parametrize(
    ("function", "verdict", "clause"),
    [
        (emulated("softmax"), Status.CONFORM, None),
        (np.zeros_like, Status.VIOLATE, "close"),
        (lambda x: np.full_like(x, np.nan), Status.VIOLATE, "finite"),
        (lambda x: -emulated("softmax")(x, types={"X": "f32", "Y": "f32"}), Status.VIOLATE, "bounded"),
    ],
)
def test_a_small_plan_reaches_a_verdict(function, verdict, clause):
    plan = plan_of("C-PRC-02", "softmax", every=7, promised=(0.1, 0.9))
    found = check_contract(plan, candidate_of(plan, function), claims_of("softmax")).conclusion
    assert (found.verdict, found.clause) == (verdict, clause)
