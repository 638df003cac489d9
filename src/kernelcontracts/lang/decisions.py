"""Decisions: their domains as values, their order by strength, and the numbers that values stand for.

A decision's domain is written once, in the operator's entry. Everything that reasons about claims asks here: is this
value allowed, is it stronger than that one, which values stand for the whole domain.

The order is a preorder, not a total one: ``a`` is at least as strong as ``b`` where every kernel that truthfully
claims ``a`` also satisfies what ``b`` asks. Two different values may be equally strong (``sequential`` and
``unordered`` have the same depth) or incomparable (``f16`` has more digits, ``bf16`` more range).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import product
from typing import TYPE_CHECKING, Literal, TypeAlias

from kernelcontracts.formats.facts import FORMATS, format_named
from kernelcontracts.lang.expr import Binary, Call, Name, Number, RecordLiteral, Unary
from kernelcontracts.lang.values import Choice

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from kernelcontracts.lang.decl import Decision, Operator
    from kernelcontracts.lang.expr import Expr
    from kernelcontracts.lang.values import ClaimValue

Comparison: TypeAlias = Literal["stronger", "weaker", "equal", "incomparable"]

SIZES: tuple[int, ...] = tuple(
    sorted({1, 2, 3, 5, 7, 11, 31, 333, 1000, 4097, 2**20}.union(*({2**k, 2**k + 1} for k in range(1, 17))))
)
"""Numbers of terms at which depths are compared: powers of two and one past them, where ceilings jump."""

PARAMETERS: dict[str, tuple[int, ...]] = {
    # numpy's base case is 128 terms in 8 lanes, and 1 is the pure binary tree: the ends and the usual case
    "pairwise": (1, 8, 128),
    "blocked": (64,),
    "lanes": (8,),
}
"""What stands for a parametrised value when a domain is enumerated; other names get ``DEFAULT_PARAMETERS``."""

DEFAULT_PARAMETERS: tuple[int, ...] = (1, 8, 128)


class ClaimError(ValueError):
    """A claim that cannot be: ``code`` is E0403 (no such decision) or E0404 (no such value)."""

    def __init__(self, message: str, *, code: str = "E0404", hint: str | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.hint = hint


# --- the shape of a domain ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Form:
    """One entry of a domain: a choice, some of whose arguments (``None``) are free positive integers."""

    name: str
    args: tuple[int | str | None, ...]
    level: int

    def fits(self, value: ClaimValue) -> bool:
        if isinstance(value, int) or value.name != self.name or len(value.args) != len(self.args):
            return False
        pairs = zip(self.args, value.args, strict=True)
        return all(_is_positive(b) if a is None else a == b for a, b in pairs)

    def values(self) -> Iterable[Choice]:
        free = PARAMETERS.get(self.name, DEFAULT_PARAMETERS)
        spread = [free if a is None else (a,) for a in self.args]
        return (Choice(self.name, args) for args in product(*spread))


@dataclass(frozen=True, slots=True)
class _Range:
    """A closed range of integers; smaller is stronger."""

    low: int
    high: int
    level: int

    def fits(self, value: ClaimValue) -> bool:
        return isinstance(value, int) and self.low <= value <= self.high

    def values(self) -> Iterable[int]:
        powers = (2**k for k in range(max(self.high, 1).bit_length()))
        inside = {p for p in powers if self.low <= p <= self.high}
        return sorted({self.low, self.high} | inside)


def _is_positive(value: int | str) -> bool:
    return isinstance(value, int) and value >= 1


@cache
def _domain(decision: Decision) -> tuple[_Form | _Range, ...]:
    return tuple(
        form
        for depth, level in enumerate(decision.levels)
        for entry in level
        if (form := _form(entry, depth)) is not None
    )


def _form(entry: Expr, level: int) -> _Form | _Range | None:
    """Read one entry of a domain; an entry that is none of the three forms has no values."""
    if isinstance(entry, Binary) and entry.op == "..":
        low, high = _integer(entry.left), _integer(entry.right)
        return None if low is None or high is None else _Range(low, high, level)
    if isinstance(entry, Number):
        value = _integer(entry)
        return None if value is None else _Range(value, value, level)
    if isinstance(entry, Name):
        return _Form(entry.id, (), level)
    if isinstance(entry, Call):
        return _Form(entry.function, tuple(_argument(a) for a in entry.args), level)
    return None


def _argument(expr: Expr) -> int | str | None:
    """Return a constant argument, or ``None`` for a parameter: a name that is no format stands for any integer."""
    if isinstance(expr, Name):
        return expr.id if expr.id in FORMATS else None
    return _integer(expr)


def _integer(expr: Expr) -> int | None:
    if isinstance(expr, Unary) and expr.op == "-":
        inner = _integer(expr.operand)
        return None if inner is None else -inner
    if isinstance(expr, Number) and expr.value.denominator == 1:
        return expr.value.numerator
    return None


# --- membership and enumeration ----------------------------------------------------------------------------------


def member(decision: Decision, value: ClaimValue) -> bool:
    """Whether a value belongs to a decision's domain.

    A record ``{format = f32, width = 13}`` belongs where its format does and the width, in fraction bits, does
    not exceed the format's.
    """
    bare = value if isinstance(value, int) else Choice(value.name, value.args)
    return any(form.fits(bare) for form in _domain(decision)) and _record_is_sound(value)


def _record_is_sound(value: ClaimValue) -> bool:
    if isinstance(value, int) or not value.fields:
        return True
    width = value.field("width")
    if value.name not in FORMATS or width is None or len(value.fields) != 1:
        return False
    return 1 <= width <= fraction_bits(value.name)


def fraction_bits(format_name: str) -> int:
    """Return how many bits of a format's significand are stored: its precision without the hidden bit."""
    return format_named(format_name).precision - 1


def representatives(decision: Decision) -> tuple[ClaimValue, ...]:
    """Return values that stand for the whole domain, in the order of declaration, strongest level first.

    Finite domains are complete. A parametrised value is represented by a few parameters (``PARAMETERS``), a range of
    integers by its ends and the powers of two inside.
    """
    return tuple(v for form in _domain(decision) for v in form.values())


def is_finite(decision: Decision) -> bool:
    """Whether ``representatives`` is the whole domain."""
    forms = _domain(decision)
    return all(isinstance(f, _Form) and None not in f.args for f in forms)


def value_names(decision: Decision) -> tuple[str, ...]:
    """Return the names of a domain's values, without arguments; a range has none."""
    return tuple(dict.fromkeys(f.name for f in _domain(decision) if isinstance(f, _Form)))


def describe(decision: Decision) -> str:
    """Write a domain as its author did: ``f64 > f32 | tf32``."""
    levels: dict[int, list[str]] = {}
    for form, entry in zip(_domain(decision), (e for lv in decision.levels for e in lv), strict=False):
        levels.setdefault(form.level, []).append(_spell(form, entry))
    text = " > ".join(" | ".join(level) for _, level in sorted(levels.items()))
    return f"{text} by {decision.measure}" if decision.measure else text


def _spell(form: _Form | _Range, entry: Expr) -> str:
    if isinstance(form, _Range):
        return str(form.low) if form.low == form.high else f"{form.low} .. {form.high}"
    names = [a.id if isinstance(a, Name) else "n" for a in entry.args] if isinstance(entry, Call) else []
    shown = (str(a) if a is not None else n for a, n in zip(form.args, names, strict=True))
    return f"{form.name}({', '.join(shown)})" if form.args else form.name


def decision_named(operator: Operator, name: str) -> Decision:
    """Return an operator's decision.

    Raises
    ------
    ClaimError
        E0403, with the operator's decisions, if it has none of that name.
    """
    for decision in operator.decisions:
        if decision.name == name:
            return decision
    known = ", ".join(f"`{d.name}`" for d in operator.decisions) or "none"
    raise ClaimError(f"`{operator.name}` has no decision `{name}`", code="E0403", hint=f"its decisions are {known}")


# --- the order ---------------------------------------------------------------------------------------------------


def compare(decision: Decision, a: ClaimValue, b: ClaimValue) -> Comparison:
    """Say how ``a`` relates to ``b`` in strength.

    Different levels decide first. Inside a level, integers are ordered (smaller is stronger), values under a measure
    by that measure at every size of ``SIZES``, and the rest are incomparable. Records are ordered by digits and range,
    the order of which the levels of formats are a part.

    Raises
    ------
    ClaimError
        If one of them is not in the domain.
    """
    if a == b:
        check_value(decision, a)
        return "equal"
    first, second = _form_of(decision, a), _form_of(decision, b)
    if isinstance(a, Choice) and isinstance(b, Choice) and (a.fields or b.fields):
        return _verdict(_format_covers(a, b), _format_covers(b, a))
    if first.level != second.level:
        return "stronger" if first.level < second.level else "weaker"
    if isinstance(a, int) and isinstance(b, int):
        return "stronger" if a < b else "weaker"
    if decision.measure == "add_depth" and isinstance(a, Choice) and isinstance(b, Choice):
        return _by_depth(a, b)
    return "incomparable"


def _verdict(at_least: bool, at_most: bool) -> Comparison:
    if at_least and at_most:
        return "equal"
    if at_least:
        return "stronger"
    return "weaker" if at_most else "incomparable"


def _form_of(decision: Decision, value: ClaimValue) -> _Form | _Range:
    check_value(decision, value)
    bare = value if isinstance(value, int) else Choice(value.name, value.args)
    return next(form for form in _domain(decision) if form.fits(bare))


def _format_covers(a: Choice, b: Choice) -> bool:
    """Whether every number of ``b`` is one of ``a``: at least as many digits, and no smaller range."""
    wide, narrow = format_named(a.name), format_named(b.name)
    digits = (a.field("width") or fraction_bits(a.name)) >= (b.field("width") or fraction_bits(b.name))
    return digits and wide.emin <= narrow.emin and wide.emax >= narrow.emax


@cache
def _by_depth(a: Choice, b: Choice) -> Comparison:
    pairs = [(add_depth(a, n), add_depth(b, n)) for n in SIZES]
    return _verdict(all(x <= y for x, y in pairs), all(x >= y for x, y in pairs))


def strongest(decision: Decision) -> tuple[ClaimValue, ...]:
    """Return the values that nothing is stronger than; several where they are incomparable."""
    return _extreme(decision, "stronger")


def weakest(decision: Decision) -> tuple[ClaimValue, ...]:
    """Return the values that nothing is weaker than; several where they are incomparable."""
    return _extreme(decision, "weaker")


@cache
def _extreme(decision: Decision, side: Comparison) -> tuple[ClaimValue, ...]:
    values = representatives(decision)
    return tuple(v for v in values if not any(compare(decision, w, v) == side for w in values))


def is_ordered(decision: Decision) -> bool:
    """Whether any two values are comparable with a strict result, so that claiming more means something."""
    values = representatives(decision)
    return any(compare(decision, a, b) == "stronger" for a in values for b in values)


# --- what values stand for ---------------------------------------------------------------------------------------


def add_depth(order: Choice, n: int) -> int:
    """Return the largest number of additions any of ``n`` terms passes in an order of summation.

    ``pairwise(b)`` adds runs of ``b`` terms one after another and the runs as a binary tree; ``blocked(b)``
    adds the runs one after another as well; ``lanes(L)`` keeps ``L`` running sums and adds these at the end. Other
    orders are bounded by a sequence. A lane without terms is zero and its addition exact, so that no depth exceeds
    ``n - 1`` (Higham 2002, section 4.2, counts the additions in the same way).
    """
    if n <= 1:
        return 0
    size = order.args[0] if order.args else 1
    if not isinstance(size, int) or size < 1:
        raise ClaimError(f"`{order}` needs a positive integer")
    shape = _DEPTHS.get(order.name)
    return n - 1 if shape is None else shape(size, n)


_DEPTHS: dict[str, Callable[[int, int], int]] = {
    # (m - 1).bit_length() is the exact ceiling of log2(m) for m >= 1
    "pairwise": lambda b, n: min(b, n) - 1 + (_ceil_div(n, b) - 1).bit_length(),
    "blocked": lambda b, n: min(b, n) - 1 + _ceil_div(n, b) - 1,
    "lanes": lambda b, n: _ceil_div(n, b) - 1 + min(b, n) - 1,
}


def _ceil_div(a: int, b: int) -> int:
    return -(-a // b)


def u_operand(rounding: ClaimValue) -> Fraction:
    """Return a bound on the relative change of one operand by its declared rounding.

    ``to(f)`` gives ``2^(1-p)``, one spacing: kernels both round and truncate operands, and the decision does not say
    which. ``split(f, k)`` writes an operand as ``k`` pieces of ``p`` bits and keeps the products of pieces ``i, j``
    with ``i + j <= k + 1``. Rounded to nearest, piece ``i`` and the rest after it are at most ``2^(-p(i-1))`` and
    ``(2^-p / (1 + 2^-p))^i`` of the operand. Dropped are ``k - 1`` products of relative size ``2^(-pk)`` and those
    of the two rests, together ``(k + 1) 2^(-pk)``; the strictness of the bound on the rests covers the terms of higher
    order. Half of it belongs to each operand: for ``split(bf16, 3)`` that is ``2 * 2^-24 = 2^-23``.
    """
    if isinstance(rounding, Choice) and rounding.name == "to":
        return Fraction(2, 2 ** _digits(rounding))
    if isinstance(rounding, Choice) and rounding.name == "split":
        pieces = _pieces(rounding)
        return Fraction(pieces + 1, 2 * 2 ** (_digits(rounding) * pieces))
    return Fraction(0)


def passes(rounding: ClaimValue) -> int:
    """Return how many products of pieces stand for one product: ``k (k + 1) / 2`` for ``split(f, k)``, else 1."""
    if isinstance(rounding, Choice) and rounding.name == "split":
        pieces = _pieces(rounding)
        return pieces * (pieces + 1) // 2
    return 1


def _digits(rounding: Choice) -> int:
    name = rounding.args[0] if rounding.args else None
    if not isinstance(name, str) or name not in FORMATS:
        raise ClaimError(f"`{rounding}` names no format", hint="write `to(tf32)` or `split(bf16, 3)`")
    return format_named(name).precision


def _pieces(rounding: Choice) -> int:
    count = rounding.args[1] if len(rounding.args) > 1 else None
    # 64 pieces of one bit already hold every operand of f64
    if not isinstance(count, int) or not 1 <= count <= 64:
        raise ClaimError(f"`{rounding}` does not say into how many pieces, 1 to 64", hint="write `split(bf16, 3)`")
    return count


# --- reading values ----------------------------------------------------------------------------------------------


def value_of_expr(expr: Expr) -> ClaimValue:
    """Read a value from its expression.

    Raises
    ------
    ClaimError
        If the expression is none of ``name``, ``name(arguments)``, an integer, or ``{format = f32, width = 13}``.
    """
    whole = _integer(expr)
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
    value = _integer(expr)
    if value is None:
        raise ClaimError("an argument of a value is a name or an integer")
    return value


def _record(fields: dict[str, Expr]) -> Choice:
    base = fields.get("format")
    if not isinstance(base, Name):
        raise ClaimError("a record names its `format`, as in `{format = f32, width = 13}`")
    rest = []
    for key, expr in sorted(fields.items()):
        value = _integer(expr)
        if key != "format" and value is None:
            raise ClaimError(f"the field `{key}` of a record is an integer")
        if key != "format" and value is not None and not _is_default(base.id, key, value):
            rest.append((key, value))
    return Choice(base.id, (), tuple(rest))


def _is_default(format_name: str, key: str, value: int) -> bool:
    """Whether a field says what the bare format says, so that equal claims are equal values."""
    return key == "width" and format_name in FORMATS and value == fraction_bits(format_name)


def check_value(decision: Decision, value: ClaimValue) -> None:
    """Raise ``ClaimError`` (E0404), listing the domain, unless a value belongs to it."""
    if not member(decision, value):
        raise ClaimError(f"`{value}` is not a value of `{decision.name}`", hint=f"its values are {describe(decision)}")


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
