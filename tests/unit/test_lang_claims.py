"""Claims: where they come from, what they leave open, and the completions that decide."""

from __future__ import annotations

import pytest

from kernelcontracts.lang.claims import (
    bracket,
    claims_for,
    completions,
    from_assignments,
    from_literal,
    gaps,
    open_decisions,
)
from kernelcontracts.lang.decisions import ClaimError, compare, decision_named
from kernelcontracts.lang.library import Library
from kernelcontracts.lang.source import Source
from kernelcontracts.lang.values import Choice, Unspecified

LIBRARY = Library.shipped()
MATMUL = LIBRARY.operator("matmul").decl
SHEET = """kernel-contracts 0.1
module t.sheet
use kc.ops.accumulations { matmul }

claims "acme" on "x1" {
  build compiler = "acmecc 14.2"
  for matmul where A, B in {bf16} ; C in {f32} {
    accumulator = f32 by documented "manual 7.3"
  }
  for matmul where inputs in {f16} {
    accumulator = {format = f32, width = 13} by measured "probe"
  }
  for matmul {
    accumulator     = f16 by asserted
    acc_rounding    = rz  by measured "probe"
    reduction_order unspecified "scheduler dependent"
  }
}
"""


def sheet(text=SHEET):
    library, diagnostics = LIBRARY.with_source(Source("sheet.kc", text))
    assert not diagnostics
    return library.claim_sheet("acme").decl


def typed(a, b, c):
    return {"A": a, "B": b, "C": c}


def test_a_block_for_some_types_wins_over_one_for_all_wherever_it_stands():
    assert claims_for([sheet()], MATMUL, typed("bf16", "bf16", "f32")).values["accumulator"] == Choice("f32")
    assert claims_for([sheet()], MATMUL, typed("bf16", "bf16", "bf16")).values["accumulator"] == Choice("f16")
    narrow = claims_for([sheet()], MATMUL, typed("f16", "f16", "f16")).values["accumulator"]
    assert narrow == Choice("f32", (), (("width", 13),))


def test_every_claim_says_where_it_was_made():
    answers = claims_for([sheet()], MATMUL, typed("f32", "f32", "f32"))
    origin = answers.origins["acc_rounding"]
    assert (origin.sheet, origin.evidence, origin.note) == ("acme", "measured", "probe")
    assert SHEET[origin.span.start :].startswith("acc_rounding    = rz")
    assert answers.values["reduction_order"] == Unspecified("scheduler dependent")


def test_a_sheet_says_nothing_about_other_operators():
    assert claims_for([sheet()], LIBRARY.operator("softmax").decl, {}).values == {}


def test_assignments_are_read_as_claims():
    claims = from_assignments(["accumulator=f16", " reduction_order = pairwise(8) ", "daz_in=unspecified"], MATMUL)
    assert claims == {
        "accumulator": Choice("f16"),
        "reduction_order": Choice("pairwise", (8,)),
        "daz_in": Unspecified(),
    }


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("accumulator", "is not a claim"),
        ("accumulator=", "is not a value"),
        ("acumulator=f32", "has no decision"),
        ("accumulator=f99", "is not a value"),
    ],
)
def test_a_bad_assignment_says_what_is_wrong(text, said):
    with pytest.raises(ClaimError, match=said):
        from_assignments([text], MATMUL)


def test_a_decision_is_claimed_once():
    with pytest.raises(ClaimError, match="twice"):
        from_assignments(["accumulator=f16", "accumulator=f32"], MATMUL)


def test_a_literal_in_a_kernels_file_is_read_without_running_it():
    softmax = LIBRARY.operator("softmax").decl
    assert from_literal({"exp_ulp": 2, "accumulator": "f32", "acc_rounding": None}, softmax) == {
        "exp_ulp": 2,
        "accumulator": Choice("f32"),
        "acc_rounding": Unspecified(),
    }
    for wrong in ({"exp_ulp": 2.5}, {"exp_ulp": True}, {"accumulator": ["f32"]}, {"nothing": "f32"}, {3: "f32"}):
        with pytest.raises(ClaimError):
            from_literal(wrong, softmax)


def test_an_unspecified_claim_is_an_answer_that_stays_open():
    claims = from_assignments(["accumulator=f32", "daz_in=unspecified"], MATMUL)
    needs = ("accumulator", "acc_rounding", "daz_in")
    assert gaps(needs, claims) == ("acc_rounding",)
    assert open_decisions(needs, claims) == ("acc_rounding", "daz_in")


def test_completions_keep_what_is_claimed_and_fill_in_the_rest():
    claims = from_assignments(["accumulator=f32"], MATMUL)
    found = list(completions(MATMUL, ("accumulator", "acc_rounding", "daz_in"), claims))
    assert len(found) == 2 * 2
    assert all(c["accumulator"] == Choice("f32") for c in found)
    assert list(completions(MATMUL, ("accumulator",), claims)) == [{"accumulator": Choice("f32")}]


def test_every_completion_lies_between_the_strongest_and_the_weakest():
    needs = ("accumulator", "acc_rounding", "operand_rounding", "reduction_order", "daz_in")
    ends = bracket(MATMUL, needs, {})

    def at_least(strong, weak):
        return all(compare(decision_named(MATMUL, n), strong[n], weak[n]) in {"stronger", "equal"} for n in needs)

    for completion in completions(MATMUL, needs, {}):
        assert any(at_least(end, completion) for end in ends.strongest)
        assert any(at_least(completion, end) for end in ends.weakest)


def test_the_bracket_of_complete_claims_is_those_claims():
    claims = from_assignments(["accumulator=f32", "acc_rounding=rz"], MATMUL)
    ends = bracket(MATMUL, ("accumulator", "acc_rounding"), claims)
    assert ends.strongest == ends.weakest == (claims,)
