"""Nothing the candidate does moves the goal posts: the run-time half of non-interference."""

from __future__ import annotations

import numpy as np
import pytest
from judging import LIBRARY, arrays, case_of, expression, observed_as, scope_of, value

from kernelcontracts.evaluate.expressions import evaluate, reference
from kernelcontracts.evaluate.functions import FUNCTIONS
from kernelcontracts.evaluate.program import Program
from kernelcontracts.evaluate.scope import UnresolvedError
from kernelcontracts.evaluate.transforms import DOMAINS
from kernelcontracts.lang.builtins import OBSERVED_NAMES, TABLE
from kernelcontracts.lang.instance import find_instance, instances_for
from kernelcontracts.lang.library import shipped_sources
from kernelcontracts.lang.source import Source


def softmax_scope():
    return scope_of(case_of("softmax", arrays([[1.0, 2.0]], "f32")), "C-PRC-02")


@pytest.mark.parametrize(
    "text",
    [
        "Y",
        "output",
        "completed",
        "raised",
        "raised(IndexError)",
        "unchanged(X)",
        "unchanged(guard(Y))",
        "impl(X)",
        "identical_over(reruns(2))",
        "sum(Y)",
        "0.1 * |Y|",
        "Y within worst of ref",
    ],
)
def test_a_scope_without_an_observation_cannot_reach_the_candidate(text):
    with pytest.raises(UnresolvedError):
        value(text, softmax_scope())


def changed(old, new):
    """Return the softmax contract with a change that the static checks would refuse."""
    source = next(s for s in shipped_sources() if s.name.endswith("core/prc.kc"))
    assert old in source.text
    library, _ = LIBRARY.with_source(Source(source.name, source.text.replace(old, new)))
    return find_instance(library, "C-PRC-02-SOFTMAX")


@pytest.mark.parametrize("new", ["let top = max(Y, over = N)", "let top = max(impl(X), over = N)"])
def test_a_definition_never_sees_the_candidate_whatever_its_text_says(new):
    instance = changed("let top      = max(X, over = N)", new)
    plain = softmax_scope()
    scope = type(plain)(Program(instance), plain.case, plain.claims)
    seen = scope.observing(observed_as(scope.case, arrays([[0.5, 0.5]], "f32")))
    for name in ("top", "worst", "ref"):
        with pytest.raises(UnresolvedError):
            evaluate(expression(name), seen)


def test_an_operators_entry_never_sees_the_candidate():
    seen = softmax_scope().observing(observed_as(softmax_scope().case, arrays([[0.5, 0.5]], "f32")))
    assert seen.within_operator().observed is None
    with pytest.raises(UnresolvedError):
        evaluate(expression("Y"), seen.within_operator())


def test_reference_and_tolerance_are_the_same_for_every_candidate():
    found = []
    for answer in ([[0.0, 0.0]], [[np.nan, np.inf]], [[0.25, 0.75]]):
        scope = softmax_scope()
        seen = scope.observing(observed_as(scope.case, arrays(answer, "f32")))
        value("Y within worst of ref", seen)
        found.append([value(text, seen).value.hi.tobytes() for text in ("ref", "worst")])
    assert found[0] == found[1] == found[2]


def test_bindings_of_a_relation_do_not_reach_definitions():
    scope = softmax_scope()
    inner = scope.binding("X", arrays([[9.0, 9.0]], "f32")).binding("N", 99)
    assert value("top", inner).value.lo.tolist() == [2]


def test_values_that_depend_on_claims_are_not_shared_between_sheets():
    case = case_of("softmax", arrays([[1.0, 2.0]], "f32"))
    weak, strong = (scope_of(case, "C-PRC-02", {"accumulator": a}) for a in ("f16", "f64"))
    assert value("u_acc", weak) == 2**42 * value("u_acc", strong)
    assert value("max(worst)", weak).value.lo > value("max(worst)", strong).value.lo


def test_values_that_no_claim_can_change_are_computed_once_for_all_sheets():
    case = case_of("softmax", arrays([[1.0, 2.0]], "f32"))
    one, other = (scope_of(case, "C-PRC-02", {"accumulator": a}) for a in ("f16", "f64"))
    assert value("ref", one) is value("ref", other)
    assert value("worst", one) is not value("worst", other)
    assert reference(one, "meaning") is reference(other, "meaning")


def free(instance):
    return {name for space, name in Program(instance).claim_free if space == "contract"}


def test_what_reads_a_claim_through_an_event_is_not_claim_free():
    source = next(s for s in shipped_sources() if s.name.endswith("core/exc.kc"))
    text = source.text.replace(
        "picked = gather(table, op.safe)", "picked = gather(table, op.safe)\n    hit = oob\n    miss = idx < 0"
    )
    library, _ = LIBRARY.with_source(Source(source.name, text))
    names = free(find_instance(library, "C-EXC-02-GATHER-ROWS"))
    assert "miss" in names
    assert not {"hit", "picked"} & names


def test_what_is_measured_at_a_reference_with_claims_is_not_claim_free():
    old = "ref = exp(X - top) / sum(exp(X - top), over = N)"
    for ref, is_free in ((old, True), (f"ref = claim.exp_ulp * {old[6:]}", False)):
        source = next(s for s in shipped_sources() if s.name.endswith("core/prc.kc"))
        text = source.text.replace(old, ref).replace("let top ", "let spacing  = 2 ulp\n  let top ")
        library, _ = LIBRARY.with_source(Source(source.name, text))
        assert ("spacing" in free(find_instance(library, "C-PRC-02-SOFTMAX"))) is is_free


@pytest.mark.parametrize("operator", ["matmul", "reduce_sum", "softmax", "gather_rows"])
def test_every_definition_of_the_library_can_be_evaluated_without_a_candidate(operator):
    inputs = {
        "matmul": (arrays(np.ones((2, 3)), "f32"), arrays(np.ones((3, 2)), "f32")),
        "gather_rows": (arrays(np.ones((2, 3)), "f32"), np.array([0, 1])),
    }.get(operator, (arrays(np.ones((2, 3)), "f32"),))
    for instance in instances_for(LIBRARY, operator):
        scope = scope_of(case_of(operator, *inputs), instance.id)
        for name in scope.program.contract.lets:
            evaluate(expression(name), scope)
        for name in scope.program.operator.lets:
            evaluate(expression(f"op.{name}"), scope)


def test_the_language_and_the_evaluator_know_the_same_functions():
    declared = {name for place, name in TABLE if place in ("expression", "observation", "domain")} | OBSERVED_NAMES
    assert set(FUNCTIONS) == declared
    assert set(DOMAINS) == {name for place, name in TABLE if place == "domain"}
