"""E0201, E0203, E0403: every name stands for something, in operators, contracts and plans.

Here declarations are walked, and each part gets the scope it is read in; ``names_expr`` looks at the expressions.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from kernelcontracts.lang.checks.cycles import check_cycles, cyclic
from kernelcontracts.lang.checks.name_messages import check_decision, unknown
from kernelcontracts.lang.checks.names_expr import check_expr
from kernelcontracts.lang.checks.scope import Scope
from kernelcontracts.lang.checks.typings import check_elements, check_typing
from kernelcontracts.lang.decl import Relation
from kernelcontracts.lang.expr import Index, Name
from kernelcontracts.lang.walk import claim_predicate, clause_parts

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from kernelcontracts.lang.checks.context import Entry, View
    from kernelcontracts.lang.decl import Clause, Labelled, Stratum, Trial
    from kernelcontracts.lang.diagnostics import Diagnostic
    from kernelcontracts.lang.source import Source

__all__ = [
    "Scope",
    "check_cycles",
    "check_decision",
    "check_elements",
    "check_entry",
    "check_expr",
    "check_plan",
    "check_strata",
    "check_typing",
    "check_view",
    "cyclic",
    "unknown",
]


def check_entry(entry: Entry) -> Iterator[Diagnostic]:
    """Yield what is wrong with the names of an operator's entry."""
    definitions = entry.definitions
    names = frozenset({*entry.params, *entry.dims, *definitions, "meaning", "inputs"})
    scope = Scope(entry, entry.source, names)
    for value in definitions.values():
        yield from check_expr(value, scope)
    yield from check_cycles(definitions, entry.source)
    yield from check_elements(entry)
    yield from _check_meaning(entry)


def _check_meaning(entry: Entry) -> Iterator[Diagnostic]:
    target, meaning = entry.operator.target, entry.operator.meaning
    if meaning is None:
        return
    binders = set()
    if isinstance(target, Index):
        binders = {i.id for i in target.indices if isinstance(i, Name)}
    inputs = {p.name for p in entry.operator.inputs}
    scope = Scope(entry, entry.source, frozenset({*inputs, *entry.dims, *binders}))
    yield from check_expr(meaning, scope)


# --- contracts -------------------------------------------------------------------------------------------------------


def check_view(view: View) -> Iterator[Diagnostic]:
    """Yield what is wrong with the names of a contract on one operator."""
    contract, entry = view.contract, view.entry
    own = {let.name: let.value for let in contract.lets}
    base = _scope(view)
    for let in contract.lets:
        yield from check_expr(let.value, base)
    yield from check_cycles(own, view.source)
    for item in contract.pre or ():
        yield from check_expr(item.value, base)
    with_bounds = base.binding(*view.bounds)
    for bound in contract.tolerance or ():
        yield from check_expr(bound.value, with_bounds)
    yield from check_cycles({b.name: b.value for b in contract.tolerance or ()}, view.source)
    if contract.reference is not None:
        for binding in contract.reference.bindings:
            yield from check_expr(binding.value, base)
    yield from _check_scope(view, base)
    for clause in contract.post or ():
        yield from _check_clause(clause, with_bounds)
    yield from _check_signatures(view, with_bounds)
    yield from _check_trials(view)
    yield from _check_measure(view, entry)


def _scope(view: View) -> Scope:
    entry = view.entry
    names = {*entry.params, *entry.dims, *view.lets, *view.bindings, "inputs", "output"}
    if view.reference is not None and view.reference.meaning:
        names |= {"ref", "meaning"}
    members = frozenset(entry.definitions)
    # where the candidate may be observed is a question of provenance, not of names
    return Scope(entry, view.source, frozenset(names), ("expression", "observation"), members, _words(view))


def _words(view: View) -> dict[str, frozenset[str]]:
    """Return the names that arguments of features stand for."""
    lent = view.companion.post or () if view.companion else ()
    return {
        "clause": frozenset(c.label for c in (*(view.contract.post or ()), *lent)),
        "stratum": frozenset(s.name for s in view.strata),
        "event": frozenset(e.label for e in view.entry.operator.events),
    }


def _check_scope(view: View, scope: Scope) -> Iterator[Diagnostic]:
    if view.contract.scope is None:
        return
    for typing in view.contract.scope.types:
        yield from check_typing(typing, view.entry, view.source)
    for predicate in view.contract.scope.claimed:
        yield from check_expr(claim_predicate(predicate), scope)


def _check_clause(clause: Clause, scope: Scope) -> Iterator[Diagnostic]:
    if isinstance(clause, Relation):
        yield from check_expr(clause.domain, replace(scope, places=("domain", "expression")))
        bound = scope.binding(clause.variable)
        for part in (clause.where, clause.predicate):
            if part is not None:
                yield from check_expr(part, bound)
        return
    for part in clause_parts(clause):
        yield from check_expr(part, scope)


def _check_signatures(view: View, scope: Scope) -> Iterator[Diagnostic]:
    for signature in view.contract.violation or ():
        yield from check_expr(signature.condition, scope)


def _check_trials(view: View) -> Iterator[Diagnostic]:
    calibrate = view.contract.calibrate
    if calibrate is None:
        return
    for name, value in calibrate.claiming:
        yield from check_decision(name, view.entry, view.source, value.span or calibrate.span)
    scope = Scope(view.entry, view.source, frozenset(), places=("smoke",))
    for smoke in calibrate.smoke:
        yield from check_expr(smoke.value, scope)
    for trial in calibrate.trials:
        yield from _check_trial(trial, view)


def _check_trial(trial: Trial, view: View) -> Iterator[Diagnostic]:
    for name, value in trial.changes:
        yield from check_decision(name, view.entry, view.source, value.span or trial.span)
    if trial.fault is not None:
        scope = Scope(view.entry, view.source, frozenset(), places=("fault",))
        yield from check_expr(trial.fault, scope)
    for typing in trial.types:
        yield from check_typing(typing, view.entry, view.source)
    words = _words(view)
    if trial.breaks is not None and trial.breaks not in words["clause"]:
        yield unknown(trial.breaks, words["clause"], view.source, trial.span, "a clause of this contract")
    signatures = {s.name for s in view.contract.violation or ()}
    if trial.signature is not None and trial.signature not in signatures:
        what = "a signature of this contract"
        yield unknown(trial.signature, signatures, view.source, trial.span, what)


def _check_measure(view: View, entry: Entry) -> Iterator[Diagnostic]:
    if view.contract.measure is not None:
        yield from check_plan(view.contract.measure.strata, view.contract.measure.settings, entry, view.source)


def check_plan(
    strata: Iterable[Stratum], settings: Iterable[Labelled], entry: Entry, source: Source
) -> Iterator[Diagnostic]:
    """Yield what is wrong with the names of strata and settings, for one operator."""
    inputs = frozenset(p.name for p in entry.operator.inputs)
    known = entry.dims | frozenset(entry.params) | {"output", "inputs"}
    drawing = Scope(entry, source, known, places=("generator", "expression", "observation"))
    for stratum in strata:
        for draw in stratum.draws:
            for name in draw.names:
                if name not in inputs:
                    what = f"an input of `{entry.operator.name}`"
                    yield unknown(name, inputs, source, draw.span, what)
            yield from check_expr(draw.generator, drawing)
    planning = Scope(entry, source, known | {"nan"}, places=("protocol", "expression", "observation"))
    for setting in settings:
        yield from check_expr(setting.value, planning)


def check_strata(views: list[View]) -> Iterator[Diagnostic]:
    """Yield E0201 for strata that clauses name and no plan of any operator of the family has."""
    if not views:
        return
    known = {s.name for view in views for s in view.strata}
    for clause in views[0].contract.post or ():
        for name in clause.strata:
            if name not in known:
                yield unknown(name, known, views[0].source, clause.span, "a stratum of the plan")
