"""Shapes from a plan's setting."""

from __future__ import annotations

from importlib.resources import files
from math import prod

import pytest

from kernelcontracts.lang.parse import parse
from kernelcontracts.lang.source import Source
from kernelcontracts.strata.bits import Words
from kernelcontracts.strata.errors import StratumError
from kernelcontracts.strata.shapes import dimensions, primes, shapes

TEXT = (files("kernelcontracts") / "library" / "ops" / "accumulations.kc").read_text(encoding="utf-8")
OPERATORS = {d.name: d for d in parse(Source("ops", TEXT)).file.declarations}
MATMUL, SUM = OPERATORS["matmul"], OPERATORS["reduce_sum"]
HELD = "held_out(count = 40, near = {16, 32, 64, 128, 256}, limit = 300)"


def read(text, operator=MATMUL, key=b"key"):
    source = f"kernel-contracts 0.1\nmodule test\n\nplan p @1.0.0 {{\n  shapes: {text}\n}}\n"
    setting = parse(Source("test", source)).file.declarations[0].settings[0].value
    return shapes(setting, operator=operator, seed_words=key)


def test_a_grid_lists_all_combinations_with_the_last_dimension_fastest():
    found = read("grid(N = {1, 31}, L = {none, 7, by(2, 3)})", SUM)
    assert found == (
        {"L": (), "N": 1},
        {"L": (), "N": 31},
        {"L": (7,), "N": 1},
        {"L": (7,), "N": 31},
        {"L": (2, 3), "N": 1},
        {"L": (2, 3), "N": 31},
    )


def test_a_union_keeps_the_first_of_equal_shapes():
    found = read("union(grid(L = {none}, N = {1, 2}), list(shape(L = none, N = 2), shape(L = 3, N = 0)))", SUM)
    assert found == ({"L": (), "N": 1}, {"L": (), "N": 2}, {"L": (3,), "N": 0})


def test_dimensions_come_in_the_order_of_the_operators_inputs():
    assert dimensions(MATMUL) == {"L": True, "M": False, "K": False, "N": False}
    (found,) = read("list(shape(N = 1, K = 2, M = 3, L = by(4, 5)))")
    assert list(found.items()) == [("L", (4, 5)), ("M", 3), ("K", 2), ("N", 1)]


def test_held_out_shapes_are_distinct_bounded_and_near_or_prime_or_one():
    found = read(HELD)
    assert len(found) == 40
    assert len({str(s) for s in found}) == 40
    near = {v + d for v in (16, 32, 64, 128, 256) for d in (-1, 0, 1)}
    allowed = near | set(primes(300)) | {1}
    for shape in found:
        assert {shape["M"], shape["N"], shape["K"]} <= allowed
        assert prod(shape["L"]) * shape["M"] * shape["N"] * shape["K"] <= 2**22
    sizes = {s[d] for s in found for d in "MNK"}
    assert 1 in sizes
    assert sizes & near
    assert sizes - near - {1}
    assert any(s["L"] for s in found)
    assert any(not s["L"] for s in found)


def test_held_out_shapes_depend_on_the_key_alone():
    assert read(HELD) == read(HELD)
    assert read(HELD) != read(HELD, key=b"other")
    source = "held_out(count = 3, near = {16}, limit = 20)"
    assert read(source, key=b"k") == read(source, key=Words(b"k"))


def test_the_first_held_out_shapes_are_the_recorded_ones():
    assert read("held_out(count = 3, near = {16, 64}, limit = 100)") == (
        {"L": (5,), "M": 65, "K": 64, "N": 97},
        {"L": (2, 3), "M": 16, "K": 83, "N": 23},
        {"L": (), "M": 31, "K": 16, "N": 1},
    )


def test_fewer_held_out_shapes_come_back_where_no_more_exist():
    found = read("held_out(count = 40, near = {1}, limit = 1)", SUM)
    assert 1 < len(found) < 40
    assert all(s["N"] == 1 for s in found)


def test_shapes_near_numbers_beyond_the_limit_are_left_out():
    assert all(s["N"] <= 7 for s in read("held_out(count = 20, near = {8, 100}, limit = 7)", SUM))


def test_primes_are_those_of_the_sieve():
    assert primes(30) == [2, 3, 5, 7, 11, 13, 17, 19, 23, 29]
    assert primes(1) == primes(0) == []
    assert primes(2) == [2]


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("grid(L = {none}, M = {1})", "N = …"),
        ("grid(L = {none}, M = {1}, N = {1}, K = {1}, Q = {1})", "names every dimension once"),
        ("grid(L = {none}, M = {-1}, N = {1}, K = {1})", "-1"),
        ("grid(L = {none}, M = {1 / 2}, N = {1}, K = {1})", "1/2"),
        ("grid(L = {none}, M = {none}, N = {1}, K = {1})", "none"),
        ("list(grid(L = {none}, M = {1}, N = {1}, K = {1}))", "shape"),
        ("held_out(count = 3)", "near"),
        ("held_out(count = 3, near = {1}, limit = 0)", "limit"),
        ("rows(3)", "grid"),
        ("7", "grid"),
    ],
)
def test_shapes_that_make_no_sense_are_refused_in_one_line(text, word):
    with pytest.raises(StratumError, match=word) as caught:
        read(text)
    assert "\n" not in str(caught.value)
