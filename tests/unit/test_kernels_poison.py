from __future__ import annotations

import numpy as np
import pytest

from kernelcontracts.formats.arrays import bits, dtype_of
from kernelcontracts.kernels.poison import choose, fill, fresh_pattern, survives

FORMATS = ("f64", "f32", "f16", "bf16", "f8e4m3", "f8e5m2", "i64")


def filled(fmt, value, shape=(5,)):
    array = np.zeros(shape, dtype_of(fmt))
    fill(array, value)
    return array


@pytest.mark.parametrize("fmt", ["f64", "f32", "f16", "bf16", "f8e5m2"])
def test_poison_is_a_quiet_nan_that_arithmetic_does_not_make(fmt):
    with np.errstate(invalid="ignore"):
        made = (np.array([np.inf]) - np.inf).astype(dtype_of(fmt))
    for _ in range(50):
        array = filled(fmt, choose(fmt, [], nan=True))
        assert np.isnan(array.astype(np.float64)).all()
        assert not (bits(array) == bits(made)[0]).any()
        assert not (bits(array) == bits(-made)[0]).any()


@pytest.mark.parametrize("fmt", ["f64", "f32"])
def test_every_other_call_poisons_with_a_huge_number(fmt):
    for _ in range(50):
        array = filled(fmt, choose(fmt, [], nan=False))
        assert np.isfinite(array).all()
        assert (np.abs(array) >= np.finfo(array.dtype).max / 2).all()


@pytest.mark.parametrize("fmt", FORMATS)
def test_poison_is_never_what_an_input_of_the_format_holds(fmt):
    width = dtype_of(fmt).itemsize
    held = np.arange(250, dtype=f"u{width}").view(dtype_of(fmt))
    for nan in (True, False):
        value = choose(fmt, [held], nan=nan)
        assert value is None or not survives(held, value)


def test_inputs_that_hold_every_pattern_leave_no_poison():
    everything = np.arange(256, dtype=np.uint8).view(dtype_of("f8e4m3"))

    assert choose("f8e4m3", [everything], nan=True) is None


@pytest.mark.parametrize("fmt", FORMATS)
def test_one_element_left_alone_is_enough(fmt):
    value = choose(fmt, [], nan=True)
    array = filled(fmt, value, (3, 4)).T
    assert survives(array, value)
    array[...] = 0
    assert not survives(array, value)
    fill(array[1:2, 1:2], value)
    assert survives(array, value)


def test_poison_changes_from_call_to_call():
    assert len({choose("f32", [], nan=True) for _ in range(20)}) > 10


def test_fresh_memory_is_told_from_results_only_where_no_result_looks_like_it():
    assert fresh_pattern("f32") == 0x7D7D7D7D
    assert np.isnan(filled("f16", fresh_pattern("f16"))).all()
    assert fresh_pattern("bf16") is None
    assert fresh_pattern("i64") is None
