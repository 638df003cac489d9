"""Raw random words and the distributions built from them."""

from __future__ import annotations

import hashlib
from collections import Counter
from fractions import Fraction
from itertools import permutations

import numpy as np
import pytest

from kernelcontracts.strata.bits import Words, derive, words

_M0, _M1 = 0xD2E7470EE14C6C93, 0xCA5A826395121157
_W0, _W1 = 0x9E3779B97F4A7C15, 0xBB67AE8584CAA73B
_ALL = 2**64 - 1


def philox(counter, key):
    """Philox4x64-10 as its authors print it, in plain integers."""
    c, k = list(counter), list(key)
    for _ in range(10):
        first, second = _M0 * c[0], _M1 * c[2]
        c = [(second >> 64) ^ c[1] ^ k[0], second & _ALL, (first >> 64) ^ c[3] ^ k[1], first & _ALL]
        k = [(k[0] + _W0) & _ALL, (k[1] + _W1) & _ALL]
    return c


def test_the_plain_philox_of_this_test_passes_the_authors_known_answer():
    # kat_vectors of Random123: philox4x64 10, all zero
    known = [0x16554D9ECA36314C, 0xDB20FE9D672D0FDC, 0xD7E772CEE186176B, 0x7E68B68AEC7BA23B]
    assert philox((0, 0, 0, 0), (0, 0)) == known


def test_words_are_philox_blocks_counted_from_one_under_the_digest_as_key():
    digest = derive(b"key", "label")
    key = (int.from_bytes(digest[:8], "little"), int.from_bytes(digest[8:16], "little"))
    expected = philox((1, 0, 0, 0), key) + philox((2, 0, 0, 0), key)
    assert [int(w) for w in words(b"key", "label", 7)] == expected[:7]


def test_the_digest_is_sha256_with_the_length_of_the_key_in_front():
    assert derive(b"ab", "c") == hashlib.sha256((2).to_bytes(8, "little") + b"abc").digest()
    assert derive(b"ab", "c") != derive(b"a", "bc")


@pytest.mark.parametrize(
    ("method", "arguments", "digest"),
    [
        ("raw", ((5,),), "236853ae197e5073"),
        ("uniform", ((5,),), "dd6545dbcbbbaaeb"),
        ("normal", ((5,),), "9fb8c3a919b71eab"),
        ("integers", (-3, 1000, (50,)), "4fafbb7849e900df"),
        ("permutations", (3, 10), "66cb0436de14140e"),
        ("distinct", (3, 10, 4), "c269d1c27cf08398"),
        ("signs", ((20,),), "cfc874bed74fc95c"),
    ],
)
def test_every_distribution_draws_the_recorded_bits(method, arguments, digest):
    drawn = np.ascontiguousarray(getattr(Words(b"golden"), method)("stream", *arguments))
    little = drawn.astype(drawn.dtype.newbyteorder("<"))
    assert hashlib.sha256(little.tobytes()).hexdigest()[:16] == digest


def test_asking_for_more_words_keeps_those_before():
    assert np.array_equal(words(b"k", "a", 1000)[:10], words(b"k", "a", 10))


def test_labels_and_children_name_different_streams():
    family = Words(b"k")
    streams = [
        family.raw("a", (4,)),
        family.raw("b", (4,)),
        family.child("a").raw("a", (4,)),
        Words(b"l").raw("a", (4,)),
    ]
    assert len({tuple(s.tolist()) for s in streams}) == 4


def test_normal_deviates_are_centred_sums_of_twelve_halves_of_words():
    raw = words(b"k", "n", 12)
    for i, deviate in enumerate(Words(b"k").normal("n", (2,))):
        halves = [int(w) & 0xFFFFFFFF for w in raw[6 * i : 6 * i + 6]]
        halves += [int(w) >> 32 for w in raw[6 * i : 6 * i + 6]]
        assert Fraction(float(deviate)) == Fraction(sum(halves) - 6 * (2**32 - 1), 2**32)


def test_normal_deviates_have_mean_zero_and_variance_one_within_five_standard_errors():
    n = 200_000
    z = Words(b"moments").normal("n", (n,))
    assert abs(z.mean()) < 5 / n**0.5
    # fourth moment 3 - 1/10, so the variance of the mean square is (2.9 - 1) / n
    assert abs((z**2).mean() - 1) < 5 * (1.9 / n) ** 0.5
    assert np.abs(z).max() <= 6


def test_normal_deviates_do_not_depend_on_how_they_are_cut_into_blocks(monkeypatch):
    whole = Words(b"k").normal("n", (1000,))
    monkeypatch.setattr("kernelcontracts.strata.bits._BLOCK", 7)
    assert np.array_equal(whole, Words(b"k").normal("n", (1000,)))


def test_uniform_numbers_are_multiples_of_two_to_the_minus_53_below_one():
    u = Words(b"k").uniform("u", (1000,))
    assert (np.ldexp(u, 53) == np.floor(np.ldexp(u, 53))).all()
    assert u.min() >= 0
    assert u.max() < 1


def test_integers_reach_both_ends_equally_often():
    drawn = Words(b"k").integers("i", -1, 4, (60_000,))
    counts = np.array([np.sum(drawn == v) for v in range(-1, 5)])
    assert counts.sum() == 60_000
    # chi-squared with 5 degrees of freedom exceeds 30 with probability 1.5e-5; the key is fixed
    assert float(((counts - 10_000) ** 2 / 10_000).sum()) < 30


def test_integers_below_a_bound_just_over_a_power_of_two_are_not_folded():
    drawn = Words(b"k").below("i", np.full(30_000, 2**20 + 1))
    assert drawn.max() <= 2**20
    assert abs(float(np.mean(drawn < 2**19)) - 0.5) < 5 * 0.5 / 30_000**0.5


def test_permutations_of_three_come_in_all_orders_equally_often():
    drawn = Words(b"k").permutations("p", 6000, 3)
    counts = Counter(map(tuple, drawn.tolist()))
    assert set(counts) == set(permutations(range(3)))
    assert sum((n - 1000) ** 2 / 1000 for n in counts.values()) < 30


def test_distinct_picks_are_distinct_and_every_ordered_pair_is_as_likely():
    drawn = Words(b"k").distinct("d", 12_000, 4, 2)
    counts = Counter(map(tuple, drawn.tolist()))
    assert len(counts) == 12
    assert all(a != b for a, b in counts)
    assert sum((n - 1000) ** 2 / 1000 for n in counts.values()) < 45


@pytest.mark.parametrize(("length", "size"), [(1, 1), (5, 5), (17, 6)])
def test_as_many_distinct_picks_as_members_give_all_members(length, size):
    drawn = Words(b"k").distinct("d", 20, length, size)
    assert all(len(set(row)) == size for row in drawn.tolist())
    assert drawn.min() >= 0
    assert drawn.max() < length


@pytest.mark.parametrize("method", ["raw", "flags", "signs", "uniform", "normal"])
def test_empty_shapes_give_empty_arrays(method):
    assert getattr(Words(b"k"), method)("x", (3, 0)).shape == (3, 0)
