"""``kc`` as people run it: exit statuses, JSON, traces, claims, and kernels that misbehave."""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

import pytest

from kernelcontracts.cli.main import main

ROOT = Path(__file__).parents[2]
SCHEMA = json.loads((ROOT / "docs" / "schema" / "check-1.json").read_text("utf-8"))
CONFORMS, VIOLATES, USAGE, UNDECIDED = 0, 1, 2, 3

TINY = """\
kernel-contracts 0.1
module tiny
use kc.ops.accumulations { reduce_sum }

## Sums, in a few cases: everything a check does, without the time a promise takes.
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
    always inputs: unchanged(X)
    always close:  S within worst of ref
  }
  tolerance {
    worst = op.worst
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

CLAIMS = {
    "accumulator": "f32",
    "acc_rounding": "rne",
    "operand_rounding": "as_given",
    "daz_in": "preserve",
    "ftz_out": "preserve",
}

BODY = f"""\
import os, time
import numpy as np

CLAIMS = {CLAIMS!r}


def right(X):
    return X.sum(axis=-1, dtype=np.float32)

def into(X, out):
    out[...] = X.sum(axis=-1, dtype=np.float32)

def off_by_one(X):
    return X.sum(axis=-1, dtype=np.float32) + np.float32(1)

def hangs(X):
    time.sleep(1000)

def leaves(X):
    os._exit(0)

def wrong_shape(X):
    return X.sum(dtype=np.float32).reshape(1, 1, 1)

def returns_input(X):
    return X

def writes_inputs(X):
    total = X.sum(axis=-1, dtype=np.float32)
    X[...] = 0
    return total

def raises(X):
    raise RuntimeError("no luck today")

def prints(X):
    print('{{"schema": "forged"}}')
    return right(X)
"""


@dataclass(frozen=True)
class Answer:
    """What a command printed, and its exit status."""

    returncode: int
    stdout: str
    stderr: str


def kc(*args, cwd):
    """Run ``kc`` in this process: the same door, without the seconds a new process takes to load."""
    out, err = io.StringIO(), io.StringIO()
    with (
        contextlib.chdir(cwd),
        mock.patch.dict(os.environ, {"XDG_CACHE_HOME": str(cwd / "cache"), "COLUMNS": "120", "NO_COLOR": "1"}),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
        pytest.raises(SystemExit) as stop,
    ):
        main([str(arg) for arg in args])
    return Answer(stop.value.code, out.getvalue(), err.getvalue())


def kc_process(*args, cwd, python=(), env=None):
    """Run ``kc`` in a process of its own."""
    code = "from kernelcontracts.cli.main import main; main()"
    environment = {**os.environ, "XDG_CACHE_HOME": str(cwd / "cache"), "COLUMNS": "120", "NO_COLOR": "1", **(env or {})}
    return subprocess.run(
        [sys.executable, *python, "-c", code, *map(str, args)],
        cwd=cwd,
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


@pytest.fixture
def place(tmp_path):
    (tmp_path / "tiny.kc").write_text(TINY, "utf-8")
    (tmp_path / "kernels.py").write_text(BODY, "utf-8")
    return tmp_path


def check(place, function, *more, run=kc):
    """Check one of the kernels above against the small contract."""
    common = ("--operator", "reduce_sum", "--library", "tiny.kc", "--contract", "C-TST-01-REDUCE-SUM")
    return run("check", f"kernels.py:{function}", *common, *more, cwd=place)


def plain(answer):
    """Assert that nothing but words for people came out."""
    assert "Traceback" not in answer.stdout + answer.stderr
    assert "internal error" not in answer.stderr
    return answer


# --- exit statuses ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("function", ["right", "into"])
def test_a_kernel_that_keeps_its_promise_has_status_0(place, function):
    answer = plain(check(place, function, run=kc_process))
    assert answer.returncode == CONFORMS, answer.stdout + answer.stderr
    assert "conform" in answer.stdout
    assert "claims" in answer.stdout


def test_a_violation_has_status_1_and_shows_its_witness(place):
    answer = plain(check(place, "off_by_one", run=kc_process))
    assert answer.returncode == VIOLATES
    assert "violate" in answer.stdout
    assert "0x1." in answer.stdout  # hex beside decimal: the evidence is exact


def test_missing_claims_are_no_pass(place):
    half = BODY.replace("dtype=np.float32)", "dtype=np.float16).astype(np.float32)")
    (place / "kernels.py").write_text(half.replace("CLAIMS =", "NOTES ="), "utf-8")
    answer = plain(check(place, "right"))
    assert answer.returncode == UNDECIDED
    assert "accumulator" in answer.stdout
    assert "under" in answer.stdout


def test_a_claim_that_is_left_unspecified_is_judged_and_told(place):
    answer = plain(check(place, "right", "--claim", "accumulator=unspecified", "--format", "json"))
    assert answer.returncode == CONFORMS
    assert "unspecified" in json.loads(answer.stdout)["results"][0]["notes"][0]


def test_a_kernel_that_cannot_be_loaded_has_status_3_and_no_verdict(place):
    answer = plain(check(place, "nothing_of_that_name", "--format", "json"))
    assert answer.returncode == UNDECIDED
    found = json.loads(answer.stdout)
    assert found["verdict"] is None
    assert "nothing_of_that_name" in found["errors"][0]["message"]


UNKNOWN = [
    ("check", "numpy:matmull"),
    ("check", "numpy:matmul", "--operator", "nope"),
    ("check", "numpy:matmul", "--contract", "C-XXX-99"),
    ("check", "numpy:matmul", "--types", "q7"),
    ("check", "numpy:matmul", "--types", "tf32"),
    ("check", "numpy:matmul", "--types", "Z=f32"),
    ("check", "numpy:matmul", "--claim", "foo=1"),
    ("check", "numpy:matmul", "--claim", "accumulator=f9"),
    ("check", "numpy:matmul", "--claim", "accumulator"),
    ("check", "numpy:matmul", "--claims", "nowhere.kc"),
    ("check", "numpy:matmul", "--library", "nowhere.kc"),
    ("check", "numpy:matmul", "--timeout", "0"),
    ("check", "numpy"),
    ("check", "nowhere.py:f"),
    ("check", "emulator:matmul?foo=1"),
    ("replay", "nowhere.kctrace"),
    ("plan", "nope"),
    ("tolerance", "nope", "--shape", "1x2x3"),
    ("tolerance", "matmul", "--shape", "1x2"),
    ("tolerance", "matmul", "--shape", "16x512x16", "--accumulator", "bf16"),
    ("tolerance", "gather_rows", "--shape", "2x3x4"),
    ("calibrate", "C-XXX-99"),
]


@pytest.mark.parametrize("args", UNKNOWN, ids=" ".join)
def test_what_does_not_exist_is_told_in_one_line(tmp_path, args):
    answer = plain(kc(*args, cwd=tmp_path))
    assert answer.returncode == USAGE, answer.stdout
    assert answer.stdout == ""
    lines = answer.stderr.splitlines()
    assert len(lines) == 1, lines
    assert re.match(r"kc: [`a-z0-9-]", lines[0])


def test_an_adapter_that_does_not_exist_is_a_kernel_that_cannot_be_loaded(tmp_path):
    answer = plain(kc("check", "nosuch:matmul", cwd=tmp_path))
    assert answer.returncode == UNDECIDED
    assert "nosuch" in answer.stdout


@pytest.mark.parametrize("args", [("check",), ("frobnicate",), ("check", "numpy:matmul", "--no-such-option")])
def test_a_command_that_cannot_be_understood_has_status_2(tmp_path, args):
    assert plain(kc_process(*args, cwd=tmp_path)).returncode == USAGE


# --- JSON ---------------------------------------------------------------------------------------------------------


def valid(value, schema, path="$"):
    """Check a value against the part of JSON Schema that our schemas use."""
    if "$ref" in schema:
        return valid(value, SCHEMA["$defs"][schema["$ref"].rpartition("/")[2]], path)
    if "anyOf" in schema:
        assert any(_fits(value, part, path) for part in schema["anyOf"]), f"{path}: {value!r}"
        return None
    kinds = {"object": dict, "array": list, "string": str, "integer": int, "boolean": bool, "null": type(None)}
    if "type" in schema:
        wanted = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
        assert any(isinstance(value, kinds[w]) for w in wanted), f"{path}: {value!r} is no {wanted}"
    for key in ("enum", "const"):
        if key in schema:
            assert value in (schema[key] if key == "enum" else [schema[key]]), f"{path}: {value!r}"
    if "pattern" in schema:
        assert re.search(schema["pattern"], value), f"{path}: {value!r}"
    if isinstance(value, dict):
        _valid_object(value, schema, path)
    if isinstance(value, list) and "items" in schema:
        for i, item in enumerate(value):
            valid(item, schema["items"], f"{path}[{i}]")
    return None


def _fits(value, schema, path):
    try:
        valid(value, schema, path)
    except AssertionError:
        return False
    return True


def _valid_object(value, schema, path):
    known, rest = schema.get("properties", {}), schema.get("additionalProperties", True)
    assert not set(schema.get("required", ())) - set(value), path
    for name, item in value.items():
        if name in known:
            valid(item, known[name], f"{path}.{name}")
        else:
            assert rest is not False, f"{path}: unknown `{name}`"
            if isinstance(rest, dict):
                valid(item, rest, f"{path}.{name}")


@pytest.mark.parametrize("function", ["right", "off_by_one", "raises", "nothing_of_that_name"])
def test_json_is_what_its_schema_says(place, function):
    answer = plain(check(place, function, "--format", "json"))
    found = json.loads(answer.stdout, parse_constant=lambda word: pytest.fail(f"a bare {word}"))
    valid(found, SCHEMA)
    assert found["schema"] == "kernelcontracts/check/1"


def test_the_validator_refuses_what_the_schema_refuses():
    for broken in ({}, {"schema": 1}):
        with pytest.raises(AssertionError):
            valid(broken, SCHEMA)


def test_floats_of_evidence_are_exact(place):
    found = json.loads(check(place, "off_by_one", "--format", "json").stdout)["results"][0]
    for number in (found["margin"]["lo"], found["witness"]["got"], found["witness"]["expected"]):
        assert float.fromhex(number["hex"]) == float(number["dec"])
    assert found["class"] == "C-TST-01"
    assert found["witness"]["minimised"]


def test_what_a_kernel_prints_does_not_reach_the_result(place):
    answer = check(place, "prints", "--format", "json")
    assert json.loads(answer.stdout)["schema"] == "kernelcontracts/check/1"


# --- claims -------------------------------------------------------------------------------------------------------


def claims_from(place, *more):
    return json.loads(check(place, "right", "--format", "json", *more).stdout)


def test_claims_are_read_from_the_kernels_own_literal(place):
    found = claims_from(place)
    assert found["claims_from"] == "the kernel itself"
    assert found["results"][0]["claims"]["accumulator"] == "f32"


def test_a_claim_sheet_replaces_the_literal(place):
    sheet = "\n".join(f"    {name} = {value}" for name, value in {**CLAIMS, "accumulator": "tf32"}.items())
    head = "kernel-contracts 0.1\nmodule sheet\nuse kc.ops.accumulations { reduce_sum }\n"
    (place / "sheet.kc").write_text(f'{head}claims "mine" {{\n  for reduce_sum {{\n{sheet}\n  }}\n}}\n', "utf-8")
    found = claims_from(place, "--claims", "sheet.kc")
    assert found["claims_from"] == "sheet.kc"
    assert found["results"][0]["claims"]["accumulator"] == "tf32"
    both = claims_from(place, "--claims", "sheet.kc", "--claim", "accumulator=f64")
    assert both["claims_from"] == "sheet.kc, and the command line"
    assert both["results"][0]["claims"]["accumulator"] == "f64"


def test_a_sheet_without_claims_about_the_operator_is_refused(place):
    answer = plain(check(place, "right", "--claims", "tiny.kc"))
    assert answer.returncode == USAGE
    assert "holds no claim sheet" in answer.stderr


def test_claims_of_a_command_line_can_convict(place):
    # an f16 sum is right under its own name and wrong under another
    (place / "kernels.py").write_text(
        BODY.replace("dtype=np.float32)", "dtype=np.float16).astype(np.float32)"), "utf-8"
    )
    assert check(place, "right").returncode == VIOLATES
    assert check(place, "right", "--claim", "accumulator=f16").returncode == CONFORMS


def test_a_typing_outside_the_contract_is_out_of_contract(place):
    answer = plain(check(place, "right", "--types", "f16", "--format", "json"))
    assert answer.returncode == UNDECIDED
    assert json.loads(answer.stdout)["results"][0]["verdict"] == "out_of_contract"


# --- traces and replays -------------------------------------------------------------------------------------------


def test_a_recorded_violation_repeats_and_a_right_kernel_clears_it(place):
    assert check(place, "off_by_one", "--trace", "run.kctrace", "--seed", "5").returncode == VIOLATES
    again = plain(kc("replay", "run.kctrace", "--library", "tiny.kc", cwd=place))
    assert again.returncode == VIOLATES, again.stderr
    assert "violated again" in again.stdout
    assert "C-TST-01-REDUCE-SUM#close" in again.stdout
    other = plain(kc("replay", "run.kctrace", "--library", "tiny.kc", "--kernel", "kernels.py:right", cwd=place))
    assert other.returncode == CONFORMS
    assert "conform now" in other.stdout


def test_a_violation_found_without_claims_repeats_too(place):
    text = BODY.replace("CLAIMS =", "NOTES =")
    (place / "kernels.py").write_text(text, "utf-8")
    assert check(place, "off_by_one", "--trace", "run.kctrace").returncode == VIOLATES
    again = plain(kc("replay", "run.kctrace", "--library", "tiny.kc", cwd=place))
    assert (again.returncode, "violated again" in again.stdout) == (VIOLATES, True), again.stderr


def test_a_violation_leaves_a_trace_without_being_asked(place):
    found = json.loads(check(place, "off_by_one", "--format", "json").stdout)
    assert found["replay"]
    assert plain(kc("replay", found["replay"], "--library", "tiny.kc", cwd=place)).returncode == VIOLATES


def test_a_trace_without_a_violation_has_nothing_to_replay(place):
    assert check(place, "right", "--trace", "run.kctrace").returncode == CONFORMS
    answer = plain(kc("replay", "run.kctrace", "--library", "tiny.kc", cwd=place))
    assert answer.returncode == UNDECIDED
    assert "holds no witness" in answer.stderr


def test_a_trace_is_not_overwritten(place):
    (place / "run.kctrace").write_text("precious", "utf-8")
    answer = plain(check(place, "right", "--trace", "run.kctrace"))
    assert answer.returncode == USAGE
    assert (place / "run.kctrace").read_text("utf-8") == "precious"


def test_the_same_seed_gives_the_same_evidence(place):
    answers = [json.loads(check(place, "off_by_one", "--seed", "9", "--format", "json").stdout) for _ in range(2)]
    for answer in answers:
        answer.pop("replay")
        answer.pop("environment")
    assert answers[0] == answers[1]


# --- kernels that misbehave ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("function", "words"),
    [
        ("hangs", "1 s"),
        ("leaves", "exit"),
        ("wrong_shape", "shape"),
        ("returns_input", "shape"),
        ("writes_inputs", "inputs"),
        ("raises", "no luck today"),
    ],
)
def test_a_kernel_that_misbehaves_gets_a_plain_verdict(place, function, words):
    answer = plain(check(place, function, "--timeout", "1"))
    assert answer.returncode == VIOLATES, answer.stdout + answer.stderr
    assert "violate" in answer.stdout
    assert words in answer.stdout


# --- plans and tolerances ------------------------------------------------------------------------------------------


def test_a_plan_says_what_would_be_measured(place):
    args = ("plan", "reduce_sum", "--library", "tiny.kc", "--contract", "C-TST-01-REDUCE-SUM")
    short, long = (plain(kc(*args, *more, cwd=place)) for more in ((), ("--cases",)))
    assert short.returncode == long.returncode == CONFORMS
    assert "16 (and 0 for averages)" in short.stdout
    assert "needs 7 cases" in short.stdout  # 0.7^7 <= 0.1
    assert sum("gauss" in line for line in long.stdout.splitlines()) == 16
    seeded = [plain(kc(*args, "--seed", "5", cwd=place)).stdout for _ in range(2)]
    assert seeded[0] == seeded[1] != short.stdout


def test_a_tolerance_comes_with_its_formula_and_its_reason(tmp_path):
    answer = plain(kc("tolerance", "matmul", "--shape", "512x4096x512", cwd=tmp_path))
    assert answer.returncode == CONFORMS
    assert "worst  (C-PRC-01-MATMUL)" in answer.stdout
    assert "because    Higham 2002" in answer.stdout
    found = [float(x) for x in re.findall(r"at most +(\S+)", answer.stdout)]
    assert all(x > 0 for x in found)
    named = plain(kc("tolerance", "matmul", "--shape", "M=512,K=4096,N=512", cwd=tmp_path)).stdout
    assert named.splitlines()[1:] == answer.stdout.splitlines()[1:]


def test_a_wider_accumulator_has_no_larger_tolerance(tmp_path):
    sizes = []
    for accumulator in ("f16", "tf32", "f32", "f64"):
        text = kc("tolerance", "matmul", "--shape", "4x64x4", "--accumulator", accumulator, cwd=tmp_path).stdout
        sizes.append(float(re.search(r"at most +(\S+)", text)[1]))
    assert sizes == sorted(sizes, reverse=True)


# --- what is loaded ------------------------------------------------------------------------------------------------


def loaded(tmp_path, *args):
    """Return the top-level modules that a command imports."""
    answer = plain(kc_process(*args, cwd=tmp_path, python=("-X", "importtime")))
    assert answer.returncode < USAGE, answer.stderr[-2000:]
    return {line.rpartition("|")[2].strip().partition(".")[0] for line in answer.stderr.splitlines() if "|" in line}


def test_the_version_is_told_without_loading_anything(tmp_path):
    assert not {"numpy", "lark", "cyclopts", "msgspec", "rich"} & loaded(tmp_path, "--version")


@pytest.mark.parametrize("args", [("fmt", "--check", "tiny.kc"), ("lint", "tiny.kc"), ("explain", "E0301")])
def test_the_language_is_read_without_numpy(place, args):
    assert not {"numpy", "ml_dtypes", "flint"} & loaded(place, *args)


def test_the_worker_inherits_the_users_threads(place):
    body = BODY.replace("def right(X):", "def right(X):\n    assert os.environ.get('OPENBLAS_NUM_THREADS') == '7'")
    (place / "kernels.py").write_text(body, "utf-8")
    common = ("--operator", "reduce_sum", "--library", "tiny.kc", "--contract", "C-TST-01-REDUCE-SUM")
    for threads, status in (("7", CONFORMS), ("3", VIOLATES)):
        more = {"OPENBLAS_NUM_THREADS": threads}
        answer = kc_process("check", "kernels.py:right", *common, cwd=place, env=more)
        assert answer.returncode == status
