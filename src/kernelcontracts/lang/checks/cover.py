"""E0205, E0406: a clause over a decision says what happens for each value, and asks more of stronger ones."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from kernelcontracts.lang.checks.context import choice_decision
from kernelcontracts.lang.checks.name_messages import did_you_mean
from kernelcontracts.lang.decisions import compare, describe, is_ordered, representatives, value_names
from kernelcontracts.lang.diagnostics import diagnostic
from kernelcontracts.lang.expr import Binary, Member, Name
from kernelcontracts.lang.values import Choice
from kernelcontracts.lang.walk import member_path

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kernelcontracts.lang.checks.context import View
    from kernelcontracts.lang.decl import Arm, Decision, Ladder, Match
    from kernelcontracts.lang.diagnostics import Diagnostic
    from kernelcontracts.lang.expr import Expr
    from kernelcontracts.lang.source import Source
    from kernelcontracts.lang.span import Span


def check_match(clause: Match, view: View) -> Iterator[Diagnostic]:
    """Yield arms that are missing, strange or weaker than those of weaker values."""
    yield from _check_subject(clause.subject, "match", view)
    decision = _subject(clause.subject, view)
    if decision is None:
        return
    given = [(arm.value, arm.span) for arm in clause.arms]
    yield from _check_cover("match", clause.label, given, decision, clause.span, view)
    yield from _check_nesting(clause, decision, view)


def check_ladder(clause: Ladder, view: View) -> Iterator[Diagnostic]:
    """Yield steps that are missing, strange or out of order."""
    yield from _check_subject(clause.subject, "ladder", view)
    decision = _subject(clause.subject, view)
    if decision is None:
        return
    given = [(step.value, step.span) for step in clause.steps]
    yield from _check_cover("ladder", clause.label, given, decision, clause.span, view)
    yield from _check_order(clause, decision, view)


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


# --- cover -----------------------------------------------------------------------------------------------------------


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
    return diagnostic(
        "E0205",
        f"`{name}` is not a value of `{decision.name}`, so this line of the {what} never applies",
        source=source,
        span=span,
        label="outside the domain",
        notes=(f"its values are {describe(decision)}",),
        help=did_you_mean(name, value_names(decision), 2, 0.5),
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


# --- strength --------------------------------------------------------------------------------------------------------


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
