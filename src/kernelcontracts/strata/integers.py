"""Strata of integers that fill the exact range of an accumulator.

All rest on one theorem (derived in ``docs/exact-battery.md``): where every product is a multiple of
``g`` and ``sum |a||b| <= 2**p * g``, an accumulator of ``p`` bits adds without error in any order,
so that a right kernel returns the exact result, rounded once to the output.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import isqrt
from typing import TYPE_CHECKING

import numpy as np

from kernelcontracts.strata.errors import NotApplicable
from kernelcontracts.strata.problem import spread, units

if TYPE_CHECKING:
    from kernelcontracts.strata.bits import Flags, Floats, Integers, Words
    from kernelcontracts.strata.problem import Factors, Problem

# the bits of binary32's significand: the widest accumulator that products of 16-bit formats usually
# get
_BITS = 24

# Sparser than this, `wide` keeps 12 bits an operand, one more than tf32 and binary16 hold.
_WIDE_TERMS = 2 ** (_BITS - 12)

# a sum of half a million pairs leaves `cancel` two bits for each factor; more pairs would leave
# none
_CANCEL_PAIRS = 2**19


@dataclass(frozen=True, slots=True)
class _Sizes:
    """How many terms a row has, and the largest integer of each factor."""

    terms: int
    lhs: int
    rhs: int

    def most(self) -> int:
        """Return the bound on ``sum |a||b|``."""
        return self.terms * self.lhs * self.rhs


def ints(problem: Problem, bits: int) -> Factors:
    """Draw integers with ``sum |a||b| <= 2**bits`` units.

    Half of the rows and of the columns are positive with magnitudes in the upper half of their
    range, so that sums need all ``bits`` bits; the others have both signs. Where ``2**bits`` leaves
    fewer than two bits for a product, rows are sparse. Exact in every accumulator of at least
    ``bits`` bits, and almost never in a narrower one: it proves the accumulator's width, and that
    no partial sum is cast (split-K).
    """
    sizes = _sizes(problem, bits)
    left, right = _integers(problem, sizes)
    unit_lhs, unit_rhs = problem.place(sizes.lhs, sizes.rhs, sizes.most())
    return _scaled(left, unit_lhs), None if right is None else _scaled(right, unit_rhs)


def graded(problem: Problem) -> Factors:
    """Draw ``ints(24)`` with rows and columns scaled by powers of two within ``2**-30 .. 2**30``.

    Scaling a row or a column by a power of two scales every partial sum, so the theorem holds with
    a unit for each output. Kernels whose error is bounded by norms only (Strassen) mix rows and
    fail.
    """
    sizes = _sizes(problem, _BITS)
    left, right = _integers(problem, sizes)
    _, room = problem.rooms(sizes.most(), 1)
    rows, columns = spread(problem, units(problem.lhs, sizes.lhs), problem.right_units(sizes.rhs), room, width=30)
    words = problem.words
    up = words.integers("row scale", rows.low, rows.high, (problem.batch, problem.rows, 1))
    if right is None:
        return np.ldexp(left, up), None
    shape = (problem.batch, 1, problem.columns)
    return np.ldexp(left, up), np.ldexp(right, words.integers("column scale", columns.low, columns.high, shape))


def wide(problem: Problem) -> Factors:
    """Draw odd integers with as many bits as 24 and the number of terms leave, against plus and minus one.

    At every reduced index one factor holds the odd integers and the other the signs. Dropping low
    bits of any operand before multiplying changes almost every result: a dense proof that operands
    are not cast. Beyond 4096 terms rows are sparse, since with fewer than 12 bits nothing would
    tell tf32 from binary32.
    """
    words, terms = problem.words, min(problem.reduced, _WIDE_TERMS)
    room = problem.budget(_BITS).bit_length() - 1 - (terms - 1).bit_length()
    bits_lhs, bits_rhs = min(problem.lhs.precision, room), min(problem.right_precision(), room)
    if room < 1:
        raise NotApplicable(f"{problem.out.name} leaves no bits for {terms} terms of {problem.names()}")
    shape = (problem.batch, problem.rows, problem.reduced)
    left = _odd(words, "lhs", bits_lhs, shape)
    right = None
    if problem.rhs is not None:
        side = words.flags("side", (problem.batch, 1, problem.reduced))
        other = (problem.batch, problem.reduced, problem.columns)
        left = np.where(side, left, np.sign(left))
        right = _odd(words, "rhs", bits_rhs, other)
        right = np.where(np.swapaxes(side, 1, 2), np.sign(right), right)
    left = np.where(_mask(problem, terms), left, 0.0)
    tops = 2**bits_lhs - 1, 2**bits_rhs - 1
    unit_lhs, unit_rhs = problem.place(*tops, terms * max(tops))
    return _scaled(left, unit_lhs), None if right is None else _scaled(right, unit_rhs)


def cancel(problem: Problem) -> Factors:
    """Draw factors whose products nearly all cancel: ``A = [P, P]``, ``B = [R; D - R]``, columns permuted.

    ``D`` has one entry of one a column, so the result is an entry of ``P``: short enough for the
    output to hold it exactly, after intermediates of up to 24 bits. A partial sum rounded to a
    narrow format (an f16 or bf16 accumulator, split-K through a 16-bit workspace) shows in the
    result at full size. In a plain sum ``P`` is one and ``D`` holds small odd numbers.
    """
    pairs = min(problem.reduced // 2, _CANCEL_PAIRS)
    if pairs == 0:
        raise NotApplicable("two terms are needed to cancel")
    order = _order(problem)
    if problem.rhs is None:
        return _cancel_sum(problem, pairs, order)
    return _cancel_product(problem, pairs, order)


def _cancel_product(problem: Problem, pairs: int, order: Integers) -> Factors:
    words, batch, budget = problem.words, problem.batch, problem.budget(_BITS)
    short = min(problem.lhs.precision, problem.out.precision)
    assert problem.rhs is not None
    # |P| (|R| + |D - R|) <= top_lhs (2 top_rhs - 1): both factors get about half of the bits
    top_lhs = max(1, min(isqrt(budget // (2 * pairs)), 2**short - 1))
    top_rhs = min((budget // (pairs * top_lhs) + 1) // 2, 2**problem.rhs.precision - 1)
    if top_rhs < 2:
        raise NotApplicable(f"{problem.out.name} leaves no bits for {2 * pairs} terms to cancel")
    lead = words.integers("lead", 1, top_lhs, (batch, problem.rows, pairs)).astype(np.float64)
    lead *= _some_signs(words, "lead", (batch, problem.rows, pairs), axis=1)
    shape = (batch, pairs, problem.columns)
    bulk = words.integers("bulk", top_rhs // 2, top_rhs - 1, shape).astype(np.float64)
    bulk *= _some_signs(words, "bulk", shape, axis=2)
    pick = _one_hot(words, "pick", batch * problem.columns, pairs)
    chosen = np.swapaxes(pick.reshape(batch, problem.columns, pairs), 1, 2)
    left = _widen(np.concatenate([lead, lead], axis=2), problem.reduced, axis=2)
    right = _widen(np.concatenate([bulk, chosen - bulk], axis=1), problem.reduced, axis=1)
    left = np.take_along_axis(left, order[:, None, :], axis=2)
    right = np.take_along_axis(right, order[:, :, None], axis=1)
    most = pairs * top_lhs * (2 * top_rhs - 1)
    unit_lhs, unit_rhs = problem.place(top_lhs, top_rhs, most)
    return _scaled(left, unit_lhs), _scaled(right, unit_rhs)


def _cancel_sum(problem: Problem, pairs: int, order: Integers) -> Factors:
    words, rows = problem.words, problem.batch * problem.rows
    # the small numbers have half of the bits of the large ones, and no more than the output holds
    top = min(problem.budget(_BITS) // (2 * pairs), 2**problem.lhs.precision - 1)
    short = 2 ** min(max(top.bit_length() // 2, 1), problem.out.precision) - 1
    if top <= 2 * short:
        raise NotApplicable(f"{problem.out.name} leaves no bits for {2 * pairs} terms to cancel")
    bulk = words.integers("bulk", top // 2, top - short, (rows, pairs)).astype(np.float64)
    bulk *= _some_signs(words, "bulk", (1, rows, pairs), axis=1)[0]
    small = 2 * words.integers("small", 0, short // 2, (rows, 1)) + 1
    chosen = _one_hot(words, "pick", rows, pairs) * small * words.signs("small", (rows, 1))
    left = _widen(np.concatenate([bulk, chosen - bulk], axis=1), problem.reduced, axis=1)
    left = left.reshape(problem.batch, problem.rows, problem.reduced)
    left = np.take_along_axis(left, order[:, None, :], axis=2)
    unit, _ = problem.place(top, 1, 2 * pairs * top)
    return _scaled(left, unit), None


def _sizes(problem: Problem, bits: int) -> _Sizes:
    """Share a budget of units among the terms and the factors, as evenly as their precisions allow."""
    budget, reduced = problem.budget(bits), problem.reduced
    limit_lhs = 2**problem.lhs.precision - 1
    if problem.rhs is None:
        terms = reduced if budget >= 2 * reduced else max(budget // 2, 1)
        return _Sizes(terms, min(budget // terms, limit_lhs), 1)
    limit_rhs = 2**problem.rhs.precision - 1
    terms = reduced if budget >= 4 * reduced else max(budget // 4, 1)
    first = min(isqrt(budget // terms), limit_lhs)
    top_rhs = min(budget // (terms * first), limit_rhs)
    return _Sizes(terms, min(budget // (terms * top_rhs), limit_lhs), top_rhs)


def _integers(problem: Problem, sizes: _Sizes) -> tuple[Floats, Floats | None]:
    shape = (problem.batch, problem.rows, problem.reduced)
    left = _mixed(problem.words, "lhs", sizes.lhs, shape, axis=1)
    left = np.where(_mask(problem, sizes.terms), left, 0.0)
    if problem.rhs is None:
        return left, None
    other = (problem.batch, problem.reduced, problem.columns)
    return left, _mixed(problem.words, "rhs", sizes.rhs, other, axis=2)


def _mixed(words: Words, label: str, top: int, shape: tuple[int, ...], *, axis: int) -> Floats:
    """Draw integers up to ``top``: on every other line positive and large, on the others of both signs."""
    positive = words.integers(f"{label} large", (top + 1) // 2, top, shape)
    signed = words.integers(f"{label} signed", -top, top, shape)
    return np.where(alternate(words, label, shape, axis=axis), positive, signed).astype(np.float64)


def alternate(words: Words, label: str, shape: tuple[int, ...], *, axis: int) -> Flags:
    """Mark every other line along ``axis``, starting with the first or the second."""
    count = shape[0] * (shape[axis] if axis else 1)
    marks: Flags = (np.arange(count) + words.integer(f"{label} phase", 0, 1)) % 2 == 0
    return marks.reshape([n if i in (0, axis) else 1 for i, n in enumerate(shape)])


def _some_signs(words: Words, label: str, shape: tuple[int, ...], *, axis: int) -> Floats:
    """Return random signs, all positive on every other line."""
    marks = alternate(words, f"{label} sign", shape, axis=axis)
    return np.where(marks, 1.0, words.signs(f"{label} sign", shape))


def _odd(words: Words, label: str, bits: int, shape: tuple[int, ...]) -> Floats:
    """Return odd integers of exactly ``bits`` bits with random signs."""
    low = 2 ** (bits - 1)
    values = words.integers(f"{label} odd", low, 2 * low - 1, shape) | 1
    return values.astype(np.float64) * words.signs(f"{label} odd sign", shape)


def _mask(problem: Problem, terms: int) -> Flags:
    """Mark ``terms`` random reduced indices in every row."""
    if terms == problem.reduced:
        return np.ones((1, 1, 1), dtype=np.bool_)
    rows = problem.batch * problem.rows
    chosen = problem.words.permutations("terms", rows, problem.reduced)[:, :terms]
    marks = np.zeros((rows, problem.reduced), dtype=np.bool_)
    np.put_along_axis(marks, chosen, values=True, axis=1)
    return marks.reshape(problem.batch, problem.rows, problem.reduced)


def _one_hot(words: Words, label: str, rows: int, length: int) -> Floats:
    marks = np.zeros((rows, length))
    np.put_along_axis(marks, words.distinct(label, rows, length, 1), 1.0, axis=1)
    return marks


def _order(problem: Problem) -> Integers:
    """Return an order of the reduced indices: shuffled, or as built, where whole halves cancel (split-K)."""
    shuffled = problem.words.permutations("order", problem.batch, problem.reduced)
    built = np.tile(np.arange(problem.reduced, dtype=np.int64), (problem.batch, 1))
    marks = alternate(problem.words, "order", (problem.batch, 1), axis=0)
    return np.where(marks, shuffled, built)


def _widen(matrix: Floats, length: int, *, axis: int) -> Floats:
    missing = [(0, length - matrix.shape[i]) if i == axis else (0, 0) for i in range(matrix.ndim)]
    return np.pad(matrix, missing)


def _scaled(matrix: Floats, exponent: int) -> Floats:
    return np.ldexp(matrix, exponent)
