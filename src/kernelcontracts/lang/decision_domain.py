"""The domain of a decision: which values it has, and how they are written.

A domain is written once, in the operator's entry, as a list of forms: choices whose arguments may be parameters, and
ranges of integers.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from itertools import product
from typing import TYPE_CHECKING

from kernelcontracts.formats.facts import FORMATS, format_named
from kernelcontracts.lang.expr import Binary, Call, Name, Number, Unary
from kernelcontracts.lang.values import Choice

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kernelcontracts.lang.decl import Decision, Operator
    from kernelcontracts.lang.expr import Expr
    from kernelcontracts.lang.values import ClaimValue


class ClaimError(ValueError):
    """A claim that cannot be: ``code`` is E0403 (no such decision) or E0404 (no such value)."""

    def __init__(self, message: str, *, code: str = "E0404", hint: str | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.hint = hint


PARAMETERS: dict[str, tuple[int, ...]] = {
    # numpy's base case is 128 terms in 8 lanes, and 1 is the pure binary tree: the ends and the usual case
    "pairwise": (1, 8, 128),
    "blocked": (64,),
    "lanes": (8,),
}
"""What stands for a parametrised value when a domain is enumerated; other names get ``DEFAULT_PARAMETERS``."""
DEFAULT_PARAMETERS: tuple[int, ...] = (1, 8, 128)


# --- the shape of a domain -------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Form:
    """One entry of a domain: a choice, some of whose arguments (``None``) are free positive integers."""

    name: str
    args: tuple[int | str | None, ...]
    level: int

    def fits(self, value: ClaimValue) -> bool:
        """Whether a value is one of these."""
        if isinstance(value, int) or value.name != self.name or len(value.args) != len(self.args):
            return False
        pairs = zip(self.args, value.args, strict=True)
        return all(_is_positive(b) if a is None else a == b for a, b in pairs)

    def values(self) -> Iterable[Choice]:
        """Return values that stand for all of these."""
        free = PARAMETERS.get(self.name, DEFAULT_PARAMETERS)
        spread = [free if a is None else (a,) for a in self.args]
        return (Choice(self.name, args) for args in product(*spread))


@dataclass(frozen=True, slots=True)
class Range:
    """A closed range of integers; smaller is stronger."""

    low: int
    high: int
    level: int

    def fits(self, value: ClaimValue) -> bool:
        """Whether a value is one of these."""
        return isinstance(value, int) and self.low <= value <= self.high

    def values(self) -> Iterable[int]:
        """Return values that stand for all of these; none of an empty range."""
        if self.low > self.high:
            return ()
        powers = (2**k for k in range(max(self.high, 1).bit_length()))
        inside = {p for p in powers if self.low <= p <= self.high}
        return sorted({self.low, self.high} | inside)


def _is_positive(value: int | str) -> bool:
    return isinstance(value, int) and value >= 1


@cache
def domain_of(decision: Decision) -> tuple[Form | Range, ...]:
    """Return the forms of a domain, in the order of declaration."""
    return tuple(
        form
        for depth, level in enumerate(decision.levels)
        for entry in level
        if (form := _form(entry, depth)) is not None
    )


def _form(entry: Expr, level: int) -> Form | Range | None:
    """Read one entry of a domain; an entry that is none of the three forms has no values."""
    if isinstance(entry, Binary) and entry.op == "..":
        low, high = integer_of(entry.left), integer_of(entry.right)
        return None if low is None or high is None else Range(low, high, level)
    if isinstance(entry, Number):
        value = integer_of(entry)
        return None if value is None else Range(value, value, level)
    if isinstance(entry, Name):
        return Form(entry.id, (), level)
    if isinstance(entry, Call):
        return Form(entry.function, tuple(_argument(a) for a in entry.args), level)
    return None


def _argument(expr: Expr) -> int | str | None:
    """Return a constant argument, or ``None`` for a parameter: a name that is no format stands for any integer."""
    if isinstance(expr, Name):
        return expr.id if expr.id in FORMATS else None
    return integer_of(expr)


def integer_of(expr: Expr) -> int | None:
    """Return the integer an expression is, or ``None``."""
    if isinstance(expr, Unary) and expr.op == "-":
        inner = integer_of(expr.operand)
        return None if inner is None else -inner
    if isinstance(expr, Number) and expr.value.denominator == 1:
        return expr.value.numerator
    return None


# --- membership and enumeration --------------------------------------------------------------------------------------


def member(decision: Decision, value: ClaimValue) -> bool:
    """Whether a value belongs to a decision's domain.

    A record ``{format = f32, width = 13}`` belongs where its format does and the width, in fraction bits, does
    not exceed the format's.
    """
    bare = value if isinstance(value, int) else Choice(value.name, value.args)
    return any(form.fits(bare) for form in domain_of(decision)) and _record_is_sound(value)


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


def check_value(decision: Decision, value: ClaimValue) -> None:
    """Raise ``ClaimError`` (E0404), listing the domain, unless a value belongs to it."""
    if not member(decision, value):
        raise ClaimError(f"`{value}` is not a value of `{decision.name}`", hint=f"its values are {describe(decision)}")


def form_of(decision: Decision, value: ClaimValue) -> Form | Range:
    """Return the form a value has; ``ClaimError`` if it is not in the domain."""
    check_value(decision, value)
    bare = value if isinstance(value, int) else Choice(value.name, value.args)
    return next(form for form in domain_of(decision) if form.fits(bare))


def representatives(decision: Decision) -> tuple[ClaimValue, ...]:
    """Return values that stand for the whole domain, in the order of declaration, strongest level first.

    Finite domains are complete. A parametrised value is represented by a few parameters (``PARAMETERS``), a range of
    integers by its ends and the powers of two inside.
    """
    return tuple(v for form in domain_of(decision) for v in form.values())


def is_finite(decision: Decision) -> bool:
    """Whether ``representatives`` is the whole domain."""
    forms = domain_of(decision)
    return all(isinstance(f, Form) and None not in f.args for f in forms)


def value_names(decision: Decision) -> tuple[str, ...]:
    """Return the names of a domain's values, without arguments; a range has none."""
    return tuple(dict.fromkeys(f.name for f in domain_of(decision) if isinstance(f, Form)))


def describe(decision: Decision) -> str:
    """Write a domain as its author did: ``f64 > f32 | tf32``."""
    levels: dict[int, list[str]] = {}
    for form, entry in zip(domain_of(decision), (e for lv in decision.levels for e in lv), strict=False):
        levels.setdefault(form.level, []).append(_spell(form, entry))
    text = " > ".join(" | ".join(level) for _, level in sorted(levels.items()))
    return f"{text} by {decision.measure}" if decision.measure else text


def _spell(form: Form | Range, entry: Expr) -> str:
    if isinstance(form, Range):
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
