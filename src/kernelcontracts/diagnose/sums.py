"""Sums of chosen terms: the one experiment that products and reductions have in common."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from kernelcontracts.formats.facts import format_named

if TYPE_CHECKING:
    from kernelcontracts.diagnose.candidate import Candidate
    from kernelcontracts.diagnose.failure import Array, Doubles, Shape
    from kernelcontracts.formats.facts import Format


@dataclass(frozen=True, slots=True)
class Bench:
    """Sets up sums of given terms at the shape of a failed case, many at a time where the shape allows it.

    A product forms one sum for each pair of a row and a column; the bench uses the diagonal, so that every sum
    has operands of its own. Terms it is not given are zeros, which change nothing in any order and format.

    Attributes
    ----------
    candidate
        The kernel.
    shape
        The shape at which to ask: kernels may change their ways with it.
    measured
        What probes have found that others build on.
    """

    candidate: Candidate
    shape: Shape
    measured: dict[str, int | None] = field(default_factory=dict)

    @property
    def product(self) -> bool:
        """Whether terms are products of two operands."""
        return self.candidate.operator == "matmul"

    @property
    def length(self) -> int:
        """How many terms a sum has at this shape."""
        return dimension(self.shape, "K" if self.product else "N")

    @property
    def width(self) -> int:
        """How many sums one call forms."""
        if self.product:
            return min(dimension(self.shape, "M"), dimension(self.shape, "N"))
        return math.prod(leading(self.shape))

    @property
    def formats(self) -> tuple[Format, ...]:
        """Formats of the operands."""
        names = ("A", "B") if self.product else ("X",)
        return tuple(format_named(self.candidate.types[name]) for name in names)

    @property
    def output(self) -> Format:
        """Format of the sums."""
        return format_named(self.candidate.types[self.candidate.output])

    @property
    def exponents(self) -> tuple[int, int]:
        """Smallest and largest exponent of a term made of normal operands."""
        return sum(f.emin for f in self.formats), sum(f.emax for f in self.formats)

    def sums(self, terms: Doubles, *, positions: Array | None = None, second: bool = False) -> Doubles | None:
        """Form sums of terms and return them.

        Parameters
        ----------
        terms
            Shape (sums, terms): numbers whose significands fit an operand.
        positions
            Shape (sums, terms): where the terms stand among all; by default in order from the first.
        second
            Put significands into the second operand, and powers of two into the first.

        Returns
        -------
        ndarray or None
            Shape (sums,); ``None`` if a call did not complete.
        """
        if positions is None:
            positions = np.broadcast_to(np.arange(terms.shape[1]), terms.shape)
        width = max(self.width, 1)
        parts = [
            self._call(terms[i : i + width], positions[i : i + width], second=second)
            for i in range(0, len(terms), width)
        ]
        known = [part for part in parts if part is not None]
        return np.concatenate(known) if len(known) == len(parts) else None

    def _call(self, terms: Doubles, positions: Array, *, second: bool) -> Doubles | None:
        full = np.zeros((len(terms), max(self.length, int(positions.max()) + 1)))
        np.put_along_axis(full, positions, terms, axis=1)
        if self.product:
            return self._products(*self._factors(full, second=second))
        return self._rows(full)

    def product_of(self, a: float, b: float) -> float | None:
        """Return the sum of one product of two given operands, or ``None``."""
        length = max(self.length, 1)
        left, right = np.zeros((1, length)), np.zeros((1, length))
        left[0, 0], right[0, 0] = a, b
        result = self._products(left, right)
        return None if result is None else float(result[0])

    def _products(self, left: Doubles, right: Doubles) -> Doubles | None:
        lead = leading(self.shape)
        rows, columns = dimension(self.shape, "M"), dimension(self.shape, "N")
        count, length = left.shape
        a, b = np.zeros((*lead, rows, length)), np.zeros((*lead, length, columns))
        first = (0,) * len(lead)
        a[first][:count] = left
        b[first][:, :count] = right.T
        c = self.candidate.run({"A": a, "B": b})
        return None if c is None else np.diagonal(c[first])[:count].copy()

    def _factors(self, terms: Doubles, *, second: bool) -> tuple[Doubles, Doubles]:
        """Write terms as a significand times a power of two, the exponent shared as evenly as it can be."""
        significand, exponent = np.frexp(terms)
        exponent = exponent - 1
        one, other = self.formats[::-1] if second else self.formats
        half = np.clip(exponent // 2, exponent - one.emax, exponent - one.emin)
        half = np.clip(half, other.lsb_min, other.emax)
        heavy = np.ldexp(2 * significand, exponent - half)
        light = np.where(terms == 0, 0.0, np.ldexp(1.0, half))
        return (light, heavy) if second else (heavy, light)

    def _rows(self, terms: Doubles) -> Doubles | None:
        lead = leading(self.shape)
        x = np.zeros((max(math.prod(lead), 1), terms.shape[1]))
        x[: len(terms)] = terms
        s = self.candidate.run({"X": x.reshape(*lead, terms.shape[1])})
        return None if s is None else s.reshape(-1)[: len(terms)]


def dimension(shape: Shape, name: str) -> int:
    """Return a dimension that is one number."""
    value = shape[name]
    assert isinstance(value, int)
    return value


def leading(shape: Shape) -> tuple[int, ...]:
    """Return the leading dimensions ``*L``, none if the shape has none."""
    value = shape.get("L", ())
    return value if isinstance(value, tuple) else (value,)
