"""E0301 to E0306: nothing that judges a candidate may come from the candidate.

If the checks here pass, then for any two implementations and the same inputs the cases, the references and the
tolerances are equal: by induction over the expressions, since ``dependence`` has no operation that takes a source away.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernelcontracts.lang.checks.dependence import Labels, Sources, entry_labels, view_labels
from kernelcontracts.lang.checks.provenance_clauses import check_anchors, check_clause
from kernelcontracts.lang.checks.provenance_rules import (
    DECISION_RULE,
    PLAN,
    PRECONDITION,
    REFERENCE,
    TOLERANCE,
    Rule,
    diagnosis,
    report,
)
from kernelcontracts.lang.diagnostics import diagnostic

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from kernelcontracts.lang.checks.context import Entry, View
    from kernelcontracts.lang.decl import Labelled, Stratum
    from kernelcontracts.lang.diagnostics import Diagnostic
    from kernelcontracts.lang.expr import Expr
    from kernelcontracts.lang.source import Source

__all__ = [
    "Labels",
    "Rule",
    "Sources",
    "check_entry",
    "check_plan",
    "check_view",
    "entry_labels",
    "view_labels",
]


def check_view(view: View) -> Iterator[Diagnostic]:
    """Yield what in a contract depends on what it may not."""
    labels, source, contract = view_labels(view), view.source, view.contract
    for bound in contract.tolerance or ():
        yield from _check_width(bound.value, labels, source)
    yield from _check_reference(view, labels)
    for item in contract.pre or ():
        yield from _banned(labels, item.value, PRECONDITION, source)
    for predicate in contract.scope.claimed if contract.scope else ():
        yield from _banned(labels, predicate, PRECONDITION, source)
    yield from _check_measure(view, labels)
    for clause in contract.post or ():
        yield from check_clause(clause, labels, source)


def check_entry(entry: Entry) -> Iterator[Diagnostic]:
    """Yield where an operator's entry reads the candidate."""
    labels, operator = entry_labels(entry), entry.operator
    if operator.meaning is not None:
        yield from _banned(labels, operator.meaning, REFERENCE, entry.source)
    for bound in operator.errors:
        yield from _check_width(bound.value, labels, entry.source)
    for event in operator.events:
        yield from _banned(labels, event.value, PRECONDITION, entry.source)
    for let in operator.lets:
        yield from _check_width(let.value, labels, entry.source)


def check_plan(
    strata: Iterable[Stratum], settings: Iterable[Labelled], entry: Entry, source: Source
) -> Iterator[Diagnostic]:
    """Yield where a plan reads the candidate."""
    yield from _check_protocol(strata, settings, entry_labels(entry), source)


def _check_width(expr: Expr, labels: Labels, source: Source) -> Iterator[Diagnostic]:
    """Yield where a bound reads the candidate; at an anchor it is reported there and not again for the whole."""
    anchored = list(check_anchors(expr, labels, source))
    yield from anchored
    if not anchored:
        yield from _banned(labels, expr, TOLERANCE, source)


def _check_reference(view: View, labels: Labels) -> Iterator[Diagnostic]:
    reference = view.contract.reference
    for binding in reference.bindings if reference else ():
        yield from _banned(labels, binding.value, REFERENCE, view.source)
        claim = labels.of(binding.value).get("claim")
        # a policy's expected result follows the declared policy; an exact value does not
        if claim is not None and reference is not None and reference.kind != "property":
            yield diagnostic(
                "E0302",
                "a reference may not depend on a claim",
                source=view.source,
                span=claim.span,
                label="this reads what the vendor declares",
                notes=(f"`reference {reference.kind}` is what the operator means on every silicon",),
                help="let the tolerance depend on the claim, or use `reference property`",
            )


def _check_measure(view: View, labels: Labels) -> Iterator[Diagnostic]:
    measure = view.contract.measure
    if measure is None:
        return
    yield from _check_protocol(measure.strata, measure.settings, labels, view.source)


def _check_protocol(
    strata: Iterable[Stratum], settings: Iterable[Labelled], labels: Labels, source: Source
) -> Iterator[Diagnostic]:
    for stratum in strata:
        for draw in stratum.draws:
            yield from _banned(labels, draw.generator, PLAN, source)
    for setting in settings:
        rule = DECISION_RULE if setting.label in {"conclude", "guard", "statistic"} else PLAN
        yield from _banned(labels, setting.value, rule, source)


def _banned(labels: Labels, expr: Expr, rule: Rule, source: Source) -> Iterator[Diagnostic]:
    found = labels.of(expr)
    if "candidate" in found:
        yield report(rule, found["candidate"], source, labels)
    if "diagnosis" in found:
        yield diagnosis(found["diagnosis"], source)
