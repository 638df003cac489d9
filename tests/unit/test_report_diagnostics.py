"""Diagnostics in full, a line each, and as JSON."""

from __future__ import annotations

import json

from kernelcontracts.lang.diagnostics import Label, diagnostic
from kernelcontracts.lang.source import Source
from kernelcontracts.lang.span import Span
from kernelcontracts.report.diagnostics import render, render_concise, render_json, summary

SOURCE = Source("a.kc", "one\n\ttwo 日本 = |C|\nthree\n")
FINDING = diagnostic(
    "E0301",
    "a tolerance may not depend on the candidate",
    source=SOURCE,
    span=Span(14, 17),
    label="reads the output",
    secondary=[Label(Span(0, 3), "declared here")],
    notes=["why"],
    help="do this:\n  that",
)


def test_a_diagnostic_in_full_shows_its_places_and_its_advice():
    assert render([FINDING]) == (
        "error[E0301]: a tolerance may not depend on the candidate\n"
        " --> a.kc:2:11\n"
        "  |\n"
        "2 |  two 日本 = |C|\n"
        "  |             ^^^ reads the output\n"
        "1 | one\n"
        "  | --- declared here\n"
        "  = note: why\n"
        "  = help: do this:\n"
        "      that\n"
        "\n"
    )


def test_a_diagnostic_in_a_line_says_where_and_what():
    assert render_concise([FINDING]) == "a.kc:2:11: error[E0301]: a tolerance may not depend on the candidate\n"


def test_a_diagnostic_without_a_text_has_no_excerpt():
    lost = diagnostic("E0106", "`b.kc` does not exist", source=Source("b.kc", ""), span=Span(0, 0))

    assert render([lost]) == "error[E0106]: `b.kc` does not exist\n --> b.kc\n\n"


def test_json_has_every_part():
    (data,) = json.loads(render_json([FINDING]))

    assert data["code"] == "E0301"
    assert data["name"] == "candidate-in-tolerance"
    assert data["place"] == {
        "file": "a.kc", "label": "reads the output", "line": 2, "column": 11, "end_line": 2, "end_column": 14
    }  # fmt: skip
    assert data["secondary"][0]["line"] == 1
    assert data["help"] == "do this:\n  that"


def test_control_characters_of_a_text_do_not_reach_the_terminal():
    source = Source("a.kc", "\x1b[31mred")
    finding = diagnostic("E0101", "bad \x1b[0m", source=source, span=Span(0, 1))

    assert "\x1b" not in render([finding]) + render_concise([finding])


def test_the_summary_counts():
    warning = diagnostic("W0920", "a bound without a reason")

    assert summary([FINDING, FINDING, warning]) == "2 errors, 1 warning"
    assert summary([]) == ""
