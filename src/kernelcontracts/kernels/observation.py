"""What one call of a candidate showed."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np


class Outcome(StrEnum):
    """How a call ended. A crash is not a raise, and declining is not failing."""

    COMPLETED = "completed"
    RAISED = "raised"
    DIED = "died"
    TIMED_OUT = "timed_out"
    MALFORMED = "malformed"
    DECLINED = "declined"


@dataclass(frozen=True, slots=True)
class Observation:
    """Everything a contract may ask about one call.

    Attributes
    ----------
    outcome
        How the call ended.
    kind
        The exception's class name if raised, the signal's name if the process died, else ``""``.
    message
        One plain sentence for people: what happened.
    outputs
        The output arrays by name, in their declared formats; empty unless completed.
    owned
        Whether the outputs were written into buffers of ours, with fences around them.
    inputs_unchanged
        For each input, whether its bits are as they were before the call.
    guards_unchanged
        For each tensor, whether the fence around it still holds its pattern; ``None`` where the buffer is not
        ours.
    stale
        For each output, whether it was left as it was found: the poison pattern survives somewhere, or the
        array returned is that of an earlier call.
    alias
        The name of the input whose memory the output shares, or ``""``.
    seconds
        Wall time of the call.
    fence
        The bytes of the fence's pattern in this call: outputs that hold them were read from outside a tensor.
        The byte at distance ``d`` behind a contiguous tensor of ``n`` bytes is ``fence[(n + d) % len(fence)]``.
    """

    outcome: Outcome
    kind: str = ""
    message: str = ""
    outputs: Mapping[str, np.ndarray] = field(default_factory=dict)
    owned: bool = False
    inputs_unchanged: Mapping[str, bool] = field(default_factory=dict)
    guards_unchanged: Mapping[str, bool | None] = field(default_factory=dict)
    stale: Mapping[str, bool] = field(default_factory=dict)
    alias: str = ""
    seconds: float = 0.0
    fence: bytes = b""
