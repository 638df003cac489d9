"""Rows of contracts: the sections in the paper's order, lets after the scope, ``calibrate`` last."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernelcontracts.lang.decl import Always, Ladder, Match, OnAverage, Relation
from kernelcontracts.lang.printer_decl import (
    bound_row,
    doc_lines,
    labelled_row,
    let_row,
    measure_rows,
    plan_ref,
    typings_doc,
)
from kernelcontracts.lang.printer_expr import document, pairs
from kernelcontracts.lang.printer_layout import SPACE, Doc, filled, flush, group, render
from kernelcontracts.lang.printer_rows import Row, spread
from kernelcontracts.lang.texts import write_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kernelcontracts.lang.decl import (
        Arm,
        Calibrate,
        Clause,
        Contract,
        Measure,
        Reference,
        Scope,
        Signature,
        Step,
        Trial,
    )
    from kernelcontracts.lang.expr import Expr


def contract_row(item: Contract) -> Row:
    """Return the row of a contract."""
    generic = f" for {item.variable} in {item.family}" if item.variable is not None else ""
    first: list[Row] = []
    if item.companion is not None:
        companion = f"companion {item.companion.id} @{item.companion.version}"
        first.append(Row((companion,), span=item.companion.span))
    if item.scope is not None:
        first.append(_scope(item.scope))
    block = spread([first, [let_row(x) for x in item.lets], _sections(item)])
    if not item.lets:
        for row in block:
            row.gap = False
    head = f"contract {item.id}{generic} @{item.version}"
    return Row((head,), span=item.span, block=block, above=doc_lines(item.doc))


def _sections(item: Contract) -> list[Row]:
    rows: list[Row] = []
    if item.pre is not None:
        rows.append(Row(("pre",), block=[labelled_row(p, "pre") for p in item.pre]))
    if item.post is not None:
        rows.append(Row(("post",), block=_post(item.post)))
    if item.tolerance is not None:
        bounds = [bound_row(b, "tolerance") for b in item.tolerance]
        rows.append(Row(("tolerance",), block=bounds) if bounds else Row(("tolerance none",)))
    if item.reference is not None:
        rows.append(_reference(item.reference))
    if item.measure is not None:
        rows.append(_measure(item.measure))
    if item.violation is not None:
        rows.append(Row(("violation",), block=[_signature(s) for s in item.violation]))
    if item.calibrate is not None:
        rows.append(_calibrate(item.calibrate))
    return rows


def _scope(item: Scope) -> Row:
    rows = [Row(("operator",), (item.operator,), run="scope")]
    if item.types:
        rows.append(Row(("types",), (typings_doc(item.types),), item.types[0].span, run="scope"))
    rows += [Row(("claimed",), (document(c),), c.span, run="scope") for c in item.claimed]
    return Row(("scope",), span=item.span, block=rows)


# --- post ------------------------------------------------------------------------------------------------------------


def _post(clauses: Sequence[Clause]) -> list[Row]:
    """Keywords of clauses on one line line up throughout; labels only with neighbours of the same form."""
    rows = [_clause(c) for c in clauses]
    widest = max((len(r.cells[0]) for r in rows if r.block is None), default=0)
    for row in rows:
        if row.block is None:
            row.cells = (row.cells[0].ljust(widest), *row.cells[1:])
    return rows


def _clause(item: Clause) -> Row:
    label, on = (item.label, _on(item.strata)) if item.strata else (f"{item.label}:", ())
    run = "on" if item.strata else "all"
    match item:
        case Always():
            return Row(("always", label), (*on, document(item.predicate)), item.span, run=run)
        case OnAverage():
            return Row(("on_average", label), (*on, document(item.predicate)), item.span, run=run)
        case Relation():
            return Row(("relation", label), (*on, _relation(item)), item.span, run=run)
        case Match():
            event: tuple[Doc, ...] = (" when ", document(item.event)) if item.event is not None else ()
            subject = (*on, document(item.subject), *event)
            return Row(("match", label), subject, item.span, [_arm(a) for a in item.arms])
        case Ladder():
            return Row(
                ("ladder", label), (*on, document(item.subject)), item.span, [_step(s) for s in item.steps]
            )  # fmt: skip


def _on(strata: Sequence[str]) -> tuple[Doc, ...]:
    return (f"on {', '.join(strata)}: ",)


def _relation(item: Relation) -> Doc:
    where: list[Doc] = [SPACE, "where ", document(item.where)] if item.where is not None else []
    domain = document(item.domain)
    return group(f"for {item.variable} in ", domain, *where, ":", SPACE, document(item.predicate))


def _arm(item: Arm) -> Row:
    return Row((item.value,), ("=> ", document(item.predicate)), item.span, run="arm")


def _step(item: Step) -> Row:
    added: Doc = "nothing" if item.predicate is None else document(item.predicate)
    return Row((item.value,), ("adds ", added), item.span, run="step")


# --- the other sections ----------------------------------------------------------------------------------------------


def _reference(item: Reference) -> Row:
    if item.meaning:
        return Row((f"reference {item.kind} meaning",), span=item.span)
    rows = [Row((b.name,), ("= ", document(b.value)), b.span, run="reference") for b in item.bindings]
    return Row((f"reference {item.kind}",), span=item.span, block=rows)


def _measure(item: Measure) -> Row:
    base = f" from {plan_ref(item.base)}" if item.base is not None else ""
    return Row((f"measure{base}",), span=item.span, block=measure_rows(item.strata, item.settings))


def _signature(item: Signature) -> Row:
    condition = group("{", SPACE, document(item.condition))
    rest = (f"{write_text(item.message)} when ", flush(condition, SPACE, "}"))
    return Row((item.name,), rest, item.span, run="signature")


def _calibrate(item: Calibrate) -> Row:
    rows: list[Row] = []
    if item.claiming:
        rows.append(Row(("claiming",), (_changes(item.claiming),), run="calibrate"))
    rows += [
        Row(("smoke",), (f"{s.label}: ", document(s.value)), s.span, run="calibrate") for s in item.smoke
    ]  # fmt: skip
    rows += [_trial(t) for t in item.trials]
    return Row(("calibrate",), span=item.span, block=rows)


def _changes(items: Sequence[tuple[str, Expr]]) -> Doc:
    return filled(pairs(items))


def _trial(item: Trial) -> Row:
    what = render((_trial_subject(item),), indent=0, column=0, width=10**9)
    tail: list[Doc] = []
    if item.breaks is not None:
        tail += [f"breaks {item.breaks}", SPACE]
    if item.signature is not None:
        tail += [f"names {item.signature}", SPACE]
    if item.types:
        tail += ["where ", typings_doc(item.types), SPACE]
    rest = (group(*tail[:-1]),) if tail else ()
    return Row((item.role, what), rest, item.span, run="calibrate")


def _trial_subject(item: Trial) -> Doc:
    if item.fault is not None:
        fault = document(item.fault)
        return fault if item.role == "baseline" else flush("fault ", fault)
    return _changes(item.changes) if item.changes else "as_claimed"
