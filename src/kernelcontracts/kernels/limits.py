"""What a candidate may use."""

from __future__ import annotations

import os
from dataclasses import dataclass, field

_GIB = 1 << 30


def _half_of_memory() -> int:
    try:
        pages = os.sysconf("SC_PHYS_PAGES")
        return max(pages * os.sysconf("SC_PAGE_SIZE") // 2, 1)
    except (ValueError, OSError):
        return 4 * _GIB


def default_memory() -> int:
    """Return 4 GiB, or half of the machine's memory if that is less: the run must not crowd out its parent."""
    return min(4 * _GIB, _half_of_memory())


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of one worker.

    Attributes
    ----------
    seconds
        Wall time of one call.
    start_seconds
        Wall time of starting the process and loading the kernel (frameworks take seconds, compilers minutes).
    memory_bytes
        What the process may allocate for itself, the tensors of the case not counted.
    """

    seconds: float = 60.0
    start_seconds: float = 120.0
    memory_bytes: int = field(default_factory=default_memory)
