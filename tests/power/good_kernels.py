"""Kernels that do what they claim, each in its own way."""

from __future__ import annotations

import numpy as np

CLAIMS = {
    "matmul_blas": {
        "accumulator": "f32",
        "acc_rounding": "rne",
        "operand_rounding": "as_given",
        "reduction_order": "unordered",
        "determinism": "bitwise",
        "daz_in": "preserve",
        "ftz_out": "preserve",
    },
    "matmul_blocked": {
        "accumulator": "f32",
        "acc_rounding": "rne",
        "operand_rounding": "as_given",
        "reduction_order": "blocked(64)",
        "determinism": "bitwise",
        "daz_in": "preserve",
        "ftz_out": "preserve",
    },
    "matmul_lanes": {
        "accumulator": "f32",
        "acc_rounding": "rne",
        "operand_rounding": "as_given",
        "reduction_order": "lanes(8)",
        "determinism": "bitwise",
        "daz_in": "preserve",
        "ftz_out": "preserve",
    },
    "matmul_into_out": {
        "accumulator": "f64",
        "acc_rounding": "rne",
        "operand_rounding": "as_given",
        "reduction_order": "unordered",
        "determinism": "bitwise",
        "daz_in": "preserve",
        "ftz_out": "preserve",
    },
    "matmul_tf32_and_says_so": {
        "accumulator": "f32",
        "acc_rounding": "rne",
        "operand_rounding": "to(tf32)",
        "reduction_order": "unordered",
        "determinism": "bitwise",
        "daz_in": "preserve",
        "ftz_out": "preserve",
    },
    "sum_pairwise": {
        "accumulator": "f32",
        "acc_rounding": "rne",
        "operand_rounding": "as_given",
        "reduction_order": "pairwise(1)",
        "determinism": "cross_shape",
        "daz_in": "preserve",
        "ftz_out": "preserve",
    },
    "sum_numpy": {
        "accumulator": "f32",
        "acc_rounding": "rne",
        "operand_rounding": "as_given",
        "reduction_order": "pairwise(128)",
        "determinism": "bitwise",
        "daz_in": "preserve",
        "ftz_out": "preserve",
    },
    "softmax_shifted": {
        "stabilization": "max_shift",
        "accumulator": "f32",
        "acc_rounding": "rne",
        "exp_ulp": 4,
    },
    "softmax_online": {
        "stabilization": "online_max_shift",
        "accumulator": "f32",
        "acc_rounding": "rne",
        "exp_ulp": 4,
    },
    "gather_raising": {"oob_policy": "RAISE", "negative_index": "out_of_bounds"},
    "gather_clipping_and_saying_so": {"oob_policy": "CLAMP", "negative_index": "out_of_bounds"},
    "gather_numpy": {"oob_policy": "RAISE", "negative_index": "wrap"},
}

BLOCK = 64
"""Terms of one block of the blocked product."""

LANES = 8
"""Running sums of the product in lanes."""


def matmul_blas(A, B):
    """Leave it to the BLAS."""
    return A @ B


def matmul_blocked(A, B):
    """Add products of blocks one after another; whatever happens inside a block is at most 63 deep."""
    total = A[..., :BLOCK] @ B[..., :BLOCK, :]
    for k in range(BLOCK, A.shape[-1], BLOCK):
        total = total + A[..., k : k + BLOCK] @ B[..., k : k + BLOCK, :]
    return total


def matmul_lanes(A, B):
    """Give every eighth term to the same running sum."""
    lanes = [A[..., i::LANES] @ B[..., i::LANES, :] for i in range(min(LANES, A.shape[-1]))]
    total = lanes[0]
    for lane in lanes[1:]:
        total = total + lane
    return total


def matmul_into_out(A, B, out):
    """Accumulate in double, round once, and write where told."""
    with np.errstate(over="ignore"):
        out[...] = (A.astype(np.float64) @ B.astype(np.float64)).astype(out.dtype)
    return out


def matmul_tf32_and_says_so(A, B):
    """Round operands to ten fraction bits."""
    return _tf32(A) @ _tf32(B)


def _tf32(x):
    words = x.astype(np.float32).view(np.uint32)
    kept = words + np.uint32(0xFFF) + ((words >> np.uint32(13)) & np.uint32(1))
    return (kept & np.uint32(0xFFFFE000)).view(np.float32)


def sum_pairwise(X):
    """Add neighbours until one is left; zeros fill up to a power of two."""
    size = X.shape[-1]
    filled = 1 << max(size - 1, 0).bit_length()
    x = np.zeros((*X.shape[:-1], filled), np.float32)
    x[..., :size] = X
    while x.shape[-1] > 1:
        x = x[..., 0::2] + x[..., 1::2]
    return np.asarray(x[..., 0]).astype(X.dtype)


def sum_numpy(X):
    """Leave it to NumPy, along rows that are contiguous."""
    return np.asarray(np.ascontiguousarray(X).sum(axis=-1, dtype=np.float32)).astype(X.dtype)


def softmax_shifted(X):
    """Subtract the maximum first."""
    x = X.astype(np.float32)
    powers = np.exp(x - x.max(axis=-1, keepdims=True))
    return (powers / powers.sum(axis=-1, keepdims=True)).astype(X.dtype)


def softmax_online(X):
    """Find maximum and sum in one pass over blocks, then divide."""
    x = X.astype(np.float32)
    top = x[..., :BLOCK].max(axis=-1, keepdims=True)
    total = np.exp(x[..., :BLOCK] - top).sum(axis=-1, keepdims=True)
    for k in range(BLOCK, x.shape[-1], BLOCK):
        part = x[..., k : k + BLOCK]
        higher = np.maximum(top, part.max(axis=-1, keepdims=True))
        total = total * np.exp(top - higher) + np.exp(part - higher).sum(axis=-1, keepdims=True)
        top = higher
    return (np.exp(x - top) / total).astype(X.dtype)


def gather_raising(table, idx):
    """Refuse indices outside the table, negative ones too."""
    if ((idx < 0) | (idx >= len(table))).any():
        raise IndexError("an index is outside the table")
    return table[idx]


def gather_clipping_and_saying_so(table, idx):
    """Clip indices into the table."""
    return table[np.clip(idx, 0, len(table) - 1)]


def gather_numpy(table, idx):
    """Index as NumPy does."""
    return table[idx]
