"""Lowering of contracts."""

# ruff: noqa: D102  # a method is named after the rule it lowers, and the grammar says what that is
from __future__ import annotations

from typing import Any

from kernelcontracts.lang.decl import (
    Always,
    Arm,
    Bound,
    Calibrate,
    Companion,
    Contract,
    Labelled,
    Ladder,
    Let,
    Match,
    Measure,
    OnAverage,
    PlanRef,
    Reference,
    Relation,
    Scope,
    Signature,
    Step,
    Stratum,
    Trial,
)
from kernelcontracts.lang.expr import Call
from kernelcontracts.lang.lower_operator import LowerOperator, parts
from kernelcontracts.lang.lower_parts import Part, after, names_in, not_tokens, of_type, span_of
from kernelcontracts.lang.span import Span

REFERENCES = ("exact", "enclosure", "property")


class LowerContract(LowerOperator):
    """Methods named after the rules of contracts."""

    def companion(self, c: list[Any]) -> Part:
        span = span_of(c)
        return Part("companion", Companion(c[1].text, c[2].text[1:], span=span), span)

    # --- scope, pre, tolerance, reference ------------------------------------------------------------------------

    def scope_operator(self, c: list[Any]) -> Part:
        return Part("operator", c[1].text, span_of(c))

    def claimed(self, c: list[Any]) -> Part:
        return Part("claimed", c[1], span_of(c))

    def scope(self, c: list[Any]) -> Part:
        items, span = not_tokens(c), span_of(c)
        operator = self.once(items, "operator", "the scope")
        if operator is None:
            self.complain(
                "the scope names no operator", span, code="E0102", help="add a line such as `operator matmul`"
            )
        types = tuple(t for part in parts(items, "types") for t in part)
        return Part("scope", Scope(operator or "", types, tuple(parts(items, "claimed")), span=span), span)

    def pre(self, c: list[Any]) -> Part:
        return Part("pre", tuple(not_tokens(c)), span_of(c))

    def no_tolerance(self, c: list[Any]) -> Part:
        if c[1].text != "none":
            self.complain(
                f"`tolerance {c[1].text}` means nothing",
                span_of(c),
                help="write `tolerance none`, or the bounds in braces",
            )
        return Part("tolerance", (), span_of(c))

    def tolerance(self, c: list[Any]) -> Part:
        return Part("tolerance", tuple(i for i in c if isinstance(i, Bound)), span_of(c))

    def reference_meaning(self, c: list[Any]) -> Part:
        span = span_of(c)
        if c[2].text != "meaning":
            self.complain(
                f"a reference cannot be `{c[2].text}`", span,
                help="write `reference exact meaning`, or bindings in braces",
            )  # fmt: skip
        self._reference_kind(c[1])
        return Part("reference", Reference(c[1].text, meaning=True, span=span), span)

    def reference(self, c: list[Any]) -> Part:
        span = span_of(c)
        self._reference_kind(c[1])
        lets = tuple(Let(*part.value, span=part.span) for part in not_tokens(c))
        return Part("reference", Reference(c[1].text, lets, span=span), span)

    def _reference_kind(self, token: Any) -> None:
        if token.text not in REFERENCES:
            self.complain(
                f"there is no reference of kind `{token.text}`",
                Span(token.start, token.end),
                help=f"the kinds are {', '.join(f'`{k}`' for k in REFERENCES)}",
            )

    # --- post ----------------------------------------------------------------------------------------------------

    def strata(self, c: list[Any]) -> Part:
        return Part("strata", names_in(c), span_of(c))

    def always(self, c: list[Any]) -> Always:
        return Always(c[1].text, c[-1], _strata(c), span=span_of(c))

    def on_average(self, c: list[Any]) -> OnAverage:
        return OnAverage(c[1].text, c[-1], _strata(c), span=span_of(c))

    def relation(self, c: list[Any]) -> Relation:
        variable = after(c, "FOR").text
        return Relation(
            c[1].text, variable, after(c, "IN"), c[-1], after(c, "WHERE"), _strata(c), span=span_of(c)
        )  # fmt: skip

    def match(self, c: list[Any]) -> Match:
        arms = tuple(i for i in c if isinstance(i, Arm))
        return Match(c[1].text, after(c, "COLON"), arms, after(c, "WHEN"), _strata(c), span=span_of(c))

    def arm(self, c: list[Any]) -> Arm:
        return Arm(c[0].text, c[2], span=span_of(c))

    def ladder(self, c: list[Any]) -> Ladder:
        steps = tuple(i for i in c if isinstance(i, Step))
        return Ladder(c[1].text, after(c, "COLON"), steps, _strata(c), span=span_of(c))

    def step(self, c: list[Any]) -> Step:
        return Step(c[0].text, c[2], span=span_of(c))

    def empty_step(self, c: list[Any]) -> Step:
        return Step(c[0].text, None, span=span_of(c))

    def post(self, c: list[Any]) -> Part:
        return Part("post", tuple(not_tokens(c)), span_of(c))

    # --- measure, violation, calibrate ---------------------------------------------------------------------------

    def measure(self, c: list[Any]) -> Part:
        items, span = not_tokens(c), span_of(c)
        base = next((i for i in items if isinstance(i, PlanRef)), None)
        strata = tuple(i for i in items if isinstance(i, Stratum))
        settings = tuple(i for i in items if isinstance(i, Labelled))
        return Part("measure", Measure(base, strata, settings, span=span), span)

    def signature(self, c: list[Any]) -> Signature:
        return Signature(c[0].text, self.string(c[1]), c[4], span=span_of(c))

    def violation(self, c: list[Any]) -> Part:
        return Part("violation", tuple(not_tokens(c)), span_of(c))

    def changes(self, c: list[Any]) -> Part:
        return Part("changes", self.bindings(not_tokens(c), "decision"), span_of(c))

    def claiming(self, c: list[Any]) -> Part:
        return Part("claiming", c[1].value, span_of(c))

    def smoke(self, c: list[Any]) -> Part:
        return Part("smoke", c[1], span_of(c))

    def trial_tail(self, c: list[Any]) -> Part:
        breaks, names, typings = after(c, "BREAKS"), after(c, "NAMES"), after(c, "WHERE")
        value = {
            "breaks": breaks.text if breaks else None,
            "signature": names.text if names else None,
            "types": typings.value if typings else (),
        }
        return Part("tail", value, span_of(c) if c else Span(0, 0))

    def changed(self, c: list[Any]) -> Trial:
        return Trial(c[0].text, c[1].value, **c[-1].value, span=_trial_span(c))

    def as_claimed(self, c: list[Any]) -> Trial:
        if c[1].text != "as_claimed":
            self.complain(
                f"`{c[0].text} {c[1].text}` says nothing about a decision",
                Span(c[0].start, c[1].end),
                help=f"write `{c[0].text} as_claimed`, `{c[0].text} decision = value` or `{c[0].text} fault name(…)`",
            )
        return Trial(c[0].text, **c[-1].value, span=_trial_span(c))

    def faulty(self, c: list[Any]) -> Trial:
        fault = c[-2]
        if not isinstance(fault, Call):
            self.complain("a fault is a call", fault.span, help="write for example `zeros()` or `drop_tail(32)`")
        return Trial(c[0].text, fault=fault, **c[-1].value, span=_trial_span(c))

    def calibrate(self, c: list[Any]) -> Part:
        items, span = not_tokens(c), span_of(c)
        claiming = self.once(items, "claiming", "the calibration") or ()
        trials = tuple(i for i in items if isinstance(i, Trial))
        return Part("calibrate", Calibrate(claiming, tuple(parts(items, "smoke")), trials, span=span), span)

    # --- the whole -----------------------------------------------------------------------------------------------

    def contract(self, c: list[Any]) -> Contract:
        where = f"contract {c[1].text}"
        items = not_tokens(c)
        generic = names_in(c)
        sections = {
            kind: self.once(items, kind, where)
            for kind in (
                "companion", "scope", "pre", "post", "tolerance", "reference", "measure", "violation", "calibrate"
            )
        }  # fmt: skip
        return Contract(
            c[1].text,
            of_type(c, "VERSION")[0].text[1:],
            variable=generic[0] if generic else None,
            family=generic[1] if generic else None,
            lets=tuple(i for i in items if isinstance(i, Let)),
            span=span_of(c),
            **sections,
        )


def _strata(c: list[Any]) -> tuple[str, ...]:
    part = c[2]
    return part.value if isinstance(part, Part) else ()


def _trial_span(c: list[Any]) -> Span:
    tail = c[-1]
    return span_of(c if tail.span.end else c[:-1])
