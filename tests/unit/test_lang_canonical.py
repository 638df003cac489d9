"""Hashes: what carries meaning and what does not."""

from __future__ import annotations

import pytest

from kernelcontracts.lang.canonical import canonical, document_hash, semantic_hash
from kernelcontracts.lang.library import Library
from kernelcontracts.lang.parse import parse
from kernelcontracts.lang.source import Source


def declaration(text):
    file = parse(Source("t", f"kernel-contracts 0.1\nmodule m\n{text}\n")).file
    assert file is not None
    return file.declarations[0]


def expression(text):
    return declaration(f"plan p @1 {{\n  e: {text}\n}}").settings[0].value


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("0.0025", "2.50e-3"),
        ("a + b * c", "(c * b) + a"),
        ("(a + b) + c", "a + (b + c)"),
        ("a and (b and c)", "(c and a) and b"),
        ("{a, b, b}", "{b, a}"),
        ("f(k = a, m = b)", "f(m = b, k = a)"),
        ("sum[k < K](a[k])", "sum[j < K](a[j])"),
        ("sum[k < K](sum[j < k](a[j, k]))", "sum[j < K](sum[k < j](a[k, j]))"),
        ("sum[x < K](sum[x < K](sum[y < K](x * y)))", "sum[a < K](sum[b < K](sum[c < K](b * c)))"),
    ],
)
def test_spellings_of_one_meaning_have_one_hash(one, other):
    assert semantic_hash(expression(one)) == semantic_hash(expression(other))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("a - b", "b - a"),
        ("a @ b", "b @ a"),
        ("a / b", "b / a"),
        ("a implies b", "b implies a"),
        ("f(a, b)", "f(b, a)"),
        ("a < b", "a <= b"),
        ("1 ulp", "1 rel"),
        ("1 ulp", "1 ulp at ref"),
        ("sum[k < K](a[k])", "sum[k < K](a[j])"),
        ("sum[k < K](sum[j < K](a[j, k]))", "sum[k < K](sum[j < K](a[k, j]))"),
        ("a + b", "a * b"),
        ('"a"', "a"),
        ("{a}", "a"),
    ],
)
def test_different_meanings_have_different_hashes(one, other):
    assert semantic_hash(expression(one)) != semantic_hash(expression(other))


CONTRACT = """\
## {doc}
contract C-PRC-01 @1 {{
  post {{
    relation r: for {t} in s: under({t}) within w of ref
  }}
  tolerance {{
    w = 1 ulp because {kind} "{why}"
  }}
  violation {{
    late "{message}" when {{ r.stale_rate > {rate} }}
  }}
}}"""
PLAIN = {"doc": "a", "t": "t", "kind": "derived", "why": "b", "message": "c", "rate": "0"}


def contract(**changes):
    return declaration(CONTRACT.format(**{**PLAIN, **changes}))


@pytest.mark.parametrize("change", ["doc", "t", "kind", "why", "message"])
def test_words_for_people_are_in_the_document_hash_alone(change):
    other = contract(**{change: "budget" if change == "kind" else "other"})

    assert semantic_hash(other) == semantic_hash(contract())
    assert document_hash(other) != document_hash(contract())


def test_a_condition_is_in_both_hashes():
    assert semantic_hash(contract(rate="1")) != semantic_hash(contract())


def test_the_indices_of_a_meaning_are_bound():
    text = "operator f(A: T[N]) -> B: T[N] {{\n  meaning B[{i}] = A[{i}] + 1\n}}"

    assert semantic_hash(declaration(text.format(i="i"))) == semantic_hash(declaration(text.format(i="n")))


def test_the_kind_of_a_reference_is_hashed():
    text = "contract C-PRC-01 @1 {{\n  reference {kind} {{\n    a = b\n  }}\n}}"

    hashes = {semantic_hash(declaration(text.format(kind=k))) for k in ("exact", "enclosure", "property")}

    assert len(hashes) == 3


def test_the_shipped_declarations_have_hashes_of_their_own():
    library = Library.shipped()
    declared = [d for file, _ in library.files for d in file.declarations]

    assert len({semantic_hash(d) for d in declared}) == len(declared)


def test_the_canonical_form_is_pinned():
    """A change here changes every hash that anybody has written down."""
    assert canonical(expression("b + 2 * a")) == (
        b'{"kind":"binary","op":"+","operands":[{"id":"b","kind":"name"},{"kind":"binary","op":"*",'
        b'"operands":[{"id":"a","kind":"name"},{"kind":"number","value":"2"}]}]}'
    )
    assert semantic_hash(expression("b + 2 * a")).startswith("kc1:")
    assert len(semantic_hash(expression("a"))) == 4 + 64
