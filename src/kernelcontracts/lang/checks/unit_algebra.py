"""Units: products of powers of symbols, and equations between them.

Units form the free abelian group on the symbols of the inputs, with rational exponents; equality is solved by
elimination, as in Kennedy, Relational parametricity and units of measure, 1997.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TypeAlias

Unit: TypeAlias = "dict[str, Fraction] | None"
"""Exponents by symbol, none of them zero; ``None`` where the unit is not known. A symbol ``?n`` can still be solved."""
ONE: dict[str, Fraction] = {}


class Solver:
    """Equations between units. Symbols that begin with ``?`` are unknowns, others stand for themselves."""

    def __init__(self, *, rigid: bool = True) -> None:
        self.rigid = rigid
        self._solved: dict[str, dict[str, Fraction]] = {}
        self._count = 0

    def fresh(self) -> dict[str, Fraction]:
        """Return a unit that may become any."""
        self._count += 1
        return {f"?{self._count}": Fraction(1)}

    def reduce(self, unit: dict[str, Fraction]) -> dict[str, Fraction]:
        """Return a unit with everything that is solved put in."""
        while any(symbol in self._solved for symbol in unit):
            total: dict[str, Fraction] = {}
            for symbol, exponent in unit.items():
                for part, power in self._solved.get(symbol, {symbol: Fraction(1)}).items():
                    total[part] = total.get(part, Fraction(0)) + exponent * power
            unit = {s: e for s, e in total.items() if e}
        return unit

    def unify(self, a: dict[str, Fraction], b: dict[str, Fraction]) -> bool:
        """Make two units equal; false if they cannot be."""
        rest = self.reduce(times(a, b, -1))
        if not rest:
            return True
        free = [s for s in rest if s.startswith("?")] or ([] if self.rigid else list(rest))
        if not free:
            return False
        chosen = free[0]
        power = rest.pop(chosen)
        self._solved[chosen] = {s: -e / power for s, e in rest.items()}
        return True


def times(a: dict[str, Fraction], b: dict[str, Fraction], sign: int | Fraction = 1) -> dict[str, Fraction]:
    """Return ``a * b^sign``."""
    total = dict(a)
    for symbol, exponent in b.items():
        total[symbol] = total.get(symbol, Fraction(0)) + sign * exponent
    return {s: e for s, e in total.items() if e}


def power(a: dict[str, Fraction], exponent: Fraction) -> dict[str, Fraction]:
    """Return ``a^exponent``."""
    return {s: e * exponent for s, e in a.items() if e * exponent}


def show(unit: dict[str, Fraction]) -> str:
    """Return a unit as it stands in messages: ``⟨A⟩·⟨B⟩^2``, or ``a pure number``."""
    if not unit:
        return "a pure number"
    return "·".join(f"⟨{s}⟩" if e == 1 else f"⟨{s}⟩^{e}" for s, e in sorted(unit.items()))
