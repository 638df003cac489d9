"""Sums of terms in a declared order, format and rounding, for many outputs at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from kernelcontracts.formats.facts import accumulator_format, format_named
from kernelcontracts.operators.arithmetic import Arithmetic
from kernelcontracts.operators.defaults import choice

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from kernelcontracts.lang.values import ClaimValue
    from kernelcontracts.operators.arithmetic import Floats
    from kernelcontracts.operators.orders import Indices, Schedule

CHUNK = 1 << 17
"""Elements worked on at a time: one mebibyte at 8 bytes, which stays in a second-level cache."""

NATIVE_BITS = 24
"""Products of operands of at most this many bits: float32 rounds them once, float64 holds them."""


class Terms(Protocol):
    """Where the terms of a sum come from."""

    def __call__(self, index: Indices) -> Floats:
        """Return rounded terms, shape ``index.shape`` and then that of one term."""
        ...


def arithmetic_of(decisions: Mapping[str, ClaimValue], *formats: str) -> Arithmetic:
    """Return the arithmetic that decisions declare, for operands of the given formats.

    Raises
    ------
    ValueError
        If the accumulator has fields that no emulation knows, or the rounding is not rne or rz.
    """
    accumulator = choice(decisions, "accumulator")
    unknown = [key for key, _ in accumulator.fields if key != "width"]
    if accumulator.args or unknown:
        raise ValueError(f"`{accumulator}` is not an accumulator known here; expected f32 or {{format, width}}")
    mode = choice(decisions, "acc_rounding").name
    if mode not in {"rne", "rz"}:
        raise ValueError(f"`acc_rounding = {mode}` is not known here; expected rne or rz")
    fmt = accumulator_format(accumulator.name, accumulator.field("width"))
    flush = "ftz_out" in decisions and choice(decisions, "ftz_out").name == "flush"
    narrow = all(format_named(name).precision <= NATIVE_BITS for name in formats)
    native = fmt == format_named("f32") and mode == "rne" and narrow
    exact = narrow and fmt.precision <= NATIVE_BITS
    return Arithmetic(fmt, "rz" if mode == "rz" else "rne", flush, native, exact)


def accumulate(terms: Terms, plan: Schedule, arithmetic: Arithmetic, *, outputs: int) -> Floats:
    """Add terms as a schedule says.

    Parameters
    ----------
    terms
        The terms; ``outputs`` sums are formed side by side.
    plan
        The tree.
    arithmetic
        The accumulator.
    outputs
        Elements of one term.

    Returns
    -------
    ndarray
        The sums, shape of one term. A sum of negative zeros is +0, as if started there.
    """
    sums = _run(terms, plan, arithmetic, outputs=outputs)
    combine = _halve if plan.combine == "halving" else _chain
    result: Floats = combine(sums, arithmetic.add) + arithmetic.carrier(0)
    return result


def _run(terms: Terms, plan: Schedule, arithmetic: Arithmetic, *, outputs: int) -> Floats:
    """Form the running sums, fetching several steps of terms at once."""
    steps, sums = plan.steps.shape
    batch = max(1, CHUNK // max(sums * outputs, 1))
    total: Floats | None = None
    for start in range(0, steps, batch):
        for term in terms(plan.steps[start : start + batch]):
            total = term if total is None else arithmetic.add(total, term)
    assert total is not None
    return total


def _halve(sums: Floats, add: Callable[[Floats, Floats], Floats]) -> Floats:
    while len(sums) > 1:
        sums = add(sums[0::2], sums[1::2])
    whole: Floats = sums[0]
    return whole


def _chain(sums: Floats, add: Callable[[Floats, Floats], Floats]) -> Floats:
    total: Floats = sums[0]
    for other in sums[1:]:
        total = add(total, other)
    return total


def padded(x: np.ndarray[Any, Any], *, axis: int, value: float) -> Floats:
    """Return a copy with one more slice, the one that the index of padding picks."""
    widths = [(0, int(i == axis)) for i in range(x.ndim)]
    return np.pad(x, widths, constant_values=value)
