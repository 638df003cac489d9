"""What an operator sums over: its contraction, read off its meaning.

``C[*l, m, n] = sum[k < K](A[*l, m, k] * B[*l, k, n])`` and ``S[*l] = sum[i < N](X[*l, i])`` are one
shape of problem: for every member of a batch a matrix of (rows, reduced) entries times one of
(reduced, columns), where a plain sum has ones for its second factor. Generators work on that form;
the functions here lay their matrices out in the order of the tensors' own dimensions.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from kernelcontracts.lang.expr import Binary, Index, Name, Reduce, Star
from kernelcontracts.strata.errors import NotApplicable, StratumError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from kernelcontracts.lang.decl import Operator, Param
    from kernelcontracts.lang.expr import Expr

ShapeOf: TypeAlias = "Mapping[str, int | tuple[int, ...]]"


@dataclass(frozen=True, slots=True)
class Contraction:
    """A sum of products (or of single elements) over one dimension.

    Attributes
    ----------
    output, lhs, rhs
        Names of tensors; ``rhs`` is ``None`` for a plain sum.
    lhs_dims, rhs_dims
        Their dimensions, in the order in which the tensors store them. A variadic dimension is one
        entry.
    reduced
        The dimension that is summed over.
    batch, rows, columns
        Dimensions of the output that both factors have, only ``lhs`` has, only ``rhs`` has.
    """

    output: str
    lhs: str
    rhs: str | None
    lhs_dims: tuple[str, ...]
    rhs_dims: tuple[str, ...]
    reduced: str
    batch: tuple[str, ...]
    rows: tuple[str, ...]
    columns: tuple[str, ...]

    def sizes(self, shape: ShapeOf) -> tuple[int, int, int, int]:
        """Return the numbers of batch members, rows, reduced entries and columns."""
        return (
            _count(self.batch, shape),
            _count(self.rows, shape),
            _count((self.reduced,), shape),
            _count(self.columns, shape),
        )

    def lay_lhs(self, matrix: NDArray[np.float64], shape: ShapeOf) -> NDArray[np.float64]:
        """Lay a (batch, rows, reduced) array out as the left factor is stored."""
        return _lay(matrix, (*self.batch, *self.rows, self.reduced), self.lhs_dims, shape)

    def lay_rhs(self, matrix: NDArray[np.float64], shape: ShapeOf) -> NDArray[np.float64]:
        """Lay a (batch, reduced, columns) array out as the right factor is stored."""
        return _lay(matrix, (*self.batch, self.reduced, *self.columns), self.rhs_dims, shape)

    def take_lhs(self, tensor: NDArray[np.float64], shape: ShapeOf) -> NDArray[np.float64]:
        """Undo ``lay_lhs``."""
        batch, rows, reduced, _ = self.sizes(shape)
        order = (*self.batch, *self.rows, self.reduced)
        return _take(tensor, self.lhs_dims, order, shape).reshape(batch, rows, reduced)

    def take_rhs(self, tensor: NDArray[np.float64], shape: ShapeOf) -> NDArray[np.float64]:
        """Undo ``lay_rhs``."""
        batch, _, reduced, columns = self.sizes(shape)
        order = (*self.batch, self.reduced, *self.columns)
        return _take(tensor, self.rhs_dims, order, shape).reshape(batch, reduced, columns)


def contraction(operator: Operator) -> Contraction:
    """Read the contraction off an operator's meaning.

    Parameters
    ----------
    operator
        A declared operator.

    Returns
    -------
    Contraction

    Raises
    ------
    NotApplicable
        If the meaning is not one sum, over one dimension, of an element or of a product of two
        elements.
    """
    target, meaning = operator.target, operator.meaning
    if not (isinstance(target, Index) and isinstance(meaning, Reduce) and meaning.function == "sum"):
        raise NotApplicable(f"`{operator.name}` is not a sum over one dimension")
    factors = _factors(operator, meaning.body)
    indices = [_index_names(factor.indices) for factor in factors]
    dims = [_dims(_param(operator, _tensor(factor))) for factor in factors]
    spell = _dimension_of_index(operator, indices, dims)
    free = _index_names(target.indices)
    left, right = (
        set(indices[0]),
        set(indices[1]) if len(factors) == 2 else set(),
    )  # one or two factors
    if meaning.binder not in left or (len(factors) == 2 and meaning.binder not in right):
        raise NotApplicable(f"`{operator.name}` does not sum over a dimension of each of its factors")
    return Contraction(
        output=_tensor(target),
        lhs=_tensor(factors[0]),
        rhs=_tensor(factors[1]) if len(factors) == 2 else None,
        lhs_dims=tuple(dims[0]),
        rhs_dims=tuple(dims[1]) if len(factors) == 2 else (),
        reduced=spell[meaning.binder],
        batch=tuple(spell[i] for i in free if i in left and i in right),
        rows=tuple(spell[i] for i in free if i in left and i not in right),
        columns=tuple(spell[i] for i in free if i in right and i not in left),
    )


def dims_of(param: Param, shape: ShapeOf) -> tuple[int, ...]:
    """Return a tensor's shape, variadic dimensions spelt out."""
    return tuple(size for name in _dims(param) for size in _sizes(name, shape))


def _factors(operator: Operator, body: Expr) -> list[Index]:
    parts = [body.left, body.right] if isinstance(body, Binary) and body.op == "*" else [body]
    found = [part for part in parts if isinstance(part, Index) and isinstance(part.base, Name)]
    if len(found) != len(parts) or len({_tensor(part) for part in found}) != len(parts):
        raise NotApplicable(f"`{operator.name}` does not sum products of elements of two tensors")
    return found


def _tensor(index: Index) -> str:
    assert isinstance(index.base, Name)
    return index.base.id


def _param(operator: Operator, name: str) -> Param:
    for param in operator.inputs:
        if param.name == name:
            return param
    raise StratumError(f"`{operator.name}` has no input `{name}`; its meaning must name its inputs")


def _index_names(items: Sequence[Expr]) -> list[str]:
    names = [_spelling(item) for item in items]
    if "" in names or len(set(names)) != len(names):
        raise NotApplicable("the meaning indexes a tensor by something other than distinct variables")
    return names


def _dims(param: Param) -> list[str]:
    return [_spelling(dim) for dim in param.dims]


def _spelling(node: Expr) -> str:
    """Return the name of a plain or variadic index or dimension, or the empty string."""
    if isinstance(node, Star):
        return node.name
    return node.id if isinstance(node, Name) else ""


def _dimension_of_index(operator: Operator, indices: list[list[str]], dims: list[list[str]]) -> dict[str, str]:
    spell: dict[str, str] = {}
    for names, sizes in zip(indices, dims, strict=True):
        if len(names) != len(sizes):
            raise StratumError(f"the meaning of `{operator.name}` has too few or too many indices")
        for name, size in zip(names, sizes, strict=True):
            if spell.setdefault(name, size) != size:
                raise NotApplicable(f"index `{name}` of `{operator.name}` runs over two dimensions")
    return spell


def _sizes(name: str, shape: ShapeOf) -> tuple[int, ...]:
    if name not in shape:
        raise StratumError(f"the shape says nothing about dimension `{name}`")
    size = shape[name]
    return size if isinstance(size, tuple) else (size,)


def _count(names: Sequence[str], shape: ShapeOf) -> int:
    return prod(size for name in names for size in _sizes(name, shape))


def _axes(have: Sequence[str], want: Sequence[str], shape: ShapeOf) -> list[int]:
    """Return the axes of ``have`` in the order of ``want``, each variadic dimension as a run of axes."""
    runs: dict[str, list[int]] = {}
    start = 0
    for name in have:
        length = len(_sizes(name, shape))
        runs[name] = list(range(start, start + length))
        start += length
    return [axis for name in want for axis in runs[name]]


def _lay(matrix: NDArray[np.float64], have: Sequence[str], want: Sequence[str], shape: ShapeOf) -> NDArray[np.float64]:
    sizes = [size for name in have for size in _sizes(name, shape)]
    return np.ascontiguousarray(matrix.reshape(sizes).transpose(_axes(have, want, shape)))


def _take(tensor: NDArray[np.float64], have: Sequence[str], want: Sequence[str], shape: ShapeOf) -> NDArray[np.float64]:
    return np.ascontiguousarray(tensor.transpose(_axes(have, want, shape)))
