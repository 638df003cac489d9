"""Generators that fill one tensor on its own: distributions, grids, rows with a known maximum, indices, bit patterns.

Values come as binary64 numbers (integers for integer generators) and are rounded to the tensor's
format by the caller, to nearest even; those of the exact generators are left as they are.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from kernelcontracts.formats.arrays import dtype_of, from_bits, to_f64
from kernelcontracts.strata.errors import NotApplicable, StratumError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kernelcontracts.formats.arrays import AnyArray
    from kernelcontracts.strata.bits import Floats, Integers, Shape, Words


def uniform(words: Words, shape: Shape, low: Fraction, high: Fraction) -> Floats:
    """Draw numbers uniform on ``[low, high]``: ``low + (high - low) u`` with ``u`` a multiple of ``2**-53``.

    Two binary64 roundings (of the product and of the sum) stand between that formula and the
    result, and the caller's rounding to the format; either may reach ``high`` itself.
    """
    if low > high:
        raise StratumError(f"`uniform({low}, {high})` has its bounds the wrong way round")
    values = float(low) + float(high - low) * words.uniform("uniform", shape)
    return np.clip(values, float(low), float(high))


def normal(words: Words, shape: Shape, mean: Fraction, deviation: Fraction) -> Floats:
    """Draw ``mean + deviation z``, ``z`` the sum of twelve uniforms of ``Words.normal``: within six deviations."""
    if deviation < 0:
        raise StratumError(f"`normal` has a negative deviation `{deviation}`")
    return float(mean) + float(deviation) * words.normal("normal", shape)


def lognormal(words: Words, shape: Shape) -> Floats:
    """Draw magnitudes with random signs: half of the rows normal, the others spread over a few binades.

    The signs are fair and independent of everything else, which is what the bound on random signs
    needs: partial sums of any tree are then sub-Gaussian whatever the kernel's rounding errors
    (Hoeffding). The spread magnitudes are ``(1 + u) 2**t`` with ``t + 2`` binomial over four
    tosses, so no magnitude reaches 8.
    """
    narrow = np.abs(words.normal("magnitude", shape))
    tosses = words.raw("binade", shape) >> np.uint64(60)
    binade = np.bitwise_count(tosses).astype(np.int64) - 2
    spread = np.ldexp(1.0 + words.uniform("fraction", shape), binade)
    lines = (np.arange(shape[-2] if len(shape) > 1 else 1) % 2 == 0)[:, None]
    chosen = np.where(lines if len(shape) > 1 else lines[0], narrow, spread)
    return chosen * words.signs("sign", shape)


def to_grid(values: Floats, step: Fraction) -> Floats:
    """Round to the nearest multiple of a power of two, ties to even: exact apart from that one rounding.

    Rounding such a multiple to a format of few bits gives a multiple again, so a tensor stays on
    its grid.
    """
    exponent = step.numerator.bit_length() - step.denominator.bit_length()
    if step <= 0 or step != Fraction(2) ** exponent:
        raise StratumError(f"grid step `{step}` is not a power of two: rounding to a format would leave the grid")
    return np.ldexp(np.rint(np.ldexp(values, -exponent)), exponent)


def one_hot(words: Words, shape: Shape, low: Fraction, high: Fraction) -> Floats:
    """Fill rows (the last dimension) with ``low``, and one random entry of each with ``high``."""
    rows, length = _rows(shape)
    result = np.full((rows, length), float(low))
    if length:
        np.put_along_axis(result, words.distinct("hot", rows, length, 1), float(high), axis=1)
    return result.reshape(shape)


def equal_maxima(words: Words, shape: Shape, rest: Fraction) -> Floats:
    """Fill rows with ``rest`` and a power of two of zeros: the softmax of a row is then ``1 / 2**q`` or next to 0.

    The number of zeros differs between rows, up to the whole row. On every other row they stand at
    the end, where a narrow running sum has the most to lose.
    """
    rows, length = _rows(shape)
    result = np.full((rows, length), float(rest))
    if length == 0:
        return result.reshape(shape)
    counts = 2 ** words.integers("count", 0, length.bit_length() - 1, (rows, 1))
    order = words.permutations("places", rows, length)
    last = np.arange(length - 1, -1, -1)[None, :]
    rank = np.where((np.arange(rows) % 2 == 0)[:, None], order, last)
    result[rank < counts] = 0.0
    return result.reshape(shape)


def integers(words: Words, shape: Shape, low: int, high: int) -> Integers:
    """Draw integers uniform on the closed range ``[low, high]``."""
    if low > high:
        raise NotApplicable(f"no integers lie between {low} and {high}")
    if not -(2**62) <= low <= high < 2**61:
        raise StratumError(f"`integers({low}, {high})` does not fit 62 bits")
    return words.integers("integers", low, high, shape)


def inject(words: Words, values: AnyArray, extra: Sequence[AnyArray]) -> AnyArray:
    """Write every extra value at one or more random places, different ones for each.

    A sixteenth of the tensor, rounded down, is spread over the values on top of their first places.
    A tensor with fewer entries than values gets as many of them as fit, chosen at random.
    """
    flat = values.reshape(-1).copy()
    if flat.size == 0 or not extra:
        return flat.reshape(values.shape)
    first = min(len(extra), flat.size)
    total = min(flat.size, first + flat.size // 16)
    places = words.permutations("places", 1, flat.size)[0][:total]
    which = words.permutations("values", 1, len(extra))[0]
    again = words.integers("again", 0, len(extra) - 1, (total - first,))
    flat[places] = np.array(extra)[np.concatenate([which[:first], again])]
    return flat.reshape(values.shape)


def bit_patterns(words: Words, shape: Shape, format_name: str) -> AnyArray:
    """Draw finite bit patterns, each equally likely: subnormals, both zeros and the largest numbers among them.

    Patterns of infinities and NaN are drawn again. Where there is room for it the first entry in a
    random order is a negative zero and the second the smallest subnormal, which wide formats would
    never meet otherwise.
    """
    if format_name == "i64":
        raise StratumError("`bit_patterns` is for floating-point tensors: use `integers`")
    width = 8 * dtype_of(format_name).itemsize
    size = int(np.prod(shape, dtype=np.int64))
    patterns = np.zeros(size, dtype=np.uint64)
    pending, turn = np.arange(size), 0
    while pending.size:
        fresh = words.raw(f"pattern#{turn}", (pending.size,)) >> np.uint64(64 - width)
        patterns[pending] = fresh
        finite = np.isfinite(to_f64(from_bits(fresh, format_name)))
        pending, turn = pending[~finite], turn + 1
    corners = [1 << (width - 1), 1]
    if size > len(corners):
        patterns[words.distinct("corners", 1, size, len(corners))[0]] = corners
    return from_bits(patterns, format_name).reshape(shape)


def _rows(shape: Shape) -> tuple[int, int]:
    if not shape:
        return 1, 1
    return int(np.prod(shape[:-1], dtype=np.int64)), shape[-1]
