"""Rows of operators, plans and claim sheets, and of what contracts share with them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernelcontracts.lang.printer_expr import document, print_expr
from kernelcontracts.lang.printer_layout import SPACE, Doc, filled, flush, group
from kernelcontracts.lang.printer_rows import Row, spread
from kernelcontracts.lang.texts import write_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from kernelcontracts.lang.decl import (
        Bound,
        Claim,
        ClaimBlock,
        ClaimSheet,
        Decision,
        Draw,
        Labelled,
        Let,
        Operator,
        Param,
        Plan,
        PlanRef,
        Stratum,
        Typing,
    )
    from kernelcontracts.lang.expr import Expr


def names_doc(names: Sequence[str]) -> Doc:
    """Return names with commas, which may break after each."""
    return filled(names)


def doc_lines(doc: str) -> tuple[str, ...]:
    """Return a doc text as comment lines."""
    return tuple(f"## {line}" if line else "##" for line in doc.split("\n")) if doc else ()


# --- shared ----------------------------------------------------------------------------------------------------------


def labelled_row(item: Labelled, run: str) -> Row:
    """Return the row of ``label: value``."""
    return Row((f"{item.label}:",), (document(item.value),), item.span, run=run)


def let_row(item: Let) -> Row:
    """Return the row of a let."""
    return Row((f"let {item.name}",), ("= ", document(item.value)), item.span, run="let")


def bound_row(item: Bound, run: str, prefix: str = "") -> Row:
    """Return the row of a bound; its reason goes to a line of its own if it must."""
    value: Doc = document(item.value)
    if item.because is None:
        return Row((prefix + item.name,), ("= ", value), item.span, run=run)
    reason = f"because {item.because.kind} {write_text(item.because.text)}"
    return Row((prefix + item.name,), ("= ", value, group(SPACE, reason)), item.span, run=run)


def typing_doc(item: Typing) -> Doc:
    """Return ``A, B in {f32}``."""
    return flush(names_doc(item.names), " in {", names_doc(item.formats), "}")


def typings_doc(items: Sequence[Typing]) -> Doc:
    """Return typings with semicolons."""
    parts: list[Doc] = [typing_doc(items[0])]
    for item in items[1:]:
        parts += [" ;", SPACE, typing_doc(item)]
    return group(*parts)


def plan_ref(ref: PlanRef) -> str:
    """Return ``name @version``."""
    return f"{ref.name} @{ref.version}" if ref.version else ref.name


# --- operators -------------------------------------------------------------------------------------------------------


def operator_row(item: Operator) -> Row:
    """Return the row of an operator."""
    head: list[Row] = []
    if item.families:
        head.append(Row(("family  ",), (names_doc(item.families),), run="head"))
    if item.types:
        head.append(Row(("types",), (typings_doc(item.types),), item.types[0].span, run="head"))
    if item.target is not None and item.meaning is not None:
        meaning = group(document(item.target), " = ", document(item.meaning))
        head.append(Row(("meaning",), (meaning,), item.target.span, run="head"))
    if item.plan is not None:
        head.append(Row(("plan",), (plan_ref(item.plan),), item.plan.span, run="head"))
    block = spread(
        [
            head,
            [_decision_row(d) for d in item.decisions],
            [let_row(x) for x in item.lets],
            [_event_row(e) for e in item.events],
            [bound_row(e, "error", "error ") for e in item.errors],
        ]
    )
    signature = f"operator {item.name}({_params(item.inputs)}) -> {_params(item.outputs)}"
    return Row((signature,), span=item.span, block=block, above=doc_lines(item.doc))


def _event_row(item: Labelled) -> Row:
    return Row((f"event {item.label}",), (": ", document(item.value)), item.span, run="event")


def _params(items: Iterable[Param]) -> str:
    return ", ".join(_param(p) for p in items)


def _param(item: Param) -> str:
    dims = f"[{', '.join(print_expr(d) for d in item.dims)}]" if item.dims else ""
    return f"{item.name}: {item.element}{dims}"


def _decision_row(item: Decision) -> Row:
    parts: list[Doc] = []
    for i, level in enumerate(item.levels):
        parts += [SPACE, "> "] if i else []
        for j, value in enumerate(level):
            parts += [SPACE, "| "] if j else []
            parts.append(document(value))
    parts += [SPACE, f"by {item.measure}"] if item.measure else []
    return Row((f"decision {item.name}",), (": ", group(*parts)), item.span, run="decision")


# --- plans -----------------------------------------------------------------------------------------------------------


def plan_row(item: Plan) -> Row:
    """Return the row of a plan."""
    block = measure_rows(item.strata, item.settings)
    return Row((f"plan {item.name} @{item.version}",), span=item.span, block=block, above=doc_lines(item.doc))


def measure_rows(strata: Sequence[Stratum], settings: Sequence[Labelled]) -> list[Row]:
    """Return the rows of strata and settings."""
    return spread([[_stratum_row(s) for s in strata], [labelled_row(s, "setting") for s in settings]])


def _stratum_row(item: Stratum) -> Row:
    weight = f" x{item.weight}" if item.weight != 1 else ""
    parts: list[Doc] = [_draw(item.draws[0])]
    for draw in item.draws[1:]:
        parts += [";", SPACE, _draw(draw)]
    return Row((f"inputs {item.name}{weight}:",), (group(*parts),), item.span, run="inputs")


def _draw(item: Draw) -> Doc:
    return flush(names_doc(item.names), " ~ ", document(item.generator))


# --- claim sheets ----------------------------------------------------------------------------------------------------


def sheet_row(item: ClaimSheet) -> Row:
    """Return the row of a claim sheet."""
    device = f" on {write_text(item.device)}" if item.device is not None else ""
    builds = [Row((f"build {key}",), (f"= {write_text(value)}",), run="build") for key, value in item.build]
    block = [*builds, *(_block_row(b) for b in item.blocks)]
    return Row((f"claims {write_text(item.name)}{device}",), span=item.span, block=block, above=doc_lines(item.doc))


def _block_row(item: ClaimBlock) -> Row:
    where: tuple[Doc, ...] = ("where ", typings_doc(item.types)) if item.types else ()
    return Row((f"for {item.operator}",), where, item.span, block=[_claim_row(c) for c in item.claims])


def _claim_row(item: Claim) -> Row:
    note = f" {write_text(item.note)}" if item.note is not None else ""
    if item.value is None:
        return Row((item.decision,), (f"unspecified{note}",), item.span, run="claim")
    value = f"= {_value(item.value)}"
    reason: tuple[Doc, ...] = (f"by {item.evidence}{note}",) if item.evidence is not None else ()
    return Row((item.decision, value), reason, item.span, run="claim")


def _value(expr: Expr) -> str:
    return print_expr(expr)
