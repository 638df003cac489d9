"""The floating-point formats as plain data: precision, exponent range, largest value, specials.

Sources: IEEE 754-2019 table 3.5 for f64, f32 and f16; bf16 and tf32 are f32 with 8 and 11 bits of
precision; the OCP 8-bit floating point specification (OFP8, revision 1.0) for f8e4m3 and f8e5m2.
Everything is an integer or a `Fraction`, so that nothing here rounds and nothing here needs numpy.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Final, Literal, TypeAlias

RoundingMode: TypeAlias = Literal["rne", "rz", "ru", "rd"]

_TWO = Fraction(2)


@dataclass(frozen=True, slots=True)
class Format:
    """One binary floating-point format.

    Parameters
    ----------
    name
        The name the language uses.
    precision
        Significand bits, the leading one included (IEEE 754's ``p``).
    emin, emax
        Exponents of the smallest normal number ``2^emin`` and of the largest binade ``2^emax``.
    maxfinite
        The largest finite number. It is not derived from `precision` and `emax`, since f8e4m3 gives
        the top significand of its last binade to NaN.
    has_inf, has_nan
        Whether the format encodes infinities and NaN.
    storage_bits
        Width in memory; ``None`` for formats that exist only inside arithmetic units.
    """

    name: str
    precision: int
    emin: int
    emax: int
    maxfinite: Fraction
    has_inf: bool = True
    has_nan: bool = True
    storage_bits: int | None = None

    @property
    def minnormal(self) -> Fraction:
        """The smallest positive normal number."""
        return _TWO**self.emin

    @property
    def minsub(self) -> Fraction:
        """The smallest positive number: the spacing of the subnormals."""
        return _TWO**self.lsb_min

    @property
    def lsb_min(self) -> int:
        """Exponent of `minsub`; every finite number is a multiple of two to this power."""
        return self.emin - self.precision + 1

    @property
    def eps(self) -> Fraction:
        """The spacing just above one."""
        return _TWO ** (1 - self.precision)

    def unit_roundoff(self, mode: str = "rne") -> Fraction:
        """Bound of the relative error of one rounding in the normal range.

        Half a spacing for rounding to nearest (``rne``), a whole one for truncation (``rz``);
        Higham,
        *Accuracy and Stability of Numerical Algorithms*, 2002, theorem 2.2.

        Raises
        ------
        ValueError
            If `mode` is neither ``rne`` nor ``rz``.
        """
        if mode == "rne":
            return self.eps / 2
        if mode == "rz":
            return self.eps
        raise ValueError(f"unknown rounding mode `{mode}`: use `rne` or `rz`")

    def __str__(self) -> str:
        return self.name


def _binary(name: str, precision: int, emax: int, storage_bits: int | None) -> Format:
    """Build a format that follows IEEE 754's pattern: ``emin = 1 - emax``, all significands in use."""
    largest = (2 - _TWO ** (1 - precision)) * _TWO**emax
    return Format(name, precision, 1 - emax, emax, largest, storage_bits=storage_bits)


#: IEEE 754 binary64.
F64: Final = _binary("f64", 53, 1023, 64)
#: IEEE 754 binary32.
F32: Final = _binary("f32", 24, 127, 32)
#: NVIDIA TensorFloat-32: the range of f32 with the precision of f16; no storage of its own.
TF32: Final = _binary("tf32", 11, 127, None)
#: IEEE 754 binary16.
F16: Final = _binary("f16", 11, 15, 16)
#: bfloat16: the upper half of f32.
BF16: Final = _binary("bf16", 8, 127, 16)
#: OFP8 E4M3: no infinity, NaN in the top significand, so the largest number is 1.75 * 2^8 and emin
#: is -6.
F8E4M3: Final = Format("f8e4m3", 4, -6, 8, Fraction(448), has_inf=False, storage_bits=8)
#: OFP8 E5M2: an IEEE-like format with infinities.
F8E5M2: Final = _binary("f8e5m2", 3, 15, 8)

#: Every named format, widest first.
FORMATS: Final[dict[str, Format]] = {f.name: f for f in (F64, F32, TF32, F16, BF16, F8E4M3, F8E5M2)}


def format_named(name: str) -> Format:
    """Return the format called `name`.

    Raises
    ------
    KeyError
        If there is none; the message lists the names.
    """
    try:
        return FORMATS[name]
    except KeyError:
        known = ", ".join(FORMATS)
        raise KeyError(f"unknown format `{name}`: use one of {known}") from None


def accumulator_format(name: str, width: int | None = None) -> Format:
    """Return the format of an accumulator that keeps `width` fraction bits over the range of `name`.

    Parameters
    ----------
    name
        The format whose exponent range the accumulator has.
    width
        Bits after the leading one, so the precision is ``width + 1``; ``None`` for those of `name`.

    Raises
    ------
    KeyError
        If `name` is no format.
    ValueError
        If `width` is not within 1 to 52: beyond that the values would not fit the 53 bits of f64,
        in which they are held.
    """
    base = format_named(name)
    if width is None or width == base.precision - 1:
        return base
    if not 1 <= width <= 52:
        raise ValueError(f"accumulator width `{width}` is out of range: use 1 to 52 fraction bits")
    precision = width + 1
    largest = (2 - _TWO ** (1 - precision)) * _TWO**base.emax
    return Format(f"{name}.{width}", precision, base.emin, base.emax, largest)
