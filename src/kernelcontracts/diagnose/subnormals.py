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
        return _read(bench, _just_above_normal(bench))
    answers = [_read(bench, _scaled_up(bench, side=side), second=bool(side)) for side in (0, 1)]
    if FLUSH in answers:
        return FLUSH
    return PRESERVE if answers == [PRESERVE, PRESERVE] else None


def _scaled_up(bench: Bench, *, side: int) -> tuple[Doubles, float] | None:
    """Return one term: the smallest subnormal of an operand times the largest power of two of the other."""
    fmt, other = bench.formats[side], bench.formats[1 - side]
    exponent = fmt.lsb_min + other.emax
    if not bench.output.emin <= exponent <= bench.output.emax:
        exponent = min(max(exponent, bench.output.emin), 0)
    if exponent - fmt.lsb_min > other.emax or exponent - fmt.lsb_min < other.lsb_min:
        return None
    return np.array([[2.0**exponent]]), 2.0**exponent


def _just_above_normal(bench: Bench) -> tuple[Doubles, float] | None:
    """Return two terms, one subnormal, whose sum is a normal number with a last bit from the subnormal."""
    fmt, out = bench.formats[0], bench.output
    if out.emin > fmt.emin or out.precision < fmt.precision:
        return None
    normal, subnormal = float(fmt.minnormal), float(fmt.minsub)
    return np.array([[normal, subnormal]]), normal + subnormal


def _read(
    bench: Bench, probe: tuple[Doubles, float] | None, *, second: bool = False
) -> Choice | None:
    if probe is None:
        return None
    terms, expected = probe
    result = bench.sums(terms, second=second)
    if result is None:
        return None
    if result[0] == expected:
        return PRESERVE
    return FLUSH if abs(result[0]) < expected else None


def ftz_out(bench: Bench) -> Choice | None:
    """Say whether subnormal results become zero, or ``None`` where normal operands give none."""
    target = float(bench.output.minnormal) / 2
    terms = _terms_for(bench, target)
    if terms is None:
        return None
    result = bench.sums(terms)
    if result is None:
        return None
    if result[0] == target:
        return PRESERVE
    return FLUSH if result[0] == 0 else None


def _terms_for(bench: Bench, target: float) -> Doubles | None:
    """Write half the smallest normal result as a sum of terms made of normal operands."""
    low = 2.0 ** bench.exponents[0]
    if target >= low:
        return np.array([[target]])
    if 2 * target == low and bench.formats[0].precision > 1:
        return np.array([[1.5 * low, -low]])
    return None
