"""Tensors in evidence as plain bytes: encoding, checked decoding, the numbers they stand for."""

from __future__ import annotations

import math
import struct
import sys

from kernelcontracts.trace.schema import Bits

ITEM_BYTES = {"f64": 8, "f32": 4, "f16": 2, "bf16": 2, "f8e4m3": 1, "f8e5m2": 1, "i64": 8}
"""Bytes an element of each format that has a storage."""

_STRUCT = {"f64": "d", "f32": "f", "f16": "e", "i64": "q"}


class BitsError(ValueError):
    """Stored bits that do not fit their format and shape. The message says what would fit."""


def encode(data: bytes, *, fmt: str, shape: tuple[int, ...], byteorder: str = sys.byteorder) -> Bits:
    """Wrap a tensor's bytes.

    Parameters
    ----------
    data
        The elements in C order, in the memory layout of `byteorder`.
    fmt
        A storage format: f64, f32, f16, bf16, f8e4m3, f8e5m2 or i64.
    byteorder
        ``little`` or ``big``; this machine's by default.

    Raises
    ------
    BitsError
        If the format has no storage or the length is not that of the shape.
    """
    size = _expected(fmt, shape)
    if len(data) != size:
        raise BitsError(f"`{len(data)}` bytes for {fmt}{list(shape)}; expected {size}")
    little = data if byteorder == "little" else _swapped(data, ITEM_BYTES[fmt])
    return Bits(fmt, tuple(shape), little.hex())


def decode(bits: Bits, *, byteorder: str = sys.byteorder) -> bytes:
    """Return the tensor's bytes in C order, in the memory layout of `byteorder`.

    Raises
    ------
    BitsError
        If the text is not hex, the format has no storage, or the length is not that of the shape.
    """
    size = _expected(bits.format, bits.shape)
    try:
        data = bytes.fromhex(bits.bits)
    except ValueError:
        raise BitsError(f"`{bits.bits[:24]}` is not hex; expected {size} bytes as hex") from None
    if len(data) != size:
        raise BitsError(f"`{len(data)}` bytes for {bits.format}{list(bits.shape)}; expected {size}")
    return data if byteorder == "little" else _swapped(data, ITEM_BYTES[bits.format])


def elements(bits: Bits) -> tuple[float | int, ...]:
    """Return the numbers in C order. Each is exact: every format here is a subset of f64, or i64.

    Raises
    ------
    BitsError
        As `decode`.
    """
    data = decode(bits, byteorder="little")
    if bits.format in _STRUCT:
        count = len(data) // ITEM_BYTES[bits.format]
        return struct.unpack(f"<{count}{_STRUCT[bits.format]}", data)
    if bits.format == "f8e4m3":
        return tuple(_e4m3(byte) for byte in data)
    return _truncated(bits.format, data)


def words(bits: Bits) -> tuple[str, ...]:
    """Return each element's bits as one hexadecimal integer, such as ``0x3f800000``.

    Raises
    ------
    BitsError
        As `decode`.
    """
    data, item = decode(bits, byteorder="little"), ITEM_BYTES[bits.format]
    parts = (data[at : at + item] for at in range(0, len(data), item))
    return tuple(f"0x{int.from_bytes(part, 'little'):0{2 * item}x}" for part in parts)


def _expected(fmt: str, shape: tuple[int, ...]) -> int:
    if fmt not in ITEM_BYTES:
        raise BitsError(f"`{fmt}` has no storage; expected one of {', '.join(ITEM_BYTES)}")
    if any(size < 0 for size in shape):
        raise BitsError(f"`{list(shape)}` is not a shape; sizes are not negative")
    return math.prod(shape) * ITEM_BYTES[fmt]


def _swapped(data: bytes, item: int) -> bytes:
    return b"".join(data[at : at + item][::-1] for at in range(0, len(data), item))


def _truncated(fmt: str, data: bytes) -> tuple[float, ...]:
    """Read bf16 as the upper half of an f32, and e5m2 of an f16, which they are."""
    item, wide = (2, "f") if fmt == "bf16" else (1, "e")
    padded = b"".join(bytes(item) + data[at : at + item] for at in range(0, len(data), item))
    return struct.unpack(f"<{len(data) // item}{wide}", padded)


def _e4m3(byte: int) -> float:
    """Read E4M3 (OCP OFP8 rev. 1.0, table 1): bias 7, no infinities, NaN where all bits are set."""
    sign = -1.0 if byte & 0x80 else 1.0
    exponent, fraction = (byte >> 3) & 0xF, byte & 0x7
    if byte & 0x7F == 0x7F:
        return math.nan
    if exponent == 0:
        return sign * math.ldexp(fraction, -9)
    return sign * math.ldexp(8 + fraction, exponent - 10)
