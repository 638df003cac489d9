"""Smoke tests: the functional test people use today, which good and bad kernels pass and baselines fail.

Their tolerances are the contract author's picture of current practice. They decide nothing about a kernel; they
show that what the contract catches is not caught already.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from hashlib import sha256
from typing import TYPE_CHECKING

import numpy as np

from kernelcontracts.engine.run import Candidate
from kernelcontracts.evaluate.arithmetic import field_of
from kernelcontracts.evaluate.case import Case
from kernelcontracts.evaluate.expressions import evaluate
from kernelcontracts.evaluate.meaning import meaning_of
from kernelcontracts.evaluate.program import Program
from kernelcontracts.evaluate.scope import Scope
from kernelcontracts.formats.arrays import to_f64
from kernelcontracts.kernels.observation import Outcome
from kernelcontracts.lang.expr import Call, Name, Number, Star
from kernelcontracts.strata.draw import draw

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kernelcontracts.engine.plan import Plan
    from kernelcontracts.engine.run import Caller
    from kernelcontracts.evaluate.field import Array
    from kernelcontracts.lang.decl import Labelled, Stratum
    from kernelcontracts.lang.instance import Instance


@dataclass(frozen=True, slots=True)
class Smoke:
    """One smoke test: ``allclose(rtol, atol, size)``, or ``exact(size)``."""

    label: str
    size: int
    rtol: float
    atol: float


def smokes(instance: Instance) -> tuple[Smoke, ...]:
    """Return a contract's smoke tests."""
    calibrate = instance.contract.calibrate
    return tuple(_smoke(line) for line in calibrate.smoke) if calibrate else ()


def _smoke(line: Labelled) -> Smoke:
    call = line.value
    assert isinstance(call, Call)
    given = {k: float(v.value) for k, v in call.kwargs if isinstance(v, Number)}
    return Smoke(line.label, int(given["size"]), given.get("rtol", 0.0), given.get("atol", 0.0))


def passes(smoke: Smoke, plan: Plan, caller: Caller) -> bool:
    """Tell whether a kernel passes a smoke test on one ordinary input."""
    case = _case(smoke, plan)
    observed = Candidate(caller, plan).observe(case)
    if observed.observation.outcome is not Outcome.COMPLETED:
        return False
    got = to_f64(observed.array(case.output.name))
    expected = _expected(case, plan.instance)
    return bool(np.allclose(got, expected, rtol=smoke.rtol, atol=smoke.atol, equal_nan=True))


def _expected(case: Case, instance: Instance) -> Array:
    """Return the meaning in float64, or the contract's own reference where the plain meaning overflows."""
    if any(let.name == "ref" for let in instance.contract.reference.bindings if instance.contract.reference):  # type: ignore[union-attr]  # guarded
        scope = Scope(Program(instance), case, {})
        value = field_of(scope.let("ref", evaluate))
    else:
        value = field_of(meaning_of(case))
    return np.asarray(value.value.lo)


def _case(smoke: Smoke, plan: Plan) -> Case:
    """Draw one case of the plan's most ordinary stratum, every dimension of the smoke test's size."""
    operator = plan.instance.operator
    shape: dict[str, int | tuple[int, ...]] = {}
    for param in operator.inputs:
        for dim in param.dims:
            if isinstance(dim, Star):
                shape[dim.name] = ()
            elif isinstance(dim, Name):
                shape[dim.id] = smoke.size
    stratum = _ordinary(plan.instance.strata, operator.plan)
    key = sha256(f"smoke {smoke.label} {plan.hash}".encode()).digest()
    inputs: Mapping[str, Array] = draw(stratum, operator=operator, shape=shape, types=plan.types, key=key)
    return Case(operator, plan.types, shape, inputs)


def _ordinary(strata: tuple[Stratum, ...], _plan: object) -> Stratum:
    """Return the stratum that looks most like what a test draws: normal numbers, or indices inside."""
    for name in ("gauss", "small", "inside"):
        for stratum in strata:
            if stratum.name == name:
                return stratum
    return replace(strata[0])
