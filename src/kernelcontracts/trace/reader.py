"""Reading a trace back, a whole one or the part that a killed run left."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from kernelcontracts.trace.schema import SCHEMA, Clause, End, Header, Line, Witness
from kernelcontracts.trace.writer import TraceError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from os import PathLike

_DECODER: msgspec.json.Decoder[Line] = msgspec.json.Decoder(Line)


@dataclass(frozen=True, slots=True)
class Trace:
    """A trace as read.

    Attributes
    ----------
    lines
        Every whole line after the header, in order.
    truncated
        What is missing, in one line, or ``""``: the last line was cut, or the end line is not
        there.
    """

    path: Path
    header: Header
    lines: tuple[Line, ...]
    truncated: str

    @property
    def clauses(self) -> tuple[Clause, ...]:
        """The judged clauses of every case."""
        return tuple(line for line in self.lines if isinstance(line, Clause))

    @property
    def witnesses(self) -> tuple[Witness, ...]:
        """The inputs on which a clause failed."""
        return tuple(line for line in self.lines if isinstance(line, Witness))

    @property
    def end(self) -> End | None:
        """The last line of a complete run; ``None`` if the run was interrupted."""
        return self.lines[-1] if self.lines and isinstance(self.lines[-1], End) else None


def read_trace(path: str | PathLike[str]) -> Trace:
    """Read a trace file.

    A cut last line is reported in `Trace.truncated`, and what stands before it is kept. Anything
    else that does not fit is an error: a line in the middle was not cut by a killed process.

    Raises
    ------
    TraceError
        If the file cannot be read, is not a trace, is of another version, or holds a line that does
        not fit.
    """
    source = Path(path)
    header, lines, cut = _whole_lines(source)
    _check_order(source, lines)
    ended = bool(lines) and isinstance(lines[-1], End)
    missing = "" if ended else f"{source}: interrupted; there is no end line"
    return Trace(source, header, tuple(lines), cut or missing)


def _whole_lines(source: Path) -> tuple[Header, list[Line], str]:
    """Return the header, the other lines, and what is wrong with a cut last one."""
    texts = _texts(source)
    _, first, _ = next(texts, (1, b"", True))
    header = _header(source, first)
    lines: list[Line] = []
    for number, text, whole in texts:
        try:
            lines.append(_DECODER.decode(text))
        except msgspec.MsgspecError as error:
            if not whole:
                return (
                    header,
                    lines,
                    f"{source}:{number}: cut after {len(text)} bytes",
                )
            raise TraceError(f"{source}:{number}: not a line of a trace: {_plain(error)}") from None
    return header, lines, ""


def _texts(source: Path) -> Iterator[tuple[int, bytes, bool]]:
    """Yield each line's number, its bytes, and whether it ends as a line does."""
    try:
        with source.open("rb") as file:
            for number, text in enumerate(file, start=1):
                yield number, text.rstrip(b"\r\n"), text.endswith(b"\n")
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise TraceError(f"cannot read the trace `{source}`: {reason}") from None


def _header(source: Path, text: bytes) -> Header:
    schema = _schema(text)
    if schema is not None and schema != SCHEMA:
        raise TraceError(f"{source}:1: the trace is of version `{schema}`; this tool reads `{SCHEMA}`")
    try:
        return msgspec.json.decode(text, type=Header)
    except msgspec.MsgspecError as error:
        reason = "the file is empty" if not text else _plain(error)
        raise TraceError(f"{source}:1: not the header of a `{SCHEMA}` trace: {reason}") from None


def _schema(text: bytes) -> str | None:
    """Return the version a first line declares, before anything else of it is believed."""
    try:
        found = msgspec.json.decode(text)
    except msgspec.MsgspecError:
        return None
    schema = found.get("schema") if isinstance(found, dict) else None
    return schema if isinstance(schema, str) else None


def _check_order(source: Path, lines: list[Line]) -> None:
    for number, line in enumerate(lines, start=2):
        if isinstance(line, Header):
            raise TraceError(f"{source}:{number}: a second header; a trace file holds one run")
        if isinstance(line, End) and number != len(lines) + 1:
            raise TraceError(f"{source}:{number}: lines follow the end line of the run")


def _plain(error: Exception) -> str:
    text = str(error)
    return text[:1].lower() + text[1:]
