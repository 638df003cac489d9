"""The generators by the names the language gives them, and how their arguments are read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from kernelcontracts.formats.facts import format_named
from kernelcontracts.lang.expr import Call, Name, SetLiteral
from kernelcontracts.strata import arguments, entries, integers, selections, swamps, terms
from kernelcontracts.strata.errors import NotApplicable, StratumError
from kernelcontracts.strata.problem import Problem, ceiling, floor_log2
from kernelcontracts.strata.structure import contraction, dims_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from kernelcontracts.formats.arrays import AnyArray
    from kernelcontracts.lang.decl import Operator
    from kernelcontracts.lang.expr import Expr
    from kernelcontracts.strata.bits import Words
    from kernelcontracts.strata.problem import Factors
    from kernelcontracts.strata.structure import Contraction, ShapeOf

    Joint: TypeAlias = "Callable[[Problem, Context, tuple[Expr, ...]], Factors]"
    Each: TypeAlias = "Callable[[Context, str, tuple[Expr, ...]], AnyArray]"


@dataclass(frozen=True, slots=True)
class Context:
    """What a generator may look at: the operator, one shape and typing, and its own family of streams."""

    operator: Operator
    shape: ShapeOf
    types: Mapping[str, str]
    words: Words

    def rational(self, expr: Expr) -> Any:
        """Evaluate an argument exactly, to a ``Fraction``."""
        return arguments.rational(expr, self._dims())

    def integer(self, expr: Expr) -> int:
        """Evaluate an argument that must be a whole number."""
        return arguments.integer(expr, self._dims())

    def tensor_shape(self, name: str) -> tuple[int, ...]:
        """Return the shape of an input.

        Raises
        ------
        StratumError
            If the operator has no such input.
        """
        for param in self.operator.inputs:
            if param.name == name:
                return dims_of(param, self.shape)
        raise StratumError(f"`{self.operator.name}` has no input `{name}`")

    def problem(self, found: Contraction) -> Problem:
        """Return the contraction with this shape, these formats and these streams."""
        batch, rows, reduced, columns = found.sizes(self.shape)
        return Problem(
            lhs=format_named(self.types[found.lhs]),
            rhs=None if found.rhs is None else format_named(self.types[found.rhs]),
            out=format_named(self.types[found.output]),
            batch=batch,
            rows=rows,
            reduced=reduced,
            columns=columns,
            words=self.words,
        )

    def _dims(self) -> dict[str, int]:
        return {name: size for name, size in self.shape.items() if isinstance(size, int)}


def bind(call: Call, parameters: tuple[str, ...]) -> tuple[Expr, ...]:
    """Return a generator's arguments in the order of its parameters.

    Raises
    ------
    StratumError
        If one is missing, unknown or given twice.
    """
    given = dict(zip(parameters, call.args, strict=False))
    wrong = [name for name, _ in call.kwargs if name not in parameters or name in given]
    given.update(call.kwargs)
    if wrong or len(call.args) > len(parameters) or len(given) < len(parameters):
        wanted = ", ".join(parameters)
        raise StratumError(f"`{call.function}` takes the arguments ({wanted}), each of them once")
    return tuple(given[name] for name in parameters)


def call_of(expr: Expr) -> Call:
    """Return a generator's call, or say that it is none."""
    if isinstance(expr, Call) and expr.function in PARAMETERS:
        return expr
    name = expr.function if isinstance(expr, Call) else type(expr).__name__.lower()
    raise StratumError(f"`{name}` is no generator; those there are: {', '.join(sorted(PARAMETERS))}")


def one_tensor(context: Context, name: str, expr: Expr) -> AnyArray:
    """Draw one tensor's values, not yet rounded to its format."""
    call = call_of(expr)
    if call.function not in EACH:
        raise StratumError(f"`{call.function}` draws all factors of a sum of products together")
    return EACH[call.function](context, name, bind(call, PARAMETERS[call.function]))


def _identity(problem: Problem, context: Context, args: tuple[Expr, ...]) -> Factors:
    found = contraction(context.operator)
    tested = args[0].id if isinstance(args[0], Name) else ""
    if tested not in {found.lhs, found.rhs}:
        factors = f"`{found.lhs}`" + (f" or `{found.rhs}`" if found.rhs else "")
        raise StratumError(f"`identity` takes the name of a factor: {factors}")
    return selections.identity(problem, right=tested == found.rhs)


def _bits(context: Context, expr: Expr) -> int:
    bits = context.integer(expr)
    if not 2 <= bits <= 53:
        raise StratumError(f"`{bits}` bits: an accumulator has between 2 and 53")
    return bits


def _random_sign(context: Context, name: str, _: tuple[Expr, ...]) -> AnyArray:
    values = entries.lognormal(context.words, context.tensor_shape(name))
    return np.ldexp(values, -_damping(context, name))


def _damping(context: Context, name: str) -> int:
    """Return by how many binades magnitudes below 8 must shrink to leave headroom, this factor's share of it."""
    try:
        found = contraction(context.operator)
    except NotApplicable:
        return 0
    if name not in {found.lhs, found.rhs}:
        return 0
    factors = 1 if found.rhs is None else 2
    _, _, reduced, _ = found.sizes(context.shape)
    most = floor_log2(ceiling(format_named(context.types[found.output])))
    excess = max(0, (max(reduced, 1) - 1).bit_length() + 3 * factors - most)
    return excess - excess // factors * (factors - 1) if name == found.lhs else excess // factors


def _on_grid(context: Context, name: str, args: tuple[Expr, ...]) -> AnyArray:
    return entries.to_grid(one_tensor(context, name, args[0]), context.rational(args[1]))


def _inject(context: Context, name: str, args: tuple[Expr, ...]) -> AnyArray:
    values = one_tensor(context, name, args[0])
    if not isinstance(args[1], SetLiteral):
        raise StratumError("the second argument of `inject` is a set of values: `{V, -1}`")
    exact = [context.rational(item) for item in args[1].items]
    whole = np.issubdtype(values.dtype, np.integer)
    if whole and any(value.denominator != 1 for value in exact):
        raise StratumError("`inject` puts a fraction among integers")
    extra = [np.asarray(int(v) if whole else float(v), dtype=values.dtype) for v in exact]
    return entries.inject(context.words.child("inject"), values, extra)


JOINT: dict[str, Joint] = {
    "ints": lambda problem, c, a: integers.ints(problem, _bits(c, a[0])),
    "identity": _identity,
    "wide": lambda problem, _c, _a: integers.wide(problem),
    "graded": lambda problem, _c, _a: integers.graded(problem),
    "cancel": lambda problem, _c, _a: integers.cancel(problem),
    "ties": lambda problem, _c, _a: terms.ties(problem),
    "sticky": lambda problem, _c, _a: terms.sticky(problem),
    "two_terms": lambda problem, _c, _a: terms.two_terms(problem),
    "ladder": lambda problem, _c, _a: terms.ladder(problem),
    "swamp": lambda problem, c, a: swamps.swamp(problem, _bits(c, a[0])),
    "subnormal_in": lambda problem, _c, _a: selections.subnormal_in(problem),
    "subnormal_out": lambda problem, _c, _a: selections.subnormal_out(problem),
}
"""Generators that fill all factors of a sum of products together, and exactly."""

EACH: dict[str, Each] = {
    "uniform": lambda c, n, a: entries.uniform(c.words, c.tensor_shape(n), c.rational(a[0]), c.rational(a[1])),
    "normal": lambda c, n, a: entries.normal(c.words, c.tensor_shape(n), c.rational(a[0]), c.rational(a[1])),
    "random_sign": _random_sign,
    "on_grid": _on_grid,
    "one_hot": lambda c, n, a: entries.one_hot(c.words, c.tensor_shape(n), c.rational(a[0]), c.rational(a[1])),
    "equal_maxima": lambda c, n, a: entries.equal_maxima(c.words, c.tensor_shape(n), c.rational(a[0])),
    "bit_patterns": lambda c, n, _a: entries.bit_patterns(c.words, c.tensor_shape(n), c.types[n]),
    "integers": lambda c, n, a: entries.integers(c.words, c.tensor_shape(n), c.integer(a[0]), c.integer(a[1])),
    "inject": _inject,
}
"""Generators that fill one tensor at a time."""

PARAMETERS: dict[str, tuple[str, ...]] = {
    "ints": ("bits",),
    "identity": ("tensor",),
    "wide": (),
    "graded": (),
    "cancel": (),
    "ties": (),
    "sticky": (),
    "two_terms": (),
    "ladder": (),
    "swamp": ("bits",),
    "subnormal_in": (),
    "subnormal_out": (),
    "uniform": ("low", "high"),
    "normal": ("mean", "deviation"),
    "random_sign": (),
    "on_grid": ("generator", "step"),
    "one_hot": ("low", "high"),
    "equal_maxima": ("rest",),
    "bit_patterns": (),
    "integers": ("low", "high"),
    "inject": ("generator", "values"),
}
"""The parameters of every generator, in order."""
