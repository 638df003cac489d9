"""Source texts: reading them safely, and turning offsets into lines and columns."""

from __future__ import annotations

import codecs
from bisect import bisect_right
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from kernelcontracts.lang.diagnostics import Diagnostic, diagnostic
from kernelcontracts.lang.span import Span

if TYPE_CHECKING:
    from collections.abc import Callable

MAX_BYTES = 4 * 1024 * 1024
"""The largest source file that is read, in bytes.

The shipped library is 26 kB in 8 files, so a file of 4 MiB holds 150 libraries; anything larger is data that
was passed by mistake, and parsing it would take more than ten seconds.
"""


@dataclass(frozen=True, slots=True)
class Source:
    """A named text.

    Attributes
    ----------
    name
        How messages call it: a path, ``<stdin>``, a test's name.
    text
        The characters. Offsets and spans count these, not bytes.
    path
        The file it was read from, or ``None``. Only then is the module's name compared with the file's.
    """

    name: str
    text: str
    path: Path | None = field(default=None, compare=False)
    _starts: list[int] = field(default_factory=list, init=False, compare=False, repr=False)

    def position(self, offset: int) -> tuple[int, int]:
        """Return the line and the column of an offset, both counted from 1."""
        starts = self._line_starts()
        line = bisect_right(starts, offset)
        return line, offset - starts[line - 1] + 1

    def line_text(self, line: int) -> str:
        """Return a line (counted from 1) without its end-of-line characters."""
        starts = self._line_starts()
        if not 1 <= line <= len(starts):
            return ""
        end = starts[line] if line < len(starts) else len(self.text)
        return self.text[starts[line - 1] : end].rstrip("\r\n")

    @property
    def lines(self) -> int:
        """How many lines the text has; an empty text has one."""
        return len(self._line_starts())

    def _line_starts(self) -> list[int]:
        if not self._starts:
            # the list is a cache of `text`, filled at the first question: most sources are never asked
            self._starts.append(0)
            self._starts.extend(i + 1 for i, c in enumerate(self.text) if c == "\n")
        return self._starts


def read_source(path: str | Path) -> Source | Diagnostic:
    """Read a source file.

    Returns
    -------
    Source or Diagnostic
        The text, or the reason (E0106) why this file is not one: missing, a directory, unreadable, empty, too
        large, binary, or not UTF-8. Bad input never raises.
    """
    file = Path(path)
    try:
        size = file.stat().st_size
        if file.is_dir():
            return _unreadable(file, "is a directory", "name the .kc files in it")
        if size > MAX_BYTES:
            return _too_large(file, size)
        # a pipe has no size, so the limit is applied again while reading
        with file.open("rb") as stream:
            data = stream.read(MAX_BYTES + 1)
    except OSError as error:
        return _unreadable(file, _reason(error), None)
    except ValueError:
        return _unreadable(file, "has a name that no file can have", None)
    return decode_source(str(path), data, path=file)


def decode_source(name: str, data: bytes, *, path: Path | None = None) -> Source | Diagnostic:
    """Turn bytes into a source, or say why they are not one."""
    for check in (_check_size, _check_mark, _check_binary):
        problem = check(name, data)
        if problem is not None:
            return problem
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        return _unreadable(
            name,
            f"is not UTF-8: byte {data[error.start]:#04x} at offset {error.start} (line {line})",
            "save the file as UTF-8",
        )
    if not text.strip():
        return _unreadable(name, "is empty", "a file begins with `kernel-contracts 0.1` and `module …`")
    return Source(name, text, path)


def _check_size(name: str, data: bytes) -> Diagnostic | None:
    return _too_large(name, len(data)) if len(data) > MAX_BYTES else None


def _check_mark(name: str, data: bytes) -> Diagnostic | None:
    marks = {
        codecs.BOM_UTF8: "a UTF-8 byte order mark",
        codecs.BOM_UTF16_LE: "a UTF-16 byte order mark",
        codecs.BOM_UTF16_BE: "a UTF-16 byte order mark",
    }
    for mark, what in marks.items():
        if data.startswith(mark):
            return _unreadable(name, f"begins with {what}", "save it as UTF-8 without a byte order mark")
    return None


def _check_binary(name: str, data: bytes) -> Diagnostic | None:
    at = data.find(b"\0")
    if at < 0:
        return None
    return _unreadable(name, f"is binary: a zero byte at offset {at}", "name a text file")


def _too_large(name: str | Path, size: int) -> Diagnostic:
    return _unreadable(
        name,
        f"is too large: {size} bytes, and {MAX_BYTES} is the limit",
        "split it into modules; data does not belong in a contract",
    )


def _unreadable(name: str | Path, what: str, advice: str | None) -> Diagnostic:
    source = Source(str(name), "")
    return diagnostic("E0106", f"`{name}` {what}", source=source, span=Span(0, 0), help=advice)


def _reason(error: OSError) -> str:
    known: dict[type[OSError], str] = {
        FileNotFoundError: "does not exist",
        PermissionError: "cannot be read: permission denied",
        IsADirectoryError: "is a directory",
        NotADirectoryError: "does not exist: a part of its path is not a directory",
    }
    text: Callable[[OSError], str] = lambda e: f"cannot be read: {(e.strerror or str(e)).lower()}"  # noqa: E731 - used once, below
    return known.get(type(error)) or text(error)
