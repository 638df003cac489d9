"""Random numbers that every machine draws alike.

The only source is the counter-based generator Philox4x64-10 (Salmon, Moraes, Dror and Shaw,
"Parallel random numbers: as easy as 1, 2, 3", SC 2011), read as raw 64-bit words through
``numpy.random.Philox.random_raw``. Distributions are built here from those words by integer
arithmetic and exact operations, never by ``numpy.random.Generator``, whose algorithms may change
between releases.

A word depends on the key, on a label and on its position, and on nothing else: drawing more words
under one label does not move the words under another.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.random import Philox

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    Integers: TypeAlias = NDArray[np.int64]
    Floats: TypeAlias = NDArray[np.float64]
    Flags: TypeAlias = NDArray[np.bool_]

Shape: TypeAlias = tuple[int, ...]

# Normal deviates take six words each; blocks of this many deviates keep the scratch below 16 MB.
_BLOCK = 1 << 18


def derive(key: bytes, label: str) -> bytes:
    """Return the SHA-256 digest of a key and a label.

    The length of the key stands in front, so that no two pairs run into the same bytes.
    """
    text = label.encode()
    return hashlib.sha256(len(key).to_bytes(8, "little") + key + text).digest()


def words(key: bytes, label: str, count: int) -> NDArray[np.uint64]:
    """Return the first ``count`` words of the stream named by ``key`` and ``label``.

    Parameters
    ----------
    key
        Any bytes; what they mean is the caller's business.
    label
        Names one use of randomness.
    count
        How many words, at least 0.

    Returns
    -------
    ndarray of uint64, shape (count,)
        Independent and uniform on ``[0, 2**64)``. The first 16 bytes of ``derive(key, label)``,
        read as two little-endian words, are the key of Philox; its counter starts at zero and is
        advanced before each block.
    """
    return np.asarray(_source(key, label).random_raw(count), dtype=np.uint64)


def _source(key: bytes, label: str) -> Philox:
    pair = np.frombuffer(derive(key, label)[:16], dtype="<u8").astype(np.uint64)
    return Philox(key=pair)


@dataclass(frozen=True, slots=True)
class Words:
    """A keyed family of streams, and the distributions drawn from them.

    Every method takes the label of its stream first; two calls with equal labels return equal
    numbers.
    """

    key: bytes

    def child(self, label: str) -> Words:
        """Return an independent family: the same labels under it name other streams."""
        return Words(derive(self.key, label))

    def raw(self, label: str, shape: Shape) -> NDArray[np.uint64]:
        """Return raw words."""
        return words(self.key, label, _size(shape)).reshape(shape)

    def flags(self, label: str, shape: Shape) -> Flags:
        """Return fair coin tosses: the top bit of one word each."""
        return (self.raw(label, shape) >> np.uint64(63)).astype(np.bool_)

    def signs(self, label: str, shape: Shape) -> Floats:
        """Return -1.0 and 1.0, each with probability one half."""
        return np.where(self.flags(label, shape), -1.0, 1.0)

    def below(self, label: str, bounds: Integers) -> Integers:
        """Return integers uniform on ``[0, bound)`` for every entry of ``bounds`` (each in ``[1, 2**62]``).

        Exactly uniform: the low bits of a word are taken, as many as ``bound - 1`` has, and entries
        that are not below their bound are drawn again from the stream of the next round (fewer than
        half each time).
        """
        flat = np.ascontiguousarray(bounds, dtype=np.int64).reshape(-1)
        masks = _mask(flat - 1)
        result = np.zeros_like(flat)
        pending, turn = np.flatnonzero(flat > 1), 0
        while pending.size:
            fresh = words(self.key, f"{label}#{turn}", pending.size) & masks[pending]
            result[pending] = fresh.astype(np.int64)
            pending, turn = pending[result[pending] >= flat[pending]], turn + 1
        return result.reshape(np.shape(bounds))

    def integers(self, label: str, low: int, high: int, shape: Shape) -> Integers:
        """Return integers uniform on the closed range ``[low, high]``."""
        bounds = np.full(shape, high - low + 1, dtype=np.int64)
        return self.below(label, bounds) + np.int64(low)

    def integer(self, label: str, low: int, high: int) -> int:
        """Return one integer, uniform on the closed range ``[low, high]``."""
        return int(self.integers(label, low, high, (1,))[0])

    def uniform(self, label: str, shape: Shape) -> Floats:
        """Return numbers uniform on the multiples of ``2**-53`` in ``[0, 1)``."""
        return (self.raw(label, shape) >> np.uint64(11)).astype(np.float64) * 2.0**-53

    def normal(self, label: str, shape: Shape) -> Floats:
        """Return standard normal deviates, as the centred sum of twelve 32-bit uniforms.

        The sum S of twelve integers uniform on ``[0, 2**32)`` has mean ``6 * (2**32 - 1)`` and
        variance ``2**64 - 1``; ``(S - mean) / 2**32`` therefore has mean 0 and variance ``1 -
        2**-64``, is exact in binary64, and never leaves ``[-6, 6]``. Its excess kurtosis is -1/10
        (a uniform's -6/5, over 12): tails beyond four standard deviations are rarer than Gaussian
        ones, which suits bounds that are proved anyway.
        """
        size = _size(shape)
        source = _source(self.key, label)
        blocks = [_twelve(source.random_raw(6 * count)) for count in _blocks(size)]
        flat = np.concatenate(blocks) if blocks else np.zeros(0)
        return flat.reshape(shape)

    def permutations(self, label: str, count: int, length: int) -> Integers:
        """Return ``count`` independent permutations of ``range(length)``, shape (count, length).

        Fisher and Yates' shuffle, run down all rows at once: entry ``i`` changes places with one of
        ``0 .. i``.
        """
        result = np.tile(np.arange(length, dtype=np.int64), (count, 1))
        bounds = np.tile(np.arange(2, length + 1, dtype=np.int64), (count, 1))
        picks = self.below(label, bounds)
        rows = np.arange(count)
        for i in range(length - 1, 0, -1):
            j = picks[:, i - 1]
            moved = result[rows, j]
            result[rows, j] = result[:, i]
            result[:, i] = moved
        return result

    def distinct(self, label: str, count: int, length: int, size: int) -> Integers:
        """Return ``count`` rows of ``size`` different members of ``range(length)``, in random order.

        The t-th pick is uniform over the ``length - t`` members left, counted in increasing order;
        for few picks this is much cheaper than a whole permutation.
        """
        left = np.tile(np.arange(length, length - size, -1, dtype=np.int64), (count, 1))
        result = self.below(label, left)
        for t in range(1, size):
            for taken in np.sort(result[:, :t], axis=1).T:
                result[:, t] += result[:, t] >= taken
        return result


def _size(shape: Shape) -> int:
    return int(np.prod(shape, dtype=np.int64))


def _mask(tops: Integers) -> NDArray[np.uint64]:
    """Return ``2**bits - 1`` for the bit length of every entry: smear the top bit downwards."""
    result = tops.astype(np.uint64)
    for shift in (1, 2, 4, 8, 16, 32):
        result |= result >> np.uint64(shift)
    return result


def _blocks(size: int) -> Iterator[int]:
    for start in range(0, size, _BLOCK):
        yield min(_BLOCK, size - start)


def _twelve(raw: NDArray[np.uint64]) -> Floats:
    """Turn six words a deviate into the centred sum of their twelve halves."""
    halves = (raw & np.uint64(0xFFFFFFFF)).astype(np.int64) + (raw >> np.uint64(32)).astype(np.int64)
    total: Integers = halves.reshape(-1, 6).sum(axis=1) - 6 * (2**32 - 1)
    centred: Floats = total.astype(np.float64) * 2.0**-32
    return centred
