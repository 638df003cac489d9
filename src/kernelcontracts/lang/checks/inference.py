"""What the inferences of shapes and of units share: names are entered once, and bound indices hide what is outside.

A definition is inferred at its first use and remembered, so that what is wrong in it is found once. Members of ``op``
are inferred in a scope of their own, the operator's entry, and what is wrong there is reported there.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import contextmanager
from typing import TYPE_CHECKING, Generic, TypeVar

from kernelcontracts.lang.expr import Name

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from kernelcontracts.lang.checks.context import Entry
    from kernelcontracts.lang.diagnostics import Diagnostic
    from kernelcontracts.lang.expr import Expr
    from kernelcontracts.lang.source import Source

T = TypeVar("T")
"""What is inferred of an expression."""

B = TypeVar("B")
"""What is known of a bound index."""


class Inference(ABC, Generic[T, B]):
    """Infers something of the expressions of one scope; ``None`` where it is not known.

    Attributes
    ----------
    entry
        The operator whose tensors and dimensions may be named.
    found
        What is wrong, in the order in which it was found.
    """

    def __init__(
        self, entry: Entry, names: Mapping[str, Expr], source: Source, *, members: Mapping[str, Expr] | None, scalar: T
    ) -> None:
        self.entry = entry
        self.source = source
        self.found: list[Diagnostic] = []
        self._names = names
        self._members = members
        self._scalar = scalar
        self._memo: dict[str, T | None] = {}
        self._bound: dict[str, B] = {}
        self._inside: Inference[T, B] | None = None

    @abstractmethod
    def of(self, expr: Expr) -> T | None:
        """Return what is inferred of an expression."""

    @abstractmethod
    def _entered(self, members: Mapping[str, Expr]) -> Inference[T, B]:
        """Return the same inference inside the operator's entry, where its definitions are plain names."""

    def _member(self, path: tuple[str, str]) -> T | None:
        if path[0] != "op" or self._members is None:
            return self._scalar
        if path[1] not in self._members:
            return None
        if self._inside is None:
            self._inside = self._entered(self._members)
        return self._inside.of(Name(path[1]))

    def _definition(self, name: str) -> T | None:
        """Return what a definition stands for; one that stands for itself (an error of its own) is not known."""
        if name not in self._memo:
            self._memo[name] = None
            self._memo[name] = self.of(self._names[name])
        return self._memo[name]

    @contextmanager
    def _binding(self, index: str, value: B) -> Iterator[None]:
        """Bind an index while its body is inferred."""
        before = dict(self._bound)
        self._bound[index] = value
        yield
        self._bound = before
