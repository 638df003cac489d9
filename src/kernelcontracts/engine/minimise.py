"""Making a failing input small: smaller shape, fewer non-zeros, simpler numbers.

Greedy and bounded. Every step keeps the same clause certainly violated and the case inside the contract's
domain, so what is left is a witness in its own right, not a hint.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from kernelcontracts.engine.result import Status
from kernelcontracts.engine.tally import Failure
from kernelcontracts.evaluate.case import Case, param_dims
from kernelcontracts.formats.arrays import format_of, store, to_f64
from kernelcontracts.numerics.rounding import round_to, significant_bits

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kernelcontracts.engine.judge import Judge
    from kernelcontracts.engine.run import Candidate
    from kernelcontracts.evaluate.field import Array

MOST_CALLS = 250
"""Calls of the kernel that minimising one witness may cost: the price of a few cells of the plan."""

MOST_SECONDS = 30.0
"""Seconds after which no further call is made: a kernel that hangs costs its time limit with every call."""


@dataclass(eq=False, slots=True)
class Shrinker:
    """Tries changed inputs and keeps those that still fail."""

    judge: Judge
    candidate: Candidate
    best: Failure
    calls: int = 0
    ends: float = field(default_factory=lambda: time.monotonic() + MOST_SECONDS)

    @property
    def spent(self) -> bool:
        """Whether the calls or the time are used up."""
        return self.calls >= MOST_CALLS or time.monotonic() > self.ends

    def attempt(self, case: Case) -> bool:
        """Keep a changed case if the same clause still fails on it."""
        if self.spent:
            return False
        self.calls += 1
        scopes = self.judge.scopes(case)
        if self.judge.rejected(case, scopes):
            return False
        observed = self.candidate.observe(case)
        clause = next(c for c in self.judge.instance.contract.post or () if c.label == self.best.finding.clause)
        finding = self.judge.finding(clause, scopes, observed)
        if finding.status is not Status.VIOLATE:
            return False
        self.best = Failure(self.best.planned, case, observed, finding)
        return True


def minimise(judge: Judge, candidate: Candidate, failure: Failure) -> tuple[Failure, bool]:
    """Return a smaller failure of the same clause, and whether anything was made smaller.

    A failure that does not repeat on its own inputs (a kernel that returns an earlier result) is left as it is.
    """
    shrinker = Shrinker(judge, candidate, failure)
    if not failure.finding.clause or not shrinker.attempt(failure.case):
        return failure, False
    start = shrinker.best.case
    changed = True
    while changed and not shrinker.spent:
        changed = _smaller_shape(shrinker)
    _fewer_entries(shrinker)
    _without_zero_slices(shrinker)
    _simpler_numbers(shrinker)
    return shrinker.best, shrinker.best.case is not start


def _dims(case: Case) -> list[str]:
    names: dict[str, None] = {}
    for param in case.operator.inputs:
        names |= dict.fromkeys(param_dims(param, case.shape))
    return list(names)


def _size(case: Case, name: str) -> int:
    head, _, tail = name.partition(".")
    size = case.shape[head]
    return size[int(tail)] if isinstance(size, tuple) else size


def _parts(size: int) -> Iterator[slice]:
    """Yield parts of a dimension to keep: one entry, either half, all but the last, all but the first."""
    if size > 1:
        yield slice(0, 1)
        yield slice(size - 1, size)
    if size > 2:
        yield slice(0, size // 2)
        yield slice(size // 2, size)
        yield slice(0, size - 1)
        yield slice(1, size)


def _smaller_shape(shrinker: Shrinker) -> bool:
    changed = False
    for name in _dims(shrinker.best.case):
        for part in _parts(_size(shrinker.best.case, name)):
            if shrinker.attempt(cut(shrinker.best.case, name, part)):
                changed = True
                break
    return changed


def _without_zero_slices(shrinker: Shrinker) -> None:
    """Drop the places of a dimension where every input that has it is zero."""
    for name in _dims(shrinker.best.case):
        case = shrinker.best.case
        kept = np.zeros(_size(case, name), dtype=bool)
        for param in case.operator.inputs:
            dims = param_dims(param, case.shape)
            if name in dims:
                others = tuple(i for i, d in enumerate(dims) if d != name)
                kept |= (case.inputs[param.name] != 0).any(axis=others)
        if 0 < kept.sum() < kept.size:
            shrinker.attempt(cut(case, name, np.flatnonzero(kept)))


def cut(case: Case, name: str, part: slice | Array) -> Case:
    """Return the case with one dimension cut to a part of it."""
    inputs = {}
    for param in case.operator.inputs:
        dims = param_dims(param, case.shape)
        array = case.inputs[param.name]
        if name in dims:
            where = [part if d == name else slice(None) for d in dims]
            array = np.ascontiguousarray(array[tuple(where)])
        inputs[param.name] = array
    head, _, tail = name.partition(".")
    length = len(range(_size(case, name))[part]) if isinstance(part, slice) else len(part)
    size = case.shape[head]
    if isinstance(size, tuple):
        place = int(tail)
        new: int | tuple[int, ...] = (*size[:place], length, *size[place + 1 :])
    else:
        new = length
    return Case(case.operator, case.types, {**case.shape, head: new}, inputs)


def _with(case: Case, name: str, array: Array) -> Case:
    return Case(case.operator, case.types, case.shape, {**case.inputs, name: array})


def _fewer_entries(shrinker: Shrinker) -> None:
    """Zero blocks of entries, halving the block."""
    for name, array in list(shrinker.best.case.inputs.items()):
        if array.dtype.kind == "i":
            continue
        block = max(1, array.size // 2)
        while block >= 1 and not shrinker.spent:
            for start in range(0, array.size, block):
                flat = shrinker.best.case.inputs[name].reshape(-1).copy()
                piece = flat[start : start + block]
                if not piece.any():
                    continue
                flat[start : start + block] = np.zeros((), flat.dtype)
                shrinker.attempt(_with(shrinker.best.case, name, flat.reshape(array.shape)))
            if array.size // block > 32:
                break
            block //= 2


def _simpler_numbers(shrinker: Shrinker) -> None:
    """Keep fewer significand bits: first in a whole tensor, then nothing finer."""
    from kernelcontracts.formats.facts import accumulator_format

    for name, array in list(shrinker.best.case.inputs.items()):
        if array.dtype.kind == "i":
            continue
        fmt = format_of(array.dtype)
        values = to_f64(shrinker.best.case.inputs[name])
        bits = int(np.max(significant_bits(values), initial=0))
        for width in sorted({0, bits // 4, bits // 2, 3 * bits // 4} - {bits}):
            rounded = round_to(values, accumulator_format("f32" if fmt == "f64" else fmt, max(width, 1)), "rne")
            if np.array_equal(rounded, values) or not np.isfinite(rounded).all():
                continue
            if shrinker.attempt(_with(shrinker.best.case, name, store(rounded, fmt))):
                break
