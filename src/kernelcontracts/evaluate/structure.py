"""What an operator's meaning says about its dimensions: which one is summed, which one holds the rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernelcontracts.evaluate.case import param_dims
from kernelcontracts.evaluate.dependence import nodes
from kernelcontracts.lang.expr import Index, Name, Reduce

if TYPE_CHECKING:
    from kernelcontracts.evaluate.case import Case


def reduced_dim(case: Case) -> str:
    """Return the dimension that the meaning sums over, by its name in the signature."""
    reduce = next(node for node in nodes(case.operator.meaning) if isinstance(node, Reduce))
    assert isinstance(reduce.bound, Name), "a reduction's bound is a dimension"
    return reduce.bound.id


def row_dim(case: Case) -> str | None:
    """Return the first dimension of the output along which it can be computed in parts, or ``None``.

    It must be one that the first input has too, at least 2 long, and not shared by inputs that would have to
    be cut differently: cutting every input that has it cuts the output the same way.
    """
    first = param_dims(case.operator.inputs[0], case.shape)
    for name in case.output_dims():
        if name in first and _length(case, name) > 1:
            return name
    return None


def _length(case: Case, name: str) -> int:
    head, _, tail = name.partition(".")
    size = case.shape[head]
    return size[int(tail)] if isinstance(size, tuple) else size


def indexed(node: Index) -> str:
    """Return the tensor an index expression reads."""
    assert isinstance(node.base, Name)
    return node.base.id
