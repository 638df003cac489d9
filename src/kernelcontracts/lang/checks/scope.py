"""What may be said at one place of a text."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kernelcontracts.lang.builtins import Place
    from kernelcontracts.lang.checks.context import Entry
    from kernelcontracts.lang.source import Source


@dataclass(frozen=True, slots=True)
class Scope:
    """What may be said at one place.

    Attributes
    ----------
    names
        The names that have a value here.
    places
        The kinds of builtins that may be called.
    members
        What follows ``op.``; ``None`` inside an operator's entry, where nothing does.
    words
        Names that features take: clauses, strata, events, by the kind of argument.
    """

    entry: Entry
    source: Source
    names: frozenset[str]
    places: tuple[Place, ...] = ("expression",)
    members: frozenset[str] | None = None
    words: Mapping[str, frozenset[str]] | None = None

    def binding(self, *names: str) -> Scope:
        """Return the scope in which some more names are bound."""
        return replace(self, names=self.names.union(names))
