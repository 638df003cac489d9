"""One case on the parent's side: lay the tensors out, and read afterwards what became of them.

Everything a verdict rests on is read here, by the parent, from its own private copies and from the shared memory:
the worker's word is taken for nothing but how the call ended.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import numpy as np

from kernelcontracts.formats.arrays import bits, dtype_of
from kernelcontracts.kernels.layout import PAGE, fences_hold, fill_fences, lay_out, view
from kernelcontracts.kernels.observation import Observation, Outcome
from kernelcontracts.kernels.poison import choose, fill, fresh_pattern, survives
from kernelcontracts.kernels.wire import plain

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kernelcontracts.kernels.arena import Arena
    from kernelcontracts.kernels.wire import CallReply
    from kernelcontracts.lang.decl import Operator


class Stage:
    """The tensors of one call in shared memory.

    Attributes
    ----------
    size
        Bytes of shared memory in use.
    inputs, outputs
        Places, in the operator's order.
    poison
        For each output, the bits its buffer is filled with.
    """

    def __init__(
        self,
        operator: Operator,
        inputs: Mapping[str, np.ndarray],
        types: Mapping[str, str],
        output_shapes: Mapping[str, tuple[int, ...]],
        layouts: Mapping[str, str],
        *,
        turn: int,
    ) -> None:
        self._given = {p.name: _as_declared(p.name, inputs[p.name], types[p.name]) for p in operator.inputs}
        tensors = {name: (types[name], array.shape) for name, array in self._given.items()}
        results = [p.name for p in operator.outputs]
        self._zones, self.size = lay_out(tensors | {n: (types[n], tuple(output_shapes[n])) for n in results}, layouts)
        self.inputs = tuple(self._zones[name].place for name in self._given)
        self.outputs = tuple(self._zones[name].place for name in results)
        self._marks = {name: self._mark(types[name], nan=turn % 2 == 1) for name in results}
        self.poison = tuple(self._marks[name] or 0 for name in results)
        self._pattern = np.frombuffer(os.urandom(PAGE), np.uint8)

    def _mark(self, fmt: str, *, nan: bool) -> int | None:
        alike = [array for array in self._given.values() if array.dtype == dtype_of(fmt)]
        return choose(fmt, alike, nan=nan)

    def write(self, arena: Arena) -> None:
        """Put inputs, poison and fences into the shared memory."""
        self._memory = memory = arena.bytes(self.size)
        for zone in self._zones.values():
            fill_fences(memory, zone, self._pattern)
        for name, array in self._given.items():
            view(memory, self._zones[name].place)[...] = array
        for place, value in zip(self.outputs, self.poison, strict=True):
            fill(view(memory, place), value)

    def observe(self, reply: CallReply, *, owned: bool, seconds: float) -> Observation:
        """Read the shared memory after a call.

        Parameters
        ----------
        reply
            How the call ended.
        owned
            Whether the kernel wrote into our buffers.
        seconds
            Wall time of the call.
        """
        outcome = Outcome(reply.outcome)
        done = outcome is Outcome.COMPLETED
        outputs = {p.name: np.array(view(self._memory, p)) for p in self.outputs} if done else {}
        repeated = dict(zip(outputs, reply.repeated, strict=False))
        return Observation(
            outcome,
            kind=plain(reply.kind),
            message=_sentence(outcome, reply),
            outputs=outputs,
            owned=owned,
            inputs_unchanged={name: self._unchanged(name) for name in self._given},
            guards_unchanged={name: self._fenced(name, owned=owned) for name in self._zones},
            stale={n: self._stale(n, a, owned=owned) or repeated.get(n, False) for n, a in outputs.items()},
            alias=reply.alias if done and reply.alias in self._given else "",
            seconds=seconds,
            fence=self._pattern.tobytes(),
        )

    def _unchanged(self, name: str) -> bool:
        now = view(self._memory, self._zones[name].place)
        return bool(np.array_equal(bits(now), bits(self._given[name])))

    def _fenced(self, name: str, *, owned: bool) -> bool | None:
        if name not in self._given and not owned:
            return None
        return fences_hold(self._memory, self._zones[name], self._pattern)

    def _stale(self, name: str, found: np.ndarray, *, owned: bool) -> bool:
        mark = self._marks[name]
        # without a mark, the inputs held every pattern of the format, and nothing can be told
        if mark is not None and survives(found, mark):
            return True
        fresh = None if owned else fresh_pattern(self._zones[name].place.format)
        return fresh is not None and survives(found, fresh)


def _as_declared(name: str, array: np.ndarray, fmt: str) -> np.ndarray:
    if array.dtype != dtype_of(fmt):
        raise TypeError(f"the input `{name}` is an array of {array.dtype}, declared as {fmt}")
    return array


def _sentence(outcome: Outcome, reply: CallReply) -> str:
    said = plain(reply.message)
    if outcome is not Outcome.RAISED:
        return said
    return f"raised {plain(reply.kind)}: {said}" if said else f"raised {plain(reply.kind)}"
