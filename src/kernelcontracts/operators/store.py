"""The last step of every kernel: from the accumulator to the output's format."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from kernelcontracts.formats.arrays import store
from kernelcontracts.formats.facts import format_named
from kernelcontracts.numerics.rounding import round_to

if TYPE_CHECKING:
    from kernelcontracts.operators.arithmetic import Floats


def stored(values: Floats, format_name: str, *, flush: bool = False) -> np.ndarray[Any, Any]:
    """Round to nearest even to the output's format, and write in it.

    With ``flush``, results below the smallest normal number of the output become zero as well: what
    is declared flushed is the result, whatever it was accumulated in.
    """
    fmt = format_named(format_name)
    rounded = np.asarray(round_to(np.asarray(values, np.float64), fmt, "rne"), np.float64)
    if flush:
        tiny = np.abs(rounded) < float(fmt.minnormal)
        rounded = np.where(tiny, np.copysign(0.0, rounded), rounded)
    return np.asarray(store(rounded, format_name))
