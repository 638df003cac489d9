"""Number literals: text to exact rationals and back."""

from __future__ import annotations

import re
from fractions import Fraction

MAX_DIGITS = 1200
MAX_HEX_DIGITS = 64
MAX_EXPONENT = 1100
"""Limits of a literal.

Every f64 value, the smallest subnormal included, is written exactly in at most 1075 decimal places, or with a binary
exponent of at least -1074. A literal beyond these limits names nothing that a kernel computes, and would take memory
in proportion to its exponent. With 64 hexadecimal digits and that exponent a value still has a decimal spelling
within the limits: its last bit has weight 2^-1356, and 5^1356 has 948 digits.
"""

_DECIMAL = re.compile(r"([0-9]+)(?:\.([0-9]+))?(?:[eE]([+-]?[0-9]+))?")
_HEX = re.compile(r"0[xX]([0-9a-fA-F]+)(?:\.([0-9a-fA-F]+))?(?:[pP]([+-]?[0-9]+))?")


def read_number(text: str) -> Fraction:
    """Return the exact value of a literal.

    Raises
    ------
    ValueError
        If it is not a literal, or beyond the limits; the message says which limit.
    """
    for pattern, base, step in ((_DECIMAL, 10, 10), (_HEX, 16, 2)):
        match = pattern.fullmatch(text)
        if match is not None:
            whole, part, exponent = match.group(1), match.group(2) or "", match.group(3) or "0"
            _check_limits(whole + part, exponent, MAX_DIGITS if base == 10 else MAX_HEX_DIGITS)
            value = Fraction(int(whole + part, base), base ** len(part))
            return value * Fraction(step) ** int(exponent)
    raise ValueError(f"`{text[:40]}` is not a number")


def _check_limits(digits: str, exponent: str, most: int) -> None:
    if len(digits) > most:
        raise ValueError(f"a number of {len(digits)} digits; at most {most} are allowed")
    # the text is measured before it is converted: it may have a million digits itself
    if len(exponent) > 6 or abs(int(exponent)) > MAX_EXPONENT:
        raise ValueError(f"the exponent of this number is beyond {MAX_EXPONENT}, the largest magnitude of an f64 value")


def write_number(value: Fraction) -> str:
    """Return the plain decimal spelling of a value, or a scaled one where zeros would pile up.

    Raises
    ------
    ValueError
        If no literal has this value: it is negative, or its denominator has a factor other than 2 and 5.
    """
    twos, fives = _multiplicity(value.denominator, 2), _multiplicity(value.denominator, 5)
    if value < 0 or value.denominator != 2**twos * 5**fives:
        raise ValueError(f"no literal has the value {value}; write it as a quotient")
    places = max(twos, fives)
    digits = str(value.numerator * 10**places // value.denominator)
    if places == 0:
        return _shorten(digits)
    if places > 6 + len(digits):
        return f"{_point(digits)}e{len(digits) - 1 - places}"
    digits = digits.rjust(places + 1, "0")
    return f"{digits[:-places]}.{digits[-places:]}"


def _shorten(digits: str) -> str:
    zeros = len(digits) - len(digits.rstrip("0"))
    if zeros <= 9 or digits == "0":
        return digits
    kept = digits[: len(digits) - zeros]
    return f"{_point(kept)}e{len(digits) - 1}"


def _point(digits: str) -> str:
    return digits if len(digits) == 1 else f"{digits[0]}.{digits[1:]}"


def _multiplicity(number: int, prime: int) -> int:
    count = 0
    while number % prime == 0:
        number //= prime
        count += 1
    return count
