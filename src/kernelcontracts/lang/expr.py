"""Expression nodes: the part of the AST that denotes values.

A node is a frozen value. Its span rides along outside equality, so that two texts which say the same thing
give equal trees. Numbers are exact rationals; no expression ever holds a binary float.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from fractions import Fraction

    from kernelcontracts.lang.span import Span


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """What every node of the AST has."""

    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Number(Node):
    """An exact rational literal; ``text`` is the author's spelling and carries no meaning."""

    value: Fraction
    text: str | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Text(Node):
    """A string literal, without its quotes."""

    value: str


@dataclass(frozen=True, slots=True)
class Name(Node):
    """A name: a tensor, a dimension, a format, a let, a builtin, a value of a decision."""

    id: str


@dataclass(frozen=True, slots=True)
class Member(Node):
    """``base.name``: ``claim.accumulator``, ``op.worst``, ``r.bias``."""

    base: Expr
    name: str


@dataclass(frozen=True, slots=True)
class Unary(Node):
    """``-x``, ``not x``, or ``|x|`` (``op`` is ``"-"``, ``"not"`` or ``"abs"``)."""

    op: str
    operand: Expr


@dataclass(frozen=True, slots=True)
class Binary(Node):
    """``op`` is one of ``+ - * / @ ^ .. and or implies``; ``..`` is a closed range."""

    op: str
    left: Expr
    right: Expr


@dataclass(frozen=True, slots=True)
class Compare(Node):
    """A chain such as ``0 <= x < 1``: ``len(ops) == len(operands) - 1``; ops in ``< <= > >= == !=``."""

    operands: tuple[Expr, ...]
    ops: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class In(Node):
    """``item in domain``; the domain is a set, a range or a family name."""

    item: Expr
    domain: Expr


@dataclass(frozen=True, slots=True)
class Within(Node):
    """``actual within tolerance of reference``, elementwise."""

    actual: Expr
    tolerance: Expr
    reference: Expr


@dataclass(frozen=True, slots=True)
class Identical(Node):
    """``left identical right``.

    Between two tensors that carry bits (inputs, outputs): the same bits, NaN payloads aside. Against a real
    value: numerically equal, the sign of a zero aside, because a real zero has none.
    """

    left: Expr
    right: Expr


@dataclass(frozen=True, slots=True)
class If(Node):
    """``if condition then yes else no``."""

    condition: Expr
    yes: Expr
    no: Expr


@dataclass(frozen=True, slots=True)
class Call(Node):
    """``function(args, name = value)``: a builtin, a transform, or a parametrised value of a decision."""

    function: str
    args: tuple[Expr, ...] = ()
    kwargs: tuple[tuple[str, Expr], ...] = ()


@dataclass(frozen=True, slots=True)
class Feature(Node):
    """``r.name(args)``: a residual feature, allowed in signatures only."""

    name: str
    args: tuple[Expr, ...] = ()


@dataclass(frozen=True, slots=True)
class Index(Node):
    """``A[*l, m, k]``; a leading ``*name`` is a variadic index (stored as ``Star``)."""

    base: Expr
    indices: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Star(Node):
    """``*name``: a list of dimensions or of indices."""

    name: str


@dataclass(frozen=True, slots=True)
class Reduce(Node):
    """``sum[k < K](body)``; ``function`` is ``sum``, ``max``, ``min``, ``prod``, ``any`` or ``all``."""

    function: str
    binder: str
    bound: Expr
    body: Expr


@dataclass(frozen=True, slots=True)
class Quantity(Node):
    """``2 ulp``, ``1e-3 rel at ref``, ``1 ulp[bf16] at h``: an absolute error with its anchor.

    ``format`` and ``anchor`` are ``None`` where the text leaves them to the context: the output's declared
    format, and the reference.
    """

    value: Expr
    unit: str
    format: Expr | None = None
    anchor: Expr | None = None


@dataclass(frozen=True, slots=True)
class SetLiteral(Node):
    """``{a, b, c}``: a finite set; order carries no meaning."""

    items: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class RecordLiteral(Node):
    """``{format = f32, width = 13}``: a record value of a decision."""

    fields: tuple[tuple[str, Expr], ...]


Expr: TypeAlias = (
    Number
    | Text
    | Name
    | Member
    | Unary
    | Binary
    | Compare
    | In
    | Within
    | Identical
    | If
    | Call
    | Feature
    | Index
    | Star
    | Reduce
    | Quantity
    | SetLiteral
    | RecordLiteral
)
