"""NumPy's own functions as kernels, with ml_dtypes for the formats NumPy lacks.

What runs, as NumPy chooses it (NumPy 2, ml_dtypes 0.5 and later):

* ``matmul`` has loops for f64, f32 (BLAS) and f16 (adds in f32). ml_dtypes adds none: bf16 and f8 operands are
  converted to f32, exactly, and go through BLAS.
* ``sum`` adds f16 in f32, pairwise. The addition of ml_dtypes rounds every partial sum to the narrow format, one
  after the other: in bf16 4096 ones make 256.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from kernelcontracts.formats.arrays import format_of
from kernelcontracts.kernels.adapters.protocol import AdapterError, Availability, listed, no_options

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


def _loop(formats: set[str]) -> type[np.floating[Any]]:
    """Return the type NumPy is asked to compute in: the declared one where it has it, else the next wider."""
    if "f64" in formats:
        return np.float64
    return np.float16 if formats == {"f16"} else np.float32


def matmul(A: np.ndarray, B: np.ndarray, *, out: np.ndarray) -> None:
    """``numpy.matmul``, which writes the declared format itself. Shapes ``[*L, M, K]`` and ``[*L, K, N]``."""
    formats = {format_of(A.dtype), format_of(B.dtype), format_of(out.dtype)}
    np.matmul(A, B, out=out, dtype=_loop(formats), casting="same_kind")


def reduce_sum(X: np.ndarray, *, out: np.ndarray) -> None:
    """``numpy.sum`` along the fast axis. Shape ``[*L, N]``."""
    _sum(X, -1, out)


def reduce_sum_first(X: np.ndarray, *, out: np.ndarray) -> None:
    """``numpy.sum`` along the slow axis of a transposed copy: the path on which NumPy does not add pairwise."""
    _sum(np.ascontiguousarray(np.moveaxis(X, -1, 0)), 0, out)


def _sum(X: np.ndarray, axis: int, out: np.ndarray) -> None:
    if X.dtype == out.dtype:
        np.sum(X, axis=axis, out=out)
        return
    # given `out` alone, NumPy would first convert X to its type, which loses digits where X is wider
    wide = _loop({format_of(X.dtype), format_of(out.dtype), "f32"})
    np.copyto(out, np.sum(X, axis=axis, dtype=wide), casting="same_kind")


def softmax(X: np.ndarray, *, out: np.ndarray) -> None:
    """Shifted by the maximum, in f32, over the last axis. Shape ``[*L, N]``."""
    if X.size == 0:
        return
    wide = X.astype(np.float32)
    wide -= wide.max(axis=-1, keepdims=True)
    np.exp(wide, out=wide)
    np.divide(wide, wide.sum(axis=-1, keepdims=True), out=out, casting="same_kind")


def gather_rows(table: np.ndarray, idx: np.ndarray, *, out: np.ndarray) -> None:
    """``numpy.take`` with its default mode: an index outside raises, a negative one counts from the end."""
    np.take(table, idx, axis=0, out=out, mode="raise")


_KERNELS: dict[str, Callable[..., None]] = {
    "matmul": matmul,
    "reduce_sum": reduce_sum,
    "softmax": softmax,
    "gather_rows": gather_rows,
}

_FLOATS = frozenset({"f64", "f32", "f16", "bf16"})
_SMALL = frozenset({"f8e4m3", "f8e5m2"})


class NumpyAdapter:
    """``numpy:matmul``, ``numpy:reduce_sum?axis=0``, ``numpy:softmax``, ``numpy:gather_rows``."""

    name = "numpy"

    def available(self) -> Availability:
        """Say yes: this package requires NumPy."""
        return Availability(ok=True)

    def load(self, target: str, operator: str, options: Mapping[str, str]) -> Callable[..., Any]:
        """Return one of the kernels above.

        Raises
        ------
        AdapterError
            If there is none of that name, it is another operator's, or an option is unknown.
        """
        if target not in _KERNELS:
            raise AdapterError(f"numpy has no kernel `{target}` here; there are {listed(_KERNELS)}")
        if target != operator:
            raise AdapterError(f"`numpy:{target}` computes {target}, not {operator}")
        no_options("numpy", options, ("axis",) if target == "reduce_sum" else ())
        axis = options.get("axis", "-1")
        if axis not in ("-1", "0"):
            raise AdapterError(f"`axis={axis}` is unknown; expected `-1` (the fast axis) or `0` (a transposed copy)")
        return reduce_sum_first if axis == "0" else _KERNELS[target]

    def declines(self, operator: str, types: Mapping[str, str]) -> str:
        """Say which formats NumPy has no loop for."""
        if operator == "softmax":
            odd = sorted(set(types.values()) - {"f32", "f16", "bf16"})
            return f"the numpy softmax computes in f32, which is not what {listed(odd)} asks for" if odd else ""
        if operator == "gather_rows":
            return _gather_declines(types)
        *operands, result = types.values()
        odd = sorted(set(operands) - _FLOATS - _SMALL) + sorted({result} - _FLOATS)
        return f"numpy has no {operator} for {listed(odd)}" if odd else ""

    def provenance(self) -> dict[str, str]:
        """Return the BLAS NumPy was built with."""
        found = np.show_config(mode="dicts")
        blas = (found or {}).get("Build Dependencies", {}).get("blas", {})
        return {"numpy_blas": f"{blas.get('name', 'unknown')} {blas.get('version', '')}".strip()}


def _gather_declines(types: Mapping[str, str]) -> str:
    *operands, result = types.values()
    if "i64" not in operands:
        return f"numpy takes rows by i64 indices, not by {operands[-1]}"
    table = next((fmt for fmt in operands if fmt != "i64"), "i64")
    return "" if table == result else f"numpy.take keeps the format; the table is {table}, the output {result}"
