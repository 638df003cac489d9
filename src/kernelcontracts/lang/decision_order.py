"""The order of a decision's values by strength.

It is a preorder, not a total one: ``a`` is at least as strong as ``b`` where every kernel that truthfully claims ``a``
also satisfies what ``b`` asks. Two different values may be equally strong (``sequential`` and ``unordered`` have the
same depth) or incomparable (``f16`` has more digits, ``bf16`` more range).
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Literal, TypeAlias

from kernelcontracts.formats.facts import format_named
from kernelcontracts.lang.decision_domain import check_value, form_of, fraction_bits, representatives
from kernelcontracts.lang.decision_formulas import add_depth
from kernelcontracts.lang.values import Choice

if TYPE_CHECKING:
    from kernelcontracts.lang.decl import Decision
    from kernelcontracts.lang.values import ClaimValue

Comparison: TypeAlias = Literal["stronger", "weaker", "equal", "incomparable"]

SIZES: tuple[int, ...] = tuple(
    sorted({1, 2, 3, 5, 7, 11, 31, 333, 1000, 4097, 2**20}.union(*({2**k, 2**k + 1} for k in range(1, 17))))
)
"""Numbers of terms at which depths are compared: powers of two and one past them, where ceilings jump."""


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
    first, second = form_of(decision, a), form_of(decision, b)
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
