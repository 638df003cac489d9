"""Measuring an accumulator: how many bits it keeps, how it rounds, and what was done to its operands.

Every probe is a sum of a few powers of two whose exact value any format holds. They do not depend on the order of
summation: roles are rotated among three places, so that whichever two meet first, every role is met first once.
The probes are those of Fasi, Higham, Mikaitis and Pranesh 2021 (numerical behavior of tensor cores), made free of
the order.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from kernelcontracts.lang.values import Choice

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kernelcontracts.diagnose.failure import Array, Doubles
    from kernelcontracts.diagnose.sums import Bench

UNIT = -14
"""Exponent of the smallest result a probe looks for: the smallest normal number of f16, normal in every output."""

WIDE = 25
"""An accumulator that keeps this many bits keeps more than f32's 24, and of the known formats only f64 does."""

NAMES = {24: "f32", 8: "bf16"}
"""Formats by precision. Eleven bits are tf32 or f16, which differ in range."""

F16_RANGE = 17
"""2^17 is beyond f16's largest number 65504 and far inside the range of tf32."""


def unit(bench: Bench) -> int:
    """Return the exponent of the smallest term used: normal as an output, and made of normal operands."""
    return max(UNIT, bench.exponents[0], bench.output.emin)


def reach(bench: Bench) -> int:
    """Return how far above the unit a term may lie."""
    return min(bench.exponents[1] - unit(bench), 60)


def triples(length: int) -> list[tuple[int, int, int]]:
    """Return places for three terms: at the start, at the end, and far apart.

    Neighbours share a block, distant terms meet where partial results are joined: the two may differ in format.
    """
    last = max(length, 3) - 1
    return sorted({(0, 1, 2), (last - 2, last - 1, last), (0, max(last // 2, 1), last)})


def rotations(roles: Sequence[float], length: int) -> tuple[Doubles, Array]:
    """Return every rotation of three roles over every triple of places: terms and positions, shape (n, 3)."""
    turned = [np.roll(roles, k) for k in range(3)]
    places = triples(length)
    terms = np.array([turn for _ in places for turn in turned], np.float64)
    positions = np.array([place for place in places for _ in turned], np.intp)
    return terms, positions


def bits_kept(bench: Bench) -> int | None:
    """Return the precision of the accumulator: the smallest e at which 2^e + 1 loses its 1.

    Returns ``reach + 1`` if nothing is lost as far as terms go, ``None`` if calls fail.

    With p bits 2^e + 1 is exact for e < p, and 2^p + 1 is a tie that goes to 2^p when rounding to nearest even
    and when truncating.
    """
    if "bits" not in bench.measured:
        bench.measured["bits"] = _search(bench)
    return bench.measured["bits"]


def _search(bench: Bench) -> int | None:
    low, high = 1, reach(bench) + 1
    # 2 + 1 has two bits: what loses that much is no accumulator
    if high < 2 or _loses(bench, low) is not False:
        return None
    while high - low > 1:
        middle = (low + high) // 2
        lost = _loses(bench, middle)
        if lost is None:
            return None
        low, high = (low, middle) if lost else (middle, high)
    return high


def _loses(bench: Bench, exponent: int) -> bool | None:
    base = 2.0 ** unit(bench)
    big = base * 2.0**exponent
    results = []
    for sign in (1.0, -1.0):
        terms, positions = rotations((sign * big, base, -sign * big), bench.length)
        results.append(bench.sums(terms, positions=positions))
    if any(r is None for r in results):
        return None
    return any(bool((r != base).any()) for r in results if r is not None)


def accumulator(bench: Bench) -> Choice | None:
    """Name the accumulator, or give it as a record if its width is that of no format."""
    precision = bits_kept(bench)
    if precision is None:
        return None
    if precision > reach(bench):
        return Choice("f64") if precision >= WIDE else None
    if precision in NAMES:
        return Choice(NAMES[precision])
    if precision == 11:
        return _eleven_bits(bench)
    if precision >= WIDE:
        return Choice("f64") if precision == 53 else None
    return Choice("f32", (), (("width", precision - 1),)) if precision > 1 else None


def _eleven_bits(bench: Bench) -> Choice | None:
    """Tell f16 from tf32 by partial sums beyond 65504, which f16 makes infinite, or its largest number."""
    if bench.exponents[1] >= F16_RANGE:
        big = 2.0**F16_RANGE
        terms, positions = rotations((big, -big / 2, -big / 2), bench.length)
        result = bench.sums(terms, positions=positions)
    else:
        half, big = bench.length // 2, 2.0 ** bench.exponents[1]
        if half * big < 2.0**F16_RANGE / 2:
            return None
        result = bench.sums(np.repeat([[big, -big]], half, axis=1))
    if result is None:
        return None
    return Choice("tf32") if (result == 0).all() else Choice("f16")


def acc_rounding(bench: Bench) -> Choice | None:
    """Tell rounding to nearest from truncation, or return ``None`` if it is neither.

    1 + 3/4 ulp rounds to 1 + ulp to nearest and to 1 towards zero. With -1 added the result is zero in the latter
    case alone: of the other meetings, -1 + 3/4 ulp is at most 1 - ulp/2 in magnitude in every direction.
    Truncation does so for both signs; a rounding down, or up, for one.
    """
    precision = bits_kept(bench)
    if precision is None or precision > reach(bench) - 3:
        return None
    # 3/4 ulp is 3 * 2^unit, so ulp = 2^(unit + 2) and one is 2^(precision - 1) of it
    small = 3 * 2.0 ** unit(bench)
    one = 2.0 ** (unit(bench) + 2 + precision - 1)
    vanished = []
    for sign in (1.0, -1.0):
        terms, positions = rotations((sign * one, sign * small, -sign * one), bench.length)
        result = bench.sums(terms, positions=positions)
        if result is None or not np.isfinite(result).all():
            return None
        vanished.append(bool((result == 0).any()))
    if vanished[0] != vanished[1]:
        return None
    return Choice("rz") if vanished[0] else Choice("rne")


def operand_rounding(bench: Bench) -> Choice | None:
    """Say what is done to operands before the first operation, or ``None`` if nothing known fits.

    1 + 2^-j is an operand of j + 1 bits; with -1 added, 2^-j is left if the operand kept them.
    """
    sides = [False, True] if bench.product else [False]
    kept = [_operand_bits(bench, fmt.precision, second=side) for fmt, side in zip(bench.formats, sides, strict=True)]
    given = [fmt.precision for fmt in bench.formats]
    known = [k for k in kept if k is not None]
    precision = bits_kept(bench)
    if len(known) < len(kept) or precision is None:
        return None
    short = [k for k, g in zip(known, given, strict=True) if k < min(g, precision)]
    if not short:
        return Choice("as_given")
    if min(short) == 8:
        return Choice("to", ("bf16",))
    return _eleven_bit_operands(bench) if min(short) == 11 else None


def _operand_bits(bench: Bench, precision: int, *, second: bool) -> int | None:
    """Return how many bits an operand keeps, at most the precision of its format."""
    top = min(unit(bench) + precision, bench.exponents[1])
    depths = np.arange(1, min(precision, top - unit(bench) + 1))
    one = 2.0**top
    terms = np.stack([one * (1 + 2.0**-depths), np.full(len(depths), -one)], axis=1)
    result = bench.sums(terms, second=second)
    if result is None:
        return None
    lost = np.flatnonzero(result != one * 2.0**-depths)
    return int(depths[lost[0]]) if len(lost) else precision


def _eleven_bit_operands(bench: Bench) -> Choice | None:
    """Tell a cast to f16 from one to tf32: 2^17 is infinite in f16."""
    big = 2.0**F16_RANGE
    if bench.formats[0].emax < F16_RANGE:
        return Choice("to", ("tf32",))
    row = np.array([[big * 2.0**F16_RANGE, -big * 2.0**F16_RANGE]]) if bench.product else np.array([[big, -big]])
    result = bench.sums(row)
    if result is None:
        return None
    return Choice("to", ("tf32",)) if np.isfinite(result).all() else Choice("to", ("f16",))
