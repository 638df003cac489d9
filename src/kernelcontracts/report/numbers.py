"""Numbers for people: short where they inform, exact where they decide."""

from __future__ import annotations

from decimal import ROUND_CEILING, Context, Decimal
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kernelcontracts.engine.result import Float, Margin


def brief(number: Float) -> str:
    """Return three significant digits, or all where three would hide which side of 1 it is on."""
    value = number.value
    text = f"{value:.3g}"
    return number.dec if float(text) == 1 and value != 1 else text


def at_most(number: Float) -> str:
    """Return an upper limit in two significant digits, rounded up so that it still is one."""
    rounded = Decimal(number.dec).normalize(Context(prec=2, rounding=ROUND_CEILING))
    return f"{rounded:f}" if rounded.adjusted() >= -4 else f"{rounded:e}"


def exact(number: Float) -> str:
    """Return the decimal and the hex form."""
    return f"{number.dec} ({number.hex})"


def percent(number: Float) -> str:
    """Return a probability as a percentage, every digit of it: 0.999 is `99.9 %`."""
    return f"{(Decimal(number.dec) * 100).normalize():f} %"


def span(margin: Margin) -> str:
    """Return a margin, as one number where both ends print alike."""
    lo, hi = brief(margin.lo), brief(margin.hi)
    return lo if lo == hi else f"{lo} to {hi}"
