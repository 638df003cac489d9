"""Line breaking: a text with places where it may break, and the choice among them.

The algorithm is Wadler's (A prettier printer, 2003) in the iterative form of Lindig (Strictly pretty, 2000): a group is
set on one line if it fits, and otherwise breaks at each of its own places, its inner groups deciding for themselves.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Sequence

STEP = 2
"""How far what goes on is set in."""


@dataclass(frozen=True, slots=True)
class Break:
    """A place where a line may break; ``flat`` stands there if it does not."""

    flat: str = " "


@dataclass(frozen=True, slots=True)
class Group:
    """Parts that break together or not at all; ``nested`` sets the lines after a break in."""

    parts: tuple[Doc, ...]
    nested: bool = True


Doc: TypeAlias = "str | Break | Group"

SPACE = Break()
NOTHING = Break("")


def group(*parts: Doc) -> Group:
    """Return a group whose continuation lines are set in."""
    return Group(parts)


def flush(*parts: Doc) -> Group:
    """Return a group whose continuation lines begin where its first line does."""
    return Group(parts, nested=False)


def filled(items: Sequence[Doc]) -> Group:
    """Return items with commas, as many on a line as fit."""
    last = len(items) - 1
    parts = [flush(item, "," if i < last else "") for i, item in enumerate(items)]
    return flush(*parts[:1], *(group(SPACE, part) for part in parts[1:]))


def render(parts: tuple[Doc, ...], *, indent: int, column: int, width: int) -> str:
    """Return the text of some parts.

    Parameters
    ----------
    parts
        What to set; breaks that stand here outside any group are not taken.
    indent
        Where lines begin that no group sets in.
    column
        Where the first character goes.
    width
        The last column that is used if possible.
    """
    out: list[str] = []
    stack: list[tuple[int, bool, Doc]] = [(indent, False, part) for part in reversed(parts)]
    while stack:
        indent, broken, doc = stack.pop()
        if isinstance(doc, str):
            out.append(doc)
            column += len(doc)
        elif isinstance(doc, Break):
            out.append("\n" + " " * indent if broken else doc.flat)
            column = indent if broken else column + len(doc.flat)
        else:
            breaks = not _fits(width - column, doc, stack)
            inner = indent + STEP if doc.nested and breaks else indent
            stack += [(inner, breaks, part) for part in reversed(doc.parts)]
    return "".join(out)


def _fits(room: int, doc: Doc, rest: list[tuple[int, bool, Doc]]) -> bool:
    """Whether a group fits flat, with what follows it up to the next break that is taken."""
    pending: list[Doc] = [doc]
    following = len(rest)
    while room >= 0:
        if not pending:
            if following == 0:
                return True
            following -= 1
            _, broken, upcoming = rest[following]
            if (broken and isinstance(upcoming, Break)) or _may_begin_a_line(upcoming):
                return True
            pending.append(upcoming)
            continue
        part = pending.pop()
        if isinstance(part, str):
            room -= len(part)
        elif isinstance(part, Break):
            room -= len(part.flat)
        else:
            pending.extend(reversed(part.parts))
    return False


def _may_begin_a_line(doc: Doc) -> bool:
    return isinstance(doc, Group) and bool(doc.parts) and isinstance(doc.parts[0], Break)
