"""Emulated kernels behind addresses such as ``emulator:matmul?accumulator=f16&fault=zeros()``."""

from __future__ import annotations

from functools import partial
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any

import numpy as np

from kernelcontracts.formats.arrays import format_of
from kernelcontracts.kernels.adapters.protocol import AdapterError, Availability
from kernelcontracts.operators.defaults import DEFAULTS
from kernelcontracts.operators.emulate import INPUTS, OUTPUTS, emulate
from kernelcontracts.operators.faults import inject
from kernelcontracts.operators.options import decisions_of, fault_of
from kernelcontracts.operators.sums import matmul

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from kernelcontracts.kernels.address import Address
    from kernelcontracts.lang.values import ClaimValue
    from kernelcontracts.operators.faults import Kernel

ROWS = {"A": (1, 1), "B": (1, 1), "X": (1, 1), "table": (1, 1), "idx": (1,)}
"""The smallest inputs: a call on them finds every value that no emulation knows."""


class EmulatedKernel:
    """One emulated kernel: it counts its calls, and writes into the buffer it is given.

    Parameters
    ----------
    operator
        The operator.
    options
        The address's options: decisions, ``fault``, and for matmul ``fma=yes``.

    Raises
    ------
    ValueError
        If an option or a value is unknown.
    """

    def __init__(self, operator: str, options: Mapping[str, str]) -> None:
        self.operator = operator
        self.decisions = decisions_of(operator, options)
        self._compute = _compute(operator, options)
        self._calls = 0
        self._out: np.ndarray[Any, Any] | None = None
        fault = fault_of(options)
        self._kernel: Kernel = self._honest
        if fault is not None:
            self._kernel = inject(fault, self._honest, operator=operator, found=self._found)

    def __call__(self, *inputs: np.ndarray[Any, Any], out: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """Compute, and write to ``out``, whose dtype is the declared format of the output."""
        self._out = out
        try:
            result = self._kernel(dict(zip(INPUTS[self.operator], inputs, strict=True)))
        finally:
            self._calls += 1
        out[...] = result[OUTPUTS[self.operator]]
        return out

    def _honest(self, inputs: Mapping[str, np.ndarray[Any, Any]]) -> dict[str, np.ndarray[Any, Any]]:
        assert self._out is not None
        types = {name: format_of(x.dtype) for name, x in inputs.items()}
        types[OUTPUTS[self.operator]] = format_of(self._out.dtype)
        return self._compute(inputs, types, self.decisions, call=self._calls)

    def _found(self, name: str, result: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        del name, result
        assert self._out is not None
        return self._out


def _compute(operator: str, options: Mapping[str, str]) -> Callable[..., dict[str, np.ndarray[Any, Any]]]:
    fma = options.get("fma")
    if fma is None:
        return partial(emulate, operator)
    if operator != "matmul" or fma not in {"yes", "no"}:
        raise ValueError(f"`fma={fma}` is not known here; `matmul` takes `fma=yes` or `fma=no`")
    return partial(matmul, fma=fma == "yes")


class EmulatorAdapter:
    """Kernels with one switch for each decision, and faults on request. Always available."""

    name = "emulator"

    def available(self) -> Availability:
        """Say that it can be used: it needs numpy only."""
        return Availability(ok=True)

    def load(self, target: str, operator: str, options: Mapping[str, str]) -> Callable[..., Any]:
        """Return the emulated kernel.

        Raises
        ------
        AdapterError
            If the target is not the operator, an option is none of its decisions, or a value is
            unknown.
        """
        if target not in DEFAULTS:
            raise AdapterError(f"there is no emulator `{target}`; there are {', '.join(sorted(DEFAULTS))}")
        if target != operator:
            raise AdapterError(f"`emulator:{target}` is not a kernel for `{operator}`; use `emulator:{operator}`")
        try:
            _try(EmulatedKernel(operator, options))
            return EmulatedKernel(operator, options)
        except (ValueError, KeyError) as error:
            raise AdapterError(str(error.args[0])) from error

    def declines(self, operator: str, types: Mapping[str, str]) -> str:
        """Say why the operator cannot be emulated in these formats, or return ``""``."""
        if operator not in DEFAULTS:
            return f"there is no emulator for `{operator}`"
        if operator == "gather_rows" and types.get("table") != types.get("out"):
            return "a gather copies bits: `table` and `out` have the same format"
        return ""

    def provenance(self) -> dict[str, str]:
        """Return the version of this package and of numpy."""
        try:
            own = version("kernelcontracts")
        except PackageNotFoundError:
            own = "not installed"
        return {"emulator": f"kernelcontracts {own}", "numpy": np.__version__}


def _try(kernel: EmulatedKernel) -> None:
    shapes = [ROWS[name] for name in INPUTS[kernel.operator]]
    kinds = [np.int64 if name == "idx" else np.float32 for name in INPUTS[kernel.operator]]
    inputs = [np.zeros(shape, kind) for shape, kind in zip(shapes, kinds, strict=True)]
    out = np.zeros((1,) if kernel.operator == "reduce_sum" else (1, 1), np.float32)
    kernel(*inputs, out=out)


def claims_of(address: Address) -> dict[str, ClaimValue]:
    """Return the decisions that an emulated kernel really has: its honest claims.

    Raises
    ------
    ValueError
        If the address is not one of an emulator, or cannot be read.
    """
    if address.adapter != "emulator":
        raise ValueError(f"`{address}` is not the address of an emulator")
    return decisions_of(address.target, dict(address.options))
