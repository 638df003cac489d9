from __future__ import annotations

import pytest

from kernelcontracts.kernels.claims_literal import ClaimsError, read_claims


def written(tmp_path, text):
    path = tmp_path / "kernel.py"
    path.write_text(text)
    return path


def test_claims_are_read_without_executing_the_file(tmp_path):
    path = written(
        tmp_path,
        "raise SystemExit('executed')\nCLAIMS = {'accumulator': 'f32', 'exp_ulp': 4, 'x': {'y': (1, -2)}}\n",
    )

    assert read_claims(path) == {"accumulator": "f32", "exp_ulp": 4, "x": {"y": (1, -2)}}


def test_an_annotated_assignment_counts(tmp_path):
    assert read_claims(written(tmp_path, "CLAIMS: dict[str, str] = {'a': 'b'}")) == {"a": "b"}


@pytest.mark.parametrize("text", ["", "claims = {}", "def f():\n    CLAIMS = {'a': 1}\n", "CLAIMS: dict"])
def test_a_file_that_claims_nothing_at_module_level_gives_none(tmp_path, text):
    assert read_claims(written(tmp_path, text)) is None


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("CLAIMS = {", "syntax error in line 1"),
        ("\nCLAIMS = dict(a=1)", "line 2, is not a literal"),
        ("CLAIMS = {'a': f()}", "is not a literal"),
        ("CLAIMS = ['a']", "is a `list`; expected a dictionary"),
        ("CLAIMS = {1: 'a'}", "has the key `1`"),
        ("CLAIMS = {}\nCLAIMS = {}", "more than once, in lines 1 and 2"),
        ("x = '\\x00'\n\x00", "syntax error"),
    ],
)
def test_claims_that_cannot_be_read_say_why_in_one_line(tmp_path, text, words):
    with pytest.raises(ClaimsError) as caught:
        read_claims(written(tmp_path, text))

    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(ClaimsError, match=r"none\.py"):
        read_claims(tmp_path / "none.py")
