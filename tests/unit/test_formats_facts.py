"""The formats' numbers, against the tables of their specifications and against numpy."""

from __future__ import annotations

from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest

from kernelcontracts.formats import arrays, facts
from kernelcontracts.formats.facts import FORMATS, accumulator_format, format_named

TWO = Fraction(2)


def test_the_8_bit_formats_have_the_values_of_the_ocp_specification():
    e4m3, e5m2 = format_named("f8e4m3"), format_named("f8e5m2")
    assert (e4m3.maxfinite, e4m3.minnormal, e4m3.minsub) == (448, TWO**-6, TWO**-9)
    assert (e5m2.maxfinite, e5m2.minnormal, e5m2.minsub) == (57344, TWO**-14, TWO**-16)
    assert (e4m3.has_inf, e5m2.has_inf) == (False, True)


@pytest.mark.parametrize("name", [name for name in FORMATS if name != "tf32"])
def test_a_stored_format_agrees_with_the_finfo_of_its_dtype(name):
    fmt, info = FORMATS[name], ml_dtypes.finfo(arrays.dtype_of(name))
    assert Fraction(float(info.max)) == fmt.maxfinite
    assert Fraction(float(info.smallest_normal)) == fmt.minnormal
    assert Fraction(float(info.smallest_subnormal)) == fmt.minsub
    assert Fraction(float(info.eps)) == fmt.eps
    assert fmt.storage_bits == 8 * arrays.dtype_of(name).itemsize


def test_tf32_has_the_range_of_f32_and_the_precision_of_f16():
    tf32 = format_named("tf32")
    assert (tf32.precision, tf32.emin, tf32.storage_bits) == (11, -126, None)


def test_the_unit_roundoff_doubles_when_truncating():
    f32 = format_named("f32")
    assert f32.unit_roundoff() == TWO**-24
    assert f32.unit_roundoff("rz") == TWO**-23
    with pytest.raises(ValueError, match="unknown rounding mode `up`"):
        f32.unit_roundoff("up")


def test_an_accumulator_keeps_its_fraction_bits_over_the_range_of_its_format():
    narrow = accumulator_format("f32", 13)
    assert (narrow.precision, narrow.emin, narrow.emax) == (14, -126, 127)
    assert narrow.maxfinite == (2 - TWO**-13) * TWO**127
    assert accumulator_format("f32", 23) is facts.F32
    assert accumulator_format("bf16") is facts.BF16


def test_unknown_names_and_widths_are_refused_with_what_to_use_instead():
    with pytest.raises(KeyError, match="unknown format `fp32`: use one of f64, f32"):
        format_named("fp32")
    with pytest.raises(ValueError, match="width `53` is out of range: use 1 to 52"):
        accumulator_format("f32", 53)
    with pytest.raises(ValueError, match="width `0`"):
        accumulator_format("f32", 0)


def test_every_fact_about_a_format_is_exact():
    for fmt in FORMATS.values():
        facts_ = (fmt.maxfinite, fmt.minnormal, fmt.minsub, fmt.eps, fmt.unit_roundoff())
        assert all(isinstance(value, Fraction) for value in facts_)
        assert all(Fraction(float(value)) == value for value in facts_)
        assert np.isfinite(float(fmt.maxfinite))
