"""The evidence of a violation: inputs in full, and what was got, expected and allowed at the worst element."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from kernelcontracts.engine.result import Float, Tensor, Witness
from kernelcontracts.evaluate.arithmetic import field_of
from kernelcontracts.evaluate.case import NotCompletedError
from kernelcontracts.evaluate.dependence import nodes
from kernelcontracts.evaluate.expressions import evaluate
from kernelcontracts.evaluate.field import spread_interval
from kernelcontracts.formats.arrays import bits
from kernelcontracts.lang.decl import Always, Ladder, Match, Relation
from kernelcontracts.lang.expr import Identical, Within

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kernelcontracts.engine.judge import Judge
    from kernelcontracts.engine.tally import Failure, Finding
    from kernelcontracts.evaluate.field import Array
    from kernelcontracts.evaluate.scope import Scope
    from kernelcontracts.lang.decl import Clause
    from kernelcontracts.lang.expr import Expr

SHOWN = 16
"""Elements up to which a tensor is also spelled out in decimal."""


def tensor_of(array: Array, fmt: str) -> Tensor:
    """Encode an array with its bits."""
    raw = np.ascontiguousarray(bits(array) if array.dtype.kind != "i" else array)
    shown = tuple(_spelled(x) for x in array.reshape(-1)) if array.size <= SHOWN else ()
    return Tensor(fmt, tuple(array.shape), raw.astype(raw.dtype.newbyteorder("<")).tobytes().hex(), shown)


def _spelled(value: Any) -> str:
    return str(int(value)) if value.dtype.kind == "i" else repr(float(value))


def array_of(tensor: Tensor, dtype: np.dtype[Any]) -> Array:
    """Decode a tensor of evidence, bit for bit."""
    raw = np.frombuffer(bytes.fromhex(tensor.bits), dtype=np.dtype(f"<u{dtype.itemsize}"))
    native = raw.astype(raw.dtype.newbyteorder("="))
    return native.view(dtype).reshape(tensor.shape)


def explained(judge: Judge, failure: Failure) -> Finding:
    """Return a failure's finding with the numbers at its worst element filled in, where there are any."""
    finding = failure.finding
    clause = next((c for c in judge.instance.contract.post or () if c.label == finding.clause), None)
    predicate = _predicate(clause)
    if predicate is None or finding.index is None:
        return finding
    comparison = next((n for n in nodes(predicate) if isinstance(n, (Within, Identical))), None)
    if comparison is None:
        return finding
    scope = judge.scopes(failure.case)[0].observing(failure.observed)
    if finding.binding is not None:
        scope = scope.binding(*finding.binding)
    elif isinstance(clause, Relation):
        return finding
    try:
        got, expected, tolerance = _numbers(comparison, scope, finding.index)
    except (NotCompletedError, LookupError, IndexError):
        # the comparison is not one per output element
        return finding
    return replace(finding, got=got, expected=expected, tolerance=tolerance)


def _predicate(clause: Clause | None) -> Expr | None:
    if isinstance(clause, (Always, Relation)):
        return clause.predicate
    if isinstance(clause, Match):
        return None
    return None if clause is None or isinstance(clause, Ladder) else clause.predicate


def _numbers(comparison: Within | Identical, scope: Scope, index: tuple[int, ...]) -> tuple[float, float, float]:
    """Return what was got, expected and allowed at one output element."""
    if isinstance(comparison, Identical):
        got = _at(evaluate(comparison.left, scope), scope, index)[0]
        return got, _at(evaluate(comparison.right, scope), scope, index)[0], 0.0
    target = evaluate(comparison.reference, scope)
    allowed = _at(evaluate(comparison.tolerance, scope.anchored(target)), scope, index)[1]
    lo, hi = _at(target, scope, index)
    return _at(evaluate(comparison.actual, scope), scope, index)[0], lo if lo == hi else lo / 2 + hi / 2, allowed


def _at(value: Any, scope: Scope, index: tuple[int, ...]) -> tuple[float, float]:
    dims = scope.case.output_dims()
    interval = spread_interval(field_of(value), dims)
    place = tuple(i if size > 1 else 0 for i, size in zip(index, interval.lo.shape, strict=True))
    return float(interval.lo[place]), float(interval.hi[place])


def witness_of(judge: Judge, failure: Failure, *, minimised: bool) -> Witness:
    """Return the evidence of a failure."""
    finding = explained(judge, failure)
    case, planned = failure.case, failure.planned
    return Witness(
        stratum=planned.stratum.name,
        shape={k: list(v) if isinstance(v, tuple) else v for k, v in case.shape.items()},
        case=planned.index,
        seed=planned.seed,
        inputs={name: tensor_of(array, case.types[name]) for name, array in case.inputs.items()},
        index=finding.index,
        got=_float(finding.got),
        expected=_float(finding.expected),
        tolerance=_float(finding.tolerance),
        note=finding.reason,
        minimised=minimised,
        outcome=failure.observed.observation.outcome.value,
    )


def _float(value: float | None) -> Float | None:
    return None if value is None else Float.of(value)


def shape_of(witness: Witness) -> Mapping[str, int | tuple[int, ...]]:
    """Return a witness's shape as a case has it."""
    return {k: tuple(v) if isinstance(v, list) else v for k, v in witness.shape.items()}
