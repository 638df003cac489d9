"""What the cases of a check add up to, clause by clause."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from kernelcontracts.engine.result import Status
from kernelcontracts.stats.limits import magnitude_limits, rms_limits

if TYPE_CHECKING:
    from kernelcontracts.engine.plan import PlannedCase
    from kernelcontracts.evaluate.case import Case, Observed


@dataclass(frozen=True, slots=True)
class Finding:
    """One clause on one case.

    Attributes
    ----------
    lo, hi
        The largest certain and the largest possible margin.
    index
        The output element with the largest certain margin, if the clause is elementwise.
    got, expected, tolerance
        That element's values, where the clause compares numbers.
    reason
        Why the case is undecided, or what happened, in words.
    reached
        Whether anything was compared: false where the clause's condition held nowhere.
    binding
        For a relation: its variable, and the value under which it fails worst.
    """

    clause: str
    lo: float
    hi: float
    index: tuple[int, ...] | None = None
    got: float | None = None
    expected: float | None = None
    tolerance: float | None = None
    reason: str = ""
    reached: bool = True
    binding: tuple[str, Any] | None = None

    @property
    def status(self) -> Status:
        """Violate, conform or undecided."""
        if self.lo > 1:
            return Status.VIOLATE
        return Status.CONFORM if self.hi <= 1 else Status.UNDECIDED


@dataclass(eq=False, slots=True)
class Failure:
    """A case on which a clause is certainly violated, kept for its witness and its diagnosis."""

    planned: PlannedCase
    case: Case
    observed: Observed
    finding: Finding


@dataclass(eq=False, slots=True)
class ClauseTally:
    """One clause over all its cases."""

    clause: str
    lo: float = 0.0
    hi: float = 0.0
    cases: int = 0
    undecided: int = 0
    violated: int = 0
    reached: int = 0
    reasons: dict[str, int] = field(default_factory=dict)

    def add(self, finding: Finding) -> None:
        """Count one case."""
        self.cases += 1
        self.reached += finding.reached
        self.lo, self.hi = max(self.lo, finding.lo), max(self.hi, finding.hi)
        if finding.status is Status.VIOLATE:
            self.violated += 1
        elif finding.status is Status.UNDECIDED:
            self.undecided += 1
            reason = finding.reason or "the reference is too wide to decide"
            self.reasons[reason] = self.reasons.get(reason, 0) + 1

    @property
    def reason(self) -> str:
        """The most frequent reason for being undecided."""
        return max(self.reasons, key=lambda r: self.reasons[r]) if self.reasons else ""


def over(value: float, bound: float) -> float:
    """Divide by a bound, with 0/0 = 0: nothing needs no room."""
    if bound > 0:
        return value / bound
    return 0.0 if value == 0 else math.inf


@dataclass(eq=False, slots=True)
class Cell:
    """A statistic of one clause in one (stratum, shape) cell; the cases are the resampling unit.

    ``kind`` is ``rms`` (values are means of squares) or ``mean`` (values are means).
    """

    clause: str
    name: str
    kind: str
    bound: float
    values: list[float] = field(default_factory=list)

    def limits(self, level: float) -> tuple[float, float, float]:
        """Return the statistic and its one-sided confidence limits, each at ``level``."""
        centre = math.fsum(self.values) / len(self.values) if all(map(math.isfinite, self.values)) else math.inf
        if self.kind == "rms":
            return math.sqrt(centre), *rms_limits(self.values, level)
        return abs(centre), *magnitude_limits(self.values, level)

    def ratio(self, level: float) -> float:
        """Return the lower limit over the bound: what is certain of how far the statistic goes."""
        return over(self.limits(level)[1], self.bound)

    def status(self, level: float) -> Status:
        """Judge the cell; a non-finite value convicts, since a right kernel has none on these strata."""
        if any(not math.isfinite(v) for v in self.values):
            return Status.VIOLATE
        _, lower, upper = self.limits(level)
        if upper <= self.bound:
            return Status.CONFORM
        return Status.VIOLATE if lower > self.bound else Status.UNDECIDED


@dataclass(frozen=True, eq=False, slots=True)
class Union:
    """One statistical cell under every reading of the claims: what any of them accepts is accepted."""

    cells: tuple[Cell, ...]

    def best(self, level: float) -> Cell:
        """Return the cell of the reading that judges the kernel most mildly."""
        return min(self.cells, key=lambda c: (-c.status(level).rank, c.ratio(level)))
