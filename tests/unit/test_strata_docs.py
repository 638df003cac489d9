"""The page about the battery keeps what it says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "exact-battery.md"


@pytest.fixture(scope="module")
def printed():
    (code,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), flags=re.DOTALL)
    lines: list[str] = []
    exec(compile(code, str(PAGE), "exec"), {"print": lines.append, "__name__": "example"})
    found = {}
    for line in lines:
        name, *rates = line.split()[0], *re.findall(r"(\d+)%", line)
        found[name] = [int(rate) for rate in rates]
    return found


def test_the_example_finds_the_library_right_everywhere(printed):
    assert set(printed) == {"ints24", "wide", "identity_a", "cancel"}
    assert all(rates[0] == 0 for rates in printed.values())


def test_the_example_catches_casts_where_the_page_says(printed):
    assert printed["wide"][1] > 85
    assert printed["identity_a"][1] > 85
    assert printed["ints24"][1] == printed["cancel"][1] == 0


def test_the_example_catches_narrow_partial_sums_where_the_page_says(printed):
    assert min(printed[name][2] for name in ("ints24", "wide", "identity_a", "cancel")) > 50
