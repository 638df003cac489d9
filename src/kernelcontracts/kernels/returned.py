"""In the worker, what a kernel returned: is it what was asked for, and is it new."""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from kernelcontracts.formats.arrays import dtype_of
from kernelcontracts.kernels.layout import view
from kernelcontracts.kernels.poison import fill
from kernelcontracts.kernels.wire import CallReply

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kernelcontracts.kernels.wire import CallRequest, Place

# bound before any candidate is loaded: it may replace what the modules hold
_copyto, _ndarray, _empty = np.copyto, np.ndarray, np.empty
_shares_memory, _may_share = np.shares_memory, np.may_share_memory

#: Arrays of earlier calls that are kept: enough for kernels that take turns between two buffers.
_KEPT = 3
_KEPT_BYTES = 64 << 20

#: Above this, freed memory goes back to the system, and a filler would be written for nothing.
_LARGEST_FILLER = 1 << 20
_FILLERS = 7


class MalformedError(Exception):
    """What a kernel returned is not what the operator asks for."""


@dataclass(frozen=True, slots=True)
class _Kept:
    array: np.ndarray
    poisoned: bool
    content: int
    inputs: int


def _digest(arrays: Mapping[str, np.ndarray]) -> int:
    value = 0
    for array in arrays.values():
        value = zlib.crc32(np.ascontiguousarray(array).tobytes(), value)
    return value


def check(found: Any, place: Place) -> np.ndarray:
    """Return the array, or say in which way it is not the tensor at ``place``.

    Raises
    ------
    MalformedError
        If it is no array, or of another shape or format.
    """
    expected = f"an array of {place.format} {place.shape}"
    if isinstance(found, np.generic) and place.shape == ():
        found = np.asarray(found)  # numpy's own habit, for an output without dimensions
    if not isinstance(found, _ndarray):
        kind = type(found)
        hint = "; for tensors add `?arrays=torch`" if kind.__module__ == "torch" else ""
        raise MalformedError(f"returned `{kind.__name__}`, expected {expected} for `{place.name}`{hint}")
    if found.shape != place.shape:
        raise MalformedError(f"returned shape {found.shape} for `{place.name}`, expected {place.shape}")
    if found.dtype != _dtype(place):
        raise MalformedError(f"returned {found.dtype} for `{place.name}`, expected {place.format}")
    array: np.ndarray = found
    return array


def _dtype(place: Place) -> np.dtype[Any]:
    return dtype_of(place.format)


def alias_of(array: np.ndarray, inputs: Mapping[str, np.ndarray]) -> str:
    """Return the name of the input whose memory an array shares, or ``""``."""
    for name, tensor in inputs.items():
        if _may_share(array, tensor) and _shares(array, tensor):
            return name
    return ""


def _shares(left: np.ndarray, right: np.ndarray) -> bool:
    try:
        # the stubs know two of the values that `max_work` may have
        return bool(_shares_memory(left, right, max_work=100_000))  # type: ignore[arg-type]  # as said
    except Exception:  # noqa: BLE001 - numpy's TooHardError: the ranges overlap, which is enough
        return True


def use_up_fresh_memory(places: tuple[Place, ...], poison: tuple[int, ...]) -> None:
    """Allocate, fill and free arrays of the outputs' sizes, so that `numpy.empty` finds poison, not luck."""
    for place, value in zip(places, poison, strict=True):
        size = int(np.prod(place.shape, dtype=np.int64)) * _dtype(place).itemsize
        if 0 < size <= _LARGEST_FILLER:
            fillers = [_empty(place.shape, _dtype(place)) for _ in range(_FILLERS)]
            for filler in fillers:
                fill(filler, value)
            del fillers


class Returned:
    """The arrays that recent calls returned.

    They are kept, so that the allocator cannot give their memory out again, and poisoned before the next call: the
    caller owns what it was given. A kernel that hands out the same array again without computing it returns
    poison. Where an array cannot be written to, content and inputs are remembered instead: the same array with the
    same content for other inputs is an old result.
    """

    def __init__(self) -> None:
        self._kept: list[_Kept] = []

    def poison(self, places: tuple[Place, ...], poison: tuple[int, ...]) -> None:
        """Poison what is kept, with the bits of the output of the same format."""
        by_dtype = {_dtype(place): value for place, value in zip(places, poison, strict=True)}
        self._kept = [
            _Kept(k.array, _try_fill(k.array, by_dtype.get(k.array.dtype)), k.content, k.inputs) for k in self._kept
        ]

    def repeats(self, array: np.ndarray, inputs: Mapping[str, np.ndarray]) -> bool:
        """Return whether an array is one of an earlier call that could not be poisoned, for other inputs."""
        for kept in self._kept:
            if kept.poisoned or not _may_share(kept.array, array) or not _shares(kept.array, array):
                continue
            if kept.content == _digest({"": array}) and kept.inputs != _digest(inputs):
                return True
        return False

    def keep(self, array: np.ndarray, inputs: Mapping[str, np.ndarray]) -> None:
        """Remember an array that was returned."""
        if array.size == 0:
            return
        fixed = not array.flags.writeable
        entry = _Kept(array, False, _digest({"": array}) if fixed else 0, _digest(inputs) if fixed else 0)
        self._kept = [entry, *self._kept[: _KEPT - 1]]
        while len(self._kept) > 1 and sum(k.array.nbytes for k in self._kept) > _KEPT_BYTES:
            self._kept.pop()


def _try_fill(array: np.ndarray, value: int | None) -> bool:
    if value is None or not array.flags.writeable:
        return False
    fill(array, value)
    return True


def take(
    result: Any,
    request: CallRequest,
    inputs: Mapping[str, np.ndarray],
    memory: memoryview,
    returned: Returned,
) -> CallReply:
    """Copy what a kernel returned into the shared buffers.

    Raises
    ------
    MalformedError
        If it is not what the operator asks for.
    """
    places = request.outputs
    results = (result,) if len(places) == 1 else result
    if not isinstance(results, (tuple, list)) or len(results) != len(places):
        raise MalformedError(f"returned `{type(results).__name__}`, expected a tuple of {len(places)} arrays")
    arrays = [check(found, place) for found, place in zip(results, places, strict=True)]
    aliases = [alias_of(array, inputs) for array in arrays]
    repeated = tuple(returned.repeats(array, inputs) for array in arrays)
    for array, place, alias in zip(arrays, places, aliases, strict=True):
        _copyto(view(memory, place), array)
        if not alias:
            returned.keep(array, inputs)
    alias = next((name for name in aliases if name), "")
    return CallReply(request.number, "completed", alias=alias, repeated=repeated)
