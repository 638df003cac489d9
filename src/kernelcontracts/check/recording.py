"""Keeping the trace of a check, and showing that it goes on."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from kernelcontracts.check.claims import words
from kernelcontracts.check.verb import tool
from kernelcontracts.engine.result import Status
from kernelcontracts.trace import schema
from kernelcontracts.trace.schema import SCHEMA, Bits, Clause, ContractRef, Header, Interval

if TYPE_CHECKING:
    from collections.abc import Callable

    from kernelcontracts.check.claims import Sourced
    from kernelcontracts.check.request import Request
    from kernelcontracts.engine.plan import Plan, PlannedCase
    from kernelcontracts.engine.result import CheckResult, ContractResult
    from kernelcontracts.engine.tally import Finding
    from kernelcontracts.evaluate.case import Observed
    from kernelcontracts.trace.writer import TraceWriter


def header_of(request: Request, sourced: Sourced, plans: dict[str, str], environment: dict[str, str]) -> Header:
    """Return a trace's first line: what is run, on what terms, where."""
    return Header(
        schema=SCHEMA,
        tool=tool(),
        kernel=str(request.address),
        operator=request.operator.name,
        contracts=tuple(ContractRef(i.id, i.hash) for i in request.instances),
        claims=words(sourced.values, request.operator),
        types=(dict(request.types),),
        seed=request.seed,
        plans=plans,
        environment=environment,
    )


@dataclass(eq=False, slots=True)
class Recorder:
    """A listener that writes one line per clause of every case, and advances a progress display."""

    writer: TraceWriter | None
    advance: Callable[[], None]
    lines: int = field(default=0)

    def case(self, plan: Plan, planned: PlannedCase, observed: Observed, findings: list[Finding]) -> None:
        """Take note of a judged case."""
        self.advance()
        if self.writer is None:
            return
        shape = {k: list(v) if isinstance(v, tuple) else v for k, v in planned.shape.items()}
        for finding in findings:
            self.lines += 1
            self.writer.write(
                Clause(
                    contract=plan.instance.id,
                    clause=finding.clause,
                    typing=dict(plan.types),
                    stratum=planned.stratum.name,
                    shape=shape,
                    case=planned.index,
                    seed=planned.seed,
                    margin=Interval.of(finding.lo, finding.hi),
                    verdict=finding.status.value,
                    outcome=observed.observation.outcome.value,
                )
            )


def write_witnesses(writer: TraceWriter, result: CheckResult) -> None:
    """Append every witness, with all its bits, and mark the trace as complete."""
    for contract in result.results:
        if contract.witness is not None:
            writer.write(_witness(contract))
    writer.finish((result.verdict or Status.UNDECIDED).value)


def _witness(contract: ContractResult) -> schema.Witness:
    witness = contract.witness
    assert witness is not None
    return schema.Witness(
        contract=contract.contract,
        clause=contract.clause or "",
        typing=contract.types,
        stratum=witness.stratum,
        shape=witness.shape,
        case=witness.case,
        seed=witness.seed,
        inputs={name: Bits(t.format, t.shape, t.bits) for name, t in witness.inputs.items()},
        outcome=witness.outcome,
        note=witness.note,
    )
