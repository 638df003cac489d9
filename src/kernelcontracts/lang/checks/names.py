"""E0201, E0203, E0403: every name stands for something, every call fits its builtin."""

from __future__ import annotations

from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import TYPE_CHECKING

from kernelcontracts.formats.facts import FORMATS
from kernelcontracts.lang.builtins import (
    DIMENSIONS_AS_KEYWORDS,
    FEATURES,
    OBSERVED_NAMES,
    builtin,
    names_at,
)
from kernelcontracts.lang.checks.context import is_choice
from kernelcontracts.lang.decl import Relation
from kernelcontracts.lang.diagnostics import Diagnostic, diagnostic
from kernelcontracts.lang.expr import (
    Call,
    Compare,
    Feature,
    In,
    Index,
    Member,
    Name,
    Quantity,
    Reduce,
)
from kernelcontracts.lang.walk import children, claim_predicate, clause_parts, member_path, walk

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from kernelcontracts.lang.builtins import Builtin, Place
    from kernelcontracts.lang.checks.context import Entry, View
    from kernelcontracts.lang.decl import Clause, Labelled, Stratum, Trial, Typing
    from kernelcontracts.lang.expr import Expr
    from kernelcontracts.lang.source import Source
    from kernelcontracts.lang.span import Span

_ALWAYS_KNOWN = frozenset({"true", "false", "none"})


@dataclass(frozen=True, slots=True)
class Scope:
    """What may be said at one place.

    Attributes
    ----------
    names
        The names that have a value here.
    places
        The kinds of builtins that may be called.
    members
        What follows ``op.``; ``None`` inside an operator's entry, where nothing does.
    words
        Names that features take: clauses, strata, events, by the kind of argument.
    """

    entry: Entry
    source: Source
    names: frozenset[str]
    places: tuple[Place, ...] = ("expression",)
    members: frozenset[str] | None = None
    words: Mapping[str, frozenset[str]] | None = None

    def binding(self, *names: str) -> Scope:
        """Return the scope in which some more names are bound."""
        return replace(self, names=self.names.union(names))


def unknown(name: str, known: Iterable[str], source: Source, span: Span | None, what: str) -> Diagnostic:
    """Report a name that stands for nothing, with the nearest ones that do."""
    near = get_close_matches(name, sorted(known), 3, 0.6)
    return diagnostic(
        "E0201",
        f"`{name}` is not {what}",
        source=source,
        span=span,
        label="unknown here",
        help=f"did you mean {' or '.join(f'`{n}`' for n in near)}?" if near else None,
        notes=() if near else _listing(known),
    )


def _listing(known: Iterable[str]) -> tuple[str, ...]:
    names = sorted(known)
    return (f"known are {', '.join(f'`{n}`' for n in names)}",) if 0 < len(names) <= 12 else ()


# --- expressions -------------------------------------------------------------------------------------------------


def check_expr(expr: Expr, scope: Scope) -> Iterator[Diagnostic]:
    """Yield what is wrong with the names of an expression."""
    match expr:
        case Name():
            yield from _check_name(expr, scope)
        case Member() | Feature():
            yield from _check_member(expr, scope)
        case Call():
            yield from _check_call(expr, scope)
        case Compare() if any(is_choice(e) for e in expr.operands):
            yield from _check_choices(expr.operands, scope)
        case In() if is_choice(expr.item):
            yield from check_expr(expr.item, scope)
        case Reduce():
            yield from check_expr(expr.bound, scope)
            yield from check_expr(expr.body, scope.binding(expr.binder))
        case Quantity():
            yield from _check_quantity(expr, scope)
        case _:
            for part in children(expr):
                yield from check_expr(part, scope)


def _check_choices(operands: Iterable[Expr], scope: Scope) -> Iterator[Diagnostic]:
    """Values of decisions are looked up in their domains, not among the names; see E0404."""
    for operand in operands:
        if is_choice(operand):
            yield from check_expr(operand, scope)


def _check_quantity(expr: Quantity, scope: Scope) -> Iterator[Diagnostic]:
    yield from check_expr(expr.value, scope)
    if expr.format is not None:
        yield from _check_format(expr.format, scope)
    if expr.anchor is not None:
        yield from check_expr(expr.anchor, scope)


def _check_name(expr: Name, scope: Scope) -> Iterator[Diagnostic]:
    if expr.id in scope.names or expr.id in _ALWAYS_KNOWN:
        return
    if expr.id in OBSERVED_NAMES and "observation" in scope.places:
        return
    if expr.id in FORMATS:
        yield diagnostic(
            "E0201",
            f"the format `{expr.id}` is not a value",
            source=scope.source,
            span=expr.span,
            label="a format stands only as an argument, as in `u(f32)`",
        )
        return
    calls = names_at(scope.places)
    what = "a value; it is a function" if expr.id in calls else "a name in scope"
    yield unknown(expr.id, scope.names | calls, scope.source, expr.span, what)


def _check_member(expr: Member | Feature, scope: Scope) -> Iterator[Diagnostic]:
    path = ("r", expr.name) if isinstance(expr, Feature) else member_path(expr)
    if path is None or path[0] not in {"claim", "op", "r"}:
        yield diagnostic(
            "E0201",
            f"`.{expr.name}` belongs to nothing",
            source=scope.source,
            span=expr.span,
            label="only `claim`, `op` and `r` have members",
        )
    elif path[0] == "claim":
        yield from check_decision(path[1], scope.entry, scope.source, expr.span)
    elif path[0] == "op":
        yield from _check_op(path[1], expr.span, scope)
    else:
        yield from _check_feature(expr, scope)


def _check_op(name: str, span: Span | None, scope: Scope) -> Iterator[Diagnostic]:
    known = scope.members
    if known is None:
        yield diagnostic(
            "E0201",
            "`op` means nothing in an operator's entry",
            source=scope.source,
            span=span,
            label=f"write `{name}`",
        )
    elif name not in known:
        what = f"defined by the operator `{scope.entry.operator.name}`"
        yield unknown(name, known, scope.source, span, what)


def check_decision(name: str, entry: Entry, source: Source, span: Span | None) -> Iterator[Diagnostic]:
    """Yield E0403 unless the operator has the decision."""
    if name in entry.decisions:
        return
    near = get_close_matches(name, entry.decisions, 3, 0.5)
    yield diagnostic(
        "E0403",
        f"`{entry.operator.name}` has no decision `{name}`",
        source=source,
        span=span,
        label="nothing to claim here",
        notes=(f"its decisions are {', '.join(f'`{d}`' for d in entry.decisions) or 'none'}",),
        help=f"did you mean {' or '.join(f'`{n}`' for n in near)}?" if near else None,
    )


def _check_feature(expr: Member | Feature, scope: Scope) -> Iterator[Diagnostic]:
    """Features are looked up wherever they stand; that they stand where they may is E0305's question."""
    kinds = FEATURES.get(expr.name)
    if kinds is None:
        yield unknown(expr.name, FEATURES, scope.source, expr.span, "a residual feature")
        return
    arguments = expr.args if isinstance(expr, Feature) else ()
    if len(arguments) != len(kinds):
        yield _arity(f"r.{expr.name}", len(kinds), len(kinds), len(arguments), expr, scope)
        return
    for kind, argument in zip(kinds, arguments, strict=True):
        yield from _check_word(kind, argument, scope)


def _check_word(kind: str, argument: Expr, scope: Scope) -> Iterator[Diagnostic]:
    if not isinstance(argument, Name):
        yield from check_expr(argument, scope)
        return
    if kind == "decision":
        yield from check_decision(argument.id, scope.entry, scope.source, argument.span)
        return
    known = (scope.words or {}).get(kind)
    if known is not None and argument.id not in known:
        article = "an" if kind[0] in "aeiou" else "a"
        yield unknown(argument.id, known, scope.source, argument.span, f"{article} {kind} of this contract")


# --- calls -------------------------------------------------------------------------------------------------------


def _check_call(expr: Call, scope: Scope) -> Iterator[Diagnostic]:
    row = builtin(expr.function, scope.places)
    if row is None:
        yield from _check_strange_call(expr, scope)
        return
    count = len(expr.args)
    if count < row.least or (row.most is not None and count > row.most):
        yield _arity(expr.function, row.least, row.most, count, expr, scope)
        return
    for position, argument in enumerate(expr.args):
        yield from _check_argument(row, position, argument, scope)
    yield from _check_keywords(expr, row, scope)


def _check_strange_call(expr: Call, scope: Scope) -> Iterator[Diagnostic]:
    elsewhere = builtin(
        expr.function, ("observation", "domain", "generator", "protocol", "smoke", "fault", "expression")
    )
    if elsewhere is not None:
        yield diagnostic(
            "E0201",
            f"`{expr.function}` does not belong here",
            source=scope.source,
            span=expr.span,
            label=_belongs(elsewhere.place),
        )
        return
    known = names_at(scope.places)
    yield unknown(expr.function, known, scope.source, expr.span, "a function")


def _belongs(place: Place) -> str:
    return {
        "observation": "it observes the candidate, so it stands in `post` and in signatures",
        "domain": "it is what a `relation` ranges over, or an argument of `identical_over`",
        "generator": "it draws inputs, so it follows `~`",
        "protocol": "it is a setting of a protocol",
        "smoke": "it is a functional test, so it follows `smoke`",
        "fault": "it is a fault, so it follows `fault` or `baseline`",
        "expression": "it computes a value",
    }[place]


def _arity(name: str, least: int, most: int | None, count: int, expr: Expr, scope: Scope) -> Diagnostic:
    wanted = f"{least}" if least == most else f"{least} or more" if most is None else f"{least} to {most}"
    plural = "argument" if (least, most) == (1, 1) else "arguments"
    return diagnostic(
        "E0201",
        f"`{name}` takes {wanted} {plural}, not {count}",
        source=scope.source,
        span=expr.span,
        label=f"{count} given",
    )


def _check_argument(row: Builtin, position: int, argument: Expr, scope: Scope) -> Iterator[Diagnostic]:
    kind = row.kind(position)
    if kind == "format":
        yield from _check_format(argument, scope)
    elif kind == "mode":
        yield from _check_mode(argument, scope)
    elif kind == "choice" and isinstance(argument, Member):
        yield from check_expr(argument, scope)
    elif kind == "value":
        inner = scope
        if row.name == "identical_over":
            inner = replace(scope, places=("domain",))
        yield from check_expr(argument, inner)


def _check_format(argument: Expr, scope: Scope) -> Iterator[Diagnostic]:
    if not isinstance(argument, Name):
        yield from check_expr(argument, scope)
        return
    known = {*FORMATS, *scope.entry.params, "output", "inputs"}
    if argument.id not in known:
        yield diagnostic(
            "E0203",
            f"`{argument.id}` is not a format",
            source=scope.source,
            span=argument.span,
            label="a format, a tensor, `output` or a claim stands here",
            notes=(f"the formats are {', '.join(FORMATS)}",),
            help=_near_help(argument.id, known),
        )


def _near_help(name: str, known: Iterable[str]) -> str | None:
    near = get_close_matches(name, sorted(known), 2, 0.6)
    return f"did you mean {' or '.join(f'`{n}`' for n in near)}?" if near else None


def _check_mode(argument: Expr, scope: Scope) -> Iterator[Diagnostic]:
    if isinstance(argument, Name):
        if argument.id not in {"rne", "rz"}:
            known = ("rne", "rz")
            yield unknown(argument.id, known, scope.source, argument.span, "a rounding mode")
    else:
        yield from check_expr(argument, scope)


def _check_keywords(expr: Call, row: Builtin, scope: Scope) -> Iterator[Diagnostic]:
    dims = scope.entry.dims
    for key, value in expr.kwargs:
        if row.name in DIMENSIONS_AS_KEYWORDS:
            if key not in dims:
                what = f"a dimension of `{scope.entry.operator.name}`"
                yield unknown(key, dims, scope.source, value.span or expr.span, what)
            yield from check_expr(value, scope)
        elif key not in row.keywords:
            what = f"an option of `{row.name}`"
            yield unknown(key, row.keywords, scope.source, value.span or expr.span, what)
        elif key == "over":
            yield from _check_over(value, scope)
        else:
            yield from check_expr(value, scope)


def _check_over(value: Expr, scope: Scope) -> Iterator[Diagnostic]:
    dims = scope.entry.dims
    if not isinstance(value, Name):
        yield unknown("…", dims, scope.source, value.span, "the name of a dimension")
    elif value.id not in dims:
        what = f"a dimension of `{scope.entry.operator.name}`"
        yield unknown(value.id, dims, scope.source, value.span, what)


# --- operators ---------------------------------------------------------------------------------------------------


def check_entry(entry: Entry) -> Iterator[Diagnostic]:
    """Yield what is wrong with the names of an operator's entry."""
    definitions = entry.definitions
    names = frozenset({*entry.params, *entry.dims, *definitions, "meaning", "inputs"})
    scope = Scope(entry, entry.source, names)
    for value in definitions.values():
        yield from check_expr(value, scope)
    yield from check_cycles(definitions, entry.source)
    yield from check_elements(entry)
    yield from _check_meaning(entry)


def _check_meaning(entry: Entry) -> Iterator[Diagnostic]:
    target, meaning = entry.operator.target, entry.operator.meaning
    if meaning is None:
        return
    binders = set()
    if isinstance(target, Index):
        binders = {i.id for i in target.indices if isinstance(i, Name)}
    inputs = {p.name for p in entry.operator.inputs}
    scope = Scope(entry, entry.source, frozenset({*inputs, *entry.dims, *binders}))
    yield from check_expr(meaning, scope)


def check_elements(entry: Entry) -> Iterator[Diagnostic]:
    """Yield E0203 for formats no tensor can have, and for element types that are neither variable nor format."""
    for typing in entry.operator.types:
        yield from check_typing(typing, entry, entry.source)
    constrained = {name for typing in entry.operator.types for name in typing.names}
    for param in entry.params.values():
        if param.element in constrained or param.element == "i64":
            continue
        if param.element in FORMATS and FORMATS[param.element].storage_bits is not None:
            continue
        yield _no_storage(param.element, entry.source, param.span)


def check_typing(typing: Typing, entry: Entry, source: Source) -> Iterator[Diagnostic]:
    """Yield what is wrong with ``A, B in {f32, f16}``."""
    from kernelcontracts.lang.claims import tensors_named

    for name in typing.names:
        if not tensors_named(entry.operator, name):
            known = {*entry.params, *(p.element for p in entry.params.values()), "inputs", "output"}
            what = f"a tensor or a format variable of `{entry.operator.name}`"
            yield unknown(name, known, source, typing.span, what)
    for name in typing.formats:
        if name != "i64" and (name not in FORMATS or FORMATS[name].storage_bits is None):
            yield _no_storage(name, source, typing.span)


def _no_storage(name: str, source: Source, span: Span | None) -> Diagnostic:
    storable = [f.name for f in FORMATS.values() if f.storage_bits is not None]
    exists = name in FORMATS
    return diagnostic(
        "E0203",
        f"no tensor has elements of `{name}`" if exists else f"`{name}` is not a format",
        source=source,
        span=span,
        label="exists only inside arithmetic units" if exists else "unknown format",
        notes=(f"tensors have elements of {', '.join(storable)} or i64",),
        help=_near_help(name, storable),
    )


def check_cycles(definitions: Mapping[str, Expr], source: Source) -> Iterator[Diagnostic]:
    """Yield E0201 for definitions that stand for themselves."""
    reads = {
        name: {n.id for n in walk(value) if isinstance(n, Name) and n.id in definitions}
        for name, value in definitions.items()
    }
    for name in cyclic(reads):
        yield diagnostic(
            "E0201",
            f"`{name}` is defined in terms of itself",
            source=source,
            span=definitions[name].span,
            label="this comes back to the name it defines",
        )


def cyclic(reads: Mapping[str, set[str]]) -> list[str]:
    """Return the names from which a path leads back to them."""
    found = []
    for name in reads:
        seen: set[str] = set()
        todo = [*reads[name]]
        while todo:
            other = todo.pop()
            if other not in seen:
                seen.add(other)
                todo += reads.get(other, ())
        if name in seen:
            found.append(name)
    return found


# --- contracts ---------------------------------------------------------------------------------------------------


def check_view(view: View) -> Iterator[Diagnostic]:
    """Yield what is wrong with the names of a contract on one operator."""
    contract, entry = view.contract, view.entry
    own = {let.name: let.value for let in contract.lets}
    base = _scope(view)
    for let in contract.lets:
        yield from check_expr(let.value, base)
    yield from check_cycles(own, view.source)
    for item in contract.pre or ():
        yield from check_expr(item.value, base)
    with_bounds = base.binding(*view.bounds)
    for bound in contract.tolerance or ():
        yield from check_expr(bound.value, with_bounds)
    yield from check_cycles({b.name: b.value for b in contract.tolerance or ()}, view.source)
    if contract.reference is not None:
        for binding in contract.reference.bindings:
            yield from check_expr(binding.value, base)
    yield from _check_scope(view, base)
    for clause in contract.post or ():
        yield from _check_clause(clause, with_bounds)
    yield from _check_signatures(view, with_bounds)
    yield from _check_trials(view)
    yield from _check_measure(view, entry)


def _scope(view: View) -> Scope:
    entry = view.entry
    names = {*entry.params, *entry.dims, *view.lets, *view.bindings, "inputs", "output"}
    if view.reference is not None and view.reference.meaning:
        names |= {"ref", "meaning"}
    members = frozenset(entry.definitions)
    # where the candidate may be observed is a question of provenance, not of names
    return Scope(entry, view.source, frozenset(names), ("expression", "observation"), members, _words(view))


def _words(view: View) -> dict[str, frozenset[str]]:
    """Return the names that arguments of features stand for."""
    lent = view.companion.post or () if view.companion else ()
    return {
        "clause": frozenset(c.label for c in (*(view.contract.post or ()), *lent)),
        "stratum": frozenset(s.name for s in view.strata),
        "event": frozenset(e.label for e in view.entry.operator.events),
    }


def _check_scope(view: View, scope: Scope) -> Iterator[Diagnostic]:
    if view.contract.scope is None:
        return
    for typing in view.contract.scope.types:
        yield from check_typing(typing, view.entry, view.source)
    for predicate in view.contract.scope.claimed:
        yield from check_expr(claim_predicate(predicate), scope)


def _check_clause(clause: Clause, scope: Scope) -> Iterator[Diagnostic]:
    if isinstance(clause, Relation):
        yield from check_expr(clause.domain, replace(scope, places=("domain", "expression")))
        bound = scope.binding(clause.variable)
        for part in (clause.where, clause.predicate):
            if part is not None:
                yield from check_expr(part, bound)
        return
    for part in clause_parts(clause):
        yield from check_expr(part, scope)


def _check_signatures(view: View, scope: Scope) -> Iterator[Diagnostic]:
    for signature in view.contract.violation or ():
        yield from check_expr(signature.condition, scope)


def _check_trials(view: View) -> Iterator[Diagnostic]:
    calibrate = view.contract.calibrate
    if calibrate is None:
        return
    for name, value in calibrate.claiming:
        yield from check_decision(name, view.entry, view.source, value.span or calibrate.span)
    scope = Scope(view.entry, view.source, frozenset(), places=("smoke",))
    for smoke in calibrate.smoke:
        yield from check_expr(smoke.value, scope)
    for trial in calibrate.trials:
        yield from _check_trial(trial, view)


def _check_trial(trial: Trial, view: View) -> Iterator[Diagnostic]:
    for name, value in trial.changes:
        yield from check_decision(name, view.entry, view.source, value.span or trial.span)
    if trial.fault is not None:
        scope = Scope(view.entry, view.source, frozenset(), places=("fault",))
        yield from check_expr(trial.fault, scope)
    for typing in trial.types:
        yield from check_typing(typing, view.entry, view.source)
    words = _words(view)
    if trial.breaks is not None and trial.breaks not in words["clause"]:
        yield unknown(trial.breaks, words["clause"], view.source, trial.span, "a clause of this contract")
    signatures = {s.name for s in view.contract.violation or ()}
    if trial.signature is not None and trial.signature not in signatures:
        what = "a signature of this contract"
        yield unknown(trial.signature, signatures, view.source, trial.span, what)


def _check_measure(view: View, entry: Entry) -> Iterator[Diagnostic]:
    if view.contract.measure is not None:
        yield from check_plan(view.contract.measure.strata, view.contract.measure.settings, entry, view.source)


def check_plan(
    strata: Iterable[Stratum], settings: Iterable[Labelled], entry: Entry, source: Source
) -> Iterator[Diagnostic]:
    """Yield what is wrong with the names of strata and settings, for one operator."""
    inputs = frozenset(p.name for p in entry.operator.inputs)
    known = entry.dims | frozenset(entry.params) | {"output", "inputs"}
    drawing = Scope(entry, source, known, places=("generator", "expression", "observation"))
    for stratum in strata:
        for draw in stratum.draws:
            for name in draw.names:
                if name not in inputs:
                    what = f"an input of `{entry.operator.name}`"
                    yield unknown(name, inputs, source, draw.span, what)
            yield from check_expr(draw.generator, drawing)
    planning = Scope(entry, source, known | {"nan"}, places=("protocol", "expression", "observation"))
    for setting in settings:
        yield from check_expr(setting.value, planning)


def check_strata(views: list[View]) -> Iterator[Diagnostic]:
    """Yield E0201 for strata that clauses name and no plan of any operator of the family has."""
    if not views:
        return
    known = {s.name for view in views for s in view.strata}
    for clause in views[0].contract.post or ():
        for name in clause.strata:
            if name not in known:
                yield unknown(name, known, views[0].source, clause.span, "a stratum of the plan")
