"""The one bridge between format names and arrays: dtypes, bit patterns, exact widening, exact storing.

numpy knows nothing of the dtypes of ml_dtypes beyond casting, so whatever depends on their bit
patterns goes through the unsigned views made here.
"""

from __future__ import annotations

from typing import Any, Final, TypeAlias

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from kernelcontracts.formats.facts import format_named

Floats: TypeAlias = NDArray[np.float64]
Bools: TypeAlias = NDArray[np.bool_]
Ints: TypeAlias = NDArray[np.int64]
AnyArray: TypeAlias = NDArray[Any]

_DTYPES: Final[dict[str, np.dtype[Any]]] = {
    "f64": np.dtype(np.float64),
    "f32": np.dtype(np.float32),
    "f16": np.dtype(np.float16),
    "bf16": np.dtype(ml_dtypes.bfloat16),
    "f8e4m3": np.dtype(ml_dtypes.float8_e4m3fn),
    "f8e5m2": np.dtype(ml_dtypes.float8_e5m2),
    "i64": np.dtype(np.int64),
}
_NAMES: Final = {dtype: name for name, dtype in _DTYPES.items()}


def dtype_of(format_name: str) -> np.dtype[Any]:
    """Return the dtype that stores `format_name` (or ``i64``).

    Raises
    ------
    KeyError
        If there is no such format.
    ValueError
        If the format has no storage (tf32).
    """
    if format_name in _DTYPES:
        return _DTYPES[format_name]
    format_named(format_name)
    raise ValueError(f"format `{format_name}` has no storage: hold its values in f32")


def format_of(dtype: Any) -> str:
    """Return the format name of a dtype.

    Raises
    ------
    KeyError
        If no format is stored in that dtype.
    """
    try:
        return _NAMES[np.dtype(dtype)]
    except (KeyError, TypeError):
        known = ", ".join(str(d) for d in _NAMES)
        raise KeyError(f"no format is stored as dtype `{dtype}`: use one of {known}") from None


def bits(array: AnyArray) -> NDArray[Any]:
    """Return the bit patterns as unsigned integers of the same width (a view where numpy allows one)."""
    return array.view(np.dtype(f"u{array.dtype.itemsize}"))


def from_bits(patterns: AnyArray, format_name: str) -> AnyArray:
    """Return the array of `format_name` whose bit patterns are `patterns` (any integer dtype).

    Raises
    ------
    ValueError
        If a pattern is wider than the format.
    """
    dtype = dtype_of(format_name)
    unsigned = np.dtype(f"u{dtype.itemsize}")
    narrowed = np.asarray(patterns).astype(unsigned)
    if not np.array_equal(narrowed, patterns):
        raise ValueError(f"a bit pattern does not fit the {8 * dtype.itemsize} bits of `{format_name}`")
    return narrowed.view(dtype)


def to_f64(array: AnyArray) -> Floats:
    """Widen an array of any format, or of integers, to f64 without changing a value.

    Raises
    ------
    ValueError
        If an integer is too large to be exact in f64.
    """
    # a signalling NaN may raise the invalid flag when it is widened; the value is NaN all the same
    with np.errstate(invalid="ignore"):
        wide = array.astype(np.float64)
    if array.dtype.kind in "iu" and not _integers_kept(array, wide):
        raise ValueError("an integer beyond 2^53 is not exact in f64: use smaller integers")
    return wide


def _integers_kept(array: AnyArray, wide: Floats) -> bool:
    # 2^63 itself would wrap round when cast back, so magnitude decides before the comparison
    return bool((np.abs(wide) <= 2.0**53).all()) and bool((wide.astype(array.dtype) == array).all())


def store(values: Floats, format_name: str) -> AnyArray:
    """Store f64 values that the format represents exactly.

    Rounding is not this function's business (`numerics.rounding.round_to` does it, once), so a
    value that would change is an error instead of a silent second rounding.

    Raises
    ------
    ValueError
        If a value is not representable; the message names the first.
    """
    dtype = dtype_of(format_name)
    wide = np.asarray(values, dtype=np.float64)
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        stored: AnyArray = wide.astype(dtype)
        back = stored.astype(np.float64)
    changed = (back != wide) & ~(np.isnan(back) & np.isnan(wide))
    if changed.any():
        first = float(np.atleast_1d(wide)[np.atleast_1d(changed)][0])
        raise ValueError(f"`{first!r}` is not a value of {format_name}: round it to the format first")
    return stored


def same_bits(a: AnyArray, b: AnyArray) -> Bools:
    """Tell elementwise whether two arrays of one dtype hold the same number.

    All NaN count as the same, whatever their payload and sign; the zeros of either sign do not.

    Raises
    ------
    ValueError
        If the dtypes differ.
    """
    if a.dtype != b.dtype:
        raise ValueError(f"bits of `{a.dtype}` and `{b.dtype}` cannot be compared: convert one first")
    same: Bools = bits(a) == bits(b)
    if a.dtype.kind in "iub":
        return same
    # the test of a signalling bf16 NaN raises the invalid flag
    with np.errstate(invalid="ignore"):
        return same | (np.isnan(a) & np.isnan(b))
