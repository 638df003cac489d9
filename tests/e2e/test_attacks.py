"""Hostile files given to ``kc``: each is refused in one line that names what is wrong, and status 2."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kernelcontracts.cli.main import main

TINY = """\
kernel-contracts 0.1
module tiny
use kc.ops.accumulations { reduce_sum }

## Sums, in a few cases.
contract C-TST-01-REDUCE-SUM @1.0.0 {
  scope {
    operator reduce_sum
    types    X, S in {f32}
  }
  pre {
    finite:   all(finite(X))
    headroom: max(op.mag) <= min(maxfinite(S), maxfinite(claim.accumulator)) / 4
    small_nu: op.longest * op.u_acc <= 1 / 4
  }
  post {
    always close: S within worst of ref
  }
  tolerance {
    worst = op.worst because derived "the operator's own bound"
  }
  reference exact meaning
  measure {
    inputs gauss: X ~ normal(0, 1)
    shapes:   grid(L = {none, 7}, N = {1, 31})
    seeds:    count(4, start = 1)
    outputs:  poison(nan)
    conclude: rate(0.3, 0.9)
  }
  violation { }
  calibrate {
    claiming accumulator = f32, acc_rounding = rne, operand_rounding = as_given, daz_in = preserve, ftz_out = preserve
    smoke    gauss: allclose(rtol = 0.02, atol = 0.1, size = 31)
    good     as_claimed
    bad      accumulator = f16
    baseline zeros()
  }
}
"""
KERNEL = """\
CLAIMS = {"accumulator": "f32", "acc_rounding": "rne", "operand_rounding": "as_given", "daz_in": "preserve",
          "ftz_out": "preserve"}


def reduce_sum(X):
    return 2 * X.sum(axis=-1)
"""
CONTRACT = "C-TST-01-REDUCE-SUM"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    Path("tiny.kc").write_text(TINY, encoding="utf-8")
    Path("twice.py").write_text(KERNEL, encoding="utf-8")
    return tmp_path


def refused(capsys, *args: str) -> str:
    with pytest.raises(SystemExit) as stop:
        main(list(args))
    said = capsys.readouterr().err
    assert stop.value.code == 2, said
    assert said.startswith("kc: ")
    assert said.count("\n") == 1
    assert "internal error" not in said
    return said


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("  pre {", "  let a = b\n  let b = a\n  pre {", "`a` is defined in terms of itself"),
        ("count(4,", "count(0,", "cannot reach the confidence"),
        ("count(4,", "count(-1,", "is no number of seeds"),
        ("count(4,", "count(1000000000,", "1000000 are the most"),
        ("N = {1, 31}", "N = {1, 1000000000000}", "in one case are the most"),
        ("rate(0.3, 0.9)", "rate(0, 1)", "promises nothing that can be reached"),
        ("normal(0, 1)", "normal(0, -1)", "a negative deviation"),
    ],
)
def test_a_library_file_with_a_mistake_is_refused_before_anything_is_judged(folder, capsys, old, new, said):
    Path("tiny.kc").write_text(TINY.replace(old, new, 1), encoding="utf-8")
    assert said in refused(capsys, "check", "numpy:reduce_sum", "--library", "tiny.kc", "--contract", CONTRACT)


@pytest.fixture
def recorded(folder, capsys):
    with pytest.raises(SystemExit) as stop:
        main(["check", "twice.py:reduce_sum", "--library", "tiny.kc", "--contract", CONTRACT, "--trace", "t.kctrace"])
    assert stop.value.code == 1, capsys.readouterr().err
    capsys.readouterr()
    return [json.loads(line) for line in Path("t.kctrace").read_text("utf-8").splitlines()]


def test_a_trace_whose_witness_was_edited_is_refused_with_what_does_not_fit(recorded, capsys):
    witness = next(line for line in recorded if line["line"] == "witness")
    tensor = witness["inputs"]["X"]
    edits = [
        ({"inputs": {"X": tensor | {"bits": "zz"}}}, "is not hex"),
        ({"inputs": {"X": tensor | {"bits": "00"}}}, "bytes for f32"),
        ({"inputs": {"X": tensor | {"shape": [10**30]}}}, "expected f32["),
        ({"inputs": {"X": tensor | {"format": "f64"}}}, "expected f32["),
        ({"inputs": {"X": tensor | {"shape": [-1]}}}, "expected f32["),
        ({"inputs": {}}, "holds nothing for `X`"),
        ({"shape": {"N": 5}}, "for dimension `L`"),
        ({"shape": {"L": 3, "N": 1}}, "for dimension `L`"),
        ({"shape": {"L": [], "N": [1]}}, "for dimension `N`"),
        ({"shape": {"L": [10**6, 10**6], "N": 1}}, "expected f32[1000000, 1000000, 1]"),
        ({"typing": {"X": "f99", "S": "f32"}}, "is not a number format"),
        ({"typing": {"X": "f32"}}, "does not give every tensor"),
        ({"contract": "C-PRC-01-MATMUL"}, "about `matmul`"),
    ]
    for edit, said in edits:
        lines = [line | edit if line is witness else line for line in recorded]
        Path("edited.kctrace").write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
        assert said in refused(capsys, "replay", "edited.kctrace", "--library", "tiny.kc"), edit
