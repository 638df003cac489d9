"""The static checks: everything that can be said about contracts without running anything.

No check imports numpy, calls the candidate or draws an input. Each looks at one contract on one operator (or at one
operator's entry) and yields diagnostics; here they are run over a library, and what several operators of a family
have in common is said once.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from kernelcontracts.lang.checks import (
    calibration,
    domains,
    gamma,
    monotone,
    names,
    power,
    provenance,
    shapes,
    units,
    vacuity,
)
from kernelcontracts.lang.checks.context import Entry, View
from kernelcontracts.lang.diagnostics import diagnostic, has_errors, in_order
from kernelcontracts.lang.instance import is_about

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator

    from kernelcontracts.lang.decl import Contract, Operator, Plan
    from kernelcontracts.lang.diagnostics import Diagnostic
    from kernelcontracts.lang.library import Library, Located
    from kernelcontracts.lang.source import Source
    from kernelcontracts.lang.span import Span

VIEW_CHECKS: tuple[Callable[[View], Iterable[Diagnostic]], ...] = (
    names.check_view,
    domains.check_view,
    provenance.check_view,
    shapes.check_view,
    units.check_view,
    monotone.check_view,
    gamma.check_view,
    power.check_view,
    calibration.check_view,
    vacuity.check_view,
)
#: Findings about what a text names: checks that ask what it means have nothing to say after these.
_UNSETTLED = frozenset({"E0201", "E0203", "E0403", "E0404"})

ENTRY_CHECKS: tuple[Callable[[Entry], Iterable[Diagnostic]], ...] = (
    names.check_entry,
    domains.check_entry,
    provenance.check_entry,
    shapes.check_entry,
    units.check_entry,
    monotone.check_entry,
)


_ON_VALUES = (monotone.check_view, monotone.check_entry)


def check_library(
    library: Library, modules: Collection[str] | None = None, *, notes: bool = False
) -> tuple[Diagnostic, ...]:
    """Run every static check.

    Parameters
    ----------
    modules
        The modules whose declarations are checked; all of them if not given. Declarations of other modules are
        used, not checked.
    notes
        Whether to return notes as well; errors and warnings always are.

    Returns
    -------
    tuple of Diagnostic
        In the order of sources and places; empty for a library without a finding. Bad input never raises.
    """

    def wanted(module: str) -> bool:
        return modules is None or module in modules

    found: list[Diagnostic] = []
    for operator in library.operators:
        if wanted(operator.module):
            found += check_operator(library, operator)
    for plan in library.plans:
        if wanted(plan.module):
            found += _check_plan(library, plan)
    for contract in library.contracts:
        if wanted(contract.module):
            found += check_contract(library, contract)
    for sheet in library.claim_sheets:
        if wanted(sheet.module):
            found += domains.check_sheet(library, sheet)
    return in_order(d for d in found if notes or d.severity != "note")


def check_operator(library: Library, located: Located[Operator]) -> list[Diagnostic]:
    """Run the checks of one operator's entry."""
    entry = Entry(located.decl, located.source)
    found: list[Diagnostic] = []
    plan = located.decl.plan
    if plan is not None:
        found += _missing(lambda: library.plan(plan.name, plan.version), located.source, plan.span)
    return found + _settled(ENTRY_CHECKS, entry)


def check_contract(library: Library, located: Located[Contract]) -> list[Diagnostic]:
    """Run the checks of one contract, on every operator it is about."""
    contract, source = located.decl, located.source
    found = list(_unresolved(library, contract, source))
    views = list(views_of(library, located))
    if found or any(_lacks_plan(view) for view in views):
        # of a contract whose parts are not there nothing else can be said
        return found
    strata = list(names.check_strata(views))
    merged = _merge([_settled(VIEW_CHECKS, view) for view in views], views)
    # how many cases there are depends on the strata, so that of an unknown one nothing more is said
    return [*found, *strata, *(d for d in merged if not (strata and d.code == "E0612"))]


def views_of(library: Library, located: Located[Contract]) -> Iterator[View]:
    """Yield a contract as it looks on each operator it is about."""
    contract = located.decl
    companion = _companion(library, contract)
    for operator in library.operators:
        if is_about(contract, operator.decl):
            base = _plan_of(library, contract, operator.decl)
            yield View(
                contract,
                located.source,
                Entry(operator.decl, operator.source),
                companion,
                base.decl if base else None,
            )


def _lacks_plan(view: View) -> bool:
    """Whether a contract measures from a plan that is not in the library; that is reported where it is named."""
    measure = view.contract.measure
    return measure is not None and measure.base is not None and view.base is None


def _settled(checks: Iterable[Callable[..., Iterable[Diagnostic]]], subject: Entry | View) -> list[Diagnostic]:
    """Run checks in turn; where names are unknown the later ones, which build on them, have nothing to say.

    Monotony is judged on values, and the values of a bound whose shapes or units are wrong mean nothing.
    """
    found: list[Diagnostic] = []
    for check in checks:
        if check in _ON_VALUES and has_errors(found):
            continue
        found += check(subject)
        if any(d.code in _UNSETTLED for d in found):
            break
    return found


def _merge(results: list[list[Diagnostic]], views: list[View]) -> list[Diagnostic]:
    """Say once what holds for several operators, and for which where it is not all."""
    places: dict[tuple[str, str, Span | None], list[str]] = {}
    first: dict[tuple[str, str, Span | None], Diagnostic] = {}
    for found, view in zip(results, views, strict=True):
        for item in found:
            key = (item.code, item.source.name if item.source else "", item.span)
            first.setdefault(key, item)
            where = places.setdefault(key, [])
            if view.entry.operator.name not in where:
                where.append(view.entry.operator.name)
    return [_with_operators(item, places[key], len(views)) for key, item in first.items()]


def _with_operators(item: Diagnostic, operators: list[str], total: int) -> Diagnostic:
    if len(operators) == total:
        return item
    named = ", ".join(f"`{name}`" for name in operators)
    return replace(item, notes=(*item.notes, f"found for the operator {named}"))


# --- what a contract refers to -----------------------------------------------------------------------------------


def _unresolved(library: Library, contract: Contract, source: Source) -> Iterator[Diagnostic]:
    about = [o.decl for o in library.operators if is_about(contract, o.decl)]
    if contract.family is not None and not about:
        families = {f for o in library.operators for f in o.decl.families}
        yield names.unknown(contract.family, families, source, contract.span, "the family of any operator")
    elif contract.family is None and contract.scope is not None and not about:
        known = {o.decl.name for o in library.operators}
        yield names.unknown(contract.scope.operator, known, source, contract.scope.span, "an operator")
    if contract.companion is not None:
        ref = contract.companion
        if ref.id == contract.id:
            yield diagnostic(
                "E0103",
                f"`{contract.id}` names itself as its companion",
                source=source,
                span=ref.span,
                label="a contract leans on another one",
                help="name the contract whose precondition, reference and tolerance are meant, or leave the line out",
            )
        yield from _missing(lambda: library.contract(ref.id, ref.version), source, ref.span)
    base = contract.measure.base if contract.measure else None
    if base is not None and base.name != "op.plan":
        yield from _missing(lambda: library.plan(base.name, base.version), source, base.span)
    for operator in about:
        if base is not None and base.name == "op.plan" and operator.plan is None:
            yield diagnostic(
                "E0201",
                f"`{operator.name}` has no plan",
                source=source,
                span=base.span,
                label="`op.plan` means nothing there",
                help=f"add `plan …` to the operator `{operator.name}`, or name a plan here",
            )


def _missing(find: Callable[[], object], source: Source, span: Span | None) -> list[Diagnostic]:
    try:
        find()
    except LookupError as error:
        return [diagnostic("E0201", str(error.args[0]), source=source, span=span, label="not in the library")]
    return []


def _companion(library: Library, contract: Contract) -> Contract | None:
    if contract.companion is None:
        return None
    try:
        return library.contract(contract.companion.id, contract.companion.version).decl
    except LookupError:
        return None


def _plan_of(library: Library, contract: Contract, operator: Operator) -> Located[Plan] | None:
    base = contract.measure.base if contract.measure else None
    ref = operator.plan if base is not None and base.name == "op.plan" else base
    if ref is None:
        return None
    try:
        return library.plan(ref.name, ref.version)
    except LookupError:
        return None


def _check_plan(library: Library, located: Located[Plan]) -> list[Diagnostic]:
    """Check a plan for each operator that measures by it."""
    plan = located.decl
    found: list[Diagnostic] = []
    for operator in library.operators:
        ref = operator.decl.plan
        if ref is not None and ref.name == plan.name:
            entry = Entry(operator.decl, operator.source)
            found += names.check_plan(plan.strata, plan.settings, entry, located.source)
            found += provenance.check_plan(plan.strata, plan.settings, entry, located.source)
    return found
