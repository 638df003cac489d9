"""``sqrt exp log where clamp max min gather`` and the predicates on single numbers."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from kernelcontracts.evaluate import arithmetic
from kernelcontracts.evaluate.arithmetic import field_of, is_scalar, logical_of
from kernelcontracts.evaluate.field import Field, Logical, Tensor, merged, spread, spread_interval
from kernelcontracts.numerics import elementary, interval
from kernelcontracts.numerics.interval import Interval

if TYPE_CHECKING:
    from collections.abc import Callable

    from kernelcontracts.evaluate.scope import Scope
    from kernelcontracts.lang.expr import Call


def sqrt(call: Call, scope: Scope, evaluate: Any) -> Field:
    """Return the square root."""
    return arithmetic.unary(interval.sqrt, evaluate(call.args[0], scope))


def exp(call: Call, scope: Scope, evaluate: Any) -> Field:
    """Return a certified enclosure of the exponential."""
    return arithmetic.unary(elementary.exp, evaluate(call.args[0], scope))


def log(call: Call, scope: Scope, evaluate: Any) -> Field:
    """Return a certified enclosure of the natural logarithm."""
    return arithmetic.unary(elementary.log, evaluate(call.args[0], scope))


def where_call(call: Call, scope: Scope, evaluate: Any) -> Any:
    """Pick elementwise by a truth."""
    condition, yes, no = (evaluate(arg, scope) for arg in call.args)
    return where(logical_of(condition), yes, no)


def where(condition: Logical, yes: Any, no: Any) -> Any:
    """Pick elementwise; a tensor stays a tensor if the other branch is a zero or a tensor of its format."""
    if isinstance(yes, Tensor) and (no == 0 if is_scalar(no) else isinstance(no, Tensor)):
        return _where_tensor(condition, yes, no)
    a, b = field_of(yes), field_of(no)
    dims = merged(merged(a.dims, b.dims), condition.dims)
    x, y = spread_interval(a, dims), spread_interval(b, dims)
    must, may = (
        spread(condition.must, condition.dims, dims),
        spread(condition.may, condition.dims, dims),
    )
    if must is may or bool((must == may).all()):
        lo = np.where(must, x.lo, y.lo)
        same = x.lo is x.hi and y.lo is y.hi
        return Field(dims, Interval(lo, lo if same else np.where(must, x.hi, y.hi)))
    lo = np.where(must, x.lo, np.where(may, np.minimum(x.lo, y.lo), y.lo))
    hi = np.where(must, x.hi, np.where(may, np.maximum(x.hi, y.hi), y.hi))
    return Field(dims, Interval(lo, hi))


def _where_tensor(condition: Logical, yes: Tensor, no: Any) -> Tensor:
    dims = merged(yes.dims, condition.dims)
    if isinstance(no, Tensor):
        dims = merged(dims, no.dims)
    must = spread(condition.must, condition.dims, dims)
    kept = spread(yes.array, yes.dims, dims)
    other = spread(no.array, no.dims, dims) if isinstance(no, Tensor) else np.zeros((), kept.dtype)
    return Tensor(yes.name, dims, np.where(must, kept, other), yes.format, yes.candidate)


def clamp(call: Call, scope: Scope, evaluate: Any) -> Any:
    """Limit a value to a closed range."""
    value, low, high = (evaluate(arg, scope) for arg in call.args)
    if isinstance(value, Tensor):
        value = value.as_field()
    raised = arithmetic.combine(interval.maximum, [value, low])
    return arithmetic.combine(interval.minimum, [raised, high])


def extremum(
    values: list[Any],
    scalar: Callable[[list[Any]], Any],
    pick: Callable[[Interval, Interval], Interval],
) -> Any:
    """Return the elementwise maximum or minimum of several values."""
    if all(is_scalar(v) for v in values):
        return scalar([Fraction(v) for v in values])
    return arithmetic.combine(pick, [field_of(v) for v in values])


def gather(call: Call, scope: Scope, evaluate: Any) -> Tensor:
    """Rows of a table by index, bit for bit."""
    table, index = (evaluate(arg, scope) for arg in call.args)
    rows = field_of(index).value.lo.astype(np.int64)
    dims = field_of(index).dims + table.dims[1:]
    return Tensor(table.name, dims, table.array[rows], table.format)


def predicate(test: Callable[[Any], Any]) -> Callable[[Call, Scope, Any], Logical]:
    """Make a builtin from a test of single floats; ``inputs`` stands for every input."""

    def apply(call: Call, scope: Scope, evaluate: Any) -> Logical:
        names = [p.name for p in scope.case.operator.inputs]
        arg = call.args[0]
        if getattr(arg, "id", None) == "inputs":
            parts = [scope.case.tensor(name) for name in names if scope.case.format_of(name) is not None]
            whole = all(bool(np.all(test(part.exact))) for part in parts)
            return Logical.known((), np.asarray(whole))
        value = field_of(evaluate(arg, scope))
        lo, hi = test(value.value.lo), test(value.value.hi)
        return Logical(value.dims, np.asarray(lo & hi), np.asarray(lo | hi))

    return apply


TABLE = {
    "sqrt": sqrt,
    "exp": exp,
    "log": log,
    "where": where_call,
    "clamp": clamp,
    "gather": gather,
    "finite": predicate(np.isfinite),
    "isnan": predicate(np.isnan),
    "isinf": predicate(np.isinf),
    "signbit": predicate(np.signbit),
}
