"""The exact battery: premises of the exactness theorem, headroom, and that kernels behave as the docs say."""

from __future__ import annotations

import hashlib
from fractions import Fraction
from functools import cache
from importlib.resources import files
from itertools import product

import numpy as np
import pytest

from kernelcontracts.formats.arrays import dtype_of, to_f64
from kernelcontracts.formats.facts import accumulator_format, format_named
from kernelcontracts.lang.decl import Draw, Operator, Stratum
from kernelcontracts.lang.expr import Call, Name, Number
from kernelcontracts.lang.parse import parse
from kernelcontracts.lang.source import Source
from kernelcontracts.numerics.lattice import exact_dot_premise, exact_sum_premise
from kernelcontracts.numerics.rounding import representable, round_fraction, round_to
from kernelcontracts.strata.draw import draw
from kernelcontracts.strata.errors import NotApplicable
from kernelcontracts.strata.structure import contraction

INPUTS = ("f32", "f16", "bf16", "f8e4m3", "f8e5m2")
OUTPUTS = ("f32", "f16", "bf16")
PAIRS = [*((f, f) for f in INPUTS), ("f32", "f8e4m3"), ("f8e5m2", "f8e4m3")]
OTHERS = ("two_terms", "ladder", "swamp24", "swamp11", "subnormal_in", "subnormal_out")
EXACT = ("ints24", "ints11", "ints8", "wide", "graded", "cancel", "ties", "sticky", "identity_a", "identity_b")
ALL = (*EXACT, *OTHERS)


def shipped():
    text = (files("kernelcontracts") / "library" / "ops" / "accumulations.kc").read_text(encoding="utf-8")
    return {d.name: d for d in parse(Source("ops", text)).file.declarations if isinstance(d, Operator)}


OPERATORS = shipped()
MATMUL, SUM = OPERATORS["matmul"], OPERATORS["reduce_sum"]


def generator(name):
    """``ints24`` is ``ints(24)``, ``identity_b`` is ``identity(B)``."""
    base = name.rstrip("0123456789")
    if base != name:
        return Call(base, (Number(Fraction(int(name[len(base) :]))),))
    if name.startswith("identity_"):
        return Call("identity", (Name(name[-1].upper()),))
    return Call(name)


class Drawn:
    """A drawn problem as exact binary64 factors, with what its formats allow."""

    def __init__(self, operator, name, types, shape, key=b"key"):
        found = contraction(operator)
        names = tuple(p.name for p in operator.inputs)
        spelt = generator("identity_x" if operator is SUM and name == "identity_a" else name)
        stratum = Stratum(name, (Draw(names, spelt),))
        self.types = dict(zip([*names, operator.outputs[0].name], types, strict=True))
        self.inputs = draw(stratum, operator=operator, shape=shape, types=self.types, key=key)
        self.a = found.take_lhs(to_f64(self.inputs[found.lhs]), shape)
        batch, _, reduced, columns = found.sizes(shape)
        self.b = np.ones((batch, reduced, columns))
        self.formats = [format_named(self.types[found.lhs])]
        self.factors = [self.a]
        if found.rhs:
            self.b = found.take_rhs(to_f64(self.inputs[found.rhs]), shape)
            self.formats.append(format_named(self.types[found.rhs]))
            self.factors.append(self.b)
        self.out = format_named(types[-1])

    def products(self):
        """All products, (batch, rows, reduced, columns): exact, since significands multiply to 48 bits at most."""
        return self.a[:, :, :, None] * self.b[:, None, :, :]

    def units(self):
        """Products as integers of their outputs' own units, and the units' exponents."""
        p = self.products()
        low = lowest(p)
        g = low.min(axis=2, keepdims=True)
        return np.ldexp(p, -np.minimum(g, 2000)), g[:, :, 0, :]

    def results(self):
        """Return the exact results in binary64: sums of integers far below 2**53, scaled."""
        whole, g = self.units()
        total = whole.sum(axis=2)
        return np.where(total == 0, 0.0, np.ldexp(total, np.minimum(g, 1000)))

    def exact(self):
        """Return the exact results as rationals, term by term."""
        a, b = fractions(self.a), fractions(self.b)
        return [
            [
                [
                    sum((x * y for x, y in zip(row, column, strict=True)), Fraction(0))
                    for column in zip(*bb, strict=True)
                ]
                for row in aa
            ]
            for aa, bb in zip(a, b, strict=True)
        ]


def fractions(array):
    return [[[Fraction(float(x)) for x in row] for row in matrix] for matrix in array]


def lowest(x):
    """Return the exponent of the lowest set bit; 5000 for zero."""
    mantissa, exponent = np.frexp(x)
    whole = np.abs(np.ldexp(mantissa, 53)).astype(np.int64)
    lsb = whole & -whole
    return np.where(whole == 0, 5000, exponent - 53 + np.frexp(lsb.astype(np.float64))[1] - 1)


def shape_of(operator, reduced, *, big=False):
    if operator is MATMUL:
        return {"L": (2,), "M": 7 if big else 3, "N": 5 if big else 4, "K": reduced}
    return {"L": (2, 5 if big else 3), "N": reduced}


def typings(operator):
    pairs = PAIRS if operator is MATMUL else [(f,) for f in INPUTS]
    return [(*inputs, out) for inputs, out in product(pairs, OUTPUTS)]


def every(operator, name, sizes=(1, 2, 3, 67)):
    """All problems that exist for an operator and a stratum."""
    found = [drawn_or_reason(operator.name, name, types, reduced) for types in typings(operator) for reduced in sizes]
    assert all(reason and "\n" not in reason for reason in found if isinstance(reason, str))
    return [drawn for drawn in found if isinstance(drawn, Drawn)]


@cache
def drawn_or_reason(operator, name, types, reduced):
    try:
        return Drawn(OPERATORS[operator], name, types, shape_of(OPERATORS[operator], reduced))
    except NotApplicable as error:
        return str(error)


def cases(names):
    """Return operators with the strata they have: a sum has no second factor to test."""
    pairs = [(op, n) for op in (MATMUL, SUM) for n in names if (op, n) != (SUM, "identity_b")]
    return [pytest.param(op, n, id=f"{op.name}-{n}") for op, n in pairs]


def bits_of(name, out):
    """Return the accumulator's bits for which a stratum promises exactness."""
    if name.startswith("ints"):
        return int(name[4:])
    if name == "ties":
        return out.precision + 1
    return 24


@pytest.mark.parametrize(("operator", "name"), cases(EXACT))
def test_the_premise_of_the_exactness_theorem_holds_for_every_output(operator, name):
    met = 0
    for drawn in every(operator, name):
        whole, _ = drawn.units()
        assert (whole == np.rint(whole)).all()
        assert np.abs(whole).sum(axis=2).max() <= 2.0 ** bits_of(name, drawn.out)
        met += 1
    assert met >= 3


@pytest.mark.parametrize(("operator", "name"), cases([*ALL, "random_sign"]))
def test_operands_are_numbers_of_their_formats_and_headroom_holds(operator, name):
    for drawn in every(operator, name, sizes=(1, 2, 3, 67)):
        for values, fmt in zip(drawn.factors, drawn.formats, strict=True):
            assert np.isfinite(values).all()
            assert representable(values, fmt).all()
            if name not in {"subnormal_in", "random_sign"}:
                assert (np.abs(values[values != 0]) >= float(fmt.minnormal)).all()
        mag = np.abs(drawn.products()).sum(axis=2)
        assert mag.max() <= float(drawn.out.maxfinite / 4)


@pytest.mark.parametrize(("operator", "name"), cases([*EXACT, "two_terms", "ladder", "swamp24", "subnormal_in"]))
def test_no_result_is_subnormal_where_subnormals_are_not_the_subject(operator, name):
    for drawn in every(operator, name):
        result = drawn.results()
        assert ((result == 0) | (np.abs(result) >= float(drawn.out.minnormal))).all()


@pytest.mark.parametrize("name", ["ints24", "two_terms", "sticky"])
def test_the_results_of_these_tests_agree_with_rational_arithmetic(name):
    for drawn in every(MATMUL, name, sizes=(3,)):
        assert (np.array(drawn.exact()) == np.array(fractions(drawn.results()))).all()


@pytest.mark.parametrize(("operator", "name"), cases(EXACT))
def test_the_guard_of_exact_clauses_lets_the_whole_battery_through(operator, name):
    fmt = format_named("f32")
    for drawn in every(operator, name):
        if operator is SUM:
            assert exact_sum_premise(drawn.a, fmt).all()
        else:
            assert exact_dot_premise(drawn.a, drawn.b, fmt).all()


def orders(rng, terms):
    """Forward, backward, and a random order with a random tree of partial sums."""
    yield list(terms)
    yield list(terms)[::-1]
    yield list(rng.permutation(terms))


def accumulate(terms, fmt, mode, tree):
    """Add terms one after another, or pairwise, rounding every sum."""
    work = [float(t) for t in terms]
    while len(work) > 1:
        if tree:
            work = [add(work[i : i + 2], fmt, mode) for i in range(0, len(work), 2)]
        else:
            work = [add(work[:2], fmt, mode), *work[2:]]
    return work[0]


def add(pair, fmt, mode):
    return float(round_to(np.array([sum(pair)]), fmt, mode)[0])


@pytest.mark.parametrize(
    ("name", "bits"), [("ints24", 24), ("ints11", 11), ("ints8", 8), ("cancel", 24), ("wide", 24), ("graded", 24)]
)
@pytest.mark.parametrize("mode", ["rne", "rz"])
@pytest.mark.parametrize("tree", [False, True], ids=["sequential", "pairwise"])
def test_an_accumulator_of_the_promised_bits_is_exact_in_any_order(name, bits, mode, tree):
    fmt = accumulator_format("f32", bits - 1)
    rng = np.random.default_rng(0)
    drawn = Drawn(MATMUL, name, ("f32", "f32", "f32"), {"L": (), "M": 4, "N": 3, "K": 33})
    exact = drawn.exact()[0]
    for m, n in product(range(4), range(3)):
        for terms in orders(rng, drawn.products()[0, m, :, n]):
            assert Fraction(accumulate(terms, fmt, mode, tree)) == exact[m][n]


def aligned(terms, bits, block):
    """Add blocks the way matrix units do: shift to the largest exponent, cut below ``bits`` fraction bits, add."""
    total = 0.0
    for start in range(0, len(terms), block):
        items = np.array([total, *terms[start : start + block]])
        top = np.frexp(np.abs(items).max())[1] - 1 - bits
        total = float(np.ldexp(np.trunc(np.ldexp(items, -top)).sum(), top))
    return total


@pytest.mark.parametrize("name", ["ints24", "wide", "cancel", "graded"])
@pytest.mark.parametrize("block", [4, 8, 16])
def test_aligning_units_with_23_fraction_bits_are_exact_and_with_20_are_not(name, block):
    drawn = Drawn(MATMUL, name, ("f32", "f32", "f32"), {"L": (), "M": 8, "N": 6, "K": 33})
    right = drawn.results()[0]
    p = drawn.products()[0]
    for bits in (23, 24, 25):
        got = [[aligned(p[m, :, n], bits, block) for n in range(6)] for m in range(8)]
        assert np.array_equal(got, right)
    got = [[aligned(p[m, :, n], 20, block) for n in range(6)] for m in range(8)]
    assert not np.array_equal(got, right)


@pytest.mark.parametrize("name", ["ints24", "wide", "cancel", "graded", "identity_a", "identity_b", "ints11"])
@pytest.mark.parametrize("shape", [(33, 40, 1024), (17, 24, 333), (1, 1, 4096)])
def test_a_library_product_in_binary32_is_exact_bit_for_bit(name, shape):
    m, n, k = shape
    drawn = Drawn(MATMUL, name, ("f32", "f32", "f32"), {"L": (), "M": m, "N": n, "K": k})
    exact = np.asarray(drawn.a @ drawn.b)  # 48-bit products of 24-bit sums: exact in binary64 as well
    assert np.array_equal(drawn.inputs["A"] @ drawn.inputs["B"], exact[0])


@pytest.mark.parametrize(("name", "bits"), [("ints24", 24), ("ints11", 11), ("ints8", 8)])
def test_one_bit_less_and_some_sum_is_wrong(name, bits):
    fmt = accumulator_format("f32", bits - 2)
    drawn = Drawn(MATMUL, name, ("f32", "f32", "f32"), {"L": (), "M": 8, "N": 6, "K": 33})
    exact = drawn.exact()[0]
    results = [
        Fraction(accumulate(drawn.products()[0, m, :, n], fmt, "rne", tree=False)) == exact[m][n]
        for m, n in product(range(8), range(6))
    ]
    assert not all(results)


def test_cancelling_sums_survive_no_partial_sum_in_bf16():
    fmt = accumulator_format("bf16")
    drawn = Drawn(MATMUL, "cancel", ("bf16", "bf16", "bf16"), {"L": (4,), "M": 6, "N": 6, "K": 64})
    p = drawn.products()
    halves = [round_to(p[:, :, half, :].sum(axis=2), fmt) for half in (slice(0, 32), slice(32, 64))]
    got = round_to(halves[0] + halves[1], fmt)
    wrong = got != p.sum(axis=2)
    assert wrong.mean() > 0.5
    assert representable(p.sum(axis=2), fmt).all()


@pytest.mark.parametrize("operator", [MATMUL, SUM], ids=["matmul", "reduce_sum"])
def test_cancelling_results_are_short_nonzero_and_far_below_their_intermediates(operator):
    for drawn in every(operator, "cancel", sizes=(2, 3, 67)):
        results = drawn.products().sum(axis=2)
        assert (results != 0).all()
        assert representable(results, drawn.out).all()


@pytest.mark.parametrize("name", ["identity_a", "identity_b"])
def test_an_identity_has_one_product_an_output_and_full_odd_significands(name):
    for drawn in every(MATMUL, name, sizes=(1, 3, 67)):
        tested = 0 if name == "identity_a" else 1
        values, fmt = drawn.factors[tested], drawn.formats[tested]
        picks = drawn.factors[1 - tested]
        assert (np.count_nonzero(drawn.products(), axis=2) == 1).all()
        mantissa, _ = np.frexp(values)
        assert (np.abs(np.ldexp(mantissa, fmt.precision)) % 2 == 1).all()
        assert (np.abs(np.frexp(picks[picks != 0])[0]) == 0.5).all()


def test_an_identity_meets_every_reduced_index_before_any_twice():
    drawn = Drawn(MATMUL, "identity_a", ("f32", "f32", "f32"), {"L": (), "M": 2, "N": 20, "K": 7})
    counts = np.count_nonzero(drawn.b[0], axis=1)
    assert counts.min() >= 2
    assert counts.max() <= 3


@pytest.mark.parametrize("name", ["wide", "identity_a", "identity_b"])
def test_casting_either_operand_to_tf32_changes_most_results(name):
    drawn = Drawn(MATMUL, name, ("f32", "f32", "f32"), {"L": (), "M": 16, "N": 16, "K": 64})
    cast = [round_to(x, format_named("tf32")) for x in drawn.factors]
    right = drawn.a @ drawn.b
    if name != "identity_b":
        assert (cast[0] @ drawn.b != right).mean() > 0.85
    if name != "identity_a":
        assert (drawn.a @ cast[1] != right).mean() > 0.85


@pytest.mark.parametrize("operator", [MATMUL, SUM], ids=["matmul", "reduce_sum"])
def test_ties_lie_half_way_between_neighbours_of_the_output(operator):
    parities = set()
    for drawn in every(operator, "ties"):
        assert np.count_nonzero(drawn.products(), axis=2).max() <= 2
        for result in map(Fraction, np.unique(drawn.results()).tolist()):
            half = Fraction(2) ** (floor_log2(result) - drawn.out.precision)
            assert result / half % 2 == 1
            parities.add((result > 0, result / half % 4))
    assert len(parities) == 4


@pytest.mark.parametrize("operator", [MATMUL, SUM], ids=["matmul", "reduce_sum"])
def test_sticky_results_lie_just_beside_half_way(operator):
    sides = set()
    for drawn in every(operator, "sticky"):
        for result in map(Fraction, np.unique(drawn.results()).tolist()):
            half = Fraction(2) ** (floor_log2(result) - drawn.out.precision)
            steps = abs(result) / half
            nearest = 2 * (steps // 2) + 1
            rest = steps - nearest
            assert 0 < abs(rest) <= Fraction(1, 2)
            assert rest.numerator in {1, -1}
            sides.add((result > 0, rest > 0))
            # rounding the half-way case instead goes wrong on one side or the other
            up, tie = round_fraction(result, drawn.out), round_fraction(nearest * half, drawn.out)
            sides.add(("rounds alike", up == (tie if result > 0 else -tie)))
    assert len(sides) == 6


def floor_log2(q):
    q = abs(q)
    e = q.numerator.bit_length() - q.denominator.bit_length()
    return e if Fraction(2) ** e <= q else e - 1


@pytest.mark.parametrize("operator", [MATMUL, SUM], ids=["matmul", "reduce_sum"])
def test_two_terms_tell_rounding_from_truncation_at_24_11_or_8_bits(operator):
    widths = set()
    for drawn in every(operator, "two_terms", sizes=(2, 3)):
        p = drawn.products()
        assert (np.count_nonzero(p, axis=2) == 2).all()
        for result in map(Fraction, np.unique(drawn.results()).tolist()):
            apart = [w for w in (24, 11, 8) if told_apart(result, w)]
            assert apart
            widths.update(apart)
    assert widths == {24, 11, 8}


def told_apart(result, bits):
    """Whether a fraction of 3/4 of a unit or more is cut off at ``bits`` bits."""
    unit = Fraction(2) ** (floor_log2(result) + 1 - bits)
    rest = abs(result) / unit % 1
    return rest >= Fraction(3, 4)


@pytest.mark.parametrize("operator", [MATMUL, SUM], ids=["matmul", "reduce_sum"])
def test_a_ladder_has_a_rung_its_opposite_and_a_unit(operator):
    rungs = set()
    for drawn in every(operator, "ladder", sizes=(2, 3, 67)):
        whole, _ = drawn.units()
        assert (np.abs(whole.sum(axis=2)) == 1).all()
        rungs.update(np.log2(np.abs(whole).max(axis=2)).ravel().tolist())
    assert {1.0, 2.0, 10.0, 23.0, 24.0} <= rungs


@pytest.mark.parametrize("bits", [11, 24])
def test_a_ladder_measures_the_width_of_an_accumulator(bits):
    fmt = accumulator_format("f32", bits - 1)
    drawn = Drawn(SUM, "ladder", ("f32", "f32"), {"L": (30,), "N": 3})
    whole, _ = drawn.units()
    met = set()
    for row in whole[0, :, :, 0]:
        rung = int(np.log2(np.abs(row).max()))
        large, unit = row[np.abs(row) > 1], row[np.abs(row) == 1]
        met.add(rung)
        # the large term of the unit's own sign comes first: their sum has one bit more than the rung
        first = large[0] if large[0] * unit[0] > 0 else large[1]
        got = accumulate([first, unit[0], -first], fmt, "rne", tree=False)
        assert (got == unit[0]) == (rung <= bits - 1)
    assert met == set(range(1, 31))


@pytest.mark.parametrize(("name", "bits"), [("swamp24", 24), ("swamp11", 11)])
@pytest.mark.parametrize("operator", [MATMUL, SUM], ids=["matmul", "reduce_sum"])
def test_a_swamp_is_a_large_term_among_ones(operator, name, bits):
    for drawn in every(operator, name, sizes=(2, 3, 67)):
        whole, _ = drawn.units()
        size = np.abs(whole)
        assert (np.count_nonzero(size == 2.0**bits, axis=2) == 1).all()
        rest = size[size != 2.0**bits]
        assert set(np.unique(rest)) <= {0.0, 1.0}
        # at most two terms are missing, where the large one needs both factors
        assert np.count_nonzero(size == 1, axis=2).min() >= max(size.shape[2] - 3, 1)


def test_a_swamp_is_the_worst_case_of_adding_one_after_another():
    drawn = Drawn(SUM, "swamp11", ("f32", "f32"), {"L": (3,), "N": 500})
    fmt = accumulator_format("f32", 10)
    whole, _ = drawn.units()
    got = {}
    for row in whole[0, :, :, 0]:
        got[int(np.argmax(np.abs(row)))] = abs(accumulate(row, fmt, "rne", tree=False))
    assert set(got) > {0, 499}
    assert got.pop(0) == 2**11
    # the ones come first: their sum is exact, and only the last addition rounds, to a multiple of two
    assert got.pop(499) in {2**11 + 498, 2**11 + 500}
    assert 2**11 < got.popitem()[1] < 2**11 + 499


@pytest.mark.parametrize("operator", [MATMUL, SUM], ids=["matmul", "reduce_sum"])
def test_subnormal_inputs_give_exact_normal_results_that_a_flush_changes(operator):
    met = set()
    for drawn in every(operator, "subnormal_in", sizes=(1, 2, 3, 67)):
        flushed = [
            np.where(np.abs(x) < float(f.minnormal), 0.0, x) for x, f in zip(drawn.factors, drawn.formats, strict=True)
        ]
        kept = drawn.results()
        b = flushed[1] if len(flushed) > 1 else drawn.b
        lost = (flushed[0][:, :, :, None] * b[:, None, :, :]).sum(axis=2)
        assert (kept != lost).any()
        assert representable(kept, drawn.out).all()
        assert representable(lost, drawn.out).all()
        assert (np.abs(kept) >= float(drawn.out.minnormal)).all()
        assert ((lost == 0) | (np.abs(lost) >= float(drawn.out.minnormal))).all()
        whole, _ = drawn.units()
        # eight bits hold every partial sum
        assert np.abs(whole).sum(axis=2).max() < 2**8
        met.add(tuple(drawn.types.values()))
    assert len(met) >= (18 if operator is MATMUL else 9)


@pytest.mark.parametrize("operator", [MATMUL, SUM], ids=["matmul", "reduce_sum"])
def test_subnormal_results_come_from_normal_operands_and_are_never_zero(operator):
    met = set()
    for drawn in every(operator, "subnormal_out", sizes=(1, 2, 3, 67)):
        for result in map(Fraction, np.unique(drawn.results()).tolist()):
            assert 0 < abs(result) < drawn.out.minnormal
            assert result % drawn.out.minsub == 0
        met.add(tuple(drawn.types.values()))
    assert ("f32", "f32", "f32") in met or ("f32", "f32") in met


@pytest.mark.parametrize(
    "types",
    [("f8e4m3", "f8e4m3", "f32"), ("f8e4m3", "f8e4m3", "f16"), ("f16", "f16", "f32"), ("f8e5m2", "f8e5m2", "bf16")],
)
def test_no_subnormal_product_is_claimed_where_the_exponents_allow_none(types):
    with pytest.raises(NotApplicable, match="subnormal"):
        Drawn(MATMUL, "subnormal_out", types, shape_of(MATMUL, 4))


@pytest.mark.parametrize("name", ["ties", "sticky"])
def test_half_way_cases_of_a_binary32_output_do_not_exist(name):
    with pytest.raises(NotApplicable, match="f32"):
        Drawn(MATMUL, name, ("f32", "f32", "f32"), shape_of(MATMUL, 4))


@pytest.mark.parametrize(
    "name", ["ints24", "wide", "graded", "cancel", "identity_a", "ladder", "swamp24", "subnormal_in", "subnormal_out"]
)
def test_binary64_tensors_are_filled_too(name):
    drawn = Drawn(MATMUL, name, ("f64", "f64", "f64"), shape_of(MATMUL, 6))
    assert drawn.inputs["A"].dtype == dtype_of("f64")
    assert np.isfinite(drawn.a).all()
    assert np.count_nonzero(drawn.a)


def digest(drawn):
    total = hashlib.sha256()
    for array in drawn.inputs.values():
        total.update(array.tobytes())
    return total.hexdigest()[:16]


GOLDEN = {
    "ints24": ["fbc261c44441aa0c", "faf799060ac9dc29"],
    "ints11": ["42401ed14bea1500", "ce86a0c73a593c79"],
    "ints8": ["8c999a16857e4e13", "20184c8981525482"],
    "wide": ["c846c67def16862d", "4fa889a1dc40cc5d"],
    "graded": ["f617eaff39c5ea83", "8a25c1724842df01"],
    "cancel": ["84c1df89d440e752", "0a5d82e07a6b1694"],
    "ties": ["8de1d60240c9069e", "3429f0a4236bccd9"],
    "sticky": ["3ea1222669e53916", "b50bf5433c11b875"],
    "identity_a": ["b9bb8045a2cdc342", "8cede1ddf57773fc"],
    "identity_b": ["7d901ee570807c20"],
    "two_terms": ["17f1430312903353", "34c216388e88df8c"],
    "ladder": ["df1571a46efdc307", "c2f69e72e9eeb8a7"],
    "swamp24": ["dd84b09717c5dd35", "0994fd3be03f4566"],
    "swamp11": ["dba1aa8a1db79e8c", "abe9d9c3691b93a7"],
    "subnormal_in": ["b3230d961861e060", "9c6c6edb6679e3a4"],
    "subnormal_out": ["f1bca4525ee7e59a", "9e5cf956dccb5241"],
    "random_sign": ["4b2de1b6bed21bbb", "302006077cef37ec"],
}


@pytest.mark.parametrize("name", sorted(GOLDEN))
def test_strata_draw_the_recorded_bits(name):
    subnormal = name.startswith("subnormal")
    types = ("bf16", "f8e5m2" if name == "subnormal_out" else "f16", "f16")
    got = [digest(Drawn(MATMUL, name, types, shape_of(MATMUL, 33)))]
    if name != "identity_b":
        got.append(digest(Drawn(SUM, name, ("f32" if subnormal else "f16", "bf16"), shape_of(SUM, 33))))
    assert got == GOLDEN[name]
