"""The trees of the shipped library, parsed once a machine.

Reading the trees takes a quarter of the time of parsing, and does without the grammar library. They are stored as
nested tuples in Python's ``marshal`` format, under a name that depends on everything that decides what they are.
"""

from __future__ import annotations

import marshal
import sys
from dataclasses import fields
from fractions import Fraction
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kernelcontracts.lang import decl, expr
from kernelcontracts.lang.cache import keep, kept, private_folder
from kernelcontracts.lang.decl import File
from kernelcontracts.lang.span import Span

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kernelcontracts.lang.source import Source

_CLASSES: list[type] = [
    cls
    for module in (expr, decl)
    for cls in vars(module).values()
    if isinstance(cls, type) and issubclass(cls, expr.Node) and cls is not expr.Node
]
_NUMBERS = {cls: i for i, cls in enumerate(_CLASSES)}
_FIELDS = {cls: tuple(f.name for f in fields(cls) if f.name != "span") for cls in _CLASSES}
_FRACTION = -1


def parse_shipped(sources: Sequence[Source]) -> list[tuple[File, Source]]:
    """Return the trees of the shipped library.

    Raises
    ------
    ValueError
        If a shipped text does not parse, which is a defect of the package.
    """
    folder = private_folder()
    if folder is None:
        return _parse(sources)
    path = folder / f"library-{_stamp(sources)}.bin"
    files = _read(kept(path))
    if files is not None and len(files) == len(sources):
        return list(zip(files, sources, strict=True))
    parsed = _parse(sources)
    keep(path, marshal.dumps([_pack(file) for file, _ in parsed]))
    return parsed


def _parse(sources: Sequence[Source]) -> list[tuple[File, Source]]:
    from kernelcontracts.lang.parse import parse

    parsed = []
    for source in sources:
        result = parse(source)
        if result.file is None:
            first = result.diagnostics[0]
            raise ValueError(f"the shipped {source.name}:{first.line} does not parse: {first.message}")
        parsed.append((result.file, source))
    return parsed


def _stamp(sources: Sequence[Source]) -> str:
    """Return a digest of the texts and of the code that makes trees of them."""
    digest = sha256(repr(sys.version_info).encode())
    for file in sorted(Path(__file__).parent.glob("*.*")):
        status = file.stat()
        digest.update(f"{file.name} {status.st_size} {status.st_mtime_ns}\n".encode())
    for source in sources:
        digest.update(f"{source.name}\0{source.text}\0".encode())
    return digest.hexdigest()[:16]


def _read(data: bytes | None) -> list[File] | None:
    if data is None:
        return None
    try:
        files = [_unpack(item) for item in marshal.loads(data)]  # noqa: S302  # the folder is private, see `cache`
    except (ValueError, EOFError, TypeError, IndexError, ZeroDivisionError):
        return None
    return files if all(isinstance(file, File) for file in files) else None


def _pack(value: Any) -> Any:
    """Return a value as nested lists (for tuples) and tuples (for nodes and fractions)."""
    if isinstance(value, expr.Node):
        span = value.span
        place = (-1, -1) if span is None else (span.start, span.end)
        cls = type(value)
        return (_NUMBERS[cls], *place, *(_pack(getattr(value, name)) for name in _FIELDS[cls]))
    if isinstance(value, tuple):
        return [_pack(item) for item in value]
    if isinstance(value, Fraction):
        return (_FRACTION, value.numerator, value.denominator)
    return value


def _unpack(value: Any) -> Any:
    kind = type(value)
    if kind is tuple:
        if value[0] == _FRACTION:
            return _fraction(value[1], value[2])
        span = None if value[1] < 0 else Span(value[1], value[2])
        return _CLASSES[value[0]](*[_unpack(item) for item in value[3:]], span=span)
    if kind is list:
        return tuple([_unpack(item) for item in value])
    return value


@lru_cache(maxsize=1000)
def _fraction(numerator: int, denominator: int) -> Fraction:
    return Fraction(numerator, denominator)
