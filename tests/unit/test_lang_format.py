"""Formatting: where comments go, what the layout is, and that the shipped library has it."""

from __future__ import annotations

import pytest

from kernelcontracts.lang.format import format_text
from kernelcontracts.lang.library import shipped_sources
from kernelcontracts.lang.source import Source

BEFORE = """\
# about the file

kernel-contracts 0.1 # edition
module m
use b.c {x,
  y} # names
## What it is.
# why it is here
contract C-PRC-01 @1 { # opening
  post {
    always a: b # a trailing one
    # for the longer label
    always longer   : c
    # at the end of the block
  } # closing
  let x=1+
    2
  # about the scope
  scope { operator f
    types A in {f32,
      f16} }
}
# the last word
"""

AFTER = """\
# about the file

kernel-contracts 0.1  # edition
module m
use b.c { x, y }  # names

# why it is here
## What it is.
contract C-PRC-01 @1 {  # opening
  # about the scope
  scope {
    operator f
    types    A in {f32, f16}
  }

  let x = 1 + 2

  post {
    always a:      b  # a trailing one
    # for the longer label
    always longer: c
    # at the end of the block
  }  # closing
}

# the last word
"""


def formatted(text):
    return format_text(Source("t.kc", text)).text


def test_comments_stay_with_what_they_are_about():
    assert formatted(BEFORE) == AFTER
    assert formatted(AFTER) == AFTER


def test_a_text_that_does_not_parse_is_left_alone():
    result = format_text(Source("t.kc", "kernel-contracts 0.1\nmodule m\nplan p @1 {\n  ?\n}\n"))

    assert result.text is None
    assert [d.code for d in result.diagnostics] == ["E0101"]


def test_lines_break_where_there_is_a_place_and_only_if_they_must():
    short, long = "plan p @1 {\n  a: f(x, y)\n}", "plan p @1 {\n  a: " + " + ".join(["some_long_name"] * 9) + "\n}"
    header = "kernel-contracts 0.1\nmodule m\n\n"

    assert formatted(header + short) == header + short + "\n"
    broken = formatted(header + long)
    assert max(map(len, broken.split("\n"))) <= 120
    assert broken.count("\n    + some_long_name") == 8


@pytest.mark.parametrize("source", shipped_sources(), ids=lambda s: s.name)
def test_the_shipped_library_has_the_canonical_layout(source):
    assert format_text(source).text == source.text
