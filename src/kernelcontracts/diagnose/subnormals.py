"""Whether subnormal numbers survive on the way in and on the way out."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from kernelcontracts.diagnose.accumulator import accumulator
from kernelcontracts.formats.facts import F16
from kernelcontracts.lang.values import Choice

if TYPE_CHECKING:
    from kernelcontracts.diagnose.failure import Doubles
    from kernelcontracts.diagnose.sums import Bench

PRESERVE, FLUSH = Choice("preserve"), Choice("flush")


def daz_in(bench: Bench) -> Choice | None:
    """Say whether subnormal operands are read as zeros, or ``None`` where no output could show it."""
    if not bench.product:
        return _read_in_sum(bench)
    answers = [_read_in_product(bench, side) for side in (0, 1)]
    if FLUSH in answers:
        return FLUSH
    return PRESERVE if answers == [PRESERVE, PRESERVE] else None


def _read_in_product(bench: Bench, side: int) -> Choice | None:
    """Multiply a subnormal of one operand by a large power of two of the other."""
    fmt, other = bench.formats[side], bench.formats[1 - side]
    # half the smallest normal number has one significant bit, which any cast of the same range keeps
    small, large = float(fmt.minnormal) / 2, 2.0 ** min(other.emax, bench.output.emax - fmt.emin)
    if not bench.output.minnormal <= small * large <= bench.output.maxfinite:
        return None
    pair = (small, large) if side == 0 else (large, small)
    return _named(bench.product_of(*pair), kept=small * large, flushed=0.0)


def _read_in_sum(bench: Bench) -> Choice | None:
    """Add half the smallest normal number to it: the sum is normal, whatever results are flushed."""
    fmt = bench.formats[0]
    if bench.output.emin > fmt.emin:
        return None
    normal = float(fmt.minnormal)
    result = bench.sums(np.array([[normal, normal / 2]]))
    if result is None:
        return None
    answer = _named(float(result[0]), kept=1.5 * normal, flushed=normal)
    # adding a zero to the subnormal first is an addition whose result may be flushed
    return None if answer == FLUSH and ftz_out(bench) == FLUSH else answer


def _named(result: float | None, *, kept: float, flushed: float) -> Choice | None:
    if result == kept:
        return PRESERVE
    return FLUSH if result == flushed else None


def ftz_out(bench: Bench) -> Choice | None:
    """Say whether subnormal results become zero, or ``None`` where normal operands give none."""
    target = float(bench.output.minnormal) / 2
    terms = _terms_for(bench, target)
    if terms is None:
        return None
    result = bench.sums(terms)
    answer = None if result is None else _named(float(result[0]), kept=target, flushed=0.0)
    # an accumulator in f16 loses the result before anything is flushed
    short = answer == FLUSH and bench.output.emin < F16.emin and accumulator(bench) == Choice("f16")
    return None if short else answer


def _terms_for(bench: Bench, target: float) -> Doubles | None:
    """Write half the smallest normal result as a sum of terms made of normal operands."""
    low = 2.0 ** bench.exponents[0]
    if target >= low:
        return np.array([[target]])
    if 2 * target == low and bench.formats[0].precision > 1:
        return np.array([[1.5 * low, -low]])
    return None
