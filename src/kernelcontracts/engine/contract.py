"""One contract checked against one kernel for one typing: from claims to a conclusion."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from kernelcontracts.engine.conclude import LOOKS, Conclusion, conclude, level_of
from kernelcontracts.engine.judge import Judge, alternatives, outside_claims
from kernelcontracts.engine.result import Status
from kernelcontracts.engine.run import Candidate, Run, drawn, measure
from kernelcontracts.lang.claims import completions
from kernelcontracts.lang.values import Unspecified
from kernelcontracts.stats.coverage import required_cases

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from kernelcontracts.engine.plan import Plan, PlannedCase
    from kernelcontracts.engine.run import Listener
    from kernelcontracts.evaluate.case import Case, Observed
    from kernelcontracts.lang.instance import Instance
    from kernelcontracts.lang.values import Claimed, ClaimValue


@dataclass(eq=False, slots=True)
class Outcome:
    """What was found: the conclusion, the run it rests on, and what the claims leave open."""

    conclusion: Conclusion
    run: Run | None = None
    gaps: tuple[str, ...] = ()
    strongest: dict[str, str] | None = None
    notes: list[str] = field(default_factory=list)


def outside(reason: str) -> Outcome:
    """Return the outcome of a check that the contract says nothing about."""
    return Outcome(Conclusion(Status.OUT_OF_CONTRACT, None, None, None, reason, ()))


def check_contract(
    plan: Plan,
    candidate: Candidate,
    claims: Mapping[str, Claimed],
    *,
    listener: Listener | None = None,
    enough: int = 1,
) -> Outcome:
    """Check a kernel against a contract.

    Parameters
    ----------
    claims
        The claim sheet's answers. Missing ones make the check judge every completion (language reference,
        "gaps"): conform only if all conform, violate only if all violate.
    enough
        How many failing cases to collect before stopping.
    """
    gaps = tuple(name for name in plan.instance.needs if name not in claims)
    if gaps:
        return _with_gaps(plan, candidate, claims, gaps, listener)
    readings = alternatives(plan.instance, claims)
    for reading in readings:
        why = outside_claims(plan.instance, reading)
        if why:
            return outside(f"the contract asks that `{why}` be claimed, and it is not")
    run = Run(plan, Judge(plan.instance, readings))
    measure_all(run, candidate, listener=listener, enough=enough)
    return Outcome(conclude(run), run, notes=_notes(plan, claims))


def measure_all(
    run: Run,
    candidate: Candidate,
    *,
    listener: Listener | None = None,
    enough: int = 1,
    seen: Mapping[int, tuple[Case, Observed]] | None = None,
) -> None:
    """Judge the plan's cases, then those of its statistical cells, and more of these while they are open."""
    measure(run, candidate, cases=run.plan.cases, listener=listener, enough=enough, seen=seen)
    if seen is None:
        _make_up(run, candidate, listener=listener, enough=enough)
    if run.violated:
        return
    measure(run, candidate, cases=run.plan.averages, listener=listener, enough=enough, seen=seen)
    for round_ in range(1, LOOKS if seen is None else 1):
        if run.violated or not _open(run):
            return
        measure(run, candidate, cases=run.plan.more_averages(round_), listener=listener, enough=enough)


def _make_up(run: Run, candidate: Candidate, *, listener: Listener | None, enough: int) -> None:
    """Draw further seeds where strata do not exist for some shapes, or lie outside the domain that the claims leave.

    A weak claim makes the domain smaller (`n u <= 1/4`); what is then promised speaks of the smaller domain, at the
    promised confidence. What was rejected is counted and reported.
    """
    need = required_cases(*run.plan.promised)
    for round_ in range(1, 4):
        if run.violated or run.cases == 0 or run.cases >= min(need, len(run.plan.cases)):
            return
        missing = need - run.cases
        measure(run, candidate, cases=_existing(run, round_, missing), listener=listener, enough=enough)


def _existing(run: Run, round_: int, count: int) -> Iterator[PlannedCase]:
    """Yield up to ``count`` further cases from cells that exist, every stratum in turn."""
    further = [c for c in run.plan.more_cases(round_) if c.cell() not in run.empty_cells]
    step = max(1, len(further) // count)
    yield from further[::step][:count] if step > 1 else further[:count]


def _open(run: Run) -> bool:
    level = level_of(run)
    return any(union.best(level).status(level) is Status.UNDECIDED for union in run.cells.values())


def _notes(plan: Plan, claims: Mapping[str, Claimed]) -> list[str]:
    open_ = [name for name in plan.instance.needs if isinstance(claims.get(name), Unspecified)]
    return [f"`{name}` is left unspecified: judged on the union of what its values accept" for name in open_]


def _with_gaps(
    plan: Plan,
    candidate: Candidate,
    claims: Mapping[str, Claimed],
    gaps: tuple[str, ...],
    listener: Listener | None,
) -> Outcome:
    """Measure once and judge under every completion of the claims, the strongest first."""
    recorder = Run(plan, Judge(plan.instance, ()))
    seen: dict[int, tuple[Case, Observed]] = {}
    _observe(recorder, candidate, (*plan.cases, *plan.averages), seen, listener)
    further: list[PlannedCase] = []
    missing = min(required_cases(*plan.promised), len(plan.cases)) - (len(seen) - len(plan.averages))
    for round_ in range(1, 4):
        if missing <= 0 or not seen:
            break
        more = list(_existing(recorder, round_, missing))
        _observe(recorder, candidate, more, seen, listener)
        further += more
        missing -= len(more)
    return _judged(plan, candidate, claims, gaps, seen, recorder, further)


def _observe(
    recorder: Run,
    candidate: Candidate,
    cases: Iterable[PlannedCase],
    seen: dict[int, tuple[Case, Observed]],
    listener: Listener | None,
) -> None:
    for planned, case in drawn(recorder.plan, cases, recorder):
        observed = candidate.observe(case)
        seen[planned.index] = (case, observed)
        if listener is not None:
            listener.case(recorder.plan, planned, observed, [])


def _judged(
    plan: Plan,
    candidate: Candidate,
    claims: Mapping[str, Claimed],
    gaps: tuple[str, ...],
    seen: Mapping[int, tuple[Case, Observed]],
    recorder: Run,
    further: list[PlannedCase],
) -> Outcome:
    tried: list[tuple[Mapping[str, ClaimValue], Run, Conclusion]] = []
    # strongest values come first in every decision, so the first completion that conforms is a strongest one
    for readings in readings_under_gaps(plan.instance, claims, gaps):
        run = Run(plan, Judge(plan.instance, readings), inapplicable=recorder.inapplicable)
        measure(run, candidate, cases=further, seen=seen)
        if not run.violated:
            measure_all(run, candidate, seen=seen)
        concluded = conclude(run)
        tried.append((readings[0], run, concluded))
        if concluded.verdict is Status.CONFORM:
            return _found(tried, gaps)
    if not tried:
        return outside(f"no value of {_words(gaps)} is within what the contract asks to be claimed")
    if all(c.verdict is Status.VIOLATE for _, _, c in tried):
        _, run, concluded = tried[-1]
        return Outcome(concluded, run, gaps, notes=["violated under every completion of the missing claims"])
    _, run, concluded = next(t for t in tried if t[2].verdict is not Status.VIOLATE)
    if all(c.verdict is Status.OUT_OF_CONTRACT for _, _, c in tried):
        return Outcome(concluded, run, gaps)
    reason = f"{_words(gaps)} not declared, and {concluded.reason}"
    return Outcome(_under(concluded, reason), run, gaps)


def readings_under_gaps(
    instance: Instance, claims: Mapping[str, Claimed], gaps: tuple[str, ...]
) -> Iterator[tuple[dict[str, ClaimValue], ...]]:
    """Yield the readings of each completion of missing claims that the contract's scope admits."""
    refused = {n: v for n, v in claims.items() if n in instance.needs and isinstance(v, Unspecified)}
    given = {n: v for n, v in claims.items() if n in instance.needs and n not in refused}
    for completion in completions(instance.operator, gaps, given):
        readings = alternatives(instance, {**refused, **completion})
        if not any(outside_claims(instance, reading) for reading in readings):
            yield readings


def _found(tried: list[tuple[Mapping[str, ClaimValue], Run, Conclusion]], gaps: tuple[str, ...]) -> Outcome:
    reading, run, concluded = tried[-1]
    strongest = {name: str(reading[name]) for name in gaps}
    if len(tried) == 1:
        note = "conforms under the strongest completion, and so under all weaker ones"
        return Outcome(concluded, run, gaps, strongest, [note])
    said = ", ".join(f"{name} = {value}" for name, value in strongest.items())
    reason = f"{_words(gaps)} not declared; the strongest claims this run supports: {said}"
    return Outcome(_under(concluded, reason), run, gaps, strongest)


def _under(concluded: Conclusion, reason: str) -> Conclusion:
    return Conclusion(
        Status.UNDER_SPECIFIED,
        concluded.clause,
        concluded.p,
        concluded.confidence,
        reason,
        concluded.clauses,
    )


def _words(gaps: tuple[str, ...]) -> str:
    return ", ".join(f"`{gap}`" for gap in gaps)
