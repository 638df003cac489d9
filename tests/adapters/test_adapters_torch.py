"""The bridge to PyTorch, and what PyTorch does by itself."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from kernelcontracts.formats.arrays import dtype_of
from kernelcontracts.kernels.adapters.torch_adapter import TorchAdapter
from kernelcontracts.kernels.address import Address, parse_address
from kernelcontracts.kernels.observation import Outcome
from kernelcontracts.kernels.session import open_session
from kernelcontracts.lang.decl import Operator, Param

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch

REDUCE = Operator("reduce_sum", (Param("X", "Tx", ()),), (Param("S", "Ts", ()),))
FORMATS = ("f64", "f32", "f16", "bf16", "f8e4m3", "f8e5m2", "i64")


@pytest.mark.parametrize("fmt", FORMATS)
@pytest.mark.parametrize("shape", [(), (0, 3), (4,), (3, 4)])
def test_a_tensor_lies_on_the_memory_of_its_array(fmt, shape):
    from kernelcontracts.kernels.adapters.torch_bridge import tensor_type, to_array, to_tensor

    array = np.ones(shape, np.float64).astype(dtype_of(fmt))
    tensor = to_tensor(array)
    back = to_array(tensor)

    assert tensor.dtype == tensor_type(fmt)
    assert tuple(tensor.shape) == shape
    assert back.dtype == array.dtype
    if array.size:
        assert np.shares_memory(back, array)
        tensor.zero_()
        assert not array.astype(np.float64).any()


def test_strides_survive_the_bridge():
    from kernelcontracts.kernels.adapters.torch_bridge import to_tensor

    array = np.arange(12).reshape(3, 4).astype(dtype_of("bf16")).T

    assert to_tensor(array).tolist() == array.astype(np.float64).tolist()


@pytest.mark.parametrize(
    ("operator", "types", "words"),
    [
        ("matmul", {"A": "bf16", "B": "bf16", "C": "f32"}, "wants one format"),
        ("matmul", {"A": "f8e4m3", "B": "f8e4m3", "C": "bf16"}, "wants one format"),
        ("reduce_sum", {"X": "f32", "S": "bf16"}, "rounds the operand from f32 to bf16"),
        ("reduce_sum", {"X": "bf16", "S": "f16"}, "rounds the operand"),
        ("softmax", {"X": "f32", "Y": "f16"}, "rounds the operand"),
        ("gather_rows", {"table": "f32", "idx": "i64", "out": "f16"}, "keeps the format"),
    ],
)
def test_what_torch_would_convert_first_is_declined(operator, types, words):
    assert words in TorchAdapter().declines(operator, types)


def test_an_index_outside_raises_and_so_does_a_negative_one():
    gather = Operator("gather_rows", (Param("table", "T", ()), Param("idx", "i64", ())), (Param("out", "T", ()),))
    table = np.ones((3, 2), np.float32)
    types = {"table": "f32", "idx": "i64", "out": "f32"}
    with open_session(parse_address("torch:gather_rows?threads=1"), gather) as session:
        for index in (3, -1):
            idx = np.array([index], np.int64)
            seen = session.call({"table": table, "idx": idx}, types=types, output_shapes={"out": (1, 2)})
            assert seen.outcome is Outcome.RAISED, index
        assert session.environment["torch_threads"] == "1"
        assert session.environment["torch"] == str(torch.__version__)


def test_a_function_of_tensors_in_a_file_writes_into_the_shared_memory(tmp_path):
    file = Path(tmp_path, "mine.py")
    file.write_text("import torch\ndef f(X, *, out):\n    return torch.sum(X, -1, out=out)\n")
    X = np.ones((2, 3)).astype(dtype_of("bf16"))
    with open_session(Address("file", "f", str(file), (("arrays", "torch"),)), REDUCE) as session:
        seen = session.call({"X": X}, types={"X": "bf16", "S": "bf16"}, output_shapes={"S": (2,)})

    assert seen.outcome is Outcome.COMPLETED, seen.message
    assert seen.owned
    assert seen.outputs["S"].astype(np.float64).tolist() == [3, 3]


def test_a_function_of_tensors_returns_arrays_on_the_memory_of_its_tensors():
    from kernelcontracts.kernels.adapters.torch_bridge import with_tensors

    X = np.ones((2, 3)).astype(dtype_of("bf16"))
    alias = with_tensors(lambda X: X[:, 0])(X)
    both = with_tensors(lambda X: (X.sum(-1), None))(X)

    assert np.shares_memory(alias, X)
    assert both[0].astype(np.float64).tolist() == [3, 3]
    assert both[1] is None


def test_a_function_of_tensors_can_decline():
    from kernelcontracts.kernels.adapters.torch_bridge import with_tensors

    X, S = np.ones((2, 3), np.float32), np.ones(2, np.float32)

    assert with_tensors(lambda X: NotImplemented)(X) is NotImplemented
    assert with_tensors(lambda X, *, out: NotImplemented)(X, out=S) is NotImplemented


def test_a_returned_tensor_is_malformed_and_the_message_names_the_option():
    from kernelcontracts.kernels.returned import MalformedError, check
    from kernelcontracts.kernels.wire import Place

    with pytest.raises(MalformedError, match=r"`Tensor`.*add `\?arrays=torch`"):
        check(torch.ones(2), Place("S", "f32", (2,), (4,), 0))
