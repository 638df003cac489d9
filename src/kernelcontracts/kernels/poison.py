"""Bits that a right result practically never holds, to see which elements a kernel did not write.

Wide formats alternate between a quiet NaN with a random payload (arithmetic produces the canonical payload) and a
huge number with random low bits (a running maximum that starts on a NaN would hide itself). A number of a narrow
format could be a right result, so those get a NaN payload, or any bits at all that no input of the format holds.
"""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING

from kernelcontracts.formats.arrays import bits

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np

#: Storage bits and fraction bits of the formats that have quiet NaNs with a payload.
_IEEE_LIKE = {"f64": (64, 52), "f32": (32, 23), "f16": (16, 10), "bf16": (16, 7), "f8e5m2": (8, 2)}
_OTHER = {"f8e4m3": 8, "i64": 64}

#: In f32, a right result among the numbers of the top binade meets one given pattern once in 2^23.
_WIDE = 32

#: An allocation of the C library is filled with this byte where it can be told to: a NaN of f16, and huge in the
#: other formats.
FRESH_BYTE = 0x7D


def _nan(width: int, fraction: int) -> int:
    exponent = (1 << (width - 1 - fraction)) - 1
    quiet = 1 << (fraction - 1)
    payload = 1 + secrets.randbelow(quiet - 1) if quiet > 2 else 1
    return secrets.randbits(1) << (width - 1) | exponent << fraction | quiet | payload


def _huge(width: int, fraction: int) -> int:
    exponent = (1 << (width - 1 - fraction)) - 2
    return secrets.randbits(1) << (width - 1) | exponent << fraction | secrets.randbits(fraction)


def _draw(fmt: str, *, nan: bool) -> int:
    if fmt in _OTHER:
        return secrets.randbits(_OTHER[fmt])
    width, fraction = _IEEE_LIKE[fmt]
    return _nan(width, fraction) if nan or width < _WIDE else _huge(width, fraction)


def choose(fmt: str, inputs: Sequence[np.ndarray], *, nan: bool) -> int | None:
    """Return the bits to fill an output with.

    Parameters
    ----------
    fmt
        The output's format.
    inputs
        The inputs of the same format: a kernel that copies elements may return any bits they hold.
    nan
        Whether a NaN is wanted, where both are possible.

    Returns
    -------
    int or None
        ``None`` if the inputs hold so many patterns that none was found: then nothing can be told from it.
    """
    held = [bits(array) for array in inputs if array.size]
    for _ in range(64):
        value = _draw(fmt, nan=nan)
        if value != 0 and not any((array == value).any() for array in held):
            return value
    return None


def fill(array: np.ndarray, value: int) -> None:
    """Set every element of an array to the bits ``value``."""
    unsigned = bits(array)
    unsigned[...] = unsigned.dtype.type(value)


def survives(array: np.ndarray, value: int) -> bool:
    """Return whether some element still holds the bits ``value``."""
    unsigned = bits(array)
    return bool((unsigned == unsigned.dtype.type(value)).any())


def fresh_pattern(fmt: str) -> int | None:
    """Return the bits of an element of fresh memory, or ``None`` where a right result may well hold them."""
    width = _IEEE_LIKE.get(fmt, (0, 0))[0]
    if width < _WIDE and fmt != "f16":
        return None
    return int.from_bytes(bytes([FRESH_BYTE]) * (width // 8), "big")
