"""``u precision maxfinite minnormal minsub round representable ulp``: questions about number formats."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from kernelcontracts.evaluate.arithmetic import field_of
from kernelcontracts.evaluate.field import Field, Logical
from kernelcontracts.evaluate.formats import format_of
from kernelcontracts.numerics import rounding
from kernelcontracts.numerics.interval import Interval
from kernelcontracts.numerics.interval import exact as exact_interval

if TYPE_CHECKING:
    from fractions import Fraction

    from kernelcontracts.evaluate.scope import Scope
    from kernelcontracts.lang.expr import Call


def _mode(call: Call, position: int, scope: Scope, evaluate: Any) -> str:
    """Return the rounding mode given as an argument, or round-to-nearest-even."""
    return str(evaluate(call.args[position], scope)) if len(call.args) > position else "rne"


def u(call: Call, scope: Scope, evaluate: Any) -> Fraction:
    """Return the unit roundoff: 2^-p to nearest, 2^(1-p) towards zero."""
    return format_of(call.args[0], scope, evaluate).unit_roundoff(_mode(call, 1, scope, evaluate))


def precision(call: Call, scope: Scope, evaluate: Any) -> int:
    """Significand bits, the hidden one included."""
    return format_of(call.args[0], scope, evaluate).precision


def maxfinite(call: Call, scope: Scope, evaluate: Any) -> Fraction:
    """Return the largest finite number."""
    return format_of(call.args[0], scope, evaluate).maxfinite


def minnormal(call: Call, scope: Scope, evaluate: Any) -> Fraction:
    """Return the smallest positive normal number."""
    return format_of(call.args[0], scope, evaluate).minnormal


def minsub(call: Call, scope: Scope, evaluate: Any) -> Fraction:
    """Return the smallest positive subnormal number."""
    return format_of(call.args[0], scope, evaluate).minsub


def round_(call: Call, scope: Scope, evaluate: Any) -> Field:
    """Correct rounding of a real to a format; exact where the exact value can still be asked."""
    fmt = format_of(call.args[1], scope, evaluate)
    mode = _mode(call, 2, scope, evaluate)
    value = field_of(evaluate(call.args[0], scope))
    if value.real is not None:
        return Field(value.dims, exact_interval(value.real.rounded(fmt, mode)))
    lo = rounding.round_to(value.value.lo, fmt, mode)
    if value.value.lo is value.value.hi:
        return Field(value.dims, exact_interval(lo))
    return Field(value.dims, Interval(lo, rounding.round_to(value.value.hi, fmt, mode)))


def representable(call: Call, scope: Scope, evaluate: Any) -> Logical:
    """Tell where a real is a number of a format: by default the format of the first input."""
    value = field_of(evaluate(call.args[0], scope))
    if len(call.args) > 1:
        fmt = format_of(call.args[1], scope, evaluate)
    else:
        first = scope.case.format_of(scope.case.operator.inputs[0].name)
        assert first is not None
        fmt = first
    exact = value.value.lo == value.value.hi
    fits = exact & rounding.representable(value.value.lo, fmt)
    return Logical(value.dims, np.asarray(fits), np.asarray(fits | ~exact))


def ulp(call: Call, scope: Scope, evaluate: Any) -> Field:
    """Spacing of a format at a real (Muller 2005, as adopted by OpenCL and WGSL)."""
    value = abs(field_of(evaluate(call.args[0], scope)).value)
    fmt = format_of(call.args[1], scope, evaluate)
    dims = field_of(evaluate(call.args[0], scope)).dims
    return Field(
        dims,
        Interval(np.asarray(rounding.ulp(value.lo, fmt)), np.asarray(rounding.ulp(value.hi, fmt))),
    )


TABLE = {
    "u": u,
    "precision": precision,
    "maxfinite": maxfinite,
    "minnormal": minnormal,
    "minsub": minsub,
    "round": round_,
    "representable": representable,
    "ulp": ulp,
}
