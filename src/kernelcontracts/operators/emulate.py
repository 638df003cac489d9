"""One emulator for each operator: what an honest kernel with given decisions computes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from kernelcontracts.operators.defaults import complete
from kernelcontracts.operators.gather import OperatorRaised, gather_rows
from kernelcontracts.operators.softmax import softmax
from kernelcontracts.operators.sums import matmul, reduce_sum

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kernelcontracts.lang.values import Claimed

__all__ = ["INPUTS", "OUTPUTS", "OperatorRaised", "emulate"]

INPUTS: dict[str, tuple[str, ...]] = {
    "matmul": ("A", "B"),
    "reduce_sum": ("X",),
    "softmax": ("X",),
    "gather_rows": ("table", "idx"),
}
"""The inputs of the emulated operators, in order."""

OUTPUTS: dict[str, str] = {"matmul": "C", "reduce_sum": "S", "softmax": "Y", "gather_rows": "out"}
"""Their outputs: each has one."""

_EMULATORS = {
    "matmul": matmul,
    "reduce_sum": reduce_sum,
    "softmax": softmax,
    "gather_rows": gather_rows,
}


def emulate(
    operator: str,
    inputs: Mapping[str, np.ndarray[Any, Any]],
    types: Mapping[str, str],
    decisions: Mapping[str, Claimed],
    *,
    call: int = 0,
) -> dict[str, np.ndarray[Any, Any]]:
    """Compute an operator as a kernel with these decisions does.

    Parameters
    ----------
    operator
        ``matmul``, ``reduce_sum``, ``softmax`` or ``gather_rows``.
    inputs
        Arrays by name, in their declared formats.
    types
        Format names of inputs and outputs.
    decisions
        Values of decisions; honest defaults (``defaults.DEFAULTS``) for what is left out.
    call
        Which call of the kernel this is. It matters only without determinism.

    Returns
    -------
    dict
        The output by name, in its declared format.

    Raises
    ------
    OperatorRaised
        If the emulated kernel raises.
    ValueError
        If a decision or a value is unknown.
    """
    values = complete(operator, decisions)
    with np.errstate(all="ignore"):
        return _EMULATORS[operator](inputs, types, values, call=call)
