"""Expressions, cases and kernels in this process: what tests of the evaluator and the engine are made of."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cache

import numpy as np

from kernelcontracts.engine.plan import make_plan
from kernelcontracts.engine.run import Candidate, shape_from
from kernelcontracts.evaluate.case import Case, Observed
from kernelcontracts.evaluate.expressions import evaluate
from kernelcontracts.evaluate.program import Program
from kernelcontracts.evaluate.scope import Scope
from kernelcontracts.formats.arrays import format_of, store
from kernelcontracts.formats.facts import FORMATS
from kernelcontracts.kernels.observation import Observation, Outcome
from kernelcontracts.lang.claims import from_literal
from kernelcontracts.lang.instance import instances_for
from kernelcontracts.lang.library import Library
from kernelcontracts.lang.parse import parse
from kernelcontracts.lang.source import Source
from kernelcontracts.numerics.rounding import round_to
from kernelcontracts.operators.emulate import OperatorRaised, emulate

LIBRARY = Library.shipped()

HONEST = {
    "accumulator": "f32",
    "acc_rounding": "rne",
    "operand_rounding": "as_given",
    "reduction_order": "unordered",
    "determinism": "bitwise",
    "daz_in": "preserve",
    "ftz_out": "preserve",
}
"""What an ordinary product or sum claims."""

SHIFTED = {"stabilization": "max_shift", "accumulator": "f32", "acc_rounding": "rne", "exp_ulp": 4}
RAISING = {"oob_policy": "RAISE", "negative_index": "out_of_bounds"}
PLAIN = {"matmul": HONEST, "reduce_sum": HONEST, "softmax": SHIFTED, "gather_rows": RAISING}


def expression(text):
    """Parse an expression; the text of a setting may be any."""
    result = parse(Source("test", f"kernel-contracts 0.1\nmodule test\nplan t @1 {{\n  e: {text}\n}}\n"))
    assert not result.diagnostics, result.diagnostics
    return result.file.declarations[0].settings[0].value


def instance_of(contract, operator):
    return next(i for i in instances_for(LIBRARY, operator) if contract in (i.id, i.cls))


def library_with(text):
    """Return the shipped library and one more file; its module is ``test``."""
    library, diagnostics = LIBRARY.with_source(Source("test.kc", f"kernel-contracts 0.1\nmodule test\n{text}"))
    assert not [d for d in diagnostics if d.severity == "error"], [d.message for d in diagnostics]
    return library


def arrays(values, fmt):
    """Round float64 values to a format and store them."""
    return store(round_to(np.asarray(values, dtype=np.float64), FORMATS[fmt]), fmt)


def case_of(operator, *inputs, output=None):
    """Return a case of an operator from its inputs in order; the output has the first input's format."""
    op = LIBRARY.operator(operator).declaration
    named = dict(zip((p.name for p in op.inputs), inputs, strict=True))
    types = {name: "i64" if array.dtype == np.int64 else format_of(array.dtype) for name, array in named.items()}
    types[op.outputs[0].name] = output or next(iter(types.values()))
    dims = dict.fromkeys((d.name if hasattr(d, "name") else d.id for p in op.inputs for d in p.dims), 0)
    case = Case(op, types, dims, named)
    return Case(op, types, shape_from(case, named), named)


def scope_of(case, contract, claims=None):
    """Return the scope of a contract on a case; it cannot see a candidate."""
    said = from_literal(PLAIN[case.operator.name] | (claims or {}), case.operator)
    return Scope(Program(instance_of(contract, case.operator.name)), case, said)


def value(text, scope):
    return evaluate(expression(text), scope)


def observed_as(case, output):
    """Return a completed call that answered ``output`` and answers it again whatever it is asked."""
    observation = Observation(Outcome.COMPLETED, outputs={case.output.name: output})
    return Observed(observation, lambda _inputs, _layouts: observation)


@dataclass
class Kernel:
    """A kernel in this process: a function from inputs in order to an output, and how it behaves otherwise."""

    operator: object
    function: object
    owned: bool = True
    calls: list = field(default_factory=list)

    def call(self, inputs, *, types, output_shapes, layouts):
        """Answer one call."""
        self.calls.append((inputs, layouts))
        out = self.operator.outputs[0].name
        names = [p.name for p in (*self.operator.inputs, *self.operator.outputs)]
        manners = {
            "owned": self.owned,
            "inputs_unchanged": dict.fromkeys(inputs, True),
            "guards_unchanged": dict.fromkeys(names, True if self.owned else None),
        }
        try:
            answer = self.function(*(inputs[p.name] for p in self.operator.inputs), **_more(self.function, types))
        except (OperatorRaised, IndexError) as error:
            return Observation(Outcome.RAISED, kind="IndexError", message=f"raised IndexError: {error}", **manners)
        if isinstance(answer, Observation):
            return answer
        assert answer.shape == output_shapes[out]
        return Observation(Outcome.COMPLETED, outputs={out: answer}, **manners)


def _more(function, types):
    return {"types": types} if getattr(function, "wants_types", False) else {}


def emulated(operator, claims=None, **changes):
    """Return an emulator as a function of its inputs, with the plain decisions and some changes."""
    decisions = from_literal(PLAIN[operator] | (claims or {}) | changes, LIBRARY.operator(operator).declaration)
    op = LIBRARY.operator(operator).declaration

    def compute(*inputs, types):
        named = dict(zip((p.name for p in op.inputs), inputs, strict=True))
        return emulate(operator, named, types, decisions)[op.outputs[0].name]

    compute.wants_types = True
    return compute


@cache
def _plan(contract, operator, fmt, seed):
    instance = instance_of(contract, operator)
    params = (*instance.operator.inputs, *instance.operator.outputs)
    types = {p.name: "i64" if p.element == "i64" else fmt for p in params}
    return make_plan(instance, types, run_seed=seed)


def plan_of(contract, operator, *, fmt="f32", seed=1, strata=None, every=1, most=None, averages=0, promised=None):
    """Return a plan, or a small part of one.

    ``strata`` and ``every`` pick cases, ``most`` cuts the list, ``averages`` says how many of the cases for averages
    are kept, and ``promised`` replaces the rate that is to be established.
    """
    plan = _plan(contract, operator, fmt, seed)
    cases = tuple(c for c in plan.cases if strata is None or c.stratum.name in strata)[::every][:most]
    return replace(plan, cases=cases, averages=plan.averages[:averages], promised=promised or plan.promised)


def candidate_of(plan, function, **options):
    return Candidate(Kernel(plan.instance.operator, function, **options), plan)


def claims_of(operator, **changes):
    return from_literal(PLAIN[operator] | changes, LIBRARY.operator(operator).declaration)
