"""Exact values of the arguments that generators and shape lists are written with."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from kernelcontracts.lang.expr import Binary, Name, Number, Unary
from kernelcontracts.strata.errors import StratumError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kernelcontracts.lang.expr import Expr


def rational(expr: Expr, dims: Mapping[str, int]) -> Fraction:
    """Evaluate an argument such as ``1 / 64`` or ``4 * V`` exactly.

    Parameters
    ----------
    expr
        Numbers and dimensions joined by ``+ - * / ^``.
    dims
        Sizes of the dimensions.

    Raises
    ------
    StratumError
        For anything else, a division by zero, or an exponent that is not an integer below 10000 in
        size.
    """
    match expr:
        case Number(value=value):
            return value
        case Name(id=name):
            return Fraction(_dimension(name, dims))
        case Unary(op="-", operand=operand):
            return -rational(operand, dims)
        case Binary(op=op, left=left, right=right):
            return _combine(op, rational(left, dims), rational(right, dims))
        case _:
            raise StratumError(
                "an argument of a generator must be an arithmetic expression of numbers and dimensions, "
                f"not a `{type(expr).__name__.lower()}`"
            )


def integer(expr: Expr, dims: Mapping[str, int]) -> int:
    """Evaluate an argument that must be an integer."""
    value = rational(expr, dims)
    if value.denominator != 1:
        raise StratumError(f"`{value}` stands where a whole number is needed")
    return int(value)


def _dimension(name: str, dims: Mapping[str, int]) -> int:
    if name not in dims:
        known = ", ".join(f"`{dim}`" for dim in dims) or "none"
        raise StratumError(f"`{name}` is no dimension with one size; those there are: {known}")
    return dims[name]


def _combine(op: str, left: Fraction, right: Fraction) -> Fraction:
    match op:
        case "+":
            return left + right
        case "-":
            return left - right
        case "*":
            return left * right
        case "/" if right != 0:
            return left / right
        case "/":
            raise StratumError(f"`{left} / 0` stands in an argument of a generator")
        # the bound keeps a typing error from filling the memory with digits
        case "^" if right.denominator == 1 and abs(right) < 10000 and (left != 0 or right >= 0):
            return left ** int(right)
        case _:
            raise StratumError(f"`{left} {op} {right}` cannot stand in an argument of a generator")
