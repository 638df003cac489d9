"""Residual features: what signatures ask about a candidate that was convicted, answered when asked."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from kernelcontracts.diagnose import accumulator, evidence, order, rows, subnormals, tails
from kernelcontracts.diagnose.candidate import Candidate
from kernelcontracts.diagnose.failure import size
from kernelcontracts.diagnose.sums import Bench

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from kernelcontracts.diagnose.failure import Array, Failure, Shape
    from kernelcontracts.kernels.observation import Observation
    from kernelcontracts.lang.decl import Operator
    from kernelcontracts.lang.values import Choice, Claimed

Value: TypeAlias = "float | Choice | bool | None"

USUAL: dict[str, Shape] = {
    "matmul": {"L": (), "M": 17, "N": 24, "K": 333},
    "reduce_sum": {"L": (7,), "N": 1000},
}
"""Shapes at which to ask when no case has failed."""

SUMS = {"matmul", "reduce_sum"}


class Features:
    """The features of one candidate after one conviction.

    Nothing is computed before it is asked for, and nothing twice. A feature that cannot be known is ``None``, and a
    signature that asks for it does not match.

    Parameters
    ----------
    operator
        The operator.
    types
        Format names by tensor.
    call
        Runs the candidate once on arrays in the declared formats.
    failures
        The failed cases, in the order of their calls.
    nan_counts
        By stratum: cases with a NaN in the output, and all cases.
    violated
        Labels of violated clauses.
    claims
        The claims under which the candidate was judged.
    """

    def __init__(
        self,
        operator: Operator,
        types: Mapping[str, str],
        call: Callable[[dict[str, Array]], Observation],
        *,
        failures: Sequence[Failure] = (),
        nan_counts: Mapping[str, tuple[int, int]] | None = None,
        violated: frozenset[str] = frozenset(),
        claims: Mapping[str, Claimed] | None = None,
    ) -> None:
        self._candidate = Candidate(operator.name, types, operator.outputs[0].name, call)
        self._failures = tuple(failures)
        self._nan_counts = nan_counts or {}
        self._violated = violated
        self._claims = claims or {}
        self._known: dict[tuple[str, tuple[object, ...]], Value] = {}
        self._bench: Bench | None = None

    def value(self, name: str, args: tuple[object, ...] = ()) -> Value:
        """Return a feature, or ``None`` if it is unknown.

        Parameters
        ----------
        name
            ``best_fit``, ``tail_fraction``, ``stale_rate``, ``nan_rate``, ``zero_rows``, ``canary_rows``,
            ``violates``, ``bias``, ``sign_of_bias``, ``rms``, ``max_abs`` or ``run_spread``.
        args
            What stands in its parentheses: a decision, a stratum, an event or a clause, by name.
        """
        key = (name, tuple(str(getattr(a, "id", a)) for a in args))
        if key not in self._known:
            with np.errstate(all="ignore"):
                self._known[key] = self._compute(name, *(str(a) for a in key[1]))
        return self._known[key]

    def _compute(self, name: str, arg: str = "", *rest: str) -> Value:
        del rest
        if name == "best_fit":
            return self._best_fit(arg)
        if name == "nan_rate":
            found, cases = self._nan_counts.get(arg, (0, 0))
            return found / cases if cases else None
        if name == "violates":
            return arg in self._violated
        if name in {"zero_rows", "canary_rows"}:
            share = evidence.zero_rows if name == "zero_rows" else evidence.canary_rows
            return share(self._failures, self._claims)
        return self._plain(name)

    def _plain(self, name: str) -> Value:
        sized = {
            "bias": evidence.bias,
            "sign_of_bias": evidence.sign_of_bias,
            "rms": evidence.rms,
            "max_abs": evidence.max_abs,
        }
        if name in sized:
            return sized[name](self._failures)
        if name == "stale_rate":
            return self._stale_rate()
        if name == "run_spread":
            return self._run_spread()
        if name == "tail_fraction" and self._candidate.operator in SUMS:
            return tails.tail_fraction(self._candidate, self._shape(), self._failures)
        return None

    def _best_fit(self, decision: str) -> Value:
        operator = self._candidate.operator
        if operator in SUMS:
            probes: dict[str, Callable[[Bench], Choice | None]] = {
                "accumulator": accumulator.accumulator,
                "acc_rounding": accumulator.acc_rounding,
                "operand_rounding": accumulator.operand_rounding,
                "reduction_order": partial(order.reduction_order, claimed=self._claims.get(decision)),
                "daz_in": subnormals.daz_in,
                "ftz_out": subnormals.ftz_out,
            }
            probe = probes.get(decision)
            self._bench = self._bench or Bench(self._candidate, self._shape())
            return probe(self._bench) if probe else None
        if operator == "softmax" and decision == "stabilization":
            return rows.stabilization(self._candidate, self._claims)
        if operator == "softmax" and decision == "exp_ulp":
            return rows.exp_ulp(self._candidate)
        if operator == "gather_rows" and decision == "oob_policy":
            return rows.oob_policy(self._candidate)
        if operator == "gather_rows" and decision == "negative_index":
            return rows.negative_index(self._candidate)
        return None

    def _shape(self) -> Shape:
        """Return the shape of the largest failed case: where a kernel goes wrong is where to ask it."""
        if self._failures:
            return max(self._failures, key=size).shape
        return USUAL[self._candidate.operator]

    def _stale_rate(self) -> Value:
        seen = evidence.stale_share(self._failures)
        if seen or self._candidate.operator not in SUMS:
            return seen
        again = tails.repeats(self._candidate, self._shape())
        return seen if again is None else max(again, seen or 0.0)

    def _run_spread(self) -> Value:
        """Return the largest difference between two runs on the inputs of a failed case."""
        if not self._failures:
            return None
        inputs = dict(max(self._failures, key=size).inputs)
        first, second = (self._candidate.result(self._candidate.call(inputs)) for _ in range(2))
        if first is None or second is None or first.shape != second.shape:
            return None
        same = (first == second) | (np.isnan(first) & np.isnan(second))
        gaps = np.where(same, 0.0, np.abs(first - second))
        return float(np.where(np.isnan(gaps), np.inf, gaps).max(initial=0.0))
