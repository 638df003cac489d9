"""From tallies to verdicts: what the cases of a run allow to be said, and at what confidence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kernelcontracts.engine.result import ClauseResult, Float, Margin, Statistic, Status
from kernelcontracts.engine.tally import over
from kernelcontracts.stats.binomial import establishes, upper_limit
from kernelcontracts.stats.coverage import reached_rate, required_cases
from kernelcontracts.stats.limits import bonferroni

if TYPE_CHECKING:
    from kernelcontracts.engine.run import Run
    from kernelcontracts.engine.tally import Cell, ClauseTally
    from kernelcontracts.lang.decl import Clause


@dataclass(frozen=True, slots=True)
class Conclusion:
    """A run's verdict.

    Attributes
    ----------
    clause
        The clause that decides, if one does.
    p, confidence
        What was established: the failure rate is at most ``p`` with this confidence.
    reason
        Why nothing better could be said.
    """

    verdict: Status
    clause: str | None
    p: float | None
    confidence: float | None
    reason: str
    clauses: tuple[ClauseResult, ...]


LOOKS = 4
"""How often a statistical cell may be looked at: once, and after each of three extensions of its sample."""


def level_of(run: Run) -> float:
    """Return the confidence of each one-sided limit: Bonferroni over the statistical cells and the looks at each."""
    _, confidence = run.plan.promised
    return float(bonferroni(confidence, LOOKS * max(1, len(run.cells))))


def conclude(run: Run) -> Conclusion:
    """Judge a run."""
    clauses = tuple(_clauses(run))
    for clause in clauses:
        if clause.verdict is Status.VIOLATE:
            return Conclusion(Status.VIOLATE, clause.clause, None, None, clause.reason, clauses)
    if run.cases == 0:
        return Conclusion(Status.OUT_OF_CONTRACT, None, None, None, _nothing(run), clauses)
    return _without_violation(run, clauses)


def _nothing(run: Run) -> str:
    reasons = [f"`{name}`: {why}" for name, why in run.inapplicable.items()]
    reasons += [f"precondition `{label}` rejects {count} cases" for label, count in run.rejected.items()]
    return "no case lies in the contract's domain: " + "; ".join(reasons)


def _without_violation(run: Run, clauses: tuple[ClauseResult, ...]) -> Conclusion:
    promised, confidence = run.plan.promised
    p = reached_rate(run.cases, confidence) if run.undecided == 0 else upper_limit(run.undecided, run.cases, confidence)
    for clause in clauses:
        if clause.verdict is Status.UNDECIDED:
            return Conclusion(Status.UNDECIDED, clause.clause, p, confidence, clause.reason, clauses)
    if not establishes(run.undecided, run.cases, p=promised, confidence=confidence):
        need = required_cases(promised, confidence)
        reason = (
            f"too few cases: {run.cases} of the {need} needed for a failure rate of at most {promised:g} at "
            f"{confidence:.0%} confidence{_lost(run)}"
        )
        return Conclusion(Status.UNDECIDED, None, p, confidence, reason, clauses)
    return Conclusion(Status.CONFORM, None, p, confidence, "", clauses)


def _lost(run: Run) -> str:
    parts = [f"precondition `{label}` rejected {count}" for label, count in run.rejected.items()]
    parts += [f"stratum `{name}` does not apply ({why})" for name, why in run.inapplicable.items()]
    return "; " + "; ".join(parts) if parts else ""


def _clauses(run: Run) -> list[ClauseResult]:
    """Return one result per clause, in the contract's order."""
    level = level_of(run)
    results = []
    for clause in run.judge.instance.contract.post or ():
        cells = [union.best(level) for (label, _), union in run.cells.items() if label == clause.label]
        if clause.label in run.clauses:
            results.append(_pointwise(run.clauses[clause.label]))
        elif cells:
            results.append(_averaged(clause.label, cells, level))
        elif run.cases and not run.violated and clause.label not in run.silent:
            results.append(_caseless(clause, run))
    results += [_pointwise(tally) for label, tally in run.clauses.items() if label == ""]
    return results


def _caseless(clause: Clause, run: Run) -> ClauseResult:
    """Return the result of a clause whose strata have no case in these formats and shapes: it says nothing here."""
    parts = [f"`{name}`: {why}" for name, why in run.inapplicable.items() if name in clause.strata]
    parts += [f"precondition `{label}` rejects {count} cases" for label, count in run.rejected.items()]
    reason = "no case of its strata: " + ("; ".join(parts) or "the plan has none")
    return ClauseResult(clause.label, Status.OUT_OF_CONTRACT, None, 0, 0, reason)


def _pointwise(tally: ClauseTally) -> ClauseResult:
    verdict, reason = Status.CONFORM, tally.reason
    if tally.violated:
        verdict = Status.VIOLATE
    elif tally.undecided:
        verdict = Status.UNDECIDED
    elif not tally.reached:
        verdict, reason = Status.UNDECIDED, "its condition held on no case, so nothing was compared"
    margin = Margin(Float.of(tally.lo), Float.of(tally.hi))
    return ClauseResult(tally.clause, verdict, margin, tally.cases, tally.undecided, reason)


def _averaged(label: str, cells: list[Cell], level: float) -> ClauseResult:
    """Judge a statistical clause by its worst cell."""
    judged = [(cell.status(level), cell) for cell in cells]
    verdict = min((status for status, _ in judged), key=lambda s: s.rank)
    worst = max(
        (cell for status, cell in judged if status is verdict),
        key=lambda c: over(c.limits(level)[0], c.bound),
    )
    value, lower, upper = worst.limits(level)
    statistic = Statistic(worst.name, *(Float.of(x) for x in (value, lower, upper, worst.bound)))
    margin = Margin(Float.of(over(lower, worst.bound)), Float.of(over(upper, worst.bound)))
    reason = ""
    if verdict is Status.UNDECIDED:
        reason = f"{len(worst.values)} calls at {worst.name} leave the statistic between {lower:.3g} and {upper:.3g}"
    cases = sum(len(cell.values) for cell in cells)
    return ClauseResult(label, verdict, margin, cases, 0, reason, statistic)
