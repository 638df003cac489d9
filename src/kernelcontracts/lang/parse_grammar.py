"""The parser's tables: built from ``kc.lark``, kept in the user's cache where there is one."""

from __future__ import annotations

import contextlib
import os
import sys
import tempfile
from functools import cache
from hashlib import sha256
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

import lark

from kernelcontracts.lang.cache import private_folder
from kernelcontracts.lang.lower import Lower
from kernelcontracts.lang.parse_scan import Scanner

if TYPE_CHECKING:
    from collections.abc import Iterator


class _Layout:
    """What the grammar library must know about the step between lexer and parser.

    The tokens are laid out before they reach the library (``parse_layout``), so this only names the terminals that no
    rule mentions but the scanner needs.
    """

    always_accept = ("UNKNOWN", "UNTERMINATED", "BLANK", "COMMENT", "LINE_BREAK")

    def process(self, stream: Iterator[Any]) -> Iterator[Any]:
        """Return the stream as it is."""
        return stream


class Machine:
    """A parser, the scanner of the same grammar, and the functions that build the tree."""

    def __init__(self, parser: lark.Lark, lower: Lower) -> None:
        self.parser = parser
        self.lower = lower
        self.scanner = Scanner(parser.terminals)


def grammar_text() -> str:
    """Return the text of the grammar."""
    return (resources.files("kernelcontracts.lang") / "kc.lark").read_text(encoding="utf-8")


def build(*, strict: bool = False, cache_file: str | None = None) -> Machine:
    """Build the parser.

    Parameters
    ----------
    strict
        Whether to prove that terminals are disjoint and the grammar has no conflict (slow; for the tests).
    cache_file
        A file of ready tables, written if it is not there.
    """
    lower = Lower()
    parser = lark.Lark(
        grammar_text(),
        parser="lalr",
        lexer="basic",
        strict=strict,
        keep_all_tokens=True,
        maybe_placeholders=False,
        postlex=_Layout(),
        transformer=lower,
        cache=cache_file or False,
    )
    return Machine(parser, lower)


@cache
def machine() -> Machine:
    """Return the parser of this process, from the cache if that works and built afresh if not."""
    file = _cache_file()
    if file is None:
        return build()
    if file.exists():
        return build(cache_file=str(file))
    # others may read the file while it is written, so it is written under another name
    with contextlib.suppress(OSError):
        handle, name = tempfile.mkstemp(dir=file.parent, prefix="tables-")
        os.close(handle)
        Path(name).unlink()
        made = build(cache_file=name)
        Path(name).replace(file)
        return made
    return build()


def _cache_file() -> Path | None:
    """Where the tables are kept: under a name that depends on the grammar and on the library that made them."""
    folder = private_folder()
    if folder is None:
        return None
    stamp = sha256((grammar_text() + lark.__version__ + repr(sys.version_info)).encode()).hexdigest()[:16]
    return folder / f"tables-{stamp}.bin"
