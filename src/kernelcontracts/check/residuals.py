"""The evidence of a conviction in the form the diagnosis wants it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from kernelcontracts.diagnose.failure import Failure as Evidence
from kernelcontracts.diagnose.features import Features
from kernelcontracts.engine.run import shape_from
from kernelcontracts.evaluate.arithmetic import field_of
from kernelcontracts.evaluate.case import param_shape
from kernelcontracts.evaluate.dependence import nodes
from kernelcontracts.evaluate.expressions import evaluate, reference
from kernelcontracts.evaluate.field import spread_interval
from kernelcontracts.formats.arrays import to_f64
from kernelcontracts.lang.expr import Within

if TYPE_CHECKING:
    from kernelcontracts.engine.run import Candidate, Run
    from kernelcontracts.engine.tally import Failure
    from kernelcontracts.evaluate.field import Array
    from kernelcontracts.evaluate.scope import Scope
    from kernelcontracts.kernels.observation import Observation


def features_of(run: Run, candidate: Candidate) -> Features:
    """Return the residual features of a convicted run; each is computed when a signature asks for it."""
    operator, types = run.plan.instance.operator, run.plan.types

    def call(inputs: dict[str, Array]) -> Observation:
        known = next((f.case for f in run.failures), None)
        shape = shape_from(known, inputs) if known is not None else _sizes(run, inputs)
        shapes = {p.name: param_shape(p, shape) for p in operator.outputs}
        return candidate.caller.call(inputs, types=types, output_shapes=shapes, layouts={})

    violated = {f.finding.clause for f in run.failures}
    violated |= {label for label, tally in run.clauses.items() if tally.violated}
    return Features(
        operator,
        types,
        call,
        failures=[_evidence(run, failure) for failure in run.failures],
        nan_counts=run.nan_cases,
        violated=frozenset(violated),
        claims=run.judge.readings[0] if run.judge.readings else {},
    )


def _sizes(run: Run, inputs: dict[str, Array]) -> Any:
    from kernelcontracts.evaluate.case import Case

    first = run.plan.cases[0]
    return shape_from(Case(run.plan.instance.operator, run.plan.types, first.shape, inputs), inputs)


def _evidence(run: Run, failure: Failure) -> Evidence:
    """Return one failing case with its residual: what was got, the reference, and what was allowed."""
    scope = run.judge.scopes(failure.case)[0]
    out = failure.case.output.name
    got = failure.observed.observation.outputs.get(out)
    lo, hi = _reference(scope)
    return Evidence(
        clause=failure.finding.clause,
        stratum=failure.planned.stratum.name,
        shape=failure.case.shape,
        inputs=dict(failure.case.inputs),
        got=None if got is None else to_f64(got),
        ref_lo=lo,
        ref_hi=hi,
        tol_hi=_tolerance(run, scope),
        observation=failure.observed.observation,
    )


def _reference(scope: Scope) -> tuple[Any, Any]:
    contract = scope.program.instance.contract
    if contract.reference is None or contract.reference.kind == "property":
        return None, None
    value = spread_interval(field_of(reference(scope)), scope.case.output_dims())
    return value.lo, value.hi


def _tolerance(run: Run, scope: Scope) -> Any:
    """Return the widest pointwise tolerance that a clause of the contract allows, or ``None``."""
    dims = scope.case.output_dims()
    widest = None
    for bound in run.judge.instance.contract.tolerance or ():
        used = any(
            isinstance(node, Within) and getattr(node.tolerance, "id", None) == bound.name
            for node in nodes(run.judge.instance.contract.post)
        )
        if used:
            value = np.broadcast_to(spread_interval(field_of(scope.let(bound.name, evaluate)), dims).hi, _shape(scope))
            widest = value if widest is None else np.maximum(widest, value)
    return widest


def _shape(scope: Scope) -> tuple[int, ...]:
    return param_shape(scope.case.output, scope.case.shape)
