"""The clauses of a contract's postcondition, by what refutes each of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from kernelcontracts.lang.expr import Node

if TYPE_CHECKING:
    from kernelcontracts.lang.expr import Expr


@dataclass(frozen=True, slots=True)
class Always(Node):
    """``always label on strata: predicate``: one counterexample refutes. No strata means all."""

    label: str
    predicate: Expr
    strata: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class OnAverage(Node):
    """``on_average label on strata: statistic <= bound``, judged per (stratum, shape, typing) cell."""

    label: str
    predicate: Expr
    strata: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Relation(Node):
    """``relation label on strata: for t in domain where filter: predicate``."""

    label: str
    variable: str
    domain: Expr
    predicate: Expr
    where: Expr | None = None
    strata: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Arm(Node):
    """``VALUE => predicate`` of a ``match``; ``value`` is a name."""

    value: str
    predicate: Expr


@dataclass(frozen=True, slots=True)
class Match(Node):
    """``match label on strata: subject when event { arms }``: the policy that happens is the one declared."""

    label: str
    subject: Expr
    arms: tuple[Arm, ...]
    event: Expr | None = None
    strata: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Step(Node):
    """``value adds predicate`` of a ``ladder``; ``predicate`` is ``None`` for ``adds nothing``."""

    value: str
    predicate: Expr | None


@dataclass(frozen=True, slots=True)
class Ladder(Node):
    """``ladder label on strata: subject { steps }``, weakest first: each step keeps all earlier ones."""

    label: str
    subject: Expr
    steps: tuple[Step, ...]
    strata: tuple[str, ...] = ()


Clause: TypeAlias = Always | OnAverage | Relation | Match | Ladder
