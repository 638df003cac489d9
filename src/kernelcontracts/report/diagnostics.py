"""Diagnostics for people and for programs: in full, a line each, or as JSON."""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING, Any

from kernelcontracts.report.lines import Line, Span, clean, plain

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from kernelcontracts.lang.diagnostics import Diagnostic
    from kernelcontracts.lang.source import Source
    from kernelcontracts.lang.span import Span as Place

_STYLES = {"error": "error", "warning": "undecided", "note": "label"}


def text_lines(diagnostics: Iterable[Diagnostic]) -> Iterator[Line]:
    """Yield every diagnostic in full: the statement, the place with its text, why, and what to do."""
    for diagnostic in diagnostics:
        yield from _full(diagnostic)
        yield ()


def concise_lines(diagnostics: Iterable[Diagnostic]) -> Iterator[Line]:
    """Yield ``file:line:column: error[E0301]: message``, a line each."""
    for d in diagnostics:
        place = f"{_name(d.source)}:{d.line}:{d.column}: " if d.source and d.line else ""
        kind = Span(f"{d.severity}[{d.code}]", _STYLES[d.severity])
        yield Span(clean(place)), kind, Span(clean(f": {d.message}"))


def render(diagnostics: Iterable[Diagnostic]) -> str:
    """Return all diagnostics in full, without styles."""
    return plain(text_lines(diagnostics))


def render_concise(diagnostics: Iterable[Diagnostic]) -> str:
    """Return a line for each diagnostic."""
    return plain(concise_lines(diagnostics))


def render_json(diagnostics: Iterable[Diagnostic]) -> str:
    """Return a JSON list; lines and columns count from 1, columns in characters, the end is exclusive."""
    import msgspec

    data = [_data(d) for d in diagnostics]
    return msgspec.json.format(msgspec.json.encode(data), indent=2).decode() + "\n"


def summary(diagnostics: Sequence[Diagnostic]) -> str:
    """Return ``2 errors, 1 warning``, or an empty text if there is nothing."""
    counts = [(kind, sum(d.severity == kind for d in diagnostics)) for kind in ("error", "warning", "note")]
    return ", ".join(f"{n} {kind}{'s' if n > 1 else ''}" for kind, n in counts if n)


# --- in full ---------------------------------------------------------------------------------------------------------


def _full(d: Diagnostic) -> Iterator[Line]:
    yield Span(f"{d.severity}[{d.code}]", _STYLES[d.severity]), Span(clean(f": {d.message}"), "name")
    places = _places(d)
    width = max((len(str(line)) for _, line, *_ in places), default=1)
    margin = " " * width
    if d.source is not None and d.source.text and d.span is not None:
        yield Span(f"{margin}--> ", "label"), Span(clean(f"{_name(d.source)}:{d.line}:{d.column}"))
        shown: Source | None = d.source
        yield (Span(f"{margin} |", "label"),)
        for source, line, place, text, primary in places:
            if source is not shown:
                yield Span(f"{margin}::: ", "label"), Span(clean(_name(source)))
                shown = source
            yield from _excerpt(source, line, place, text, width, "error" if primary else "label")
    elif d.source is not None:
        yield Span(f"{margin}--> ", "label"), Span(clean(_name(d.source)))
    for note in d.notes:
        yield from _remark("note", note, margin)
    if d.help is not None:
        yield from _remark("help", d.help, margin)


def _places(d: Diagnostic) -> list[tuple[Source, int, Place, str, bool]]:
    """Return the places to show: the first one, then the others in the order of the text."""
    if d.source is None or d.span is None or not d.source.text:
        return []
    places = [(d.source, d.line, d.span, d.label, True)]
    for label in sorted(d.secondary, key=lambda item: item.span.start):
        source = label.source or d.source
        places.append((source, source.position(label.span.start)[0], label.span, label.text, False))
    return places


def _excerpt(source: Source, line: int, place: Place, text: str, width: int, style: str) -> Iterator[Line]:
    raw = source.line_text(line)
    column = source.position(place.start)[1] - 1
    # a place that goes on over several lines is underlined to the end of its first
    end = min(column + max(place.end - place.start, 1), max(len(raw), column + 1))
    before, marked = raw[:column], raw[column:end]
    sign = "^" if style == "error" else "-"
    yield Span(f"{line:>{width}} | ", "label"), Span(_shown(raw))
    under = " " * _columns(before) + sign * max(_columns(marked), 1)
    yield Span(f"{' ' * width} | ", "label"), Span(under, style), Span(clean(f" {text}" if text else ""), style)


def _shown(text: str) -> str:
    return clean(text.replace("\t", " "))


def _columns(text: str) -> int:
    """Return how many columns a terminal takes for a text."""
    wide = sum(unicodedata.east_asian_width(c) in "WF" for c in _shown(text))
    marks = sum(unicodedata.combining(c) != 0 for c in text)
    return len(_shown(text)) + wide - marks


def _remark(kind: str, text: str, margin: str) -> Iterator[Line]:
    first, *rest = text.split("\n")
    yield Span(f"{margin} = ", "label"), Span(f"{kind}: ", "name"), Span(clean(first))
    for line in rest:
        yield Span(f"{margin}   ", "label"), Span(clean(line))


def _name(source: Source | None) -> str:
    return source.name if source is not None else ""


# --- for programs ----------------------------------------------------------------------------------------------------


def _data(d: Diagnostic) -> dict[str, Any]:
    return {
        "code": d.code,
        "name": d.name,
        "severity": d.severity,
        "message": d.message,
        "place": _place(d.source, d.span, d.label),
        "secondary": [_place(label.source or d.source, label.span, label.text) for label in d.secondary],
        "notes": list(d.notes),
        "help": d.help,
    }


def _place(source: Source | None, span: Place | None, label: str) -> dict[str, Any] | None:
    if source is None:
        return None
    data: dict[str, Any] = {"file": source.name, "label": label}
    if span is not None and source.text:
        line, column = source.position(span.start)
        end_line, end_column = source.position(span.end)
        data |= {"line": line, "column": column, "end_line": end_line, "end_column": end_column}
    return data
