"""Strata with one product an output: identities and subnormals.

A sum with a single non-zero term is exact in any order, and a product by a power of two is exact
while it stays in range; so nothing but a cast, a flush or a wrong index can change such a result.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from kernelcontracts.strata.errors import NotApplicable
from kernelcontracts.strata.problem import (
    Span,
    ceiling,
    floor_log2,
    minnormal,
    powers,
    significands,
    spread,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from kernelcontracts.formats.facts import Format
    from kernelcontracts.strata.bits import Floats, Integers
    from kernelcontracts.strata.problem import Factors, Problem

    Filling: TypeAlias = Callable[[Problem], Factors]

# exponents of `identity` reach this far, where formats allow; beyond, a product of both would tell
# nothing new
_WIDTH = 20

# Subnormal strata use significands that every accumulator of the language holds (bf16 has 8 bits).
_SHORT = 8


def identity(problem: Problem, *, right: bool) -> Factors:
    """Draw one factor with full significands, and let the other one select its entries.

    The tested factor has odd significands of all the bits of its format, random signs and
    exponents; the other has a single power of two of either sign a line. Each result is an entry of
    the tested factor, scaled: exact in any accumulator as wide as that operand, and rounded once if
    the output is narrower. It proves that this operand is not cast, that the result is not cast
    beyond the output, and that indices, transposition and tiles are right. A plain sum has one
    non-zero element a row.
    """
    if right:
        left, other = identity(problem.swapped(), right=False)
        assert other is not None
        return np.swapaxes(other, 1, 2), np.swapaxes(left, 1, 2)
    dense = significands(problem.lhs, problem.lhs.precision)
    pick = Span(0, 0) if problem.rhs is None else powers(problem.rhs)
    # a significand is below two: one binade less at the top
    room = Span(floor_log2(minnormal(problem.out)), floor_log2(ceiling(problem.out)) - 1)
    dense, pick = spread(problem, dense, pick, room, width=_WIDTH)
    values = _odd_values(problem, dense)
    if problem.rhs is None:
        return values * _selection(problem, problem.batch, problem.rows), None
    return values, _selected(problem, pick)


def subnormal_in(problem: Problem) -> Factors:
    """Draw one factor of subnormal numbers whose products are normal numbers of the output.

    Significands have at most 8 bits and one product makes an output, so the result is exact in
    every accumulator with the exponents of binary32; a kernel that reads subnormal inputs as zero
    returns zeros. A quarter of the other rows holds normal numbers, which must survive either way.
    A plain sum adds subnormals to the smallest normal number, eight bits in all.
    """
    if problem.rhs is None:
        return _subnormal_terms(problem), None
    if problem.words.integer("subnormal side", 0, 1):
        return _first_possible(_right_subnormals, _subnormal_factor, problem)
    return _first_possible(_subnormal_factor, _right_subnormals, problem)


def _first_possible(wanted: Filling, other: Filling, problem: Problem) -> Factors:
    """Fill one factor with subnormals, or the other where the formats allow only that."""
    try:
        return wanted(problem)
    except NotApplicable:
        return other(problem)


def _right_subnormals(problem: Problem) -> Factors:
    left, right = _subnormal_factor(problem.swapped())
    return np.swapaxes(right, 1, 2), np.swapaxes(left, 1, 2)


def subnormal_out(problem: Problem) -> Factors:
    """Draw normal numbers whose exact result is a subnormal number of the output, never zero.

    Products are single, sums are differences of two close normal numbers. Results are multiples of
    ``2**-7`` of the smallest normal number where the output has such, so that an accumulator of 8
    bits holds them too. A kernel that flushes subnormal results returns zeros only.
    """
    if problem.rhs is None:
        return _close_pairs(problem), None
    normal, finest = floor_log2(problem.out.minnormal), _finest(problem.out)
    bits = min(normal - finest, problem.lhs.precision)
    # a leading bit at e and a power 2**j give multiples of 2**(e + j - bits + 1), below 2**(e + j +
    # 1)
    room = Span(finest + bits - 1, normal - 1)
    dense, pick = significands(problem.lhs, bits), powers(problem.rhs)
    both = (dense + pick) & room
    if not both:
        raise NotApplicable(f"no product of normal {problem.names()} is subnormal in {problem.out.name}")
    centre = (both.low + both.high) // 2
    dense, pick = _around(dense, pick, room, dense.clamp(centre - pick.clamp(centre // 2)))
    return _values(problem, dense, bits), _selected(problem, pick)


def _around(left: Span, right: Span, room: Span, middle: int) -> tuple[Span, Span]:
    """Return a few binades of ``left`` about ``middle``, and what ``right`` may hold beside them."""
    for near in (left & Span(middle - 1, middle + 1), Span(middle, middle)):
        beside = right & Span(room.low - near.low, room.high - near.high)
        if beside:
            break
    return near, beside


def _close_pairs(problem: Problem) -> Floats:
    source, rows = problem.lhs, problem.batch * problem.rows
    words, bits = problem.words, min(source.precision, _SHORT)
    normal = floor_log2(problem.out.minnormal)
    unit = max(_finest(problem.out), floor_log2(source.minnormal) - bits + 1)
    if unit >= normal:
        raise NotApplicable(f"no difference of normal {source.name} numbers is subnormal in {problem.out.name}")
    if problem.reduced == 1:
        return _single_subnormals(problem)
    low, top = 2 ** (bits - 1), 2**bits - 1
    gap = words.integers("gap", 1, min(2 ** (normal - unit) - 1, top - low), (rows,))
    small = low + words.below("small", top - low + 1 - gap)
    pair = np.stack([small, -(small + gap)], axis=1) * words.signs("pair sign", (rows, 1))
    return _scatter(problem, np.ldexp(pair, unit))


def _single_subnormals(problem: Problem) -> Floats:
    """Return single terms: normal numbers of a wider range than the output's."""
    normal, finest = floor_log2(problem.out.minnormal), _finest(problem.out)
    bits = min(normal - finest, problem.lhs.precision)
    dense = significands(problem.lhs, bits) & Span(finest + bits - 1, normal - 1)
    if not dense:
        raise NotApplicable(f"a single normal {problem.lhs.name} number is never subnormal in {problem.out.name}")
    return _values(problem, dense, bits)


def _subnormal_factor(problem: Problem) -> tuple[Floats, Floats]:
    source = problem.lhs
    assert problem.rhs is not None
    words, pick = problem.words, powers(problem.rhs)
    normal = floor_log2(source.minnormal)
    need, most = floor_log2(minnormal(problem.out)), floor_log2(ceiling(problem.out))
    # the smallest subnormal that the largest power of two still lifts into the normal range of the
    # output
    unit = max(floor_log2(source.minsub), need - pick.high)
    if unit >= normal:
        raise NotApplicable(f"no product of a subnormal {source.name} number is normal in {problem.out.name}")
    # normal entries, for contrast, are below 2**(normal + 1)
    pick &= Span(need - unit, most - normal - 1)
    if not pick:
        raise NotApplicable(f"products of subnormal {problem.names()} numbers do not fit {problem.out.name}")
    shape = (problem.batch, problem.rows, problem.reduced)
    depth = normal - unit
    bits = min(depth, _SHORT)
    small = words.integers("subnormal", 1, 2**bits - 1, shape)
    small <<= words.integers("subnormal shift", 0, depth - bits, shape)
    lead = min(source.precision, _SHORT) - 1
    large = words.integers("normal", 2**lead, 2 ** (lead + 1) - 1, shape)
    contrast = words.integers("contrast", 0, 3, shape) == 0
    # the first row stays subnormal: some result must show a flush
    contrast[:, 0, :] = False
    values = np.where(contrast, np.ldexp(large, normal - lead), np.ldexp(small, unit))
    return values * words.signs("sign", shape), _selected(problem, pick)


def _subnormal_terms(problem: Problem) -> Floats:
    source, words, rows = problem.lhs, problem.words, problem.batch * problem.rows
    normal = floor_log2(source.minnormal)
    depth = min(normal - floor_log2(source.minsub), _SHORT - 1)
    unit = normal - depth
    # where the smallest of them is normal in the output, subnormals may stand alone
    alone = problem.out.minnormal <= source.minsub
    if not alone and (problem.out.minnormal > source.minnormal or problem.reduced == 1):
        raise NotApplicable(
            f"no sum of {problem.reduced} with a subnormal {source.name} number is normal in {problem.out.name}"
        )
    spare = problem.reduced if alone else problem.reduced - 1
    count = words.integer("count", 1, min(spare, 2**depth - 1, 16))
    small = words.integers("subnormal", 1, (2**depth - 1) // count, (rows, count))
    if not alone:
        small = np.concatenate([np.full((rows, 1), 2**depth), small], axis=1)
    return _scatter(problem, np.ldexp(small * words.signs("sign", (rows, 1)), unit))


def _finest(out: Format) -> int:
    """Return the exponent of the finest unit of subnormal results: seven bits below normal, or what there is."""
    return max(floor_log2(out.minsub), floor_log2(out.minnormal) - _SHORT + 1)


def _odd_values(problem: Problem, leading: Span) -> Floats:
    return _values(problem, leading, problem.lhs.precision, odd=1)


def _values(problem: Problem, leading: Span, bits: int, *, odd: int = 0) -> Floats:
    """Draw significands of ``bits`` bits with leading bits in a range of exponents, and random signs."""
    words, shape = problem.words, (problem.batch, problem.rows, problem.reduced)
    low = 2 ** (bits - 1)
    values = words.integers("significand", low, 2 * low - 1, shape) | odd
    exponents = words.integers("exponent", leading.low, leading.high, shape) - (bits - 1)
    return np.ldexp(values * words.signs("sign", shape), exponents)


def _selected(problem: Problem, pick: Span) -> Floats:
    """Draw a right factor with one power of two of either sign a column."""
    words, shape = problem.words, (problem.batch, 1, problem.columns)
    scale = np.ldexp(words.signs("pick sign", shape), words.integers("pick", pick.low, pick.high, shape))
    return np.swapaxes(_selection(problem, problem.batch, problem.columns), 1, 2) * scale


def _selection(problem: Problem, batch: int, lines: int) -> Floats:
    """Return (batch, lines, reduced) zeros with a one a line; every index is met before any is met again."""
    rounds = -(-lines // problem.reduced)
    order = problem.words.permutations("selection", batch * rounds, problem.reduced)
    chosen: Integers = order.reshape(batch, -1)[:, :lines, None]
    marks = np.zeros((batch, lines, problem.reduced))
    np.put_along_axis(marks, chosen, 1.0, axis=2)
    return marks


def _scatter(problem: Problem, terms: Floats) -> Floats:
    """Put the (rows, count) terms at random reduced indices, zeros elsewhere."""
    rows, count = terms.shape
    place = problem.words.distinct("places", rows, problem.reduced, count)
    result = np.zeros((rows, problem.reduced))
    np.put_along_axis(result, place, terms, axis=1)
    return result.reshape(problem.batch, problem.rows, problem.reduced)
