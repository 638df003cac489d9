"""``@`` and the questions about dot products and sums on which the exact clauses stand."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from kernelcontracts.evaluate.arithmetic import field_of
from kernelcontracts.evaluate.field import Dims, Field, Logical, Tensor
from kernelcontracts.evaluate.formats import format_of
from kernelcontracts.numerics import enclosure, exact
from kernelcontracts.numerics.interval import exact as exact_interval

if TYPE_CHECKING:
    from kernelcontracts.evaluate.scope import Scope
    from kernelcontracts.lang.expr import Call


def product_dims(left: Dims, right: Dims) -> Dims:
    """Return the dimensions of ``left @ right``: batch, rows of the left, columns of the right."""
    return left[:-1] + right[-1:]


def matmul(left: Any, right: Any) -> Field:
    """Matrix product over the last dimension of the left and the one before last of the right."""
    a, b = field_of(left), field_of(right)
    dims = product_dims(a.dims, b.dims)
    if _known(a) and _known(b):
        real = exact.exact_matmul(a.value.lo, b.value.lo)
        return Field(dims, real.interval, real)
    return Field(dims, enclosure.matmul(a.value, b.value))


def _known(field: Field) -> bool:
    return field.value.lo is field.value.hi or bool((field.value.lo == field.value.hi).all())


def nonzero(call: Call, scope: Scope, evaluate: Any) -> Field:
    """1 where a tensor is not zero, else 0."""
    value = evaluate(call.args[0], scope)
    assert isinstance(value, Tensor)
    return Field(value.dims, exact_interval((value.exact != 0).astype(np.float64)))


def subnormal(call: Call, scope: Scope, evaluate: Any) -> Logical:
    """Tell where a tensor's entries are subnormal numbers of its own format."""
    value = evaluate(call.args[0], scope)
    assert isinstance(value, Tensor)
    assert value.format is not None
    size = abs(value.exact)
    return Logical.known(value.dims, (size > 0) & (size < float(value.format.minnormal)))


def normal(call: Call, scope: Scope, evaluate: Any) -> Logical:
    """Tell where a tensor's entries are normal numbers of its own format: finite, and no zero or subnormal."""
    value = evaluate(call.args[0], scope)
    assert isinstance(value, Tensor)
    assert value.format is not None
    size = abs(value.exact)
    return Logical.known(value.dims, np.isfinite(size) & (size >= float(value.format.minnormal)))


def inexact_products(call: Call, scope: Scope, evaluate: Any) -> Field:
    """1 where some product of a dot product may need more bits than a format has, else 0."""
    a, b = (evaluate(arg, scope) for arg in call.args[:2])
    fmt = format_of(call.args[2], scope, evaluate)
    flags = exact.inexact_products(a.exact, b.exact, fmt)
    return Field(product_dims(a.dims, b.dims), exact_interval(np.asarray(flags, dtype=np.float64)))


def exact_dot(call: Call, scope: Scope, evaluate: Any) -> Logical:
    """Tell where every order of summation in a format gives the exact dot product (docs/exact-battery.md)."""
    a, b = (evaluate(arg, scope) for arg in call.args[:2])
    fmt = format_of(call.args[2], scope, evaluate)
    return Logical.known(product_dims(a.dims, b.dims), exact.exact_dot_premise(a.exact, b.exact, fmt))


def exact_sum(call: Call, scope: Scope, evaluate: Any) -> Logical:
    """Tell where every order of summation in a format gives the exact sum over the last dimension."""
    x = evaluate(call.args[0], scope)
    fmt = format_of(call.args[1], scope, evaluate)
    return Logical.known(x.dims[:-1], exact.exact_sum_premise(x.exact, fmt, -1))


TABLE = {
    "nonzero": nonzero,
    "subnormal": subnormal,
    "normal": normal,
    "inexact_products": inexact_products,
    "exact_dot": exact_dot,
    "exact_sum": exact_sum,
}
