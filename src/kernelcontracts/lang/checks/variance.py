"""Sign rules: how an expression moves when one claim is strengthened, proved from its form alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from kernelcontracts.formats.facts import FORMATS
from kernelcontracts.lang.builtins import TABLE
from kernelcontracts.lang.decisions import compare, representatives
from kernelcontracts.lang.expr import Binary, Call, If, Index, Member, Name, Number, Quantity, Reduce, Unary
from kernelcontracts.lang.values import Choice
from kernelcontracts.lang.walk import children, member_path

if TYPE_CHECKING:
    from kernelcontracts.lang.builtins import Builtin, Variance
    from kernelcontracts.lang.checks.shadow import World
    from kernelcontracts.lang.decl import Decision
    from kernelcontracts.lang.expr import Expr

Trend: TypeAlias = "tuple[Variance, bool]"
"""How an expression varies as the decision gets stronger, and whether it is known to be non-negative."""

_FLIP: dict[Variance, Variance] = {"+": "-", "-": "+", "0": "0", "?": "?"}


def both(a: Variance, b: Variance) -> Variance:
    """Return the direction of a result that moves with two parts."""
    if a in ("0", b):
        return b
    return a if b == "0" else "?"


def through(outer: Variance, inner: Variance) -> Variance:
    """Return the direction of a function of a part that moves itself."""
    if inner == "0" or outer == "0":
        return "0"
    return "?" if "?" in (outer, inner) else inner if outer == "+" else _FLIP[inner]


class Trends:
    """Computes trends in one decision of one world."""

    def __init__(self, world: World, decision: Decision, *, inside: bool = False) -> None:
        self.world = world
        self.decision = decision
        self._names = world.members if inside else world.names
        self._entry = self if inside else None
        self._memo: dict[str, Trend] = {}
        self._agrees = order_agrees(decision)

    def direction(self, expr: Expr) -> Variance:
        """Return how an expression varies: ``+`` grows as claims strengthen, ``-`` shrinks, ``?`` unknown."""
        return self.of(expr)[0]

    def of(self, expr: Expr) -> Trend:
        """Return the trend of an expression."""
        match expr:
            case Number():
                return "0", expr.value >= 0
            case Name():
                return self._name(expr)
            case Member():
                return self._member(expr)
            case Unary(op="abs"):
                way, positive = self.of(expr.operand)
                return (way if positive or way == "0" else "?"), True
            case Unary(op="-"):
                return _FLIP[self.direction(expr.operand)], False
            case Binary():
                return self._binary(expr)
            case If():
                return self._if(expr)
            case Call():
                return self._call(expr)
            case Quantity():
                return self._quantity(expr)
            case Reduce():
                return self.of(expr.body) if self.direction(expr.bound) == "0" else ("?", False)
            case Index():
                return self.of(expr.base)
        return self._opaque(expr)

    def _opaque(self, expr: Expr) -> Trend:
        """Of other forms only independence is known."""
        return ("0" if all(self.direction(p) == "0" for p in children(expr)) else "?"), False

    def _name(self, expr: Name) -> Trend:
        if expr.id in self._names:
            if expr.id not in self._memo:
                self._memo[expr.id] = ("?", False)
                self._memo[expr.id] = self.of(self._names[expr.id])
            return self._memo[expr.id]
        return "0", expr.id in self.world.dims

    def _member(self, expr: Member) -> Trend:
        path = member_path(expr)
        if path is None:
            return "?", False
        if path[0] == "claim":
            # the value of an integer decision shrinks as it gets stronger
            return "-" if path[1] == self.decision.name else "0", path[1] in self.world.positive_claims
        if path[0] == "op" and path[1] in self.world.members:
            if self._entry is None:
                self._entry = Trends(self.world, self.decision, inside=True)
            return self._entry.of(Name(path[1]))
        return "?", False

    def _binary(self, expr: Binary) -> Trend:
        (left, left_positive), (right, right_positive) = self.of(expr.left), self.of(expr.right)
        positive = left_positive and right_positive
        match expr.op:
            case "+":
                return both(left, right), positive
            case "-":
                return both(left, _FLIP[right]), self._below_maximum(expr)
            case "*" | "@":
                return self._product(left, left_positive, right, right_positive), positive or expr.left == expr.right
            case "/":
                return self._product(left, left_positive, _FLIP[right], right_positive), positive
            case "^":
                return self._power(expr, left, left_positive, right)
        return self._opaque(expr)

    def _below_maximum(self, expr: Binary) -> bool:
        """Whether a difference is of the form ``max(X, over = N) - X``, which is never negative."""
        top = expr.left
        if isinstance(top, Name):
            top = self._names.get(top.id, top)
        return isinstance(top, Call) and top.function == "max" and bool(top.kwargs) and top.args == (expr.right,)

    def _product(self, left: Variance, left_positive: bool, right: Variance, right_positive: bool) -> Variance:
        if left == right == "0":
            return "0"
        # a factor that may be negative would turn the other one's direction round
        moving_right_ok = left_positive or right == "0"
        moving_left_ok = right_positive or left == "0"
        return both(left, right) if moving_left_ok and moving_right_ok else "?"

    def _power(self, expr: Binary, base: Variance, positive: bool, exponent: Variance) -> Trend:
        power = expr.right.value if isinstance(expr.right, Number) else None
        even = power is not None and power.denominator == 1 and power.numerator % 2 == 0
        if base == exponent == "0":
            return "0", positive or even
        if power is None or power < 0 or not positive:
            return "?", even
        return base, True

    def _if(self, expr: If) -> Trend:
        (yes, yes_positive), (no, no_positive) = self.of(expr.yes), self.of(expr.no)
        fixed = self.direction(expr.condition) == "0"
        return (both(yes, no) if fixed else "?"), yes_positive and no_positive

    def _quantity(self, expr: Quantity) -> Trend:
        way, positive = self.of(expr.value)
        still = all(self.direction(p) == "0" for p in (expr.format, expr.anchor) if p is not None)
        return (way if still else "?"), positive

    def _call(self, expr: Call) -> Trend:
        row = TABLE.get(("expression", expr.function))
        if row is None:
            return self._opaque(expr)
        trend: Variance = "0"
        for i, argument in enumerate(expr.args):
            trend = both(trend, self._argument(row, i, argument))
        return trend, row.nonnegative or self._reduces_positive(row, expr)

    def _reduces_positive(self, row: Builtin, expr: Call) -> bool:
        if row.name == "max":
            return any(self.of(a)[1] for a in expr.args)
        if row.name == "log":
            # a dimension is at least one where there is anything to bound
            return isinstance(expr.args[0], Name) and expr.args[0].id in self.world.dims
        values = [a for i, a in enumerate(expr.args) if row.kind(i) == "value"]
        values = values[1:] if row.name == "where" else values
        return row.name in {"sum", "min", "mean", "where", "clamp", "round"} and all(self.of(a)[1] for a in values)

    def _argument(self, row: Builtin, position: int, argument: Expr) -> Variance:
        outer = row.direction(position)
        if row.kind(position) == "value":
            inner = self.direction(argument)
            return through(outer, inner) if outer != "?" else "0" if inner == "0" else "?"
        path = member_path(argument)
        if path is None or path[0] != "claim":
            return "0" if isinstance(argument, Name) else self.direction(argument)
        if path[1] != self.decision.name:
            return "0"
        return outer if self._agrees or row.name == "add_depth" else "?"


def order_agrees(decision: Decision) -> bool:
    """Whether a decision's order is the one that the table of builtins assumes.

    For formats: a stronger one has at least the digits and the range of a weaker one. For rounding modes: nearest is
    stronger than truncation. For other values there is nothing that could disagree.
    """
    values = [v for v in representatives(decision) if isinstance(v, Choice)]
    return all(_fits(a, b) for a in values for b in values if compare(decision, a, b) == "stronger")


def _fits(strong: Choice, weak: Choice) -> bool:
    a, b = FORMATS.get(strong.name), FORMATS.get(weak.name)
    if a is not None and b is not None:
        return a.precision >= b.precision and a.emin <= b.emin and a.minsub <= b.minsub and a.maxfinite >= b.maxfinite
    return (strong.name, weak.name) != ("rz", "rne")
