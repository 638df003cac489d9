"""Walking expression trees, and the parts of declarations that hold expressions."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from kernelcontracts.lang.decl import Always, Match, OnAverage, Relation
from kernelcontracts.lang.expr import (
    Binary,
    Call,
    Compare,
    Feature,
    Identical,
    If,
    In,
    Index,
    Member,
    Name,
    Quantity,
    RecordLiteral,
    Reduce,
    SetLiteral,
    Unary,
    Within,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from kernelcontracts.lang.decl import Clause, Contract
    from kernelcontracts.lang.expr import Expr

_CHILDREN: dict[type, Callable[..., tuple[Expr | None, ...]]] = {
    Member: lambda e: (e.base,),
    Unary: lambda e: (e.operand,),
    Binary: lambda e: (e.left, e.right),
    Compare: lambda e: e.operands,
    In: lambda e: (e.item, e.domain),
    Within: lambda e: (e.actual, e.tolerance, e.reference),
    Identical: lambda e: (e.left, e.right),
    If: lambda e: (e.condition, e.yes, e.no),
    Call: lambda e: (*e.args, *(v for _, v in e.kwargs)),
    Feature: lambda e: e.args,
    Index: lambda e: (e.base, *e.indices),
    Reduce: lambda e: (e.bound, e.body),
    Quantity: lambda e: (e.value, e.format, e.anchor),
    SetLiteral: lambda e: e.items,
    RecordLiteral: lambda e: tuple(v for _, v in e.fields),
}


def children(expr: Expr) -> tuple[Expr, ...]:
    """Return the direct parts of an expression, left to right; a leaf has none."""
    parts = _CHILDREN.get(type(expr))
    return () if parts is None else tuple(p for p in parts(expr) if p is not None)


def walk(expr: Expr) -> Iterator[Expr]:
    """Yield an expression and all its parts, in the order of the text."""
    stack = [expr]
    while stack:
        node = stack.pop()
        yield node
        stack.extend(reversed(children(node)))


def member_path(expr: Expr) -> tuple[str, str] | None:
    """Return ``("claim", "accumulator")`` for ``claim.accumulator``, and ``None`` for anything else."""
    if isinstance(expr, Member) and isinstance(expr.base, Name):
        return expr.base.id, expr.name
    return None


def claim_predicate(predicate: Expr) -> Expr:
    """Read ``stabilization in {…}`` after ``claimed`` as what it says: ``claim.stabilization in {…}``."""
    if isinstance(predicate, In) and isinstance(predicate.item, Name):
        return replace(predicate, item=_claim(predicate.item))
    if isinstance(predicate, Compare) and isinstance(predicate.operands[0], Name):
        first = _claim(predicate.operands[0])
        return replace(predicate, operands=(first, *predicate.operands[1:]))
    return predicate


def _claim(name: Name) -> Member:
    return Member(Name("claim", span=name.span), name.id, span=name.span)


def clause_parts(clause: Clause) -> tuple[Expr, ...]:
    """Return every expression of a clause: predicates, arms, subject, domain and filter."""
    if isinstance(clause, Always | OnAverage):
        return (clause.predicate,)
    if isinstance(clause, Relation):
        return tuple(p for p in (clause.domain, clause.where, clause.predicate) if p is not None)
    if isinstance(clause, Match):
        event = () if clause.event is None else (clause.event,)
        return (clause.subject, *event, *(arm.predicate for arm in clause.arms))
    steps = (step.predicate for step in clause.steps)
    return (clause.subject, *(p for p in steps if p is not None))


def judged_parts(contract: Contract) -> Iterator[Expr]:
    """Yield the expressions on which a verdict rests: scope, pre, post, tolerance and reference."""
    if contract.scope is not None:
        yield from (claim_predicate(p) for p in contract.scope.claimed)
    yield from (p.value for p in contract.pre or ())
    for clause in contract.post or ():
        yield from clause_parts(clause)
    yield from (b.value for b in contract.tolerance or ())
    if contract.reference is not None:
        yield from (b.value for b in contract.reference.bindings)
