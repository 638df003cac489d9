"""Laws of the language: text, tree, JSON and hash agree, for any tree and any text."""

from __future__ import annotations

import random
from dataclasses import fields, replace
from fractions import Fraction

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from kernelcontracts.lang import decl, expr
from kernelcontracts.lang.canonical import document_hash, semantic_hash
from kernelcontracts.lang.format import format_text
from kernelcontracts.lang.json import to_json, to_json_text
from kernelcontracts.lang.json_read import JsonError, from_json
from kernelcontracts.lang.library import shipped_sources
from kernelcontracts.lang.names import RESERVED
from kernelcontracts.lang.parse import parse
from kernelcontracts.lang.printer import print_expr, print_file
from kernelcontracts.lang.reparse import reparse
from kernelcontracts.lang.source import Source, decode_source
from kernelcontracts.report.diagnostics import render, render_concise, render_json

WORDS = [
    "A",
    "B",
    "C",
    "x",
    "ref",
    "worst",
    "none",
    "inputs",
    "ladder",
    "meaning",
    "plan",
    "error",
    "good",
    "let_",
    "K",
]
names = st.sampled_from(WORDS) | st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,6}", fullmatch=True).filter(
    lambda text: text not in RESERVED
)
texts = st.text(alphabet=st.characters(codec="utf-8"), max_size=12)
values = st.builds(
    lambda digits, exponent: Fraction(digits) * Fraction(10) ** exponent,
    st.integers(0, 10**6),
    st.integers(-12, 12),
) | st.builds(lambda m, e: Fraction(m) / 2**e, st.integers(0, 2**24), st.integers(0, 150))
numbers = st.builds(expr.Number, values)
atoms = numbers | st.builds(expr.Name, names) | st.builds(expr.Text, texts)


def _many(strategy, least=0, most=2, key=None):
    """Return tuples; of items with one key the first is kept.

    Not with ``unique_by``: a rejected item makes Hypothesis print its strategy, and recursive ones print for seconds.
    """

    def first_ones(items):
        return tuple({key(item) if key else i: item for i, item in reversed(list(enumerate(items)))}.values())[::-1]

    return st.lists(strategy, min_size=least, max_size=most).map(first_ones)


def _name_of(pair):
    return pair[0]


def _expressions(inner):
    pair = st.tuples(names, inner)
    kwargs = _many(pair, key=_name_of)
    args = st.lists(inner, max_size=3).map(tuple)
    index = inner | st.builds(expr.Star, names)
    return st.one_of(
        st.builds(expr.Member, inner, names | st.sampled_from(sorted(RESERVED))),
        st.builds(expr.Unary, st.sampled_from(["-", "not", "abs"]), inner),
        st.builds(
            expr.Binary, st.sampled_from(["+", "-", "*", "/", "@", "^", "..", "and", "or", "implies"]), inner, inner
        ),
        st.lists(inner, min_size=2, max_size=4).flatmap(_comparison),
        st.builds(expr.In, inner, inner),
        st.builds(expr.Within, inner, inner, inner),
        st.builds(expr.Identical, inner, inner),
        st.builds(expr.If, inner, inner, inner),
        st.builds(expr.Call, names | st.sampled_from(["by", "where"]), args, kwargs),
        st.builds(expr.Feature, names, args),
        st.builds(expr.Index, inner, st.lists(index, min_size=1, max_size=3).map(tuple)),
        st.builds(expr.Reduce, st.sampled_from(["sum", "max", "all"]), names, inner, inner),
        st.builds(expr.Quantity, inner, st.sampled_from(["ulp", "rel", "abs"]), st.none() | inner, st.none() | inner),
        st.builds(expr.SetLiteral, args),
        st.builds(expr.RecordLiteral, _many(pair, 1, key=_name_of)),
    )


def _comparison(operands):
    ops = st.lists(
        st.sampled_from(["<", "<=", ">", ">=", "==", "!="]), min_size=len(operands) - 1, max_size=len(operands) - 1
    )
    return ops.map(lambda signs: expr.Compare(tuple(operands), tuple(signs)))


expressions = st.recursive(atoms, _expressions, max_leaves=12)
small = st.recursive(atoms, _expressions, max_leaves=3)


versions = st.sampled_from(["1", "1.2", "1.0.0"])
ids = st.sampled_from(["C-PRC-01", "C-ORD-02-MATMUL", "C-EXC-9A-X1"])
typings = st.builds(decl.Typing, _many(names, 1), _many(names))
labelled = st.builds(decl.Labelled, names, small)
lets = st.builds(decl.Let, names, small)
becauses = st.builds(decl.Because, st.sampled_from(["derived", "budget"]), texts)
bounds = st.builds(decl.Bound, names, small, st.none() | becauses)
plan_refs = st.builds(decl.PlanRef, st.sampled_from(["kc.plans.x", "mine"]), versions) | st.just(
    decl.PlanRef("op.plan", "")
)
docs = st.lists(st.from_regex(r"[a-z#]?[a-z ]{0,8}[a-z.]", fullmatch=True), max_size=2).map("\n".join)
draws = st.builds(decl.Draw, _many(names, 1), small)
strata = st.builds(decl.Stratum, names, _many(draws, 1), st.integers(1, 99))
protocols = {
    "strata": _many(strata, key=lambda s: s.name),
    "settings": _many(labelled, key=lambda s: s.label),
}
plans = st.builds(decl.Plan, st.sampled_from(["kc.plans.x", "plan.by"]), versions, doc=docs, **protocols)

decision_values = (
    st.builds(expr.Name, names)
    | st.builds(expr.Call, names, _many(small))
    | st.builds(lambda a, b: expr.Binary("..", a, b), numbers, numbers)
)
decisions = st.builds(decl.Decision, names, _many(_many(decision_values, 1), 1, 3), st.none() | names)
dims = st.builds(expr.Star, names) | st.builds(expr.Name, names) | numbers
params = st.builds(decl.Param, names, names, _many(dims, most=3))
meanings = st.tuples(st.builds(expr.Index, st.builds(expr.Name, names), _many(dims, 1)), small)


@st.composite
def operators(draw):
    tensors = draw(_many(params, 2, 4, key=lambda p: p.name))
    cut = draw(st.integers(0, len(tensors) - 1))
    target, meaning = draw(st.just((None, None)) | meanings)
    named = draw(_many(lets | bounds | labelled, most=5, key=lambda x: getattr(x, "name", None) or x.label))
    return decl.Operator(
        draw(names),
        tensors[:cut],
        tensors[cut:],
        families=draw(_many(names)),
        types=draw(_many(typings)),
        target=target,
        meaning=meaning,
        decisions=draw(_many(decisions, key=lambda d: d.name)),
        events=tuple(x for x in named if isinstance(x, decl.Labelled)),
        lets=tuple(x for x in named if isinstance(x, decl.Let)),
        errors=tuple(x for x in named if isinstance(x, decl.Bound)),
        plan=draw(st.none() | plan_refs),
        doc=draw(docs),
    )


on = _many(names)
clauses = st.one_of(
    st.builds(decl.Always, names, small, on),
    st.builds(decl.OnAverage, names, small, on),
    st.builds(decl.Relation, names, names, small, small, st.none() | small, on),
    st.builds(decl.Match, names, small, _many(st.builds(decl.Arm, names, small)), st.none() | small, on),
    st.builds(decl.Ladder, names, small, _many(st.builds(decl.Step, names, st.none() | small)), on),
)
references = st.builds(decl.Reference, st.just("exact"), meaning=st.just(True)) | st.builds(
    decl.Reference, st.sampled_from(["exact", "enclosure", "property"]), _many(lets)
)
changes = _many(st.tuples(names, small), key=lambda item: item[0])
calls = st.builds(expr.Call, names, _many(small))
tails = {"breaks": st.none() | names, "signature": st.none() | names, "types": _many(typings)}
trials = (
    st.builds(decl.Trial, st.sampled_from(["good", "bad"]), changes, **tails)
    | st.builds(decl.Trial, st.sampled_from(["good", "bad"]), fault=calls, **tails)
    | st.builds(decl.Trial, st.just("baseline"), fault=calls, **tails)
)


@st.composite
def contracts(draw):
    generic = draw(st.just((None, None)) | st.tuples(names, names))
    named = draw(_many(lets | bounds, most=4, key=lambda x: x.name))
    bound = tuple(x for x in named if isinstance(x, decl.Bound))
    return decl.Contract(
        draw(ids),
        draw(versions),
        variable=generic[0],
        family=generic[1],
        companion=draw(st.none() | st.builds(decl.Companion, ids, versions)),
        scope=draw(st.none() | st.builds(decl.Scope, names, _many(typings), _many(small))),
        lets=tuple(x for x in named if isinstance(x, decl.Let)),
        pre=draw(st.none() | _many(labelled, key=lambda x: x.label)),
        post=draw(st.none() | _many(clauses, most=4, key=lambda x: x.label)),
        tolerance=draw(st.sampled_from([None, bound])),
        reference=draw(st.none() | references),
        measure=draw(st.none() | st.builds(decl.Measure, st.none() | plan_refs, **protocols)),
        violation=draw(st.none() | _many(st.builds(decl.Signature, names, texts, small), key=lambda x: x.name)),
        calibrate=draw(st.none() | st.builds(decl.Calibrate, changes, _many(labelled), _many(trials, most=4))),
        doc=draw(docs),
    )


claims = (
    st.builds(decl.Claim, names, small, st.none(), st.none())
    | st.builds(decl.Claim, names, small, st.sampled_from(["asserted", "proved"]), st.none() | texts)
    | st.builds(decl.Claim, names, st.none(), st.none(), st.none() | texts)
)
claim_blocks = st.builds(decl.ClaimBlock, names, _many(typings), _many(claims, key=lambda c: c.decision))
sheets = st.builds(
    decl.ClaimSheet, texts, st.none() | texts, _many(st.tuples(names, texts)), _many(claim_blocks), doc=docs
)
declarations = plans | operators() | contracts() | sheets
uses = st.builds(decl.Use, st.sampled_from(["kc.ops", "a.by.c"]), _many(names), st.none() | st.just("kc1:0123abcd"))
files = st.builds(
    decl.File, st.just("0.1"), st.sampled_from(["m", "kc.claims.x"]), _many(uses), _many(declarations, most=2)
)


@settings(deadline=None, max_examples=150)
@given(expressions)
def test_parsing_the_text_of_an_expression_gives_the_expression(tree):
    assert reparse(tree) == tree


@settings(deadline=None, max_examples=30)
@given(expressions, st.integers(20, 70))
def test_where_lines_break_does_not_change_an_expression(tree, width):
    text = print_expr(tree, indent=4, column=10, width=width)
    file = parse(Source("t", f"kernel-contracts 0.1\nmodule m\nplan p @1 {{\n  value: {text}\n}}\n")).file

    assert file is not None
    assert file.declarations[0].settings[0].value == tree


@settings(deadline=None, max_examples=30)
@given(files)
def test_parsing_the_text_of_a_file_gives_the_file(tree):
    text = print_file(tree)
    result = parse(Source("t", text))

    assert result.file == tree
    assert print_file(result.file) == text


@settings(deadline=None, max_examples=30)
@given(files)
def test_json_holds_the_whole_tree(tree):
    assert from_json(to_json_text(tree)) == tree
    assert from_json(to_json(tree)) == tree


@settings(deadline=None, max_examples=30)
@given(files)
def test_formatting_is_idempotent(tree):
    once = format_text(Source("t", print_file(tree))).text

    assert once == print_file(tree)
    assert format_text(Source("t", once)).text == once


# --- hashes ----------------------------------------------------------------------------------------------------------


def _respell(node, rng):
    """Return another spelling of a tree: operands turned round, numbers written otherwise, other reasons."""
    changes = {}
    for field in fields(node):
        value = getattr(node, field.name)
        if isinstance(value, expr.Node):
            changes[field.name] = _respell(value, rng)
        elif isinstance(value, tuple):
            changes[field.name] = tuple(
                _respell(v, rng) if isinstance(v, expr.Node) else _respell_pair(v, rng) for v in value
            )
    node = replace(node, **changes)
    match node:
        case expr.Binary(("+" | "*" | "and" | "or") as op, left, right) if rng.random() < 0.7:
            return expr.Binary(op, right, left)
        case expr.Number(value):
            return expr.Number(value, f"{value.numerator}.0" if value.denominator == 1 else None)
        case expr.SetLiteral(items):
            return expr.SetLiteral(tuple(rng.sample(items, len(items))))
        case expr.Call(function, args, kwargs):
            return expr.Call(function, args, tuple(rng.sample(kwargs, len(kwargs))))
        case decl.Because():
            return replace(node, text="another reason")
        case decl.Signature():
            return replace(node, message="another sentence")
    return replace(node, doc="other words") if hasattr(node, "doc") else node


def _respell_pair(value, rng):
    if isinstance(value, tuple):
        return tuple(_respell(v, rng) if isinstance(v, expr.Node) else v for v in value)
    return value


@settings(deadline=None, max_examples=50)
@given(contracts() | operators() | plans, st.randoms(use_true_random=False))
def test_equal_meanings_have_equal_hashes(tree, rng):
    assert semantic_hash(_respell(tree, rng)) == semantic_hash(tree)


def _first(node, kind):
    """Return the first node of a kind in a tree, and a function that puts another in its place."""
    for field in fields(node):
        value = getattr(node, field.name)
        if isinstance(value, kind):
            return value, lambda new, node=node, name=field.name: replace(node, **{name: new})
        if isinstance(value, expr.Node):
            found = _first(value, kind)
            if found is not None:
                inner, put = found
                return inner, lambda new, node=node, name=field.name, put=put: replace(node, **{name: put(new)})
    return None


@settings(deadline=None, max_examples=50)
@given(expressions)
def test_another_number_or_name_is_another_meaning(tree):
    found = _first(tree, expr.Number) or _first(tree, expr.Name)
    assume(found is not None)
    node, put = found
    other = expr.Number(node.value + 1) if isinstance(node, expr.Number) else expr.Name(f"{node.id}_other")

    assert semantic_hash(put(other)) != semantic_hash(tree)


@settings(deadline=None, max_examples=30)
@given(plans | operators())
def test_docs_change_the_document_hash_alone(tree):
    other = replace(tree, doc=f"{tree.doc}.")

    assert semantic_hash(other) == semantic_hash(tree)
    assert document_hash(other) != document_hash(tree)


# --- no text is too strange ------------------------------------------------------------------------------------------


def _survives(text):
    source = Source("t.kc", text)
    result = parse(source)
    formatted = format_text(source)
    for view in (render, render_concise, render_json):
        assert isinstance(view(result.diagnostics), str)
    assert (result.file is None) == any(d.code == "E0101" for d in result.diagnostics)
    if result.file is not None:
        assert formatted.text is not None
        assert reparse(result.file) == result.file


LIBRARY = [source.text for source in shipped_sources()]


@settings(deadline=None, max_examples=50)
@given(st.text(max_size=60), st.booleans())
def test_any_text_gives_a_tree_or_diagnostics(text, header):
    _survives(f"kernel-contracts 0.1\nmodule m\n{text}" if header else text)


@settings(deadline=None, max_examples=50)
@given(st.binary(max_size=60))
def test_any_bytes_give_a_source_or_a_diagnostic(data):
    source = decode_source("t.kc", data)

    if isinstance(source, Source):
        _survives(source.text)
    else:
        assert source.code == "E0106"


@settings(deadline=None, max_examples=30)
@given(st.sampled_from(LIBRARY), st.integers(0, 2**32))
def test_damaged_library_texts_give_a_tree_or_diagnostics(text, seed):
    rng = random.Random(seed)
    for _ in range(rng.randint(1, 3)):
        at = rng.randrange(len(text))
        text = (
            text[:at]
            + rng.choice(["", "(", ")", "{", "}", "|", '"', "\n", "#", "@", "= ", "for ", "é"])
            + text[at + rng.randint(0, 3) :]
        )
    _survives(text)


@settings(deadline=None, max_examples=30)
@given(st.sampled_from(LIBRARY), st.integers(0, 2**32))
def test_formatting_keeps_every_comment(text, seed):
    rng = random.Random(seed)
    lines = text.split("\n")
    for i in range(rng.randint(1, 6)):
        at = rng.randrange(len(lines))
        if "#" in lines[at] or '"' in lines[at]:
            lines.insert(at, f"  # remark {i}")
        else:
            lines[at] += f"  # remark {i}"
    source = Source("t.kc", "\n".join(lines))
    result = format_text(source)

    assert result.text is not None
    assert _comments(result.text) == _comments(source.text)
    assert format_text(Source("t.kc", result.text)).text == result.text


def _comments(text):
    return sorted(c.text.lstrip("# ") for c in parse(Source("t.kc", text)).comments)


@settings(deadline=None, max_examples=30)
@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(["kind", "name", "value", "op", "left", "args"]),
                inner | st.sampled_from(["name", "call", "binary"]),
                max_size=4,
            )
        ),
    )
)
def test_any_json_gives_a_tree_or_an_error_with_a_path(data):
    try:
        tree = from_json(data if isinstance(data, dict) else {"kind": data})
    except JsonError as error:
        message = str(error)
    else:
        message = "$"
        assert reparse(tree) == tree

    assert message.startswith("$")
    assert "\n" not in message
