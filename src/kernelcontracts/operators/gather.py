"""Emulated row gathers, with one policy for indices out of bounds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from kernelcontracts.operators.defaults import choice

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kernelcontracts.lang.values import ClaimValue

NEIGHBOUR = 0x5A
"""The byte that stands for memory beyond the table where the policy is UNDEFINED."""


class OperatorRaised(IndexError):  # noqa: N818 - it reports what an honest kernel does, not a fault of ours
    """The emulated kernel raised, as its policy says."""


def gather_rows(
    inputs: Mapping[str, np.ndarray[Any, Any]],
    types: Mapping[str, str],
    decisions: Mapping[str, ClaimValue],
    *,
    call: int = 0,
) -> dict[str, np.ndarray[Any, Any]]:
    """Emulate ``out[n] = table[idx[n]]``, table of shape (V, D), idx of shape (N,).

    Bits are copied, never converted.

    Raises
    ------
    OperatorRaised
        If an index is out of bounds and the policy is RAISE.
    """
    del types, call
    table, index = inputs["table"], np.asarray(inputs["idx"], np.int64)
    rows = table.shape[0]
    if choice(decisions, "negative_index").name == "wrap":
        index = np.where(index < 0, index + rows, index)
    outside = (index < 0) | (index >= rows)
    return {"out": _rows(table, index, outside, choice(decisions, "oob_policy").name)}


def _rows(
    table: np.ndarray[Any, Any],
    index: np.ndarray[Any, Any],
    outside: np.ndarray[Any, Any],
    policy: str,
) -> np.ndarray[Any, Any]:
    if policy not in {"RAISE", "CLAMP", "ZERO", "UNDEFINED"}:
        raise ValueError(f"`oob_policy = {policy}` is not known here; expected RAISE, CLAMP, ZERO or UNDEFINED")
    if policy == "RAISE" and outside.any():
        first = int(index[outside][0])
        raise OperatorRaised(f"index {first} is out of bounds for a table of {table.shape[0]} rows")
    out = np.zeros((len(index), table.shape[1]), table.dtype)
    if table.shape[0]:
        out[:] = table[np.clip(index, 0, table.shape[0] - 1)]
    if policy == "ZERO":
        out[outside] = 0
    if policy == "UNDEFINED" and out.size:
        out.view(np.uint8).reshape(len(index), -1)[outside] = NEIGHBOUR
    return out
