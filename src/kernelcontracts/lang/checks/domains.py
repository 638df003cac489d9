"""E0404, E0205, E0406: values belong to their decisions, and clauses over a decision cover its values."""

from __future__ import annotations

from difflib import get_close_matches
from itertools import pairwise
from typing import TYPE_CHECKING

from kernelcontracts.lang.checks.context import Entry, choice_decision, is_choice
from kernelcontracts.lang.checks.names import check_decision, check_typing, unknown
from kernelcontracts.lang.decisions import (
    ClaimError,
    compare,
    describe,
    is_ordered,
    member,
    representatives,
    value_names,
    value_of_expr,
)
from kernelcontracts.lang.decl import Ladder, Match
from kernelcontracts.lang.diagnostics import diagnostic
from kernelcontracts.lang.expr import Binary, Compare, In, Member, Name, SetLiteral
from kernelcontracts.lang.values import Choice
from kernelcontracts.lang.walk import claim_predicate, judged_parts, member_path, walk

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kernelcontracts.lang.checks.context import View
    from kernelcontracts.lang.decl import Arm, ClaimBlock, ClaimSheet, Contract, Decision
    from kernelcontracts.lang.diagnostics import Diagnostic
    from kernelcontracts.lang.expr import Expr
    from kernelcontracts.lang.library import Library, Located
    from kernelcontracts.lang.source import Source
    from kernelcontracts.lang.span import Span


def _outside(text: str, decision: Decision, source: Source, span: Span | None) -> Diagnostic:
    near = get_close_matches(text, [str(v) for v in representatives(decision)], 2, 0.5)
    return diagnostic(
        "E0404",
        f"`{text}` is not a value of `{decision.name}`",
        source=source,
        span=span,
        label="outside the domain",
        notes=(f"its values are {describe(decision)}",),
        help=f"did you mean {' or '.join(f'`{n}`' for n in near)}?" if near else None,
    )


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


# --- operators and contracts -------------------------------------------------------------------------------------


def check_entry(entry: Entry) -> Iterator[Diagnostic]:
    """Yield values outside their decisions in an operator's entry, and decisions without values."""
    for decision in entry.operator.decisions:
        if not representatives(decision):
            yield diagnostic(
                "E0404",
                f"`{decision.name}` has no values",
                source=entry.source,
                span=decision.span,
                label="an empty domain",
                help="list its values, strongest first: `decision d : a > b | c`",
            )
    for value in entry.definitions.values():
        yield from _check_comparisons(value, entry, entry.source)


def check_view(view: View) -> Iterator[Diagnostic]:
    """Yield values outside their decisions in a contract, and clauses that do not cover a decision."""
    contract, entry, source = view.contract, view.entry, view.source
    parts = [*judged_parts(contract), *(let.value for let in contract.lets)]
    parts += [s.condition for s in contract.violation or ()]
    for part in parts:
        yield from _check_comparisons(part, entry, source)
    yield from _check_claimed(contract, source)
    yield from _check_trials(view)
    for clause in contract.post or ():
        if isinstance(clause, Match):
            yield from _check_match(clause, view)
        elif isinstance(clause, Ladder):
            yield from _check_ladder(clause, view)


def _check_comparisons(expr: Expr, entry: Entry, source: Source) -> Iterator[Diagnostic]:
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


def _check_claimed(contract: Contract, source: Source) -> Iterator[Diagnostic]:
    for predicate in contract.scope.claimed if contract.scope else ():
        full = claim_predicate(predicate)
        if not any((member_path(node) or ("", ""))[0] == "claim" for node in walk(full)):
            yield diagnostic(
                "E0404",
                "a `claimed` line says which values of a decision are in scope",
                source=source,
                span=predicate.span,
                label="names no decision",
                help="write `claimed accumulator in {f64, f32}`",
            )


def _check_trials(view: View) -> Iterator[Diagnostic]:
    calibrate = view.contract.calibrate
    if calibrate is None:
        return
    changes = [(c, calibrate.span) for c in calibrate.claiming]
    changes += [(c, trial.span) for trial in calibrate.trials for c in trial.changes]
    for (name, value), span in changes:
        decision = view.entry.decisions.get(name)
        if decision is not None:
            yield from check_value_at(value, decision, view.source, span)


# --- match and ladder --------------------------------------------------------------------------------------------


def _subject(expr: Expr, view: View) -> Decision | None:
    return choice_decision(expr, view.entry.decisions) if isinstance(expr, Member) else None


def _check_subject(subject: Expr, what: str, view: View) -> Iterator[Diagnostic]:
    path = member_path(subject)
    if path is None or path[0] != "claim":
        yield diagnostic(
            "E0205",
            f"a `{what}` is over the values of a claim",
            source=view.source,
            span=subject.span,
            label="write `claim.…` here",
        )


def _check_match(clause: Match, view: View) -> Iterator[Diagnostic]:
    yield from _check_subject(clause.subject, "match", view)
    decision = _subject(clause.subject, view)
    if decision is None:
        return
    given = [(arm.value, arm.span) for arm in clause.arms]
    yield from _check_cover("match", clause.label, given, decision, clause.span, view)
    yield from _check_nesting(clause, decision, view)


def _check_cover(
    what: str,
    label: str,
    given: list[tuple[str, Span | None]],
    decision: Decision,
    span: Span | None,
    view: View,
) -> Iterator[Diagnostic]:
    values = value_names(decision)
    seen: set[str] = set()
    for name, place in given:
        if name not in values:
            yield _strange_arm(what, name, decision, view.source, place)
        elif name in seen:
            yield diagnostic(
                "E0103",
                f"the {what} says twice what happens for `{name}`",
                source=view.source,
                span=place,
                label="again",
            )
        seen.add(name)
    missing = [v for v in values if v not in seen]
    if missing:
        yield _uncovered(what, label, missing, given, decision, span, view.source)


def _strange_arm(what: str, name: str, decision: Decision, source: Source, span: Span | None) -> Diagnostic:
    near = get_close_matches(name, value_names(decision), 2, 0.5)
    return diagnostic(
        "E0205",
        f"`{name}` is not a value of `{decision.name}`, so this line of the {what} never applies",
        source=source,
        span=span,
        label="outside the domain",
        notes=(f"its values are {describe(decision)}",),
        help=f"did you mean {' or '.join(f'`{n}`' for n in near)}?" if near else None,
    )


def _uncovered(
    what: str,
    label: str,
    missing: list[str],
    given: list[tuple[str, Span | None]],
    decision: Decision,
    span: Span | None,
    source: Source,
) -> Diagnostic:
    listed = ", ".join(f"`{m}`" for m in missing)
    written = ", ".join(name for name, _ in given) or "nothing"
    example = f"{missing[0]} => true" if what == "match" else f"{missing[0]} adds nothing"
    return diagnostic(
        "E0205",
        f"the {what} `{label}` does not say what happens for {listed}",
        source=source,
        span=span,
        label=f"covers {written}",
        notes=(f"`decision {decision.name} : {describe(decision)}`",),
        help=f"add `{example}` if nothing is asked there, or keep the value out of scope with `claimed`",
    )


def _check_nesting(clause: Match, decision: Decision, view: View) -> Iterator[Diagnostic]:
    """Over an ordered decision a stronger arm must ask all that a weaker one asks."""
    if not is_ordered(decision):
        return
    by_name = {arm.value: arm for arm in clause.arms}
    values = [v for v in representatives(decision) if isinstance(v, Choice) and v.name in by_name]
    for strong in values:
        for weak in values:
            if compare(decision, strong, weak) == "stronger":
                lost = _conjuncts(by_name[weak.name]) - _conjuncts(by_name[strong.name])
                if lost:
                    yield _not_nested(by_name[strong.name], str(weak), decision, view.source)
                    return


def _conjuncts(arm: Arm) -> set[Expr]:
    todo, found = [arm.predicate], set()
    while todo:
        expr = todo.pop()
        if isinstance(expr, Binary) and expr.op == "and":
            todo += [expr.left, expr.right]
        elif expr != Name("true"):
            found.add(expr)
    return found


def _not_nested(arm: Arm, weaker: str, decision: Decision, source: Source) -> Diagnostic:
    return diagnostic(
        "E0406",
        f"`{arm.value}` accepts something that the weaker `{weaker}` rejects",
        source=source,
        span=arm.span,
        label=f"does not contain what `{weaker}` asks",
        notes=(
            f"`decision {decision.name} : {describe(decision)}` is ordered: a stronger claim asks at least as much",
        ),
        help="use a `ladder`, in which each step keeps the earlier ones, or declare the decision unordered with `|`",
    )


def _check_ladder(clause: Ladder, view: View) -> Iterator[Diagnostic]:
    yield from _check_subject(clause.subject, "ladder", view)
    decision = _subject(clause.subject, view)
    if decision is None:
        return
    given = [(step.value, step.span) for step in clause.steps]
    yield from _check_cover("ladder", clause.label, given, decision, clause.span, view)
    yield from _check_order(clause, decision, view)


def _check_order(clause: Ladder, decision: Decision, view: View) -> Iterator[Diagnostic]:
    """Each step must be stronger than the one before, because it keeps what that one asks."""
    known = {v.name: v for v in representatives(decision) if isinstance(v, Choice)}
    steps = [s for s in clause.steps if s.value in known]
    for lower, upper in pairwise(steps):
        relation = compare(decision, known[upper.value], known[lower.value])
        if relation != "stronger" and upper.value != lower.value:
            yield diagnostic(
                "E0406",
                f"`{upper.value}` is not stronger than `{lower.value}`, whose demands it keeps",
                source=view.source,
                span=upper.span,
                label="out of order" if relation == "weaker" else f"`{relation}` in strength",
                notes=(f"`decision {decision.name} : {describe(decision)}`, strongest first",),
                help="write the steps weakest first"
                if relation == "weaker"
                else "use `match` for values that are not ordered",
            )
            return


# --- claim sheets ------------------------------------------------------------------------------------------------


def check_sheet(library: Library, located: Located[ClaimSheet]) -> Iterator[Diagnostic]:
    """Yield what is wrong with a claim sheet."""
    operators = {o.decl.name: o for o in library.operators}
    for block in located.decl.blocks:
        operator = operators.get(block.operator)
        if operator is None:
            yield unknown(block.operator, operators, located.source, block.span, "an operator")
        else:
            yield from _check_block(block, Entry(operator.decl, operator.source), located.source)


def _check_block(block: ClaimBlock, entry: Entry, source: Source) -> Iterator[Diagnostic]:
    for typing in block.types:
        yield from check_typing(typing, entry, source)
    for claim in block.claims:
        decision = entry.decisions.get(claim.decision)
        if decision is None:
            yield from check_decision(claim.decision, entry, source, claim.span)
        elif claim.value is not None:
            yield from check_value_at(claim.value, decision, source, claim.span)
