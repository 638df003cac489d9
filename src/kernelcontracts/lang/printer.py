"""The canonical text of a tree: two spaces, sections in the paper's order, columns that line up.

``parse(print_file(f)).file == f`` for every tree that has a text. Comments are no part of the tree;
``format`` keeps them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernelcontracts.lang.decl import ClaimSheet, Contract, Operator, Plan
from kernelcontracts.lang.printer_contract import contract_row
from kernelcontracts.lang.printer_decl import operator_row, plan_row, sheet_row
from kernelcontracts.lang.printer_expr import print_expr
from kernelcontracts.lang.printer_rows import Notes, Row, emit

if TYPE_CHECKING:
    from kernelcontracts.lang.decl import Declaration, File, Use
    from kernelcontracts.lang.span import Span

__all__ = ["file_rows", "print_declaration", "print_expr", "print_file"]


def print_file(file: File, notes: Notes | None = None) -> str:
    """Return the text of a file."""
    return _text(file_rows(file), notes)


def print_declaration(declaration: Declaration) -> str:
    """Return the text of one declaration, its doc comment included."""
    return _text([declaration_row(declaration)], None)


def _text(rows: list[Row], notes: Notes | None) -> str:
    notes = notes or Notes()
    lines = [*emit(rows, notes), *notes.last]
    return "\n".join(lines) + "\n"


def file_rows(file: File, edition: Span | None = None, module: Span | None = None) -> list[Row]:
    """Return the rows of a file; the spans of its first two lines are not in the tree."""
    rows = [
        Row((f"kernel-contracts {file.edition}",), span=edition),
        Row((f"module {file.module}",), span=module),
        *map(_use_row, file.uses),
    ]
    for declaration in file.declarations:
        row = declaration_row(declaration)
        row.gap = True
        rows.append(row)
    return rows


def _use_row(use: Use) -> Row:
    names = f"{{ {', '.join(use.names)} }}" if use.names else "{ }"
    pin = f" pin {use.pin}" if use.pin is not None else ""
    return Row((f"use {use.path} {names}{pin}",), span=use.span)


def declaration_row(declaration: Declaration) -> Row:
    """Return the row of a declaration."""
    match declaration:
        case Operator():
            return operator_row(declaration)
        case Plan():
            return plan_row(declaration)
        case Contract():
            return contract_row(declaration)
        case ClaimSheet():
            return sheet_row(declaration)
