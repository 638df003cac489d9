"""The bridge between format names and arrays."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from kernelcontracts.formats.arrays import bits, dtype_of, format_of, from_bits, same_bits, store, to_f64
from kernelcontracts.formats.facts import FORMATS

STORED = [name for name, fmt in FORMATS.items() if fmt.storage_bits is not None]


@pytest.mark.parametrize("name", [*STORED, "i64"])
def test_names_and_dtypes_are_each_others_inverse(name):
    assert format_of(dtype_of(name)) == name


def test_what_has_no_storage_is_refused():
    with pytest.raises(ValueError, match="`tf32` has no storage: hold its values in f32"):
        dtype_of("tf32")
    with pytest.raises(KeyError, match="unknown format `f24`"):
        dtype_of("f24")
    with pytest.raises(KeyError, match="no format is stored as dtype"):
        format_of(np.complex64)


@pytest.mark.parametrize("name", ["f16", "bf16", "f8e4m3", "f8e5m2"])
def test_every_bit_pattern_survives_widening_and_storing(name):
    patterns = np.arange(1 << FORMATS[name].storage_bits)
    array = from_bits(patterns, name)
    assert np.array_equal(bits(array), patterns)
    assert same_bits(store(to_f64(array), name), array).all()


def test_a_pattern_that_is_too_wide_is_refused():
    with pytest.raises(ValueError, match="does not fit the 8 bits of `f8e4m3`"):
        from_bits(np.array([256]), "f8e4m3")


@pytest.mark.parametrize(
    ("value", "name"), [(1 + 2.0**-8, "bf16"), (480.0, "f8e4m3"), (1e39, "f32"), (np.inf, "f8e4m3")]
)
def test_storing_never_rounds(value, name):
    with pytest.raises(ValueError, match=f"is not a value of {name}"):
        store(np.array([1.0, value]), name)


def test_storing_keeps_the_sign_of_zero_and_nan():
    stored = store(np.array([-0.0, np.nan]), "bf16")
    assert stored.dtype == ml_dtypes.bfloat16
    assert np.signbit(stored[0])
    assert np.isnan(stored[1])


def test_the_same_bits_means_the_same_number_with_its_sign_of_zero():
    a = np.array([0.0, np.nan, 1.0], np.float32)
    b = np.array([-0.0, -np.nan, 1.0], np.float32)
    assert same_bits(a, b).tolist() == [False, True, True]
    with pytest.raises(ValueError, match="cannot be compared"):
        same_bits(a, b.astype(np.float64))


def test_integers_widen_only_while_exact():
    assert to_f64(np.array([2**53, -7])).tolist() == [2.0**53, -7.0]
    for integer in (2**53 + 1, 2**63 - 1):
        with pytest.raises(ValueError, match="beyond 2\\^53"):
            to_f64(np.array([integer]))
