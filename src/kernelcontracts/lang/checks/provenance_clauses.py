"""E0304, E0305: a clause compares the candidate with something that is not the candidate."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernelcontracts.lang.checks.provenance_rules import CENTRE, PLAN, SIDE, TOLERANCE_SIDE, anchored, diagnosis, report
from kernelcontracts.lang.decl import Always, Ladder, Match, OnAverage, Relation
from kernelcontracts.lang.expr import Binary, Call, Compare, Feature, Identical, If, Quantity, Unary, Within
from kernelcontracts.lang.walk import children, clause_parts, member_path, walk

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kernelcontracts.lang.checks.dependence import Labels
    from kernelcontracts.lang.decl import Clause
    from kernelcontracts.lang.diagnostics import Diagnostic
    from kernelcontracts.lang.expr import Expr
    from kernelcontracts.lang.source import Source


def check_clause(clause: Clause, labels: Labels, source: Source) -> Iterator[Diagnostic]:
    """Yield where a clause bounds the candidate by itself, or reads a diagnosis."""
    for part in clause_parts(clause):
        for node in walk(part):
            if isinstance(node, Feature) or (member_path(node) or ("", ""))[0] == "r":
                yield diagnosis(node, source)
    match clause:
        case Always() | OnAverage():
            yield from _check_predicate(clause.predicate, labels, source)
        case Relation():
            yield from _banned_selection(clause.where, labels, source)
            yield from _check_predicate(clause.predicate, labels, source)
        case Match():
            yield from _banned_selection(clause.event, labels, source)
            for arm in clause.arms:
                yield from _check_predicate(arm.predicate, labels, source)
        case Ladder():
            for step in clause.steps:
                if step.predicate is not None:
                    yield from _check_predicate(step.predicate, labels, source)


def _banned_selection(expr: Expr | None, labels: Labels, source: Source) -> Iterator[Diagnostic]:
    """Yield filters and events that read the candidate: they choose which cases are judged, as `pre` does."""
    where = labels.of(expr).get("candidate") if expr is not None else None
    if where is not None:
        yield report(PLAN, where, source, labels)


def _check_predicate(expr: Expr, labels: Labels, source: Source) -> Iterator[Diagnostic]:
    match expr:
        case Within():
            yield from _check_within(expr, labels, source)
        case Compare():
            yield from _check_sides(expr, labels, source)
        case Identical():
            yield from check_anchors(expr.left, labels, source)
            yield from check_anchors(expr.right, labels, source)
        case Unary() | Binary() | If() | Call():
            for part in children(expr):
                yield from _check_predicate(part, labels, source)
        case Quantity():
            yield from check_anchors(expr, labels, source)


def _check_sides(expr: Compare, labels: Labels, source: Source) -> Iterator[Diagnostic]:
    """Of the two sides of a comparison at most one may read the candidate: the other is the bound."""
    for left, right in zip(expr.operands, expr.operands[1:], strict=False):
        second = labels.of(right).get("candidate")
        if labels.of(left).get("candidate") is not None and second is not None:
            yield report(SIDE, second, source, labels)
    for operand in expr.operands:
        yield from check_anchors(operand, labels, source)


def _check_within(expr: Within, labels: Labels, source: Source) -> Iterator[Diagnostic]:
    width = labels.of(expr.tolerance).get("candidate")
    if width is not None and not _is_anchor_problem(expr.tolerance, width):
        yield report(TOLERANCE_SIDE, width, source, labels)
    yield from check_anchors(expr.tolerance, labels, source)
    centre = labels.of(expr.reference).get("candidate")
    if centre is None:
        return
    if not (isinstance(expr.reference, Call) and expr.reference.function == "impl"):
        yield report(CENTRE, centre, source, labels)
    for node in walk(expr.tolerance):
        if isinstance(node, Quantity) and node.unit != "abs" and node.anchor is None:
            yield anchored(node, f"`{node.unit}` is anchored at a value that comes from the candidate", source)


def _is_anchor_problem(expr: Expr, where: Expr) -> bool:
    """Whether the candidate comes in through an anchor, which is reported as such."""
    anchors = [n.anchor for n in walk(expr) if isinstance(n, Quantity) and n.anchor is not None]
    return any(where is part for anchor in anchors for part in walk(anchor))


def check_anchors(expr: Expr, labels: Labels, source: Source) -> Iterator[Diagnostic]:
    """Yield units of tolerances that are anchored at the candidate."""
    for node in walk(expr):
        if isinstance(node, Quantity) and node.anchor is not None:
            where = labels.of(node.anchor).get("candidate")
            if where is not None:
                yield anchored(node, "the anchor reads the candidate's output", source)
