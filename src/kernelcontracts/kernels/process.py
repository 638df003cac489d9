"""The parent's hold on one worker process: start it, speak with it, watch it, kill it.

There are no threads: one `poll` loop waits for the reply, drains what the candidate prints, reads the resident
memory and keeps the time.
"""

from __future__ import annotations

import contextlib
import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path

from kernelcontracts.kernels.arena import Arena
from kernelcontracts.kernels.poison import FRESH_BYTE
from kernelcontracts.kernels.wire import EXIT_CHANNEL, MAX_REPLY

#: How often the resident memory is read. A core writes fresh pages at a few GB/s, so the limit is overrun by less than
#: 100 MB in this time.
_TICK = 0.02

#: What is kept of a candidate's own output.
_TAIL = 4096

_WORDS = {
    "SIGSEGV": "it read or wrote memory that is not its own",
    "SIGBUS": "it read or wrote memory that is not there",
    "SIGILL": "it used an instruction that this processor does not have",
    "SIGFPE": "an integer division by zero, as a rule",
    "SIGABRT": "it gave up itself, as a failed assertion or a corrupted heap makes it",
    "SIGKILL": "killed from outside: by the system when memory runs out, or by itself",
    "SIGTERM": "it was asked to end",
}


@dataclass(frozen=True, slots=True)
class Ended:
    """Why no reply came: ``reason`` is ``died``, ``timed_out`` or ``garbled``."""

    reason: str
    kind: str
    message: str


def _in_words(status: int) -> tuple[str, str]:
    if status >= 0:
        if status == EXIT_CHANNEL:
            return (
                "",
                "the process lost the channel to its parent, as when a kernel closes files it did not open",
            )
        return "", f"the process ended itself with exit status {status}"
    try:
        name = signal.Signals(-status).name
    except ValueError:
        name = f"signal {-status}"
    words = _WORDS.get(name)
    return name, f"the process died of {name}" + (f": {words}" if words else "")


def _resident(process: int) -> int:
    """Return a process's resident bytes, or 0 where the system does not say."""
    try:
        with open(f"/proc/{process}/statm", "rb") as file:  # noqa: PTH123 - fifty times a second
            return int(file.read().split()[1]) * _PAGE_SIZE
    except (OSError, IndexError, ValueError):
        return 0


_PAGE_SIZE = os.sysconf("SC_PAGE_SIZE")
_CAN_WATCH = Path("/proc/self/statm").exists()


QUIET = {"OPENBLAS_THREAD_TIMEOUT": "4", "KMP_BLOCKTIME": "0", "OMP_WAIT_POLICY": "passive"}
"""Idle threads of a BLAS sleep at once: left spinning for milliseconds after each call, they take the cores from the
harness. It changes no bits, only waiting; what the user has set stands."""


class WorkerProcess:
    """A running worker.

    Attributes
    ----------
    arena
        The shared memory.
    printed
        The end of what the candidate printed.
    """

    def __init__(self, memory_bytes: int) -> None:
        self.arena = Arena()
        self.printed = b""
        self._memory_bytes = memory_bytes
        self._buffer = b""
        self._closed = False
        self._mark = os.urandom(16).hex()
        self._folder = tempfile.mkdtemp(prefix="kernelcontracts-")
        self._start()

    def _start(self) -> None:
        theirs_in, self._requests = os.pipe()
        self._replies, theirs_out = os.pipe()
        theirs_life, self._lifeline = os.pipe()
        self._output, theirs_print = os.pipe()
        theirs = (theirs_in, theirs_out, self.arena.descriptor, theirs_life)
        by_thread = threading.current_thread() is threading.main_thread()
        command = [sys.executable, "-P", "-m", "kernelcontracts.kernels.worker"]
        try:
            self._process = subprocess.Popen(
                [*command, *map(str, theirs), str(int(by_thread))],
                stdin=subprocess.DEVNULL,
                stdout=theirs_print,
                stderr=theirs_print,
                pass_fds=theirs,
                cwd=self._folder,
                env=self._environment(),
                start_new_session=True,
            )
        finally:
            for descriptor in (theirs_in, theirs_out, theirs_life, theirs_print):
                os.close(descriptor)
        for descriptor in (self._requests, self._replies, self._output):
            os.set_blocking(descriptor, False)
        self._watch()

    def _watch(self) -> None:
        self._poll = select.poll()
        self._poll.register(self._replies, select.POLLIN)
        self._poll.register(self._output, select.POLLIN)
        self._handle = -1
        # a forked child keeps the pipes open, so their closing does not tell that the worker has died
        with contextlib.suppress(AttributeError, OSError):
            self._handle = os.pidfd_open(self._process.pid)
            self._poll.register(self._handle, select.POLLIN)

    def _environment(self) -> dict[str, str]:
        source = str(Path(__file__).resolve().parents[2])
        path = os.environ.get("PYTHONPATH", "")
        return {
            **QUIET,
            **os.environ,
            "PYTHONPATH": os.pathsep.join(part for part in (source, path) if part),
            # glibc fills what it hands out with the complement of this byte, so that memory a kernel never wrote
            # does not happen to be the zeros of a fresh page
            "MALLOC_PERTURB_": str(FRESH_BYTE ^ 0xFF),
            "KERNELCONTRACTS_WORKER": self._mark,
        }

    @property
    def isolation(self) -> tuple[str, ...]:
        """Return what the parent does to hold the worker, in words."""
        watch = "resident memory watched" if _CAN_WATCH else "resident memory not watched on this system"
        return ("own process group", "time limit", watch)

    @property
    def alive(self) -> bool:
        """Whether the process still runs."""
        if self._handle < 0 or self._process.returncode is not None:
            return self._process.poll() is None
        ended = select.poll()
        ended.register(self._handle, select.POLLIN)
        return not ended.poll(0)

    def unasked(self) -> bool:
        """Return whether something came over the channel that nobody asked for."""
        return self._receive() is not None or bool(self._buffer)

    def ask(self, data: bytes, seconds: float) -> bytes | Ended:
        """Send a packed message and wait for the answer.

        Whatever ends the wait without an answer also ends the process.
        """
        deadline = time.monotonic() + seconds
        try:
            os.write(self._requests, data)
            answer = self._wait(deadline, seconds)
        except BrokenPipeError:
            answer = self._ended()
        if isinstance(answer, Ended):
            self.close()
        return answer

    def _wait(self, deadline: float, seconds: float) -> bytes | Ended:
        looked = 0.0
        while True:
            now = time.monotonic()
            if now >= deadline:
                return Ended("timed_out", "", f"did not return within {seconds:g} s")
            if now - looked >= _TICK:
                looked = now
                if over := self._over_memory():
                    return over
            ready = {descriptor for descriptor, _ in self._poll.poll(min(_TICK, deadline - now) * 1000 + 1)}
            if self._output in ready and not self._drain():
                self._poll.unregister(self._output)
            if self._replies in ready:
                answer = self._receive()
                if answer is not None:
                    return answer
            if self._closed or self._gone(ready):
                last = self._receive()
                return last if last is not None else self._ended()

    def _gone(self, ready: set[int]) -> bool:
        return self._handle in ready if self._handle >= 0 else not self.alive

    def _over_memory(self) -> Ended | None:
        # the arena is ours, but counts as the worker's once it has touched it
        used = _resident(self._process.pid) - self.arena.size
        if used <= self._memory_bytes:
            return None
        gib = 1 << 30
        return Ended(
            "died",
            "memory limit",
            f"stopped at the memory limit: {used / gib:.3g} GiB resident, limit {self._memory_bytes / gib:.3g} GiB",
        )

    def _drain(self) -> bool:
        """Read some of what was printed; return whether there was any."""
        try:
            part = os.read(self._output, 1 << 16)
        except OSError:
            return False
        self.printed = (self.printed + part)[-_TAIL:]
        return bool(part)

    def _receive(self) -> bytes | Ended | None:
        """Read what has come; return one whole message if there is one, and only one."""
        with contextlib.suppress(OSError):
            part = os.read(self._replies, 1 << 16)
            self._buffer += part
            self._closed = not part
        if len(self._buffer) < 4:
            return None
        length = int.from_bytes(self._buffer[:4], "big")
        if length > MAX_REPLY:
            return Ended("garbled", "", "wrote bytes of its own on the channel to the parent")
        if len(self._buffer) < 4 + length:
            return None
        message, self._buffer = self._buffer[4 : 4 + length], self._buffer[4 + length :]
        return message

    def _ended(self) -> Ended:
        """Say how the process ended; one that closed its channel has a second to end as well."""
        deadline = time.monotonic() + 1.0
        while self.alive and time.monotonic() < deadline:
            time.sleep(_TICK / 4)
        by_itself = not self.alive
        self._kill()
        if by_itself:
            return Ended("died", *_in_words(self._process.wait()))
        return Ended("died", "", "the process closed the channel to its parent")

    def _kill(self) -> None:
        # before the process is waited for: until then its number, and so its group's, cannot be another's
        if self._process.returncode is None:
            with contextlib.suppress(OSError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._kill_strays()
            self._process.wait()

    def close(self) -> None:
        """Kill the process and what it started, and remove its folder. Safe to call twice."""
        if self.arena.descriptor < 0:
            return
        self._kill()
        # a pipe holds less than this; somebody who still writes must not keep us
        for _ in range(32):
            if not self._drain():
                break
        mine = (self._requests, self._replies, self._lifeline, self._output, self._handle)
        for descriptor in mine:
            if descriptor >= 0:
                os.close(descriptor)
        self.arena.close()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _kill_strays(self) -> None:
        """Kill children that left the process group: they still carry the worker's mark in their environment."""
        mark = f"KERNELCONTRACTS_WORKER={self._mark}".encode()
        with contextlib.suppress(OSError):
            for entry in os.scandir("/proc"):
                if not entry.name.isdigit() or int(entry.name) == self._process.pid:
                    continue
                with contextlib.suppress(OSError):
                    if mark in Path(entry.path, "environ").read_bytes():
                        os.kill(int(entry.name), signal.SIGKILL)
