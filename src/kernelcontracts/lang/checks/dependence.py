"""What an expression depends on.

Every expression has the set of sources it may depend on. A function's result depends on what its arguments depend on,
and there is no operation that takes a source away. Formats of outputs are read from the signature, so ``u(C)`` depends
on nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

from kernelcontracts.lang.builtins import OBSERVED_NAMES, TABLE
from kernelcontracts.lang.checks.context import is_choice
from kernelcontracts.lang.expr import Call, Compare, Feature, Name, Quantity
from kernelcontracts.lang.walk import children, member_path

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from kernelcontracts.lang.checks.context import Entry, View
    from kernelcontracts.lang.expr import Expr

Sources: TypeAlias = dict[str, "Expr"]
"""For each source (``claim``, ``input``, ``oracle``, ``candidate``, ``diagnosis``), a place that brings it in."""


@dataclass(frozen=True, slots=True)
class Labels:
    """Computes what an expression depends on.

    ``names`` are the definitions that names stand for, ``members`` those behind ``op.``; ``candidate`` and
    ``oracle`` are the names that mean the candidate's outputs and the reference.
    """

    names: Mapping[str, Expr]
    members: Mapping[str, Expr]
    inputs: frozenset[str]
    candidate: frozenset[str]
    oracle: frozenset[str]
    _memo: dict[str, Sources] = field(default_factory=dict)

    def of(self, expr: Expr) -> Sources:
        """Return the sources of an expression; a definition is entered at the name that uses it."""
        path = member_path(expr)
        if path is not None and path[0] in {"claim", "op", "r"}:
            return self._member(path, expr)
        match expr:
            case Feature():
                return {"diagnosis": expr}
            case Name():
                return self._name(expr)
            case Call():
                return self._call(expr)
            case Compare() if any(is_choice(e) for e in expr.operands):
                return self._join(e for e in expr.operands if is_choice(e))
            case Quantity():
                parts = [expr.value] if expr.anchor is None else [expr.value, expr.anchor]
                found = self._join(parts)
                # without an anchor the unit is measured at the reference
                return found if expr.anchor or expr.unit == "abs" else {"oracle": expr} | found
        return self._join(children(expr))

    def _join(self, parts: Iterable[Expr]) -> Sources:
        joined: Sources = {}
        for part in parts:
            for source, where in self.of(part).items():
                joined.setdefault(source, where)
        return joined

    def _member(self, path: tuple[str, str], expr: Expr) -> Sources:
        if path[0] == "claim":
            return {"claim": expr}
        if path[0] == "r":
            return {"diagnosis": expr}
        found = self._definition(f"op.{path[1]}", self.members.get(path[1]), expr, inside=True)
        # an operator's entry that reads the candidate is reported there
        return {source: where for source, where in found.items() if source not in {"candidate", "diagnosis"}}

    def _name(self, expr: Name) -> Sources:
        if expr.id in self.names:
            return self._definition(expr.id, self.names[expr.id], expr, inside=False)
        if expr.id in self.candidate:
            return {"candidate": expr}
        if expr.id in self.oracle:
            return {"oracle": expr}
        return {"input": expr} if expr.id in self.inputs else {}

    def _definition(self, key: str, value: Expr | None, use: Expr, *, inside: bool) -> Sources:
        if value is None:
            return {}
        if key not in self._memo:
            # a definition that stands for itself (an error of its own) adds nothing on the way round
            self._memo[key] = {}
            self._memo[key] = (self._inside() if inside else self).of(value)
        return dict.fromkeys(self._memo[key], use)

    def _inside(self) -> Labels:
        """Return the labels inside the operator's entry, where its own definitions are plain names."""
        return Labels(
            self.members,
            self.members,
            self.inputs,
            self.candidate,
            self.oracle | {"meaning"},
        )

    def _call(self, expr: Call) -> Sources:
        row = TABLE.get(("expression", expr.function)) or TABLE.get(("observation", expr.function))
        if row is None:
            return self._join((*expr.args, *(v for _, v in expr.kwargs)))
        if row.candidate:
            return {"candidate": expr}
        read = [a for i, a in enumerate(expr.args) if row.kind(i) in {"value", "choice"} or not isinstance(a, Name)]
        return self._join(read)


def view_labels(view: View) -> Labels:
    """Return the labels of a contract's expressions."""
    entry = view.entry
    # references and tolerances are checked where they are defined; elsewhere they are values of the oracle
    oracle = {"ref", "meaning"} | set(view.bindings) | set(view.bounds)
    return Labels(
        view.lets,
        entry.definitions,
        frozenset(p.name for p in entry.operator.inputs) | {"inputs"},
        entry.outputs | {"output"} | OBSERVED_NAMES,
        frozenset(oracle - set(view.lets)),
    )


def entry_labels(entry: Entry) -> Labels:
    """Return the labels of an operator's expressions."""
    return Labels(
        entry.definitions,
        {},
        frozenset(p.name for p in entry.operator.inputs) | {"inputs"},
        entry.outputs | {"output"},
        frozenset({"meaning"}),
    )
