"""Calling one candidate many times, and seeing what it does."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Self

import msgspec

from kernelcontracts.kernels.environment import of_parent
from kernelcontracts.kernels.layout import LayoutError
from kernelcontracts.kernels.limits import Limits
from kernelcontracts.kernels.observation import Observation, Outcome
from kernelcontracts.kernels.process import Ended, WorkerProcess
from kernelcontracts.kernels.staging import Stage
from kernelcontracts.kernels.wire import CallReply, CallRequest, LoadReply, LoadRequest, pack, plain

if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import TracebackType

    import numpy as np

    from kernelcontracts.kernels.address import Address
    from kernelcontracts.lang.decl import Operator

__all__ = ["KernelLoadError", "LayoutError", "Limits", "Session", "open_session"]

#: How the end of a process without an answer is judged.
_ENDINGS = {"died": "died", "timed_out": "timed_out", "garbled": "malformed"}

#: What a worker may answer: it cannot report its own death.
_ANSWERS = frozenset({"completed", "raised", "malformed", "declined"})

_GARBLED = "wrote bytes of its own on the channel to the parent"


class KernelLoadError(Exception):
    """A kernel that could not be loaded: the harness has nothing to call. The message says why."""


class Session:
    """One candidate in its worker process. Make it with `open_session`; use it as a context manager.

    The worker is replaced when it dies; the next call then pays for a new start. A session is not safe to use from
    two threads at once.

    Attributes
    ----------
    environment
        What a result may depend on besides the kernel, and the level of isolation reached.
    notes
        Remarks for the report: replaced workers and what that cost, and kernels with odd manners.
    takes_out
        Whether the kernel writes into buffers of ours.
    """

    def __init__(self, address: Address, operator: Operator, limits: Limits) -> None:
        self.environment: dict[str, str] = {}
        self.notes: list[str] = []
        self.takes_out = False
        self._address, self._operator, self._limits = address, operator, limits
        self._calls = 0
        self._respawned = False
        self._process: WorkerProcess | None = None
        self._start()

    def _start(self) -> None:
        process = WorkerProcess(self._limits.memory_bytes)
        try:
            reply = self._load(process)
        except BaseException:
            process.close()
            raise
        self._process, self.takes_out = process, reply.takes_out
        level = "; ".join((*process.isolation, *reply.isolation))
        self.environment = {**of_parent(), **reply.environment, "isolation": level}

    def _load(self, process: WorkerProcess) -> LoadReply:
        address = self._address
        request = LoadRequest(
            adapter=address.adapter,
            target=address.target,
            path=str(Path(address.path).resolve()) if address.path else "",
            options=dict(address.options),
            operator=self._operator.name,
            inputs=tuple(p.name for p in self._operator.inputs),
            outputs=tuple(p.name for p in self._operator.outputs),
            memory_bytes=self._limits.memory_bytes,
        )
        answer = process.ask(pack(request), self._limits.start_seconds)
        if isinstance(answer, Ended):
            raise KernelLoadError(f"`{address}` could not be loaded: {answer.message}{_printed(process)}")
        try:
            reply = msgspec.msgpack.decode(answer, type=LoadReply)
        except msgspec.MsgspecError as error:
            raise KernelLoadError(f"`{address}` wrote bytes of its own on the channel while it was loaded") from error
        if not reply.ok:
            raise KernelLoadError(f"`{address}` could not be loaded: {plain(reply.message)}")
        return reply

    def call(
        self,
        inputs: Mapping[str, np.ndarray],
        *,
        types: Mapping[str, str],
        output_shapes: Mapping[str, tuple[int, ...]],
        layouts: Mapping[str, str] | None = None,
    ) -> Observation:
        """Call the candidate once.

        Parameters
        ----------
        inputs
            Arrays by tensor name; they stay the caller's, the candidate sees copies.
        types
            Format names by tensor name, inputs and outputs.
        output_shapes
            Shapes of the outputs by name.
        layouts
            How tensors lie in memory: ``contiguous`` (default), ``fortran`` (the last two axes swapped) or
            ``strided`` (rows of a wider buffer), by name.

        Returns
        -------
        Observation
            Whatever the candidate does, it is one; nothing it does is raised here.

        Raises
        ------
        LayoutError
            If a layout is unknown.
        KeyError
            If a tensor of the operator is missing.
        """
        self._calls += 1
        if (failure := self._ready()) is not None:
            return failure
        assert self._process is not None
        stage = Stage(self._operator, inputs, types, output_shapes, layouts or {}, turn=self._calls)
        stage.write(self._process.arena)
        return self._run(self._process, stage)

    def _run(self, process: WorkerProcess, stage: Stage) -> Observation:
        request = CallRequest(self._calls, stage.size, stage.inputs, stage.outputs, stage.poison)
        began = time.perf_counter()
        answer = process.ask(pack(request), self._limits.seconds)
        seconds = time.perf_counter() - began
        reply = answer if isinstance(answer, Ended) else self._read(answer)
        if isinstance(reply, Ended):
            process.close()
            ended = CallReply(self._calls, _ENDINGS[reply.reason], reply.kind, reply.message)
            return stage.observe(ended, owned=self.takes_out, seconds=seconds)
        self._note(plain(reply.note))
        return stage.observe(reply, owned=self.takes_out, seconds=seconds)

    def _read(self, answer: bytes) -> CallReply | Ended:
        try:
            reply = msgspec.msgpack.decode(answer, type=CallReply)
        except msgspec.MsgspecError:
            return Ended("garbled", "", _GARBLED)
        if reply.outcome not in _ANSWERS or reply.number != self._calls:
            return Ended("garbled", "", _GARBLED)
        return reply

    def _ready(self) -> Observation | None:
        """Have a worker at hand, or say why there is none."""
        process = self._process
        if process is not None and process.alive and not process.unasked():
            return None
        if process is not None:
            self._note_loss(process)
            process.close()
        self._process = None
        began = time.perf_counter()
        try:
            self._start()
        except KernelLoadError as error:
            return Observation(Outcome.DIED, message=f"the worker could not be started again: {error}")
        cost = f"starting a new worker takes {time.perf_counter() - began:.2g} s"
        if not self._respawned:
            self._note(cost)
        self._respawned = True
        return None

    def _note(self, text: str) -> None:
        if text and text not in self.notes:
            self.notes.append(text)

    def _note_loss(self, process: WorkerProcess) -> None:
        if process.alive:
            self.notes.append(
                f"after call {self._calls - 1} the kernel wrote on the channel unasked; its worker was replaced"
            )
        else:
            self.notes.append(f"the worker was replaced after call {self._calls - 1}")

    @property
    def printed(self) -> str:
        """The end of what the candidate printed, for people."""
        return "" if self._process is None else self._process.printed.decode("utf-8", "replace")

    def close(self) -> None:
        """End the worker and everything it started."""
        if self._process is not None:
            self._process.close()
            self._process = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def _printed(process: WorkerProcess) -> str:
    lines = process.printed.decode("utf-8", "replace").strip().splitlines()
    return f"; its last line was `{plain(lines[-1])}`" if lines else ""


def open_session(address: Address, operator: Operator, *, limits: Limits | None = None) -> Session:
    """Start a worker and load a kernel into it.

    Parameters
    ----------
    address
        Where the kernel is.
    operator
        What it computes: the order of the inputs, the names of the outputs.
    limits
        Time and memory; the defaults of `Limits` if not given.

    Raises
    ------
    KernelLoadError
        If the kernel cannot be loaded. The message is one line for people.
    """
    return Session(address, operator, limits or Limits())
