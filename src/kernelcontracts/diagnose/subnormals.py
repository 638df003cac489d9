"""Whether subnormal numbers survive on the way in and on the way out."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

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
    """Multiply the smallest subnormal of one operand by the largest power of two of the other."""
    fmt, other = bench.formats[side], bench.formats[1 - side]
    small, large = float(fmt.minsub), 2.0**other.emax
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
    return None if result is None else _named(float(result[0]), kept=1.5 * normal, flushed=normal)


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
    return None if result is None else _named(float(result[0]), kept=target, flushed=0.0)


def _terms_for(bench: Bench, target: float) -> Doubles | None:
    """Write half the smallest normal result as a sum of terms made of normal operands."""
    low = 2.0 ** bench.exponents[0]
    if target >= low:
        return np.array([[target]])
    if 2 * target == low and bench.formats[0].precision > 1:
        return np.array([[1.5 * low, -low]])
    return None
