"""The subject of evaluation: one case's inputs, and what the candidate showed on them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from kernelcontracts.evaluate.field import Tensor
from kernelcontracts.formats.facts import FORMATS
from kernelcontracts.lang.expr import Name, Star

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from kernelcontracts.evaluate.field import Array, Dims
    from kernelcontracts.formats.facts import Format
    from kernelcontracts.kernels.observation import Observation
    from kernelcontracts.lang.decl import Operator, Param

Shape = "Mapping[str, int | tuple[int, ...]]"


def param_dims(param: Param, shape: Mapping[str, int | tuple[int, ...]]) -> Dims:
    """Return one name per axis of a parameter; a variadic ``*L`` of length 2 becomes ``L.0, L.1``."""
    names: list[str] = []
    for dim in param.dims:
        if isinstance(dim, Star):
            sizes = shape[dim.name]
            assert isinstance(sizes, tuple)
            names += [f"{dim.name}.{i}" for i in range(len(sizes))]
        else:
            assert isinstance(dim, Name)
            names.append(dim.id)
    return tuple(names)


def param_shape(param: Param, shape: Mapping[str, int | tuple[int, ...]]) -> tuple[int, ...]:
    """Return the sizes of a parameter's axes."""
    sizes: list[int] = []
    for dim in param.dims:
        size = shape[dim.name if isinstance(dim, Star) else dim.id]  # type: ignore[union-attr]  # as above
        sizes += size if isinstance(size, tuple) else [size]
    return tuple(sizes)


class NotCompletedError(Exception):
    """The output was asked for, but the call did not complete. Never reaches a user: it becomes a verdict."""

    def __init__(self, observation: Observation) -> None:
        super().__init__(observation.message)
        self.observation = observation


@dataclass(eq=False, slots=True)
class Case:
    """Inputs of one call with everything about them that no claim can change.

    Attributes
    ----------
    operator, types, shape
        The signature this case instantiates.
    inputs
        Arrays by tensor name, in their declared formats.
    cache
        Values of claim-free names, kept so that several claim sheets can be judged on one case.
    """

    operator: Operator
    types: Mapping[str, str]
    shape: Mapping[str, int | tuple[int, ...]]
    inputs: Mapping[str, Array]
    cache: dict[Any, Any] = field(default_factory=dict)

    def format_of(self, name: str) -> Format | None:
        """Return the declared format of a tensor, or ``None`` for integer tensors."""
        return FORMATS.get(self.types[name])

    def tensor(self, name: str) -> Tensor:
        """Return an input as a tensor."""
        param = next(p for p in self.operator.inputs if p.name == name)
        return Tensor(name, param_dims(param, self.shape), self.inputs[name], self.format_of(name))

    @property
    def output(self) -> Param:
        """The output parameter. Every operator of the library has one."""
        return self.operator.outputs[0]

    def output_dims(self) -> Dims:
        """Return one name per axis of the output."""
        return param_dims(self.output, self.shape)


@dataclass(eq=False, slots=True)
class Observed:
    """The candidate's side of a case: what it did on the inputs, and a way to ask it about other inputs.

    ``call`` takes inputs by name and a layout per input, and answers with what was observed; answers about
    derived inputs are remembered per derivation, so that several claim sheets share them.
    """

    observation: Observation
    call: Callable[[Mapping[str, Array], Mapping[str, str]], Observation]
    derived: dict[Any, Any] = field(default_factory=dict)
    reasons: list[str] = field(default_factory=list)

    def array(self, name: str) -> Array:
        """Return an output.

        Raises
        ------
        NotCompletedError
            If the call raised, died, timed out or returned something malformed.
        """
        if name not in self.observation.outputs:
            raise NotCompletedError(self.observation)
        return self.observation.outputs[name]
