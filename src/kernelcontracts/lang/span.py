"""Where a piece of text stands in its source."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Span:
    """A half-open range of characters in one source text.

    Attributes
    ----------
    start, end
        Offsets in characters from the beginning of the text, ``start <= end``.
    """

    start: int
    end: int

    def cover(self, other: Span) -> Span:
        """Return the smallest span that holds both."""
        return Span(min(self.start, other.start), max(self.end, other.end))
