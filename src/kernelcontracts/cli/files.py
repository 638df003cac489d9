"""Reading and writing the files that are named on the command line."""

from __future__ import annotations

import contextlib
import os
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from kernelcontracts.lang.diagnostics import diagnostic
from kernelcontracts.lang.source import MAX_BYTES, Source, decode_source, read_source

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kernelcontracts.lang.diagnostics import Diagnostic

STDIN = "-"


class WriteError(Exception):
    """A file that cannot be written. The message is one line; the old content is untouched."""


def read(name: str) -> Source | Diagnostic:
    """Read a file, or standard input for ``-``."""
    if name != STDIN:
        return read_source(name)
    return decode_source("<stdin>", sys.stdin.buffer.read(MAX_BYTES + 1))


def read_all(names: Iterable[str]) -> tuple[list[Source], list[Diagnostic]]:
    """Read several files; a folder stands for the ``.kc`` files below it."""
    sources: list[Source] = []
    problems: list[Diagnostic] = []
    for name in names:
        for file in _expand(name):
            got = read(file)
            (sources if isinstance(got, Source) else problems).append(got)  # type: ignore[arg-type]  # told apart
        if name != STDIN and Path(name).is_dir() and not _expand(name):
            empty = Source(name, "")
            problems.append(diagnostic("E0106", f"`{name}` holds no file that ends in `.kc`", source=empty))
    return sources, problems


def _expand(name: str) -> list[str]:
    folder = Path(name)
    try:
        if name == STDIN or not folder.is_dir():
            return [name]
        return sorted(str(file) for file in folder.rglob("*.kc"))
    except (OSError, ValueError):
        return [name]


def write(path: Path, text: str) -> None:
    """Replace a file's content in one step, its mode kept: a reader sees the old text or the new one, never half.

    Raises
    ------
    WriteError
        If the disk is full, the folder is read-only, or the like.
    """
    target = path.resolve()
    temporary: str | None = None
    try:
        mode = target.stat().st_mode & 0o7777
        handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
        with os.fdopen(handle, "w", encoding="utf-8", newline="") as stream:
            stream.write(text)
            stream.flush()
            os.fsync(stream.fileno())
        Path(temporary).chmod(mode)
        Path(temporary).replace(target)
    except OSError as error:
        if temporary is not None:
            with contextlib.suppress(OSError):
                Path(temporary).unlink()
        reason = (error.strerror or str(error)).lower()
        raise WriteError(f"`{path}` cannot be written: {reason}; it is as it was") from error
