"""``on_average`` clauses: what they measure on one case, and what bound they promise."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from kernelcontracts.evaluate.arithmetic import field_of, logical_of
from kernelcontracts.evaluate.case import NotCompletedError
from kernelcontracts.evaluate.expressions import evaluate
from kernelcontracts.lang.expr import Binary, Call, Compare, Unary

if TYPE_CHECKING:
    from kernelcontracts.evaluate.scope import Scope
    from kernelcontracts.lang.decl import OnAverage
    from kernelcontracts.lang.expr import Expr


@dataclass(frozen=True, slots=True)
class Statement:
    """``guard implies statistic(inner) <= limit``, taken apart.

    ``kind`` is ``rms`` for ``rms(inner) <= limit`` and ``mean`` for ``|mean(inner)| <= limit``.
    """

    kind: str
    inner: Expr
    limit: Expr
    guard: Expr | None

    def applies(self, scope: Scope) -> bool:
        """Tell whether the clause says anything under these claims."""
        return self.guard is None or bool(logical_of(evaluate(self.guard, scope.pure())).must.all())

    def bound(self, scope: Scope) -> float:
        """Return the promised bound, rounded up to a float."""
        return float(field_of(evaluate(self.limit, scope.pure())).value.hi)

    def value(self, scope: Scope) -> float:
        """Return the case's value: the mean over the output of the inner expression, or of its square.

        The reference's width is far below what is measured, so the middle of the interval stands for it; 0/0
        is no error against no tolerance.
        """
        assert scope.observed is not None
        try:
            field = field_of(evaluate(self.inner, scope))
            output = scope.observed.array(scope.case.output.name)
        except NotCompletedError:
            return float("inf")
        if (output != output).any():  # noqa: PLR0124  # NaN alone differs from itself
            return float("inf")
        # NaN can only be 0/0 here; the whole line, from something over zero, stays infinite
        middle = np.where(field.value.is_nan, 0.0, field.value.lo / 2 + field.value.hi / 2)
        if self.kind == "rms":
            middle = middle * middle
        result = float(middle.mean()) if middle.size else 0.0
        return result if np.isfinite(result) else float("inf")


def statement_of(clause: OnAverage) -> Statement:
    """Take a statistical clause apart; the checks have made sure that it has one of the two forms."""
    guard, predicate = None, clause.predicate
    if isinstance(predicate, Binary) and predicate.op == "implies":
        guard, predicate = predicate.left, predicate.right
    assert isinstance(predicate, Compare)
    statistic, limit = predicate.operands
    if isinstance(statistic, Unary):
        statistic = statistic.operand
        assert isinstance(statistic, Call)
        return Statement("mean", statistic.args[0], limit, guard)
    assert isinstance(statistic, Call)
    return Statement("rms", statistic.args[0], limit, guard)
