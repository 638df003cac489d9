"""What was found about one contract, in one line: shared by every rendering for people."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernelcontracts.engine.result import Status
from kernelcontracts.report.numbers import at_most, brief, percent, span

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kernelcontracts.engine.result import ClauseResult, ContractResult, Statistic


def established(result: ContractResult) -> str:
    """Return what the verdict rests on."""
    match result.verdict:
        case Status.CONFORM:
            return _conformity(result)
        case Status.VIOLATE:
            return _violation(result)
        case Status.UNDER_SPECIFIED:
            return "not claimed: " + (", ".join(result.gaps) or result.reason)
        case Status.UNDECIDED | Status.OUT_OF_CONTRACT:
            return result.reason or result.message


def convicted(result: ContractResult) -> ClauseResult | None:
    """Return the clause that the verdict names, if it was measured."""
    return next((c for c in result.clauses if c.clause == result.clause), None)


def assignments(values: Mapping[str, str]) -> str:
    """Return claims as a claim sheet writes them."""
    return ", ".join(f"{name} = {value}" for name, value in values.items())


def typing(types: Mapping[str, str]) -> str:
    """Return a typing as `--types` takes it."""
    return ",".join(f"{tensor}={fmt}" for tensor, fmt in types.items())


def measured(statistic: Statistic) -> str:
    """Return a statistic with its limits and its bound."""
    return (
        f"{brief(statistic.value)} on {statistic.cell}, confidence limits "
        f"{brief(statistic.lower)} to {brief(statistic.upper)}, bound {brief(statistic.bound)}"
    )


def _conformity(result: ContractResult) -> str:
    parts = []
    if result.p is not None and result.confidence is not None:
        parts.append(f"p <= {at_most(result.p)} at {percent(result.confidence)}{_cases(result)}")
    if result.margin is not None:
        parts.append(f"worst margin {brief(result.margin.hi)}")
    return ", ".join(parts) or result.reason


def _cases(result: ContractResult) -> str:
    plan = result.plan
    if plan is None:
        return ""
    undecided = f", {plan.undecided} undecided" if plan.undecided else ""
    return f" ({plan.cases} case{'' if plan.cases == 1 else 's'}{undecided})"


def _violation(result: ContractResult) -> str:
    clause = f"clause {result.clause}" if result.clause else ""
    margin = f"margin {span(result.margin)}" if result.margin is not None else ""
    signature = f"[{result.signature}]" if result.signature else ""
    head = ", ".join(part for part in (clause, margin) if part)
    return " ".join(part for part in (head, signature) if part) or result.message
