"""From a result to the exit status of the command."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernelcontracts.engine.result import Status

if TYPE_CHECKING:
    from kernelcontracts.engine.result import CheckResult

CONFORMS, VIOLATES, USAGE, UNDECIDED = 0, 1, 2, 3

MEANINGS = {
    CONFORMS: "every contract conforms, as far as was measured",
    VIOLATES: "at least one contract is violated",
    USAGE: "the command cannot be understood",
    UNDECIDED: "something could not be decided or could not be run",
}


def exit_status(result: CheckResult) -> int:
    """Return 0 if all conform, 1 if one is violated, else 3.

    A violation is proved by its witness, so it wins over whatever else went wrong. Without a
    violation, every contract has to conform and nothing may have failed on our side: missing
    evidence is never a pass, and neither is an empty list of contracts. The status 2 is for calls
    that never led to a result.
    """
    verdicts = {contract.verdict for contract in result.results}
    if Status.VIOLATE in verdicts or result.verdict is Status.VIOLATE:
        return VIOLATES
    settled = verdicts == {Status.CONFORM} and result.verdict is Status.CONFORM
    return CONFORMS if settled and not result.errors else UNDECIDED
