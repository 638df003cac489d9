"""What happens to operands before the first operation: subnormals read as zero, casts, splits."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from kernelcontracts.formats.facts import format_named
from kernelcontracts.numerics.rounding import round_to

if TYPE_CHECKING:
    from kernelcontracts.lang.values import Choice
    from kernelcontracts.operators.arithmetic import Doubles

PASSES = ((2, 0), (0, 2), (1, 1), (1, 0), (0, 1), (0, 0))
"""The products of a three-way split that are kept, small ones first: a_i * b_j with i + j <= 2."""


def read(x: Doubles, format_name: str, *, daz: bool) -> Doubles:
    """Return operands as the kernel reads them: with ``daz``, their subnormals are zeros."""
    if not daz:
        return x
    smallest = float(format_named(format_name).minnormal)
    return np.where(np.abs(x) < smallest, np.copysign(0.0, x), x)


def cast(x: Doubles, rounding: Choice) -> Doubles:
    """Return operands after the declared cast (``as_given`` or ``to(format)``, to nearest even).

    Raises
    ------
    ValueError
        If the cast is not one of these.
    """
    if rounding.name == "as_given":
        return x
    if rounding.name == "to" and len(rounding.args) == 1:
        return np.asarray(round_to(x, format_named(str(rounding.args[0])), "rne"), np.float64)
    raise ValueError(f"unknown rounding of operands `{rounding}`; expected as_given, to(format) or split(bf16, 3)")


def products(a: Doubles, b: Doubles, rounding: Choice) -> tuple[Doubles, Doubles]:
    """Return the operands whose products are added, A of shape (M, K') and B of shape (K', N).

    ``split(format, 3)`` writes each operand as three numbers of the format and keeps the six
    products that matter, so the sum has six times as many terms: K' = 6 K.
    """
    if rounding.name != "split":
        return cast(a, rounding), cast(b, rounding)
    if len(rounding.args) != 2 or rounding.args[1] != 3:
        raise ValueError(f"`{rounding}` is not a split known here; expected split(bf16, 3)")
    parts_a = _split(a, str(rounding.args[0]))
    parts_b = _split(b, str(rounding.args[0]))
    return (
        np.concatenate([parts_a[i] for i, _ in PASSES], axis=1),
        np.concatenate([parts_b[j] for _, j in PASSES], axis=0),
    )


def _split(x: Doubles, format_name: str) -> list[Doubles]:
    """Return three numbers of a narrow format that add up to x, as nearly as three can.

    The remainders are exact: x and its rounding to nearest agree in their leading bits.
    """
    fmt = format_named(format_name)
    parts = []
    for _ in range(3):
        part = np.asarray(round_to(x, fmt, "rne"), np.float64)
        parts.append(part)
        x = x - part
    return parts
