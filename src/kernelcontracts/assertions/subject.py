"""The arrays of an assertion as one case of an operator."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kernelcontracts.assertions.arrays import format_name
from kernelcontracts.evaluate.case import Case, Observed, param_shape
from kernelcontracts.kernels.observation import Observation, Outcome
from kernelcontracts.lang.expr import Name, Star
from kernelcontracts.lang.library import UnknownNameError
from kernelcontracts.lang.values import Choice

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy as np

    from kernelcontracts.lang.decl import Operator, Param
    from kernelcontracts.lang.library import Library
    from kernelcontracts.lang.values import ClaimValue

PLAIN: dict[str, ClaimValue] = {
    "accumulator": Choice("f32"),
    "acc_rounding": Choice("rne"),
    "operand_rounding": Choice("as_given"),
    "reduction_order": Choice("unordered"),
    "determinism": Choice("none"),
    "daz_in": Choice("preserve"),
    "ftz_out": Choice("preserve"),
    "stabilization": Choice("max_shift"),
    "exp_ulp": 4,
    "oob_policy": Choice("RAISE"),
    "negative_index": Choice("out_of_bounds"),
}
"""What is taken as claimed where nothing is said: what a reader of ordinary documentation would expect.

``exp_ulp = 4`` is the largest error that CUDA's, NumPy's and the usual C libraries' float32 exp are documented with.
"""


@dataclass(frozen=True, slots=True)
class Subject:
    """An operator, one case of it, and the output in question."""

    operator: Operator
    types: Mapping[str, str]
    case: Case
    output: np.ndarray[Any, Any]


def plain_reading(operator: Operator) -> dict[str, ClaimValue]:
    """Return the plain reading of an operator's decisions."""
    return {d.name: PLAIN[d.name] for d in operator.decisions}


def subject_of(
    library: Library, name: str, inputs: Sequence[np.ndarray[Any, Any]], output: np.ndarray[Any, Any]
) -> Subject:
    """Match arrays against an operator's signature.

    Raises
    ------
    ValueError
        If the operator is unknown, or the arrays' number or shapes do not fit.
    TypeError
        If an array has a dtype that no contract knows.
    """
    try:
        operator = library.operator(name).declaration
    except UnknownNameError as error:
        raise ValueError(str(error)) from error
    if len(inputs) != len(operator.inputs):
        names = ", ".join(p.name for p in operator.inputs)
        raise ValueError(f"`{name}` takes {len(operator.inputs)} inputs ({names}), and {len(inputs)} were given")
    shape = _shape(operator, inputs)
    out = operator.outputs[0]
    if output.shape != param_shape(out, shape):
        raise ValueError(
            f"the output has shape {output.shape}; `{name}` of these inputs has shape {param_shape(out, shape)}"
        )
    arrays = {p.name: array for p, array in zip(operator.inputs, inputs, strict=True)}
    types = {p.name: format_name(arrays[p.name], p.name) for p in operator.inputs}
    types[out.name] = format_name(output, out.name)
    return Subject(operator, types, Case(operator, types, shape, arrays), output)


def _shape(operator: Operator, inputs: Sequence[np.ndarray[Any, Any]]) -> dict[str, int | tuple[int, ...]]:
    shape: dict[str, int | tuple[int, ...]] = {}
    for param, array in zip(operator.inputs, inputs, strict=True):
        for name, size in _sizes(param, array):
            if shape.setdefault(name, size) != size:
                raise ValueError(f"`{param.name}` has shape {array.shape}, so `{name}` is {size}, not {shape[name]}")
    return shape


def _sizes(param: Param, array: np.ndarray[Any, Any]) -> list[tuple[str, int | tuple[int, ...]]]:
    plain = [d for d in param.dims if not isinstance(d, Star)]
    lead = array.ndim - len(plain)
    variadic = len(plain) < len(param.dims)
    if lead < 0 or (lead > 0 and not variadic):
        raise ValueError(f"`{param.name}` has {array.ndim} dimensions; `{param.name}` takes {_words(param)}")
    sizes: list[tuple[str, int | tuple[int, ...]]] = []
    rest = list(array.shape)
    for dim in param.dims:
        if isinstance(dim, Star):
            sizes.append((dim.name, tuple(rest[:lead])))
            rest = rest[lead:]
        else:
            assert isinstance(dim, Name)
            sizes.append((dim.id, rest.pop(0)))
    return sizes


def _words(param: Param) -> str:
    names = [f"*{d.name}" if isinstance(d, Star) else d.id for d in param.dims]  # type: ignore[union-attr]  # names
    return f"[{', '.join(names)}]"


def finished(case: Case, output: np.ndarray[Any, Any]) -> Observed:
    """Return a completed call without a candidate behind it: clauses that would ask it again are not judged."""
    observation = Observation(Outcome.COMPLETED, outputs={case.output.name: output})

    def refuse(*_: object) -> Observation:
        raise AssertionError("clauses that call the candidate are not judged here")

    return Observed(observation, refuse)
