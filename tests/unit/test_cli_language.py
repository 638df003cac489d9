"""``kc fmt``, ``lint``, ``hash``, ``to-json``, ``from-json``, ``explain``: output and exit status."""

from __future__ import annotations

import io
import os
import sys

import pytest

from kernelcontracts.cli.main import main
from kernelcontracts.lang.library import shipped_sources

UGLY = "kernel-contracts 0.1\nmodule a\nplan p @1 { x:  1+1 }\n"
PRETTY = "kernel-contracts 0.1\nmodule a\n\nplan p @1 {\n  x: 1 + 1\n}\n"


@pytest.fixture
def kc(capsys):
    def run(*args):
        with pytest.raises(SystemExit) as caught:
            main([str(a) for a in args])
        captured = capsys.readouterr()
        return caught.value.code, captured.out, captured.err

    return run


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "a.kc"
    path.write_text(UGLY, encoding="utf-8")
    return path


@pytest.fixture
def stdin(monkeypatch):
    def feed(text):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))

    return feed


def test_fmt_writes_the_file_and_keeps_its_mode(kc, file):
    file.chmod(0o640)

    assert kc("fmt", file) == (0, "", f"{file} reformatted\n")
    assert file.read_text(encoding="utf-8") == PRETTY
    assert file.stat().st_mode & 0o777 == 0o640
    assert kc("fmt", file) == (0, "", "")
    assert [f.name for f in file.parent.iterdir()] == ["a.kc"]


def test_fmt_check_writes_nothing_and_says_so_by_its_status(kc, file):
    assert kc("fmt", "--check", file) == (1, f"{file} would be reformatted\n", "")
    assert file.read_text(encoding="utf-8") == UGLY
    file.write_text(PRETTY, encoding="utf-8")
    assert kc("fmt", "--check", file) == (0, "", "")


def test_fmt_diff_shows_what_would_change(kc, file):
    status, out, _ = kc("fmt", "--diff", file)

    assert status == 1
    assert "-plan p @1 { x:  1+1 }\n" in out
    assert "+  x: 1 + 1\n" in out


def test_fmt_reads_standard_input(kc, stdin):
    stdin(UGLY)

    assert kc("fmt", "-") == (0, PRETTY, "")


def test_fmt_follows_folders_and_symbolic_links(kc, file, tmp_path):
    link = tmp_path / "link.kc"
    link.symlink_to(file)

    assert kc("fmt", tmp_path)[0] == 0
    assert link.is_symlink()
    assert file.read_text(encoding="utf-8") == PRETTY


def test_fmt_leaves_a_file_with_errors_alone_and_formats_the_others(kc, file, tmp_path):
    wrong = tmp_path / "b.kc"
    wrong.write_text("kernel-contracts 0.1\nmodule b\n?\n", encoding="utf-8")
    status, _, err = kc("fmt", wrong, file)

    assert status == 2
    assert "error[E0101]: the character `?` has no meaning" in err
    assert file.read_text(encoding="utf-8") == PRETTY
    assert wrong.read_text(encoding="utf-8").endswith("?\n")


def test_a_full_disk_is_one_line_and_loses_nothing(kc, file, monkeypatch):
    def full(descriptor):
        raise OSError(28, os.strerror(28))

    monkeypatch.setattr(os, "fsync", full)
    status, _, err = kc("fmt", file)

    assert status == 2
    assert err == f"kc: `{file}` cannot be written: no space left on device; it is as it was\n"
    assert file.read_text(encoding="utf-8") == UGLY
    assert [f.name for f in file.parent.iterdir()] == ["a.kc"]


@pytest.mark.parametrize("verb", ["fmt", "lint", "hash", "to-json"])
def test_a_missing_file_is_a_diagnostic_and_status_two(kc, verb, tmp_path):
    status, out, err = kc(verb, tmp_path / "none.kc")

    assert status == 2
    assert "none.kc` does not exist" in out + err
    assert "Traceback" not in out + err


@pytest.mark.parametrize("verb", ["fmt", "lint", "hash"])
def test_naming_no_file_is_a_usage_error(kc, verb):
    status, _, err = kc(verb)

    assert (status, err.count("\n")) == (2, 1)


@pytest.mark.parametrize("verb", ["fmt", "lint", "hash", "to-json", "explain"])
def test_an_unknown_option_is_a_usage_error(kc, verb):
    assert kc(verb, "--nonsense")[0] == 2


def test_lint_of_the_shipped_library_finds_nothing(kc):
    files = [s.path for s in shipped_sources()]

    assert kc("lint", *files) == (0, "", "")


def test_lint_says_where_and_has_three_formats(kc, tmp_path):
    wrong = tmp_path / "b.kc"
    wrong.write_text("kernel-contracts 0.1\nmodule b\nplan p @1 {\n  x: abs(y)\n}\n", encoding="utf-8")

    status, out, _ = kc("lint", wrong)
    assert status == 2
    assert out.endswith("\n1 error\n")
    status, out, _ = kc("lint", "--format", "concise", wrong)
    assert (status, out) == (2, f"{wrong}:4:6: error[E0101]: `abs` is a unit, not a function\n")
    status, out, _ = kc("lint", "--format", "json", wrong)
    assert status == 2
    assert '"code": "E0101"' in out


def test_hash_prints_a_line_for_each_declaration(kc, file):
    status, out, _ = kc("hash", file)
    file.write_text(PRETTY.replace("1 + 1", "0x1 + 1.0"), encoding="utf-8")

    assert status == 0
    assert out.startswith("kc1:")
    assert out.endswith("  p @1\n")
    assert kc("hash", file) == (0, out, "")


def test_json_and_back_is_the_canonical_text(kc, file, stdin):
    status, out, _ = kc("to-json", file)
    stdin(out)

    assert status == 0
    assert kc("from-json", "-") == (0, PRETTY, "")


def test_json_that_is_no_file_is_a_usage_error(kc, stdin):
    stdin('{"kind": "name", "id": "a"}')

    assert kc("from-json", "-") == (2, "", "kc: `<stdin>`: $.kind: expected a node of kind `file`\n")


def test_explain_shows_a_page_by_code_and_by_name(kc):
    by_code = kc("explain", "E0301")

    assert by_code[0] == 0
    assert by_code[1].startswith("# E0301: ")
    assert kc("explain", "candidate-in-tolerance") == by_code
    assert kc("explain", "e0301") == by_code


def test_explain_names_near_codes(kc):
    status, _, err = kc("explain", "E03011")

    assert status == 2
    assert "`E0301`" in err


def test_explain_lists_every_code(kc):
    status, out, _ = kc("explain", "--list")

    assert status == 0
    assert "E0101  error    unexpected-token" in out
