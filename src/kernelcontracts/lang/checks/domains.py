"""E0404, E0205, E0406: values belong to their decisions, and clauses over a decision cover its values."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernelcontracts.lang.checks.context import Entry
from kernelcontracts.lang.checks.cover import check_ladder, check_match
from kernelcontracts.lang.checks.membership import check_comparisons, check_value_at
from kernelcontracts.lang.checks.name_messages import check_decision, unknown
from kernelcontracts.lang.checks.typings import check_typing
from kernelcontracts.lang.decisions import representatives
from kernelcontracts.lang.decl import Ladder, Match
from kernelcontracts.lang.diagnostics import diagnostic
from kernelcontracts.lang.walk import claim_predicate, judged_parts, member_path, walk

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kernelcontracts.lang.checks.context import View
    from kernelcontracts.lang.decl import ClaimBlock, ClaimSheet, Contract
    from kernelcontracts.lang.diagnostics import Diagnostic
    from kernelcontracts.lang.library import Library, Located
    from kernelcontracts.lang.source import Source

__all__ = [
    "check_entry",
    "check_sheet",
    "check_value_at",
    "check_view",
]


def check_entry(entry: Entry) -> Iterator[Diagnostic]:
    """Yield values outside their decisions in an operator's entry, and decisions without values."""
    for decision in entry.operator.decisions:
        if not representatives(decision):
            yield diagnostic(
                "E0404",
                f"`{decision.name}` has no values",
                source=entry.source,
                span=decision.span,
                label="an empty domain",
                help="list its values, strongest first: `decision d : a > b | c`",
            )
    for value in entry.definitions.values():
        yield from check_comparisons(value, entry, entry.source)


def check_view(view: View) -> Iterator[Diagnostic]:
    """Yield values outside their decisions in a contract, and clauses that do not cover a decision."""
    contract, entry, source = view.contract, view.entry, view.source
    parts = [*judged_parts(contract), *(let.value for let in contract.lets)]
    parts += [s.condition for s in contract.violation or ()]
    for part in parts:
        yield from check_comparisons(part, entry, source)
    yield from _check_claimed(contract, source)
    yield from _check_trials(view)
    for clause in contract.post or ():
        if isinstance(clause, Match):
            yield from check_match(clause, view)
        elif isinstance(clause, Ladder):
            yield from check_ladder(clause, view)


def _check_claimed(contract: Contract, source: Source) -> Iterator[Diagnostic]:
    for predicate in contract.scope.claimed if contract.scope else ():
        full = claim_predicate(predicate)
        if not any((member_path(node) or ("", ""))[0] == "claim" for node in walk(full)):
            yield diagnostic(
                "E0404",
                "a `claimed` line says which values of a decision are in scope",
                source=source,
                span=predicate.span,
                label="names no decision",
                help="write `claimed accumulator in {f64, f32}`",
            )


def _check_trials(view: View) -> Iterator[Diagnostic]:
    calibrate = view.contract.calibrate
    if calibrate is None:
        return
    changes = [(c, calibrate.span) for c in calibrate.claiming]
    changes += [(c, trial.span) for trial in calibrate.trials for c in trial.changes]
    for (name, value), span in changes:
        decision = view.entry.decisions.get(name)
        if decision is not None:
            yield from check_value_at(value, decision, view.source, span)


# --- claim sheets ----------------------------------------------------------------------------------------------------


def check_sheet(library: Library, located: Located[ClaimSheet]) -> Iterator[Diagnostic]:
    """Yield what is wrong with a claim sheet."""
    operators = {o.decl.name: o for o in library.operators}
    for block in located.decl.blocks:
        operator = operators.get(block.operator)
        if operator is None:
            yield unknown(block.operator, operators, located.source, block.span, "an operator")
        else:
            yield from _check_block(block, Entry(operator.decl, operator.source), located.source)


def _check_block(block: ClaimBlock, entry: Entry, source: Source) -> Iterator[Diagnostic]:
    for typing in block.types:
        yield from check_typing(typing, entry, source)
    for claim in block.claims:
        decision = entry.decisions.get(claim.decision)
        if decision is None:
            yield from check_decision(claim.decision, entry, source, claim.span)
        elif claim.value is not None:
            yield from check_value_at(claim.value, decision, source, claim.span)
