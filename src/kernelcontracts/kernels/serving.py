"""The loop of a worker process: load one kernel, answer calls.

It knows one kernel and one case at a time: no reference, no tolerance, no hint which case is scored. Every function
used after the candidate is loaded is bound before, because a candidate may replace what modules hold. That keeps
honest mistakes from breaking the loop; nothing here is trusted by the parent.
"""

from __future__ import annotations

import mmap
import os
from typing import TYPE_CHECKING, Any

import msgspec

from kernelcontracts.kernels.adapters.protocol import AdapterError, takes_out
from kernelcontracts.kernels.confine import limit_resources
from kernelcontracts.kernels.layout import view
from kernelcontracts.kernels.returned import MalformedError, Returned, take, use_up_fresh_memory
from kernelcontracts.kernels.wire import EXIT_CHANNEL, CallReply, CallRequest, LoadReply, LoadRequest, pack, plain

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np

    from kernelcontracts.kernels.adapters.protocol import Adapter

_read, _write, _exit, _getpid = os.read, os.write, os._exit, os.getpid
_mmap = mmap.mmap


def _text(error: BaseException) -> str:
    try:
        return plain(str(error))
    except BaseException:  # noqa: BLE001 - the message is the candidate's code too
        return "(its message could not be read)"


class Channel:
    """The two pipes. A worker that cannot speak any more ends itself."""

    def __init__(self, requests: int, replies: int) -> None:
        self._requests, self._replies, self._process = requests, replies, _getpid()

    def _exactly(self, count: int) -> bytes:
        parts = b""
        while len(parts) < count:
            part = _read(self._requests, count - len(parts))
            if not part:
                _exit(0)
            parts += part
        return parts

    def receive(self) -> bytes:
        """Wait for a message; end the process when the parent is gone."""
        try:
            return self._exactly(int.from_bytes(self._exactly(4), "big"))
        except OSError:
            _exit(EXIT_CHANNEL)
            raise

    def send(self, message: msgspec.Struct) -> None:
        """Write a message. A child that the candidate forked has no voice, and ends here."""
        if _getpid() != self._process:
            _exit(0)
        data = pack(message)
        try:
            while data:
                data = data[_write(self._replies, data) :]
        except OSError:
            _exit(EXIT_CHANNEL)


class Worker:
    """One loaded kernel and the memory it is called on."""

    def __init__(self, channel: Channel, arena: int, *, offline: bool) -> None:
        self._channel, self._arena, self._offline = channel, arena, offline
        self._map: mmap.mmap | None = None
        self._size = 0
        self._returned = Returned()

    def load(self, request: LoadRequest) -> LoadReply:
        """Make the adapter, and have it load the kernel."""
        from kernelcontracts.kernels.adapters.registry import adapter_named
        from kernelcontracts.kernels.environment import of_worker

        network = "no network" if self._offline else "network not cut off"
        isolation = (network, *limit_resources(request.memory_bytes))
        self._request = request
        self._adapter: Adapter = adapter_named(request.adapter, request.path)
        available = self._adapter.available()
        if not available.ok:
            hint = f"; {available.how_to_install}" if available.how_to_install else ""
            return LoadReply(
                ok=False,
                message=f"the `{request.adapter}` adapter is not available: {available.reason}{hint}",
            )
        self._kernel = self._adapter.load(request.target, request.operator, request.options)
        self._owned = takes_out(self._kernel)
        environment = of_worker() | self._adapter.provenance()
        return LoadReply(ok=True, takes_out=self._owned, environment=environment, isolation=isolation)

    def _memory(self, size: int) -> memoryview:
        if self._map is None or size > self._size:
            self._map, self._size = _mmap(self._arena, size), size
        return memoryview(self._map)

    def call(self, request: CallRequest) -> CallReply:
        """Run one case."""
        types = {place.name: place.format for place in (*request.inputs, *request.outputs)}
        reason = self._adapter.declines(self._request.operator, types)
        if reason:
            return CallReply(request.number, "declined", message=reason)
        memory = self._memory(request.arena_bytes)
        inputs = {place.name: view(memory, place) for place in request.inputs}
        try:
            if self._owned:
                return self._call_into(request, inputs, [view(memory, place) for place in request.outputs])
            return self._call_returning(request, inputs, memory)
        except MalformedError as error:
            return CallReply(request.number, "malformed", message=str(error))

    def _call_into(
        self, request: CallRequest, inputs: Mapping[str, np.ndarray], buffers: list[np.ndarray]
    ) -> CallReply:
        out: Any = buffers[0] if len(buffers) == 1 else tuple(buffers)
        result = self._kernel(*inputs.values(), out=out)
        if result is NotImplemented:
            return CallReply(request.number, "declined", message="the kernel returned `NotImplemented`")
        other = result is not None and result is not out
        note = "returned something besides writing to `out`; only `out` counts" if other else ""
        return CallReply(request.number, "completed", note=note)

    def _call_returning(self, request: CallRequest, inputs: Mapping[str, np.ndarray], memory: memoryview) -> CallReply:
        self._returned.poison(request.outputs, request.poison)
        use_up_fresh_memory(request.outputs, request.poison)
        result = self._kernel(*inputs.values())
        if result is NotImplemented:
            return CallReply(request.number, "declined", message="the kernel returned `NotImplemented`")
        return take(result, request, inputs, memory, self._returned)

    def serve(self) -> None:
        """Load, then answer calls for as long as the parent asks."""
        load = msgspec.msgpack.decode(self._channel.receive(), type=LoadRequest)
        try:
            reply = self.load(load)
        except BaseException as error:  # noqa: BLE001 - `SystemExit` at import is an answer too
            said = _text(error)
            plain = said if isinstance(error, AdapterError) else f"{type(error).__name__}: {said}"
            reply = LoadReply(ok=False, message=plain)
        self._channel.send(reply)
        decode = msgspec.msgpack.Decoder(CallRequest).decode
        while True:
            request = decode(self._channel.receive())
            self._channel.send(self._observe(request))

    def _observe(self, request: CallRequest) -> CallReply:
        try:
            return self.call(request)
        except BaseException as error:  # noqa: BLE001 - whatever a candidate raises is an observation
            return CallReply(request.number, "raised", kind=type(error).__name__, message=_text(error))
