"""Lowering of operators and plans."""

# ruff: noqa: D102  # a method is named after the rule it lowers, and the grammar says what that is
from __future__ import annotations

import re
from typing import Any

from kernelcontracts.lang.decl import (
    Because,
    Bound,
    Decision,
    Draw,
    Labelled,
    Let,
    Operator,
    Param,
    Plan,
    PlanRef,
    Stratum,
    Typing,
)
from kernelcontracts.lang.lower_expr import LowerExpr
from kernelcontracts.lang.lower_parts import (
    Part,
    after,
    end_of,
    names_in,
    not_tokens,
    of_type,
    span_of,
)
from kernelcontracts.lang.span import Span

_WEIGHT = re.compile(r"x([1-9][0-9]{0,5})")


class LowerOperator(LowerExpr):
    """Methods named after the rules of operators, plans, and what contracts share with them."""

    def path(self, c: list[Any]) -> Part:
        return Part("path", ".".join(names_in(c)), span_of(c))

    def plan_ref(self, c: list[Any]) -> PlanRef:
        name, span = c[0].value, span_of(c)
        version = c[1].text[1:] if len(c) == 2 else ""
        if not version and name != "op.plan":
            self.complain(
                f"the plan `{name}` is named without its version", span, help=f"write `{name} @1`, or `op.plan`"
            )
        return PlanRef(name, version, span=span)

    def labelled(self, c: list[Any]) -> Labelled:
        return Labelled(c[0].text, c[2], span=span_of(c))

    def let(self, c: list[Any]) -> Let:
        return Let(c[1].text, c[3], span=span_of(c))

    def bound(self, c: list[Any]) -> Bound:
        because = None
        if len(c) > 3:
            because = Because(c[4].text, self.string(c[5]), span=span_of(c[3:]))
        return Bound(c[0].text, c[2], because, span=span_of(c))

    # --- operators -----------------------------------------------------------------------------------------------

    def params(self, c: list[Any]) -> Part:
        return Part("params", tuple(not_tokens(c)), span_of(c))

    def param(self, c: list[Any]) -> Param:
        return Param(c[0].text, c[2].text, tuple(not_tokens(c)), span=span_of(c))

    def family(self, c: list[Any]) -> Part:
        return Part("families", names_in(c), span_of(c))

    def types(self, c: list[Any]) -> Part:
        return Part("types", c[1].value, span_of(c))

    def typings(self, c: list[Any]) -> Part:
        return Part("typings", tuple(not_tokens(c)), span_of(c))

    def typing(self, c: list[Any]) -> Typing:
        cut = next(i for i, item in enumerate(c) if item.type == "IN")
        return Typing(names_in(c[:cut]), names_in(c[cut:]), span=span_of(c))

    def meaning(self, c: list[Any]) -> Part:
        return Part("meaning", (c[1], c[3]), span_of(c))

    def operator_plan(self, c: list[Any]) -> Part:
        return Part("plan", c[1], span_of(c))

    def decision(self, c: list[Any]) -> Decision:
        levels = tuple(part.value for part in not_tokens(c))
        measure = after(c, "BY")
        return Decision(c[1].text, levels, measure.text if measure else None, span=span_of(c))

    def event(self, c: list[Any]) -> Part:
        return Part("event", c[1], span_of(c))

    def error(self, c: list[Any]) -> Part:
        return Part("error", c[1], span_of(c))

    def operator(self, c: list[Any]) -> Operator:
        inputs = c[3].value if isinstance(c[3], Part) else ()
        outputs = after(c, "ARROW").value
        opened = next(i for i, item in enumerate(c) if getattr(item, "type", "") == "LBRACE")
        items = not_tokens(c[opened:])
        once = {kind: self.once(items, kind, f"operator `{c[1].text}`") for kind in ("families", "meaning", "plan")}
        target, meaning = once["meaning"] or (None, None)
        return Operator(
            c[1].text,
            inputs,
            outputs,
            families=once["families"] or (),
            types=tuple(t for part in parts(items, "types") for t in part),
            target=target,
            meaning=meaning,
            decisions=tuple(i for i in items if isinstance(i, Decision)),
            events=tuple(parts(items, "event")),
            lets=tuple(i for i in items if isinstance(i, Let)),
            errors=tuple(parts(items, "error")),
            plan=once["plan"],
            span=span_of(c),
        )

    def once(self, items: list[Any], kind: str, where: str) -> Any:
        """Return the value of the only part of a kind, or ``None``; a second one is an error."""
        found = [i for i in items if isinstance(i, Part) and i.kind == kind]
        for again in found[1:]:
            self.complain(
                f"a second `{kind}` in {where}", again.span, code="E0103", label="again here",
                secondary=[self.label(found[0].span, "first here")],
            )  # fmt: skip
        return found[0].value if found else None

    # --- plans ---------------------------------------------------------------------------------------------------

    def draw(self, c: list[Any]) -> Draw:
        return Draw(names_in(c), c[-1], span=span_of(c))

    def stratum(self, c: list[Any]) -> Stratum:
        names = of_type(c, "NAME")
        weight = self._weight(names[1]) if len(names) == 2 else 1
        return Stratum(names[0].text, tuple(not_tokens(c)), weight, span=Span(c[0].start, end_of(c[-1])))

    def _weight(self, token: Any) -> int:
        match = _WEIGHT.fullmatch(token.text)
        if match is None:
            self.complain(
                f"`{token.text}` is not a weight",
                Span(token.start, token.end),
                help="a weight is written `x2`, from x1 to x999999",
            )
            return 1
        return int(match.group(1))

    def plan(self, c: list[Any]) -> Plan:
        items = not_tokens(c[2:])
        strata = tuple(i for i in items if isinstance(i, Stratum))
        settings = tuple(i for i in items if isinstance(i, Labelled))
        return Plan(c[1].value, c[2].text[1:], strata, settings, span=span_of(c))


def parts(items: list[Any], kind: str) -> list[Any]:
    """Return the values of the parts of one kind."""
    return [i.value for i in items if isinstance(i, Part) and i.kind == kind]
