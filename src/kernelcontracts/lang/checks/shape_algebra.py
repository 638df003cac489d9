"""Shapes as lists of the names of dimensions, and how they fit.

A shape fits another if it is that one with some dimensions left out: a reduced value meets the value it was reduced
from, a row statistic every element of its row. Sizes are never compared, so that nothing can fit by accident.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from kernelcontracts.lang.expr import Star
from kernelcontracts.lang.printer_expr import print_expr

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kernelcontracts.lang.decl import Param

Shape: TypeAlias = "tuple[str, ...] | None"
"""The names of the dimensions, ``*L`` for a variadic one; ``None`` where it is not known."""


def dims_of(param: Param) -> tuple[str, ...]:
    """Return the dimensions of a tensor as they are written in the signature."""
    return tuple(f"*{d.name}" if isinstance(d, Star) else print_expr(d) for d in param.dims)


def show(shape: Iterable[str]) -> str:
    """Return a shape as it stands in messages."""
    return f"[{', '.join(shape)}]"


def broadcast(a: tuple[str, ...], b: tuple[str, ...]) -> tuple[str, ...] | None:
    """Return the larger of two shapes of which one is the other with some dimensions left out."""
    short, long = (a, b) if len(a) <= len(b) else (b, a)
    rest = iter(long)
    if all(any(d == e for e in rest) for d in short if d != "1"):
        return long
    return None
