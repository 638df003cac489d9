"""Parsing: the shipped library, layout, recovery, limits."""

from __future__ import annotations

from fractions import Fraction

import pytest

from kernelcontracts.lang import decl, expr
from kernelcontracts.lang.library import shipped_sources
from kernelcontracts.lang.parse import MAX_ERRORS, parse
from kernelcontracts.lang.parse_grammar import build
from kernelcontracts.lang.parse_layout import MAX_DEPTH
from kernelcontracts.lang.source import Source

HEADER = "kernel-contracts 0.1\nmodule m\n"


def read(text):
    return parse(Source("t.kc", HEADER + text))


def value(text):
    """Return the expression that a text denotes."""
    result = read(f"plan p @1 {{\n  e: {text}\n}}\n")
    assert result.file is not None, result.diagnostics
    return result.file.declarations[0].settings[0].value


def messages(text):
    return [(d.line - 2, d.code, d.message) for d in read(text).diagnostics]


@pytest.mark.parametrize("source", shipped_sources(), ids=lambda s: s.name)
def test_shipped_files_parse_without_a_word(source):
    result = parse(source)

    assert result.diagnostics == ()
    assert result.file is not None


def test_the_grammar_is_lalr_without_conflicts_and_its_terminals_are_disjoint():
    pytest.importorskip("interegular")

    assert build(strict=True).parser.options.strict


def test_numbers_are_exact_whatever_their_spelling():
    assert value("0.0025") == value("2.5e-3") == expr.Number(Fraction(1, 400))
    assert value("0x1.8p-3") == expr.Number(Fraction(3, 16))
    assert value("0.0025").text == "0.0025"


def test_ranges_and_units_need_no_spaces():
    assert value("1..4") == expr.Binary("..", expr.Number(Fraction(1)), expr.Number(Fraction(4)))
    assert value("2ulp") == expr.Quantity(expr.Number(Fraction(2)), "ulp")


def test_signs_bind_as_the_reference_says():
    a, b, c = expr.Name("a"), expr.Name("b"), expr.Name("c")

    assert value("-a ^ b") == expr.Unary("-", expr.Binary("^", a, b))
    assert value("a - b - c") == expr.Binary("-", expr.Binary("-", a, b), c)
    assert value("a implies b implies c") == expr.Binary("implies", a, expr.Binary("implies", b, c))
    assert value("not a and b") == expr.Binary("and", expr.Unary("not", a), b)
    assert value("a + b @ c") == expr.Binary("+", a, expr.Binary("@", b, c))
    assert value("|a| @ ||b||") == expr.Binary("@", expr.Unary("abs", a), expr.Unary("abs", expr.Unary("abs", b)))


def test_what_is_called_decides_the_node():
    assert value("f(a, k = b)") == expr.Call("f", (expr.Name("a"),), (("k", expr.Name("b")),))
    assert value("r.f(a)") == expr.Feature("f", (expr.Name("a"),))
    assert value("r.f") == expr.Member(expr.Name("r"), "f")
    assert value("sum[k < K](a)") == expr.Reduce("sum", "k", expr.Name("K"), expr.Name("a"))
    assert value("by(2, 3)").function == "by"
    assert value("where(a, b, c)").function == "where"


def test_braces_hold_a_set_or_a_record():
    assert value("{}") == expr.SetLiteral(())
    assert value("{a, b}") == expr.SetLiteral((expr.Name("a"), expr.Name("b")))
    assert value("{k = a}") == expr.RecordLiteral((("k", expr.Name("a")),))


def test_levels_of_a_decision_group_incomparable_values():
    operator = read("operator f(A: T[N]) -> B: T[N] {\n  decision d : a > b | c(n) by cost\n}\n").file.declarations[0]

    assert operator.decisions == (
        decl.Decision("d", ((expr.Name("a"),), (expr.Name("b"), expr.Call("c", (expr.Name("n"),)))), "cost"),
    )


def test_empty_sections_are_present_and_absent_ones_are_not():
    contract = read("contract C-PRC-01 @1 {\n  pre { }\n  tolerance none\n  violation { }\n}\n").file.declarations[0]

    assert (contract.pre, contract.tolerance, contract.violation) == ((), (), ())
    assert (contract.post, contract.scope, contract.calibrate) == (None, None, None)


def test_doc_comments_belong_to_the_next_declaration():
    file = read(
        "## one\n##\n# not this\n##  two\nplan p @1 {\n  ## inside\n}\n## three\nplan q @1 { }\n## after\n"
    ).file

    assert [d.doc for d in file.declarations] == ["one\n\n two", "three"]


@pytest.mark.parametrize(
    "text",
    [
        "a +\n    b",
        "a\n    + b",
        "f(\n    a\n    ,b\n  )",
        "{\n a,\n b\n }",
        "if a\n then b\n else c",
        "f(\n\n# remark\n a)",
    ],
)
def test_an_item_goes_on_where_the_reference_says(text):
    assert value(text) == value(" ".join(line for line in text.split("\n") if "#" not in line))


def test_windows_line_ends_are_line_ends():
    assert parse(Source("t", "kernel-contracts 0.1\r\nmodule m\r\nplan p @1 {\r\n  a: b\r\n}\r\n")).file is not None


def test_every_wrong_item_is_reported_once():
    text = (
        "contract C-PRC-01 @1 {\n  scoep { x y z }\n  pre {\n    a: b = c\n    d: |x\n    e: f\n  }\n"
        "  pst { }\n}\nplan p {\n}\n"
    )

    assert messages(text) == [
        (2, "E0101", "`scoep` does not begin a section here"),
        (4, "E0101", "`=` names a value; it does not compare"),
        (5, "E0101", "`|` is never closed"),
        (8, "E0101", "`pst` does not begin a section here"),
        (10, "E0101", "the version is missing"),
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("plan p @1 {\n  a: 'b'\n}\n", "the character `'` has no meaning in this language"),
        ("plan p @1 {\n  a: ulp\n}\n", "`ulp` is a unit and follows a value"),
        ("plan p @1 {\n  a: x @1\n}\n", "`@1` is a version, not a product"),
        ("plan p @1 {\n  a: b c\n}\n", "`c` does not go on the line"),
        ("plan p @1 {\n  a: b)\n}\n", "`)` closes nothing"),
        ("}\n", "`}` closes nothing"),
        ("plan p @1 {\n  a: b\n", "`{` is never closed"),
        ("plan p @1 {\n  a: (b\n}\n", "`(` is never closed"),
        ("plan p @1 {\n  a: b(c)(d)\n}\n", "only a function can be called"),
        ("plan p @1 {\n  a: sum[k](d)\n}\n", "`sum[…]` binds one index below a bound and has one body"),
        ("plan p @1 {\n  inputs g y2: A ~ b\n}\n", "`y2` is not a weight"),
        ("contract C-PRC-01 @1 {\n  measure from my.plan { }\n}\n", "the plan `my.plan` is named without its version"),
        ("contract C-PRC-01 @1 {\n  tolerance some\n}\n", "`tolerance some` means nothing"),
        ("contract C-PRC-01 @1 {\n  reference near { }\n}\n", "there is no reference of kind `near`"),
        ("contract C-PRC-01 @1 {\n  calibrate {\n    bad luck\n  }\n}\n", "`bad luck` says nothing about a decision"),
        ('claims "a" {\n  for m {\n    d = v by hearsay "x"\n  }\n}\n', "there is no evidence of kind `hearsay`"),
        (
            'plan p @1 {\n  a: "\\q"\n}\n',
            '`\\q` is not an escape; a text may hold `\\"`, `\\\\`, `\\n`, `\\t` and `\\u{…}`',
        ),
    ],
)
def test_a_mistake_is_worded_in_the_reader_s_terms(text, message):
    assert [m for _, code, m in messages(text) if code == "E0101"] == [message]


def test_messages_are_one_line_and_begin_in_lower_case():
    for text in ("}", "plan p {", "contract C @1 {", 'plan p @1 {\n a: "x\n}', "(((", "plan p @1 {\n a: 1e99999\n}"):
        for diagnostic in read(text).diagnostics:
            assert "\n" not in diagnostic.message
            assert not diagnostic.message[0].isupper()
            assert not diagnostic.message.endswith(".")


@pytest.mark.parametrize(
    "text",
    [
        "(" * 20_000,
        "plan p @1 {\n a: " + "(" * 20_000,
        "plan p @1 {\n a: " + "-" * 20_000 + "x\n}",
        "plan p @1 {\n a: " + "|" * 20_000 + "x\n}",
        "plan p @1 {\n a: " + "{" * 20_000,
        "plan p @1 {\n a: " + "+".join("x" * 20_000) + "\n}",
        "plan p @1 {\n a: " + "x" + "[i]" * 20_000 + "\n}",
        "plan p @1 {\n a: " + "((x) + (y)) * " * 20_000 + "x\n}",
        "plan p @1 {\n a: " + "if a then b else " * 20_000 + "c\n}",
        "contract C-PRC-01 @1 " + "{\n" * 20_000,
    ],
    ids=range(10),
)
def test_deep_nesting_is_a_diagnostic(text):
    result = read(text)

    assert result.file is None
    assert len(result.diagnostics) <= MAX_ERRORS


def test_the_depth_limit_is_exact():
    fits, too_deep = "(" * (MAX_DEPTH - 2) + "x" + ")" * (MAX_DEPTH - 2), "+".join("x" * (MAX_DEPTH + 2))

    assert value(fits) == expr.Name("x")
    assert messages(f"plan p @1 {{\n a: {too_deep}\n}}") == [
        (2, "E0101", f"this expression nests deeper than {MAX_DEPTH} levels")
    ]


def test_long_lists_are_no_deep_expressions():
    text = "{" + ", ".join(["-1"] * 5000) + "}"

    assert len(value(text).items) == 5000


@pytest.mark.parametrize("number", ["1e999999999", "1e-99999", "0x1p99999", "9" * 5000, "1e" + "9" * 10_000])
def test_absurd_numbers_are_refused_at_once(number):
    result = read(f"plan p @1 {{\n a: {number}\n}}\n")

    assert result.file is None
    assert [d.label for d in result.diagnostics] == ["this literal"]


def test_a_file_of_nothing_but_errors_stops_after_some():
    assert len(read("?\n" * 1000).diagnostics) == MAX_ERRORS


def test_spans_cover_what_they_name():
    text = HEADER + "contract C-PRC-01 @1 {\n  pre {\n    a: (b + c) * d\n  }\n}\n"
    contract = parse(Source("t", text)).file.declarations[0]
    product = contract.pre[0].value

    assert text[contract.span.start : contract.span.end] == text[len(HEADER) : -1]
    assert text[product.span.start : product.span.end] == "(b + c) * d"
    assert text[product.left.span.start : product.left.span.end] == "(b + c)"
