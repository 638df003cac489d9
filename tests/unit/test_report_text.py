from __future__ import annotations

import shlex

import msgspec
import pytest

from kernelcontracts.engine.result import (
    SCHEMA,
    CheckResult,
    ClauseResult,
    ContractResult,
    Float,
    HarnessError,
    Margin,
    PlanSummary,
    Statistic,
    Status,
    Tensor,
    Witness,
)
from kernelcontracts.report import concise
from kernelcontracts.report.console import STYLES
from kernelcontracts.report.lines import clean, plain
from kernelcontracts.report.numbers import at_most, brief, percent
from kernelcontracts.report.status import exit_status
from kernelcontracts.report.text import render, text_lines

F32 = {"A": "f32", "B": "f32", "C": "f32"}


def margin(lo, hi):
    return Margin(Float.of(lo), Float.of(hi))


def contract(verdict=Status.CONFORM, **changes):
    given = {
        "contract": "C-PRC-01-MATMUL",
        "cls": "C-PRC-01",
        "version": "1.0.0",
        "hash": "kc1:00",
        "verdict": verdict,
        "types": F32,
        "claims": {"accumulator": "f32"},
        "clause": None,
        "signature": None,
        "message": "",
        "margin": margin(0.1, 0.11),
        "p": Float.of(0.01),
        "confidence": Float.of(0.99),
        "plan": PlanSummary("kc1:11", 912, 0, 0, ("gauss",), 24301),
        "witness": None,
        "clauses": (),
        "reason": "",
    }
    return ContractResult(**(given | changes))


def check(*results, verdict=None, **changes):
    worst = min((r.verdict for r in results), key=lambda v: v.rank, default=None)
    given = {
        "schema": SCHEMA,
        "tool": "kernelcontracts 0.1.0",
        "kernel": "numpy:matmul",
        "operator": "matmul",
        "verdict": verdict or worst,
        "claims_from": "kc.claims.numpy",
        "seed": 24301,
        "results": results,
        "errors": (),
        "environment": {"numpy": "2.4.6"},
    }
    return CheckResult(**(given | changes))


WITNESS = Witness(
    stratum="gauss",
    shape={"L": [], "M": 1, "N": 1, "K": 2},
    case=17,
    seed="s0",
    inputs={
        "A": Tensor("f32", (1, 2), "0000803f00000040", ("1.0", "2.0")),
        "B": Tensor("f16", (2, 1), "003c0180"),
    },
    index=(0, 0),
    got=Float.of(2048.0),
    expected=Float.of(2049.0),
    tolerance=Float.of(0.0078125),
    note="one term suffices",
    minimised=True,
    outcome="completed",
)

VIOLATION = contract(
    Status.VIOLATE,
    clause="close",
    signature="accumulator_f16",
    message="accumulates in f16 although a wider format is claimed",
    margin=margin(16.2, 16.2),
    witness=WITNESS,
    clauses=(ClauseResult("close", Status.VIOLATE, margin(16.2, 16.2), 12, 0, ""),),
)


def test_a_conforming_kernel_is_reported_in_one_line_a_contract():
    text = render(check(contract(), contract(contract="C-ORD-01-MATMUL", margin=margin(0, 0))))

    assert text == (
        "kernel      numpy:matmul\n"
        "operator    matmul\n"
        "types       A=f32,B=f32,C=f32\n"
        "claims      kc.claims.numpy\n"
        "seed        24301\n"
        "tool        kernelcontracts 0.1.0\n"
        "\n"
        "conform  C-PRC-01-MATMUL  p <= 0.01 at 99 % (912 cases), worst margin 0.11\n"
        "conform  C-ORD-01-MATMUL  p <= 0.01 at 99 % (912 cases), worst margin 0\n"
        "\n"
        "verdict     conform: every contract conforms, as far as was measured (exit status 0)\n"
    )


def test_a_violation_shows_cause_inputs_element_and_the_command_that_replays_it():
    text = render(check(VIOLATION, replay="out dir/run.jsonl"))

    assert text.split("\n\n")[1] == (
        "violate  C-PRC-01-MATMUL  clause close, margin 16.2 [accumulator_f16]\n"
        "    cause       accumulator_f16: accumulates in f16 although a wider format is claimed\n"
        "    found on    stratum gauss, shape L=() M=1 N=1 K=2, case 17, seed s0, minimised\n"
        "    A           f32[1, 2]\n"
        "        1.0         2.0\n"
        "        0x3f800000  0x40000000\n"
        "    B           f16[2, 1]\n"
        "        1.0\n"
        "        0x3c00\n"
        "        -5.960464477539063e-08\n"
        "        0x8001\n"
        "    worst at    output element [0, 0]\n"
        "    got         2048.0 (0x1.0000000000000p+11)\n"
        "    expected    2049.0 (0x1.0020000000000p+11)\n"
        "    allowed +-  0.0078125 (0x1.0000000000000p-7)\n"
        "    note        one term suffices\n"
        "    replay      kc replay 'out dir/run.jsonl'"
    )
    assert "verdict     violate: at least one contract is violated (exit status 1)" in text


def test_without_a_trace_the_same_question_can_be_asked_again():
    text = render(check(VIOLATION, kernel="my kernels.py:f?x=1&y=2"))
    line = next(row for row in text.splitlines() if row.lstrip().startswith("rerun"))

    assert shlex.split(line)[1:] == [
        *("kc", "check", "my kernels.py:f?x=1&y=2", "--operator", "matmul"),
        *("--contract", "C-PRC-01-MATMUL", "--types", "A=f32,B=f32,C=f32"),
        *("--claim", "accumulator=f32", "--seed", "24301"),
    ]


def test_a_statistical_violation_shows_its_limits_and_bound():
    numbers = {"value": 12.31, "lower": 11.9, "upper": 12.7, "bound": 1.0}
    statistic = Statistic("gauss K=64", **{k: Float.of(v) for k, v in numbers.items()})
    clause = ClauseResult("spread", Status.VIOLATE, None, 40, 0, "", statistic)
    text = render(
        check(msgspec.structs.replace(VIOLATION, clause="spread", witness=None, margin=None, clauses=(clause,)))
    )

    assert "    statistic   12.3 on gauss K=64, confidence limits 11.9 to 12.7, bound 1\n" in text
    assert "violate  C-PRC-01-MATMUL  clause spread [accumulator_f16]\n" in text


def test_missing_decisions_are_named_with_what_to_do():
    text = render(
        check(
            contract(
                Status.UNDER_SPECIFIED,
                gaps=("accumulator", "acc_rounding"),
                claims={},
                strongest={"accumulator": "f16", "acc_rounding": "rne"},
            )
        )
    )

    assert "under_specified  C-PRC-01-MATMUL  not claimed: accumulator, acc_rounding\n" in text
    assert (
        "    help        say what the kernel does about `accumulator`, `acc_rounding` in a claim sheet, and\n"
        "                pass it with --claims\n"
    ) in text
    assert "    conforms if claimed accumulator = f16, acc_rounding = rne\n" in text
    assert "(exit status 3)" in text


def test_an_undecided_clause_shows_its_reason():
    clause = ClauseResult("close", Status.UNDECIDED, margin(0.9, 1.2), 10, 3, "oracle width")
    text = render(check(contract(Status.UNDECIDED, reason="3 of 10 cases are undecided", clauses=(clause,))))

    assert "undecided  C-PRC-01-MATMUL  3 of 10 cases are undecided\n" in text
    assert "    clause      close undecided (10 cases, 3 undecided, margin 1.2): oracle width\n" in text


def test_errors_stand_apart_from_verdicts():
    errors = (HarnessError("adapter torch", "PyTorch is not installed"),)
    text = render(check(errors=errors))

    assert "error       adapter torch: PyTorch is not installed\n" in text
    assert "verdict     none: something could not be decided or could not be run (exit status 3)" in text


def test_typings_stand_on_each_line_when_they_differ():
    other = contract(types={"A": "bf16", "B": "bf16", "C": "f32"})
    text = render(check(contract(), other))

    assert "types  " not in text
    assert "worst margin 0.11  [A=f32,B=f32,C=f32]\n" in text
    assert "worst margin 0.11  [A=bf16,B=bf16,C=f32]\n" in text


def test_verbose_shows_every_clause_the_claims_and_the_environment():
    clause = ClauseResult("close", Status.CONFORM, margin(0.1, 0.11), 912, 0, "")
    result = check(contract(clauses=(clause,)))

    assert "close conform" not in render(result)
    assert "    clause      close conform (912 cases, margin 0.11)\n" in render(result, verbose=True)
    assert "    claimed     accumulator = f32\n" in render(result, verbose=True)
    assert "numpy       2.4.6\n" in render(result, verbose=True)


@pytest.mark.parametrize("width", [40, 60, 80, 100])
def test_prose_keeps_within_the_width_and_loses_no_word(width):
    message = "adds one term after another although a tree is declared and measured " * 3
    violation = msgspec.structs.replace(VIOLATION, message=message, witness=None)
    rows = [span.text for line in text_lines(check(violation), width=width) for span in line if span.style == "cause"]

    assert all(len(row) + 16 <= width for row in rows)
    assert " ".join(rows) == f"accumulator_f16: {message.strip()}"


def test_a_long_row_of_a_tensor_is_split_into_pieces_that_fit():
    bits = "0000803f" * 16
    wide = msgspec.structs.replace(WITNESS, inputs={"A": Tensor("f32", (16,), bits)})
    text = render(check(msgspec.structs.replace(VIOLATION, witness=wide)), width=60)
    rows = [row for row in text.splitlines() if row.lstrip().startswith("0x3f800000")]

    assert len(rows) == 4
    assert sum(row.count("0x3f800000") for row in rows) == 16
    assert max(map(len, rows)) <= 60


def test_a_large_tensor_is_named_and_not_printed():
    large = msgspec.structs.replace(WITNESS, inputs={"A": Tensor("f32", (5, 5), "00" * 100)})
    text = render(check(msgspec.structs.replace(VIOLATION, witness=large)))

    assert "    A           f32[5, 5], 25 elements; their bits are in the JSON\n" in text


def test_bits_that_cannot_be_read_leave_what_was_shown():
    odd = msgspec.structs.replace(WITNESS, inputs={"A": Tensor("f32", (1,), "xx", ("1.0",))})
    text = render(check(msgspec.structs.replace(VIOLATION, witness=odd)))

    assert "    A           f32[1]\n        1.0\n    worst at" in text


def test_a_crash_is_shown_as_the_outcome():
    died = msgspec.structs.replace(WITNESS, outcome="died", index=None, got=None)
    text = render(check(msgspec.structs.replace(VIOLATION, witness=died)))

    assert "    outcome     died\n" in text
    assert "worst at" not in text


def test_what_a_candidate_says_cannot_control_the_terminal():
    hostile = "boom \x1b[2J\x1b[31m\r\n\x9b1m\u202eelor\x00\ud800"
    result = check(
        msgspec.structs.replace(VIOLATION, message=hostile, reason=hostile),
        errors=(HarnessError(hostile, hostile),),
        kernel=hostile,
    )
    for text in (render(result), concise.render(result)):
        assert not any(ord(sign) < 32 and sign != "\n" for sign in text)
        assert not set(text) & {"\x7f", "\x9b", "\u202e", "\ud800"}
        assert r"\x1b[2J\x1b[31m\r" in text
    assert clean("a\tb\u200b") == r"a\tb\u200b"


def test_a_margin_that_is_not_one_never_prints_as_one():
    assert brief(Float.of(1.0004)) == "1.0004"
    assert brief(Float.of(0.9996)) == "0.9996"
    assert brief(Float.of(1.0)) == "1"
    assert brief(Float.of(16.24)) == "16.2"
    assert brief(Float.of(float("inf"))) == "inf"
    assert brief(Float.of(float("nan"))) == "nan"


def test_a_rate_is_rounded_up_so_that_it_stays_a_limit():
    rates = (0.01, 0.0050368, 0.0099, 0.00991, 1.0, 0.00000123, 0.1000000001)

    assert [at_most(Float.of(rate)) for rate in rates] == [*("0.01", "0.0051", "0.0099", "0.01", "1", "1.3e-6", "0.11")]


def test_percentages_keep_every_digit():
    assert [percent(Float.of(c)) for c in (0.99, 0.999, 0.5, 1.0, 0.123456)] == [
        *("99 %", "99.9 %", "50 %", "100 %", "12.3456 %")
    ]


def test_concise_is_one_line_a_contract_and_an_error():
    text = concise.render(check(contract(), VIOLATION, errors=(HarnessError("worker", "could not be started"),)))

    assert text == (
        "numpy:matmul: C-PRC-01-MATMUL [A=f32,B=f32,C=f32]: conform: "
        "p <= 0.01 at 99 % (912 cases), worst margin 0.11\n"
        "numpy:matmul: C-PRC-01-MATMUL [A=f32,B=f32,C=f32]: violate: "
        "clause close, margin 16.2 [accumulator_f16] "
        "accumulates in f16 although a wider format is claimed\n"
        "numpy:matmul: error: worker: could not be started\n"
    )


ERROR = (HarnessError("worker", "could not be started"),)
OTHERS = [s for s in Status if s not in {Status.CONFORM, Status.VIOLATE}]


def test_the_status_is_0_only_if_all_conform_and_nothing_went_wrong():
    assert exit_status(check(contract(), contract())) == 0
    assert exit_status(check(contract(), errors=ERROR)) == 3
    assert exit_status(check()) == 3


@pytest.mark.parametrize("other", OTHERS)
def test_whatever_is_not_settled_has_status_3_and_a_violation_wins(other):
    assert exit_status(check(contract(), contract(other))) == 3
    assert exit_status(check(contract(), contract(other), VIOLATION, errors=ERROR)) == 1


def test_an_overall_verdict_that_disagrees_with_its_parts_is_no_pass():
    assert exit_status(check(contract(), verdict=Status.UNDECIDED)) == 3
    assert exit_status(check(contract(), verdict=Status.VIOLATE)) == 1


def test_every_style_that_is_used_has_a_colour():
    results = [contract(status) for status in Status] + [VIOLATION]
    lines = text_lines(check(*results, errors=ERROR), verbose=True)
    used = {span.style for line in lines for span in line}

    assert used - {""} == set(STYLES)


def test_lines_do_not_end_in_spaces():
    rows = plain(text_lines(check(*[contract(s, margin=None, p=None) for s in Status])))

    assert not any(row.endswith(" ") for row in rows.splitlines())
