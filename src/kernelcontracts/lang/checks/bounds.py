"""Upper bounds of sizes, as polynomials in atoms that are at least one.

Atoms are dimensions, and things such as ``passes(claim.operand_rounding)`` that are known to be at least one and
otherwise stay symbolic. ``p <= q`` is proved by writing every atom as ``1 + a`` with ``a >= 0``: if then no
coefficient of ``q - p`` is negative, the inequality holds for all sizes. A dimension of size zero leaves nothing to
bound, because every sum over it is zero.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from itertools import product
from typing import TYPE_CHECKING, TypeAlias

from kernelcontracts.lang.expr import Binary, Call, Member, Name, Number
from kernelcontracts.lang.walk import member_path

if TYPE_CHECKING:
    from kernelcontracts.lang.checks.shadow import World
    from kernelcontracts.lang.expr import Expr

Monomial: TypeAlias = tuple["Expr", ...]
Polynomial: TypeAlias = Mapping[Monomial, Fraction]

#: Beyond this many terms a proof is given up, so that no text can make the check slow.
LIMIT = 64


class Bounder:
    """Finds upper bounds of expressions in one world."""

    def __init__(self, world: World) -> None:
        self.world = world

    def inline(self, expr: Expr, *, inside: bool = False, depth: int = 0) -> Expr:
        """Replace definitions by what they stand for, down to names that have none."""
        if depth > 20:
            return expr
        path = member_path(expr)
        if path is not None and path[0] == "op" and path[1] in self.world.members:
            return self.inline(self.world.members[path[1]], inside=True, depth=depth + 1)
        names = self.world.members if inside else self.world.names
        if isinstance(expr, Name) and expr.id in names:
            return self.inline(names[expr.id], inside=inside, depth=depth + 1)
        if isinstance(expr, Binary):
            left = self.inline(expr.left, inside=inside, depth=depth + 1)
            return Binary(expr.op, left, self.inline(expr.right, inside=inside, depth=depth + 1))
        if isinstance(expr, Call):
            args = tuple(self.inline(a, inside=inside, depth=depth + 1) for a in expr.args)
            return Call(expr.function, args, expr.kwargs)
        return expr

    def upper(self, expr: Expr) -> list[Polynomial]:
        """Return polynomials each of which bounds an inlined expression from above; none if no bound is known."""
        match expr:
            case Number():
                return [{(): expr.value}]
            case Name() if expr.id in self.world.dims:
                return [{(expr,): Fraction(1)}]
            case Member():
                return []
            case Binary():
                return self._binary(expr)
            case Call():
                return self._call(expr)
        return []

    def _binary(self, expr: Binary) -> list[Polynomial]:
        left = self.upper(expr.left)
        match expr.op:
            case "+":
                return _pairs(add, left, self.upper(expr.right))
            case "-" if isinstance(expr.right, Number):
                return [add(p, {(): -expr.right.value}) for p in left]
            case "*":
                return _pairs(multiply, left, self.upper(expr.right))
            case "/" if isinstance(expr.right, Number) and expr.right.value > 0:
                return [multiply(p, {(): 1 / expr.right.value}) for p in left]
            case "@":
                return self._product(expr)
        return []

    def _product(self, expr: Binary) -> list[Polynomial]:
        """Bound a product of indicators: it counts at most the terms of the sum."""
        count = contracted(expr, self.world)
        if count is None or not (_is_indicator(expr.left) and _is_indicator(expr.right)):
            return []
        return [{(Name(count),): Fraction(1)}]

    def _call(self, expr: Call) -> list[Polynomial]:
        match expr.function:
            case "passes":
                return [{(expr,): Fraction(1)}]
            case "inexact_products" | "nonzero":
                return [{(): Fraction(1)}]
            case "add_depth" if len(expr.args) == 2:
                # no term passes more additions than there are
                return [add(p, {(): Fraction(-1)}) for p in self.upper(expr.args[1])]
            case "sum":
                over = dict(expr.kwargs).get("over")
                if isinstance(over, Name) and _is_indicator(expr.args[0]):
                    return [{(over,): Fraction(1)}]
            case "min":
                return [p for a in expr.args for p in self.upper(a)][:LIMIT]
            case "max":
                return self._maximum(expr)
        return []

    def _maximum(self, expr: Call) -> list[Polynomial]:
        """Bound a maximum by a bound of one of its arguments that also bounds the others."""
        choices = [self.upper(a) for a in expr.args]
        candidates = [p for bounds in choices for p in bounds][:LIMIT]
        return [p for p in candidates if all(any(at_most(q, p) for q in bounds) for bounds in choices)]


def contracted(expr: Binary, world: World) -> str | None:
    """Return the dimension that a matrix product sums over, by its left operand's last dimension."""
    tensor = _tensor(expr.left)
    return world.last_dims.get(tensor) if tensor is not None else None


def _tensor(expr: Expr) -> str | None:
    if isinstance(expr, Name):
        return expr.id
    if isinstance(expr, Call) and len(expr.args) == 1:
        return _tensor(expr.args[0])
    return None


def _is_indicator(expr: Expr) -> bool:
    return isinstance(expr, Call) and expr.function in {"nonzero", "subnormal"}


# --- polynomials -------------------------------------------------------------------------------------------------


def _pairs(operation: object, left: list[Polynomial], right: list[Polynomial]) -> list[Polynomial]:
    combine = add if operation is add else multiply
    return [combine(p, q) for p, q in product(left, right)][:LIMIT]


def add(p: Polynomial, q: Polynomial) -> Polynomial:
    """Return the sum of two polynomials."""
    total = dict(p)
    for monomial, coefficient in q.items():
        total[monomial] = total.get(monomial, Fraction(0)) + coefficient
    return {m: c for m, c in total.items() if c}


def multiply(p: Polynomial, q: Polynomial) -> Polynomial:
    """Return the product of two polynomials; monomials are kept sorted."""
    total: dict[Monomial, Fraction] = {}
    for (m, a), (n, b) in product(p.items(), q.items()):
        key = tuple(sorted((*m, *n), key=repr))
        total[key] = total.get(key, Fraction(0)) + a * b
    return {m: c for m, c in total.items() if c}


def at_most(p: Polynomial, q: Polynomial) -> bool:
    """Whether ``p <= q`` is proved for all atoms that are at least one."""
    difference = add(q, {m: -c for m, c in p.items()})
    if sum(2 ** len(m) for m in difference) > 2**12:
        return False
    return all(c >= 0 for c in _shifted(difference).values())


def _shifted(p: Polynomial) -> Polynomial:
    """Write every atom as one plus something non-negative."""
    total: dict[Monomial, Fraction] = {}
    for monomial, coefficient in p.items():
        for kept in product((False, True), repeat=len(monomial)):
            part = tuple(atom for atom, keep in zip(monomial, kept, strict=True) if keep)
            total[part] = total.get(part, Fraction(0)) + coefficient
    return total
