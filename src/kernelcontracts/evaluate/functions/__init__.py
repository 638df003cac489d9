"""The builtins of the language, by name: what each computes.

The table of their shapes, units, provenance and variance is `kernelcontracts.lang.builtins`; a test keeps the
two in step. Every function takes the call, the scope and the evaluator, so that a format argument can be read
from the signature without looking at a tensor's values.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kernelcontracts.evaluate.functions import (
    claims,
    elementwise,
    number_formats,
    observations,
    products,
    reductions,
)

if TYPE_CHECKING:
    from collections.abc import Callable

FUNCTIONS: dict[str, Callable[..., Any]] = {
    **number_formats.TABLE,
    **claims.TABLE,
    **products.TABLE,
    **elementwise.TABLE,
    **reductions.TABLE,
    **observations.TABLE,
}
