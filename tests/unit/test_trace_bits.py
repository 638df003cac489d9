from __future__ import annotations

import math

import ml_dtypes
import numpy as np
import pytest

from kernelcontracts.trace.bits import BitsError, decode, elements, encode, words
from kernelcontracts.trace.schema import Bits

DTYPES = {
    "f64": np.dtype("<f8"),
    "f32": np.dtype("<f4"),
    "f16": np.dtype("<f2"),
    "bf16": np.dtype(ml_dtypes.bfloat16),
    "f8e4m3": np.dtype(ml_dtypes.float8_e4m3fn),
    "f8e5m2": np.dtype(ml_dtypes.float8_e5m2),
    "i64": np.dtype("<i8"),
}


def patterns(fmt):
    """Every bit pattern of the narrow formats, and edges with a sweep of the wide ones."""
    item = DTYPES[fmt].itemsize
    if item <= 2:
        return np.arange(2 ** (8 * item), dtype=f"<u{item}")
    step = (2 ** (8 * item) - 1) // 5001
    sweep = np.arange(5001, dtype=f"<u{item}") * np.array(step, dtype=f"<u{item}")
    top = np.array([0, 1, 2 ** (8 * item - 1), 2 ** (8 * item) - 1], dtype=f"<u{item}")
    return np.concatenate([sweep, top])


@pytest.mark.parametrize("fmt", DTYPES)
def test_elements_are_the_numbers_that_the_formats_mean(fmt):
    raw = patterns(fmt)
    found = elements(encode(raw.tobytes(), fmt=fmt, shape=raw.shape, byteorder="little"))

    with np.errstate(invalid="ignore"):
        expected = raw.view(DTYPES[fmt])
        expected = expected.tolist() if fmt == "i64" else expected.astype("f8").tolist()
    for value, meant in zip(found, expected, strict=True):
        assert (math.isnan(value) and math.isnan(meant)) or (
            value == meant and math.copysign(1, value) == math.copysign(1, meant)
        )


@pytest.mark.parametrize("fmt", DTYPES)
def test_bytes_come_back_as_they_went_in(fmt):
    raw = patterns(fmt).tobytes()
    count = len(raw) // DTYPES[fmt].itemsize

    for order in ("little", "big"):
        assert decode(encode(raw, fmt=fmt, shape=(count,), byteorder=order), byteorder=order) == raw


def test_a_big_endian_machine_stores_the_same_text():
    little = encode(b"\x00\x00\x80\x3f\x00\x00\x00\x40", fmt="f32", shape=(2,), byteorder="little")
    big = encode(b"\x3f\x80\x00\x00\x40\x00\x00\x00", fmt="f32", shape=(2,), byteorder="big")

    assert little == big == Bits("f32", (2,), "0000803f00000040")
    assert elements(big) == (1.0, 2.0)
    assert words(big) == ("0x3f800000", "0x40000000")


def test_a_scalar_and_an_empty_tensor_have_one_and_no_element():
    assert elements(encode(b"\x80\x3f", fmt="bf16", shape=(), byteorder="little")) == (1.0,)
    assert elements(encode(b"", fmt="bf16", shape=(0, 4))) == ()


def test_a_format_without_storage_is_refused_by_name():
    with pytest.raises(BitsError, match="`tf32` has no storage; expected one of f64, f32"):
        encode(b"", fmt="tf32", shape=(0,))


@pytest.mark.parametrize(
    ("bits", "message"),
    [
        (Bits("f32", (2,), "0000803f"), r"`4` bytes for f32\[2\]; expected 8"),
        (Bits("f32", (1,), "zz00803f"), "`zz00803f` is not hex; expected 4 bytes"),
        (Bits("f32", (1,), "0000803"), "is not hex"),
        (Bits("f32", (-1,), ""), r"`\[-1\]` is not a shape"),
    ],
)
def test_stored_bits_that_do_not_fit_are_refused_with_what_would(bits, message):
    with pytest.raises(BitsError, match=message):
        elements(bits)


def test_bytes_of_the_wrong_length_are_not_stored():
    with pytest.raises(BitsError, match=r"`3` bytes for f16\[2\]; expected 4"):
        encode(b"abc", fmt="f16", shape=(2,))
