"""PyTorch's own functions on CPU tensors as kernels.

Tensors lie on the shared memory and results are written there by PyTorch itself (``out=``), in the declared format:
a cast added behind the call could change which kernel runs.
"""

from __future__ import annotations

import importlib.util
from typing import TYPE_CHECKING, Any

from kernelcontracts.formats.facts import format_named
from kernelcontracts.kernels.adapters.protocol import AdapterError, Availability, listed, no_options

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import numpy as np

_TARGETS = ("matmul", "reduce_sum", "softmax", "gather_rows")

#: The formats PyTorch computes products in on a CPU.
_PRODUCTS = ("f64", "f32", "f16", "bf16")


def _kernel(target: str) -> Callable[..., None]:
    import torch

    from kernelcontracts.kernels.adapters.torch_bridge import to_tensor

    def matmul(A: np.ndarray, B: np.ndarray, *, out: np.ndarray) -> None:
        torch.matmul(to_tensor(A), to_tensor(B), out=to_tensor(out))

    def reduce_sum(X: np.ndarray, *, out: np.ndarray) -> None:
        result = to_tensor(out)
        torch.sum(to_tensor(X), dim=-1, dtype=result.dtype, out=result)

    def softmax(X: np.ndarray, *, out: np.ndarray) -> None:
        result = to_tensor(out)
        torch.softmax(to_tensor(X), -1, dtype=result.dtype, out=result)

    def gather_rows(table: np.ndarray, idx: np.ndarray, *, out: np.ndarray) -> None:
        torch.index_select(to_tensor(table), 0, to_tensor(idx), out=to_tensor(out))

    kernels: dict[str, Callable[..., None]] = {
        "matmul": matmul,
        "reduce_sum": reduce_sum,
        "softmax": softmax,
        "gather_rows": gather_rows,
    }
    return kernels[target]


def _holds(wide: str, narrow: str) -> bool:
    """Return whether every number of one format is a number of another."""
    one, other = format_named(wide), format_named(narrow)
    return one.precision >= other.precision and one.maxfinite >= other.maxfinite and one.minsub <= other.minsub


class TorchAdapter:
    """``torch:matmul``, ``torch:reduce_sum``, ``torch:softmax``, ``torch:gather_rows``; ``?threads=N``."""

    name = "torch"

    def available(self) -> Availability:
        """Say whether PyTorch is installed, without importing it."""
        if importlib.util.find_spec("torch") is not None:
            return Availability(ok=True)
        return Availability(ok=False, reason="PyTorch is not installed", how_to_install="pip install torch")

    def load(self, target: str, operator: str, options: Mapping[str, str]) -> Callable[..., Any]:
        """Return one of PyTorch's functions.

        Raises
        ------
        AdapterError
            If there is none of that name, it is another operator's, or an option is unknown.
        """
        if target not in _TARGETS:
            raise AdapterError(f"torch has no kernel `{target}` here; there are {listed(_TARGETS)}")
        if target != operator:
            raise AdapterError(f"`torch:{target}` computes {target}, not {operator}")
        no_options("torch", options, ("threads",))
        threads = options.get("threads")
        if threads is not None and not (threads.isdecimal() and int(threads) > 0):
            raise AdapterError(f"`threads={threads}` is not a number of threads; expected 1 or more")
        kernel = _kernel(target)
        if threads is not None:
            import torch

            torch.set_num_threads(int(threads))
        return kernel

    def declines(self, operator: str, types: Mapping[str, str]) -> str:
        """Say which formats PyTorch has no CPU kernel for, or would convert before it computes."""
        *operands, result = types.values()
        if operator == "matmul":
            return _matmul_declines(operands, result)
        if operator == "gather_rows":
            return _gather_declines(operands, result)
        if not _holds(result, operands[0]):
            return f"torch rounds the operand from {operands[0]} to {result} before it computes {operator}"
        return ""

    def provenance(self) -> dict[str, str]:
        """Return PyTorch's version, instruction set and number of threads."""
        import torch

        return {
            "torch_build": str(torch.__version__),
            "torch_cpu": torch.backends.cpu.get_cpu_capability(),
            "torch_threads": str(torch.get_num_threads()),
        }


def _matmul_declines(operands: list[str], result: str) -> str:
    if {*operands, result} == {result} and result in _PRODUCTS:
        return ""
    return f"torch.matmul on a CPU wants one format among {listed(_PRODUCTS)}, not {', '.join(operands)} to {result}"


def _gather_declines(operands: list[str], result: str) -> str:
    table, index = operands
    if index != "i64":
        return f"torch picks rows by i64 indices, not by {index}"
    return "" if table == result else f"torch.index_select keeps the format; the table is {table}, the output {result}"
