"""E0301 to E0306: nothing that judges a candidate may come from the candidate.

Every expression has the set of sources it may depend on. A function's result depends on what its arguments depend on,
and there is no operation that takes a source away; therefore, if the checks here pass, then for any two
implementations and the same inputs the cases, the references and the tolerances are equal (induction over the
expressions). Formats of outputs are read from the signature, so ``u(C)`` depends on nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

from kernelcontracts.lang.builtins import OBSERVED_NAMES, TABLE
from kernelcontracts.lang.checks.context import is_choice
from kernelcontracts.lang.decl import Always, Ladder, Match, OnAverage, Relation
from kernelcontracts.lang.diagnostics import Label, diagnostic
from kernelcontracts.lang.expr import (
    Binary,
    Call,
    Compare,
    Feature,
    Identical,
    If,
    Name,
    Quantity,
    Unary,
    Within,
)
from kernelcontracts.lang.walk import children, clause_parts, member_path, walk

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from kernelcontracts.lang.checks.context import Entry, View
    from kernelcontracts.lang.decl import Clause, Labelled, Stratum
    from kernelcontracts.lang.diagnostics import Diagnostic
    from kernelcontracts.lang.expr import Expr
    from kernelcontracts.lang.source import Source

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


# --- sinks -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Rule:
    """What a section may not depend on, and why."""

    code: str
    message: str
    label: str
    note: str
    advice: str | None = None


_TOLERANCE = Rule(
    "E0301",
    "a tolerance may not depend on the candidate",
    "this reads the candidate's output",
    "a kernel that controls its own tolerance can always conform",
    "use an oracle value (`ref`) or an input instead",
)
_REFERENCE = Rule(
    "E0302",
    "a reference may not depend on the candidate",
    "this reads the candidate's output",
    "a kernel that is its own reference is always right",
    "compute the reference from the inputs",
)
_PRECONDITION = Rule(
    "E0303",
    "a precondition may not depend on the candidate",
    "this reads the candidate's output",
    "selecting inputs by the candidate's behaviour hides failures",
    "state the condition on inputs, or on the reference",
)
_PLAN = Rule(
    "E0303",
    "an input plan may not depend on the candidate",
    "this reads the candidate's output",
    "choosing inputs by the candidate's behaviour hides failures",
)
_DECISION_RULE = Rule(
    "E0306",
    "a decision rule may not depend on the candidate",
    "this reads the candidate's output",
    "a kernel that chooses when measuring stops chooses the verdict",
)
_SIDE = Rule(
    "E0304",
    "the bounding side of this comparison depends on the candidate",
    "this side reads the candidate as well",
    "a kernel that controls both sides of a comparison decides whether it holds",
    "bound the candidate by the reference, the inputs or a named tolerance; to compare bits use `identical`",
)


def _banned(labels: Labels, expr: Expr, rule: Rule, source: Source) -> Iterator[Diagnostic]:
    found = labels.of(expr)
    if "candidate" in found:
        yield _report(rule, found["candidate"], source, labels)
    if "diagnosis" in found:
        yield _diagnosis(found["diagnosis"], source)


def _report(rule: Rule, where: Expr, source: Source, labels: Labels) -> Diagnostic:
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


def _diagnosis(where: Expr, source: Source) -> Diagnostic:
    return diagnostic(
        "E0305",
        "a verdict may not depend on a diagnosis",
        source=source,
        span=where.span,
        label="residual features stand in `violation` only",
        notes=("features are computed after the verdict, to name its cause",),
    )


def check_view(view: View) -> Iterator[Diagnostic]:
    """Yield what in a contract depends on what it may not."""
    labels, source, contract = view_labels(view), view.source, view.contract
    for bound in contract.tolerance or ():
        yield from _check_width(bound.value, labels, source)
    yield from _check_reference(view, labels)
    for item in contract.pre or ():
        yield from _banned(labels, item.value, _PRECONDITION, source)
    for predicate in contract.scope.claimed if contract.scope else ():
        yield from _banned(labels, predicate, _PRECONDITION, source)
    yield from _check_measure(view, labels)
    for clause in contract.post or ():
        yield from _check_clause(clause, labels, source)


def check_entry(entry: Entry) -> Iterator[Diagnostic]:
    """Yield where an operator's entry reads the candidate."""
    labels, operator = entry_labels(entry), entry.operator
    if operator.meaning is not None:
        yield from _banned(labels, operator.meaning, _REFERENCE, entry.source)
    for bound in operator.errors:
        yield from _check_width(bound.value, labels, entry.source)
    for event in operator.events:
        yield from _banned(labels, event.value, _PRECONDITION, entry.source)
    for let in operator.lets:
        yield from _check_width(let.value, labels, entry.source)


def _check_width(expr: Expr, labels: Labels, source: Source) -> Iterator[Diagnostic]:
    """Yield where a bound reads the candidate; at an anchor it is reported there and not again for the whole."""
    anchored = list(_check_anchors(expr, labels, source))
    yield from anchored
    if not anchored:
        yield from _banned(labels, expr, _TOLERANCE, source)


def _check_reference(view: View, labels: Labels) -> Iterator[Diagnostic]:
    reference = view.contract.reference
    for binding in reference.bindings if reference else ():
        yield from _banned(labels, binding.value, _REFERENCE, view.source)
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


def check_plan(
    strata: Iterable[Stratum], settings: Iterable[Labelled], entry: Entry, source: Source
) -> Iterator[Diagnostic]:
    """Yield where a plan reads the candidate."""
    yield from _check_protocol(strata, settings, entry_labels(entry), source)


def _check_protocol(
    strata: Iterable[Stratum], settings: Iterable[Labelled], labels: Labels, source: Source
) -> Iterator[Diagnostic]:
    for stratum in strata:
        for draw in stratum.draws:
            yield from _banned(labels, draw.generator, _PLAN, source)
    for setting in settings:
        rule = _DECISION_RULE if setting.label in {"conclude", "guard", "statistic"} else _PLAN
        yield from _banned(labels, setting.value, rule, source)


# --- clauses -----------------------------------------------------------------------------------------------------


def _check_clause(clause: Clause, labels: Labels, source: Source) -> Iterator[Diagnostic]:
    for part in clause_parts(clause):
        for node in walk(part):
            if isinstance(node, Feature) or (member_path(node) or ("", ""))[0] == "r":
                yield _diagnosis(node, source)
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
        yield _report(_PLAN, where, source, labels)


def _check_predicate(expr: Expr, labels: Labels, source: Source) -> Iterator[Diagnostic]:
    match expr:
        case Within():
            yield from _check_within(expr, labels, source)
        case Compare():
            yield from _check_sides(expr, labels, source)
        case Identical():
            yield from _check_anchors(expr.left, labels, source)
            yield from _check_anchors(expr.right, labels, source)
        case Unary() | Binary() | If() | Call():
            for part in children(expr):
                yield from _check_predicate(part, labels, source)
        case Quantity():
            yield from _check_anchors(expr, labels, source)


def _check_sides(expr: Compare, labels: Labels, source: Source) -> Iterator[Diagnostic]:
    """Of the two sides of a comparison at most one may read the candidate: the other is the bound."""
    for left, right in zip(expr.operands, expr.operands[1:], strict=False):
        second = labels.of(right).get("candidate")
        if labels.of(left).get("candidate") is not None and second is not None:
            yield _report(_SIDE, second, source, labels)
    for operand in expr.operands:
        yield from _check_anchors(operand, labels, source)


def _check_within(expr: Within, labels: Labels, source: Source) -> Iterator[Diagnostic]:
    width = labels.of(expr.tolerance).get("candidate")
    if width is not None and not _is_anchor_problem(expr.tolerance, width):
        yield _report(_TOLERANCE_SIDE, width, source, labels)
    yield from _check_anchors(expr.tolerance, labels, source)
    centre = labels.of(expr.reference).get("candidate")
    if centre is None:
        return
    if not (isinstance(expr.reference, Call) and expr.reference.function == "impl"):
        yield _report(_CENTRE, centre, source, labels)
    for node in walk(expr.tolerance):
        if isinstance(node, Quantity) and node.unit != "abs" and node.anchor is None:
            yield _anchored(node, f"`{node.unit}` is anchored at a value that comes from the candidate", source)


_TOLERANCE_SIDE = Rule(
    "E0304",
    "the tolerance of this comparison depends on the candidate",
    "this reads the candidate's output",
    "a kernel that controls its own tolerance can always conform",
    "use a named tolerance, or a value of the reference",
)
_CENTRE = Rule(
    "E0304",
    "this compares the candidate with itself",
    "this side reads the candidate as well",
    "only two calls may be compared, as in `within T of impl(…)`",
    "compare with the reference, or with `impl(…)` on other inputs",
)


def _is_anchor_problem(expr: Expr, where: Expr) -> bool:
    """Whether the candidate comes in through an anchor, which is reported as such."""
    anchors = [n.anchor for n in walk(expr) if isinstance(n, Quantity) and n.anchor is not None]
    return any(where is part for anchor in anchors for part in walk(anchor))


def _check_anchors(expr: Expr, labels: Labels, source: Source) -> Iterator[Diagnostic]:
    for node in walk(expr):
        if isinstance(node, Quantity) and node.anchor is not None:
            where = labels.of(node.anchor).get("candidate")
            if where is not None:
                yield _anchored(node, "the anchor reads the candidate's output", source)


def _anchored(node: Quantity, label: str, source: Source) -> Diagnostic:
    return diagnostic(
        "E0304",
        "this tolerance would be measured relative to the candidate's own output",
        source=source,
        span=node.span,
        label=label,
        notes=("a kernel that controls its own tolerance can always conform",),
        help=f"anchor it at the oracle, as in `… {node.unit} at ref`, or use a named tolerance",
    )
