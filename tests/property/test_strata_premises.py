"""The battery's promises over arbitrary small shapes, formats and keys."""

from __future__ import annotations

from fractions import Fraction
from importlib.resources import files

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from kernelcontracts.formats.arrays import dtype_of, to_f64
from kernelcontracts.formats.facts import format_named
from kernelcontracts.lang.decl import Draw, Operator, Stratum
from kernelcontracts.lang.expr import Call, Name, Number
from kernelcontracts.lang.parse import parse
from kernelcontracts.lang.source import Source
from kernelcontracts.strata.bits import Words
from kernelcontracts.strata.draw import draw
from kernelcontracts.strata.errors import NotApplicable
from kernelcontracts.strata.structure import contraction

TEXT = (files("kernelcontracts") / "library" / "ops" / "accumulations.kc").read_text(encoding="utf-8")
OPERATORS = {d.name: d for d in parse(Source("ops", TEXT)).file.declarations if isinstance(d, Operator)}
MATMUL, SUM = OPERATORS["matmul"], OPERATORS["reduce_sum"]

SIZES = st.integers(0, 6)
BATCH = st.lists(st.integers(0, 3), max_size=2).map(tuple)
INPUT = st.sampled_from(["f32", "f16", "bf16", "f8e4m3", "f8e5m2"])
OUTPUT = st.sampled_from(["f32", "f16", "bf16"])
# `subnormal_out` subtracts two numbers of eight bits from one binade, which is exact (Sterbenz) in eight
BITS = {"wide": 24, "graded": 24, "cancel": 24, "sticky": 24, "identity": 24, "subnormal_in": 8, "subnormal_out": 9}
NAMES = st.sampled_from(["ints", *BITS, "ties"])


def call(name, bits, tensor):
    if name == "ints":
        return Call(name, (Number(Fraction(bits)),))
    return Call(name, (Name(tensor),) if name == "identity" else ())


def exact_terms(found, inputs, shape):
    """Return all products as rationals, a list of terms for every output."""
    left = found.take_lhs(to_f64(inputs[found.lhs]), shape)
    batch, _, reduced, columns = found.sizes(shape)
    right = np.ones((batch, reduced, columns))
    if found.rhs:
        right = found.take_rhs(to_f64(inputs[found.rhs]), shape)
    return [
        [Fraction(float(x)) * Fraction(float(y)) for x, y in zip(row, column, strict=True)]
        for a, b in zip(left, right, strict=True)
        for row in a
        for column in b.T
    ]


def unit(terms):
    """Return the largest power of two that divides every term."""
    return min(Fraction(t.numerator & -t.numerator, t.denominator) for t in terms if t)


def check(operator, name, bits, types, shape, key):
    found = contraction(operator)
    names = tuple(p.name for p in operator.inputs)
    formats = dict(zip([*names, operator.outputs[0].name], types, strict=True))
    stratum = Stratum("s", (Draw(names, call(name, bits, names[-1])),))
    try:
        inputs = draw(stratum, operator=operator, shape=shape, types=formats, key=key)
    except NotApplicable:
        return
    out = format_named(types[-1])
    limit = bits if name == "ints" else BITS.get(name, out.precision + 1)
    for tensor in names:
        assert inputs[tensor].dtype == dtype_of(formats[tensor])
    for terms in exact_terms(found, inputs, shape):
        if not any(terms):
            continue
        assert sum(map(abs, terms)) <= 2**limit * unit(terms)
        assert sum(map(abs, terms)) <= out.maxfinite / 4
        result = abs(sum(terms))
        if name == "subnormal_out":
            assert 0 < result < out.minnormal
        else:
            assert result == 0 or result >= out.minnormal


@settings(deadline=None, max_examples=150)
@given(NAMES, st.integers(4, 24), st.tuples(INPUT, INPUT, OUTPUT), BATCH, SIZES, SIZES, SIZES, st.binary(max_size=4))
def test_the_premise_holds_for_products_of_any_shape(name, bits, types, batch, m, n, k, key):
    check(MATMUL, name, bits, types, {"L": batch, "M": m, "N": n, "K": k}, key)


@settings(deadline=None, max_examples=100)
@given(NAMES, st.integers(4, 24), st.tuples(INPUT, OUTPUT), BATCH, SIZES, st.binary(max_size=4))
def test_the_premise_holds_for_sums_of_any_shape(name, bits, types, batch, n, key):
    check(SUM, name, bits, types, {"L": batch, "N": n}, key)


@settings(deadline=None, max_examples=60)
@given(
    st.sampled_from(["two_terms", "ladder", "swamp"]),
    st.tuples(INPUT, INPUT, OUTPUT),
    st.integers(1, 5),
    st.integers(1, 9),
    st.binary(max_size=4),
)
def test_strata_beyond_the_theorem_keep_headroom_and_normal_results(name, types, m, k, key):
    found = contraction(MATMUL)
    generator = Call(name, (Number(Fraction(11)),) if name == "swamp" else ())
    stratum = Stratum("s", (Draw(("A", "B"), generator),))
    shape = {"L": (), "M": m, "N": 3, "K": k}
    formats = dict(zip("ABC", types, strict=True))
    try:
        inputs = draw(stratum, operator=MATMUL, shape=shape, types=formats, key=key)
    except NotApplicable:
        return
    out = format_named(types[-1])
    for terms in exact_terms(found, inputs, shape):
        assert sum(map(abs, terms)) <= out.maxfinite / 4
        assert abs(sum(terms)) >= out.minnormal


@settings(deadline=None, max_examples=60)
@given(st.integers(-(10**6), 10**6), st.integers(0, 10**6), st.integers(0, 40), st.binary(max_size=4))
def test_integers_stay_in_their_closed_range(low, extent, count, key):
    drawn = Words(key).integers("i", low, low + extent, (count,))
    assert drawn.shape == (count,)
    assert ((drawn >= low) & (drawn <= low + extent)).all()


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 5), st.integers(0, 40), st.binary(max_size=4))
def test_permutations_hold_every_member_once(count, length, key):
    drawn = Words(key).permutations("p", count, length)
    assert np.array_equal(np.sort(drawn, axis=1), np.tile(np.arange(length), (count, 1)))


@settings(deadline=None, max_examples=60)
@given(st.integers(1, 5), st.integers(0, 12), st.data(), st.binary(max_size=4))
def test_distinct_picks_never_meet(count, length, data, key):
    size = data.draw(st.integers(0, length))
    drawn = Words(key).distinct("d", count, length, size)
    assert drawn.shape == (count, size)
    assert all(len(set(row)) == size and set(row) <= set(range(length)) for row in drawn.tolist())
