"""Finding the item to which a comment belongs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kernelcontracts.lang.parse import doc_comments
from kernelcontracts.lang.parse_grammar import machine
from kernelcontracts.lang.parse_layout import END, NEWLINE, lay_out
from kernelcontracts.lang.printer_rows import Notes, Row
from kernelcontracts.lang.span import Span

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kernelcontracts.lang.parse import Comment, ParseResult
    from kernelcontracts.lang.parse_layout import Layout
    from kernelcontracts.lang.source import Source


@dataclass(slots=True)
class _Item:
    """An item of the text: its first word, and where it and its block begin and end."""

    word: str
    span: Span
    used: bool = False


def place_comments(rows: Sequence[Row], source: Source, result: ParseResult) -> Notes:
    """Return the comments by row. Doc comments are data of the tree, and printed with it."""
    assert result.file is not None
    layout = lay_out(machine().scanner.scan(source.text), len(source.text))
    _complete_spans(rows, Span(0, len(source.text)), _items(layout))
    docs = doc_comments(result.file, result.comments)
    notes = Notes()
    comments = [c for c in result.comments if c not in docs]
    _Placer(source, notes).place(rows, comments, None)
    return notes


def _items(layout: Layout) -> list[_Item]:
    """Return every item of the text, outer ones before inner ones."""
    items: list[_Item] = []
    open_items: list[_Item | None] = [None]
    end = 0
    for i, token in enumerate(layout.tokens):
        if token.type == NEWLINE:
            current = open_items[-1]
            if current is not None:
                current.span = Span(current.span.start, end)
            open_items[-1] = None
            continue
        if token.type == "RBRACE" and len(open_items) > 1 and open_items[-1] is None:
            open_items.pop()
        elif open_items[-1] is None and token.type != END:
            begun = _Item(token.text, Span(token.start, token.end))
            open_items[-1] = begun
            items.append(begun)
        if i in layout.blocks:
            open_items.append(None)
        end = token.end
    return items


def _complete_spans(rows: Sequence[Row], within: Span, items: Sequence[_Item]) -> None:
    """Give a span to rows whose place is not in the tree: sections that are bare lists there."""
    for row in rows:
        if row.span is None or row.block is None:
            item = _find(row, within, items)
            if item is not None:
                item.used = True
                row.span = item.span
    for row in rows:
        if row.block is not None and row.span is not None:
            _complete_spans(row.block, row.span, items)


def _find(row: Row, within: Span, items: Sequence[_Item]) -> _Item | None:
    if row.span is not None:
        holding = (i for i in items if i.span.start <= row.span.start and row.span.end <= i.span.end)
        inner = [i for i in holding if within.start <= i.span.start]
        return min(inner, key=lambda i: i.span.end - i.span.start, default=None)
    word = row.cells[0].split()[0]
    for item in items:
        inside = within.start <= item.span.start and item.span.end <= within.end
        if inside and item.word == word and not item.used:
            return item
    return None


class _Placer:
    def __init__(self, source: Source, notes: Notes) -> None:
        self.source = source
        self.notes = notes

    def place(self, rows: Sequence[Row], comments: Sequence[Comment], owner: Row | None) -> None:
        """Give each comment to the row it stands in, follows on its line, or stands before."""
        known = [row for row in rows if row.span is not None]
        known.sort(key=lambda row: row.span.start if row.span else 0)
        inside: dict[int, list[Comment]] = {}
        for comment in comments:
            holder = next((r for r in known if r.span and r.span.start <= comment.span.start < r.span.end), None)
            if holder is not None and holder.block is not None:
                inside.setdefault(id(holder), []).append(comment)
            elif holder is not None:
                self._lead(holder, comment)
            else:
                self._between(known, comment, owner)
        for row in known:
            if row.block is not None:
                self.place(row.block, inside.get(id(row), []), row)

    def _between(self, rows: Sequence[Row], comment: Comment, owner: Row | None) -> None:
        before = [r for r in rows if r.span and r.span.end <= comment.span.start]
        following = next((r for r in rows if r.span and r.span.start >= comment.span.end), None)
        if not comment.alone and self._trails(before, comment, owner):
            return
        if following is not None:
            self._lead(following, comment)
        elif owner is not None:
            self._add(self.notes.inside.setdefault(id(owner), []), comment)
        else:
            if not self.notes.last:
                self.notes.last.append("")
            self._add(self.notes.last, comment)

    def _trails(self, before: Sequence[Row], comment: Comment, owner: Row | None) -> bool:
        """Put a comment at the end of the line it stands on, if nothing is there yet."""
        if before:
            row, target = before[-1], self.notes.trailing
            same_line = row.span is not None and self._line(row.span.end - 1) == self._line(comment.span.start)
        elif owner is not None:
            row, target = owner, self.notes.opening
            same_line = True
        else:
            return False
        if not same_line or id(row) in target:
            return False
        target[id(row)] = comment.text
        return True

    def _lead(self, row: Row, comment: Comment) -> None:
        lines = self.notes.leading.setdefault(id(row), [])
        self._add(lines, comment)
        nothing_between = self.source.text[comment.span.end : row.span.start if row.span else 0]
        # a comment that a blank line separates from what follows speaks of more than the next item
        if nothing_between.isspace() and nothing_between.count("\n") > 1:
            lines.append("")

    def _add(self, lines: list[str], comment: Comment) -> None:
        above = self.source.text[: comment.span.start].rstrip(" \t\f")
        if lines and lines[-1] and above.endswith(("\n\n", "\n\r\n")):
            lines.append("")
        lines.append(comment.text)

    def _line(self, offset: int) -> int:
        return self.source.position(offset)[0]
