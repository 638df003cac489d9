"""``and or not implies`` over truths and margins.

A margin is a predicate that also says by how much. ``and`` is the larger margin, ``or`` the smaller;
``guard implies m`` is 0 where the guard is false, ``m`` where it is true, and everything in between where
nobody knows.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kernelcontracts.evaluate.arithmetic import align_logical, logical_of
from kernelcontracts.evaluate.field import Dims, Logical, Margins, merged, spread


def negate(value: Any) -> Any:
    """Return ``not value``. A margin has no negation: the checks refuse one."""
    if isinstance(value, (bool, np.bool_)):
        return not value
    assert isinstance(value, Logical)
    return Logical(value.dims, ~value.may, ~value.must)


def settles(op: str, first: Any) -> bool:
    """Tell whether the left side alone decides ``first op …``, everywhere."""
    if isinstance(first, Margins):
        return False
    truth = logical_of(first)
    if op == "or":
        return bool(truth.must.all())
    return not truth.may.any()


def settled(op: str) -> bool:
    """Return the value of a connective that its left side settles."""
    return op != "and"


def join(op: str, left: Any, right: Any) -> Any:
    """Return ``left op right``."""
    if isinstance(left, Margins) or isinstance(right, Margins):
        return _join_margins(op, left, right)
    if isinstance(left, (bool, np.bool_)) and isinstance(right, (bool, np.bool_)):
        return _join_truths(op, logical_of(left), logical_of(right)).must.item()
    return _join_truths(op, logical_of(left), logical_of(right))


def _join_truths(op: str, left: Logical, right: Logical) -> Logical:
    dims, a, b = align_logical(left, right)
    if op == "and":
        return Logical(dims, a.must & b.must, a.may & b.may)
    if op == "or":
        return Logical(dims, a.must | b.must, a.may | b.may)
    return Logical(dims, ~a.may | b.must, ~a.must | b.may)


def margins_of(value: Any) -> Margins:
    """Read a predicate's value as margins."""
    return value if isinstance(value, Margins) else Margins.of(logical_of(value))


def align_margins(left: Margins, right: Margins) -> tuple[Dims, Margins, Margins]:
    """Line two margins up by the names of their dimensions."""
    dims = merged(left.dims, right.dims)
    return (
        dims,
        Margins(dims, spread(left.lo, left.dims, dims), spread(left.hi, left.dims, dims)),
        Margins(dims, spread(right.lo, right.dims, dims), spread(right.hi, right.dims, dims)),
    )


def _join_margins(op: str, left: Any, right: Any) -> Margins:
    if op == "implies":
        return _implies(logical_of(left), margins_of(right))
    dims, a, b = align_margins(margins_of(left), margins_of(right))
    pick = np.maximum if op == "and" else np.minimum
    return Margins(dims, pick(a.lo, b.lo), pick(a.hi, b.hi))


def _implies(guard: Logical, body: Margins) -> Margins:
    dims = merged(guard.dims, body.dims)
    must, may = spread(guard.must, guard.dims, dims), spread(guard.may, guard.dims, dims)
    lo, hi = spread(body.lo, body.dims, dims), spread(body.hi, body.dims, dims)
    return Margins(dims, np.where(must, lo, 0.0), np.where(may, hi, 0.0))
