"""The loop of a check: draw a case, observe the candidate, judge.

The oracle's work happens here, in the harness, through functions that take inputs and claims only (docs/adr/
0003): the candidate runs in another process and never sees a reference or a tolerance.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from kernelcontracts.engine.result import Status
from kernelcontracts.engine.tally import ClauseTally, Failure, Union
from kernelcontracts.evaluate.case import Case, Observed, param_shape
from kernelcontracts.kernels.observation import Outcome
from kernelcontracts.strata.draw import draw
from kernelcontracts.strata.errors import NotApplicable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from kernelcontracts.engine.judge import Judge
    from kernelcontracts.engine.plan import Plan, PlannedCase
    from kernelcontracts.engine.tally import Finding
    from kernelcontracts.evaluate.field import Array
    from kernelcontracts.kernels.observation import Observation

    Shape = Mapping[str, int | tuple[int, ...]]


class Caller(Protocol):
    """Something that can be asked what a kernel does on some inputs."""

    def call(
        self,
        inputs: Mapping[str, Array],
        *,
        types: Mapping[str, str],
        output_shapes: Mapping[str, tuple[int, ...]],
        layouts: Mapping[str, str],
    ) -> Observation:
        """Call the kernel once."""
        ...


class Listener(Protocol):
    """Hears of every case and finding: the trace writer, the progress bar."""

    def case(self, plan: Plan, planned: PlannedCase, observed: Observed, findings: list[Finding]) -> None:
        """Take note of a judged case."""
        ...


@dataclass(eq=False, slots=True)
class Candidate:
    """A kernel together with the operator and typing it is asked about."""

    caller: Caller
    plan: Plan

    def observe(self, case: Case) -> Observed:
        """Call the kernel on a case's inputs, and remember how to call it on others."""

        def call(inputs: Mapping[str, Array], layouts: Mapping[str, str]) -> Observation:
            return self.caller.call(
                inputs,
                types=case.types,
                output_shapes=self._output_shapes(case, inputs),
                layouts=layouts,
            )

        return Observed(call(case.inputs, {}), call)

    def _output_shapes(self, case: Case, inputs: Mapping[str, Array]) -> dict[str, tuple[int, ...]]:
        shape = case.shape if inputs is case.inputs else shape_from(case, inputs)
        return {p.name: param_shape(p, shape) for p in case.operator.outputs}


def shape_from(case: Case, inputs: Mapping[str, Array]) -> Shape:
    """Return the dimensions of changed inputs, by the operator's signature."""
    from kernelcontracts.lang.expr import Star

    sizes: dict[str, int | tuple[int, ...]] = dict(case.shape)
    for param in case.operator.inputs:
        have = list(inputs[param.name].shape)
        plain = [d for d in param.dims if not isinstance(d, Star)]
        lead = len(have) - len(plain)
        for dim in param.dims:
            if isinstance(dim, Star):
                sizes[dim.name] = tuple(have[:lead])
                have = have[lead:]
            else:
                sizes[dim.id] = have.pop(0)  # type: ignore[union-attr]  # a signature's dims are names
    return sizes


@dataclass(eq=False, slots=True)
class Run:
    """What checking one contract for one typing and one reading of the claims has shown so far."""

    plan: Plan
    judge: Judge
    clauses: dict[str, ClauseTally] = field(default_factory=dict)
    cells: dict[tuple[str, str], Union] = field(default_factory=dict)
    failures: list[Failure] = field(default_factory=list)
    cases: int = 0
    undecided: int = 0
    rejected: dict[str, int] = field(default_factory=dict)
    inapplicable: dict[str, str] = field(default_factory=dict)
    empty_cells: set[str] = field(default_factory=set)
    silent: set[str] = field(default_factory=set)
    nan_cases: dict[str, tuple[int, int]] = field(default_factory=dict)

    @property
    def violated(self) -> bool:
        """Whether a case has convicted the kernel."""
        return bool(self.failures)


def draw_case(plan: Plan, planned: PlannedCase) -> Case:
    """Draw a case's inputs.

    Raises
    ------
    NotApplicable
        If the stratum has no member for these formats and sizes.
    """
    operator = plan.instance.operator
    inputs = draw(
        planned.stratum,
        operator=operator,
        shape=planned.shape,
        types=plan.types,
        key=plan.key(planned),
    )
    return Case(operator, plan.types, planned.shape, inputs)


def drawn(plan: Plan, cases: Iterable[PlannedCase], run: Run) -> Iterator[tuple[PlannedCase, Case]]:
    """Yield the cases that exist, counting those that do not."""
    for planned in cases:
        try:
            yield planned, draw_case(plan, planned)
        except NotApplicable as why:
            run.inapplicable.setdefault(planned.stratum.name, str(why))
            run.empty_cells.add(planned.cell())


MOST_FAILURES = 24
"""Failing cases kept for diagnosis; a signature needs several, and memory is bounded."""


def measure(
    run: Run,
    candidate: Candidate,
    *,
    cases: Iterable[PlannedCase],
    listener: Listener | None = None,
    enough: int = 1,
    seen: Mapping[int, tuple[Case, Observed]] | None = None,
) -> None:
    """Judge cases until ``enough`` have failed.

    Parameters
    ----------
    seen
        Cases observed before, by index: they are judged without calling the kernel again.
    """
    for planned, case in _subjects(run, cases, seen):
        scopes = run.judge.scopes(case)
        why = run.judge.rejected(case, scopes)
        if why:
            run.rejected[why] = run.rejected.get(why, 0) + 1
            run.empty_cells.add(planned.cell())
            continue
        observed = seen[planned.index][1] if seen is not None else candidate.observe(case)
        findings = list(run.judge.findings(planned, scopes, observed))
        _count(run, planned, case, observed, findings)
        if planned.statistical or not run.plan.averages:
            run.judge.contributions(planned, scopes, observed, run.cells, run.silent)
        if listener is not None:
            listener.case(run.plan, planned, observed, findings)
        # a hang is its own explanation, and every further one costs the whole time limit
        if len(run.failures) >= enough or (run.failures and observed.observation.outcome is Outcome.TIMED_OUT):
            return


def _subjects(
    run: Run, cases: Iterable[PlannedCase], seen: Mapping[int, tuple[Case, Observed]] | None
) -> Iterator[tuple[PlannedCase, Case]]:
    if seen is None:
        yield from drawn(run.plan, cases, run)
        return
    for planned in cases:
        if planned.index in seen:
            yield planned, seen[planned.index][0]


def _count(run: Run, planned: PlannedCase, case: Case, observed: Observed, findings: list[Finding]) -> None:
    # a failure rate speaks of the plan's own cases; those added for averages come from a few of its strata only
    run.cases += not planned.statistical
    worst = Status.CONFORM
    for finding in findings:
        tally = run.clauses.setdefault(finding.clause, ClauseTally(finding.clause))
        tally.add(finding)
        worst = min(worst, finding.status, key=lambda s: s.rank)
    run.undecided += worst is Status.UNDECIDED and not planned.statistical
    _count_nan(run, planned, observed)
    if worst is Status.VIOLATE and len(run.failures) < MOST_FAILURES:
        finding = next(f for f in findings if f.status is Status.VIOLATE)
        run.failures.append(Failure(planned, case, observed, finding))


def _count_nan(run: Run, planned: PlannedCase, observed: Observed) -> None:
    nan, total = run.nan_cases.get(planned.stratum.name, (0, 0))
    has = any(_has_nan(array) for array in observed.observation.outputs.values())
    run.nan_cases[planned.stratum.name] = (nan + has, total + 1)


def _has_nan(array: Any) -> bool:
    return array.dtype.kind != "i" and bool((array != array).any())  # noqa: PLR0124  # NaN alone differs from itself
