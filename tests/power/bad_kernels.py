"""Kernels with a planted fault each: what people ship, and what a test on random numbers lets through.

They look like kernels, not like tests. ``CLAIMS`` says what their authors would say.
"""

from __future__ import annotations

import numpy as np

CLAIMS = {
    "matmul_f16_accumulator": {
        "accumulator": "f32",
        "acc_rounding": "rne",
        "operand_rounding": "as_given",
        "reduction_order": "unordered",
        "determinism": "bitwise",
        "daz_in": "preserve",
        "ftz_out": "preserve",
    },
    "matmul_tf32_operands": {
        "accumulator": "f32",
        "acc_rounding": "rne",
        "operand_rounding": "as_given",
        "reduction_order": "unordered",
        "determinism": "bitwise",
        "daz_in": "preserve",
        "ftz_out": "preserve",
    },
    "matmul_truncating_accumulator": {
        "accumulator": "f32",
        "acc_rounding": "rne",
        "operand_rounding": "as_given",
        "reduction_order": "blocked(8)",
        "determinism": "bitwise",
        "daz_in": "preserve",
        "ftz_out": "preserve",
    },
    "matmul_f16_accumulator_when_large": {
        "accumulator": "f32",
        "acc_rounding": "rne",
        "operand_rounding": "as_given",
        "reduction_order": "unordered",
        "determinism": "bitwise",
        "daz_in": "preserve",
        "ftz_out": "preserve",
    },
    "matmul_drops_tail": {
        "accumulator": "f32",
        "acc_rounding": "rne",
        "operand_rounding": "as_given",
        "reduction_order": "unordered",
        "determinism": "bitwise",
        "daz_in": "preserve",
        "ftz_out": "preserve",
    },
    "matmul_keeps_results": {
        "accumulator": "f32",
        "acc_rounding": "rne",
        "operand_rounding": "as_given",
        "reduction_order": "unordered",
        "determinism": "bitwise",
        "daz_in": "preserve",
        "ftz_out": "preserve",
    },
    "matmul_flushes_subnormals": {
        "accumulator": "f32",
        "acc_rounding": "rne",
        "operand_rounding": "as_given",
        "reduction_order": "unordered",
        "determinism": "bitwise",
        "daz_in": "preserve",
        "ftz_out": "preserve",
    },
    "sum_one_after_another": {
        "accumulator": "f32",
        "acc_rounding": "rne",
        "operand_rounding": "as_given",
        "reduction_order": "pairwise(8)",
        "determinism": "bitwise",
        "daz_in": "preserve",
        "ftz_out": "preserve",
    },
    "softmax_without_shift": {
        "stabilization": "max_shift",
        "accumulator": "f32",
        "acc_rounding": "rne",
        "exp_ulp": 4,
    },
    "softmax_clamped": {
        "stabilization": "max_shift",
        "accumulator": "f32",
        "acc_rounding": "rne",
        "exp_ulp": 4,
    },
    "gather_zeros_out_of_range": {"oob_policy": "RAISE", "negative_index": "out_of_bounds"},
    "gather_nearest_out_of_range": {"oob_policy": "RAISE", "negative_index": "out_of_bounds"},
}

TILE = 32
"""Rows, columns and terms that the tiled kernels take at a time."""

LARGE = 512
"""Terms from which a kernel switches to its fast path."""


def matmul_f16_accumulator(A, B):
    """Multiply tiles in f32, and keep the running tile in f16 to save registers."""
    accumulator = np.zeros((*A.shape[:-1], B.shape[-1]), np.float16)
    for k in range(0, A.shape[-1], TILE):
        left = A[..., k : k + TILE].astype(np.float32)
        right = B[..., k : k + TILE, :].astype(np.float32)
        with np.errstate(over="ignore", invalid="ignore"):
            accumulator = (accumulator + left @ right).astype(np.float16)
    return accumulator.astype(A.dtype)


def matmul_tf32_operands(A, B):
    """Round operands to ten fraction bits, as a fast math mode does."""
    return _tf32(A) @ _tf32(B)


def _tf32(x):
    words = x.astype(np.float32).view(np.uint32)
    kept = words + np.uint32(0xFFF) + ((words >> np.uint32(13)) & np.uint32(1))
    return (kept & np.uint32(0xFFFFE000)).view(np.float32)


def matmul_truncating_accumulator(A, B):
    """Add eight exact products at a time and cut what f32 does not hold, as tensor cores do."""
    total = np.zeros((*A.shape[:-1], B.shape[-1]), np.float32)
    for k in range(0, A.shape[-1], 8):
        left = A[..., k : k + 8].astype(np.float64)
        right = B[..., k : k + 8, :].astype(np.float64)
        exact = total + left @ right
        total = exact.astype(np.float32)
        above = np.abs(total.astype(np.float64)) > np.abs(exact)
        total = np.where(above, np.nextafter(total, np.float32(0)), total)
    return total.astype(A.dtype)


def matmul_f16_accumulator_when_large(A, B):
    """Take the fast path where it pays."""
    if A.shape[-1] >= LARGE:
        return matmul_f16_accumulator(A, B)
    return A @ B


def matmul_drops_tail(A, B, out=None):
    """Write whole tiles only."""
    rows, columns = A.shape[-2], B.shape[-1]
    if out is None:
        out = np.empty((*A.shape[:-1], columns), A.dtype)
    for m in range(rows // TILE):
        i = slice(m * TILE, (m + 1) * TILE)
        for n in range(columns // TILE):
            j = slice(n * TILE, (n + 1) * TILE)
            out[..., i, j] = A[..., i, :] @ B[..., j]
    return out


_results = {}


def matmul_keeps_results(A, B):
    """Allocate and fill a result once for each pair of shapes."""
    key = (A.shape, B.shape, A.dtype)
    if key not in _results:
        _results[key] = A @ B
    return _results[key].copy()


def matmul_flushes_subnormals(A, B):
    """Run with subnormal numbers switched off, as a library does that sets the processor's flags."""
    return _flushed(_flushed(A) @ _flushed(B))


def _flushed(x):
    tiny = np.finfo(np.float32).tiny
    return np.where(np.abs(x) < tiny, x.dtype.type(0), x)


def sum_one_after_another(X):
    """Add along the rows in one running total."""
    if X.shape[-1] == 0:
        return np.zeros(X.shape[:-1], X.dtype)
    running = np.cumsum(X, axis=-1, dtype=np.float32)
    return np.asarray(running[..., -1]).astype(X.dtype)


def softmax_without_shift(X):
    """Exponentiate and divide."""
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        powers = np.exp(X.astype(np.float32))
        return (powers / powers.sum(axis=-1, keepdims=True)).astype(X.dtype)


def softmax_clamped(X):
    """Keep exponentials finite by limiting their arguments."""
    return softmax_without_shift(np.clip(X.astype(np.float32), -80, 80)).astype(X.dtype)


def gather_zeros_out_of_range(table, idx):
    """Mask what lies outside the table."""
    inside = (idx >= 0) & (idx < len(table))
    rows = table[np.where(inside, idx, 0)]
    return np.where(inside[:, None], rows, table.dtype.type(0))


def gather_nearest_out_of_range(table, idx):
    """Clip indices into the table."""
    return table[np.clip(idx, 0, len(table) - 1)]
