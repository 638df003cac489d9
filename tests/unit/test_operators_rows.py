"""Emulated softmax and row gathers."""

from __future__ import annotations

import numpy as np
import pytest

from kernelcontracts.formats.arrays import bits, dtype_of, from_bits, to_f64
from kernelcontracts.lang.values import Choice
from kernelcontracts.operators.accumulate import arithmetic_of
from kernelcontracts.operators.defaults import DEFAULTS
from kernelcontracts.operators.emulate import OperatorRaised, emulate
from kernelcontracts.operators.softmax import exponential


def softmax(x, format_name="f32", **decisions):
    x = np.asarray(x, np.float32).astype(dtype_of(format_name))
    types = {"X": format_name, "Y": format_name}
    return to_f64(emulate("softmax", {"X": x}, types, decisions)["Y"])


def exact(x):
    shifted = np.exp(np.asarray(x, np.float64) - np.max(x, axis=-1, keepdims=True))
    return shifted / shifted.sum(axis=-1, keepdims=True)


@pytest.mark.parametrize("method", ["max_shift", "online_max_shift"])
@pytest.mark.parametrize("error", [1, 2, 16])
def test_a_stabilised_softmax_keeps_its_bound(method, error):
    x = np.random.default_rng(0).integers(-1000, 1001, (7, 333)) / 8.0
    y = softmax(x, stabilization=Choice(method), exp_ulp=error)
    reference, u, n = exact(x), 2.0**-24, 333
    # the contract's tolerance: a sum of N terms, exp of a rounded difference, one division, and for an online
    # kernel at most N rescalings
    rescales = n if method == "online_max_shift" else 0
    depth = x.max(axis=-1, keepdims=True) - x
    factor = 1.01 * (n + 4) + 2 * depth + 4 * error + np.log(n) + 4 + (2 * error + 2) * rescales
    assert (np.abs(y - reference) <= factor * u * reference + 2.0**-126).all()


def test_online_and_two_pass_agree_on_one_block():
    x = np.random.default_rng(1).standard_normal((3, 32))
    two_pass = softmax(x, stabilization=Choice("max_shift"))
    assert np.array_equal(two_pass, softmax(x, stabilization=Choice("online_max_shift")))


def test_without_a_shift_large_rows_are_not_numbers():
    assert np.isnan(softmax([[1000.0, 0.0]], stabilization=Choice("none"))).any()
    small = softmax([[1.0, 0.0]], stabilization=Choice("none"))
    np.testing.assert_allclose(small, exact([[1.0, 0.0]]), rtol=1e-6)


def test_clamping_makes_distant_rows_equal():
    assert softmax([[500.0, 400.0]], stabilization=Choice("clamp")).tolist() == [[0.5, 0.5]]


@pytest.mark.parametrize("accumulator", ["f32", "f16", "bf16"])
@pytest.mark.parametrize("error", [1, 3, 8])
def test_exponentials_are_off_by_no_more_units_than_declared(accumulator, error):
    decisions = {**DEFAULTS["softmax"], "accumulator": Choice(accumulator)}
    arithmetic = arithmetic_of(decisions, accumulator)
    x = to_f64(arithmetic.load(-np.arange(1, 40) / 8.0))
    got = to_f64(exponential(arithmetic.load(x), arithmetic, error=error))
    unit = 2.0 ** (np.floor(np.log2(np.exp(x))) - arithmetic.fmt.precision + 1)
    off = np.abs(got - np.exp(x)) / unit
    assert off.max() <= error
    if error > 1:
        assert off.max() > 1


@pytest.mark.parametrize("n", [1, 2, 31])
def test_equal_maxima_share_one_exactly_when_their_number_is_a_power_of_two(n):
    y = softmax(np.zeros((2, n)), exp_ulp=64)
    assert (y == np.float32(1) / np.float32(n)).all()


def gather(index, table=None, **decisions):
    table = np.arange(1, 13, dtype=np.float32).reshape(4, 3) if table is None else table
    types = {"table": "f32", "idx": "i64", "out": "f32"}
    inputs = {"table": table, "idx": np.array(index, np.int64)}
    return emulate("gather_rows", inputs, types, decisions)["out"]


def test_gathered_rows_keep_their_bits():
    patterns = np.array([[0x7FC00001, 0xFFC12345, 0x80000000]], np.uint32)
    out = gather([0, 0], from_bits(patterns, "f32"))
    assert np.array_equal(bits(out), np.repeat(patterns, 2, axis=0))


@pytest.mark.parametrize("index", [4, -1, 400, -400])
def test_an_index_out_of_bounds_raises_where_raise_is_declared(index):
    with pytest.raises(OperatorRaised, match=str(index)):
        gather([0, index])


def test_each_policy_fills_the_rows_out_of_bounds_in_its_own_way():
    assert gather([4, -1], oob_policy=Choice("CLAMP"))[:, 0].tolist() == [10.0, 1.0]
    assert gather([4, -1], oob_policy=Choice("ZERO")).tolist() == [[0.0] * 3] * 2
    garbage = gather([4, 0], oob_policy=Choice("UNDEFINED"))
    assert (bits(garbage[0]) == 0x5A5A5A5A).all()
    assert garbage[1].tolist() == [1.0, 2.0, 3.0]


def test_negative_indices_count_from_the_end_once_where_they_wrap():
    wrap = Choice("wrap")
    assert gather([-1, -4], negative_index=wrap)[:, 0].tolist() == [10.0, 1.0]
    with pytest.raises(OperatorRaised):
        gather([-5], negative_index=wrap)


@pytest.mark.parametrize("policy", ["RAISE", "CLAMP", "ZERO", "UNDEFINED"])
def test_no_index_gives_no_row(policy):
    assert gather([], oob_policy=Choice(policy)).shape == (0, 3)
