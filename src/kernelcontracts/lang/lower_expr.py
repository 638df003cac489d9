"""Lowering of expressions."""

# ruff: noqa: D102  # a method is named after the rule it lowers, and the grammar says what that is
from __future__ import annotations

from fractions import Fraction
from typing import Any

from kernelcontracts.lang.expr import (
    Binary,
    Call,
    Compare,
    Expr,
    Feature,
    Identical,
    If,
    In,
    Index,
    Member,
    Name,
    Number,
    Quantity,
    RecordLiteral,
    Reduce,
    SetLiteral,
    Star,
    Text,
    Unary,
    Within,
)
from kernelcontracts.lang.lower_parts import (
    Complaints,
    Part,
    after,
    not_tokens,
    of_type,
    span_of,
)
from kernelcontracts.lang.numbers import read_number
from kernelcontracts.lang.span import Span
from kernelcontracts.lang.texts import read_text

REDUCERS = frozenset({"sum", "max", "min", "prod", "any", "all"})
"""Functions that may bind an index: ``sum[k < K](…)``."""


class LowerExpr(Complaints):
    """Methods named after the rules of expressions."""

    def number(self, c: list[Any]) -> Expr:
        token = c[0]
        span = Span(token.start, token.end)
        try:
            value = read_number(token.text)
        except ValueError as error:
            self.complain(str(error), span, label="this literal", help="write the number within the limits")
            value = Fraction(0)
        return Number(value, token.text, span=span)

    def negative_number(self, c: list[Any]) -> Expr:
        return Unary("-", self.number(c[1:]), span=span_of(c))

    def text(self, c: list[Any]) -> Expr:
        return Text(self.string(c[0]), span=span_of(c))

    def string(self, token: Any) -> str:
        """Return what a string literal says."""
        try:
            return read_text(token.text)
        except ValueError as error:
            self.complain(str(error), Span(token.start, token.end), label="in this text")
            return ""

    def name(self, c: list[Any]) -> Expr:
        return Name(c[0].text, span=Span(c[0].start, c[0].end))

    def group(self, c: list[Any]) -> Expr:
        # parentheses are no node, but an error in what they hold should underline them too; the node is fresh
        object.__setattr__(c[1], "span", span_of(c))
        inner: Expr = c[1]
        return inner

    def absolute(self, c: list[Any]) -> Expr:
        return Unary("abs", c[1], span=span_of(c))

    def minus(self, c: list[Any]) -> Expr:
        return Unary("-", c[1], span=span_of(c))

    def not_(self, c: list[Any]) -> Expr:
        return Unary("not", c[1], span=span_of(c))

    def binary(self, c: list[Any]) -> Expr:
        return Binary(c[1].text, c[0], c[2], span=span_of(c))

    def comparison(self, c: list[Any]) -> Expr:
        return Compare(tuple(c[0::2]), tuple(op.text for op in c[1::2]), span=span_of(c))

    def in_(self, c: list[Any]) -> Expr:
        return In(c[0], c[2], span=span_of(c))

    def within(self, c: list[Any]) -> Expr:
        return Within(c[0], c[2], c[4], span=span_of(c))

    def identical(self, c: list[Any]) -> Expr:
        return Identical(c[0], c[2], span=span_of(c))

    def if_(self, c: list[Any]) -> Expr:
        return If(c[1], c[3], c[5], span=span_of(c))

    def quantity(self, c: list[Any]) -> Expr:
        return Quantity(c[0], c[1].text, after(c, "LSQB"), after(c, "AT"), span=span_of(c))

    def member(self, c: list[Any]) -> Expr:
        return Member(c[0], c[2].text, span=span_of(c))

    def star(self, c: list[Any]) -> Expr:
        return Star(c[1].text, span=span_of(c))

    def index(self, c: list[Any]) -> Expr:
        return Index(c[0], tuple(not_tokens(c[1:])), span=span_of(c))

    def set_literal(self, c: list[Any]) -> Expr:
        return SetLiteral(tuple(not_tokens(c)), span=span_of(c))

    def record(self, c: list[Any]) -> Expr:
        return RecordLiteral(self.bindings(not_tokens(c), "field"), span=span_of(c))

    def binding(self, c: list[Any]) -> Part:
        return Part("binding", (c[0].text, c[2]), span_of(c))

    keyword = binding

    def bindings(self, parts: list[Part], what: str) -> tuple[tuple[str, Expr], ...]:
        """Return ``name = value`` pairs; a name that comes twice is an error."""
        seen: dict[str, Expr] = {}
        for part in parts:
            name, value = part.value
            if name in seen:
                self.complain(f"the {what} `{name}` is given twice", part.span, code="E0103", label="again here")
            seen.setdefault(name, value)
        return tuple(seen.items())

    def arguments(self, c: list[Any]) -> Part:
        return Part("arguments", not_tokens(c), span_of(c))

    def call(self, c: list[Any]) -> Expr:
        callee = c[0]
        given = c[2].value if isinstance(c[2], Part) else []
        args = tuple(a for a in given if not isinstance(a, Part))
        kwargs = self.bindings([a for a in given if isinstance(a, Part)], "argument")
        span = span_of(c)
        if isinstance(callee, Name):
            return Call(callee.id, args, kwargs, span=span)
        if isinstance(callee, Member) and callee.base == Name("r"):
            return self._feature(callee, args, kwargs, span)
        if isinstance(callee, Index) and isinstance(callee.base, Name) and callee.base.id in REDUCERS:
            return self._reduce(callee, args, kwargs, span)
        self.complain(
            "only a function can be called",
            callee.span or span,
            label="this is a value",
            help="functions are names; features of the residual are written `r.name(…)`",
        )
        return Call("_", args, kwargs, span=span)

    def _feature(self, callee: Member, args: tuple[Expr, ...], kwargs: Any, span: Span) -> Expr:
        if kwargs:
            self.complain(
                f"the feature `r.{callee.name}` takes its arguments by position", span, label="an argument has a name"
            )
        return Feature(callee.name, args, span=span)

    def _reduce(self, callee: Index, args: tuple[Expr, ...], kwargs: Any, span: Span) -> Expr:
        function = callee.base.id if isinstance(callee.base, Name) else ""
        match callee.indices, args:
            case (Compare((Name(binder), bound), ("<",)),), (body,) if not kwargs:
                return Reduce(function, binder, bound, body, span=span)
        self.complain(
            f"`{function}[…]` binds one index below a bound and has one body",
            span,
            label="not of that form",
            help=f"write `{function}[k < K](…)`, or `{function}(x, over = K)` for a dimension",
        )
        return Call(function, args, span=span)

    # --- values of a decision's domain ---------------------------------------------------------------------------

    def named_value(self, c: list[Any]) -> Expr:
        if len(c) == 1:
            return self.name(c)
        return self.call([self.name(c[:1]), *c[1:]])

    def range_value(self, c: list[Any]) -> Expr:
        return self.binary(c)

    def level(self, c: list[Any]) -> Part:
        return Part("level", tuple(not_tokens(c)), span_of(c))

    def strings(self, c: list[Any]) -> tuple[str, ...]:
        """Return what the string literals among the children say."""
        return tuple(self.string(token) for token in of_type(c, "STRING"))
