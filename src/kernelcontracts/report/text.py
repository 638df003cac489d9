"""A result as text for people."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from kernelcontracts.engine.result import Status
from kernelcontracts.report.lines import Line, Span, clean, labelled, plain, verbatim
from kernelcontracts.report.numbers import brief
from kernelcontracts.report.phrases import (
    assignments,
    convicted,
    established,
    measured,
    typing,
)
from kernelcontracts.report.status import MEANINGS, exit_status
from kernelcontracts.report.witness import witness_lines

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kernelcontracts.engine.result import CheckResult, ClauseResult, ContractResult

WIDTH = 100
"""Columns where nobody says how wide the page is."""

_INDENT = 4


def render(result: CheckResult, *, width: int = WIDTH, verbose: bool = False) -> str:
    """Return the report as plain text.

    Parameters
    ----------
    result
        What was found.
    width
        Columns to wrap prose at. Commands and numbers are never broken.
    verbose
        Show every clause of every contract, and the environment.
    """
    return plain(text_lines(result, width=width, verbose=verbose))


def text_lines(result: CheckResult, *, width: int = WIDTH, verbose: bool = False) -> Iterator[Line]:
    """Yield the report's lines with their styles; their texts are those of `render`."""
    yield from _header(result, width=width, verbose=verbose)
    yield ()
    verdicts = max((len(c.verdict) for c in result.results), default=0) + 2
    names = max((len(c.contract) for c in result.results), default=0) + 2
    for contract in result.results:
        yield _summary(contract, verdicts, names, several=_several(result))
        yield from _details(result, contract, width=width, verbose=verbose)
    yield from _errors(result, width=width)
    yield from _footer(result)


def _several(result: CheckResult) -> bool:
    """Return whether the contracts were judged under more than one typing."""
    return len({typing(contract.types) for contract in result.results}) > 1


def _header(result: CheckResult, *, width: int, verbose: bool) -> Iterator[Line]:
    yield verbatim("kernel", result.kernel)
    yield verbatim("operator", result.operator)
    if result.results and not _several(result):
        yield verbatim("types", typing(result.results[0].types))
    yield from labelled("claims", result.claims_from, width=width)
    yield verbatim("seed", str(result.seed))
    yield verbatim("tool", result.tool)
    if verbose:
        for name, value in result.environment.items():
            yield from labelled(clean(name), value, width=width)


def _summary(contract: ContractResult, verdicts: int, names: int, *, several: bool) -> Line:
    types = f"  [{typing(contract.types)}]" if several else ""
    return (
        Span(contract.verdict.ljust(verdicts), contract.verdict),
        Span(contract.contract.ljust(names), "name"),
        Span(clean(established(contract) + types)),
    )


def _details(result: CheckResult, contract: ContractResult, *, width: int, verbose: bool) -> Iterator[Line]:
    if contract.verdict is Status.VIOLATE:
        yield from _conviction(result, contract, width=width)
    if contract.verdict is Status.UNDER_SPECIFIED:
        yield from _suggestion(contract, width=width)
    if contract.strongest is not None:
        yield from _field("conforms if", "claimed " + assignments(contract.strongest), width)
    for clause in contract.clauses:
        named = contract.verdict is Status.VIOLATE and clause.clause == contract.clause
        if verbose or not (named or clause.verdict is Status.CONFORM):
            yield from _field("clause", _clause(clause), width)
    if verbose and contract.claims:
        yield from _field("claimed", assignments(contract.claims), width)
    for note in contract.notes:
        yield from _field("note", note, width)


def _conviction(result: CheckResult, contract: ContractResult, *, width: int) -> Iterator[Line]:
    if contract.signature:
        cause = f"{contract.signature}: {contract.message}"
        yield from _field("cause", cause, width, style="cause")
    elif contract.message:
        yield from _field("what", contract.message, width, style="cause")
    if contract.reason:
        yield from _field("reason", contract.reason, width)
    clause = convicted(contract)
    if clause is not None and clause.statistic is not None:
        yield from _field("statistic", measured(clause.statistic), width)
    if contract.witness is not None:
        yield from witness_lines(contract.witness, width=width)
    if result.replay is not None:
        yield _command("replay", ["kc", "replay", result.replay])
    else:
        yield _command("rerun", _rerun(result, contract))


def _rerun(result: CheckResult, contract: ContractResult) -> list[str]:
    """Return the call that asks the same question again, where no trace was kept."""
    asked = ["--operator", result.operator, "--contract", contract.contract, "--types", typing(contract.types)]
    claimed = [word for name, value in contract.claims.items() for word in ("--claim", f"{name}={value}")]
    return ["kc", "check", result.kernel, *asked, *claimed, "--seed", str(result.seed)]


def _command(label: str, words: list[str]) -> Line:
    return verbatim(label, shlex.join(words), indent=_INDENT, style="command")


def _suggestion(contract: ContractResult, *, width: int) -> Iterator[Line]:
    if contract.gaps and contract.reason:
        yield from _field("reason", contract.reason, width)
    asked = ", ".join(f"`{gap}`" for gap in contract.gaps) or "every decision the contract reads"
    text = f"say what the kernel does about {asked} in a claim sheet, and pass it with --claims"
    yield from _field("help", text, width)


def _clause(clause: ClauseResult) -> str:
    margin = f", margin {brief(clause.margin.hi)}" if clause.margin is not None else ""
    cases = f"{clause.cases} cases" + (f", {clause.undecided} undecided" * bool(clause.undecided))
    statistic = f", {measured(clause.statistic)}" if clause.statistic is not None else ""
    reason = f": {clause.reason}" if clause.reason else ""
    return f"{clause.clause} {clause.verdict} ({cases}{margin}{statistic}){reason}"


def _field(label: str, text: str, width: int, *, style: str = "") -> Iterator[Line]:
    return labelled(label, text, width=width, indent=_INDENT, style=style)


def _errors(result: CheckResult, *, width: int) -> Iterator[Line]:
    for error in result.errors:
        text = f"{error.where}: {error.message}"
        yield from labelled("error", text, width=width, style="error")


def _footer(result: CheckResult) -> Iterator[Line]:
    status = exit_status(result)
    verdict = result.verdict or "none"
    if result.results or result.errors:
        yield ()
    yield (
        Span("verdict".ljust(12), "label"),
        Span(verdict, verdict),
        Span(f": {MEANINGS[status]} (exit status {status})"),
    )
