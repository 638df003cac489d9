"""The parts that declarations of several kinds share: names for values, bounds, typings, references to plans."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kernelcontracts.lang.expr import Node

if TYPE_CHECKING:
    from kernelcontracts.lang.expr import Expr


@dataclass(frozen=True, slots=True)
class Because(Node):
    """``because derived "…"``: the basis of a bound.

    ``kind`` is one of ``derived``, ``budget``, ``cited``, ``policy``, ``measured``.
    """

    kind: str
    text: str


@dataclass(frozen=True, slots=True)
class Let(Node):
    """``let name = value``."""

    name: str
    value: Expr


@dataclass(frozen=True, slots=True)
class Labelled(Node):
    """``label: expression``: a precondition, a smoke test, a setting of a protocol."""

    label: str
    value: Expr


@dataclass(frozen=True, slots=True)
class Bound(Node):
    """``name = expression because kind "…"``: a tolerance, or an operator's ``error name = …``."""

    name: str
    value: Expr
    because: Because | None = None


@dataclass(frozen=True, slots=True)
class Typing(Node):
    """``A, B in {f32, f16}``: which formats some format variables (or tensors) may take."""

    names: tuple[str, ...]
    formats: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PlanRef(Node):
    """``kc.plans.products @1``, or ``op.plan`` (``name == "op.plan"``, ``version == ""``)."""

    name: str
    version: str
