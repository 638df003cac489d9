"""What every lowering function uses: spans of children, and a place for complaints.

The parser calls a method at each reduction, named after the rule, with the values of its right-hand side in order:
tokens, nodes, and ``Part``s for what is not a node by itself. No token is dropped before, so every value knows its
span.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kernelcontracts.lang.diagnostics import Diagnostic, Label, diagnostic
from kernelcontracts.lang.parse_scan import Token
from kernelcontracts.lang.span import Span

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kernelcontracts.lang.source import Source


@dataclass(slots=True)
class Part:
    """A value that is no node: a list of names, a keyword argument, the tail of a trial."""

    kind: str
    value: Any
    span: Span


def start_of(item: Any) -> int:
    """Return where a token, a node or a part begins."""
    return item.start if type(item) is Token else item.span.start


def end_of(item: Any) -> int:
    """Return where a token, a node or a part ends."""
    return item.end if type(item) is Token else item.span.end


def span_of(children: Sequence[Any]) -> Span:
    """Return the span from the first child to the last, the line break that ends an item left out."""
    last = children[-1]
    if type(last) is Token and last.type == "_NL":
        last = children[-2]
    return Span(start_of(children[0]), end_of(last))


def of_type(children: Sequence[Any], kind: str) -> list[Token]:
    """Return the tokens of one terminal, in order."""
    return [c for c in children if type(c) is Token and c.type == kind]


def names_in(children: Sequence[Any]) -> tuple[str, ...]:
    """Return the texts of the names among the children."""
    return tuple(c.text for c in children if type(c) is Token and c.type == "NAME")


def after(children: Sequence[Any], kind: str) -> Any:
    """Return the child that follows the first token of a terminal, or ``None``."""
    for i, child in enumerate(children):
        if type(child) is Token and child.type == kind:
            return children[i + 1]
    return None


def not_tokens(children: Sequence[Any]) -> list[Any]:
    """Return the nodes and parts among the children."""
    return [c for c in children if type(c) is not Token]


class Complaints:
    """Collects what the grammar accepts and the language does not."""

    def __init__(self) -> None:
        self.source: Source | None = None
        self.found: list[Diagnostic] = []

    def begin(self, source: Source) -> None:
        """Start a new text."""
        self.source = source
        self.found = []

    def complain(self, message: str, span: Span, *, code: str = "E0101", **rest: Any) -> None:
        """Record a diagnostic about a place of the current text."""
        self.found.append(diagnostic(code, message, source=self.source, span=span, **rest))

    def label(self, span: Span, text: str) -> Label:
        """Return a secondary label in the current text."""
        return Label(span, text)
