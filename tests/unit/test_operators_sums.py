"""Emulated products and sums against a model in exact rationals, one operation at a time."""

from __future__ import annotations

import time
from fractions import Fraction

import numpy as np
import pytest

from kernelcontracts.formats.arrays import dtype_of, store, to_f64
from kernelcontracts.formats.facts import accumulator_format, format_named
from kernelcontracts.lang.decisions import add_depth
from kernelcontracts.lang.values import Choice
from kernelcontracts.numerics.rounding import round_fraction, round_to
from kernelcontracts.operators.emulate import emulate
from kernelcontracts.operators.orders import PADDING, schedule

PAIRWISE = Choice("pairwise", (4,))
ORDERS = (
    PAIRWISE,
    Choice("pairwise", (1,)),
    Choice("blocked", (3,)),
    Choice("lanes", (4,)),
    Choice("sequential"),
)
STRICT = {"determinism": Choice("cross_shape")}


def wide_values(rng, shape, format_name):
    """Values over many binades, so that roundings, truncations and absorptions all happen."""
    fmt = format_named(format_name)
    span = min(fmt.emax // 2, 20)
    raw = rng.standard_normal(shape) * 2.0 ** rng.integers(-span, span // 4 + 1, shape)
    return store(round_to(raw, fmt, "rne"), format_name)


def tree_sum(terms, order, add):
    """Add exact terms along the schedule of an order, one scalar at a time."""
    plan = schedule(order, len(terms))
    sums = []
    for column in plan.steps.T:
        total = None
        for k in column:
            if k != PADDING:
                total = terms[k] if total is None else add(total, terms[k])
        sums.append(Fraction(0) if total is None else total)
    while plan.combine == "halving" and len(sums) > 1:
        sums = [add(a, b) for a, b in zip(sums[0::2], sums[1::2], strict=True)]
    total = sums[0]
    for other in sums[1:]:
        total = add(total, other)
    return total


def model_matmul(a, b, decisions, out):
    acc, mode = decisions["accumulator"], decisions["acc_rounding"].name
    fmt = accumulator_format(acc.name, acc.field("width"))

    def fit(q):
        return Fraction(round_fraction(q, fmt, mode))

    c = np.zeros((a.shape[0], b.shape[1]))
    for m, n in np.ndindex(*c.shape):
        pairs = zip(a[m], b[:, n], strict=True)
        terms = [fit(Fraction(float(x)) * Fraction(float(y))) for x, y in pairs]
        total = tree_sum(terms, decisions["reduction_order"], lambda s, t: fit(s + t))
        c[m, n] = round_fraction(total, format_named(out), "rne")
    return c


@pytest.mark.parametrize("order", ORDERS, ids=str)
@pytest.mark.parametrize("mode", ["rne", "rz"])
@pytest.mark.parametrize(
    ("accumulator", "inputs", "out"),
    [
        (Choice("f32"), "f32", "f32"),
        (Choice("f32"), "bf16", "bf16"),
        (Choice("f16"), "f32", "f32"),
        (Choice("bf16"), "f16", "f32"),
        (Choice("tf32"), "f32", "f16"),
        (Choice("f64"), "f32", "f64"),
        (Choice("f32"), "f64", "f32"),
        (Choice("f64"), "f64", "f64"),
        (Choice("f32", (), (("width", 13),)), "f8e4m3", "f32"),
    ],
    ids=str,
)
def test_every_operation_of_a_product_is_rounded_exactly_once(accumulator, inputs, out, mode, order):
    rng = np.random.default_rng(5)
    a, b = wide_values(rng, (3, 11), inputs), wide_values(rng, (11, 2), inputs)
    decisions = STRICT | {
        "accumulator": accumulator,
        "acc_rounding": Choice(mode),
        "reduction_order": order,
    }
    types = {"A": inputs, "B": inputs, "C": out}
    got = emulate("matmul", {"A": a, "B": b}, types, decisions)["C"]
    assert got.dtype == dtype_of(out)
    expected = model_matmul(to_f64(a), to_f64(b), decisions, out)
    np.testing.assert_array_equal(to_f64(got), expected)


@pytest.mark.parametrize("order", ORDERS, ids=str)
@pytest.mark.parametrize("accumulator", ["f64", "f32", "tf32", "bf16"])
def test_every_addition_of_a_sum_is_rounded_exactly_once(accumulator, order):
    x = wide_values(np.random.default_rng(3), (5, 23), "f32")
    fmt = format_named(accumulator)
    decisions = STRICT | {"accumulator": Choice(accumulator), "reduction_order": order}
    got = emulate("reduce_sum", {"X": x}, {"X": "f32", "S": "f64"}, decisions)["S"]
    for row, value in zip(to_f64(x), got, strict=True):
        terms = [Fraction(round_fraction(Fraction(float(t)), fmt, "rne")) for t in row]
        total = tree_sum(terms, order, lambda s, t: Fraction(round_fraction(s + t, fmt, "rne")))
        assert value == float(total)


@pytest.mark.parametrize(
    "order",
    [
        *ORDERS,
        Choice("pairwise", (8,)),
        Choice("pairwise", (128,)),
        Choice("blocked", (64,)),
        Choice("lanes", (7,)),
        Choice("unordered"),
    ],
    ids=str,
)
def test_no_tree_is_deeper_than_its_order_declares(order):
    for terms in (*range(1, 70), 127, 128, 129, 333, 1000, 1024, 4096, 4097):
        plan = schedule(order, terms)
        assert plan.depth <= add_depth(order, terms)
        taken = np.sort(plan.steps[plan.steps != PADDING])
        assert np.array_equal(taken, np.arange(terms))


@pytest.mark.parametrize("rounding", ["to(tf32)", "to(bf16)"])
def test_a_cast_of_operands_is_seen_in_a_single_product(rounding):
    to = Choice("to", (rounding[3:-1],))
    fmt = format_named(rounding[3:-1])
    x = np.float32(1 + 2.0**-fmt.precision + 2.0**-20).reshape(1, 1)
    one = np.ones((1, 1), np.float32)
    types = {"A": "f32", "B": "f32", "C": "f32"}
    got = emulate("matmul", {"A": x, "B": one}, types, {"operand_rounding": to})["C"]
    assert got[0, 0] == 1 + 2.0 ** (1 - fmt.precision)
    assert emulate("matmul", {"A": x, "B": one}, types, {})["C"][0, 0] == x[0, 0]


def test_six_bf16_products_stand_for_one_f32_product():
    rng = np.random.default_rng(8)
    a = rng.standard_normal((40, 1)).astype(np.float32)
    b = rng.standard_normal((1, 40)).astype(np.float32)
    decisions = {"operand_rounding": Choice("split", ("bf16", 3)), "accumulator": Choice("f64")}
    types = {"A": "f32", "B": "f32", "C": "f64"}
    got = emulate("matmul", {"A": a, "B": b}, types, decisions)["C"]
    exact = a.astype(np.float64) * b
    # of nine products three are left out; each is below 2^-24 of the whole, and nothing else is lost
    error = np.abs(got - exact) / np.abs(exact)
    assert 0 < error.max() < 4 * 2.0**-24


def test_subnormal_operands_are_zeros_where_they_are_declared_flushed():
    tiny, big = np.float32(2.0**-130), np.float32(2.0**100)
    inputs = {"A": np.array([[tiny]]), "B": np.array([[big]])}
    types = {"A": "f32", "B": "f32", "C": "f32"}
    assert emulate("matmul", inputs, types, {})["C"][0, 0] == 2.0**-30
    flushed = emulate("matmul", inputs, types, {"daz_in": Choice("flush")})
    assert flushed["C"][0, 0] == 0


@pytest.mark.parametrize("out", ["f32", "f16", "bf16"])
def test_subnormal_results_are_zeros_where_they_are_declared_flushed(out):
    half = float(format_named(out).minnormal) / 2
    inputs = {"A": np.array([[half * 2**10]], np.float32), "B": np.array([[2.0**-10]], np.float32)}
    types = {"A": "f32", "B": "f32", "C": out}
    assert float(emulate("matmul", inputs, types, {})["C"][0, 0]) == half
    flushed = emulate("matmul", inputs, types, {"ftz_out": Choice("flush")})
    assert float(flushed["C"][0, 0]) == 0


def gauss(shape, seed=1):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def product(rows, decisions, *, call=0):
    inputs = {"A": gauss((33, 257))[:rows], "B": gauss((257, 5), 2)}
    types = {"A": "f32", "B": "f32", "C": "f32"}
    return emulate("matmul", inputs, types, decisions, call=call)["C"]


@pytest.mark.parametrize("word", ["cross_device", "cross_shape", "bitwise"])
def test_reruns_agree_where_results_are_declared_bitwise_or_better(word):
    decisions = {"determinism": Choice(word)}
    assert np.array_equal(product(33, decisions, call=0), product(33, decisions, call=7))


@pytest.mark.parametrize("word", ["run_to_run", "none"])
def test_reruns_differ_where_they_may(word):
    decisions = {"determinism": Choice(word)}
    assert not np.array_equal(product(33, decisions, call=0), product(33, decisions, call=1))


def test_rows_do_not_depend_on_their_neighbours_where_shapes_are_declared_not_to_matter():
    decisions = {"determinism": Choice("cross_shape")}
    assert np.array_equal(product(33, decisions)[:11], product(11, decisions))


def test_rows_depend_on_their_number_where_only_reruns_are_declared_equal():
    decisions = {"determinism": Choice("bitwise")}
    assert not np.array_equal(product(33, decisions)[:11], product(11, decisions))


def test_leading_dimensions_are_separate_products():
    a, b = gauss((2, 3, 4, 9)), gauss((2, 3, 9, 5), 2)
    types = {"A": "f32", "B": "f32", "C": "f32"}
    whole = emulate("matmul", {"A": a, "B": b}, types, STRICT)["C"]
    part = emulate("matmul", {"A": a[1, 2], "B": b[1, 2]}, types, STRICT)["C"]
    assert whole.shape == (2, 3, 4, 5)
    assert np.array_equal(whole[1, 2], part)


@pytest.mark.parametrize("shape", [(3, 0), (0, 4), (2, 0, 5)])
def test_an_empty_sum_is_zero(shape):
    x = np.zeros(shape, np.float32)
    s = emulate("reduce_sum", {"X": x}, {"X": "f32", "S": "f32"}, {})["S"]
    assert s.shape == shape[:-1]
    assert not s.any()


def test_infinities_and_nan_pass_through_a_truncating_accumulator():
    x = np.array([[np.inf, 1.0], [np.nan, 1.0], [np.inf, -np.inf]], np.float32)
    decisions = {"acc_rounding": Choice("rz")}
    s = emulate("reduce_sum", {"X": x}, {"X": "f32", "S": "f32"}, decisions)["S"]
    assert s[0] == np.inf
    assert np.isnan(s[1:]).all()


def test_a_multiply_add_rounds_once_where_mul_and_add_round_twice():
    from kernelcontracts.operators.defaults import DEFAULTS
    from kernelcontracts.operators.sums import matmul

    # (1 + e)^2 - (1 + 2e) = e^2 for e = 2^-12, lost when the square is rounded to 24 bits
    e = 2.0**-12
    inputs = {
        "A": np.array([[-(1 + 2 * e), 1 + e]], np.float32),
        "B": np.array([[1], [1 + e]], np.float32),
    }
    types = {"A": "f32", "B": "f32", "C": "f32"}
    separate = matmul(inputs, types, DEFAULTS["matmul"])["C"][0, 0]
    fused = matmul(inputs, types, DEFAULTS["matmul"], fma=True)["C"][0, 0]
    assert (separate, fused) == (0.0, e * e)


def test_a_large_product_in_f16_takes_less_than_a_few_seconds():
    inputs = {"A": gauss((17, 4096)), "B": gauss((4096, 24), 2)}
    types = {"A": "f32", "B": "f32", "C": "f32"}
    start = time.perf_counter()
    emulate("matmul", inputs, types, {"accumulator": Choice("f16")})
    # 0.2 s on an idle core; the limit leaves room for a busy machine and still forbids scalar loops
    assert time.perf_counter() - start < 5


@pytest.mark.parametrize(
    ("operator", "decisions", "word"),
    [
        ("conv", {}, "conv"),
        ("matmul", {"exp_ulp": 1}, "exp_ulp"),
        ("matmul", {"reduction_order": Choice("spiral")}, "spiral"),
        ("matmul", {"reduction_order": Choice("pairwise")}, "pairwise"),
        ("matmul", {"acc_rounding": Choice("up")}, "up"),
        ("matmul", {"accumulator": Choice("f32", (), (("block", 4),))}, "block"),
        ("matmul", {"accumulator": 3}, "accumulator"),
        ("matmul", {"operand_rounding": Choice("split", ("bf16", 2))}, "split"),
    ],
)
def test_what_cannot_be_emulated_is_named(operator, decisions, word):
    inputs = {"A": gauss((2, 3)), "B": gauss((3, 2))}
    with pytest.raises(ValueError, match=word):
        emulate(operator, inputs, {"A": "f32", "B": "f32", "C": "f32"}, decisions)
