"""One contract under one set of claims, judging cases: preconditions, clauses, margins."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from kernelcontracts.engine.result import Status
from kernelcontracts.engine.statistic import Statement, statement_of
from kernelcontracts.engine.tally import Cell, Finding, Union
from kernelcontracts.evaluate import connectives
from kernelcontracts.evaluate.arithmetic import logical_of
from kernelcontracts.evaluate.case import NotCompletedError, param_shape
from kernelcontracts.evaluate.expressions import evaluate
from kernelcontracts.evaluate.field import Margins
from kernelcontracts.evaluate.meaning import sharpen
from kernelcontracts.evaluate.program import Program
from kernelcontracts.evaluate.scope import Scope
from kernelcontracts.kernels.observation import Outcome
from kernelcontracts.lang.decisions import representatives, value_of_expr, weakest
from kernelcontracts.lang.decl import Always, Ladder, Match, OnAverage, Relation
from kernelcontracts.lang.expr import Binary, In, Name, SetLiteral
from kernelcontracts.lang.printer import print_expr
from kernelcontracts.lang.values import Unspecified

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from kernelcontracts.engine.plan import PlannedCase
    from kernelcontracts.evaluate.case import Case, Observed
    from kernelcontracts.lang.decl import Clause
    from kernelcontracts.lang.expr import Expr
    from kernelcontracts.lang.instance import Instance
    from kernelcontracts.lang.values import Claimed, ClaimValue


def alternatives(instance: Instance, claims: Mapping[str, Claimed]) -> tuple[dict[str, ClaimValue], ...]:
    """Return the readings of a claim sheet: several where a decision is explicitly unspecified.

    An unspecified decision is judged on the union of what its values accept; for an ordered decision that is
    what the weakest accepts, since weaker claims accept more.
    """
    options: list[list[ClaimValue]] = []
    names = [name for name in instance.needs if name in claims]
    for name in names:
        value = claims[name]
        if isinstance(value, Unspecified):
            decision = next(d for d in instance.operator.decisions if d.name == name)
            options.append(list(weakest(decision)) if len(decision.levels) > 1 else list(representatives(decision)))
        else:
            options.append([value])
    return tuple(dict(zip(names, values, strict=True)) for values in product(*options))


@dataclass(eq=False)
class Judge:
    """Judges cases of one contract under one reading, or one union of readings, of the claims."""

    instance: Instance
    readings: tuple[Mapping[str, ClaimValue], ...]
    program: Program = field(init=False)
    statements: dict[str, Statement] = field(init=False)

    def __post_init__(self) -> None:
        self.program = Program(self.instance)
        clauses = self.instance.contract.post or ()
        self.statements = {c.label: statement_of(c) for c in clauses if isinstance(c, OnAverage)}

    def scopes(self, case: Case) -> list[Scope]:
        """Return one scope per reading of the claims."""
        return [Scope(self.program, case, reading) for reading in self.readings]

    def admits(self, scope: Scope) -> str:
        """Return the label of the first precondition a case does not certainly meet, or ``""``."""
        for clause in self.instance.contract.pre or ():
            if not bool(logical_of(evaluate(clause.value, scope)).must.all()):
                return clause.label
        return ""

    def rejected(self, case: Case, scopes: list[Scope]) -> str:
        """Return why a case is outside the contract's domain, or ``""``."""
        del case
        return next((why for why in map(self.admits, scopes) if why), "")

    def clauses(self, planned: PlannedCase) -> Iterator[Clause]:
        """Yield the clauses that look at a case's stratum."""
        for clause in self.instance.contract.post or ():
            if not clause.strata or planned.stratum.name in clause.strata:
                yield clause

    def findings(self, planned: PlannedCase, scopes: list[Scope], observed: Observed) -> Iterator[Finding]:
        """Judge every clause of a case that can be judged on one case alone."""
        if observed.observation.outcome is Outcome.DECLINED:
            yield Finding("", 0.0, np.inf, reason=f"declined: {observed.observation.message}")
            return
        for clause in self.clauses(planned):
            if not isinstance(clause, OnAverage):
                yield self.finding(clause, scopes, observed)

    def finding(self, clause: Clause, scopes: list[Scope], observed: Observed) -> Finding:
        """Judge one clause under the union of the readings: the best status, then the smallest margin, of any."""
        found = self._best(clause, scopes, observed)
        if found.status is Status.UNDECIDED and scopes and sharpen(scopes[0].case):
            for scope in scopes:
                scope.cache.clear()
            found = self._best(clause, scopes, observed)
        return found

    def _best(self, clause: Clause, scopes: list[Scope], observed: Observed) -> Finding:
        found = [self._read(clause, scope.observing(observed)) for scope in scopes]
        return min(found, key=lambda f: (-f.status.rank, f.lo, f.hi))

    def _read(self, clause: Clause, scope: Scope) -> Finding:
        assert scope.observed is not None
        before = len(scope.observed.reasons)
        try:
            judged = _judged(clause, scope)
        except NotCompletedError as stop:
            answer = stop.observation
            if answer.outcome is Outcome.DECLINED:
                return Finding(clause.label, 0.0, np.inf, reason=f"declined: {answer.message}")
            return Finding(clause.label, np.inf, np.inf, reason=answer.message)
        lo, hi = judged.margins.worst()
        reason = "; ".join(dict.fromkeys(scope.observed.reasons[before:])) or judged.detail
        place = _position(judged.margins, scope)
        return Finding(clause.label, lo, hi, place, reason=reason, reached=judged.reached, binding=judged.binding)

    def contributions(
        self,
        planned: PlannedCase,
        scopes: list[Scope],
        observed: Observed,
        cells: dict[tuple[str, str], Union],
        silent: set[str],
    ) -> None:
        """Add a case's values to the statistical cells it belongs to: one per reading of the claims."""
        seen = [scope.observing(observed) for scope in scopes]
        for clause in self.clauses(planned):
            if not isinstance(clause, OnAverage):
                continue
            statement = self.statements[clause.label]
            if not all(statement.applies(scope) for scope in seen):
                # a reading about which the clause says nothing accepts everything, and so does the union
                silent.add(clause.label)
                continue
            key = (clause.label, planned.cell())
            if key not in cells:
                bounds = [statement.bound(scope) for scope in seen]
                cells[key] = Union(tuple(Cell(*key, statement.kind, bound) for bound in bounds))
            for cell, scope in zip(cells[key].cells, seen, strict=True):
                cell.values.append(statement.value(scope))


def _position(margins: Margins, scope: Scope) -> tuple[int, ...] | None:
    """Return the output element with the largest margin, if margins are per output element."""
    # rows that were picked from the output have its dimensions and not its places
    whole = param_shape(scope.case.output, scope.case.shape)
    if margins.dims != scope.case.output_dims() or margins.lo.shape != whole or margins.lo.size == 0:
        return None
    flat = margins.lo if margins.lo.max() > 0 else margins.hi
    return tuple(int(i) for i in np.unravel_index(int(flat.argmax()), flat.shape))


@dataclass(frozen=True, slots=True)
class Judged:
    """A clause on one case.

    Its margins, what they were found under in words, whether anything was compared, and for a relation its variable
    with the value under which it fails worst.
    """

    margins: Margins
    detail: str = ""
    reached: bool = True
    binding: tuple[str, Any] | None = None


def _judged(clause: Clause, scope: Scope) -> Judged:
    match clause:
        case Always(predicate=predicate):
            margins = connectives.margins_of(evaluate(predicate, scope))
            return Judged(margins, reached=_condition_held(predicate, scope))
        case Relation():
            return _relation(clause, scope)
        case Match():
            return _match(clause, scope)
        case Ladder():
            return _ladder(clause, scope)
    raise AssertionError(f"a clause of kind {type(clause).__name__} is not judged case by case")


def _condition_held(predicate: Expr, scope: Scope) -> bool:
    """Tell whether the condition of an ``implies`` held somewhere, so that something was compared."""
    if isinstance(predicate, Binary) and predicate.op == "implies":
        return bool(logical_of(evaluate(predicate.left, scope)).may.any())
    return True


NOTHING = Margins((), np.asarray(0.0), np.asarray(0.0))


def _relation(clause: Relation, scope: Scope) -> Judged:
    """Judge a relation: element by element, the worst of its instances."""
    whole, worst, binding = NOTHING, NOTHING, None
    for value in evaluate(clause.domain, scope):
        inner = scope.binding(clause.variable, value)
        if clause.where is not None and not bool(logical_of(evaluate(clause.where, inner)).must.all()):
            continue
        margins = connectives.margins_of(evaluate(clause.predicate, inner))
        if binding is None or margins.worst() > worst.worst():
            worst, binding = margins, (clause.variable, value)
        whole = connectives.join("and", whole, margins)
    detail = f"under {binding[0]} = {binding[1]}" if binding is not None else ""
    return Judged(whole, detail, binding is not None, binding)


def _match(clause: Match, scope: Scope) -> Judged:
    """Judge a policy: the declared arm, where the event occurs."""
    if clause.event is not None and not logical_of(evaluate(clause.event, scope)).may.any():
        return Judged(NOTHING, reached=False)
    declared = str(evaluate(clause.subject, scope))
    arm = next(arm for arm in clause.arms if arm.value == declared)
    margins = connectives.margins_of(evaluate(arm.predicate, scope))
    return Judged(margins, _happened(scope, declared), _condition_held(arm.predicate, scope))


def _happened(scope: Scope, declared: str) -> str:
    assert scope.observed is not None
    observation = scope.observed.observation
    what = observation.outcome.value if observation.outcome is Outcome.COMPLETED else observation.message
    return f"declared {declared}; the call {what}" if what == "completed" else f"declared {declared}; {what}"


def _ladder(clause: Ladder, scope: Scope) -> Judged:
    """Judge a nested policy: every step up to the declared one."""
    declared = str(evaluate(clause.subject, scope))
    worst = NOTHING
    for step in clause.steps:
        if step.predicate is not None:
            worst = connectives.join("and", worst, connectives.margins_of(evaluate(step.predicate, scope)))
        if step.value == declared:
            break
    return Judged(worst, f"declared {declared}")


def outside_claims(instance: Instance, reading: Mapping[str, ClaimValue]) -> str:
    """Return the ``claimed`` line that a reading of the claims does not meet, or ``""``."""
    scope = instance.contract.scope
    for predicate in scope.claimed if scope is not None else ():
        assert isinstance(predicate, In)
        assert isinstance(predicate.item, Name)
        assert isinstance(predicate.domain, SetLiteral)
        allowed = [value_of_expr(item) for item in predicate.domain.items]
        if reading.get(predicate.item.id) not in allowed:
            return print_expr(predicate)
    return ""
