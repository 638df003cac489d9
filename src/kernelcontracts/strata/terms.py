"""Strata with a few terms a row, far apart: ladders and rounding cases.

A row is described by its terms, integers times powers of two. In a product the left factor carries
them, and the right factor is a power of two at every entry: one for all indices if the left format
spans the row's exponents, two (for large and for small terms) if it does not.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from kernelcontracts.strata.errors import NotApplicable
from kernelcontracts.strata.problem import ceiling, floor_log2, powers, units

if TYPE_CHECKING:
    from kernelcontracts.formats.facts import Format
    from kernelcontracts.strata.bits import Integers, Words
    from kernelcontracts.strata.problem import Factors, Problem

# the significand of binary32, within which `ties` and `sticky` stay
_BITS = 24

# accumulators whose rounding `two_terms` makes visible: binary32; tf32 and binary16; bf16
_WIDTHS = (24, 11, 8)

_LADDER = 30


@dataclass(frozen=True, slots=True)
class _Rows:
    """Terms ``n * 2**s``: the first ``large`` of each row are large, the others small.

    Arrays have shape (rows, terms); ``top`` bounds every ``|n|`` and ``least`` every non-zero row
    sum from below.
    """

    n: Integers
    s: Integers
    large: int
    top: int
    least: int = 1


def ties(problem: Problem) -> Factors:
    """Draw two terms whose sum lies exactly half-way between neighbours of the output.

    Exact in ``precision(out) + 1`` bits, so the only rounding is that of the output: to nearest,
    ties to even, for numbers of either parity and sign. One term does where one element holds the
    sum and a row has a single one.
    """
    return _fill(problem, _tie_rows(problem, 0))


def sticky(problem: Problem) -> Factors:
    """Draw half-way cases plus or minus one more term of ``2**-k``, k up to what 24 bits leave.

    A right kernel keeps the last bit until the output is rounded; one that drops low bits first, or
    rounds twice, rounds the half-way case instead.
    """
    limit = _BITS - 1 - problem.out.precision
    return _fill(problem, _tie_rows(problem, limit))


def two_terms(problem: Problem) -> Factors:
    """Draw two terms whose sum is one of ``p`` bits and a fraction close to one unit in its last place.

    With ``p`` one of 24, 11 and 8 a row. Rounding to nearest errs by the small rest, truncating by
    nearly a whole unit; results of both signs, with the fraction added and taken away. Not exact in
    ``p`` bits: the stratum tells rounding modes apart.
    """
    if problem.reduced < 2:
        raise NotApplicable("two terms are needed")
    return _fill(problem, _two_rows(problem))


def ladder(problem: Problem) -> Factors:
    """Draw ``2**e``, one and ``-2**e`` at random places, e from 1 to 30 over the rows.

    The result is one unit. An accumulator of ``p`` bits returns it in every order while ``e <= p -
    1`` (``sum |a||b| = 2**(e+1) + 1`` but the two large terms never meet with one sign), and loses
    it in some order beyond; so the rows that fail measure its width.
    """
    if problem.reduced < 2:
        raise NotApplicable("a rung and its opposite are needed")
    words, rows = problem.words, problem.batch * problem.rows
    near, far = reach(problem, 1)
    # the unit must stay normal and 2**(e+1) + 1 within the headroom, with the finest unit there is
    room = (problem.budget(_LADDER + 2) - 1).bit_length() - 2
    if problem.reduced == 2:  # the unit is part of a large term: 2**e - (2**e - 1)
        top = min(_LADDER, room, near, problem.lhs.precision)
        rung = _cycle(words, rows, top)
        return _fill(problem, _Rows(np.stack([2**rung, 1 - 2**rung], axis=1), _zeros(rows, 2), 1, 2**top))
    rung = _cycle(words, rows, min(_LADDER, room, near + far))
    ones = np.ones_like(rung)
    shift = np.stack([rung, rung, 0 * rung], axis=1)
    return _fill(problem, _Rows(np.stack([ones, -ones, ones], axis=1), shift, 2, 1))


def _tie_rows(problem: Problem, sticky_bits: int) -> _Rows:
    """Return half-way cases, with ``2**-k`` below the half where ``sticky_bits >= k >= 1``.

    In units of the last term a row is ``a 2**(h + k) + c 2**k + 1`` with signs: ``a`` has w bits
    and is not a power of two, ``h + w`` is one more than the output's precision q, and c is odd and
    below ``2**h``. The first two sum to an odd multiple of ``2**k`` in ``[2**(q+k), 2**(q+k+1))``:
    an odd number of half-units.
    """
    out, source = problem.out.precision, problem.lhs
    if out >= _BITS:
        raise NotApplicable(f"{problem.out.name} is no narrower than the accumulators it is rounded from")
    bits = min(source.precision, out)
    shift = out + 1 - bits
    near, far = reach(problem, 2**bits - 1)
    deep = min(sticky_bits, near, near + far - shift)
    if shift > near + far or deep < min(sticky_bits, 1):
        raise NotApplicable(f"{problem.names()} do not reach a half-way case of {problem.out.name}")
    needed = 2 if sticky_bits == 0 else 3
    if problem.reduced < needed:
        return _merged_ties(problem, sticky_bits)
    words, rows = problem.words, problem.batch * problem.rows
    low = 2 ** (bits - 1)
    lead = words.integers("lead", low + 1, 2 * low - 1, (rows,))
    half = words.integers("half", 0, 2 ** (min(source.precision, shift) - 1) - 1, (rows,)) * 2 + 1
    half = half * words.signs("half sign", (rows,)).astype(np.int64)
    tail = words.signs("tail sign", (rows,)).astype(np.int64)
    depth = words.integers("depth", min(sticky_bits, 1), deep, (rows,))
    n = np.stack([lead, half, tail], axis=1)[:, :needed]
    s = np.stack([depth + shift, depth, 0 * depth], axis=1)[:, :needed]
    return _Rows(_signed(words, n), s, 1, 2**bits - 1, 2**out)


def _merged_ties(problem: Problem, sticky_bits: int) -> _Rows:
    """Return the same sums for rows too short for their terms: the last terms are added beforehand."""
    out, source = problem.out.precision, problem.lhs.precision
    words, rows = problem.words, problem.batch * problem.rows
    single = problem.reduced == 1
    # the merged element holds q + 1 bits above the half-unit's place if it is alone, one if it is
    # not
    near, far = reach(problem, 2 ** min(source, out) - 1)
    room = near if single else near + far - (out + 1 - min(source, out))
    spare = min(sticky_bits, room, source - (out + 1 if single else 1))
    if spare < min(sticky_bits, 1):
        raise NotApplicable(
            f"a row of {problem.reduced} {problem.lhs.name} elements cannot hold a half-way case of {problem.out.name}"
        )
    depth = words.integers("depth", min(sticky_bits, 1), spare, (rows,))
    tail = words.signs("tail sign", (rows,)).astype(np.int64) * min(sticky_bits, 1)
    if single:
        odd = words.integers("odd", 2**out, 2 ** (out + 1) - 1, (rows,)) | 1
        n = ((odd << depth) + tail)[:, None]
        return _Rows(_signed(words, n), _zeros(rows, 1), 1, 2 ** (out + 1 + spare), 2**out)
    bits = min(source, out)
    low, shift = 2 ** (bits - 1), out + 1 - bits
    lead = words.integers("lead", low + 1, 2 * low - 1, (rows,))
    half = (1 << depth) * words.signs("half sign", (rows,)).astype(np.int64) + tail
    s = np.stack([depth + shift, 0 * depth], axis=1)
    top = max(2**bits, 2**spare + 1)
    return _Rows(_signed(words, np.stack([lead, half], axis=1)), s, 1, top, 2**out)


def _two_rows(problem: Problem) -> _Rows:
    """Return ``a 2**s`` plus ``2**j - 1``, or minus one, in units of ``2**-j`` of the last place of p bits."""
    words, rows = problem.words, problem.batch * problem.rows
    table = np.array(_two_options(problem), dtype=np.int64)
    width, fine = table[words.below("width", np.full((rows,), len(table), dtype=np.int64))].T
    bits = np.minimum(width, problem.lhs.precision)
    low = np.left_shift(np.int64(1), bits - 1)
    # not a power of two: taking a fraction away must not cross into a finer binade
    lead = low + 1 + words.below("lead", low - 1)
    part = np.where(words.flags("minus", (rows,)), -1, np.left_shift(np.int64(1), fine) - 1)
    n = _signed(words, np.stack([lead, part], axis=1))
    s = np.stack([width - bits + fine, 0 * fine], axis=1)
    top = 2 ** min(problem.lhs.precision, _BITS) - 1
    return _Rows(n, s, 1, top, int(np.min(np.left_shift(low, s[:, 0]))))


def _two_options(problem: Problem) -> list[tuple[int, int]]:
    """Return the pairs (p, j) that the formats' exponents allow, with the largest j up to 8 for each p."""
    source = problem.lhs.precision
    near, far = reach(problem, 2 ** min(source, _BITS) - 1)
    # a row is below 2**(p + j) units, and no unit is finer than the formats allow
    finest = units(problem.lhs, 1).low + problem.right_units(1).low
    room = floor_log2(ceiling(problem.out)) - finest
    found: list[tuple[int, int]] = []
    for width in _WIDTHS:
        base = width - min(source, width)
        fine = min(source, 8, near + far - base, room - width)
        if fine >= 2:
            found.append((width, fine))
    # all rows share the right factor, which must bring each of them within reach of the left format
    shifts = [width - min(source, width) + fine for width, fine in found]
    lift = max([0, *(shift - near for shift in shifts)])
    found = [pair for pair, shift in zip(found, shifts, strict=True) if lift - shift <= near]
    if not found:
        raise NotApplicable(f"{problem.names()} hold no two terms far enough apart")
    return found


def _fill(problem: Problem, rows: _Rows) -> Factors:
    """Write the terms of all rows into the factors."""
    near, far = reach(problem, rows.top)
    lift = max(0, int(np.max(rows.s)) - near)
    small = rows.n.shape[1] - rows.large
    if lift > far:
        raise NotApplicable(f"{problem.names()} hold no normal numbers 2^{lift + near} apart")
    shift = rows.s.copy()
    shift[:, : rows.large] -= lift
    base = shift.min(axis=1, keepdims=True)
    shift -= base
    places, columns = _two_classes(problem, rows.large, small)
    left = np.zeros((problem.batch * problem.rows, problem.reduced))
    np.put_along_axis(left, places, np.ldexp(rows.n.astype(np.float64), shift), axis=1)
    highest = int(np.max(shift))
    size = np.abs(rows.n).astype(object) * (2 ** (rows.s - base).astype(object))
    most, least = int(size.sum(axis=1).max()), rows.least
    unit_lhs, unit_rhs = problem.place(rows.top << highest, 2**lift, most, least)
    filled = np.ldexp(left, unit_lhs).reshape(problem.batch, problem.rows, problem.reduced)
    if problem.rhs is None:
        return filled, None
    signs = problem.words.signs("column sign", (problem.batch, 1, problem.columns))
    return filled, signs * np.ldexp(1.0, unit_rhs + lift * columns)


def _two_classes(problem: Problem, large: int, small: int) -> tuple[Integers, Integers]:
    """Split the reduced indices of every batch member in two, and give each row places in both.

    Returns
    -------
    places : shape (batch * rows, large + small)
    marks : shape (batch, reduced, 1), 1 at indices for large terms and 0 elsewhere
    """
    words, batch, rows = problem.words, problem.batch, problem.rows
    order = words.permutations("classes", batch, problem.reduced)
    cut = min(max(problem.reduced // 2, large), problem.reduced - small)
    marks = np.zeros((batch, problem.reduced, 1), dtype=np.int64)
    np.put_along_axis(marks, order[:, :cut, None], 1, axis=1)
    first = words.distinct("large places", batch * rows, cut, large)
    last = words.distinct("small places", batch * rows, problem.reduced - cut, small) + cut
    picks = np.concatenate([first, last], axis=1)
    return np.take_along_axis(np.repeat(order, rows, axis=0), picks, axis=1), marks


def reach(problem: Problem, top: int) -> tuple[int, int]:
    """Return how many binades the factors span: integers up to ``top`` on the left, powers on the right."""
    return _span(problem.lhs, top), 0 if problem.rhs is None else _span(problem.rhs, 1)


def _span(fmt: Format, top: int) -> int:
    room = powers(fmt) if top == 1 else units(fmt, top)
    return room.high - room.low


def _cycle(words: Words, rows: int, top: int) -> Integers:
    """Return rungs ``1 .. top`` over the rows, each met before any is met again, in random order."""
    if top < 1:
        raise NotApplicable("the formats leave no room for a rung")
    rounds = -(-rows // top)
    return words.permutations("rungs", rounds, top).reshape(-1)[:rows] + 1


def _signed(words: Words, n: Integers) -> Integers:
    return n * words.signs("row sign", (len(n), 1)).astype(np.int64)


def _zeros(rows: int, terms: int) -> Integers:
    return np.zeros((rows, terms), dtype=np.int64)
