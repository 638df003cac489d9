"""Arithmetic over scalars and fields. Scalars stay exact rationals until they meet an array or a root."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from kernelcontracts.evaluate.field import (
    Dims,
    Field,
    Logical,
    Tensor,
    constant,
    merged,
    spread,
    spread_interval,
)
from kernelcontracts.numerics.interval import Interval, sqrt

if TYPE_CHECKING:
    from collections.abc import Callable

Scalar = int | Fraction


def is_scalar(value: Any) -> bool:
    """Tell an exact rational from everything else (a truth value is no number)."""
    return isinstance(value, (int, Fraction)) and not isinstance(value, bool)


def field_of(value: Any) -> Field:
    """Read a scalar, a tensor or a field as a field."""
    if isinstance(value, Field):
        return value
    if isinstance(value, Tensor):
        return value.as_field()
    return constant(value)


def pair(left: Any, right: Any) -> tuple[Dims, Interval, Interval]:
    """Line two operands up by the names of their dimensions."""
    a, b = field_of(left), field_of(right)
    dims = merged(a.dims, b.dims)
    return dims, spread_interval(a, dims), spread_interval(b, dims)


def binary(op: str, left: Any, right: Any) -> Any:
    """Apply ``+ - * / ^`` to scalars or fields."""
    if is_scalar(left) and is_scalar(right):
        return _scalar(op, Fraction(left), Fraction(right))
    if op == "^":
        return power(left, right)
    dims, a, b = pair(left, right)
    operations: dict[str, Callable[[Interval, Interval], Interval]] = {
        "+": lambda x, y: x + y,
        "-": lambda x, y: x - y,
        "*": lambda x, y: x * y,
        "/": lambda x, y: x / y,
    }
    return Field(dims, operations[op](a, b))


def _scalar(op: str, left: Fraction, right: Fraction) -> Any:
    if op == "^":
        if right.denominator == 1:
            return left ** int(right)
        return power(constant(left), right)
    if op == "/":
        return left / right
    return {"+": left + right, "-": left - right, "*": left * right}[op]


def power(base: Any, exponent: Any) -> Field:
    """Raise a field to a rational constant: an integer, or a half."""
    exponent = Fraction(exponent)
    field = field_of(base)
    if exponent.denominator == 1:
        return Field(field.dims, field.value ** int(exponent))
    assert exponent == Fraction(1, 2), "the checks allow integer powers and square roots"
    return Field(field.dims, sqrt(field.value))


def unary(function: Callable[[Interval], Interval], value: Any) -> Field:
    """Apply a function of one interval."""
    field = field_of(value)
    return Field(field.dims, function(field.value))


def combine(function: Callable[[Interval, Interval], Interval], values: list[Any]) -> Any:
    """Fold an associative function of two intervals over several operands."""
    result = values[0]
    for value in values[1:]:
        dims, a, b = pair(result, value)
        result = Field(dims, function(a, b))
    return result


def compare(op: str, left: Any, right: Any) -> Logical | bool:
    """Compare numbers; anything else only for equality."""
    if is_scalar(left) and is_scalar(right):
        return _ordered(op, left, right)
    if not isinstance(left, (Field, Tensor)) and not isinstance(right, (Field, Tensor)):
        return bool(left == right) if op == "==" else bool(left != right)
    dims, a, b = pair(left, right)
    must, may = _certain(op, a, b), ~_certain(_NEGATED[op], a, b)
    if op != "!=":
        # a tensor's NaN is a number that was seen, and compares as in IEEE 754; one that came of an enclosure says
        # that nothing is known
        may = may & ~_seen_nan(left, dims) & ~_seen_nan(right, dims)
    return Logical(dims, must, may)


def _seen_nan(value: Any, dims: Dims) -> Any:
    return spread(np.isnan(value.exact), value.dims, dims) if isinstance(value, Tensor) else np.asarray(False)


_NEGATED = {"<": ">=", "<=": ">", ">": "<=", ">=": "<", "==": "!=", "!=": "=="}


def _ordered(op: str, left: Scalar, right: Scalar) -> bool:
    return {
        "<": left < right,
        "<=": left <= right,
        ">": left > right,
        ">=": left >= right,
        "==": left == right,
        "!=": left != right,
    }[op]


def _certain(op: str, a: Interval, b: Interval) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Return where a comparison holds for every pair of members; with NaN ``!=`` alone does, as in IEEE 754."""
    with np.errstate(invalid="ignore"):
        if op == "<":
            return np.asarray(a.hi < b.lo)
        if op == "<=":
            return np.asarray(a.hi <= b.lo)
        if op == ">":
            return np.asarray(a.lo > b.hi)
        if op == ">=":
            return np.asarray(a.lo >= b.hi)
        if op == "==":
            return np.asarray((a.lo == a.hi) & (b.lo == b.hi) & (a.lo == b.lo))
        apart = (a.hi < b.lo) | (a.lo > b.hi)
        return np.asarray(apart | np.isnan(a.lo) | np.isnan(b.lo))


def align_logical(left: Logical, right: Logical) -> tuple[Dims, Logical, Logical]:
    """Line two truths up by the names of their dimensions."""
    dims = merged(left.dims, right.dims)
    return (
        dims,
        Logical(dims, spread(left.must, left.dims, dims), spread(left.may, left.dims, dims)),
        Logical(dims, spread(right.must, right.dims, dims), spread(right.may, right.dims, dims)),
    )


def logical_of(value: Any) -> Logical:
    """Read a plain truth value as a truth without dimensions."""
    if isinstance(value, Logical):
        return value
    assert isinstance(value, (bool, np.bool_)), f"not a truth value: {value!r}"
    return Logical.known((), np.asarray(bool(value)))
