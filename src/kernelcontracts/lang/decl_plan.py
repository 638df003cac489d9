"""Measuring plans: how inputs are drawn, and the settings of a protocol."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from kernelcontracts.lang.expr import Node

if TYPE_CHECKING:
    from kernelcontracts.lang.decl_parts import Labelled, PlanRef
    from kernelcontracts.lang.expr import Expr


@dataclass(frozen=True, slots=True)
class Draw(Node):
    """``A, B ~ normal(0, 1)``: how some inputs are drawn, jointly."""

    names: tuple[str, ...]
    generator: Expr


@dataclass(frozen=True, slots=True)
class Stratum(Node):
    """``inputs gauss x2: A, B ~ normal(0, 1)``; ``weight`` is the multiplicity of its seeds."""

    name: str
    draws: tuple[Draw, ...]
    weight: int = 1


@dataclass(frozen=True, slots=True)
class Plan(Node):
    """A named measuring plan: strata and settings that several contracts share."""

    name: str
    version: str
    strata: tuple[Stratum, ...] = ()
    settings: tuple[Labelled, ...] = ()
    doc: str = field(default="")


@dataclass(frozen=True, slots=True)
class Measure(Node):
    """A contract's protocol: its own strata and settings, over those of ``base`` if it names one."""

    base: PlanRef | None = None
    strata: tuple[Stratum, ...] = ()
    settings: tuple[Labelled, ...] = ()
