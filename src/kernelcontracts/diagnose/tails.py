"""Two habits that show in exact sums of small integers: dropped tiles, and results of an earlier call."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from kernelcontracts.diagnose.evidence import constant
from kernelcontracts.diagnose.sums import dimension, leading

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from kernelcontracts.diagnose.candidate import Candidate
    from kernelcontracts.diagnose.failure import Array, Doubles, Failure, Shape

TILES = (8, 16, 32, 64, 128, 256)
"""Tile sizes of kernels, all powers of two."""

UNEVEN = 273
"""A size that no tile divides: 2 * 128 + 16 + 1 leaves a tail for each of them."""

TERMS = 32
"""Terms of the exact sums: 32 products of 1 or 2 add up to at most 128, exact in every format with 8 bits."""

ENOUGH = 8
"""Wrong elements needed to say where errors sit: eight of them by chance in half of an output is 1 in 256."""

REPEATS = 3
"""Calls at one shape when looking for results of an earlier one."""


def whole_numbers(candidate: Candidate, shape: Shape, seed: int) -> dict[str, Doubles]:
    """Return inputs of ones and twos at a shape."""
    draw = np.random.Generator(np.random.Philox(seed))
    lead = leading(shape)
    if candidate.operator == "matmul":
        m, n, k = (dimension(shape, name) for name in ("M", "N", "K"))
        return {
            "A": 1.0 + draw.integers(0, 2, (*lead, m, k)),
            "B": 1.0 + draw.integers(0, 2, (*lead, k, n)),
        }
    return {"X": 1.0 + draw.integers(0, 2, (*lead, dimension(shape, "N")))}


def exact(inputs: dict[str, Doubles]) -> Doubles:
    """Return the exact product or sum of such inputs."""
    if "X" in inputs:
        return np.asarray(inputs["X"].sum(axis=-1), np.float64)
    return np.asarray(inputs["A"] @ inputs["B"], np.float64)


def tail_fraction(candidate: Candidate, shape: Shape, failures: Sequence[Failure]) -> float | None:
    """Return the share of wrong elements that lie in the last partial tile.

    Asked first at an uneven shape made for it, where sums are exact; if nothing is wrong there, of the failed cases.
    Zero where the tail is mostly right, or where nothing lies outside it.
    """
    inputs = whole_numbers(candidate, _uneven(candidate, shape), seed=1)
    got, expected = candidate.run(inputs), exact(inputs)
    if got is not None and got.shape == expected.shape and (got != expected).any():
        return in_tail(got != expected)
    shares = [in_tail(w) for f in failures if (w := f.wrong) is not None and w.sum() >= ENOUGH]
    return sum(shares) / len(shares) if shares else 0.0 if got is not None else None


def _uneven(candidate: Candidate, shape: Shape) -> Shape:
    if candidate.operator == "matmul":
        return {"L": (), "M": UNEVEN, "N": UNEVEN, "K": min(max(dimension(shape, "K"), 1), TERMS)}
    return {"L": (UNEVEN,), "N": min(max(dimension(shape, "N"), 1), TERMS)}


def in_tail(wrong: Array) -> float:
    """Return the largest share of wrong elements that some tile size explains."""
    if not wrong.any() or wrong.ndim == 0:
        return 0.0
    shares = [0.0]
    for tail in _tails(wrong.shape):
        explained = (wrong & tail).sum()
        # a dropped tile is wrong nearly everywhere; where it is mostly right it was computed
        if 2 * explained >= tail.sum():
            shares.append(float(explained / wrong.sum()))
    return max(shares)


def _tails(shape: tuple[int, ...]) -> Iterator[Array]:
    """Yield masks of last partial tiles: of the last dimension, of the one before, and of both."""
    for tile in TILES:
        masks = [_tail(shape, axis, tile) for axis in range(max(len(shape) - 2, 0), len(shape))]
        masks.append(np.logical_or.reduce(masks))
        yield from (mask for mask in masks if mask.any() and not mask.all())


def _tail(shape: tuple[int, ...], axis: int, tile: int) -> Array:
    size = shape[axis]
    whole = size // tile * tile
    # an output smaller than a tile is all tail and says nothing
    inside = (np.arange(size) >= whole) & (whole > 0)
    form = [1] * len(shape)
    form[axis] = size
    return np.broadcast_to(inside.reshape(form), shape)


def repeats(candidate: Candidate, shape: Shape) -> float | None:
    """Return the share of repeated calls at a shape that return, wrongly, an earlier call's result."""
    earlier: list[Doubles] = []
    stale = 0
    for seed in range(REPEATS):
        inputs = whole_numbers(candidate, shape, seed=seed + 2)
        observation = candidate.observe(inputs)
        got = candidate.result(observation)
        if got is None:
            return None
        wrong = not np.array_equal(got, exact(inputs))
        again = any(np.array_equal(got, before) for before in earlier) and _telling(got)
        stale += any(observation.stale.values()) or (wrong and again)
        earlier.append(got)
    return stale / (REPEATS - 1)


def _telling(got: Doubles) -> bool:
    """Whether equality with another output says something: constants do not, a single number does unless zero."""
    return not constant(got) if math.prod(got.shape) > 1 else bool((got != 0).all())
