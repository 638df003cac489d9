"""Recovering the order of summation from masked sums.

The idea is FPRev's (Xie, Gao, Wu, Chen and Lin 2024, arXiv 2411.00442): among equal units put +M and -M, with M so
large that units added to it are lost. The units that are lost are those that enter the sum below the place where
+M and -M meet, so n minus what is left is the number of terms under their lowest common ancestor.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from kernelcontracts.diagnose.accumulator import bits_kept, reach
from kernelcontracts.formats.facts import F16
from kernelcontracts.lang.values import Choice
from kernelcontracts.operators.orders import PADDING, schedule

if TYPE_CHECKING:
    from kernelcontracts.diagnose.failure import Array
    from kernelcontracts.diagnose.sums import Bench
    from kernelcontracts.lang.values import Claimed
    from kernelcontracts.operators.orders import Schedule

CALLS = 192
"""Calls spent on one pivot: about a second at a few milliseconds each."""

MOST = 1024
"""Terms probed with at most: trees are compared by tables of all pairs."""

FEWEST = 64
"""Terms probed with at least, and four times the parameter of the claimed order: below it every tree is a chain."""

PIVOTS = 5
"""Pivots tried. Each is drawn from the lower part of the chain above the last, so few are needed."""

SIZES = (1, 2, 4, 8, 16, 32, 64, 128, 256)
"""Parameters tried for named orders."""


def reduction_order(bench: Bench, claimed: Claimed | None = None) -> Choice | None:
    """Name the order of summation at this shape.

    Returns ``sequential`` for any chain, wherever it starts; a named order whose tree has the measured sizes;
    ``unordered`` for other trees; ``None`` where the masks do not work (few terms, or partial sums without loss).
    """
    terms = _terms(bench, claimed)
    small = replace(bench, shape={**bench.shape, ("K" if bench.product else "N"): terms})
    pivot = 0
    for _ in range(PIVOTS):
        found = ancestors(small, pivot, terms)
        if found is None:
            return None
        below = _chain_below(np.sort(found))
        if below is None:
            return _named(found, pivot, terms)
        if below <= max(1, terms // 16):
            return Choice("sequential")
        pivot = _lower(found, pivot, below)
    return Choice("unordered")


def _terms(bench: Bench, claimed: Claimed | None) -> int:
    """Return how many terms to probe with: those of the shape, as far as calls and digits go."""
    size = claimed.args[0] if isinstance(claimed, Choice) and claimed.args else 1
    least = max(FEWEST, 4 * size if isinstance(size, int) else 1)
    digits = min(bench.output.precision, bits_kept(bench) or 1)
    return min(max(bench.length, least), CALLS * max(bench.width, 1), 1 << digits, MOST)


def ancestors(bench: Bench, pivot: int, terms: int) -> Array | None:
    """Return, for every other term, how many terms lie under its common ancestor with the pivot."""
    precision = bits_kept(bench)
    if precision is None or precision > reach(bench):
        return None
    for low, high in _ranges(bench):
        # M + n units must round to M: n units lie below half a spacing, which is M * 2^-precision
        if 2.0 ** (high - low - precision) > terms:
            found = _masked(bench, pivot, terms, low=low, high=high)
            if found is not None:
                return found
    return None


def _masked(bench: Bench, pivot: int, terms: int, *, low: int, high: int) -> Array | None:
    others = np.delete(np.arange(terms), pivot)
    rows = np.full((len(others), terms), 2.0**low)
    rows[:, pivot] = 2.0**high
    rows[np.arange(len(others)), others] = -(2.0**high)
    # the last row has no mask: it shows whether units count at all
    left = bench.sums(np.vstack([rows, np.full((1, terms), 2.0**low)]))
    if left is None or not np.isfinite(left).all() or left[-1] != terms * 2.0**low:
        return None
    left = left[:-1]
    sizes = terms - left / 2.0**low
    sane = (sizes >= 2) & (sizes <= terms) & (sizes == np.rint(sizes))
    return sizes.astype(np.int64) if sane.all() else None


def _ranges(bench: Bench) -> list[tuple[int, int]]:
    """Return exponents of unit and mask: far apart, then within the range of f16, then normal."""
    smallest = max(sum(fmt.lsb_min for fmt in bench.formats), bench.output.lsb_min)
    largest = bench.exponents[1]
    wide = max(min(0, largest - 60), smallest)
    narrow = max(smallest, F16.lsb_min)
    normal = max(bench.exponents[0], bench.output.emin)
    return [
        (wide, min(largest, wide + 120)),
        (narrow, min(largest, F16.emax)),
        (normal, min(largest, normal + 120)),
    ]


def _chain_below(sizes: Array) -> int | None:
    """Return how many terms precede the pivot of a chain, or ``None`` if the sizes are not those of a chain.

    In a chain a pivot at place q meets the q terms before it under q + 1 terms, and the later ones one by one.
    """
    before = int(sizes[0]) - 1
    expected = np.concatenate([np.full(before, before + 1), np.arange(before + 2, len(sizes) + 2)])
    return before if np.array_equal(sizes, expected) else None


def _lower(sizes: Array, pivot: int, below: int) -> int:
    """Pick a new pivot among the terms that precede the present one: the middle of them."""
    others = np.delete(np.arange(len(sizes) + 1), pivot)
    before = others[sizes == below + 1]
    return int(before[len(before) // 2])


def _named(sizes: Array, pivot: int, terms: int) -> Choice:
    """Find a named order with the measured sizes, wherever its first term stands."""
    measured = np.insert(sizes, pivot, 0)
    # row p of `turned` is what the pivot would measure if the pivot's term stood at place p
    turn = (np.arange(terms)[:, None] + np.arange(terms) - pivot) % terms
    for order in _candidates(terms):
        turned = np.take_along_axis(tree_sizes(schedule(order, terms), terms), turn, axis=1)
        if (turned == measured).all(axis=1).any():
            return order
    return Choice("unordered")


def _candidates(terms: int) -> list[Choice]:
    orders = [Choice("pairwise", (k,)) for k in SIZES if k < terms]
    orders += [Choice("blocked", (k,)) for k in SIZES if 1 < k < terms]
    orders += [Choice("lanes", (k,)) for k in SIZES if 1 < k < terms]
    return orders


def tree_sizes(plan: Schedule, terms: int) -> Array:
    """Return how many terms lie under the common ancestor of any two, zero on the diagonal."""
    step, column = np.zeros(terms, np.intp), np.zeros(terms, np.intp)
    rows, columns = np.nonzero(plan.steps != PADDING)
    taken = plan.steps[rows, columns]
    step[taken], column[taken] = rows, columns
    filled = (plan.steps != PADDING).cumsum(axis=0)
    own = filled[np.maximum(step[:, None], step), column[:, None]]
    joined = _joined(plan, filled[-1], column)
    sizes = np.where(column[:, None] == column, own, joined)
    np.fill_diagonal(sizes, 0)
    return np.asarray(sizes, np.int64)


def _joined(plan: Schedule, filled: Array, column: Array) -> Array:
    """Return the terms under the place where two running sums meet."""
    totals = np.concatenate([[0], np.cumsum(filled)])
    if plan.combine == "sequential":
        return np.asarray(totals[np.maximum(column[:, None], column) + 1])
    # two leaves of a complete binary tree meet above the highest bit in which their numbers differ
    spread = np.frexp((column[:, None] ^ column).astype(np.float64))[1]
    first = (column[:, None] >> spread) << spread
    return np.asarray(totals[first + (1 << spread)] - totals[first])
