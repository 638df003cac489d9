"""A result as one line a contract, for logs and for `grep`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernelcontracts.engine.result import Status
from kernelcontracts.report.lines import Line, Span, clean, plain
from kernelcontracts.report.phrases import established, typing

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kernelcontracts.engine.result import CheckResult, ContractResult


def render(result: CheckResult) -> str:
    """Return `kernel: contract: [types]: verdict: what was found`, a line each, errors last."""
    return plain(concise_lines(result))


def concise_lines(result: CheckResult) -> Iterator[Line]:
    """Yield the same with styles."""
    kernel = Span(f"{clean(result.kernel)}: ")
    for contract in result.results:
        name = f"{contract.contract} [{typing(contract.types)}]: "
        found = Span(f": {clean(_found(contract))}")
        yield kernel, Span(name, "name"), Span(contract.verdict, contract.verdict), found
    for error in result.errors:
        text = clean(f": {error.where}: {error.message}")
        yield kernel, Span("error", "error"), Span(text)


def _found(contract: ContractResult) -> str:
    found = established(contract)
    if contract.verdict is Status.VIOLATE and contract.message and contract.message != found:
        return f"{found} {contract.message}"
    return found
