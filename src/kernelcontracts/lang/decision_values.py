"""Reading values of decisions, from expressions and from text."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import TYPE_CHECKING

from kernelcontracts.formats.facts import FORMATS
from kernelcontracts.lang.decision_domain import ClaimError, check_value, describe, fraction_bits, integer_of
from kernelcontracts.lang.expr import Call, Name, Number, RecordLiteral
from kernelcontracts.lang.values import Choice

if TYPE_CHECKING:
    from kernelcontracts.lang.decl import Decision
    from kernelcontracts.lang.expr import Expr
    from kernelcontracts.lang.values import ClaimValue


def value_of_expr(expr: Expr) -> ClaimValue:
    """Read a value from its expression.

    Raises
    ------
    ClaimError
        If the expression is none of ``name``, ``name(arguments)``, an integer, or ``{format = f32, width = 13}``.
    """
    whole = integer_of(expr)
    if whole is not None:
        return whole
    if isinstance(expr, Name):
        return Choice(expr.id)
    if isinstance(expr, Call) and not expr.kwargs:
        return Choice(expr.function, tuple(_constant(a) for a in expr.args))
    if isinstance(expr, RecordLiteral):
        return _record(dict(expr.fields))
    raise ClaimError("a value of a decision is a name, `name(arguments)`, an integer or `{format = f32, width = 13}`")


def _constant(expr: Expr) -> int | str:
    if isinstance(expr, Name):
        return expr.id
    value = integer_of(expr)
    if value is None:
        raise ClaimError("an argument of a value is a name or an integer")
    return value


def _record(fields: dict[str, Expr]) -> Choice:
    base = fields.get("format")
    if not isinstance(base, Name):
        raise ClaimError("a record names its `format`, as in `{format = f32, width = 13}`")
    rest = []
    for key, expr in sorted(fields.items()):
        value = integer_of(expr)
        if key != "format" and value is None:
            raise ClaimError(f"the field `{key}` of a record is an integer")
        if key != "format" and value is not None and not _is_default(base.id, key, value):
            rest.append((key, value))
    return Choice(base.id, (), tuple(rest))


def _is_default(format_name: str, key: str, value: int) -> bool:
    """Whether a field says what the bare format says, so that equal claims are equal values."""
    return key == "width" and format_name in FORMATS and value == fraction_bits(format_name)


def parse_value(text: str, decision: Decision) -> ClaimValue:
    """Read a value from text such as ``pairwise(128)``, ``f16``, ``2`` or ``{format = f32, width = 13}``.

    Raises
    ------
    ClaimError
        E0404, with the domain, if the text is not a value of the decision.
    """
    expr = _parse(text.strip())
    if expr is None:
        raise ClaimError(f"`{text}` is not a value of `{decision.name}`", hint=f"its values are {describe(decision)}")
    value = value_of_expr(expr)
    check_value(decision, value)
    return value


_CALL = re.compile(r"([A-Za-z_]\w*)\s*\(([^(){}]*)\)")
_WORD = re.compile(r"[A-Za-z_]\w*")
_WHOLE = re.compile(r"-?[0-9]{1,18}")


def _parse(text: str) -> Expr | None:
    if text.startswith("{") and text.endswith("}"):
        return _parse_record(text[1:-1])
    call = _CALL.fullmatch(text)
    if call:
        args = [_parse_atom(a.strip()) for a in call[2].split(",")]
        return None if None in args else Call(call[1], tuple(a for a in args if a is not None))
    return _parse_atom(text)


def _parse_record(text: str) -> Expr | None:
    fields: list[tuple[str, Expr]] = []
    for part in text.split(","):
        key, equals, value = part.partition("=")
        atom = _parse_atom(value.strip())
        if not equals or atom is None:
            return None
        fields.append((key.strip(), atom))
    return RecordLiteral(tuple(fields))


def _parse_atom(text: str) -> Expr | None:
    if _WORD.fullmatch(text):
        return Name(text)
    return Number(Fraction(int(text))) if _WHOLE.fullmatch(text) else None
