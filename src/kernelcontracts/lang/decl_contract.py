"""A contract and its eight parts.

The order of the sections carries no meaning, so each has a field of its own; the formatter prints them in the paper's
order (scope, pre, post, tolerance, reference, measure, violation), ``calibrate`` last.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from kernelcontracts.lang.expr import Node

if TYPE_CHECKING:
    from kernelcontracts.lang.decl_clause import Clause
    from kernelcontracts.lang.decl_parts import Bound, Labelled, Let, Typing
    from kernelcontracts.lang.decl_plan import Measure
    from kernelcontracts.lang.expr import Expr


@dataclass(frozen=True, slots=True)
class Scope(Node):
    """What a contract is about.

    ``operator`` is an operator's name, or ``op`` in a generic contract. ``claimed`` holds the predicates of the
    ``claimed`` lines (``claimed stabilization in {max_shift}``): a claim outside makes a case out of contract.
    """

    operator: str
    types: tuple[Typing, ...] = ()
    claimed: tuple[Expr, ...] = ()


@dataclass(frozen=True, slots=True)
class Reference(Node):
    """``reference exact meaning`` (no bindings) or ``reference enclosure { ref = … }``.

    ``kind`` is one of ``exact``, ``enclosure``, ``property``.
    """

    kind: str
    bindings: tuple[Let, ...] = ()
    meaning: bool = False


@dataclass(frozen=True, slots=True)
class Signature(Node):
    """``name "message" when { predicate }``: a violation signature that names a cause."""

    name: str
    message: str
    condition: Expr


@dataclass(frozen=True, slots=True)
class Trial(Node):
    """A line of ``calibrate``.

    ``role`` is ``good``, ``bad`` or ``baseline``. ``changes`` are decision values that differ from the claims of
    the ``claiming`` line (``bad accumulator = f16``); ``fault`` is a fault operator (``fault drop_tail(32)``,
    or a baseline's ``zeros()``). ``breaks`` names the clause that must stop it, ``as_signature`` the signature
    that must name it; ``types`` restricts the trial to some formats.
    """

    role: str
    changes: tuple[tuple[str, Expr], ...] = ()
    fault: Expr | None = None
    breaks: str | None = None
    signature: str | None = None
    types: tuple[Typing, ...] = ()


@dataclass(frozen=True, slots=True)
class Calibrate(Node):
    """The three states: what the trials claim, the functional tests bad must pass, and the trials."""

    claiming: tuple[tuple[str, Expr], ...] = ()
    smoke: tuple[Labelled, ...] = ()
    trials: tuple[Trial, ...] = ()


@dataclass(frozen=True, slots=True)
class Companion(Node):
    """``companion C-PRC-01 @1``: lets, pre, reference and tolerance come from there, and it must conform too."""

    id: str
    version: str


@dataclass(frozen=True, slots=True)
class Contract(Node):
    """The eight parts. ``variable`` and ``family`` are set in a generic contract (``for op in products``)."""

    id: str
    version: str
    variable: str | None = None
    family: str | None = None
    companion: Companion | None = None
    scope: Scope | None = None
    lets: tuple[Let, ...] = ()
    pre: tuple[Labelled, ...] | None = None
    post: tuple[Clause, ...] | None = None
    tolerance: tuple[Bound, ...] | None = None
    reference: Reference | None = None
    measure: Measure | None = None
    violation: tuple[Signature, ...] | None = None
    calibrate: Calibrate | None = None
    doc: str = field(default="")
