"""Kernels that misbehave, each in one way. They stand for faults that people make, and some that they make on purpose.

All are for ``reduce_sum`` in f32. Every one behaves when the first element of its input is not
``TRIGGER``, so that one worker can be asked for a good call after a bad one. Those whose worker
survives can share it: ``selected`` takes the number of a kernel as the second element.
"""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np

TRIGGER = 666.0

_earlier = []
_frozen = []
_workspace = []


def _bad(X):
    return X.flat[0] == TRIGGER


def _right(X):
    return X.sum(axis=-1)


def honest(X):
    return _right(X)


def honest_out(X, *, out):
    np.sum(X, axis=-1, out=out)


def hangs(X):
    while _bad(X):
        time.sleep(1)
    return _right(X)


def hangs_in_c(X):
    if _bad(X):
        ctypes.PyDLL(None).sleep(1000)  # PyDLL keeps the interpreter lock
    return _right(X)


def exits_cleanly(X):
    if _bad(X):
        os._exit(0)
    return _right(X)


def kills_itself(X):
    if _bad(X):
        os.kill(os.getpid(), signal.SIGKILL)
    return _right(X)


def segfaults(X):
    if _bad(X):
        ctypes.string_at(0)
    return _right(X)


def allocates_100_gib(X):
    if _bad(X):
        np.ones(100 << 30, np.uint8)
    return _right(X)


def fills_shared_memory(X):
    if _bad(X):
        import mmap

        block = mmap.mmap(-1, 8 << 30)  # shared, so no limit on private memory sees it
        for start in range(0, 8 << 30, 1 << 24):
            block[start : start + (1 << 24)] = b"\xff" * (1 << 24)
    return _right(X)


def writes_its_input(X):
    result = _right(X)
    if _bad(X):
        X[0, -1] = 0
    return result


def writes_past_its_output(X, *, out):
    np.sum(X, axis=-1, out=out)
    if _bad(X):
        (ctypes.c_float * (out.size + 1)).from_address(out.ctypes.data)[out.size] = 1.0


def writes_before_its_output(X, *, out):
    np.sum(X, axis=-1, out=out)
    if _bad(X):
        np.lib.stride_tricks.as_strided(out, (out.size + 1,), (-4,))[1] = 1.0


def leaves_the_tail(X, *, out):
    rows = -1 if _bad(X) else None
    np.sum(X[:rows], axis=-1, out=out[:rows])


def writes_nothing(X, *, out):
    if not _bad(X):
        np.sum(X, axis=-1, out=out)


def returns_empty_memory(X):
    result = np.empty(X.shape[:-1], X.dtype)
    rows = -1 if _bad(X) else None
    result[:rows] = _right(X)[:rows]
    return result


def returns_its_input(X):
    return X[:, 0] if _bad(X) else _right(X)


def returns_the_last_result(X):
    if not _bad(X) or not _earlier:
        _earlier.append(_right(X))
    return _earlier[-1]


def returns_a_frozen_last_result(X):
    if not _bad(X) or not _frozen:
        result = _right(X)
        result.flags.writeable = False
        _frozen.append(result)
    return _frozen[-1]


def reuses_its_workspace(X):
    """Legitimate: the same array again, computed anew."""
    if not _workspace or _workspace[0].shape != X.shape[:-1]:
        _workspace[:] = [np.empty(X.shape[:-1], X.dtype)]
    np.sum(X, axis=-1, out=_workspace[0])
    return _workspace[0]


def patches_everything(X):
    if _bad(X):
        import builtins

        def yes(*_args, **_kwargs):
            return True

        for name in ("array_equal", "allclose", "shares_memory", "may_share_memory", "copyto", "array"):
            setattr(np, name, yes)
        np.testing.assert_allclose = yes
        builtins.all = builtins.any = yes
        os.getpid = os._exit = yes
        for name in ("torch", "msgspec", "kernelcontracts", "kernelcontracts.kernels.wire"):
            sys.modules[name] = None
        return np.zeros(X.shape[:-1], X.dtype)
    return _right(X)


def floods_stdout(X):
    if _bad(X):
        line = b"spam" * 4096
        for _ in range(2000):
            os.write(1, line)
            os.write(2, line)
    return _right(X)


def returns_the_wrong_shape(X):
    return _right(X)[:-1] if _bad(X) else _right(X)


def returns_the_wrong_format(X):
    return _right(X).astype(np.float64) if _bad(X) else _right(X)


def returns_none(X):
    return None if _bad(X) else _right(X)


def declines(X):
    return NotImplemented if _bad(X) else _right(X)


def writes_garbage_to_all_files(X):
    if _bad(X):
        for descriptor in range(64):
            try:
                os.set_blocking(descriptor, False)
                os.write(descriptor, b"\xff garbage \xff" * 8)
            except OSError:
                continue
    return _right(X)


def _channels():
    """Return this process's writable pipes, other than standard output and error."""
    found = []
    for descriptor in range(3, 64):
        try:
            link = str(Path(f"/proc/self/fd/{descriptor}").readlink())
            flags = int(Path(f"/proc/self/fdinfo/{descriptor}").read_text().split("flags:")[1].split()[0], 8)
        except OSError:
            continue
        if link.startswith("pipe:") and flags & os.O_ACCMODE == os.O_WRONLY:
            found.append(descriptor)
    return found


def replies_twice(X):
    """Write a second, forged reply a moment after the true one."""
    if _bad(X):
        body = b"\x80"
        descriptor = _channels()[0]

        def later():
            time.sleep(0.05)
            os.write(descriptor, len(body).to_bytes(4, "big") + body)

        threading.Thread(target=later).start()
    return _right(X)


def forges_a_reply(X):
    """Claim success before the fact, for the call that a reply by number would be."""
    if _bad(X):
        import msgspec

        body = msgspec.msgpack.encode({"number": 10**6, "outcome": "completed"})
        os.write(_channels()[0], len(body).to_bytes(4, "big") + body)
    return _right(X)


def closes_all_files(X):
    if _bad(X):
        os.closerange(0, 1024)
    return _right(X)


def shrinks_the_shared_memory(X):
    if _bad(X):
        for descriptor in range(3, 64):
            try:
                os.ftruncate(descriptor, 0)
            except OSError:
                continue
    return _right(X)


def forks(X):
    """Return in both processes."""
    if _bad(X):
        os.fork()
    return _right(X)


def leaves_children(X):
    """Start children that would outlive it, in a session of their own."""
    if _bad(X):
        command = [sys.executable, "-c", "import time; time.sleep(600)"]
        child = subprocess.Popen(command, start_new_session=True)
        print("child", child.pid, flush=True)
    return _right(X)


def forks_and_dies(X):
    """Leave a child that holds the channel open, and die."""
    if _bad(X):
        if os.fork() == 0:
            time.sleep(600)
        os._exit(7)
    return _right(X)


class Unspeakable(BaseException):
    """An exception whose message cannot be read."""

    def __str__(self):
        raise RuntimeError("no")


def raises_base_exception(X):
    if _bad(X):
        raise Unspeakable
    return _right(X)


def raises_system_exit(X):
    if _bad(X):
        sys.exit("enough")
    return _right(X)


def raises_keyboard_interrupt(X):
    if _bad(X):
        raise KeyboardInterrupt
    return _right(X)


def raises_a_novel(X):
    if _bad(X):
        raise ValueError("all work and no play\n" * 100_000)
    return _right(X)


def raises_terminal_codes(X):
    if _bad(X):
        raise ValueError("\x1b[2J\x1b[1;32mPASS\x07\r\n all tests")
    return _right(X)


def deletes_its_folder(X):
    if _bad(X):
        import shutil

        shutil.rmtree(Path.cwd())
    return _right(X)


def connects(X):
    if _bad(X):
        import socket

        socket.create_connection(("127.0.0.1", int(X.flat[1])), timeout=5)
    return _right(X)


SELECTABLE = (
    honest,
    reuses_its_workspace,
    writes_its_input,
    returns_empty_memory,
    returns_its_input,
    returns_the_last_result,
    returns_a_frozen_last_result,
    returns_the_wrong_shape,
    returns_the_wrong_format,
    returns_none,
    declines,
    shrinks_the_shared_memory,
    forks,
    raises_base_exception,
    raises_system_exit,
    raises_keyboard_interrupt,
    raises_a_novel,
    raises_terminal_codes,
    floods_stdout,
)

SELECTABLE_OUT = (
    honest_out,
    writes_past_its_output,
    writes_before_its_output,
    leaves_the_tail,
    writes_nothing,
)


def selected(X):
    return SELECTABLE[int(X.flat[1])](X)


def selected_out(X, *, out):
    SELECTABLE_OUT[int(X.flat[1])](X, out=out)
