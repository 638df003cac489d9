"""Emulated softmax: stabilised in one pass or online, clamped, or not at all."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from kernelcontracts.formats.arrays import to_f64
from kernelcontracts.lang.values import Choice
from kernelcontracts.operators.accumulate import arithmetic_of
from kernelcontracts.operators.defaults import choice, number
from kernelcontracts.operators.orders import schedule
from kernelcontracts.operators.store import stored
from kernelcontracts.operators.sums import row_sums

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kernelcontracts.lang.values import ClaimValue
    from kernelcontracts.operators.arithmetic import Arithmetic, Floats

BLOCK = 32
"""Columns an online kernel reads before it rescales."""

CLAMP = 80.0
"""Where the clamping kernel cuts: e^80 < 2^116, so 2^11 terms stay below 2^127 in f32."""

ORDER = Choice("pairwise", (8,))
"""Softmax leaves the order of its sum open."""


def softmax(
    inputs: Mapping[str, np.ndarray[Any, Any]],
    types: Mapping[str, str],
    decisions: Mapping[str, ClaimValue],
    *,
    call: int = 0,
) -> dict[str, np.ndarray[Any, Any]]:
    """Emulate softmax over the last dimension of X, shape (*L, N)."""
    del call
    arithmetic = arithmetic_of(decisions, types["X"])
    x = arithmetic.load(to_f64(inputs["X"]))
    flat = x.reshape(-1, x.shape[-1]) if x.size else x.reshape(-1, 1)
    method = choice(decisions, "stabilization").name
    with np.errstate(over="ignore", invalid="ignore", divide="ignore", under="ignore"):
        y = _rows(flat, method, arithmetic, error=number(decisions, "exp_ulp"))
    return {"Y": stored(y.reshape(x.shape), types["Y"])}


def _rows(x: Floats, method: str, arithmetic: Arithmetic, *, error: int) -> Floats:
    if method == "online_max_shift":
        return _online(x, arithmetic, error=error)
    powers = exponential(_shifted(x, method, arithmetic), arithmetic, error=error)
    return arithmetic.divide(powers, _total(powers, arithmetic)[:, None])


def _shifted(x: Floats, method: str, arithmetic: Arithmetic) -> Floats:
    if method == "max_shift":
        return arithmetic.subtract(x, x.max(axis=1, keepdims=True))
    if method == "clamp":
        return np.clip(x, -CLAMP, CLAMP)
    if method == "none":
        return x
    raise ValueError(
        f"`stabilization = {method}` is not known here; expected max_shift, online_max_shift, clamp or none"
    )


def _online(x: Floats, arithmetic: Arithmetic, *, error: int) -> Floats:
    """Take maximum and sum in one pass, rescaling (Milakov and Gimelshein 2018)."""
    top = x[:, :BLOCK].max(axis=1)
    total = np.zeros_like(top)
    for start in range(0, x.shape[1], BLOCK):
        part = x[:, start : start + BLOCK]
        higher = np.maximum(top, part.max(axis=1))
        scale = exponential(arithmetic.subtract(top, higher), arithmetic, error=error)
        shifted = arithmetic.subtract(part, higher[:, None])
        powers = exponential(shifted, arithmetic, error=error)
        rescaled = arithmetic.multiply(total, scale)
        total = arithmetic.add(rescaled, _total(powers, arithmetic))
        top = higher
    powers = exponential(arithmetic.subtract(x, top[:, None]), arithmetic, error=error)
    return arithmetic.divide(powers, total[:, None])


def _total(x: Floats, arithmetic: Arithmetic) -> Floats:
    return row_sums(x, schedule(ORDER, x.shape[1]), arithmetic)


def exponential(x: Floats, arithmetic: Arithmetic, *, error: int) -> Floats:
    """Return exp(x) off by at most ``error`` units in the last place of the accumulator.

    The nearest value is within half a unit, and is then moved by up to ``error - 1`` units, by an
    amount that depends on the bits of x alone: a fixed function, as a polynomial is. exp(0) is 1.
    """
    exact = arithmetic.load(np.exp(np.asarray(x, np.float64)))
    reach = error - 1
    if reach <= 0:
        return exact
    units = _scatter(x, 2 * reach + 1) - reach
    step = np.spacing(np.abs(exact).astype(np.float64)) * 2.0 ** (53 - arithmetic.fmt.precision)
    moved = np.maximum(exact + np.where(x == 0, 0, units) * step, 0.0)
    return np.where(np.isfinite(exact), arithmetic.load(moved), exact)


def _scatter(x: Floats, sides: int) -> Floats:
    """Map the bits of x to 0 .. sides - 1 (multiplicative hashing, 2^64 over the golden ratio)."""
    bits = np.asarray(x, np.float64).view(np.uint64)
    hashed = (bits >> np.uint64(29)) * np.uint64(0x9E3779B97F4A7C15)
    return ((hashed >> np.uint64(33)) % np.uint64(sides)).astype(np.float64)
