"""Calibration: the three states, generated mutants, smoke tests, and measured vacuity."""

from __future__ import annotations

import dataclasses

import pytest

from kernelcontracts.calibrate import run as calibration
from kernelcontracts.calibrate.smoke import smokes
from kernelcontracts.calibrate.trials import GENERATED, attempts, claiming
from kernelcontracts.calibrate.vacuity import accepted, lint_deep
from kernelcontracts.engine.result import Status
from kernelcontracts.lang.instance import find_instance
from kernelcontracts.lang.library import Library
from kernelcontracts.lang.source import Source

LIBRARY = Library.shipped()
GATHER = find_instance(LIBRARY, "C-EXC-02-GATHER-ROWS")


def test_every_needed_decision_has_mutants_besides_the_written_trials():
    instance = find_instance(LIBRARY, "C-PRC-01", "matmul")
    found = list(attempts(instance))
    assert {a.role for a in found} == {"good", "bad", "baseline", GENERATED}
    changed = {a.name.split(" = ")[0] for a in found if a.role == GENERATED}
    assert changed == set(instance.needs) & set(claiming(instance))


def test_a_trial_takes_the_format_its_line_asks_for():
    softmax = find_instance(LIBRARY, "C-PRC-02-SOFTMAX")
    assert all(a.types == {"X": "f32", "Y": "f32"} for a in attempts(softmax))
    assert [s.size for s in smokes(softmax)] == [128]


@pytest.mark.parametrize(
    ("role", "change", "verdict", "signature"),
    [
        ("good", "as_claimed", Status.CONFORM, None),
        ("bad", "oob_policy = ZERO", Status.VIOLATE, "silent_zero"),
        ("bad", "negative_index = wrap", Status.VIOLATE, "wraps"),
        ("baseline", "fault zeros()", Status.VIOLATE, None),
    ],
)
def test_the_gather_contract_tells_its_three_states_apart(role, change, verdict, signature):
    attempt = next(a for a in attempts(GATHER) if a.role == role and a.name == change)
    result = calibration._trial(GATHER, attempt, claiming(GATHER), seed=0)
    assert result.sound, result.state
    assert result.verdict is verdict
    assert result.smoke is (role != "baseline")
    assert signature in (None, result.signature)


def test_a_bad_kernel_that_is_named_otherwise_is_reported():
    attempt = next(a for a in attempts(GATHER) if a.name == "oob_policy = CLAMP")
    other = dataclasses.replace(attempt, names="silent_garbage")
    result = calibration._trial(GATHER, other, claiming(GATHER), seed=0)
    assert not result.sound
    assert "must be named `silent_garbage`" in result.state


def test_no_shipped_gather_contract_accepts_a_kernel_that_computes_nothing():
    assert list(accepted(GATHER)) == []


def test_a_contract_that_compares_nothing_is_refused_by_a_deep_lint():
    located = next(c for c in LIBRARY.contracts if c.decl.id == "C-EXC-02-GATHER-ROWS")
    text = located.source.text
    start, stop = text.index("    always in_range:"), text.index("    always inputs:")
    hollow = text[:start] + text[stop:]
    hollow = hollow[: hollow.index("    match policy:")] + hollow[hollow.index("  tolerance none") - len("  }\n") :]
    source = Source("hollow.kc", hollow)
    library, diagnostics = LIBRARY.with_source(source)
    assert not [d for d in diagnostics if d.code == "E0101"], [d.message for d in diagnostics]
    found = lint_deep(library, [source])
    assert found
    assert {d.code for d in found} == {"E0901"}
    assert "zeros" in found[0].message
