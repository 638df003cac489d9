"""Probes for softmax and row gathers: rows whose right answer is known, chosen so that habits show."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from kernelcontracts.kernels.observation import Outcome
from kernelcontracts.lang.values import Choice

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kernelcontracts.diagnose.candidate import Candidate
    from kernelcontracts.diagnose.failure import Doubles
    from kernelcontracts.lang.values import Claimed

FAR = (1024.0, 896.0, -896.0)
"""Softmax inputs: e^1024 overflows f64, the gaps underflow, and every format holds all three."""


def stabilization(candidate: Candidate, claims: Mapping[str, Claimed]) -> Choice | None:
    """Say how a softmax keeps its exponentials in range.

    A shifted softmax gives (1, 0, 0) on a row of numbers far apart; without a shift it overflows; one that clamps
    below 896 cannot tell the first two apart. One pass or two makes no difference that outputs show, so of the
    shifted forms the claimed one is named.
    """
    y = candidate.run({"X": np.array([FAR])})
    if y is None:
        return None
    if not np.isfinite(y).all():
        return Choice("none")
    if y[0, 0] == y[0, 1]:
        return Choice("clamp")
    if y[0].tolist() != [1.0, 0.0, 0.0]:
        return None
    online = Choice("online_max_shift")
    return online if claims.get("stabilization") == online else Choice("max_shift")


def exp_ulp(candidate: Candidate) -> int | None:
    """Return the largest error of exp seen, in units in the last place of f32, rounded up; at least 1.

    In a row (0, x) with x < -20 the sum is 1 to f32's 24 bits, so the second output is exp(x) itself.
    """
    if candidate.types["Y"] != "f32":
        return None
    x = -np.arange(40, 161) / 2.0
    y = candidate.run({"X": np.stack([np.zeros_like(x), x], axis=1)})
    if y is None or not np.isfinite(y).all() or not (y[:, 0] == 1).all():
        return None
    unit = 2.0 ** (np.floor(x / np.log(2.0)) - 23)
    return max(1, int(np.ceil((np.abs(y[:, 1] - np.exp(x)) / unit).max())))


def _table() -> Doubles:
    """Return five rows that differ, without zeros: powers of two that every format holds."""
    return 2.0 ** (np.arange(15).reshape(5, 3) - 6)


def oob_policy(candidate: Candidate) -> Choice | None:
    """Say what happens to indices beyond the end of the table."""
    table = _table()
    last = len(table) - 1
    observation = candidate.observe({"table": table, "idx": np.array([0, last + 1, last + 4])})
    if observation.outcome == Outcome.RAISED:
        return Choice("RAISE")
    out = candidate.result(observation)
    if out is None or not np.array_equal(out[0], table[0]):
        return None
    if (out[1:] == table[last]).all():
        return Choice("CLAMP")
    return Choice("ZERO") if (out[1:] == 0).all() else Choice("UNDEFINED")


def negative_index(candidate: Candidate) -> Choice | None:
    """Say whether -1 names the last row, or lies out of bounds."""
    table = _table()
    observation = candidate.observe({"table": table, "idx": np.array([-1])})
    if observation.outcome == Outcome.RAISED:
        return Choice("out_of_bounds")
    out = candidate.result(observation)
    if out is None:
        return None
    if np.array_equal(out[0], table[-1]):
        return Choice("wrap")
    return Choice("out_of_bounds") if (out[0] == 0).all() or (out[0] == table[0]).all() else None
