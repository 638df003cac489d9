"""Every code has a page, and the examples of a page have the code before the repair and nothing after."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernelcontracts.lang import diagnostics
from kernelcontracts.lang.diagnostics import CODES, page

WITHOUT_EXAMPLE = {"E0106", "E0107"}
"""Bytes that are no text, and a defect of the formatter: neither can be shown as a text."""

FOLDER = Path(diagnostics.__file__).parent / "codes"


def test_every_code_has_one_page_and_every_page_a_code():
    names = {f"{c.code}-{c.name}.md" for c in CODES.values()}

    assert {file.name for file in FOLDER.iterdir() if file.suffix == ".md"} == names


@pytest.mark.parametrize("code", sorted(CODES))
def test_a_page_begins_with_its_code_and_title(code):
    assert page(code).startswith(f"# {code}: {CODES[code].title}\n")


@pytest.mark.parametrize("code", sorted(set(CODES) - WITHOUT_EXAMPLE))
def test_the_first_example_of_a_page_has_the_code_and_the_second_has_no_finding(code, examples):
    failing, repaired = examples.blocks(page(code))

    before = examples.lint(examples.complete(failing)[0])
    after = examples.lint(examples.complete(repaired)[0])

    assert code in {d.code for d in before}
    assert [f"{d.code} {d.message}" for d in after] == []
