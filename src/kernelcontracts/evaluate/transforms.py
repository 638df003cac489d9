"""Transforms of a case's inputs under which a relation speaks: reorder, pad, split rows, lay out differently.

A transform says how to change the inputs, how to lay them out, and how to map the answer back to the original
output's shape. It never decides anything.
"""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import numpy as np

from kernelcontracts.evaluate.case import NotCompletedError, param_dims
from kernelcontracts.evaluate.structure import reduced_dim, row_dim
from kernelcontracts.kernels.observation import Outcome

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kernelcontracts.evaluate.case import Case, Observed
    from kernelcontracts.evaluate.field import Array

UNAVAILABLE = object()
"""The domain of variations that one machine cannot make: other devices."""

DOMAINS = ("reorderings", "embeddings", "row_splits", "layouts", "reruns", "devices")


@dataclass(frozen=True, slots=True)
class Transform:
    """One variation.

    Attributes
    ----------
    kind, number
        What it does, and which one of its kind it is.
    """

    kind: str
    number: int

    def __str__(self) -> str:
        return f"{self.kind}({self.number})"


def domain(name: str, args: list[Any], case: Case) -> Any:
    """Return the transforms of a domain, in order."""
    if name == "devices":
        return UNAVAILABLE
    if name == "layouts":
        return tuple(Transform("layout", i) for i in range(len(LAYOUTS)))
    if name == "embeddings":
        return tuple(Transform("embedding", int(pad)) for pad in sorted(args[0]))
    kind = {"reorderings": "reordering", "row_splits": "row_split", "reruns": "rerun"}[name]
    if kind == "row_split" and (row_dim(case) is None):
        return ()
    return tuple(Transform(kind, i) for i in range(int(args[0])))


LAYOUTS = ("fortran", "strided")


def run(transform: Transform, case: Case, observed: Observed) -> Array:
    """Observe the candidate under a transform and map its output back.

    Raises
    ------
    NotCompletedError
        If a call under the transform did not complete.
    """
    key = (transform.kind, transform.number)
    if key not in observed.derived:
        try:
            observed.derived[key] = _RUNNERS[transform.kind](transform.number, case, observed)
        except NotCompletedError as stop:
            observed.derived[key] = stop
    answer = observed.derived[key]
    if isinstance(answer, NotCompletedError):
        raise answer
    return answer  # type: ignore[no-any-return]  # an array, or the exception handled above


def _call(case: Case, observed: Observed, inputs: Mapping[str, Array], layout: str = "") -> Array:
    layouts = {name: layout for name, array in inputs.items() if array.ndim >= 2} if layout else {}
    answer = observed.call(inputs, layouts)
    if answer.outcome is not Outcome.COMPLETED:
        raise NotCompletedError(answer)
    return answer.outputs[case.output.name]


def _rerun(_number: int, case: Case, observed: Observed) -> Array:
    return _call(case, observed, case.inputs)


def _layout(number: int, case: Case, observed: Observed) -> Array:
    return _call(case, observed, case.inputs, LAYOUTS[number])


def _reordering(number: int, case: Case, observed: Observed) -> Array:
    """Permute the reduced dimension of every input by the same permutation."""
    name = reduced_dim(case)
    changed = {}
    for param in case.operator.inputs:
        dims = param_dims(param, case.shape)
        array = case.inputs[param.name]
        if name in dims:
            axis = dims.index(name)
            array = np.ascontiguousarray(array.take(_permutation(array.shape[axis], number), axis=axis))
        changed[param.name] = array
    return _call(case, observed, changed)


def _permutation(n: int, number: int) -> Array:
    """Return the ``number``-th fixed shuffle of ``n`` places: ranks of hashes, the same on every machine."""
    words = np.frombuffer(
        b"".join(sha256(f"{number}:{n}:{block}".encode()).digest() for block in range(n // 4 + 1)),
        dtype="<u8",
    )
    return np.argsort(words[:n], kind="stable")


def _embedding(pad: int, case: Case, observed: Observed) -> Array:
    """Put the inputs into larger ones filled with zeros, and cut the answer out."""
    changed = {}
    for param in case.operator.inputs:
        array = case.inputs[param.name]
        dims = param_dims(param, case.shape)
        widths = [(0, 0 if "." in dim else pad) for dim in dims]
        changed[param.name] = np.pad(array, widths)
    out = _call(case, observed, changed)
    sizes = [
        slice(0, out.shape[axis] if "." in dim else out.shape[axis] - pad)
        for axis, dim in enumerate(case.output_dims())
    ]
    # a copy, not `ascontiguousarray`: that one gives a scalar a dimension
    return out[tuple(sizes)].copy()


def _row_split(number: int, case: Case, observed: Observed) -> Array:
    """Compute the rows in two calls and put the answers together."""
    name = row_dim(case)
    assert name is not None, "the domain is empty without rows"
    rows = case.output_dims().index(name)
    total = _size(case, name)
    cut = (total * (number + 1)) // 4 if total > 3 else 1 + number % (total - 1)
    parts = []
    for start, stop in ((0, cut), (cut, total)):
        if stop > start:
            parts.append(_call(case, observed, _taken(case, name, start, stop)))
    return np.concatenate(parts, axis=rows)


def _size(case: Case, name: str) -> int:
    head, _, tail = name.partition(".")
    size = case.shape[head]
    return size[int(tail)] if isinstance(size, tuple) else size


def _taken(case: Case, name: str, start: int, stop: int) -> dict[str, Array]:
    changed = {}
    for param in case.operator.inputs:
        dims = param_dims(param, case.shape)
        array = case.inputs[param.name]
        if name in dims:
            axis = dims.index(name)
            array = np.ascontiguousarray(array.take(range(start, stop), axis=axis))
        changed[param.name] = array
    return changed


_RUNNERS = {
    "rerun": _rerun,
    "layout": _layout,
    "reordering": _reordering,
    "embedding": _embedding,
    "row_split": _row_split,
}
