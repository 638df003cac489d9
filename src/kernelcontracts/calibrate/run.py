"""Calibration: the contract tells good from bad, and what it catches is not caught already.

Three states (paper, section 5.1): a good kernel passes the smoke tests and conforms; a bad one passes them and
violates; a baseline fails both. Besides the written trials, every other value of every needed decision makes a
mutant; each is killed, or bitwise equal to the claimed kernel on the whole plan (equivalent), or conforms because
it is at least as strong as claimed, or survives.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from kernelcontracts.calibrate.smoke import passes, smokes
from kernelcontracts.calibrate.trials import GENERATED, Attempt, attempts, claiming
from kernelcontracts.check.signature import name_cause
from kernelcontracts.engine.contract import check_contract
from kernelcontracts.engine.plan import make_plan
from kernelcontracts.engine.result import Status
from kernelcontracts.engine.run import Candidate, draw_case
from kernelcontracts.formats.arrays import same_bits
from kernelcontracts.kernels.session import Limits, open_session
from kernelcontracts.lang.decisions import compare
from kernelcontracts.strata.errors import NotApplicable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from kernelcontracts.engine.contract import Outcome
    from kernelcontracts.engine.plan import Plan
    from kernelcontracts.kernels.session import Session
    from kernelcontracts.lang.instance import Instance
    from kernelcontracts.lang.values import ClaimValue


@dataclass(frozen=True, slots=True)
class Calibrated:
    """One trial's outcome.

    Attributes
    ----------
    state
        ``as expected``, ``equivalent``, or what is wrong, in words.
    sound
        Whether the trial supports the contract.
    detected
        For a kernel that should be stopped: how many shapes of each stratum stop it, out of how many.
    """

    attempt: Attempt
    verdict: Status
    clause: str | None
    signature: str | None
    smoke: bool | None
    state: str
    sound: bool
    detected: Mapping[str, tuple[int, int]]


def calibrate(
    instance: Instance, *, seed: int, report: Callable[[Calibrated], None] | None = None
) -> tuple[Calibrated, ...]:
    """Run every trial of a contract and every mutant of its needed decisions."""
    results = []
    for result in _trials(instance, seed):
        if report is not None:
            report(result)
        results.append(result)
    return tuple(results)


def _trials(instance: Instance, seed: int) -> Iterator[Calibrated]:
    claims = claiming(instance)
    done: set[str] = set()
    for attempt in attempts(instance):
        # a mutant that a written line already tries would be run twice
        if attempt.role == GENERATED and str(attempt.address) in done:
            continue
        done.add(str(attempt.address))
        yield _trial(instance, attempt, claims, seed)


def _trial(instance: Instance, attempt: Attempt, claims: Mapping[str, ClaimValue], seed: int) -> Calibrated:
    plan = make_plan(instance, attempt.types, run_seed=seed)
    with open_session(attempt.address, instance.operator, limits=Limits()) as session:
        candidate = Candidate(session, plan)
        outcome = check_contract(plan, candidate, claims, enough=8)
        smoke = all(passes(test, plan, session) for test in smokes(instance))
        signature = None
        if outcome.conclusion.verdict is Status.VIOLATE and outcome.run is not None:
            signature, _ = name_cause(outcome.run, candidate)
        state, sound = _judged(instance, attempt, outcome, signature, claims, session, plan, smoke=smoke)
        detected = _detected(plan, candidate, claims) if attempt.role == "bad" else {}
    concluded = outcome.conclusion
    return Calibrated(attempt, concluded.verdict, concluded.clause, signature, smoke, state, sound, detected)


def _judged(
    instance: Instance,
    attempt: Attempt,
    outcome: Outcome,
    signature: str | None,
    claims: Mapping[str, ClaimValue],
    session: Session,
    plan: Plan,
    *,
    smoke: bool,
) -> tuple[str, bool]:
    verdict, clause = outcome.conclusion.verdict, outcome.conclusion.clause
    if attempt.role == "good":
        if verdict is not Status.CONFORM:
            return f"a good kernel must conform: {outcome.conclusion.reason or clause}", False
        return ("as expected", True) if smoke else ("a good kernel must pass the smoke tests", False)
    if attempt.role == GENERATED:
        return _mutant(instance, attempt, verdict, claims, session, plan)
    if verdict is not Status.VIOLATE:
        return (
            f"must be stopped, and the verdict is {verdict.value}: {outcome.conclusion.reason}",
            False,
        )
    if attempt.role == "baseline":
        return ("must fail the smoke tests", False) if smoke else ("as expected", True)
    return _bad(attempt, outcome, signature, smoke=smoke)


def _bad(attempt: Attempt, outcome: Outcome, signature: str | None, *, smoke: bool) -> tuple[str, bool]:
    assert outcome.run is not None
    if not smoke:
        return "the smoke tests already stop it", False
    violated = {f.finding.clause for f in outcome.run.failures} | {
        c.clause for c in outcome.conclusion.clauses if c.verdict is Status.VIOLATE
    }
    if attempt.breaks is not None and attempt.breaks not in violated:
        return f"must break `{attempt.breaks}`, and breaks {', '.join(sorted(violated))}", False
    if attempt.names is not None and attempt.names != signature:
        return f"must be named `{attempt.names}`, and is named {signature or 'nothing'}", False
    return "as expected", True


def _mutant(
    instance: Instance,
    attempt: Attempt,
    verdict: Status,
    claims: Mapping[str, ClaimValue],
    session: Session,
    plan: Plan,
) -> tuple[str, bool]:
    """Judge a mutant made from a decision."""
    if verdict is Status.VIOLATE:
        return "killed", True
    name, _, text = attempt.name.partition(" = ")
    decision = next(d for d in instance.operator.decisions if d.name == name)
    from kernelcontracts.lang.decisions import parse_value

    if compare(decision, parse_value(text, decision), claims[name]) in ("stronger", "equal"):
        return "stronger than claimed, and conforms", True
    if _equivalent(plan, instance, claims, session):
        return "equivalent: bitwise equal to the claimed kernel on the whole plan", True
    return f"survives: {verdict.value}", False


def _equivalent(plan: Plan, instance: Instance, claims: Mapping[str, ClaimValue], session: Session) -> bool:
    from kernelcontracts.calibrate.trials import address_of

    mutant = Candidate(session, plan)
    with open_session(address_of(instance, claims, None), instance.operator, limits=Limits()) as claimed:
        twin = Candidate(claimed, plan)
        for planned in plan.cases:
            try:
                case = draw_case(plan, planned)
            except NotApplicable:
                continue
            a, b = mutant.observe(case).observation, twin.observe(case).observation
            if a.outcome is not b.outcome:
                return False
            if any(not np.all(same_bits(a.outputs[name], b.outputs[name])) for name in a.outputs):
                return False
    return True


def _detected(plan: Plan, candidate: Candidate, claims: Mapping[str, ClaimValue]) -> dict[str, tuple[int, int]]:
    """Return, stratum by stratum, at how many shapes one case is enough to stop a kernel."""
    from kernelcontracts.engine.judge import Judge, alternatives

    judge = Judge(plan.instance, alternatives(plan.instance, claims))
    table: dict[str, tuple[int, int]] = {}
    seen: set[str] = set()
    for planned in plan.cases:
        if planned.cell() in seen:
            continue
        seen.add(planned.cell())
        try:
            case = draw_case(plan, planned)
        except NotApplicable:
            continue
        scopes = judge.scopes(case)
        if judge.rejected(case, scopes):
            continue
        observed = candidate.observe(case)
        stopped = any(f.status is Status.VIOLATE for f in judge.findings(planned, scopes, observed))
        hits, total = table.get(planned.stratum.name, (0, 0))
        table[planned.stratum.name] = (hits + stopped, total + 1)
    return table
