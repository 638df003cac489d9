"""``sum max min mean rms any all``, over named dimensions or over everything."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from kernelcontracts.evaluate.arithmetic import field_of, logical_of
from kernelcontracts.evaluate.field import Dims, Field, Logical, Margins, Tensor, axes_of
from kernelcontracts.evaluate.functions.elementwise import extremum
from kernelcontracts.numerics import interval, reductions
from kernelcontracts.numerics.exact import exact_sum

if TYPE_CHECKING:
    from kernelcontracts.evaluate.scope import Scope
    from kernelcontracts.lang.expr import Call


def _over(call: Call, dims: Dims) -> tuple[int, ...]:
    """Return the axes a reduction runs over: those of ``over = N``, or all."""
    named = dict(call.kwargs).get("over")
    if named is None:
        return tuple(range(len(dims)))
    name = named.id  # type: ignore[union-attr]  # the checks allow a dimension's name alone
    return axes_of(dims, [d for d in dims if d == name or d.startswith(f"{name}.")])


def _rest(dims: Dims, axes: tuple[int, ...]) -> Dims:
    return tuple(d for i, d in enumerate(dims) if i not in axes)


def sum_(call: Call, scope: Scope, evaluate: Any) -> Field:
    """Sum; of an exactly known tensor, an exact real that can still be rounded correctly."""
    value = evaluate(call.args[0], scope)
    field = field_of(value)
    axes = _over(call, field.dims)
    if field.value.lo is field.value.hi and len(axes) == 1:
        real = exact_sum(field.value.lo, axes[0])
        return Field(_rest(field.dims, axes), real.interval, real)
    return Field(_rest(field.dims, axes), reductions.total(field.value, axes))


def _extreme(name: str) -> Any:
    def apply(call: Call, scope: Scope, evaluate: Any) -> Any:
        values = [evaluate(arg, scope) for arg in call.args]
        if len(values) > 1:
            if name == "max":
                return extremum(values, max, interval.maximum)
            return extremum(values, min, interval.minimum)
        field = field_of(values[0])
        axes = _over(call, field.dims)
        reduced = reductions.largest(field.value, axes) if name == "max" else reductions.smallest(field.value, axes)
        return Field(_rest(field.dims, axes), reduced)

    return apply


def mean(call: Call, scope: Scope, evaluate: Any) -> Field:
    """Return the arithmetic mean."""
    field = field_of(evaluate(call.args[0], scope))
    axes = _over(call, field.dims)
    return Field(_rest(field.dims, axes), reductions.mean(field.value, axes))


def rms(call: Call, scope: Scope, evaluate: Any) -> Field:
    """Return the root of the mean square."""
    field = field_of(evaluate(call.args[0], scope))
    axes = _over(call, field.dims)
    return Field(_rest(field.dims, axes), interval.sqrt(reductions.mean(field.value**2, axes)))


def all_(call: Call, scope: Scope, evaluate: Any) -> Any:
    """Tell whether a predicate holds everywhere; of margins, the largest."""
    value = evaluate(call.args[0], scope)
    if isinstance(value, Margins):
        axes = _over(call, value.dims)
        lo = value.lo.max(axis=axes, initial=0.0)
        return Margins(
            _rest(value.dims, axes),
            np.asarray(lo),
            np.asarray(value.hi.max(axis=axes, initial=0.0)),
        )
    truth = logical_of(value)
    axes = _over(call, truth.dims)
    return Logical(
        _rest(truth.dims, axes),
        np.asarray(truth.must.all(axis=axes)),
        np.asarray(truth.may.all(axis=axes)),
    )


def any_(call: Call, scope: Scope, evaluate: Any) -> Logical:
    """Tell whether a predicate holds somewhere."""
    truth = logical_of(evaluate(call.args[0], scope))
    axes = _over(call, truth.dims)
    return Logical(
        _rest(truth.dims, axes),
        np.asarray(truth.must.any(axis=axes)),
        np.asarray(truth.may.any(axis=axes)),
    )


def rows(call: Call, scope: Scope, evaluate: Any) -> Tensor:
    """Pick the rows of a tensor at which a truth over its first dimension holds."""
    value, mask = (evaluate(arg, scope) for arg in call.args)
    chosen = logical_of(mask).must
    return Tensor(value.name, value.dims, value.array[chosen], value.format, value.candidate)


TABLE = {
    "sum": sum_,
    "max": _extreme("max"),
    "min": _extreme("min"),
    "mean": mean,
    "rms": rms,
    "all": all_,
    "any": any_,
    "rows": rows,
}
