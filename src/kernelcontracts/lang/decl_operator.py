"""An operator's entry: its signature, its exact meaning, its decisions and its error bounds."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from kernelcontracts.lang.expr import Node

if TYPE_CHECKING:
    from kernelcontracts.lang.decl_parts import Bound, Labelled, Let, PlanRef, Typing
    from kernelcontracts.lang.expr import Expr


@dataclass(frozen=True, slots=True)
class Param(Node):
    """``A: Ta[*L, M, K]``. ``element`` is a format variable (``Ta``) or a format name (``i64``)."""

    name: str
    element: str
    dims: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Decision(Node):
    """A point where conforming kernels may differ.

    ``levels`` lists the domain, strongest first (``a > b | c``: two levels, ``b`` and ``c`` incomparable). A value is
    a ``Name``, or a ``Call`` whose arguments name its parameters (``pairwise(base)``), or a closed range of integers
    (``1 .. 4096``, smaller is stronger). ``measure`` is the function by which parametrised values are ordered
    (``by add_depth``), or ``None``.
    """

    name: str
    levels: tuple[tuple[Expr, ...], ...]
    measure: str | None = None


@dataclass(frozen=True, slots=True)
class Operator(Node):
    """A signature, its exact meaning, its decisions and its error bounds.

    ``target`` and ``meaning`` are the two sides of ``meaning C[*l, m, n] = …``. ``plan`` names the measuring
    plan that contracts over a family use (``plan kc.plans.products @1``).
    """

    name: str
    inputs: tuple[Param, ...]
    outputs: tuple[Param, ...]
    families: tuple[str, ...] = ()
    types: tuple[Typing, ...] = ()
    target: Expr | None = None
    meaning: Expr | None = None
    decisions: tuple[Decision, ...] = ()
    events: tuple[Labelled, ...] = ()
    lets: tuple[Let, ...] = ()
    errors: tuple[Bound, ...] = ()
    plan: PlanRef | None = None
    doc: str = field(default="")
