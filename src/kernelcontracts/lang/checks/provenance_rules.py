"""The rules of provenance: what a section may not depend on, and why."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kernelcontracts.lang.diagnostics import Label, diagnostic
from kernelcontracts.lang.expr import Name, Quantity

if TYPE_CHECKING:
    from kernelcontracts.lang.checks.dependence import Labels
    from kernelcontracts.lang.diagnostics import Diagnostic
    from kernelcontracts.lang.expr import Expr
    from kernelcontracts.lang.source import Source


@dataclass(frozen=True, slots=True)
class Rule:
    """What a section may not depend on, and why."""

    code: str
    message: str
    label: str
    note: str
    advice: str | None = None


TOLERANCE = Rule(
    "E0301",
    "a tolerance may not depend on the candidate",
    "this reads the candidate's output",
    "a kernel that controls its own tolerance can always conform",
    "use an oracle value (`ref`) or an input instead",
)

REFERENCE = Rule(
    "E0302",
    "a reference may not depend on the candidate",
    "this reads the candidate's output",
    "a kernel that is its own reference is always right",
    "compute the reference from the inputs",
)

PRECONDITION = Rule(
    "E0303",
    "a precondition may not depend on the candidate",
    "this reads the candidate's output",
    "selecting inputs by the candidate's behaviour hides failures",
    "state the condition on inputs, or on the reference",
)

PLAN = Rule(
    "E0303",
    "an input plan may not depend on the candidate",
    "this reads the candidate's output",
    "choosing inputs by the candidate's behaviour hides failures",
)

DECISION_RULE = Rule(
    "E0306",
    "a decision rule may not depend on the candidate",
    "this reads the candidate's output",
    "a kernel that chooses when measuring stops chooses the verdict",
)

SIDE = Rule(
    "E0304",
    "the bounding side of this comparison depends on the candidate",
    "this side reads the candidate as well",
    "a kernel that controls both sides of a comparison decides whether it holds",
    "bound the candidate by the reference, the inputs or a named tolerance; to compare bits use `identical`",
)

TOLERANCE_SIDE = Rule(
    "E0304",
    "the tolerance of this comparison depends on the candidate",
    "this reads the candidate's output",
    "a kernel that controls its own tolerance can always conform",
    "use a named tolerance, or a value of the reference",
)

CENTRE = Rule(
    "E0304",
    "this compares the candidate with itself",
    "this side reads the candidate as well",
    "only two calls may be compared, as in `within T of impl(…)`",
    "compare with the reference, or with `impl(…)` on other inputs",
)


def report(rule: Rule, where: Expr, source: Source, labels: Labels) -> Diagnostic:
    """Report a place that brings in what a rule forbids."""
    return diagnostic(
        rule.code,
        rule.message,
        source=source,
        span=where.span,
        label=rule.label,
        secondary=_definition_label(where, labels),
        notes=(rule.note,),
        help=rule.advice,
    )


def _definition_label(where: Expr, labels: Labels) -> tuple[Label, ...]:
    """Point at the definition through which a name brings the candidate in."""
    value = labels.names.get(where.id) if isinstance(where, Name) else None
    if value is None or value.span is None:
        return ()
    inner = labels.of(value).get("candidate")
    if inner is None or inner.span is None:
        return ()
    return (Label(inner.span, "here the candidate's output comes in"),)


def diagnosis(where: Expr, source: Source) -> Diagnostic:
    """Report a residual feature outside of ``violation``."""
    return diagnostic(
        "E0305",
        "a verdict may not depend on a diagnosis",
        source=source,
        span=where.span,
        label="residual features stand in `violation` only",
        notes=("features are computed after the verdict, to name its cause",),
    )


def anchored(node: Quantity, label: str, source: Source) -> Diagnostic:
    """Report a tolerance that is measured at what the candidate returned."""
    return diagnostic(
        "E0304",
        "this tolerance would be measured relative to the candidate's own output",
        source=source,
        span=node.span,
        label=label,
        notes=("a kernel that controls its own tolerance can always conform",),
        help=f"anchor it at the oracle, as in `… {node.unit} at ref`, or use a named tolerance",
    )
