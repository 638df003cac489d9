"""Kernels of the kind people write, with what they claim about themselves.

``kc check examples/kernels.py:blocked_matmul --operator matmul`` checks one of them. The claims are read from the
literal below without running this file.
"""

import numpy as np

CLAIMS = {
    "blocked_matmul": {
        "accumulator": "f32",
        "acc_rounding": "rne",
        "operand_rounding": "as_given",
        "reduction_order": "unordered",
        "determinism": "bitwise",
        "daz_in": "preserve",
        "ftz_out": "preserve",
    },
    "half_accumulator": {
        "accumulator": "f32",
        "acc_rounding": "rne",
        "operand_rounding": "as_given",
        "reduction_order": "unordered",
        "determinism": "bitwise",
        "daz_in": "preserve",
        "ftz_out": "preserve",
    },
}


def blocked_matmul(A, B, out):
    """Multiply in tiles of 64 along the summed dimension, partial results in float32."""
    out[...] = 0
    for start in range(0, A.shape[-1], 64):
        out += A[..., start : start + 64] @ B[..., start : start + 64, :]


def half_accumulator(A, B, out):
    """The same, but the running result between tiles is kept in float16."""
    total = np.zeros(out.shape, np.float16)
    for start in range(0, A.shape[-1], 64):
        total += (A[..., start : start + 64] @ B[..., start : start + 64, :]).astype(np.float16)
    out[...] = total
