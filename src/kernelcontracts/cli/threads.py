"""One thread for the harness's own products, so that they do not fight the candidate for the cores.

OpenBLAS's idle threads spin for milliseconds after each call; on a small machine that costs more than they give.
The variable is set only while NumPy is loaded here: the worker, and so the candidate, inherits the environment as
the user left it, because a thread count can change a kernel's bits.
"""

from __future__ import annotations

import os
import sys

VARIABLES = ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS")


def load_numpy_with_one_thread() -> None:
    """Import NumPy with a single-threaded BLAS, and leave the environment unchanged."""
    if "numpy" in sys.modules:
        return
    saved = {name: os.environ.get(name) for name in VARIABLES}
    os.environ.update(dict.fromkeys(VARIABLES, "1"))
    try:
        import numpy  # noqa: F401, ICN001  # loaded for its effect: the BLAS reads the variables once, now
    finally:
        for name, value in saved.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
