"""Declaration nodes: files, operators, contracts, plans and claim sheets.

The order of the sections of a contract carries no meaning, so each has a field of its own; the formatter prints
them in the paper's order (scope, pre, post, tolerance, reference, measure, violation), ``calibrate`` last.
Doc comments (``##``) are data in the tree and stay out of the semantic hash.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

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
class PlanRef(Node):
    """``kc.plans.products @1``, or ``op.plan`` (``name == "op.plan"``, ``version == ""``)."""

    name: str
    version: str


# --- operators ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Param(Node):
    """``A: Ta[*L, M, K]``. ``element`` is a format variable (``Ta``) or a format name (``i64``)."""

    name: str
    element: str
    dims: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Typing(Node):
    """``A, B in {f32, f16}``: which formats some format variables (or tensors) may take."""

    names: tuple[str, ...]
    formats: tuple[str, ...]


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


# --- plans -------------------------------------------------------------------------------------------------------


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


# --- contracts ---------------------------------------------------------------------------------------------------


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


# --- claims ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Claim(Node):
    """``decision = value by evidence "note"``, or ``decision unspecified "reason"`` (``value is None``).

    ``evidence`` is one of ``asserted``, ``documented``, ``measured``, ``exhaustive``, ``proved``, or ``None``.
    """

    decision: str
    value: Expr | None
    evidence: str | None = None
    note: str | None = None


@dataclass(frozen=True, slots=True)
class ClaimBlock(Node):
    """``for matmul where A in {bf16} { … }``: claims about one operator, perhaps for some typings only."""

    operator: str
    types: tuple[Typing, ...]
    claims: tuple[Claim, ...]


@dataclass(frozen=True, slots=True)
class ClaimSheet(Node):
    """``claims "name" on "device" { … }``: one vendor's answers, bound to a build (``build compiler = "…"``)."""

    name: str
    device: str | None = None
    build: tuple[tuple[str, str], ...] = ()
    blocks: tuple[ClaimBlock, ...] = ()
    doc: str = field(default="")


Declaration: TypeAlias = Operator | Contract | Plan | ClaimSheet


@dataclass(frozen=True, slots=True)
class Use(Node):
    """``use kc.ops { matmul }``, optionally pinned to a semantic hash."""

    path: str
    names: tuple[str, ...]
    pin: str | None = None


@dataclass(frozen=True, slots=True)
class File(Node):
    """One source file."""

    edition: str
    module: str
    uses: tuple[Use, ...] = ()
    declarations: tuple[Declaration, ...] = ()
