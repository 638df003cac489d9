"""Claim sheets: a vendor's answers to the decisions of operators."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from kernelcontracts.lang.expr import Node

if TYPE_CHECKING:
    from kernelcontracts.lang.decl_parts import Typing
    from kernelcontracts.lang.expr import Expr


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
