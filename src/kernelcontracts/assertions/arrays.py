"""Arrays of a user's framework, seen as NumPy arrays of a known format, bit for bit."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from kernelcontracts.formats.arrays import format_of, from_bits


def to_numpy(value: Any, name: str) -> np.ndarray[Any, Any]:
    """Return an array of the same bits.

    Parameters
    ----------
    value
        A NumPy array (ml_dtypes included), a torch tensor on any device, or anything ``numpy.asarray`` takes.
    name
        The argument's name, for messages.

    Raises
    ------
    TypeError
        If the value is no array of a format the contracts know.
    """
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(value, torch.Tensor):
        return _from_torch(value, torch)
    array = np.asarray(value)
    if array.dtype.kind not in "fViu":
        raise TypeError(f"`{name}` has dtype `{array.dtype}`; expected floating-point numbers, or 64-bit indices")
    return array


def _from_torch(tensor: Any, torch: Any) -> np.ndarray[Any, Any]:
    plain = tensor.detach().cpu().contiguous()
    names = {torch.bfloat16: "bf16", torch.float8_e4m3fn: "f8e4m3", torch.float8_e5m2: "f8e5m2"}
    if plain.dtype in names:
        # NumPy has no view of these; their bits travel as integers
        integers = plain.view(torch.int16 if plain.dtype is torch.bfloat16 else torch.uint8)
        width = np.uint16 if plain.dtype is torch.bfloat16 else np.uint8
        return np.asarray(from_bits(integers.numpy().view(width), names[plain.dtype]))
    return np.asarray(plain.numpy())


def format_name(array: np.ndarray[Any, Any], name: str) -> str:
    """Return the format of an array.

    Raises
    ------
    TypeError
        If its dtype is not one of the known formats.
    """
    if array.dtype == np.int64:
        return "i64"
    try:
        return str(format_of(array.dtype))
    except (KeyError, ValueError, TypeError) as error:
        raise TypeError(f"`{name}` has dtype `{array.dtype}`, which no contract knows") from error
