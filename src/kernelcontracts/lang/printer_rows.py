"""Rows: what the printer sets, with columns that line up among neighbours."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from kernelcontracts.lang.printer_layout import Doc, render

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from kernelcontracts.lang.span import Span

INDENT = 2
WIDTH = 120
"""Lines are broken to stay within this many columns, where a place to break exists."""


@dataclass(slots=True, eq=False)
class Row:
    """An item.

    Attributes
    ----------
    cells
        Texts that line up with those of the rows before and after that have the same ``run``.
    rest
        What follows them.
    span
        Where the item stood; comments find their item by it.
    block
        The items in its braces, or ``None`` if it has none.
    run
        Rows of one run that stand together line up; an empty run lines up with nothing.
    gap
        Whether a blank line comes before.
    above
        Lines that come directly before: doc comments.
    """

    cells: tuple[str, ...]
    rest: tuple[Doc, ...] = ()
    span: Span | None = None
    block: list[Row] | None = None
    run: str = ""
    gap: bool = False
    above: tuple[str, ...] = ()


@dataclass(slots=True)
class Notes:
    """Comments by the row they belong to (its ``id``).

    A comment is a line, or an empty text for a blank line between comments. ``inside`` stands at the end of a row's
    block, ``opening`` after its brace, ``trailing`` after its last character.
    """

    leading: dict[int, list[str]] = field(default_factory=dict)
    trailing: dict[int, str] = field(default_factory=dict)
    opening: dict[int, str] = field(default_factory=dict)
    inside: dict[int, list[str]] = field(default_factory=dict)
    last: list[str] = field(default_factory=list)


def emit(rows: Sequence[Row], notes: Notes, *, indent: int = 0) -> Iterator[str]:
    """Yield the lines of some rows."""
    margin = " " * indent
    widths = _widths(rows)
    for i, row in enumerate(rows):
        leading = notes.leading.get(id(row), [])
        if row.gap and i > 0:
            yield ""
        yield from (margin + line if line else "" for line in leading)
        yield from (margin + line for line in row.above)
        yield from _row(row, widths[i], notes, indent)


def _row(row: Row, widths: Sequence[int], notes: Notes, indent: int) -> Iterator[str]:
    margin = " " * indent
    text = _text(row, widths, indent)
    trailing = notes.trailing.get(id(row))
    end = f"  {trailing}" if trailing else ""
    if row.block is None:
        yield margin + text + end
        return
    opening, inside = notes.opening.get(id(row)), notes.inside.get(id(row), [])
    if not row.block and not opening and not inside:
        yield f"{margin}{text} {{ }}{end}"
        return
    yield f"{margin}{text} {{" + (f"  {opening}" if opening else "")
    yield from emit(row.block, notes, indent=indent + INDENT)
    yield from (margin + " " * INDENT + line if line else "" for line in inside)
    yield f"{margin}}}{end}"


def _text(row: Row, widths: Sequence[int], indent: int) -> str:
    cells = [cell.ljust(width) for cell, width in zip(row.cells, widths, strict=True)]
    head = " ".join(cells)
    if not row.rest:
        return head.rstrip()
    head += " "
    broken = render(row.rest, indent=indent, column=indent + len(head), width=WIDTH)
    return head + broken


def _widths(rows: Sequence[Row]) -> list[list[int]]:
    """Return the width of every cell, columns of a run made equal."""
    result: list[list[int]] = []
    for run in _runs(rows):
        columns = max(len(row.cells) for row in run)
        # a column that nothing follows needs no width
        widest = [max((len(r.cells[c]) for r in run if _followed(r, c)), default=0) for c in range(columns)]
        result += [[widest[c] if _followed(r, c) else 0 for c in range(len(r.cells))] for r in run]
    return result


def _followed(row: Row, column: int) -> bool:
    return column + 1 < len(row.cells) or (column < len(row.cells) and bool(row.rest))


def _runs(rows: Sequence[Row]) -> Iterator[list[Row]]:
    run: list[Row] = []
    for row in rows:
        if run and (not row.run or row.run != run[-1].run or row.gap):
            yield run
            run = []
        run.append(row)
    if run:
        yield run


def spread(groups: Sequence[Sequence[Row]]) -> list[Row]:
    """Join groups of rows, a blank line between each two that are not empty."""
    rows: list[Row] = []
    for members in groups:
        for i, row in enumerate(members):
            row.gap = row.gap or (i == 0 and bool(rows))
            rows.append(row)
    return rows
