"""What may be said at one place of a text."""

from __future__ import annotations

from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import TYPE_CHECKING

from kernelcontracts.formats.facts import FORMATS
from kernelcontracts.lang.builtins import (
    DIMENSIONS_AS_KEYWORDS,
    FEATURES,
    OBSERVED_NAMES,
    builtin,
    names_at,
)
from kernelcontracts.lang.checks.context import is_choice
from kernelcontracts.lang.decl import Relation
from kernelcontracts.lang.diagnostics import Diagnostic, diagnostic
from kernelcontracts.lang.expr import (
    Call,
    Compare,
    Feature,
    In,
    Index,
    Member,
    Name,
    Quantity,
    Reduce,
)
from kernelcontracts.lang.walk import children, claim_predicate, clause_parts, member_path, walk

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from kernelcontracts.lang.builtins import Builtin, Place
    from kernelcontracts.lang.checks.context import Entry, View
    from kernelcontracts.lang.decl import Clause, Labelled, Stratum, Trial, Typing
    from kernelcontracts.lang.expr import Expr
    from kernelcontracts.lang.source import Source
    from kernelcontracts.lang.span import Span

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
