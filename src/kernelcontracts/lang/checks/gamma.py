"""E0603: ``gamma(n, u) = nu / (1 - nu)`` bounds an error only while ``nu < 1``.

A proof needs a line of the precondition of the form ``X * u <= c`` with ``c < 1`` and a size ``X`` that is at least
``n`` (Higham 2002, lemma 3.1, assumes exactly this). ``n`` and ``X`` are compared as polynomials in the dimensions.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import TYPE_CHECKING

from kernelcontracts.lang.checks.bounds import Bounder, Polynomial, at_most, multiply
from kernelcontracts.lang.checks.monotone import view_setting
from kernelcontracts.lang.checks.shadow import Point, Shadow
from kernelcontracts.lang.diagnostics import Label, diagnostic
from kernelcontracts.lang.expr import Binary, Call, Compare, Name, Number
from kernelcontracts.lang.walk import children, clause_parts, member_path, walk

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kernelcontracts.lang.checks.context import View
    from kernelcontracts.lang.checks.monotone import Setting
    from kernelcontracts.lang.checks.shadow import World
    from kernelcontracts.lang.diagnostics import Diagnostic
    from kernelcontracts.lang.expr import Expr


@dataclass(frozen=True, slots=True)
class Use:
    """A call of ``gamma``, the expression of the contract through which it is reached, and where it is written."""

    call: Call
    through: Expr
    inside: bool


@dataclass(frozen=True, slots=True)
class Limit:
    """A line of the precondition: ``size * unit <= c`` with ``c < 1``; both sides inlined."""

    size: list[Polynomial]
    unit: Expr


def check_view(view: View) -> Iterator[Diagnostic]:
    """Yield calls of ``gamma`` that the precondition does not keep in range."""
    setting = view_setting(view)
    bounder = Bounder(setting.world)
    limits = [limit for item in view.pre for limit in _limits(item.value, bounder)]
    seen: set[tuple[Expr, Expr]] = set()
    own = {b.name for b in view.contract.tolerance or ()}
    for expr in _bounds(view):
        for use in _uses(expr, expr, setting.world, inside=False, closed=frozenset(_settled(view, own))):
            size = bounder.inline(use.call.args[0], inside=use.inside)
            unit = bounder.inline(use.call.args[1], inside=use.inside)
            if (size, unit) not in seen and not _proved(size, unit, limits, bounder):
                seen.add((size, unit))
                yield _unproved(use, size, unit, setting, view)


def _bounds(view: View) -> Iterator[Expr]:
    """Yield every expression of a contract in which a bound may stand."""
    yield from (bound.value for bound in view.contract.tolerance or ())
    for clause in view.contract.post or ():
        yield from clause_parts(clause)


def _settled(view: View, own: set[str]) -> Iterator[tuple[bool, str]]:
    """Yield the bounds that are looked at where they are defined: the contract's own, and a companion's.

    A companion's are looked at here again if the contract puts a precondition of its own in place of the companion's.
    """
    yield from ((False, name) for name in view.bounds if name in own or view.contract.pre is None)


def _uses(
    expr: Expr, through: Expr, world: World, *, inside: bool, closed: frozenset[tuple[bool, str]]
) -> Iterator[Use]:
    """Yield the calls of ``gamma`` in an expression, also behind names and behind ``op.``.

    ``through`` is the part of the contract's own text that leads there; it stays the same behind a name.
    """
    if isinstance(expr, Call) and expr.function == "gamma" and len(expr.args) == 2:
        yield Use(expr, through, inside)
    path = member_path(expr)
    key: tuple[bool, str] | None = None
    if path is not None and path[0] == "op" and path[1] in world.members:
        key = (True, path[1])
    elif isinstance(expr, Name):
        key = (inside, expr.id)
    definition = None if key is None else (world.members if key[0] else world.names).get(key[1])
    if key is not None and definition is not None and key not in closed:
        for use in _uses(definition, expr, world, inside=key[0], closed=closed | {key}):
            yield Use(use.call, through, use.inside)
    for part in children(expr):
        for use in _uses(part, part, world, inside=inside, closed=closed):
            yield use if through is expr else Use(use.call, through, use.inside)


# --- the proof ---------------------------------------------------------------------------------------------------


def _limits(expr: Expr, bounder: Bounder) -> Iterator[Limit]:
    if isinstance(expr, Binary) and expr.op == "and":
        yield from _limits(expr.left, bounder)
        yield from _limits(expr.right, bounder)
    if not isinstance(expr, Compare):
        return
    for left, op, right in zip(expr.operands, expr.ops, expr.operands[1:], strict=False):
        low, high = (left, right) if op in {"<", "<="} else (right, left)
        bound = constant(bounder.inline(high))
        if op not in {"==", "!="} and bound is not None and (bound < 1 or (bound == 1 and op in {"<", ">"})):
            yield from _factored(bounder.inline(low), bounder)


def _factored(expr: Expr, bounder: Bounder) -> Iterator[Limit]:
    """Yield a limit for every factor that may be the unit roundoff."""
    factors = _factors(expr)
    for i, unit in enumerate(factors):
        if isinstance(unit, Call) and unit.function == "u":
            size: list[Polynomial] = [{(): Fraction(1)}]
            for other in factors[:i] + factors[i + 1 :]:
                # what stands in the precondition is taken as it is, not bounded from above
                size = [multiply(p, q) for p in size for q in _exact(other, bounder)]
            yield Limit(size, unit)


def _exact(expr: Expr, bounder: Bounder) -> list[Polynomial]:
    """Return an expression as a polynomial if it is one; here an upper bound alone would prove nothing."""
    if any(isinstance(n, Call) and n.function != "passes" for n in walk(expr)):
        return []
    if any(isinstance(n, Binary) and n.op not in {"+", "-", "*", "/"} for n in walk(expr)):
        return []
    return bounder.upper(expr)


def _factors(expr: Expr) -> list[Expr]:
    if isinstance(expr, Binary) and expr.op == "*":
        return _factors(expr.left) + _factors(expr.right)
    return [expr]


def constant(expr: Expr) -> Fraction | None:
    """Return the value of an expression of numbers, or ``None``."""
    if isinstance(expr, Number):
        return expr.value
    if isinstance(expr, Binary) and expr.op in {"+", "-", "*", "/"}:
        left, right = constant(expr.left), constant(expr.right)
        if left is None or right is None or (expr.op == "/" and right == 0):
            return None
        return {"+": left + right, "-": left - right, "*": left * right}.get(expr.op, left / right if right else left)
    return None


def _proved(size: Expr, unit: Expr, limits: list[Limit], bounder: Bounder) -> bool:
    uppers = bounder.upper(size)
    return any(
        at_most(upper, allowed)
        for limit in limits
        if _no_larger(unit, limit.unit)
        for upper in uppers
        for allowed in limit.size
    )


def _no_larger(unit: Expr, limit: Expr) -> bool:
    """Whether one unit roundoff is at most another: the same, or rounding to nearest against any mode."""
    if unit == limit:
        return True
    if not (isinstance(unit, Call) and isinstance(limit, Call) and unit.function == limit.function == "u"):
        return False
    nearest = len(unit.args) == 1 or unit.args[1] == Name("rne")
    return nearest and unit.args[0] == limit.args[0]


# --- the message -------------------------------------------------------------------------------------------------


def _unproved(use: Use, size: Expr, unit: Expr, setting: Setting, view: View) -> Diagnostic:
    from kernelcontracts.lang.printer_expr import print_expr

    n, u = print_expr(use.call.args[0]), print_expr(use.call.args[1])
    prefix = "op." if use.inside else ""
    elsewhere = use.through is not use.call and use.call.span is not None
    where = view.entry.source if use.inside else view.source
    secondary = [Label(use.call.span, "written here", where)] if elsewhere and use.call.span else []
    return diagnostic(
        "E0603",
        f"gamma({n}, {u}) is not a bound on all of this domain",
        source=view.source,
        span=use.through.span,
        label=f"needs {_factor(n)} * {u} < 1",
        secondary=secondary,
        notes=(
            *_failure(size, unit, setting),
            "gamma(n, u) = n * u / (1 - n * u) is negative or infinite from n * u = 1 on",
        ),
        help=f"add `small_nu: {_limit_text(prefix, n, setting)} * {prefix}{u} <= 1 / 4` to `pre`",
    )


def _factor(text: str) -> str:
    return text if text.isidentifier() else f"({text})"


def _limit_text(prefix: str, n: str, setting: Setting) -> str:
    """Suggest a size that can be compared: the operator's longest sum, or the size itself."""
    if prefix and "longest" in setting.world.members:
        return "op.longest"
    return _factor(n)


def _failure(size: Expr, unit: Expr, setting: Setting) -> tuple[str, ...]:
    """Say at which claims and from which size on the product reaches one."""
    names = [d for d in setting.decisions if any(member_path(n) == ("claim", d) for n in walk(unit))]
    worst: tuple[int, str] | None = None
    for values in product(*(setting.domains[n] for n in names)):
        claims = {n: d[0] for n, d in setting.domains.items() if d} | dict(zip(names, values, strict=True))
        for k in range(64):
            shadow = Shadow(setting.world, Point(claims, 2**k, 1.0, setting.typings[0]))
            n, u = shadow.number(size), shadow.number(unit)
            if n is None or u is None:
                break
            if n * u >= 1:
                said = ", ".join(f"{key} = {value}" for key, value in zip(names, values, strict=True))
                if worst is None or k < worst[0]:
                    worst = (k, f"with {said or 'these formats'} the product reaches {n * u:.3g} at size {2**k}")
                break
    return (worst[1],) if worst else ()
