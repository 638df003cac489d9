"""Styled lines: what a renderer makes, before anybody knows whether there is a terminal."""

from __future__ import annotations

import textwrap
import unicodedata
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


@dataclass(frozen=True, slots=True)
class Span:
    """Text of one style. The style is a name that a terminal may colour, and a pipe ignores."""

    text: str
    style: str = ""


Line: TypeAlias = tuple[Span, ...]

LABEL = 12
"""Columns of a label: the longest, `conforms if`, and a space."""


def plain(lines: Iterable[Line]) -> str:
    """Return the lines without styles, each ended."""
    return "".join("".join(span.text for span in line).rstrip() + "\n" for line in lines)


def clean(text: str) -> str:
    r"""Return text of a stranger as one harmless line.

    An exception's message comes from the candidate: escape sequences in it would colour, move or
    erase what is printed here, and direction marks would reorder it. They are shown as `\x1b` and
    `\u202e` instead.
    """
    return "".join(
        " " if sign == "\n" else _escaped(sign) if unicodedata.category(sign) in _UNSAFE else sign for sign in text
    )


_UNSAFE = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
"""Unicode categories: control, format, surrogate, line and paragraph separator."""


def _escaped(sign: str) -> str:
    return sign.encode("unicode_escape", "surrogatepass").decode("ascii")


def labelled(label: str, text: str, *, width: int, indent: int = 0, style: str = "") -> Iterator[Line]:
    """Yield a label and its text, wrapped at spaces to `width` columns and aligned under itself."""
    margin = indent + LABEL
    rows = textwrap.wrap(
        clean(text),
        max(width - margin, 20),
        break_long_words=False,
        break_on_hyphens=False,
    )
    for number, row in enumerate(rows or [""]):
        head = " " * indent + (label if number == 0 else "").ljust(LABEL)
        yield Span(head, "label"), Span(row, style)


def verbatim(label: str, text: str, *, indent: int = 0, style: str = "") -> Line:
    """Return a label and text that is not to be broken: a command, a path."""
    return Span(" " * indent + label.ljust(LABEL), "label"), Span(clean(text), style)
