"""Arguments that name a format: a format, a tensor's declared format, or a claimed accumulator.

``u(C)`` reads the signature, never a buffer: the name of a tensor stands for its declared format here and its
values are not looked at.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kernelcontracts.evaluate.scope import UnresolvedError
from kernelcontracts.formats.facts import FORMATS, Format, accumulator_format
from kernelcontracts.lang.expr import Name
from kernelcontracts.lang.values import Choice

if TYPE_CHECKING:
    from collections.abc import Callable

    from kernelcontracts.evaluate.scope import Scope
    from kernelcontracts.lang.expr import Expr


def format_of(expr: Expr, scope: Scope, evaluate: Callable[[Expr, Scope], Any]) -> Format:
    """Return the format an argument names."""
    if isinstance(expr, Name):
        name = scope.case.output.name if expr.id == "output" else expr.id
        if name in scope.case.types:
            return FORMATS[scope.case.types[name]]
    value = evaluate(expr, scope)
    if isinstance(value, Choice):
        return accumulator_format(value.name, value.field("width"))
    raise UnresolvedError(f"`{value}` is not a number format")
