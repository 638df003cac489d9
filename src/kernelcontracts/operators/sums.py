"""Emulated matrix products and sums: one honest kernel for each combination of decisions."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from kernelcontracts.formats.arrays import to_f64
from kernelcontracts.operators.accumulate import CHUNK, accumulate, arithmetic_of, padded
from kernelcontracts.operators.defaults import choice
from kernelcontracts.operators.operands import cast, products, read
from kernelcontracts.operators.orders import schedule, shuffle
from kernelcontracts.operators.store import stored

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kernelcontracts.lang.values import ClaimValue
    from kernelcontracts.operators.arithmetic import Arithmetic, Doubles, Floats
    from kernelcontracts.operators.orders import Indices, Schedule


@dataclass(frozen=True, slots=True)
class Product:
    """The terms of a block of a product: A of shape (m, K + 1), B (K + 1, N), padding last."""

    a: Floats
    b: Floats
    arithmetic: Arithmetic

    def __call__(self, index: Indices) -> Floats:
        """Return rounded products, shape (steps, sums, m, N)."""
        left = np.moveaxis(self.a[:, index], 0, -1)
        return self.arithmetic.multiply(left[..., :, None], self.b[index][..., None, :])


@dataclass(frozen=True, slots=True)
class FusedSum:
    """A chain of multiply-adds, each rounded once: it has no terms to order."""

    a: Floats
    b: Floats
    arithmetic: Arithmetic

    def total(self) -> Floats:
        """Return A @ B, shape (m, N), terms in their own order."""
        total = np.zeros((self.a.shape[0], self.b.shape[1]), self.arithmetic.carrier)
        for k in range(self.a.shape[1]):
            total = self.arithmetic.multiply_add(self.a[:, k, None], self.b[None, k, :], total)
        return total


@dataclass(frozen=True, slots=True)
class Column:
    """The terms of row sums: X of shape (rows, N + 1), accumulator values, padding last."""

    x: Floats

    def __call__(self, index: Indices) -> Floats:
        """Return terms, shape (steps, sums, rows)."""
        return np.moveaxis(self.x[:, index], 0, -1)


def matmul(
    inputs: Mapping[str, np.ndarray[Any, Any]],
    types: Mapping[str, str],
    decisions: Mapping[str, ClaimValue],
    *,
    call: int = 0,
    fma: bool = False,
) -> dict[str, np.ndarray[Any, Any]]:
    """Emulate ``C = A @ B``, A of shape (*L, M, K), B of shape (*L, K, N).

    With ``fma``, products are not rounded before they are added, and the order is sequential
    whatever is declared.
    """
    daz = choice(decisions, "daz_in").name == "flush"
    a = read(to_f64(inputs["A"]), types["A"], daz=daz)
    b = read(to_f64(inputs["B"]), types["B"], daz=daz)
    arithmetic = arithmetic_of(decisions, types["A"], types["B"])
    lead = a.shape[:-2]
    c = np.zeros((*lead, a.shape[-2], b.shape[-1]), arithmetic.carrier)
    for index in np.ndindex(*lead):
        c[index] = _product(a[index], b[index], decisions, arithmetic, call=call, fma=fma)
    return {"C": stored(c, types["C"], flush=arithmetic.flush)}


def _product(
    a: Doubles,
    b: Doubles,
    decisions: Mapping[str, ClaimValue],
    arithmetic: Arithmetic,
    *,
    call: int,
    fma: bool,
) -> Floats:
    left, right = products(a, b, choice(decisions, "operand_rounding"))
    left, right = left.astype(arithmetic.carrier), right.astype(arithmetic.carrier)
    if fma:
        return FusedSum(left, right, arithmetic).total()
    plan, sequence = _plan(decisions, terms=left.shape[1], rows=left.shape[0], call=call)
    if sequence is not None:
        left, right = left[:, sequence], right[sequence]
    return _blocks(left, right, plan, arithmetic)


def _blocks(a: Floats, b: Floats, plan: Schedule, arithmetic: Arithmetic) -> Floats:
    """Multiply a few rows at a time, so that the running sums stay near the processor."""
    c = np.zeros((a.shape[0], b.shape[1]), arithmetic.carrier)
    if not plan.steps.size or not c.size:
        return c
    # -0 times 1 is -0: padding adds nothing, not even a sign
    a, b = padded(a, axis=1, value=-0.0), padded(b, axis=0, value=1.0)
    rows = max(1, CHUNK // (plan.steps.shape[1] * b.shape[1]))
    for start in range(0, a.shape[0], rows):
        block = a[start : start + rows]
        terms = Product(block, b, arithmetic)
        size = block.shape[0] * b.shape[1]
        c[start : start + rows] = accumulate(terms, plan, arithmetic, outputs=size)
    return c


def reduce_sum(
    inputs: Mapping[str, np.ndarray[Any, Any]],
    types: Mapping[str, str],
    decisions: Mapping[str, ClaimValue],
    *,
    call: int = 0,
) -> dict[str, np.ndarray[Any, Any]]:
    """Emulate ``S = sum(X)`` over the last dimension of X, shape (*L, N)."""
    daz = choice(decisions, "daz_in").name == "flush"
    x = read(to_f64(inputs["X"]), types["X"], daz=daz)
    arithmetic = arithmetic_of(decisions, types["X"])
    lead, terms = x.shape[:-1], x.shape[-1]
    flat = arithmetic.load(cast(x, choice(decisions, "operand_rounding")).reshape(math.prod(lead), terms))
    plan, sequence = _plan(decisions, terms=terms, rows=flat.shape[0], call=call)
    s = row_sums(flat if sequence is None else flat[:, sequence], plan, arithmetic)
    return {"S": stored(s.reshape(lead), types["S"], flush=arithmetic.flush)}


def row_sums(x: Floats, plan: Schedule, arithmetic: Arithmetic) -> Floats:
    """Add along the rows of X, shape (rows, N), values of the accumulator."""
    if not plan.steps.size or not x.size:
        return np.zeros(x.shape[0], arithmetic.carrier)
    terms = Column(padded(x, axis=1, value=-0.0))
    return accumulate(terms, plan, arithmetic, outputs=x.shape[0])


def _plan(decisions: Mapping[str, ClaimValue], *, terms: int, rows: int, call: int) -> tuple[Schedule, Indices | None]:
    order = choice(decisions, "reduction_order")
    determinism = choice(decisions, "determinism").name
    sequence = shuffle(terms, order=order, determinism=determinism, rows=rows, call=call)
    return schedule(order, terms), sequence
