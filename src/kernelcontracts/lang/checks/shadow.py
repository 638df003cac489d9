"""Shadow evaluation: what a bound would be if every tensor were constant and every dimension had one size.

It proves nothing. It finds counterexamples: values of claims, sizes and formats at which a rule of the language fails,
which then stand in the message. Where an expression cannot be evaluated in this way the answer is ``None``, and
nothing is concluded.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from kernelcontracts.formats.facts import FORMATS
from kernelcontracts.lang.checks.shadow_calls import CALLS, spacing
from kernelcontracts.lang.checks.shadow_world import Point, Value, World
from kernelcontracts.lang.decisions import value_of_expr
from kernelcontracts.lang.expr import (
    Binary,
    Call,
    Compare,
    If,
    In,
    Index,
    Member,
    Name,
    Number,
    Quantity,
    Reduce,
    SetLiteral,
    Unary,
)
from kernelcontracts.lang.values import Choice
from kernelcontracts.lang.walk import member_path

if TYPE_CHECKING:
    from collections.abc import Callable

    from kernelcontracts.formats.facts import Format
    from kernelcontracts.lang.expr import Expr

__all__ = [
    "Point",
    "Shadow",
    "Value",
    "World",
    "spacing",
]


class Shadow:
    """Evaluates expressions of a world at a point."""

    def __init__(self, world: World, point: Point, *, inside: bool = False) -> None:
        self.world = world
        self.point = point
        self._names = world.members if inside else world.names
        self._inside: Shadow | None = self if inside else None
        self._memo: dict[str, Value] = {}

    def number(self, expr: Expr) -> float | None:
        """Return the value of a numeric expression, or ``None``."""
        value = self.value(expr)
        if isinstance(value, int | float) and not isinstance(value, bool) and not math.isnan(value):
            return value
        return None

    def truth(self, expr: Expr) -> bool | None:
        """Return the value of a predicate, or ``None``."""
        value = self.value(expr)
        return value if isinstance(value, bool) else None

    def value(self, expr: Expr) -> Value:
        """Return the value of an expression, or ``None`` where it has none here."""
        rule = _RULES.get(type(expr))
        try:
            return None if rule is None else rule(self, expr)
        except (ArithmeticError, ValueError, TypeError):
            return None

    def _name(self, expr: Name) -> Value:
        point, world = self.point, self.world
        if expr.id in self._names:
            if expr.id not in self._memo:
                self._memo[expr.id] = None
                self._memo[expr.id] = self.value(self._names[expr.id])
            return self._memo[expr.id]
        if expr.id in world.dims:
            return point.size
        if expr.id in {"meaning", "ref"}:
            return self._entry().value(world.meaning) if world.meaning is not None else None
        if expr.id in world.tensors or expr.id in {"inputs", "output"}:
            return point.magnitude
        return {"true": True, "false": False}.get(expr.id)

    def _entry(self) -> Shadow:
        """Return the shadow inside the operator's entry, where its own definitions are plain names."""
        if self._inside is None:
            self._inside = Shadow(self.world, self.point, inside=True)
        return self._inside

    def _member(self, expr: Member) -> Value:
        path = member_path(expr)
        if path is None:
            return None
        if path[0] == "claim":
            return self.point.claims.get(path[1])
        if path[0] == "op" and path[1] in self.world.members:
            return self._entry().value(Name(path[1]))
        return None

    def _unary(self, expr: Unary) -> Value:
        if expr.op == "not":
            truth = self.truth(expr.operand)
            return None if truth is None else not truth
        value = self.number(expr.operand)
        if value is None:
            return None
        return abs(value) if expr.op == "abs" else -value

    def _binary(self, expr: Binary) -> Value:
        if expr.op in {"and", "or", "implies"}:
            return self._logic(expr)
        left, right = self.number(expr.left), self.number(expr.right)
        if left is None or right is None:
            return None
        if expr.op == "@":
            return self.point.size * left * right
        operation = _ARITHMETIC.get(expr.op)
        return None if operation is None else operation(left, right)

    def _logic(self, expr: Binary) -> bool | None:
        left, right = self.truth(expr.left), self.truth(expr.right)
        if expr.op == "implies":
            left = None if left is None else not left
        if expr.op == "and":
            return False if False in (left, right) else None if None in (left, right) else True
        return True if True in (left, right) else None if None in (left, right) else False

    def _compare(self, expr: Compare) -> bool | None:
        results = [self._holds(a, op, b) for a, op, b in zip(expr.operands, expr.ops, expr.operands[1:], strict=False)]
        if False in results:
            return False
        return None if None in results else True

    def _holds(self, left: Expr, op: str, right: Expr) -> bool | None:
        a, b = self._choice_or_value(left, right), self._choice_or_value(right, left)
        if a is None or b is None:
            return None
        if isinstance(a, Choice) or isinstance(b, Choice):
            return {"==": a == b, "!=": a != b}.get(op)
        return bool(_COMPARISONS[op](a, b))

    def _choice_or_value(self, expr: Expr, other: Expr) -> Value:
        """Read a value of a decision where the other side is a claim."""
        if isinstance(self.value(other) if isinstance(other, Member) else None, Choice):
            return value_of_expr(expr) if not isinstance(expr, Member) else self.value(expr)
        return self.value(expr)

    def _in(self, expr: In) -> bool | None:
        item = self.value(expr.item)
        if isinstance(expr.domain, SetLiteral) and isinstance(item, Choice):
            return item in [value_of_expr(e) for e in expr.domain.items]
        number = self.number(expr.item)
        if number is None:
            return None
        if isinstance(expr.domain, Binary) and expr.domain.op == "..":
            low, high = self.number(expr.domain.left), self.number(expr.domain.right)
            return None if low is None or high is None else low <= number <= high
        if isinstance(expr.domain, SetLiteral):
            values = [self.number(e) for e in expr.domain.items]
            return True if number in values else None if None in values else False
        return None

    def _if(self, expr: If) -> Value:
        truth = self.truth(expr.condition)
        return None if truth is None else self.value(expr.yes if truth else expr.no)

    def _reduce(self, expr: Reduce) -> Value:
        body = self.number(expr.body)
        bound = self.number(expr.bound)
        if body is None or bound is None:
            return None
        return bound * body if expr.function == "sum" else body

    def _quantity(self, expr: Quantity) -> Value:
        value = self.number(expr.value)
        if value is None or expr.unit == "abs":
            return value
        anchor = self.number(expr.anchor if expr.anchor is not None else Name("ref"))
        if anchor is None:
            return None
        if expr.unit == "rel":
            return value * abs(anchor)
        fmt = self.format(expr.format if expr.format is not None else Name("output"))
        return None if fmt is None else value * spacing(anchor, fmt)

    def _call(self, expr: Call) -> Value:
        rule = CALLS.get(expr.function)
        return None if rule is None else rule(self, expr)

    def format(self, expr: Expr) -> Format | None:
        """Return the format an argument stands for: by name, a tensor's, or a claim's."""
        if isinstance(expr, Name):
            name = expr.id
            if name == "output" and self.world.outputs:
                name = self.world.outputs[0]
            if name == "inputs" and self.world.inputs:
                name = self.world.inputs[0]
            return FORMATS.get(self.point.types.get(name, name))
        value = self.value(expr)
        return FORMATS.get(value.name) if isinstance(value, Choice) else None

    def mode(self, call: Call) -> str | None:
        """Return the rounding mode that a call's second argument names; nearest by default."""
        if len(call.args) < 2:
            return "rne"
        argument = call.args[1]
        if isinstance(argument, Name):
            return argument.id
        value = self.value(argument)
        return value.name if isinstance(value, Choice) else None


_ARITHMETIC: dict[str, Callable[[float, float], float]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a / b,
    "^": lambda a, b: float(a**b),
}

_COMPARISONS: dict[str, Callable[..., bool]] = {
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
    "==": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
}

_RULES: dict[type, Callable[..., Value]] = {
    Number: lambda _, e: float(e.value),
    Name: Shadow._name,  # noqa: SLF001 - the class's own dispatch table
    Member: Shadow._member,  # noqa: SLF001 - as above
    Unary: Shadow._unary,  # noqa: SLF001 - as above
    Binary: Shadow._binary,  # noqa: SLF001 - as above
    Compare: Shadow._compare,  # noqa: SLF001 - as above
    In: Shadow._in,  # noqa: SLF001 - as above
    If: Shadow._if,  # noqa: SLF001 - as above
    Reduce: Shadow._reduce,  # noqa: SLF001 - as above
    Quantity: Shadow._quantity,  # noqa: SLF001 - as above
    Call: Shadow._call,  # noqa: SLF001 - as above
    Index: lambda s, e: s.value(e.base),
}
