"""Orders of summation as schedules: the terms of each running sum, and how sums are combined."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from kernelcontracts.lang.values import Choice

Indices: TypeAlias = NDArray[np.intp]

PADDING = -1
"""No term. It stands for a negative zero, the one value whose addition changes nothing at all."""


@dataclass(frozen=True, slots=True, eq=False)
class Schedule:
    """A summation tree in two stages.

    Attributes
    ----------
    steps
        Shape (steps, sums): at step t, running sum j takes term ``steps[t, j]``.
    combine
        How the running sums are then added: one after another, or by halving.
    """

    steps: Indices
    combine: Literal["sequential", "halving"]

    @property
    def depth(self) -> int:
        """Additions on the longest path, counting those of padding."""
        steps, sums = int(self.steps.shape[0]), int(self.steps.shape[1])
        rest = sums - 1 if self.combine == "sequential" else (sums - 1).bit_length()
        return max(steps - 1, 0) + max(rest, 0)


def schedule(order: Choice, terms: int) -> Schedule:
    """Return the tree of an order over a number of terms.

    The depth never exceeds ``add_depth(order, terms)``: base - 1 + ceil(log2(terms / base)) for
    pairwise, block - 1 + ceil(terms / block) - 1 for blocked, ceil(terms / count) - 1 + count - 1
    for lanes, terms - 1 otherwise.

    Raises
    ------
    ValueError
        If the order is unknown, or its parameter is not a positive integer.
    """
    if order.name in {"sequential", "unordered"} or terms == 0:
        return Schedule(np.arange(terms, dtype=np.intp).reshape(terms, 1), "sequential")
    size = _size(order)
    if order.name == "pairwise":
        blocks = 1 << max(-(-terms // size) - 1, 0).bit_length()
        return Schedule(_contiguous(terms, -(-terms // blocks), blocks), "halving")
    if order.name == "blocked":
        block = min(size, terms)
        return Schedule(_contiguous(terms, block, -(-terms // block)), "sequential")
    if order.name == "lanes":
        lanes = min(size, terms)
        return Schedule(_padded(terms, -(-terms // lanes) * lanes).reshape(-1, lanes), "sequential")
    raise ValueError(
        f"unknown order of summation `{order}`; expected pairwise(base), blocked(block), "
        f"lanes(count), sequential or unordered"
    )


def shuffle(terms: int, *, order: Choice, determinism: str, rows: int, call: int) -> Indices | None:
    """Return the sequence in which terms enter the tree, or ``None`` for their own.

    A kernel that is deterministic at a shape only may start elsewhere at another number of rows;
    one that is not deterministic mixes the terms anew at each call. Neither changes the depth.
    """
    base = np.arange(terms, dtype=np.intp)
    if order.name == "unordered":
        base = np.random.Generator(np.random.Philox(terms)).permutation(base)
    if determinism in {"none", "run_to_run"}:
        return np.random.Generator(np.random.Philox([call, terms])).permutation(base)
    if determinism == "bitwise" and terms > 1 and (rows - 1) % terms:
        return np.roll(base, -((rows - 1) % terms))
    return base if order.name == "unordered" else None


def _size(order: Choice) -> int:
    size = order.args[0] if order.args else None
    if not isinstance(size, int) or size < 1:
        raise ValueError(f"`{order}` needs one positive integer, as in `{order.name}(8)`")
    return size


def _padded(terms: int, length: int) -> Indices:
    index = np.full(length, PADDING, np.intp)
    index[:terms] = np.arange(terms)
    return index


def _contiguous(terms: int, size: int, blocks: int) -> Indices:
    grid: NDArray[Any] = _padded(terms, size * blocks).reshape(blocks, size)
    return np.ascontiguousarray(grid.T)
