"""From an outcome of the engine to a result for people and programs: witness, signature, numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernelcontracts.check.signature import name_cause
from kernelcontracts.engine.minimise import minimise
from kernelcontracts.engine.result import ContractResult, Float, Margin, PlanSummary, Status
from kernelcontracts.engine.witness import witness_of

if TYPE_CHECKING:
    from kernelcontracts.engine.contract import Outcome
    from kernelcontracts.engine.plan import Plan
    from kernelcontracts.engine.result import Witness
    from kernelcontracts.engine.run import Candidate


def contract_result(
    plan: Plan, outcome: Outcome, candidate: Candidate, claims: dict[str, str], *, minimise_it: bool
) -> ContractResult:
    """Assemble one contract's result; for a violation, minimise its witness and name its cause."""
    concluded, run = outcome.conclusion, outcome.run
    signature, message, witness = None, "", None
    if concluded.verdict is Status.VIOLATE and run is not None:
        signature, message = name_cause(run, candidate)
        witness = _witness(outcome, candidate, minimise_it=minimise_it)
    instance = plan.instance
    return ContractResult(
        contract=instance.id,
        cls=instance.cls,
        version=instance.version,
        hash=instance.hash,
        verdict=concluded.verdict,
        types=dict(plan.types),
        claims=claims,
        clause=concluded.clause,
        signature=signature,
        message=message,
        margin=_margin(outcome),
        p=None if concluded.p is None else Float.of(concluded.p),
        confidence=None if concluded.confidence is None else Float.of(concluded.confidence),
        plan=_summary(plan, outcome),
        witness=witness,
        clauses=concluded.clauses,
        reason=concluded.reason,
        gaps=outcome.gaps,
        strongest=outcome.strongest,
        notes=tuple(outcome.notes),
    )


def _witness(outcome: Outcome, candidate: Candidate, *, minimise_it: bool) -> Witness | None:
    run = outcome.run
    if run is None or not run.failures:
        return None
    failure = next((f for f in run.failures if f.finding.clause == outcome.conclusion.clause), run.failures[0])
    if not minimise_it:
        return witness_of(run.judge, failure, minimised=False)
    smaller, changed = minimise(run.judge, candidate, failure)
    return witness_of(run.judge, smaller, minimised=changed)


def _margin(outcome: Outcome) -> Margin | None:
    """Return the margin of the deciding clause, or the worst of all."""
    clauses = outcome.conclusion.clauses
    margins = [c.margin for c in clauses if c.margin is not None and outcome.conclusion.clause in (None, c.clause)]
    return max(margins, key=lambda m: (m.hi.value, m.lo.value), default=None)


def _summary(plan: Plan, outcome: Outcome) -> PlanSummary | None:
    run = outcome.run
    if run is None:
        return None
    strata = tuple(dict.fromkeys(case.stratum.name for case in plan.cases))
    return PlanSummary(plan.hash, run.cases, sum(run.rejected.values()), run.undecided, strata, plan.run_seed)
