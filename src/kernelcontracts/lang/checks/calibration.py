"""E0701, E0702, W0920: the three states are there, decisions have mutants, bounds have reasons."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from kernelcontracts.lang.decisions import ClaimError, is_finite, representatives, value_of_expr
from kernelcontracts.lang.decl import Ladder
from kernelcontracts.lang.diagnostics import diagnostic
from kernelcontracts.lang.expr import Name
from kernelcontracts.lang.instance import claims_read, needed_decisions
from kernelcontracts.lang.walk import claim_predicate, clause_parts, member_path, walk

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kernelcontracts.lang.checks.context import View
    from kernelcontracts.lang.decl import Bound, Calibrate
    from kernelcontracts.lang.diagnostics import Diagnostic

_STATES = {
    "good": ("a good implementation", "good     as_claimed"),
    "bad": ("a bad implementation", "bad      accumulator = f16"),
    "baseline": ("a baseline", "baseline zeros()"),
}


def check_view(view: View) -> Iterator[Diagnostic]:
    """Yield what a contract's calibration leaves open."""
    yield from _check_reasons(view)
    calibrate = view.contract.calibrate
    if calibrate is None:
        yield _missing_states(view, list(_STATES))
        return
    roles = {trial.role for trial in calibrate.trials}
    missing = [state for state in _STATES if state not in roles]
    if missing:
        yield _missing_states(view, missing)
    yield from _check_idle(view)
    if "bad" in roles:
        yield from _check_mutants(view)


def _missing_states(view: View, missing: list[str]) -> Diagnostic:
    named = ", ".join(_STATES[m][0] for m in missing)
    calibrate = view.contract.calibrate
    return diagnostic(
        "E0701",
        f"the calibration lacks {named}",
        source=view.source,
        span=calibrate.span if calibrate is not None else view.contract.span,
        label="without it nothing shows that the contract accepts and rejects"
        if calibrate
        else "no `calibrate` section",
        notes=(
            "a contract needs an implementation that conforms, one that violates, and one that is no implementation",
        ),
        help="add " + ", ".join(f"`{_STATES[m][1]}`" for m in missing),
    )


def _check_idle(view: View) -> Iterator[Diagnostic]:
    """Yield bad trials that do what is claimed."""
    calibrate = view.contract.calibrate
    claimed = dict(calibrate.claiming) if calibrate else {}
    for trial in calibrate.trials if calibrate else ():
        same = [name for name, value in trial.changes if claimed.get(name) == value]
        if trial.role == "bad" and trial.changes and len(same) == len(trial.changes):
            yield diagnostic(
                "E0702",
                "this bad trial does what is claimed",
                source=view.source,
                span=trial.span,
                label=f"`{same[0]}` has the value of the `claiming` line",
                help="give it a value that contradicts the claim",
            )


def _check_mutants(view: View) -> Iterator[Diagnostic]:
    """Every needed decision should be contradicted once; where the contract itself asks for it, it must be."""
    calibrate = view.contract.calibrate
    changed = _contradicted(calibrate)
    if view.companion is not None:
        # the companion must conform as well, and its own trials contradict these
        changed |= _contradicted(view.companion.calibrate)
    needed = [
        d for d in needed_decisions(view.contract, view.entry.operator) if d not in changed and _has_other(view, d)
    ]
    asked = _asked_for(view)
    for name in needed:
        if name in asked:
            yield _no_mutant(view, name)
    rest = [name for name in needed if name not in asked]
    if rest:
        yield _untested(view, rest)


def _contradicted(calibrate: Calibrate | None) -> set[str]:
    trials = calibrate.trials if calibrate is not None else ()
    return {name for trial in trials if trial.role == "bad" for name, _ in trial.changes}


def _has_other(view: View, name: str) -> bool:
    """Whether a mutant could exist: a finite domain with a value that is not the claimed one."""
    decision = view.entry.decisions[name]
    claiming = dict(view.contract.calibrate.claiming) if view.contract.calibrate else {}
    if name not in claiming or not is_finite(decision):
        return is_finite(decision) and len(representatives(decision)) > 1
    try:
        claimed = value_of_expr(claiming[name])
    except ClaimError:
        return False
    return any(v != claimed for v in representatives(decision))


def _asked_for(view: View) -> set[str]:
    """Return the decisions on which the contract's own demands turn.

    Those are read by its ``claimed`` lines and its clauses, not only by a tolerance. What a ladder asks is
    about repeated calls, which no changed value imitates.
    """
    contract = view.contract
    parts = [claim_predicate(p) for p in contract.scope.claimed] if contract.scope else []
    parts += [p for c in contract.post or () if not isinstance(c, Ladder) for p in clause_parts(c)]
    lets = {let.name: let.value for let in contract.lets}
    own = {n.id for part in parts for n in walk(part) if isinstance(n, Name) and n.id in lets}
    if contract.family is None:
        # a contract for one operator may lean on the operator's own definitions to say what it asks
        return {d for part in parts for d in claims_read(part, lets, view.entry.operator)}
    direct = [*parts, *(lets[name] for name in own)]
    return {path[1] for part in direct for n in walk(part) if (path := member_path(n)) and path[0] == "claim"}


def _no_mutant(view: View, name: str) -> Diagnostic:
    calibrate = view.contract.calibrate
    decision = view.entry.decisions[name]
    claimed = dict(calibrate.claiming).get(name) if calibrate else None
    other = next((v for v in reversed(representatives(decision)) if Name(str(v)) != claimed), "…")
    return diagnostic(
        "E0702",
        f"no bad trial contradicts `{name}`",
        source=view.source,
        span=calibrate.span if calibrate else None,
        label=f"the contract asks for `{name}`, and nothing here breaks it",
        notes=("a demand that no implementation has been seen to fail may be empty",),
        help=f"add `bad {name} = {other} breaks …`",
    )


def _untested(view: View, names: list[str]) -> Diagnostic:
    calibrate = view.contract.calibrate
    listed = ", ".join(f"`{n}`" for n in names)
    item = diagnostic(
        "E0702",
        f"no bad trial contradicts {listed}",
        source=view.source,
        span=calibrate.span if calibrate else None,
        label="these widen a bound, and nothing here shows that a false claim is found",
        notes=("claims that only widen a bound are hard to contradict; a `bad` line for each is better",),
    )
    return replace(item, severity="note")


# --- reasons -----------------------------------------------------------------------------------------------------


def _check_reasons(view: View) -> Iterator[Diagnostic]:
    for bound in view.contract.tolerance or ():
        if bound.because is None and not _is_operators(bound):
            yield diagnostic(
                "W0920",
                f"the bound `{bound.name}` has no reason",
                source=view.source,
                span=bound.span or bound.value.span,
                label="derived from what?",
                notes=("a tolerance that nobody derived is a guess about the kernels one has seen",),
                help='add `because derived "…"`, or use a bound of the operator, as in `op.worst`',
            )


def _is_operators(bound: Bound) -> bool:
    """Whether a bound is one of the operator's, which has its reason there."""
    path = member_path(bound.value)
    return path is not None and path[0] == "op"
