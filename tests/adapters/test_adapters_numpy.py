"""What NumPy does in the formats where it is easy to guess wrong."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from kernelcontracts.kernels.adapters.numpy_adapter import NumpyAdapter
from kernelcontracts.kernels.adapters.protocol import Adapter, AdapterError


def run(target, *inputs, out, **options):
    NumpyAdapter().load(target, target, options)(*inputs, out=out)
    return out


def test_the_adapter_follows_the_protocol():
    assert isinstance(NumpyAdapter(), Adapter)
    assert NumpyAdapter().available().ok


def test_a_bf16_sum_rounds_every_partial_sum_one_after_the_other():
    X = np.random.default_rng(1).standard_normal((3, 500)).astype(ml_dtypes.bfloat16)
    expected = np.zeros(3, ml_dtypes.bfloat16)
    for column in X.T:
        # the f32 sum of two bf16 numbers has 24 bits, and 24 >= 2 * 8 + 2, so rounding it again is innocuous
        expected = (expected.astype(np.float32) + column.astype(np.float32)).astype(ml_dtypes.bfloat16)
    found = run("reduce_sum", X, out=np.empty(3, ml_dtypes.bfloat16))

    assert np.array_equal(found.view(np.uint16), expected.view(np.uint16))


def test_4096_ones_make_256_in_bf16():
    X = np.ones((1, 4096), ml_dtypes.bfloat16)

    assert run("reduce_sum", X, out=np.empty(1, ml_dtypes.bfloat16))[0] == 256
    assert run("reduce_sum", X, out=np.empty(1, np.float32))[0] == 4096


def test_the_slow_axis_is_summed_naively():
    """2^24 + 1 is a tie in f32: one after the other, ones get lost."""
    X = np.ones((1, (1 << 24) + 8), np.float32)
    X = np.broadcast_to(X, (2, X.shape[1]))
    fast = run("reduce_sum", X[:1], out=np.empty(1, np.float32))
    slow = run("reduce_sum", X, out=np.empty(2, np.float32), axis="0")

    assert fast[0] == (1 << 24) + 8
    assert slow.tolist() == [1 << 24] * 2


def test_an_f64_sum_is_not_narrowed_before_it_is_added():
    X = np.array([[2.0**60, 1.0, -(2.0**60)]])
    X[0, 1] = 256.0  # kept by f64 beside 2^60, lost by f32

    assert run("reduce_sum", X, out=np.empty(1, np.float32))[0] == 256


def test_a_product_of_f16_into_f32_is_not_rounded_to_f16_on_the_way():
    A, B = np.array([[2048, 1]], np.float16), np.ones((2, 1), np.float16)

    assert run("matmul", A, B, out=np.empty((1, 1), np.float32))[0, 0] == 2049


def test_a_product_of_bf16_is_rounded_once():
    """257 is a tie of bf16, and 257 + 2^-9 is above it: a first rounding to bf16 inside would lose that."""
    A = np.array([[256, 1, 2.0**-9]]).astype(ml_dtypes.bfloat16)
    B = np.ones((3, 1), ml_dtypes.bfloat16)

    assert run("matmul", A, B, out=np.empty((1, 1), ml_dtypes.bfloat16))[0, 0] == 258


def test_a_softmax_of_large_numbers_does_not_overflow():
    X = np.array([[1e4, 1e4], [-6e4, 0]], np.float16)

    assert run("softmax", X, out=np.empty((2, 2), np.float16)).tolist() == [[0.5, 0.5], [0.0, 1.0]]


def test_an_index_outside_raises_and_a_negative_one_wraps():
    table = np.arange(6, dtype=np.float32).reshape(3, 2)
    out = np.empty((1, 2), np.float32)

    assert run("gather_rows", table, np.array([-1]), out=out).tolist() == [[4, 5]]
    with pytest.raises(IndexError):
        run("gather_rows", table, np.array([3]), out=out)


@pytest.mark.parametrize(
    ("operator", "types", "words"),
    [
        ("matmul", {"A": "f32", "B": "f32", "C": "f8e4m3"}, "`f8e4m3`"),
        ("softmax", {"X": "f64", "Y": "f64"}, "computes in f32"),
        ("gather_rows", {"table": "f32", "idx": "i64", "out": "f16"}, "keeps the format"),
        ("gather_rows", {"table": "f32", "idx": "f32", "out": "f32"}, "i64 indices"),
    ],
)
def test_what_numpy_cannot_do_is_declined_with_a_reason(operator, types, words):
    assert words in NumpyAdapter().declines(operator, types)


def test_an_unknown_axis_is_refused():
    with pytest.raises(AdapterError, match="`axis=1` is unknown"):
        NumpyAdapter().load("reduce_sum", "reduce_sum", {"axis": "1"})
