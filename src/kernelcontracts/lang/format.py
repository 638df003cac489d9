"""Formatting: the canonical text of a tree, with the comments of the text it came from.

The result is parsed again. If its tree differs, the text is refused: a formatter that changes what a contract says
would be worse than none.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kernelcontracts.lang.diagnostics import Diagnostic, diagnostic
from kernelcontracts.lang.format_comments import place_comments
from kernelcontracts.lang.parse import parse
from kernelcontracts.lang.printer import file_rows
from kernelcontracts.lang.printer_rows import emit
from kernelcontracts.lang.source import Source
from kernelcontracts.lang.span import Span

if TYPE_CHECKING:
    from kernelcontracts.lang.parse import ParseResult


@dataclass(frozen=True, slots=True)
class FormatResult:
    """The formatted text, or ``None`` and the reasons."""

    text: str | None
    diagnostics: tuple[Diagnostic, ...]


def format_text(source: Source) -> FormatResult:
    """Format a text.

    Comments are kept: one on a line of its own stays before the item it stood before, one after an item stays after
    it. Sections and items that the canonical order moves take their comments along.
    """
    result = parse(source)
    if result.file is None:
        return FormatResult(None, result.diagnostics)
    text = _print(source, result)
    again = parse(Source(source.name, text))
    if again.file != result.file or _texts(again) != _texts(result):
        return FormatResult(None, (_refusal(source),))
    return FormatResult(text, result.diagnostics)


def _print(source: Source, result: ParseResult) -> str:
    assert result.file is not None
    rows = file_rows(result.file)
    notes = place_comments(rows, source, result)
    return "\n".join([*emit(rows, notes), *notes.last]) + "\n"


def _texts(result: ParseResult) -> list[str]:
    """Return the comments without their layout, in an order that moving sections does not change."""
    return sorted(c.text.lstrip("#").strip() for c in result.comments)


def _refusal(source: Source) -> Diagnostic:
    return diagnostic(
        "E0107",
        "formatting this file would change what it says, so it was left alone",
        source=source,
        span=Span(0, 0),
        notes=["this is a defect of the formatter, not of the file"],
        help="report the file that does it",
    )
