"""Printing a tree and parsing the text again, whatever part of a file the tree is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kernelcontracts.lang.decl import ClaimSheet, Contract, File, Labelled, Operator, Plan
from kernelcontracts.lang.parse import parse
from kernelcontracts.lang.printer import print_file
from kernelcontracts.lang.source import Source

if TYPE_CHECKING:
    from collections.abc import Callable

    from kernelcontracts.lang.expr import Node


def reparse(node: Node) -> Node | None:
    """Return what the text of a node means, or ``None`` if it means nothing.

    A part of a declaration other than an expression has no text of its own, and is returned as it is.
    """
    if isinstance(node, File):
        return parse(Source("tree", print_file(node))).file
    wrap, unwrap = _frame(node)
    if wrap is None:
        return node
    file = parse(Source("tree", print_file(wrap))).file
    return None if file is None else unwrap(file)


def _frame(node: Any) -> tuple[File | None, Callable[[File], Node]]:
    """Return a file that holds a node, and how to take it out again."""
    if isinstance(node, Operator | Plan | Contract | ClaimSheet):
        return File("0.1", "tree", (), (node,)), lambda file: file.declarations[0]
    if type(node).__module__ != "kernelcontracts.lang.expr":
        return None, lambda file: file
    plan = Plan("tree", "1", (), (Labelled("tree", node),))
    return File("0.1", "tree", (), (plan,)), _setting


def _setting(file: File) -> Node:
    plan = file.declarations[0]
    assert isinstance(plan, Plan)
    return plan.settings[0].value
