"""What a result may depend on besides the kernel: recorded with every run."""

from __future__ import annotations

import hashlib
import os
import platform
import sys
from pathlib import Path

#: Variables that choose code paths inside numerical libraries, and so the bits of a result.
_VARIABLES = (
    "OPENBLAS_CORETYPE",
    "OPENBLAS_NUM_THREADS",
    "OMP_NUM_THREADS",
    "MKL_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    "MKL_CBWR",
    "MKL_ENABLE_INSTRUCTIONS",
    "ATEN_CPU_CAPABILITY",
    "ONEDNN_MAX_CPU_ISA",
    "NPY_DISABLE_CPU_FEATURES",
    "NPY_ENABLE_CPU_FEATURES",
)

_LIBRARIES = ("numpy", "ml_dtypes", "torch")


def _versions() -> dict[str, str]:
    # only what is loaded can have an influence; the metadata would name what is merely installed
    loaded = {name: sys.modules[name] for name in _LIBRARIES if name in sys.modules}
    return {name: str(getattr(module, "__version__", "unknown")) for name, module in loaded.items()}


def _blas() -> dict[str, str]:
    try:
        from threadpoolctl import threadpool_info
    except ImportError:
        return {"threadpools": "unknown (install threadpoolctl to record BLAS and threads)"}
    lines = []
    for pool in threadpool_info():
        build = " ".join(str(pool[key]) for key in ("version", "architecture") if pool.get(key))
        name = pool.get("internal_api", "unknown")
        lines.append(f"{name} {build}".strip() + f", {pool.get('num_threads')} threads")
    return {"threadpools": "; ".join(sorted(lines)) or "none"}


def of_worker() -> dict[str, str]:
    """Return what only the worker knows: the libraries it has loaded, their versions and threads."""
    return _versions() | _blas()


def _cpu() -> dict[str, str]:
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return {"cpu": platform.processor() or platform.machine()}
    pairs = (line.partition(":") for line in text.split("\n\n", 1)[0].splitlines())
    fields = {key.strip(): value.strip() for key, _, value in pairs}
    flags = " ".join(sorted(fields.get("flags", fields.get("Features", "")).split()))
    digest = hashlib.sha256(flags.encode()).hexdigest()[:16]
    return {"cpu": fields.get("model name", platform.machine()), "cpu_flags_sha256": digest}


def of_parent() -> dict[str, str]:
    """Return what the parent can say for itself: interpreter, platform, processor, environment variables."""
    return {
        "python": platform.python_version(),
        "platform": platform.platform(),
        **_cpu(),
        **{name: os.environ[name] for name in _VARIABLES if name in os.environ},
    }
