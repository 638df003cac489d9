"""Shared memory between parent and worker."""

from __future__ import annotations

import contextlib
import fcntl
import mmap
import os
import tempfile

import numpy as np


def _anonymous_file() -> int:
    """Return a file without a name that cannot be shrunk: reading past its end would kill the parent (SIGBUS)."""
    if not hasattr(os, "memfd_create"):
        descriptor, path = tempfile.mkstemp(prefix="kernelcontracts-")
        os.unlink(path)  # noqa: PTH108 - a path object for a file that is gone says less
        return descriptor
    descriptor = os.memfd_create("kernelcontracts", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    with contextlib.suppress(OSError, AttributeError):
        fcntl.fcntl(descriptor, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_SEAL)
    return descriptor


class Arena:
    """The parent's end: a file that grows with the largest case and lives as long as its worker."""

    def __init__(self) -> None:
        self.descriptor = _anonymous_file()
        self.size = 0
        self._map: mmap.mmap | None = None

    def bytes(self, size: int) -> np.ndarray:
        """Return the first ``size`` bytes as an array, growing the file if it is shorter."""
        if size > self.size or self._map is None:
            grown = max(size, min(2 * self.size, self.size + (64 << 20)))
            os.ftruncate(self.descriptor, grown)
            self._map, self.size = mmap.mmap(self.descriptor, grown), grown
        return np.frombuffer(self._map, np.uint8, size)

    def close(self) -> None:
        """Give the memory back once no array looks into it."""
        self._map = None
        if self.descriptor >= 0:
            os.close(self.descriptor)
            self.descriptor = -1
