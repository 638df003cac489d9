"""Every example of the language reference and of the literate tests does what the page says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from kernelcontracts.lang.parse import parse
from kernelcontracts.lang.printer import print_expr, print_file
from kernelcontracts.lang.source import Source
from kernelcontracts.report.diagnostics import render_concise

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "docs" / "language.md", *sorted(Path(__file__).parent.glob("*.md"))]


def _ids(path):
    return path.name


@pytest.mark.parametrize("page", PAGES, ids=_ids)
def test_the_examples_of_a_page_produce_the_diagnostics_it_shows(page, examples):
    found = list(examples.blocks(page.read_text(encoding="utf-8")))

    failures = [
        problem
        for block, following in zip(found, [*found[1:], None], strict=True)
        if block.language == "kc"
        for problem in _check(page, block, following, examples)
    ]

    assert failures == []
    assert any(b.language == "kc" for b in found)


def _check(page, block, following, examples):
    place = f"{page.name}:{block.line}"
    if "expr" in block.info.split():
        yield from (f"{place}: {line}" for line in block.text.splitlines() if not _is_expression(line))
        return
    source, first_line = examples.complete(block)
    expected = following.text if following is not None and following.language == "diagnostics" else ""
    found = parse(source).diagnostics if "parse" in block.info.split() else examples.lint(source)
    if "parse" in block.info.split():
        # only the text is of interest, not whether the contract is complete
        found = [d for d in found if d.code != "E0102"]
    actual = _relative(render_concise(found), first_line)
    if actual != expected:
        yield f"{place}: expected\n{expected}but got\n{actual}"


def _relative(concise, first_line):
    """Lines of the example, not of the file it was completed to."""

    def shift(match):
        return f"{int(match.group(1)) - first_line + 1}:{match.group(2)}: "

    return re.sub(r"^example\.kc:(\d+):(\d+): ", shift, concise, flags=re.MULTILINE)


def _is_expression(text):
    file = parse(Source("example.kc", f"kernel-contracts 0.1\nmodule m\nplan p @1 {{\n  e: {text}\n}}\n")).file
    if file is None:
        return False
    value = file.declarations[0].settings[0].value
    again = parse(Source("example.kc", print_file(file))).file
    return again == file and print_expr(value) != ""
