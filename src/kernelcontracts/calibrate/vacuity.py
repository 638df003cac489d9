"""Measured vacuity: a contract that accepts a kernel which computes nothing is refused.

Four trivial kernels answer a contract's own declared inputs: all zeros, the mean of the right result everywhere, a
copy of the first input, and the right result with its rows moved on by one. On each of its strata and shapes a
right contract has something to say against all of them; one that lets any of them conform promises nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from kernelcontracts.calibrate.trials import claiming
from kernelcontracts.check.request import typing_of
from kernelcontracts.engine.contract import check_contract
from kernelcontracts.engine.plan import make_plan
from kernelcontracts.engine.result import Status
from kernelcontracts.engine.run import Candidate, shape_from
from kernelcontracts.evaluate.arithmetic import field_of
from kernelcontracts.evaluate.case import Case
from kernelcontracts.evaluate.expressions import reference
from kernelcontracts.evaluate.program import Program
from kernelcontracts.evaluate.scope import Scope
from kernelcontracts.formats.arrays import dtype_of, store
from kernelcontracts.formats.facts import FORMATS
from kernelcontracts.kernels.observation import Observation, Outcome
from kernelcontracts.lang.diagnostics import Diagnostic, diagnostic
from kernelcontracts.lang.instance import instances_for
from kernelcontracts.numerics.rounding import round_to

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from kernelcontracts.evaluate.field import Array
    from kernelcontracts.lang.decl import Contract
    from kernelcontracts.lang.instance import Instance
    from kernelcontracts.lang.library import Library
    from kernelcontracts.lang.source import Source


def _zeros(right: Array, _first: Array) -> Array:
    return np.zeros_like(right)


def _mean(right: Array, _first: Array) -> Array:
    finite = right[np.isfinite(right)]
    return np.full_like(right, finite.mean() if finite.size else 0.0)


def _copy(right: Array, first: Array) -> Array:
    """Return the first input's numbers in the output's shape, repeated or cut as needed."""
    return np.resize(first.astype(np.float64), right.shape) if right.size else right


def _permuted(right: Array, _first: Array) -> Array:
    return np.roll(right, 1, axis=0) if right.ndim else right + 1


TRIVIAL: Mapping[str, Callable[[Array, Array], Array]] = {
    "zeros": _zeros,
    "the mean": _mean,
    "a copy of the input": _copy,
    "permuted rows": _permuted,
}


@dataclass(frozen=True, slots=True)
class Trivial:
    """A kernel that knows the right result and answers with something trivial made from it."""

    instance: Instance
    answer: Callable[[Array, Array], Array]

    def call(
        self,
        inputs: Mapping[str, Array],
        *,
        types: Mapping[str, str],
        output_shapes: Mapping[str, tuple[int, ...]],
        layouts: Mapping[str, str],
    ) -> Observation:
        """Answer one call, as a kernel that touches nothing but its output."""
        del layouts
        out = self.instance.operator.outputs[0]
        right = self._right(inputs, types).reshape(output_shapes[out.name])
        first = inputs[self.instance.operator.inputs[0].name]
        array = _stored(self.answer(right, first), types[out.name])
        names = [p.name for p in (*self.instance.operator.inputs, out)]
        return Observation(
            Outcome.COMPLETED,
            outputs={out.name: array},
            owned=True,
            inputs_unchanged=dict.fromkeys(inputs, True),
            guards_unchanged=dict.fromkeys(names, True),
        )

    def _right(self, inputs: Mapping[str, Array], types: Mapping[str, str]) -> Array:
        operator = self.instance.operator
        dims = {d.name if hasattr(d, "name") else d.id for p in operator.inputs for d in p.dims}  # type: ignore[union-attr]  # names
        case = Case(operator, types, shape_from(Case(operator, types, dict.fromkeys(dims, 0), inputs), inputs), inputs)
        bindings = self.instance.contract.reference
        name = next((let.name for let in bindings.bindings), "meaning") if bindings else "meaning"
        scope = Scope(Program(self.instance), case, claiming(self.instance))
        if name in ("ref", "meaning"):
            return np.asarray(field_of(reference(scope, name)).value.lo)
        from kernelcontracts.evaluate.expressions import evaluate

        return np.asarray(field_of(scope.let(name, evaluate)).value.lo)


def _stored(values: Array, fmt: str) -> Array:
    if fmt not in FORMATS:
        return values.astype(dtype_of(fmt))
    return store(round_to(np.asarray(values, dtype=np.float64), FORMATS[fmt]), fmt)


def accepted(instance: Instance) -> Iterator[str]:
    """Yield the names of the trivial kernels that a contract lets conform."""
    plan = make_plan(instance, typing_of(instance.operator, None), run_seed=0)
    claims = claiming(instance)
    for name, answer in TRIVIAL.items():
        outcome = check_contract(plan, Candidate(Trivial(instance, answer), plan), claims)
        if outcome.conclusion.verdict is Status.CONFORM:
            yield name


def lint_deep(library: Library, sources: Sequence[Source]) -> tuple[Diagnostic, ...]:
    """Return an error for every contract of some sources that accepts a trivial kernel."""
    names = {source.name for source in sources}
    found: list[Diagnostic] = []
    for located in library.contracts:
        if located.source.name not in names:
            continue
        for operator in library.operators:
            for instance in instances_for(library, operator.declaration.name):
                if instance.contract.id == located.declaration.id or _is_instance_of(instance, located.declaration):
                    found += [_refusal(instance, name, located.source) for name in accepted(instance)]
    return tuple(found)


def _is_instance_of(instance: Instance, contract: Contract) -> bool:
    return instance.cls == contract.id and contract.variable is not None


def _refusal(instance: Instance, name: str, source: Source) -> Diagnostic:
    clauses = instance.contract.post or ()
    return diagnostic(
        "E0901",
        f"{instance.id} accepts a kernel that returns {name}",
        source=source,
        span=clauses[0].span if clauses else None,
        label="no clause stops it on the contract's own inputs",
        notes=("measured on every case of the plan, under the claims of its `claiming` line",),
        help="add a stratum on which the right result is far from it, or a clause that compares with the reference",
    )
