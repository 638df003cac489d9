"""The plan: a pure value that neither claims nor machines change."""

from __future__ import annotations

import hashlib
from dataclasses import replace

import numpy as np
import pytest
from judging import LIBRARY, instance_of, plan_of

from kernelcontracts.engine.plan import make_plan, shape_text
from kernelcontracts.engine.run import draw_case
from kernelcontracts.lang.instance import find_instance
from kernelcontracts.lang.library import shipped_sources
from kernelcontracts.lang.source import Source
from kernelcontracts.strata.errors import NotApplicable

F32 = {"A": "f32", "B": "f32", "C": "f32"}


def changed(file, old, new):
    source = next(s for s in shipped_sources() if s.name.endswith(file))
    assert old in source.text
    library, _ = LIBRARY.with_source(Source(source.name, source.text.replace(old, new)))
    return library


def digest(plan, cases):
    """Return a digest of the inputs of some cases, bit for bit."""
    total = hashlib.sha256()
    for planned in cases:
        try:
            case = draw_case(plan, planned)
        except NotApplicable:
            total.update(b"none")
            continue
        for name in sorted(case.inputs):
            total.update(name.encode() + np.ascontiguousarray(case.inputs[name]).tobytes())
    return total.hexdigest()


def test_the_same_request_gives_the_same_plan():
    one, other = (make_plan(instance_of("C-PRC-01", "matmul"), F32, run_seed=7) for _ in range(2))
    assert (one.hash, one.cases, one.averages) == (other.hash, other.cases, other.averages)
    assert [one.key(c) for c in one.cases] == [other.key(c) for c in other.cases]


def test_the_plan_has_the_hash_it_always_had():
    # a change of this value makes every recorded trace and every published number one of another plan
    fixed = instance_of("C-PRC-02", "softmax")
    plan = make_plan(fixed, {"X": "f32", "Y": "f32"}, run_seed=0)
    assert plan.hash == "adca0d8599f50f6007a93250421ecfcd0c051d9eb195dad27073cdeaa898447d"
    assert digest(plan, plan.cases[::40]) == "72d719debaa68d893a3fd2512571dd2a45584fdb7198833874b93868107bd096"


def test_every_case_has_its_own_key_and_place():
    plan = make_plan(instance_of("C-PRC-01", "matmul"), F32, run_seed=7)
    cases = [*plan.cases, *plan.averages, *plan.more_cases(1), *plan.more_averages(1), *plan.more_averages(2)]
    assert len({plan.key(c) for c in cases}) == len(cases)
    assert len({c.index for c in cases}) == len(cases)
    assert [c.index for c in plan.cases] == list(range(len(plan.cases)))
    assert all(c.index < 0 and c.statistical for c in plan.averages)


def test_nothing_a_vendor_can_claim_enters_the_plan():
    # the bound, the clauses and the decisions may change: the inputs stay
    before = make_plan(find_instance(LIBRARY, "C-PRC-02-SOFTMAX"), {"X": "f32", "Y": "f32"}, run_seed=0)
    library = changed("core/prc.kc", "always   bounded: all(Y >= 0)", "always   bounded: all(Y >= -1)")
    after = make_plan(find_instance(library, "C-PRC-02-SOFTMAX"), {"X": "f32", "Y": "f32"}, run_seed=0)
    assert before.instance.hash != after.instance.hash
    assert before.hash == after.hash


def test_fixed_seeds_ignore_the_run_and_fresh_ones_follow_it():
    fixed, fresh = instance_of("C-PRC-01", "matmul"), instance_of("C-CMP-03", "matmul")
    assert make_plan(fixed, F32, run_seed=1).hash == make_plan(fixed, F32, run_seed=2).hash
    assert make_plan(fresh, F32, run_seed=1).hash != make_plan(fresh, F32, run_seed=2).hash
    assert make_plan(fresh, F32, run_seed=1).fresh
    assert not make_plan(fixed, F32, run_seed=1).fresh


def test_redrawing_takes_every_seed_from_the_run():
    instance = instance_of("C-PRC-01", "matmul")
    plans = [make_plan(instance, F32, run_seed=seed, redraw=True) for seed in (1, 1, 2)]
    assert plans[0].hash == plans[1].hash != plans[2].hash
    assert plans[0].hash != make_plan(instance, F32, run_seed=1).hash


def test_another_typing_is_another_plan():
    instance = instance_of("C-PRC-01", "matmul")
    assert make_plan(instance, F32, run_seed=1).hash != make_plan(instance, F32 | {"C": "f16"}, run_seed=1).hash


def test_one_case_can_be_drawn_alone():
    plan = plan_of("C-PRC-01", "matmul", strata=("gauss",), every=5)
    alone = replace(plan, cases=plan.cases[2:3])
    whole = [digest(plan, [c]) for c in plan.cases]
    assert digest(alone, alone.cases) == whole[2]
    assert len(set(whole)) == len(whole)


def test_held_out_shapes_follow_the_seed_and_stay_below_the_limit():
    plans = [make_plan(instance_of("C-CMP-03", "matmul"), F32, run_seed=seed) for seed in (1, 2)]
    shapes = [{shape_text(c.shape) for c in plan.cases} for plan in plans]
    assert shapes[0] != shapes[1]
    sizes = [size for plan in plans for c in plan.cases for size in c.shape.values() if isinstance(size, int)]
    assert max(sizes) <= 300


def test_weights_multiply_the_cases_of_a_stratum():
    plan = make_plan(instance_of("C-PRC-01", "matmul"), F32, run_seed=1)
    count = {s.name: sum(c.stratum is s for c in plan.cases) for s in plan.instance.strata}
    assert count["gauss"] == 2 * count["wide"]


@pytest.mark.parametrize(("shape", "text"), [({"L": (), "M": 3}, "L=() M=3"), ({"L": (2, 3), "N": 1}, "L=2x3 N=1")])
def test_a_shape_is_told_in_words(shape, text):
    assert shape_text(shape) == text
