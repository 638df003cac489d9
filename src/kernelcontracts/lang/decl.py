"""Declaration nodes: files, and everything that may stand in one.

The kinds of declarations are defined one a module (``decl_operator``, ``decl_plan``, ``decl_contract`` with
``decl_clause``, ``decl_claims``, and ``decl_parts`` for what they share), and all are to be had here. Doc comments
(``##``) are data in the tree and stay out of the semantic hash.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from kernelcontracts.lang.decl_claims import Claim, ClaimBlock, ClaimSheet
from kernelcontracts.lang.decl_clause import Always, Arm, Clause, Ladder, Match, OnAverage, Relation, Step
from kernelcontracts.lang.decl_contract import Calibrate, Companion, Contract, Reference, Scope, Signature, Trial
from kernelcontracts.lang.decl_operator import Decision, Operator, Param
from kernelcontracts.lang.decl_parts import Because, Bound, Labelled, Let, PlanRef, Typing
from kernelcontracts.lang.decl_plan import Draw, Measure, Plan, Stratum
from kernelcontracts.lang.expr import Node

__all__ = [
    "Always",
    "Arm",
    "Because",
    "Bound",
    "Calibrate",
    "Claim",
    "ClaimBlock",
    "ClaimSheet",
    "Clause",
    "Companion",
    "Contract",
    "Decision",
    "Declaration",
    "Draw",
    "File",
    "Labelled",
    "Ladder",
    "Let",
    "Match",
    "Measure",
    "OnAverage",
    "Operator",
    "Param",
    "Plan",
    "PlanRef",
    "Reference",
    "Relation",
    "Scope",
    "Signature",
    "Step",
    "Stratum",
    "Trial",
    "Typing",
    "Use",
]

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
