"""E0404: values belong to the domains of their decisions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernelcontracts.lang.checks.context import Entry, choice_decision, is_choice
from kernelcontracts.lang.checks.name_messages import did_you_mean
from kernelcontracts.lang.decisions import ClaimError, describe, member, representatives, value_of_expr
from kernelcontracts.lang.diagnostics import diagnostic
from kernelcontracts.lang.expr import Compare, In, SetLiteral
from kernelcontracts.lang.walk import walk

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kernelcontracts.lang.decl import Decision
    from kernelcontracts.lang.diagnostics import Diagnostic
    from kernelcontracts.lang.expr import Expr
    from kernelcontracts.lang.source import Source
    from kernelcontracts.lang.span import Span


def check_value_at(expr: Expr, decision: Decision, source: Source, span: Span | None) -> Iterator[Diagnostic]:
    """Yield E0404 unless an expression is a value of a decision."""
    try:
        value = value_of_expr(expr)
    except ClaimError as error:
        yield diagnostic(
            "E0404",
            str(error),
            source=source,
            span=expr.span or span,
            label=f"not a value of `{decision.name}`",
            notes=(f"its values are {describe(decision)}",),
        )
        return
    if not member(decision, value):
        yield _outside(str(value), decision, source, expr.span or span)


def _outside(text: str, decision: Decision, source: Source, span: Span | None) -> Diagnostic:
    values = [str(v) for v in representatives(decision)]
    return diagnostic(
        "E0404",
        f"`{text}` is not a value of `{decision.name}`",
        source=source,
        span=span,
        label="outside the domain",
        notes=(f"its values are {describe(decision)}",),
        help=did_you_mean(text, values, 2, 0.5),
    )


def check_comparisons(expr: Expr, entry: Entry, source: Source) -> Iterator[Diagnostic]:
    """Yield values outside the domain of the decision they are compared with."""
    for node in walk(expr):
        if isinstance(node, Compare):
            subjects = [d for e in node.operands if (d := choice_decision(e, entry.decisions)) is not None]
            values = [e for e in node.operands if not is_choice(e)]
        elif isinstance(node, In) and isinstance(node.domain, SetLiteral):
            found = choice_decision(node.item, entry.decisions)
            subjects = [found] if found is not None else []
            values = list(node.domain.items)
        else:
            continue
        for decision in subjects:
            for value in values:
                yield from check_value_at(value, decision, source, node.span)
