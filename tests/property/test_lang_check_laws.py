"""Laws of decisions and of the static checks, on values and texts nobody chose."""

from __future__ import annotations

import re
from fractions import Fraction
from itertools import product
from math import isfinite

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from kernelcontracts.lang.check import check_library, views_of
from kernelcontracts.lang.checks.monotone import view_setting
from kernelcontracts.lang.checks.shadow import Point, Shadow
from kernelcontracts.lang.checks.units import Solver, power, times
from kernelcontracts.lang.checks.variance import Trends
from kernelcontracts.lang.decisions import (
    SIZES,
    add_depth,
    compare,
    decision_named,
    member,
    parse_value,
    representatives,
    strongest,
    weakest,
)
from kernelcontracts.lang.library import Library, shipped_sources
from kernelcontracts.lang.source import Source
from kernelcontracts.lang.values import Choice

LIBRARY = Library.shipped()
SOURCES = shipped_sources()
DECISIONS = [d for o in LIBRARY.operators for d in o.decl.decisions]
TOKEN = re.compile(r"[A-Za-z_]\w*|\d+(?:\.\d+)?|[^\s\w]")

orders = st.one_of(
    st.sampled_from([Choice("sequential"), Choice("unordered")]),
    st.builds(lambda n, b: Choice(n, (b,)), st.sampled_from(["pairwise", "blocked", "lanes"]), st.integers(1, 300)),
)
accumulators = st.one_of(
    st.sampled_from(["f64", "f32", "tf32", "f16", "bf16"]).map(Choice),
    st.integers(1, 22).map(lambda w: Choice("f32", (), (("width", w),))),
    st.integers(1, 9).map(lambda w: Choice("f16", (), (("width", w),))),
)


def domain(decision):
    if decision.name == "reduction_order":
        return orders
    if decision.name == "accumulator":
        return accumulators
    if decision.name == "exp_ulp":
        return st.integers(1, 4096)
    return st.sampled_from(representatives(decision))


@st.composite
def values(draw, count):
    decision = draw(st.sampled_from(DECISIONS))
    return decision, [draw(domain(decision)) for _ in range(count)]


def at_least(decision, a, b):
    return compare(decision, a, b) in {"stronger", "equal"}


@settings(deadline=None, max_examples=100)
@given(values(3))
def test_strength_is_reflexive_and_transitive(case):
    decision, (a, b, c) = case
    assert compare(decision, a, a) == "equal"
    if at_least(decision, a, b) and at_least(decision, b, c):
        assert at_least(decision, a, c)


@settings(deadline=None, max_examples=100)
@given(values(2))
def test_comparing_the_other_way_round_gives_the_opposite(case):
    decision, (a, b) = case
    opposite = {"stronger": "weaker", "weaker": "stronger", "equal": "equal", "incomparable": "incomparable"}
    assert compare(decision, b, a) == opposite[compare(decision, a, b)]


@settings(deadline=None, max_examples=100)
@given(values(1))
def test_every_value_lies_between_the_ends_and_can_be_read_back(case):
    decision, (value,) = case
    assert member(decision, value)
    assert parse_value(str(value), decision) == value
    # a record narrower than every named format is weaker than all of them
    if not (isinstance(value, Choice) and value.fields):
        assert any(at_least(decision, end, value) for end in strongest(decision))
        assert any(at_least(decision, value, end) for end in weakest(decision))


@settings(deadline=None, max_examples=150)
@given(orders, st.integers(0, 5000))
def test_depth_grows_with_the_number_of_terms_and_stays_below_it(order, n):
    assert 0 <= add_depth(order, n) <= add_depth(order, n + 1)
    assert add_depth(order, n) <= max(n - 1, 0)
    # no tree of n leaves is flatter than the balanced one
    assert add_depth(order, n) >= add_depth(Choice("pairwise", (1,)), n)


@settings(deadline=None, max_examples=100)
@given(orders, orders)
def test_a_stronger_order_is_nowhere_deeper_on_the_grid(a, b):
    order = decision_named(LIBRARY.operator("matmul").decl, "reduction_order")
    if compare(order, a, b) == "stronger":
        assert all(add_depth(a, n) <= add_depth(b, n) for n in SIZES)


# --- texts -------------------------------------------------------------------------------------------------------


@st.composite
def mutated_texts(draw):
    """Draw a shipped text with a few tokens replaced by others, of this file or of another."""
    source = draw(st.sampled_from(SOURCES))
    text = source.text
    pool = [t for s in (source, draw(st.sampled_from(SOURCES))) for t in set(TOKEN.findall(s.text))]
    for _ in range(draw(st.integers(1, 3))):
        spans = [m.span() for m in TOKEN.finditer(text)]
        start, end = draw(st.sampled_from(spans[8:]))
        text = text[:start] + draw(st.sampled_from(sorted(pool))) + text[end:]
    return Source(source.name, text)


@settings(deadline=None, max_examples=30)
@given(mutated_texts())
def test_checking_never_raises_and_points_into_the_text(source):
    library, _ = LIBRARY.with_source(source)
    assume(library is not LIBRARY)
    module = library.files[-1][0].module
    for item in check_library(library, {module}, notes=True):
        assert item.message
        assert "\n" not in item.message
        if item.span is not None:
            assert 0 <= item.span.start <= item.span.end <= len(item.source.text)


def with_tolerance(expression):
    source = next(s for s in SOURCES if s.name.endswith("core/ord.kc"))
    text = source.text.replace("bound = op.ordered", f'bound = {expression} because derived "a test"')
    library, parsed = LIBRARY.with_source(Source(source.name, text))
    assert not parsed, expression
    return library


free = st.recursive(
    st.sampled_from(["op.mag", "op.worst", "|ref|", "1 ulp", "op.terms", "2", "u(output)", "0.001 rel at ref"]),
    lambda inner: st.one_of(
        st.builds("({} + {})".format, inner, inner),
        st.builds("({} * {})".format, inner, inner),
        st.builds("sqrt(|{}|)".format, inner),
        st.builds("max({}, {})".format, inner, inner),
        st.builds("(if claim.acc_rounding == rne then {} else {})".format, inner, inner),
    ),
    max_leaves=5,
)


@settings(deadline=None, max_examples=12)
@given(free)
def test_a_tolerance_without_the_candidate_is_never_accused_of_it(expression):
    found = check_library(with_tolerance(expression), {"kc.core.ord"})
    assert not [d for d in found if d.code.startswith("E03")]


@settings(deadline=None, max_examples=30)
@given(
    free, free, st.sampled_from(["|output|", "max(|output|)", "1 ulp at output", "impl(inputs)", "op.mag * |output|"])
)
def test_a_candidate_anywhere_in_a_tolerance_is_found(left, right, candidate):
    found = check_library(with_tolerance(f"({left} + {candidate}) * {right}"), {"kc.core.ord"})
    assert {d.code for d in found} & {"E0301", "E0304"}


# --- soundness of the sign rules ---------------------------------------------------------------------------------

formulas = st.recursive(
    st.sampled_from(
        ["op.u_acc", "op.mag", "N", "2", "u(claim.accumulator)", "maxfinite(claim.accumulator)", "op.terms", "op.depth"]
    ),
    lambda inner: st.one_of(
        st.builds("({} + {})".format, inner, inner),
        st.builds("({} - {})".format, inner, inner),
        st.builds("({} * {})".format, inner, inner),
        st.builds("({} / {})".format, inner, inner),
        st.builds("min({}, {})".format, inner, inner),
        st.builds("max({}, {})".format, inner, inner),
        st.builds("sqrt({})".format, inner),
        st.builds("({})^2".format, inner),
        st.builds("|{}|".format, inner),
    ),
    max_leaves=6,
)


def tolerance_setting(expression):
    library = with_tolerance(expression)
    view = next(v for v in views_of(library, library.contract("C-ORD-01")) if v.entry.operator.name == "reduce_sum")
    return view.contract.tolerance[0].value, view_setting(view)


@settings(deadline=None, max_examples=40)
@given(formulas)
def test_what_the_sign_rules_prove_no_evaluation_refutes(expression):
    expr, setting = tolerance_setting(expression)
    for name in ("accumulator", "acc_rounding", "reduction_order"):
        direction = Trends(setting.world, setting.decisions[name]).direction(expr)
        if direction == "?":
            continue
        base = {n: d[0] for n, d in setting.domains.items()}
        for (strong, weak), size in product(setting.pairs[name], (1, 7, 4096)):
            a, b = (
                Shadow(setting.world, Point({**base, name: v}, size, 1.0, setting.typings[0])).number(expr)
                for v in (strong, weak)
            )
            # the largest number of f64 overflows in the shadow's own binary64, and then says nothing
            if a is not None and b is not None and isfinite(a) and isfinite(b):
                # the shadow computes in binary64, so that equal values may differ in the last digits
                slack = 1e-9 * max(abs(a), abs(b))
                assert direction != "-" or a <= b + slack
                assert direction != "+" or a >= b - slack
                assert direction != "0" or abs(a - b) <= slack


# --- units -------------------------------------------------------------------------------------------------------

units = st.dictionaries(
    st.sampled_from(["A", "B", "?x", "?y"]), st.fractions(-3, 3, max_denominator=4), max_size=3
).map(lambda u: {k: v for k, v in u.items() if v})


@settings(deadline=None, max_examples=60)
@given(units, units)
def test_units_that_were_made_equal_are_equal(a, b):
    solver = Solver()
    if solver.unify(a, b):
        assert solver.reduce(a) == solver.reduce(b)
    else:
        assert not [s for s in solver.reduce(times(a, b, -1)) if s.startswith("?")]


@settings(deadline=None, max_examples=40)
@given(units, units)
def test_units_form_a_group(a, b):
    assert times(times(a, b), b, -1) == a
    assert times(a, a, -1) == {}
    assert times(a, a) == power(a, Fraction(2))
