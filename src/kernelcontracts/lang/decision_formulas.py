"""What values of decisions stand for in error bounds: depths of sums, roundings of operands, passes."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from kernelcontracts.formats.facts import FORMATS, format_named
from kernelcontracts.lang.decision_domain import ClaimError
from kernelcontracts.lang.values import Choice

if TYPE_CHECKING:
    from collections.abc import Callable

    from kernelcontracts.lang.values import ClaimValue


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
