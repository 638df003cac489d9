"""The worst case of adding terms one after another: a large term among ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from kernelcontracts.strata.errors import NotApplicable
from kernelcontracts.strata.terms import reach

if TYPE_CHECKING:
    from kernelcontracts.strata.bits import Integers
    from kernelcontracts.strata.problem import Factors, Problem


def swamp(problem: Problem, bits: int) -> Factors:
    """Draw a product of ``2**bits`` among ones: first on some rows, last on others, in the middle on the rest.

    The exact sum is ``2**bits + K - 1``. Adding the ones to the large term one after another loses
    every one of them in an accumulator of ``bits`` bits (each is half a unit, a tie to even): the
    worst case of sequential summation, which a tree of ones bears. Where no single format holds
    both, a power of two stands in the right factor at the three places, and rows are zero at the
    other two.
    """
    near, far = reach(problem, 1)
    up = min(bits, near)
    if bits - up > far:
        raise NotApplicable(f"{problem.names()} hold no normal numbers that give 1 and 2^{bits}")
    left = np.ones((problem.batch, problem.rows, problem.reduced))
    right = np.ones((problem.batch, problem.reduced, problem.columns))
    places = _places(problem, split=bits > up)
    if bits > up:
        for index in places:
            left[:, :, index] = 0.0
            right[:, index, :] = 2.0 ** (bits - up)
    flat = left.reshape(-1, problem.reduced)
    turn = (np.arange(len(flat)) + problem.words.integer("swamp phase", 0, 2)) % 3
    flat[np.arange(len(flat)), places[turn]] = 2.0**up
    flat *= problem.words.signs("swamp sign", (len(flat), 1))
    unit_lhs, unit_rhs = problem.place(2**up, 2 ** (bits - up), 2**bits + problem.reduced - 1)
    left = np.ldexp(left, unit_lhs)
    return left, None if problem.rhs is None else np.ldexp(right, unit_rhs)


def _places(problem: Problem, *, split: bool) -> Integers:
    """Return the first, the last and some index between; one index three times where a split row is too short."""
    middle = problem.words.integer("swamp middle", 0, problem.reduced - 1)
    if split and problem.reduced <= 3:  # zeros at two of three places would leave no ones
        return np.full(3, middle, dtype=np.int64)
    return np.array([0, problem.reduced - 1, middle], dtype=np.int64)
