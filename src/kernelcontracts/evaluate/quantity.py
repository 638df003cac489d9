"""``2 ulp``, ``1e-3 rel``, ``1e-6 abs``: written errors, turned into absolute ones at their anchor."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from kernelcontracts.evaluate import arithmetic
from kernelcontracts.evaluate.field import Field
from kernelcontracts.evaluate.formats import format_of
from kernelcontracts.numerics.interval import Interval
from kernelcontracts.numerics.rounding import ulp

if TYPE_CHECKING:
    from collections.abc import Callable

    from kernelcontracts.evaluate.scope import Scope
    from kernelcontracts.lang.expr import Expr, Quantity

    Evaluate: TypeAlias = Callable[[Expr, Scope], Any]


def quantity(expr: Quantity, scope: Scope, evaluate: Evaluate, reference: Callable[[Scope, str], Any]) -> Any:
    """Return the absolute error a quantity denotes."""
    value = evaluate(expr.value, scope)
    if expr.unit == "abs":
        return value
    anchor = arithmetic.field_of(_anchor(expr, scope, evaluate, reference))
    if expr.unit == "rel":
        return arithmetic.binary("*", value, arithmetic.unary(abs, anchor))
    fmt = (
        format_of(expr.format, scope, evaluate)
        if expr.format is not None
        else scope.case.format_of(scope.case.output.name)
    )
    assert fmt is not None
    size = abs(anchor.value)
    # the spacing grows with the magnitude, so the ends of the anchor give the ends of the spacing
    spacing = Interval(np.asarray(ulp(size.lo, fmt)), np.asarray(ulp(size.hi, fmt)))
    return arithmetic.binary("*", value, Field(anchor.dims, spacing))


def _anchor(expr: Quantity, scope: Scope, evaluate: Evaluate, reference: Callable[[Scope, str], Any]) -> Any:
    """Return what a quantity is measured at: what it says, else what it is compared with, else the reference."""
    if expr.anchor is not None:
        return evaluate(expr.anchor, scope)
    if scope.anchor is not None:
        return scope.anchor
    return reference(scope, "ref" if scope.space == "contract" else "meaning")
