from __future__ import annotations

import json
import math
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from kernelcontracts.trace.bits import encode
from kernelcontracts.trace.reader import read_trace
from kernelcontracts.trace.schema import (
    SCHEMA,
    Clause,
    ContractRef,
    Header,
    Interval,
    Number,
    Witness,
)
from kernelcontracts.trace.writer import TraceError, open_trace

HEADER = Header(
    schema=SCHEMA,
    tool="kernelcontracts 0.1.0",
    kernel="numpy:matmul",
    operator="matmul",
    contracts=(ContractRef("C-PRC-01-MATMUL", "kc1:00"),),
    claims={"accumulator": "f32"},
    types=({"A": "f32", "B": "f32", "C": "f32"},),
    seed=24301,
    plans={"C-PRC-01-MATMUL": "kc1:11"},
    environment={"numpy": "2.4"},
)


def clause(case, lo=0.1, hi=0.25):
    return Clause(
        contract="C-PRC-01-MATMUL",
        clause="close",
        typing={"A": "f32", "B": "f32", "C": "f32"},
        stratum="gauss",
        shape={"L": [], "M": 3, "N": 4, "K": 5},
        case=case,
        seed="s3",
        margin=Interval.of(lo, hi),
        verdict="conform",
        outcome="completed",
    )


WITNESS = Witness(
    contract="C-PRC-01-MATMUL",
    clause="close",
    typing={"A": "f32", "B": "f32", "C": "f32"},
    stratum="gauss",
    shape={"L": [2], "M": 1, "N": 1, "K": 1},
    case=7,
    seed="s3",
    inputs={
        "A": encode(b"\x00\x00\x80\x3f", fmt="f32", shape=(1, 1), byteorder="little"),
        "B": encode(b"\x00\x00\xc0\x7f", fmt="f32", shape=(1, 1), byteorder="little"),
    },
    outcome="completed",
    note="",
)


def written(path, *lines, verdict="conform"):
    with open_trace(path, HEADER) as writer:
        for line in lines:
            writer.write(line)
        writer.finish(verdict)
    return writer


def test_a_finished_trace_reads_back_as_it_was_written(tmp_path):
    path = tmp_path / "run.jsonl"
    writer = written(path, clause(0), clause(1), WITNESS, verdict="violate")

    trace = read_trace(path)

    assert writer.failed is None
    assert trace.header == HEADER
    assert trace.clauses == (clause(0), clause(1))
    assert trace.witnesses == (WITNESS,)
    assert (trace.end.verdict, trace.end.lines) == ("violate", 4)
    assert trace.truncated == ""


def test_every_line_is_one_object_whose_floats_are_decimal_and_hex(tmp_path):
    path = tmp_path / "run.jsonl"
    written(path, clause(0))

    lines = [json.loads(line) for line in path.read_text().splitlines()]

    assert [line["line"] for line in lines] == ["header", "clause", "end"]
    assert lines[1]["margin"]["hi"] == {"dec": "0.25", "hex": "0x1.0000000000000p-2"}
    assert not any(isinstance(value, float) for line in lines for value in line.values())


@pytest.mark.parametrize("value", [0.1, -0.0, 5e-324, 1.7976931348623157e308, math.inf, -math.inf])
def test_a_number_keeps_every_bit_through_the_file(tmp_path, value):
    path = tmp_path / "run.jsonl"
    written(path, clause(0, lo=value, hi=math.nan))

    margin = read_trace(path).clauses[0].margin

    assert margin.lo.value == value
    assert math.copysign(1, margin.lo.value) == math.copysign(1, value)
    assert math.isnan(margin.hi.value)
    assert Number.of(value).dec == repr(value)


def test_each_line_is_in_the_file_before_the_next_one_is_made(tmp_path):
    path = tmp_path / "run.jsonl"
    with open_trace(path, HEADER) as writer:
        for count in range(1, 4):
            assert len(path.read_bytes().splitlines()) == count
            writer.write(clause(count))


def test_a_run_that_ends_early_reads_as_interrupted_and_keeps_its_lines(tmp_path):
    path = tmp_path / "run.jsonl"
    with open_trace(path, HEADER) as writer:
        writer.write(clause(0))

    trace = read_trace(path)

    assert trace.clauses == (clause(0),)
    assert trace.end is None
    assert trace.truncated == f"{path}: interrupted; there is no end line"


def test_a_cut_last_line_is_reported_at_every_place_it_can_be_cut(tmp_path):
    path = tmp_path / "run.jsonl"
    with open_trace(path, HEADER) as writer:
        writer.write(clause(0))
        writer.write(clause(1))
    whole = path.read_bytes()
    start = whole.rindex(b"\n", 0, -1) + 1
    for end in range(start + 1, len(whole) - 1):
        path.write_bytes(whole[:end])
        trace = read_trace(path)

        assert trace.clauses == (clause(0),)
        assert trace.truncated == f"{path}:3: cut after {end - start} bytes"


def test_a_last_line_that_only_lacks_its_newline_is_kept(tmp_path):
    path = tmp_path / "run.jsonl"
    written(path, clause(0))
    path.write_bytes(path.read_bytes()[:-1])

    assert read_trace(path).truncated == ""
    assert read_trace(path).end is not None


def test_a_killed_process_leaves_every_line_it_had_written(tmp_path):
    path = tmp_path / "run.jsonl"
    script = (
        f"import sys; sys.path[:0] = {[str(Path(__file__).parent), *sys.path]!r}\n"
        "import os, signal\n"
        "from test_trace_file import HEADER, clause\n"
        "from kernelcontracts.trace.writer import open_trace\n"
        f"writer = open_trace({str(path)!r}, HEADER)\n"
        "for case in range(25): writer.write(clause(case))\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    ended = subprocess.run([sys.executable, "-c", script], check=False, timeout=60)

    assert ended.returncode == -signal.SIGKILL
    assert read_trace(path).clauses == tuple(clause(case) for case in range(25))


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_a_full_disk_is_one_message_and_no_exception():
    writer = open_trace("/dev/full", HEADER, overwrite=True)
    writer.write(clause(0))
    writer.finish("conform")

    assert writer.failed == "the trace `/dev/full` ends after line 0: no space left on device"
    assert writer.lines == 0


def test_a_write_that_fails_midway_stops_the_trace_and_not_the_check(tmp_path):
    path = tmp_path / "run.jsonl"
    writer = open_trace(path, HEADER)
    writer.write(clause(0))
    os.close(writer._file.fileno())

    writer.write(clause(1))
    first = writer.failed
    writer.write(clause(2))
    writer.finish("conform")

    assert first == f"the trace `{path}` ends after line 2: bad file descriptor"
    assert writer.failed == first
    assert read_trace(path).clauses == (clause(0),)


def test_writes_that_take_a_part_are_continued(tmp_path):
    class Slow:
        """Takes seven bytes at a time, as a nearly full disk may."""

        def __init__(self, file):
            self.file = file

        def write(self, data):
            return self.file.write(data[:7])

        def close(self):
            self.file.close()

    path = tmp_path / "run.jsonl"
    writer = open_trace(path, HEADER)
    writer._file = Slow(writer._file)
    writer.write(clause(0))
    writer.finish("conform")

    assert read_trace(path).clauses == (clause(0),)


def test_a_file_that_exists_is_not_replaced_by_accident(tmp_path):
    path = tmp_path / "run.jsonl"
    written(path, clause(0))
    before = path.read_bytes()

    with pytest.raises(TraceError, match=r"exists already; name another file"):
        open_trace(path, HEADER)
    assert path.read_bytes() == before
    open_trace(path, HEADER, overwrite=True).close()
    assert read_trace(path).clauses == ()


def test_a_file_that_cannot_be_created_is_an_error_before_anything_runs(tmp_path):
    with pytest.raises(TraceError, match=r"cannot create the trace `.*`: no such file or directory"):
        open_trace(tmp_path / "missing" / "run.jsonl", HEADER)


def test_a_file_that_is_not_there_cannot_be_read(tmp_path):
    with pytest.raises(TraceError, match=r"cannot read the trace `.*`: no such file or directory"):
        read_trace(tmp_path / "run.jsonl")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            b"",
            "run.jsonl:1: not the header of a `kernelcontracts/trace/1` trace: the file is empty",
        ),
        (b"hello\n", "run.jsonl:1: not the header"),
        (b"[1]\n", "run.jsonl:1: not the header"),
        (b'{"line":"header"}\n', "run.jsonl:1: not the header .* missing required field `schema`"),
        (b'{"schema":"kernelcontracts/trace/2"}\n', "run.jsonl:1: the trace is of version `.*/2`"),
        (b"\xff\xfe\n", "run.jsonl:1: not the header"),
    ],
)
def test_a_file_that_is_no_trace_is_refused_at_its_first_line(tmp_path, content, message):
    path = tmp_path / "run.jsonl"
    path.write_bytes(content)

    with pytest.raises(TraceError, match=message):
        read_trace(path)


def test_a_broken_line_in_the_middle_is_an_error_with_its_number(tmp_path):
    path = tmp_path / "run.jsonl"
    written(path, clause(0), clause(1))
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([lines[0], lines[1][:40] + b"\n", *lines[2:]]))

    with pytest.raises(TraceError, match=r"run\.jsonl:2: not a line of a trace: input data was"):
        read_trace(path)


def test_a_number_that_is_no_float_is_an_error_with_its_place(tmp_path):
    path = tmp_path / "run.jsonl"
    written(path, clause(0))
    path.write_bytes(path.read_bytes().replace(b"0x1.0000000000000p-2", b"about a quarter"))

    with pytest.raises(TraceError, match=r"run\.jsonl:2: .*at `\$\.margin\.hi\.hex`"):
        read_trace(path)


def test_two_runs_in_one_file_are_refused(tmp_path):
    path = tmp_path / "run.jsonl"
    with open_trace(path, HEADER) as writer:
        writer.write(clause(0))
        writer.write(HEADER)

    with pytest.raises(TraceError, match=r"run\.jsonl:3: a second header"):
        read_trace(path)


def test_lines_after_the_end_are_refused(tmp_path):
    path = tmp_path / "run.jsonl"
    written(path, clause(0))
    path.write_bytes(path.read_bytes() + path.read_bytes().splitlines(keepends=True)[1])

    with pytest.raises(TraceError, match=r"run\.jsonl:3: lines follow the end line"):
        read_trace(path)
