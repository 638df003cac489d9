"""What ``kc replay`` prints."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from kernelcontracts.check.replay import Replayed


def replay_lines(kernel: str, answers: Iterable[Replayed]) -> Iterator[str]:
    """Yield one block per witness."""
    for answer in answers:
        witness, finding = answer.witness, answer.finding
        word = "violated again" if answer.repeated else f"{finding.status.value} now"
        yield f"{word:16s}{witness.contract}#{witness.clause}  {kernel}  {witness.stratum}, case {witness.case}"
        if finding.got is not None and finding.expected is not None and finding.tolerance is not None:
            yield f"    at {finding.index}"
            yield f"    got       {finding.got!r}  ({finding.got.hex()})"
            yield f"    expected  {finding.expected!r}  ({finding.expected.hex()})"
            yield f"    allowed   {finding.tolerance!r}  ({finding.tolerance.hex()})"
        elif finding.reason:
            yield f"    {finding.reason}"
        if answer.changed:
            yield f"    note: {answer.changed}"
