"""Fault operators: wrappers that turn a right kernel into a wrong one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from kernelcontracts.operators.emulate import OUTPUTS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from kernelcontracts.lang.values import Choice

    Array: TypeAlias = np.ndarray[Any, Any]
    Kernel: TypeAlias = Callable[[Mapping[str, Array]], dict[str, Array]]
    Found: TypeAlias = Callable[[str, Array], Array]
    Wrapper: TypeAlias = Callable[[Kernel, str, Found, tuple[int, ...]], Kernel]


def blank(name: str, result: Array) -> Array:
    """Return memory as a kernel finds it where nothing was put there before: zeros."""
    del name
    return np.zeros_like(result)


def inject(fault: Choice, kernel: Kernel, *, operator: str, found: Found = blank) -> Kernel:
    """Return a kernel with a fault.

    Parameters
    ----------
    fault
        The fault and its arguments, such as ``Choice("drop_tail", (32,))``; see ``FAULTS``.
    kernel
        A function from inputs by name to outputs by name.
    operator
        The operator the kernel computes.
    found
        What the output's memory holds before the call, given the output's name and its right value.

    Raises
    ------
    ValueError
        If there is no such fault, or it has other arguments.
    """
    if fault.name not in FAULTS:
        known = ", ".join(sorted(FAULTS))
        raise ValueError(f"unknown fault `{fault.name}`; there are {known}")
    wanted, wrapper = FAULTS[fault.name]
    args = tuple(a for a in fault.args if isinstance(a, int) and a >= 1)
    if len(args) != wanted or len(fault.args) != wanted:
        raise ValueError(f"`{fault}` needs {wanted} positive integers in its parentheses")
    return wrapper(kernel, operator, found, args)


def _on_output(change: Callable[[Array, Array, tuple[int, ...]], Array]) -> Wrapper:
    """Make a fault from a function of the right result, the memory found and the arguments."""

    def wrap(kernel: Kernel, operator: str, found: Found, args: tuple[int, ...]) -> Kernel:
        name = OUTPUTS[operator]

        def faulty(inputs: Mapping[str, Array]) -> dict[str, Array]:
            outputs = kernel(inputs)
            before = found(name, outputs[name])
            return {**outputs, name: change(outputs[name], before, args)}

        return faulty

    return wrap


def _drop_tail(right: Array, before: Array, args: tuple[int, ...]) -> Array:
    """Leave the last partial tile of the last dimension as it was found."""
    if right.ndim == 0:
        return right
    whole = right.shape[-1] // args[0] * args[0]
    out = right.copy()
    out[..., whole:] = before[..., whole:]
    return out


def _uniform_rows(right: Array, before: Array, args: tuple[int, ...]) -> Array:
    """Give every element of a row the same share of one."""
    del before, args
    width = right.shape[-1] if right.ndim else 1
    return np.full_like(right, 1.0 / max(width, 1))


def _mean(right: Array, before: Array, args: tuple[int, ...]) -> Array:
    """Give every element the mean of the right ones."""
    del before, args
    if not right.size:
        return right
    return np.full_like(right, right.astype(np.float64).mean())


def _permute_rows(right: Array, before: Array, args: tuple[int, ...]) -> Array:
    """Write each row one place further along."""
    del before, args
    return np.roll(right, 1, axis=max(right.ndim - 2, 0)) if right.ndim else right


def _swap_last(right: Array, before: Array, args: tuple[int, ...]) -> Array:
    """Exchange the last two elements of every row."""
    del before, args
    if right.ndim == 0 or right.shape[-1] < 2:
        return right
    out = right.copy()
    out[..., [-2, -1]] = right[..., [-1, -2]]
    return out


def _zeros(right: Array, before: Array, args: tuple[int, ...]) -> Array:
    del before, args
    return np.zeros_like(right)


def _unwritten(right: Array, before: Array, args: tuple[int, ...]) -> Array:
    """Write nothing."""
    del right, args
    return before.copy()


def _copy_input(kernel: Kernel, operator: str, found: Found, args: tuple[int, ...]) -> Kernel:
    """Return the first input's elements, repeated or cut to fit."""
    del found, args
    name = OUTPUTS[operator]

    def faulty(inputs: Mapping[str, Array]) -> dict[str, Array]:
        outputs = kernel(inputs)
        first = next(iter(inputs.values()))
        copied = np.resize(first, outputs[name].shape).astype(outputs[name].dtype)
        return {**outputs, name: copied}

    return faulty


def _return_previous(kernel: Kernel, operator: str, found: Found, args: tuple[int, ...]) -> Kernel:
    """Keep the first result for each shape, and return it whenever the shape repeats."""
    del operator, found, args
    kept: dict[tuple[object, ...], dict[str, Array]] = {}

    def faulty(inputs: Mapping[str, Array]) -> dict[str, Array]:
        key = tuple((name, x.shape, x.dtype.name) for name, x in inputs.items())
        if key not in kept:
            kept[key] = kernel(inputs)
        return {name: y.copy() for name, y in kept[key].items()}

    return faulty


def _skip_last(kernel: Kernel, operator: str, found: Found, args: tuple[int, ...]) -> Kernel:
    """Leave the last term out of every reduction."""
    del found, args
    name = {"matmul": "A", "reduce_sum": "X", "softmax": "X"}.get(operator)
    if name is None:
        raise ValueError(f"`skip_last()` needs an operator that reduces; `{operator}` does not")

    def faulty(inputs: Mapping[str, Array]) -> dict[str, Array]:
        shorter = inputs[name].copy()
        # a term that is not there: nothing in a sum, and e to a large negative number in a softmax
        shorter[..., -1:] = -1e4 if operator == "softmax" else 0
        return kernel({**inputs, name: shorter})

    return faulty


FAULTS: dict[str, tuple[int, Wrapper]] = {
    "drop_tail": (1, _on_output(_drop_tail)),
    "zeros": (0, _on_output(_zeros)),
    "unwritten": (0, _on_output(_unwritten)),
    "uniform_rows": (0, _on_output(_uniform_rows)),
    "mean": (0, _on_output(_mean)),
    "permute_rows": (0, _on_output(_permute_rows)),
    "swap_last": (0, _on_output(_swap_last)),
    "copy_input": (0, _copy_input),
    "return_previous": (0, _return_previous),
    "skip_last": (0, _skip_last),
}
"""Faults by name, with how many positive integers each takes."""
