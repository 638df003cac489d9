"""What a worker gives up before it loads a candidate. Each step says whether it was reached."""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import os
import resource
import signal
import sys
from pathlib import Path

_PR_SET_PDEATHSIG = 1
_CLONE_NEWUSER = 0x10000000
_CLONE_NEWNET = 0x40000000
_F_SETSIG = 10

#: Largest file a candidate may write: room for compiler caches, too little to fill a disk.
_FILE_BYTES = 256 << 20


def die_with_parent(lifeline: int, *, by_thread: bool) -> None:
    """Have the kernel kill this process group once the parent is gone.

    The parent alone holds the other end of ``lifeline``; when it closes, the system sends the signal set here, to
    the whole group, whatever this process is busy with. ``PR_SET_PDEATHSIG`` does the same for a candidate that
    closes all its files, but follows the *thread* that started us, so it is used only where that is the main one.
    """
    if not sys.platform.startswith("linux"):
        return
    with contextlib.suppress(OSError):
        fcntl.fcntl(lifeline, fcntl.F_SETOWN, -os.getpgrp())
        fcntl.fcntl(lifeline, _F_SETSIG, int(signal.SIGKILL))
        fcntl.fcntl(lifeline, fcntl.F_SETFL, os.O_ASYNC)
    if by_thread:
        with contextlib.suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)


def leave_network() -> bool:
    """Enter a network namespace without interfaces; must run before any thread is started."""
    if not sys.platform.startswith("linux"):
        return False
    try:
        unshare = ctypes.CDLL(None, use_errno=True).unshare
    except (OSError, AttributeError):
        return False
    if unshare(_CLONE_NEWNET) == 0:
        return True
    user, group = os.getuid(), os.getgid()
    if unshare(_CLONE_NEWUSER | _CLONE_NEWNET) != 0:
        return False
    # an unmapped user would be `nobody`, which libraries that look up the home directory trip over
    with contextlib.suppress(OSError):
        Path("/proc/self/setgroups").write_text("deny", encoding="ascii")
        Path("/proc/self/uid_map").write_text(f"{user} {user} 1", encoding="ascii")
        Path("/proc/self/gid_map").write_text(f"{group} {group} 1", encoding="ascii")
    return True


def _lower(what: int, value: int) -> bool:
    try:
        _, hard = resource.getrlimit(what)
        top = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(what, (top, top))
    except (ValueError, OSError):
        return False
    return True


def limit_resources(memory_bytes: int) -> tuple[str, ...]:
    """Lower the limits of this process and its children; return those in force, in words.

    ``RLIMIT_DATA`` counts private writable memory (since Linux 4.7), so it stops a huge allocation before it
    happens and leaves alone the address space that accelerators reserve, which ``RLIMIT_AS`` would count.
    """
    _lower(resource.RLIMIT_CORE, 0)
    reached = []
    if _lower(resource.RLIMIT_FSIZE, _FILE_BYTES):
        reached.append(f"files up to {_FILE_BYTES >> 20} MiB")
    if sys.platform.startswith("linux") and _lower(resource.RLIMIT_DATA, memory_bytes):
        reached.append(f"allocations up to {memory_bytes / (1 << 30):.3g} GiB")
    return tuple(reached)
