"""The search for a point at which a stronger claim gives more room than a weaker one.

A bound is evaluated for every value of the decision, at several sizes, magnitudes, formats and values of the other
claims. What is not found there may still exist.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING

from kernelcontracts.lang.checks.shadow import Point, Shadow

if TYPE_CHECKING:
    from kernelcontracts.lang.checks.setting import Setting
    from kernelcontracts.lang.decl import Decision
    from kernelcontracts.lang.expr import Expr
    from kernelcontracts.lang.values import ClaimValue

#: One term, a few, a tile, a long sum; the magnitudes are one and small, so that constants show.
SIZES = (1, 2, 64, 4096)
MAGNITUDES = (1.0, 2.0**-20)

#: Sizes for preconditions, where the question is at which size a limit is passed.
LIMITS = tuple(float(2**k) for k in range(0, 56, 2))

#: Two evaluations of equal bounds differ by a few roundings of binary64 (2^-53 each, at most some hundred operations).
SLACK = 1 + 2.0**-40


@dataclass(frozen=True, slots=True)
class Witness:
    """A stronger and a weaker value, the point at which the stronger one gives more room, and how much more."""

    strong: ClaimValue
    weak: ClaimValue
    point: Point
    at_strong: float
    at_weak: float


def loosening(expr: Expr, decision: Decision, reads: list[str], setting: Setting, sign: int) -> Witness | None:
    """Return where a bound grows (``sign`` 1) or shrinks (-1) as a claim gets stronger, or ``None``."""
    pairs = setting.pairs[decision.name]
    for size, magnitude, types in product(SIZES, MAGNITUDES, setting.typings):
        for claims in _contexts(decision, reads, setting):
            values = {}
            for value in setting.domains[decision.name]:
                point = Point({**claims, decision.name: value}, size, magnitude, types)
                values[value] = Shadow(setting.world, point).number(expr)
            for strong, weak in pairs:
                a, b = values[strong], values[weak]
                if a is not None and b is not None and sign * (a - b) > abs(b) * (SLACK - 1):
                    return Witness(strong, weak, Point(claims, size, magnitude, types), a, b)
    return None


def shrinking(expr: Expr, decision: Decision, reads: list[str], setting: Setting) -> Witness | None:
    """Return where a condition holds for a claim and fails for a stronger one, or ``None``."""
    pairs = setting.pairs[decision.name]
    for size, magnitude, types in product(LIMITS, MAGNITUDES, setting.typings):
        for claims in _contexts(decision, reads, setting):
            values = {}
            for value in setting.domains[decision.name]:
                point = Point({**claims, decision.name: value}, size, magnitude, types)
                values[value] = Shadow(setting.world, point).truth(expr)
            for strong, weak in pairs:
                if values[strong] is False and values[weak] is True:
                    return Witness(strong, weak, Point(claims, size, magnitude, types), 0.0, 1.0)
    return None


def _contexts(decision: Decision, reads: list[str], setting: Setting) -> list[dict[str, ClaimValue]]:
    """Return values of the other claims: the ends of the ordered ones in every combination, the rest one at a time."""
    others = [n for n in reads if n != decision.name and setting.domains[n]]
    first = {n: setting.domains[n][0] for n in others}
    ordered = [n for n in others if setting.pairs[n]]
    ends = [(setting.domains[n][0], setting.domains[n][-1]) for n in ordered]
    corners = [first | dict(zip(ordered, row, strict=True)) for row in product(*ends)]
    return corners + [first | {n: v} for n in others for v in setting.domains[n][1:-1]]
