"""Expressions to text; parentheses where the grammar needs them, round `@` among `*`, and round `and` in `or`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernelcontracts.lang.expr import (
    Binary,
    Call,
    Compare,
    Expr,
    Feature,
    Identical,
    If,
    In,
    Index,
    Member,
    Name,
    Number,
    Quantity,
    RecordLiteral,
    Reduce,
    SetLiteral,
    Star,
    Text,
    Unary,
    Within,
)
from kernelcontracts.lang.numbers import read_number, write_number
from kernelcontracts.lang.printer_layout import NOTHING, SPACE, Doc, filled, flush, group, render
from kernelcontracts.lang.texts import write_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

# How tightly each form binds; an operand that binds less tightly than its place asks for is parenthesised.
_IF, _IMPLIES, _OR, _AND, _NOT, _RELATION, _RANGE, _SUM, _TERM, _UNARY, _POWER, _QUANTITY, _POSTFIX = range(13)

_BINARY = {
    "implies": (_IMPLIES, _OR, _IMPLIES),
    "or": (_OR, _OR, _NOT),
    "and": (_AND, _AND, _NOT),
    "..": (_RANGE, _SUM, _SUM),
    "+": (_SUM, _SUM, _TERM),
    "-": (_SUM, _SUM, _TERM),
    "*": (_TERM, _TERM, _UNARY),
    "/": (_TERM, _TERM, _UNARY),
    "@": (_TERM, _TERM, _UNARY),
    "^": (_POWER, _QUANTITY, _UNARY),
}
"""By operator: its own level, and those its two operands must have."""


def print_expr(expr: Expr, *, indent: int = 0, column: int = 0, width: int = 10**9) -> str:
    """Return the text of an expression; on one line, unless ``width`` says otherwise."""
    return render((document(expr),), indent=indent, column=column, width=width)


def document(expr: Expr, level: int = _IF) -> Doc:
    """Return an expression as a text that may break, in parentheses if it binds less tightly than ``level``."""
    own = _level(expr)
    doc = _document(expr)
    return group("(", doc, ")") if own < level else doc


def _level(expr: Expr) -> int:
    match expr:
        case If():
            return _IF
        case Binary(op):
            return _BINARY[op][0]
        case Unary("not"):
            return _NOT
        case Unary("-"):
            return _UNARY
        case Compare() | In() | Within() | Identical():
            return _RELATION
        case Quantity():
            return _QUANTITY
        case _:
            return _POSTFIX


def _document(expr: Expr) -> Doc:
    match expr:
        case Number():
            return number_text(expr)
        case Text(value):
            return write_text(value)
        case Name(name):
            return name
        case Star(name):
            return f"*{name}"
        case Member(base, name):
            return flush(document(base, _POSTFIX), f".{name}")
        case Unary("abs", operand):
            return flush("|", document(operand, _SUM), "|")
        case Unary(op, operand):
            return flush("not " if op == "not" else "-", document(operand, _level(expr)))
        case Binary():
            return _binary(expr)
        case If(condition, yes, no):
            return group("if ", document(condition), SPACE, "then ", document(yes), SPACE, "else ", document(no))
        case Compare(operands, ops):
            return _chain(operands, ops)
        case In(item, domain):
            return group(document(item, _RANGE), SPACE, "in ", document(domain, _RANGE))
        case Identical(left, right):
            return group(document(left, _RANGE), SPACE, "identical ", document(right, _RANGE))
        case Within(actual, tolerance, reference):
            return group(
                document(actual, _RANGE), SPACE, "within ", document(tolerance, _RANGE),
                SPACE, "of ", document(reference, _RANGE),
            )  # fmt: skip
        case Call(function, args, kwargs):
            return _listing(f"{function}(", [*map(document, args), *pairs(kwargs)], ")")
        case Feature(name, args):
            return _listing(f"r.{name}(", [document(a) for a in args], ")")
        case Reduce(function, binder, bound, body):
            return flush(f"{function}[{binder} < ", document(bound, _SUM), "]", _listing("(", [document(body)], ")"))
        case Index(base, indices):
            return flush(document(base, _POSTFIX), _listing("[", [document(i) for i in indices], "]"))
        case Quantity():
            return _quantity(expr)
        case SetLiteral(items):
            return flush("{", filled([document(i) for i in items]), "}")
        case RecordLiteral(fields):
            return _listing("{", pairs(fields), "}")


def number_text(number: Number) -> str:
    """Return the author's spelling if it has the number's value, else the canonical one."""
    if number.text is not None:
        try:
            if read_number(number.text) == number.value:
                return number.text
        except ValueError:
            pass
    return write_number(number.value)


def pairs(items: Iterable[tuple[str, Expr]]) -> list[Doc]:
    """Return ``name = value`` for each pair."""
    return [flush(f"{name} = ", document(value)) for name, value in items]


def _binary(expr: Binary) -> Doc:
    own, left, right = _BINARY[expr.op]
    if left != own:
        parts: list[Doc] = [document(expr.left, left)]
    else:
        # operators of one level in a row break together
        parts = _left_spine(expr.left, expr.op)
    if expr.op in ("^", ".."):
        sign = "^" if expr.op == "^" else " .. "
        return flush(*parts, sign, document(expr.right, right))
    return group(*parts, SPACE, f"{expr.op} ", document(expr.right, right))


def _left_spine(expr: Expr, above: str) -> list[Doc]:
    """Return the operators of one level that an expression consists of; ``above`` is the one it stands under."""
    level = _BINARY[above][0]
    if not isinstance(expr, Binary) or _BINARY[expr.op][0] != level:
        return [document(expr, _NOT if above == "or" else level)]
    if (expr.op == "@") != (above == "@"):
        # products of matrices and of elements have one level, which few readers know
        return [document(expr, level + 1)]
    _, _, right = _BINARY[expr.op]
    return [*_left_spine(expr.left, expr.op), SPACE, f"{expr.op} ", document(expr.right, right)]


def _chain(operands: Sequence[Expr], ops: Sequence[str]) -> Doc:
    parts: list[Doc] = [document(operands[0], _RANGE)]
    for op, operand in zip(ops, operands[1:], strict=True):
        parts += [SPACE, f"{op} ", document(operand, _RANGE)]
    return group(*parts)


def _quantity(expr: Quantity) -> Doc:
    parts: list[Doc] = [document(expr.value, _POSTFIX), f" {expr.unit}"]
    if expr.format is not None:
        parts += ["[", document(expr.format), "]"]
    if expr.anchor is not None:
        parts += [" at ", document(expr.anchor, _POSTFIX)]
    return flush(*parts)


def _listing(opening: str, items: Sequence[Doc], closing: str) -> Doc:
    """Items between brackets: on one line, or each on its own with the brackets outside."""
    if not items:
        return opening + closing
    parts: list[Doc] = [NOTHING]
    for item in items[:-1]:
        parts += [item, ",", SPACE]
    return flush(opening, flush(group(*parts, items[-1]), NOTHING), closing)
