"""Writing a trace: append only, whole lines, each handed to the system before the run goes on."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Self

import msgspec

from kernelcontracts.trace.schema import SCHEMA, End, Header, Line

if TYPE_CHECKING:
    from io import FileIO
    from os import PathLike
    from types import TracebackType


class TraceError(Exception):
    """A trace that cannot be started or read. The message names the file and what is wrong."""


class TraceWriter:
    """One run's trace file.

    A check is worth more than its trace: once the file is open, nothing here raises. The first
    failure (a full disk, a lost mount) ends the writing and is kept in `failed`; the caller reports
    it beside the result.

    Attributes
    ----------
    path
        The file.
    failed
        What went wrong, in one line, or ``None``.
    lines
        Lines completely written.
    """

    def __init__(self, path: Path, file: FileIO) -> None:
        self.path = path
        self.failed: str | None = None
        self.lines = 0
        self._file = file

    def write(self, line: Line) -> None:
        """Append one line. After a failure it does nothing."""
        if self.failed is not None:
            return
        try:
            self._write_whole(msgspec.json.encode(line) + b"\n")
        except (OSError, ValueError) as error:
            self.failed = f"the trace `{self.path}` ends after line {self.lines}: {_reason(error)}"
        else:
            self.lines += 1

    def finish(self, verdict: str) -> None:
        """Mark the run as complete and close the file."""
        self.write(End(verdict, self.lines))
        self.close()

    def close(self) -> None:
        """Close the file. A trace closed without `finish` reads as interrupted, which it is."""
        try:
            self._file.close()
        except OSError as error:
            self.failed = self.failed or f"the trace `{self.path}` may lack lines: {_reason(error)}"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        where: TracebackType | None,
    ) -> None:
        self.close()

    def _write_whole(self, data: bytes) -> None:
        # an unbuffered write may take only a part, notably just before the disk is full
        rest = memoryview(data)
        while rest:
            rest = rest[self._file.write(rest) or 0 :]


def open_trace(path: str | PathLike[str], header: Header, *, overwrite: bool = False) -> TraceWriter:
    """Create a trace file and write its header.

    Parameters
    ----------
    path
        The file; it must not exist unless `overwrite` is set, because evidence is not replaced by
        accident.
    header
        The first line. Its `schema` has to be this version's.

    Raises
    ------
    TraceError
        If the file exists or cannot be created: a mistake in the call, found before anything has
        run.
    """
    target = Path(path)
    assert header.schema == SCHEMA
    try:
        # unbuffered: a killed process loses at most the line that it was writing
        file = target.open("wb" if overwrite else "xb", buffering=0)
    except FileExistsError:
        raise TraceError(f"`{target}` exists already; name another file for the trace") from None
    except OSError as error:
        raise TraceError(f"cannot create the trace `{target}`: {_reason(error)}") from None
    writer = TraceWriter(target, file)
    writer.write(header)
    return writer


def _reason(error: Exception) -> str:
    text = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return text[:1].lower() + text[1:]
