"""Domains of decisions: membership, order by strength, and what values stand for."""

from __future__ import annotations

from fractions import Fraction

import pytest

from kernelcontracts.lang.decisions import (
    ClaimError,
    add_depth,
    compare,
    decision_named,
    describe,
    is_finite,
    is_ordered,
    member,
    parse_value,
    passes,
    representatives,
    strongest,
    u_operand,
    weakest,
)
from kernelcontracts.lang.library import Library
from kernelcontracts.lang.values import Choice


def decision(name, operator="matmul"):
    return decision_named(Library.shipped().operator(operator).decl, name)


ACCUMULATOR, ORDER = decision("accumulator"), decision("reduction_order")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("f16", Choice("f16")),
        ("{format = f32, width = 13}", Choice("f32", (), (("width", 13),))),
        ("{width = 13, format = f32}", Choice("f32", (), (("width", 13),))),
        ("{format = f32, width = 23}", Choice("f32")),
    ],
)
def test_an_accumulator_is_a_format_or_a_record_and_a_full_width_says_nothing(text, value):
    assert parse_value(text, ACCUMULATOR) == value


def test_values_with_arguments_are_read_and_written_alike():
    for text in ("pairwise(128)", "blocked(64)", "lanes(8)", "sequential", "unordered"):
        assert str(parse_value(text, ORDER)) == text
    assert parse_value(" split( bf16 , 3 ) ", decision("operand_rounding")) == Choice("split", ("bf16", 3))


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("f33", "accumulator"),
        ("", "accumulator"),
        ("f8e4m3", "accumulator"),
        ("{format = f32, width = 24}", "accumulator"),
        ("{format = f32, width = 0}", "accumulator"),
        ("{format = f32, height = 3}", "accumulator"),
        ("{width = 3}", "accumulator"),
        ("pairwise", "reduction_order"),
        ("pairwise(0)", "reduction_order"),
        ("pairwise(-1)", "reduction_order"),
        ("pairwise(1, 2)", "reduction_order"),
        ("pairwise(1.5)", "reduction_order"),
        ("sequential(3)", "reduction_order"),
        ("to(f16)", "operand_rounding"),
        ("split(bf16, 2)", "operand_rounding"),
        ("rne; import os", "acc_rounding"),
        ("3", "acc_rounding"),
    ],
)
def test_what_is_no_value_is_refused_and_the_domain_is_listed(text, name):
    with pytest.raises(ClaimError) as error:
        parse_value(text, decision(name))
    assert error.value.code == "E0404"
    assert error.value.hint is None or describe(decision(name)) in error.value.hint


def test_integers_are_values_of_a_range_only_inside_it():
    ulps = decision("exp_ulp", "softmax")
    assert [member(ulps, v) for v in (0, 1, 4096, 4097)] == [False, True, True, False]
    assert representatives(ulps)[0] == 1
    assert representatives(ulps)[-1] == 4096
    assert not is_finite(ulps)


def test_an_unknown_decision_is_named_with_those_there_are():
    with pytest.raises(ClaimError, match="has no decision `acumulator`") as error:
        decision("acumulator")
    assert error.value.code == "E0403"
    assert "`accumulator`" in error.value.hint


def test_formats_are_ordered_by_digits_and_range():
    assert strongest(ACCUMULATOR) == (Choice("f64"),)
    assert weakest(ACCUMULATOR) == (Choice("f16"), Choice("bf16"))
    assert compare(ACCUMULATOR, Choice("f32"), Choice("tf32")) == "stronger"
    assert compare(ACCUMULATOR, Choice("bf16"), Choice("f16")) == "incomparable"


def test_a_record_stands_between_the_formats_it_lies_between():
    thirteen = Choice("f32", (), (("width", 13),))
    assert compare(ACCUMULATOR, Choice("f32"), thirteen) == "stronger"
    assert compare(ACCUMULATOR, thirteen, Choice("tf32")) == "stronger"
    # ten fraction bits in the range of f32 are the numbers of tf32
    assert compare(ACCUMULATOR, Choice("f32", (), (("width", 10),)), Choice("tf32")) == "equal"


def test_orders_of_summation_are_compared_by_their_depth():
    assert strongest(ORDER) == (Choice("pairwise", (1,)),)
    assert weakest(ORDER) == (Choice("sequential"), Choice("unordered"))
    assert compare(ORDER, Choice("pairwise", (8,)), Choice("pairwise", (128,))) == "stronger"
    assert compare(ORDER, Choice("sequential"), Choice("unordered")) == "equal"
    assert compare(ORDER, Choice("lanes", (8,)), Choice("blocked", (64,))) == "incomparable"


def test_an_unordered_decision_has_all_values_at_both_ends():
    policy = decision("oob_policy", "gather_rows")
    assert not is_ordered(policy)
    assert strongest(policy) == weakest(policy) == representatives(policy)


def test_smaller_integers_are_stronger():
    ulps = decision("exp_ulp", "softmax")
    assert compare(ulps, 1, 2) == "stronger"
    assert strongest(ulps) == (1,)
    assert weakest(ulps) == (4096,)


@pytest.mark.parametrize(
    ("order", "n", "depth"),
    [
        # three values by hand for each: eight terms in a tree of three levels, nine in one of four
        (Choice("pairwise", (1,)), 8, 3),
        (Choice("pairwise", (1,)), 9, 4),
        (Choice("pairwise", (8,)), 16, 8),
        (Choice("pairwise", (128,)), 1000, 127 + 3),
        (Choice("blocked", (64,)), 1000, 63 + 15),
        (Choice("blocked", (64,)), 10, 9),
        (Choice("lanes", (8,)), 64, 7 + 7),
        (Choice("lanes", (8,)), 2, 1),
        (Choice("sequential"), 5, 4),
        (Choice("unordered"), 5, 4),
        (Choice("sequential"), 1, 0),
        (Choice("pairwise", (8,)), 0, 0),
    ],
)
def test_depths_are_those_of_the_trees(order, n, depth):
    assert add_depth(order, n) == depth


def reference_depth(name, base, n):
    """Build the tree and count: the depth of every leaf of a sum is the number of additions above it."""

    def chain(items):
        total = [*items[0]]
        for item in items[1:]:
            total = [d + 1 for d in total] + [d + 1 for d in item]
        return total

    def tree(items):
        while len(items) > 1:
            items = [
                [d + 1 for part in items[i : i + 2] for d in part] if i + 1 < len(items) else items[i]
                for i in range(0, len(items), 2)
            ]
        return items[0]

    runs = [chain([[0]] * min(base, n - i)) for i in range(0, n, base)]
    if name == "pairwise":
        return max(tree(runs))
    if name == "blocked":
        return max(chain(runs))
    lanes = [chain([[0]] * len(range(lane, n, base))) for lane in range(min(base, n))]
    return max(chain(lanes))


@pytest.mark.parametrize("name", ["pairwise", "blocked", "lanes"])
@pytest.mark.parametrize("base", [1, 2, 3, 8])
def test_depths_agree_with_trees_that_are_built_and_counted(name, base):
    for n in range(1, 40):
        assert add_depth(Choice(name, (base,)), n) >= reference_depth(name, base, n)
        if name != "pairwise" or n % base == 0:
            assert add_depth(Choice(name, (base,)), n) == reference_depth(name, base, n)


def test_operand_roundings_bound_a_cast_in_either_mode():
    assert u_operand(Choice("as_given")) == 0
    assert u_operand(Choice("to", ("tf32",))) == Fraction(1, 2**10)
    assert u_operand(Choice("to", ("bf16",))) == Fraction(1, 2**7)
    assert u_operand(Choice("split", ("bf16", 3))) == Fraction(1, 2**23)


def split(x, pieces, digits):
    """Write a rational as pieces of some digits, rounded to nearest even, by exact arithmetic."""
    parts = []
    for _ in range(pieces):
        if x == 0:
            parts.append(Fraction(0))
            continue
        exponent = 0
        while abs(x) >= 2 ** (exponent + 1):
            exponent += 1
        while abs(x) < Fraction(2) ** exponent:
            exponent -= 1
        step = Fraction(2) ** (exponent - digits + 1)
        parts.append(round(x / step) * step)
        x -= parts[-1]
    return parts


def test_six_products_of_three_pieces_are_within_the_bound_of_a_split():
    u = u_operand(Choice("split", ("bf16", 3)))
    values = [Fraction(2**23 + k * 99991 % 2**23, 2**23) for k in range(40)] + [Fraction(2**24 - 1, 2**23)]
    for a in values:
        for b in values[::7]:
            first, second = split(a, 3, 8), split(b, 3, 8)
            kept = sum(first[i] * second[j] for i in range(3) for j in range(3) if i + j <= 2)
            assert abs(kept - a * b) <= ((1 + u) ** 2 - 1) * a * b
    assert passes(Choice("split", ("bf16", 3))) == 6
    assert passes(Choice("as_given")) == 1


@pytest.mark.parametrize(
    "value", [Choice("to"), Choice("to", ("f99",)), Choice("to", (3,)), Choice("split", ("bf16",))]
)
def test_a_rounding_that_names_no_format_has_no_bound(value):
    with pytest.raises(ClaimError):
        u_operand(value)
