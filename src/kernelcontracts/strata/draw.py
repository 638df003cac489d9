"""Drawing a stratum: from its declaration to arrays in the declared formats."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from kernelcontracts.formats.arrays import dtype_of, store
from kernelcontracts.formats.facts import format_named
from kernelcontracts.numerics.rounding import representable, round_to
from kernelcontracts.strata.bits import Words
from kernelcontracts.strata.errors import NotApplicable, StratumError
from kernelcontracts.strata.generators import (
    JOINT,
    PARAMETERS,
    Context,
    bind,
    call_of,
    one_tensor,
)
from kernelcontracts.strata.structure import contraction

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kernelcontracts.formats.arrays import AnyArray
    from kernelcontracts.lang.decl import Draw, Operator, Stratum
    from kernelcontracts.lang.expr import Call
    from kernelcontracts.strata.structure import ShapeOf

__all__ = ["NotApplicable", "StratumError", "draw"]


def draw(
    stratum: Stratum,
    *,
    operator: Operator,
    shape: ShapeOf,
    types: Mapping[str, str],
    key: bytes,
) -> dict[str, AnyArray]:
    """Draw all inputs of an operator.

    Parameters
    ----------
    stratum
        What to draw.
    operator
        Whose inputs; its meaning says what is summed over.
    shape
        Sizes by dimension; a variadic dimension has a tuple.
    types
        Format names by tensor, inputs and outputs.
    key
        What the numbers depend on, with the stratum's name, the shape and the formats: equal arguments give equal
        bits on every machine, and a change of any of them independent ones.

    Returns
    -------
    dict
        Arrays in the inputs' formats, in the order of the operator's inputs.

    Raises
    ------
    NotApplicable
        If no such inputs exist for these formats or this shape.
    StratumError
        If the declaration makes no sense whatever they are.
    """
    words = Words(key).child(_label(stratum, shape, types))
    found: dict[str, AnyArray] = {}
    for item in stratum.draws:
        twice = [name for name in item.names if name in found]
        if twice:
            raise StratumError(f"stratum `{stratum.name}` draws `{twice[0]}` twice")
        context = Context(operator, shape, types, words.child(",".join(item.names)))
        found.update(_draw(item, context))
    missing = [param.name for param in operator.inputs if param.name not in found]
    if missing:
        raise StratumError(f"stratum `{stratum.name}` says nothing about input `{missing[0]}`")
    return {param.name: found[param.name] for param in operator.inputs}


def _label(stratum: Stratum, shape: ShapeOf, types: Mapping[str, str]) -> str:
    """Spell out what is drawn; sorted, so that the order of a mapping carries no meaning."""
    sizes = ", ".join(f"{name}={_spell(size)}" for name, size in sorted(shape.items()))
    formats = ", ".join(f"{name}={fmt}" for name, fmt in sorted(types.items()))
    return f"stratum {stratum.name} / {sizes} / {formats}"


def _spell(size: int | tuple[int, ...]) -> str:
    """Spell a size by its value, whatever integer type it has."""
    return str(tuple(int(n) for n in size)) if isinstance(size, tuple) else str(int(size))


def _draw(item: Draw, context: Context) -> dict[str, AnyArray]:
    call = call_of(item.generator)
    if call.function in JOINT:
        return _draw_joint(item, call, context)
    parts = {name: _child(context, name) for name in item.names}
    return {name: _finish(one_tensor(part, name, call), name, call, context) for name, part in parts.items()}


def _child(context: Context, name: str) -> Context:
    return Context(context.operator, context.shape, context.types, context.words.child(name))


def _draw_joint(item: Draw, call: Call, context: Context) -> dict[str, AnyArray]:
    found = contraction(context.operator)
    factors = [found.lhs] if found.rhs is None else [found.lhs, found.rhs]
    if set(item.names) != set(factors):
        raise StratumError(
            f"`{call.function}` draws all factors together: write `{', '.join(factors)} ~ {call.function}(…)`"
        )
    args = bind(call, PARAMETERS[call.function])
    batch, rows, reduced, columns = found.sizes(context.shape)
    if batch * rows * reduced * columns == 0:
        # nothing is multiplied: the empty problem has one input, up to factors nobody reads
        left, right = np.zeros((batch, rows, reduced)), np.zeros((batch, reduced, columns))
    else:
        first, second = JOINT[call.function](context.problem(found), context, args)
        left, right = first, second if second is not None else np.zeros((batch, reduced, columns))
    result = {found.lhs: store(found.lay_lhs(left, context.shape), context.types[found.lhs])}
    if found.rhs is not None:
        laid = found.lay_rhs(right, context.shape)
        result[found.rhs] = store(laid, context.types[found.rhs])
    return result


def _finish(values: AnyArray, name: str, call: Call, context: Context) -> AnyArray:
    """Round to the tensor's format, to nearest even; refuse what does not fit."""
    target = context.types[name]
    if values.dtype == dtype_of(target):
        return values
    if target == "i64":
        raise StratumError(f"`{call.function}` draws no integers for `{name}`: use `integers`")
    fmt = format_named(target)
    wide = values.astype(np.float64)
    if np.issubdtype(values.dtype, np.integer):
        if not representable(wide, fmt).all():
            raise NotApplicable(f"`{call.function}` draws integers that {target} does not hold")
        return store(wide, target)
    if wide.size and float(np.max(np.abs(wide))) > fmt.maxfinite:
        raise NotApplicable(f"`{call.function}` draws numbers beyond the range of {target}")
    return store(round_to(wide, fmt), target)
