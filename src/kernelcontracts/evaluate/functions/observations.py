"""``impl under completed raised unchanged guard identical_over`` and the domains of relations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from kernelcontracts.evaluate import transforms
from kernelcontracts.evaluate.arithmetic import field_of
from kernelcontracts.evaluate.case import NotCompletedError, Observed
from kernelcontracts.evaluate.field import Logical, Margins, Tensor
from kernelcontracts.evaluate.scope import UnresolvedError
from kernelcontracts.formats.arrays import same_bits, store
from kernelcontracts.kernels.observation import Outcome

if TYPE_CHECKING:
    from kernelcontracts.evaluate.scope import Scope
    from kernelcontracts.lang.expr import Call


@dataclass(frozen=True, slots=True)
class Guard:
    """The fence around a tensor's memory."""

    name: str


def _observed(scope: Scope) -> Observed:
    if scope.observed is None:
        raise UnresolvedError("the candidate has no value here")
    return scope.observed


def _truth(value: bool | None) -> Logical:
    """Wrap a truth that may be unknown."""
    return Logical((), np.asarray(value is True), np.asarray(value is not False))


def _candidate(scope: Scope, array: Any) -> Tensor:
    out = scope.case.output
    return Tensor(out.name, scope.case.output_dims(), array, scope.case.format_of(out.name), candidate=True)


def impl(call: Call, scope: Scope, evaluate: Any) -> Tensor:
    """Call the candidate on other inputs of the same shapes; they must be numbers of the inputs' formats."""
    observed = _observed(scope)
    inputs = {}
    for param, arg in zip(scope.case.operator.inputs, call.args, strict=True):
        value = evaluate(arg, scope)
        if isinstance(value, Tensor):
            inputs[param.name] = value.array
        else:
            inputs[param.name] = store(field_of(value).value.lo, scope.case.types[param.name])
    key = ("impl", tuple(array.tobytes() for array in inputs.values()))
    if key not in observed.derived:
        observed.derived[key] = observed.call(inputs, {})
    answer = observed.derived[key]
    if answer.outcome is not Outcome.COMPLETED:
        raise NotCompletedError(answer)
    return _candidate(scope, answer.outputs[scope.case.output.name])


def under(call: Call, scope: Scope, evaluate: Any) -> Tensor:
    """Return the candidate's output under a transform of its inputs, mapped back."""
    transform = evaluate(call.args[0], scope)
    return _candidate(scope, transforms.run(transform, scope.case, _observed(scope)))


def completed(_call: Call, scope: Scope, _evaluate: Any) -> Logical:
    """Tell whether the call returned an output of the declared shape and format."""
    return _truth(_observed(scope).observation.outcome is Outcome.COMPLETED)


def raised(call: Call, scope: Scope, _evaluate: Any) -> Logical:
    """Tell whether the call raised an exception. A crash is not a raise."""
    observation = _observed(scope).observation
    kind = call.args[0].id if call.args else observation.kind  # type: ignore[union-attr]  # a name, by the checks
    return _truth(observation.outcome is Outcome.RAISED and observation.kind == kind)


def guard(call: Call, scope: Scope, _evaluate: Any) -> Guard:
    """Name the fence around a tensor."""
    name = call.args[0].id  # type: ignore[union-attr]  # a tensor's name, by the checks
    return Guard(scope.case.output.name if name == "output" else name)


def unchanged(call: Call, scope: Scope, evaluate: Any) -> Logical:
    """Tell whether inputs, or fences, hold the bits they held before the call."""
    observed = _observed(scope)
    result: bool | None = True
    for arg in call.args:
        state = _state(arg, scope, evaluate, observed)
        result = False if state is False or result is False else (None if state is None else result)
    return _truth(result)


def _state(arg: Any, scope: Scope, evaluate: Any, observed: Observed) -> bool | None:
    observation = observed.observation
    if getattr(arg, "id", None) == "inputs":
        return all(observation.inputs_unchanged.values())
    value = evaluate(arg, scope)
    if not isinstance(value, Guard):
        return observation.inputs_unchanged.get(value.name)
    state = observation.guards_unchanged.get(value.name)
    if state is None:
        observed.reasons.append("output not owned: the kernel returns its own array, so no fence stands around it")
    return state


def identical_over(call: Call, scope: Scope, evaluate: Any) -> Margins:
    """Tell whether the output's bits repeat over every variation of a domain."""
    observed = _observed(scope)
    base = observed.array(scope.case.output.name)
    domain = evaluate(call.args[0], scope)
    if domain is transforms.UNAVAILABLE:
        observed.reasons.append("recordings from two devices are needed, and there is one device")
        return Margins.of(_truth(None))
    same = np.ones(base.shape, dtype=bool)
    for transform in domain:
        same &= same_bits(transforms.run(transform, scope.case, observed), base)
    return Margins.of(Logical.known(scope.case.output_dims(), same))


def _domain(name: str) -> Any:
    def apply(call: Call, scope: Scope, evaluate: Any) -> Any:
        args = [evaluate(arg, scope) for arg in call.args]
        return transforms.domain(name, args, scope.case)

    return apply


TABLE = {
    "impl": impl,
    "under": under,
    "completed": completed,
    "raised": raised,
    "guard": guard,
    "unchanged": unchanged,
    "identical_over": identical_over,
    **{name: _domain(name) for name in transforms.DOMAINS},
}
