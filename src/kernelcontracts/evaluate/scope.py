"""Name resolution: from the text of a contract to the values of one case under one set of claims.

A scope is made for inputs and claims only. The candidate's side is added by `Scope.observing`, and the names
``output``, ``impl`` and their like exist only there: a tolerance or a reference evaluated in the plain scope
cannot reach the candidate, whatever its text says. That is the run-time half of the non-interference theorem
whose static half is the provenance check.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from kernelcontracts.lang.values import Choice

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from kernelcontracts.evaluate.case import Case, Observed
    from kernelcontracts.evaluate.program import Program
    from kernelcontracts.lang.expr import Expr
    from kernelcontracts.lang.values import ClaimValue


class UnresolvedError(LookupError):
    """A name or member that the checked contract should have had. A defect of ours: reported as an error."""


@dataclass(eq=False)
class Scope:
    """Where an expression is evaluated: one case, one set of claims, one namespace."""

    program: Program
    case: Case
    claims: Mapping[str, ClaimValue]
    space: str = "contract"
    observed: Observed | None = None
    bindings: Mapping[str, Any] = field(default_factory=dict)
    anchor: Any = None
    cache: dict[Any, Any] = field(default_factory=dict)

    def observing(self, observed: Observed) -> Scope:
        """Return the scope of the post-conditions, which may look at the candidate."""
        return replace(self, observed=observed)

    def within_operator(self) -> Scope:
        """Return the operator's namespace. It never sees the candidate."""
        return replace(self, space="operator", observed=None, bindings={}, anchor=None)

    def pure(self) -> Scope:
        """Return the same namespace without the candidate."""
        return self if self.observed is None else replace(self, observed=None)

    def binding(self, name: str, value: Any) -> Scope:
        """Return the scope of a relation's body."""
        return replace(self, bindings={**self.bindings, name: value})

    def anchored(self, anchor: Any) -> Scope:
        """Return the scope in which ``ulp`` and ``rel`` are measured at ``anchor``."""
        return replace(self, anchor=anchor)

    def defined(self, name: str) -> bool:
        """Tell whether the namespace defines a name."""
        names = self.program.contract if self.space == "contract" else self.program.operator
        return name in names.lets

    def let(self, name: str, compute: Callable[[Expr, Scope], Any], *, space: str | None = None) -> Any:
        """Return the value of a definition, computed once: a definition never sees the candidate."""
        space = space or self.space
        key = (space, name)
        store = self.case.cache if key in self.program.claim_free else self.cache
        # claim-free values are shared between contracts, which may define the same name differently
        full = (self.program.instance.id, *key) if store is self.case.cache and space == "contract" else key
        if full not in store:
            names = self.program.contract if space == "contract" else self.program.operator
            scope = self.within_operator() if space == "operator" else replace(self.pure(), bindings={}, anchor=None)
            store[full] = compute(names.lets[name], replace(scope, space=space))
        return store[full]

    def claim(self, name: str) -> ClaimValue:
        """Return the claimed value of a decision."""
        return self.claims[name]


def literal_choice(name: str) -> Choice:
    """Read a bare name that nothing defines: a value of a decision. A format is one too, as an accumulator is."""
    return Choice(name)
