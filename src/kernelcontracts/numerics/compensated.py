"""Sums as unevaluated pairs of f64 numbers, with a certified and often vanishing error.

A balanced tree of TwoSum carries the sum, and a second tree adds up the rounding errors, which
TwoSum gives exactly (the cascaded summation of Ogita, Rump and Oishi, *Accurate sum and dot
product*, 2005).

Error bound. Let ``u = 2^-53``, ``L`` the number of levels and ``mag`` the sum of magnitudes. Each
level's errors total at most ``u * mag * (1 + u)^L``, and errors of products at most ``u * mag``, so
all errors total at most ``(L + 1) * u * mag`` up to a factor of ``1 + 2^-40``. Adding them up, a
term passes at most ``2 * L`` additions, which lose at most ``2 * L * u`` of that total (Jeannerod
and Rump, *Improved error bounds for inner products*, 2013). Hence ``|hi + lo - sum| <= 2 * L * (L +
1) * u^2 * mag * (1 + 2^-40)``, which ``2 * (L + 2)^2 * 2^-106 * mag`` covers together with the
rounding of the bound itself.

Exactness. If every term is a multiple of ``g = 2^e``, so is every error and every sum of errors.
While ``(L + 1) * u * mag <= 2^53 * g``, each such sum is a multiple of `g` not above ``2^53 * g``:
an f64 number. Then nothing is lost at all.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from kernelcontracts.formats.facts import F64, Format
from kernelcontracts.numerics import directed
from kernelcontracts.numerics.rounding import odd, round_to

if TYPE_CHECKING:
    from kernelcontracts.formats.arrays import Floats, Ints

#: Round-to-odd in 53 bits serves formats with two bits less.
_WIDEST_BY_ODD = 51


@dataclass(frozen=True, slots=True, eq=False)
class Pair:
    """Sums ``hi + lo`` within `radius` of the exact ones; NaN in `radius` means no bound is known."""

    hi: Floats
    lo: Floats
    radius: Floats

    def take(self, index: Ints) -> Pair:
        """Return the sums at flat indices."""
        return Pair(*(np.ravel(field)[index] for field in (self.hi, self.lo, self.radius)))


def pair_sum(terms: Floats, errors: Floats | None, lsb: Ints) -> Pair:
    """Sum terms along the last axis.

    Parameters
    ----------
    terms
        Finite float64 array ``(..., n)`` with ``n >= 1``.
    errors
        Array of the same shape to be added as well, at most ``2^-53 |terms|`` each; ``None`` for
        zeros.
    lsb
        Array ``(...)``: every term and error is a multiple of ``2^lsb``.
    """
    with np.errstate(all="ignore"):
        levels = max(terms.shape[-1] - 1, 0).bit_length()
        mag = np.abs(terms).sum(axis=-1) * (1.0 + (terms.shape[-1] + 2) * 2.0**-53)
        hi, lo = _cascade(terms, errors)
        radius = mag * (2.0 * (levels + 2) ** 2 * 2.0**-106)
        # (levels + 2) instead of (levels + 1) absorbs the factor 1 + 2^-40
        is_exact = np.ldexp(mag, -lsb.astype(np.int32)) * (levels + 2) <= 2.0**106
        radius = np.where(is_exact & (lsb >= F64.lsb_min), 0.0, np.nextafter(radius, np.inf))
        return Pair(hi, lo, np.where(np.isfinite(hi) & np.isfinite(lo), radius, np.nan))


def _cascade(terms: Floats, errors: Floats | None) -> tuple[Floats, Floats]:
    error = np.zeros(terms.shape) if errors is None else errors
    while (length := terms.shape[-1]) > 1:
        half = length // 2
        left, right, rest = np.s_[..., :half], np.s_[..., half : 2 * half], np.s_[..., 2 * half :]
        sums, lost = directed.two_sum(terms[left], terms[right])
        merged = (error[left] + error[right]) + lost
        if length % 2:
            terms = np.concatenate([sums, terms[rest]], axis=-1)
            error = np.concatenate([merged, error[rest]], axis=-1)
        else:
            terms, error = sums, merged
    return terms[..., 0], error[..., 0]


def ends(pair: Pair) -> tuple[Floats, Floats]:
    """Return f64 bounds ``(lo, hi)`` of the sums: adjacent ones as a rule, equal for exact f64 sums."""
    below, above = _tails(pair)
    lo = directed.add(pair.hi, below)[0]
    hi = directed.add(pair.hi, above)[1]
    unknown = np.isnan(pair.radius)
    return np.where(unknown, -np.inf, lo), np.where(unknown, np.inf, hi)


def _tails(pair: Pair) -> tuple[Floats, Floats]:
    """Bound ``lo`` from both sides by the radius."""
    return directed.add(pair.lo, -pair.radius)[0], directed.add(pair.lo, pair.radius)[1]


def rounded_pair(pair: Pair, fmt: Format, mode: str) -> tuple[Floats, Floats]:
    """Round both ends of the enclosure to a format, each correctly; where they agree, so does the sum.

    NaN where the pair does not decide: unknown radius, or a format of 52 or 53 bits other than f64.
    """
    below, above = _tails(pair)
    first, second = _round(pair.hi, below, fmt, mode), _round(pair.hi, above, fmt, mode)
    unknown = np.isnan(pair.radius)
    return np.where(unknown, np.nan, first), np.where(unknown, np.nan, second)


def _round(hi: Floats, lo: Floats, fmt: Format, mode: str) -> Floats:
    if fmt.precision <= _WIDEST_BY_ODD:
        return round_to(odd(hi, lo), fmt, mode)
    if fmt != F64:
        return np.full(hi.shape, np.nan)
    if mode == "rne":
        return hi + lo
    down, up = directed.add(hi, lo)
    upwards = np.signbit(down) if mode == "rz" else np.full(hi.shape, mode == "ru")
    return np.where(upwards, up, down)
