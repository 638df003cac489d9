"""Tensors and arrays on the same memory. Nothing is copied, nothing is converted.

NumPy and PyTorch know no common dtype for bf16 and f8, so those cross as integers of the same width.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from kernelcontracts.formats.arrays import dtype_of, format_of
from kernelcontracts.kernels.adapters.protocol import takes_out

if TYPE_CHECKING:
    from collections.abc import Callable

_TENSOR_TYPES = {
    "f64": torch.float64,
    "f32": torch.float32,
    "f16": torch.float16,
    "bf16": torch.bfloat16,
    "f8e4m3": torch.float8_e4m3fn,
    "f8e5m2": torch.float8_e5m2,
    "i64": torch.int64,
}
_NAMES = {value: name for name, value in _TENSOR_TYPES.items()}

#: Integers that carry the formats NumPy and PyTorch do not share.
_CARRIERS = {
    "bf16": (np.int16, torch.int16),
    "f8e4m3": (np.uint8, torch.uint8),
    "f8e5m2": (np.uint8, torch.uint8),
}


def tensor_type(fmt: str) -> torch.dtype:
    """Return the tensor type that stores a format."""
    return _TENSOR_TYPES[fmt]


def to_tensor(array: np.ndarray) -> torch.Tensor:
    """Return a tensor on an array's memory."""
    fmt = format_of(array.dtype)
    if fmt not in _CARRIERS:
        return torch.from_numpy(array)
    return torch.from_numpy(array.view(_CARRIERS[fmt][0])).view(_TENSOR_TYPES[fmt])


def to_array(tensor: torch.Tensor) -> np.ndarray:
    """Return an array on a tensor's memory; a tensor of an accelerator is fetched first."""
    here = tensor.detach().cpu()
    fmt = _NAMES.get(here.dtype)
    if fmt not in _CARRIERS:
        return here.numpy()
    return here.view(_CARRIERS[fmt][1]).numpy().view(dtype_of(fmt))


def _array_if_tensor(value: Any) -> Any:
    return to_array(value) if isinstance(value, torch.Tensor) else value


def with_tensors(function: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a function of tensors as a kernel of arrays."""
    if takes_out(function):

        def writing(*arrays: np.ndarray, out: np.ndarray | tuple[np.ndarray, ...]) -> Any:
            target = tuple(map(to_tensor, out)) if isinstance(out, tuple) else to_tensor(out)
            result = function(*map(to_tensor, arrays), out=target)
            return NotImplemented if result is NotImplemented else None

        return writing

    def returning(*arrays: np.ndarray) -> Any:
        result = function(*map(to_tensor, arrays))
        if isinstance(result, (tuple, list)):
            return tuple(map(_array_if_tensor, result))
        return _array_if_tensor(result)

    return returning
