"""`assert_conforms`: a derived tolerance, and a message that says what was allowed."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from kernelcontracts import ConformanceError, assert_conforms

RNG = np.random.default_rng(5)
A = RNG.standard_normal((8, 300), dtype=np.float32)
B = RNG.standard_normal((300, 6), dtype=np.float32)


def narrowed(x, dtype):
    return x.astype(dtype).astype(np.float32)


def test_a_plain_product_conforms():
    assert_conforms(A @ B, operator="matmul", inputs=(A, B), claims={"accumulator": "f32"})


def test_a_batched_product_in_bf16_conforms_and_its_neighbour_does_not():
    a, b = (RNG.standard_normal(s).astype(ml_dtypes.bfloat16) for s in ((2, 3, 64), (2, 64, 5)))
    right = (a.astype(np.float32) @ b.astype(np.float32)).astype(ml_dtypes.bfloat16)
    assert_conforms(right, operator="matmul", inputs=(a, b))
    wrong = right.copy()
    wrong[1, 2, 3] = wrong[1, 2, 3].astype(np.float32) * np.float32(1.05)
    with pytest.raises(ConformanceError, match=r"index \(1, 2, 3\)"):
        assert_conforms(wrong, operator="matmul", inputs=(a, b))


def test_operands_cut_to_f16_break_an_f32_claim_and_keep_a_coarser_one():
    a, b = np.abs(A[:, :16]), np.abs(B[:16])
    cut = narrowed(a, ml_dtypes.bfloat16) @ narrowed(b, ml_dtypes.bfloat16)
    with pytest.raises(ConformanceError, match="C-PRC-01-MATMUL#close"):
        assert_conforms(cut, operator="matmul", inputs=(a, b), claims={"accumulator": "f32"})
    assert_conforms(cut, operator="matmul", inputs=(a, b), claims={"operand_rounding": "to(bf16)"})


def test_a_failure_tells_count_index_values_bound_clause_and_claims():
    wrong = A @ B
    wrong[3, 4] += 1
    with pytest.raises(ConformanceError) as caught:
        assert_conforms(wrong, operator="matmul", inputs=(A, B), msg="layer 3")
    said = str(caught.value)
    assert said.startswith("layer 3\n")
    for part in ("Mismatched elements: 1 / 48", "index (3, 4)", "Got ", "allowed", "Clause: ", "Bound: ", "Claims: "):
        assert part in said


def test_whole_numbers_leave_no_tolerance():
    a, b = np.full((2, 4), 3, np.float32), np.full((4, 2), 5, np.float32)
    assert_conforms(np.full((2, 2), 60, np.float32), operator="matmul", inputs=(a, b))
    with pytest.raises(ConformanceError, match="#exact"):
        assert_conforms(np.full((2, 2), np.nextafter(np.float32(60), 61)), operator="matmul", inputs=(a, b))


def test_softmax_and_gather_have_their_own_clauses():
    x = RNG.standard_normal((4, 50), dtype=np.float32)
    shifted = np.exp(x - x.max(-1, keepdims=True))
    y = shifted / shifted.sum(-1, keepdims=True)
    assert_conforms(y, operator="softmax", inputs=(x,))
    with pytest.raises(ConformanceError, match="C-PRC-02-SOFTMAX"):
        assert_conforms(np.zeros_like(y), operator="softmax", inputs=(x,))
    rows = np.array([3, 0, 0], np.int64)
    assert_conforms(A[rows], operator="gather_rows", inputs=(A, rows))
    with pytest.raises(ConformanceError, match="in_range"):
        assert_conforms(A[rows + 1], operator="gather_rows", inputs=(A, rows))


def test_zeros_are_no_softmax_however_little_is_claimed():
    x = np.zeros((1, 8), np.float32)
    claims = {"accumulator": "f16", "exp_ulp": 4096}
    with pytest.raises(ConformanceError):
        assert_conforms(x, operator="softmax", inputs=(x,), claims=claims)


def test_a_result_that_is_subnormal_in_f16_is_rounded_there_once_more():
    # found by review: an accumulator of f16's precision and a wider range rounds to f16's subnormals on storing
    a = np.full((1, 5), 3 * 2.0**-12, np.float16)
    b = np.full((5, 1), 5 * 2.0**-13, np.float16)
    exact = 5 * 15 * 2.0**-25
    for accumulator in ("tf32", "bf16", "f32"):
        assert_conforms(
            np.array([[exact]]).astype(np.float16),
            operator="matmul",
            inputs=(a, b),
            claims={"accumulator": accumulator},
        )


def test_inputs_outside_every_domain_are_no_pass():
    a = np.array([[np.inf, 1.0]], np.float32)
    with pytest.raises(ConformanceError, match="finite"):
        assert_conforms(np.array([[np.inf]], np.float32), operator="matmul", inputs=(a, a.T.copy()))
    with pytest.raises(ConformanceError, match="not in f64"):
        assert_conforms(A.astype(float) @ B, operator="matmul", inputs=(A.astype(float), B.astype(float)))


@pytest.mark.parametrize(
    ("output", "operator", "inputs", "claims", "said"),
    [
        (A @ B, "matmuls", (A, B), None, "no operator"),
        (A @ B, "matmul", (A,), None, "2 inputs"),
        (A @ B, "matmul", (A, B[:5]), None, "`K` is 5, not 300"),
        (A, "matmul", (A, B), None, "has shape"),
        (A @ B, "matmul", (A[0], B), None, "dimensions"),
        (A @ B, "matmul", (A, B), {"accumulator": "f33"}, "f33"),
        (A @ B, "matmul", (A, B), {"acumulator": "f32"}, "acumulator"),
    ],
)
def test_what_makes_no_sense_is_said(output, operator, inputs, claims, said):
    with pytest.raises(ValueError, match=said):
        assert_conforms(output, operator=operator, inputs=inputs, claims=claims)


def test_strings_are_no_arrays():
    with pytest.raises(TypeError, match="dtype"):
        assert_conforms(["a"], operator="matmul", inputs=(A, B))


@pytest.mark.torch
def test_torch_tensors_are_read_bit_for_bit():
    torch = pytest.importorskip("torch")
    a, b = torch.randn(4, 40).bfloat16(), torch.randn(40, 3).bfloat16()
    assert_conforms(a @ b, operator="matmul", inputs=(a, b))
    with pytest.raises(ConformanceError):
        assert_conforms((a @ b) * 1.5, operator="matmul", inputs=(a, b))
