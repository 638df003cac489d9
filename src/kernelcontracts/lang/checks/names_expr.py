"""E0201, E0203, E0403 in expressions: every name has a value in its scope, every call fits its builtin."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from kernelcontracts.formats.facts import FORMATS
from kernelcontracts.lang.builtins import DIMENSIONS_AS_KEYWORDS, FEATURES, OBSERVED_NAMES, builtin, names_at
from kernelcontracts.lang.checks.context import is_choice
from kernelcontracts.lang.checks.name_messages import check_decision, did_you_mean, misplaced, unknown, wrong_count
from kernelcontracts.lang.diagnostics import Diagnostic, diagnostic
from kernelcontracts.lang.expr import Call, Compare, Feature, In, Member, Name, Quantity, Reduce
from kernelcontracts.lang.walk import children, member_path

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from kernelcontracts.lang.builtins import Builtin
    from kernelcontracts.lang.checks.scope import Scope
    from kernelcontracts.lang.expr import Expr
    from kernelcontracts.lang.span import Span

_ALWAYS_KNOWN = frozenset({"true", "false", "none"})


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


def _check_feature(expr: Member | Feature, scope: Scope) -> Iterator[Diagnostic]:
    """Features are looked up wherever they stand; that they stand where they may is E0305's question."""
    kinds = FEATURES.get(expr.name)
    if kinds is None:
        yield unknown(expr.name, FEATURES, scope.source, expr.span, "a residual feature")
        return
    arguments = expr.args if isinstance(expr, Feature) else ()
    if len(arguments) != len(kinds):
        yield wrong_count(f"r.{expr.name}", len(kinds), len(kinds), len(arguments), expr, scope.source)
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


# --- calls -----------------------------------------------------------------------------------------------------------


def _check_call(expr: Call, scope: Scope) -> Iterator[Diagnostic]:
    row = builtin(expr.function, scope.places)
    if row is None:
        yield from _check_strange_call(expr, scope)
        return
    count = len(expr.args)
    if count < row.least or (row.most is not None and count > row.most):
        yield wrong_count(expr.function, row.least, row.most, count, expr, scope.source)
        return
    for position, argument in enumerate(expr.args):
        yield from _check_argument(row, position, argument, scope)
    yield from _check_keywords(expr, row, scope)


def _check_strange_call(expr: Call, scope: Scope) -> Iterator[Diagnostic]:
    elsewhere = builtin(
        expr.function, ("observation", "domain", "generator", "protocol", "smoke", "fault", "expression")
    )
    if elsewhere is not None:
        yield misplaced(expr, elsewhere.place, scope.source)
        return
    known = names_at(scope.places)
    yield unknown(expr.function, known, scope.source, expr.span, "a function")


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
            help=did_you_mean(argument.id, known, 2),
        )


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
