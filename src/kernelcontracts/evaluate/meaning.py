"""An operator's meaning, evaluated: a comprehension over real numbers, exact where it can be."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from kernelcontracts.evaluate import arithmetic
from kernelcontracts.evaluate.field import Dims, Field, Tensor, axes_of
from kernelcontracts.evaluate.structure import indexed
from kernelcontracts.lang.expr import Binary, Call, Expr, Index, Name, Number, Reduce, Star
from kernelcontracts.numerics import compensated, elementary, reductions
from kernelcontracts.numerics.exact import exact_matmul, exact_sum
from kernelcontracts.numerics.interval import Interval, of_fraction

if TYPE_CHECKING:
    from kernelcontracts.evaluate.case import Case
    from kernelcontracts.numerics.exact import Real


MEANING = ("meaning",)
"""Where a case keeps its meaning."""


def meaning_of(case: Case) -> Any:
    """Return the exact value of an operator on a case's inputs.

    Returns
    -------
    Field or Tensor
        Over the output's dimensions. A meaning that only picks entries of an input stays a tensor.
    """
    assert isinstance(case.operator.target, Index)
    assert case.operator.meaning is not None
    value = _value(case.operator.meaning, case)
    order = _names(case.operator.target.indices, case)
    return _renamed(value, order, case.output_dims())


def _names(indices: tuple[Expr, ...], case: Case) -> Dims:
    """Return index variables, one per axis; ``*l`` stands for as many as the leading dimensions."""
    names: list[str] = []
    for index in indices:
        if isinstance(index, Star):
            names += [f"{index.name}.{i}" for i in range(_leading(case))]
        else:
            assert isinstance(index, Name)
            names.append(index.id)
    return tuple(names)


def _leading(case: Case) -> int:
    sizes = [size for size in case.shape.values() if isinstance(size, tuple)]
    return len(sizes[0]) if sizes else 0


def _renamed(value: Any, order: Dims, dims: Dims) -> Any:
    axes = [value.dims.index(name) for name in order]
    if isinstance(value, Tensor):
        return Tensor(value.name, dims, value.array.transpose(axes), value.format)
    assert tuple(axes) == tuple(range(len(axes))), "meanings of the library give their indices in order"
    return Field(dims, value.value, value.real)


def _value(expr: Expr, case: Case) -> Any:
    match expr:
        case Number(value=value):
            return value
        case Index():
            return _entry(expr, case)
        case Reduce(function="sum"):
            return _sum(expr, case)
        case Binary(op=op, left=left, right=right):
            return arithmetic.binary(op, _value(left, case), _value(right, case))
        case Call(function="exp", args=(arg,)):
            return arithmetic.unary(elementary.exp, _value(arg, case))
    raise AssertionError(f"a meaning may not contain {type(expr).__name__}")


def _entry(expr: Index, case: Case) -> Tensor:
    """Read a tensor with its axes named by index variables; an index may itself be an entry (a gather)."""
    tensor = case.tensor(indexed(expr))
    inner = next((index for index in expr.indices if isinstance(index, Index)), None)
    if inner is None:
        return Tensor(tensor.name, _names(expr.indices, case), tensor.array, tensor.format)
    rows = _entry(inner, case)
    position = expr.indices.index(inner)
    assert position == 0, "a gather picks along the first dimension"
    rest = _names(tuple(i for i in expr.indices if i is not inner), case)
    return Tensor(tensor.name, rows.dims + rest, tensor.array[rows.array.astype(np.int64)], tensor.format)


def _sum(expr: Reduce, case: Case) -> Field:
    body = expr.body
    if isinstance(body, Binary) and body.op == "*" and isinstance(body.left, Index) and isinstance(body.right, Index):
        product = _contraction(_entry(body.left, case), _entry(body.right, case), expr.binder)
        if product is not None:
            return product
    value = arithmetic.field_of(_value(body, case))
    axes = axes_of(value.dims, [expr.binder])
    rest = tuple(d for d in value.dims if d != expr.binder)
    if value.value.lo is value.value.hi:
        real = exact_sum(value.value.lo, axes[0])
        return Field(rest, real.interval, real)
    return Field(rest, reductions.total(value.value, axes))


def _contraction(left: Tensor, right: Tensor, binder: str) -> Field | None:
    """Recognise ``[…, m, k] x […, k, n]``: the product the exact reference knows."""
    if left.dims[-1] != binder or len(right.dims) < 2 or right.dims[-2] != binder:
        return None
    if left.dims[:-2] != right.dims[:-2]:
        return None
    real = exact_matmul(left.exact, right.exact)
    return Field(left.dims[:-1] + right.dims[-1:], real.interval, real)


NARROW = 2.0**-32
"""Relative width up to which a sharpened enclosure is left as it is.

The finest tolerance of the library is half an f32 unit roundoff of the reference, 2^-25: a width of 2^-32 moves its
margin by less than 2^-6.
"""


def sharpen(case: Case) -> bool:
    """Make a case's meaning as narrow as it can be; return whether that changed anything.

    The fast enclosure decides nearly every case and costs one product. Only where a clause stays undecided is the
    reference asked for more, and everything computed from it is forgotten.
    """
    known = case.cache.get(MEANING)
    if not isinstance(known, Field) or known.real is None or known.value is not known.real.interval:
        return False
    sharp = tightened(known.real)
    if sharp is known.value:
        return False
    case.cache.clear()
    case.cache[MEANING] = Field(known.dims, sharp, known.real)
    return True


def tightened(real: Real) -> Interval:
    """Return a real's enclosure, made narrow where cancellation or a wide row left it wide.

    The fast enclosure is as wide as the norms of the rows say; a small element beside large ones then drowns in
    it. Such elements are summed again as pairs of floats, and exactly where even those do not suffice.
    """
    lo, hi = real.interval.lo, real.interval.hi
    with np.errstate(invalid="ignore"):
        wide = np.flatnonzero((hi - lo) > NARROW * np.minimum(abs(lo), abs(hi)))
    if wide.size == 0:
        return real.interval
    low, high = lo.ravel().copy(), hi.ravel().copy()
    below, above = compensated.ends(real.pairs(wide))
    known = ~(np.isnan(below) | np.isnan(above))
    low[wide[known]], high[wide[known]] = below[known], above[known]
    with np.errstate(invalid="ignore"):
        still = wide[~known | ((above - below) > NARROW * np.minimum(abs(below), abs(above)))]
    for i in still.tolist():
        exactly = of_fraction(real.fraction(i))
        low[i], high[i] = exactly.lo, exactly.hi
    return Interval(low.reshape(lo.shape), high.reshape(lo.shape))
