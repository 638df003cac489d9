"""``within`` and ``identical``: margins, and what happens at NaN, infinities, zeros and unknowns."""

from __future__ import annotations

import numpy as np
import pytest
from judging import arrays, case_of, instance_of, observed_as, scope_of, value

from kernelcontracts.engine import judge
from kernelcontracts.evaluate import connectives
from kernelcontracts.evaluate.comparison import identical, within
from kernelcontracts.evaluate.field import Field, Logical, Margins, Tensor
from kernelcontracts.formats.facts import FORMATS
from kernelcontracts.numerics.interval import Interval, exact

INF, NAN = np.inf, np.nan
F16 = FORMATS["f16"]
LARGEST = float(F16.maxfinite)


def got(value, fmt="f16"):
    return Tensor("C", (), arrays(value, fmt), FORMATS[fmt], candidate=True)


def real(lo, hi=None):
    return Field((), exact(lo) if hi is None else Interval(np.asarray(lo), np.asarray(hi)))


def margin(actual, tolerance, reference):
    found = within(actual, tolerance, reference)
    return float(found.lo), float(found.hi)


def test_a_margin_is_the_error_over_the_tolerance():
    assert margin(got(1.5), real(0.25), real(1.0)) == (2, 2)
    assert margin(got(0.875), real(0.25), real(1.0)) == (0.5, 0.5)


def test_the_width_of_reference_and_tolerance_is_the_width_of_the_margin():
    lo, hi = margin(got(1.5), real(0.25, 0.5), real(0.75, 1.0))
    assert (lo, hi) == (0.5 / 0.5, 0.75 / 0.25)
    lo, hi = margin(got(0.75), real(0.25, 0.5), real(0.5, 1.0))
    assert (lo, hi) == (0, 1)


def test_no_error_needs_no_tolerance_and_any_error_breaks_one_of_zero():
    assert margin(got(1.0), real(0.0), real(1.0)) == (0, 0)
    assert margin(got(-0.0), real(0.0), real(0.0)) == (0, 0)
    assert margin(got(1.5), real(0.0), real(1.0)) == (INF, INF)


def test_a_tolerance_below_zero_allows_nothing():
    assert margin(got(1.5), real(-3.0), real(1.0)) == (INF, INF)
    # a bound that rounding carried below zero decides nothing, and passes nothing
    assert margin(got(1.0), real(-0.5, 0.5), real(0.5)) == (1, INF)


SPECIAL = [
    # the reference is NaN: the result must be
    (NAN, 1.0, NAN, (0, 0)),
    (1.0, 1.0, NAN, (INF, INF)),
    (INF, 1.0, NAN, (INF, INF)),
    # a NaN where the reference is a number, or an infinity
    (NAN, 1.0, 1.0, (INF, INF)),
    (NAN, 1.0, INF, (INF, INF)),
    # an infinity where reference and tolerance stay in range
    (INF, 1.0, 1.0, (INF, INF)),
    (-INF, 1e9, 1.0, (INF, INF)),
    (INF, 1.0, LARGEST, (0, 0)),
    # ... and where they reach beyond it, on the same side alone
    (INF, 0.0, 2 * LARGEST, (0, 0)),
    (-INF, 0.0, 2 * LARGEST, (INF, INF)),
    (INF, 1.0, INF, (0, 0)),
    (-INF, 1.0, -INF, (0, 0)),
    (-INF, 1.0, INF, (INF, INF)),
    # a finite number where the reference is infinite
    (LARGEST, 1.0, INF, (INF, INF)),
]


@pytest.mark.parametrize(("actual", "tolerance", "reference", "expected"), SPECIAL)
def test_special_values_follow_the_written_rule(actual, tolerance, reference, expected):
    assert margin(got(actual), real(tolerance), real(reference)) == expected


def test_an_infinity_that_a_wide_reference_may_reach_is_undecided():
    assert margin(got(INF), real(0.0), real(LARGEST - 100, LARGEST + 100)) == (0, INF)


def test_an_enclosure_without_an_upper_end_is_not_an_infinite_result():
    # only the candidate's own bits are seen; a derived value that may have overflowed convicts nobody
    lo, hi = margin(real(-INF, 0.0), real(1.0), real(-5.0))
    assert lo <= 1
    assert hi == INF


def test_an_undefined_tolerance_decides_nothing():
    assert margin(got(1.5), real(NAN), real(1.0)) == (0, INF)


def test_one_undefined_margin_does_not_hide_a_violation():
    actual = Tensor("C", ("N",), arrays([1.0, 9.0], "f16"), F16)
    margins = within(actual, Field(("N",), exact(np.array([NAN, 1.0]))), Field(("N",), exact(np.array([2.0, 2.0]))))
    assert margins.worst() == (7, INF)


def test_identical_bits_tell_zeros_apart_and_nan_payloads_not():
    left = Tensor("a", ("N",), np.array([0.0, NAN, 1.0, 1.0], np.float32), FORMATS["f32"])
    right = Tensor("b", ("N",), np.array([-0.0, -NAN, 1.0, 2.0], np.float32), FORMATS["f32"])
    assert identical(left, right).lo.tolist() == [INF, 0, 0, INF]


def test_identical_to_a_real_asks_for_the_same_number():
    scope = scope_of(case_of("reduce_sum", arrays([[0.1, 0.2]], "f32")), "C-PRC-01")
    right = np.float32(np.float64(np.float32(0.1)) + np.float64(np.float32(0.2)))
    for answer, expected in ((right, 0), (np.nextafter(right, np.float32(1)), INF)):
        seen = scope.observing(observed_as(scope.case, np.array([answer], np.float32)))
        assert value("output identical round(ref, output)", seen).worst() == (expected, expected)


def test_identical_to_an_enclosure_is_undecided_inside_and_wrong_outside():
    assert identical(got(1.0), real(0.5, 2.0)).worst() == (0, INF)
    assert float(identical(got(3.0), real(0.5, 2.0)).lo) == INF
    assert float(identical(got(NAN), real(NAN)).hi) == 0


def test_connectives_of_margins_take_the_worse_the_better_and_the_guarded():
    a, b = Margins((), np.asarray(0.5), np.asarray(3.0)), Margins((), np.asarray(2.0), np.asarray(2.5))
    both, either = connectives.join("and", a, b), connectives.join("or", a, b)
    assert (float(both.lo), float(both.hi)) == (2, 3)
    assert (float(either.lo), float(either.hi)) == (0.5, 2.5)
    for must, may, expected in ((True, True, (2, 2.5)), (False, False, (0, 0)), (False, True, (0, 2.5))):
        guard = Logical((), np.asarray(must), np.asarray(may))
        found = connectives.join("implies", guard, b)
        assert (float(found.lo), float(found.hi)) == expected


def test_three_valued_logic_follows_kleene():
    true, false, unknown = (
        Logical((), np.asarray(a), np.asarray(b)) for a, b in ((True, True), (False, False), (False, True))
    )
    named = {"t": true, "f": false, "u": unknown}
    tables = {
        "and": {"tt": "t", "tf": "f", "tu": "u", "fu": "f", "uu": "u", "ff": "f"},
        "or": {"tt": "t", "tf": "t", "tu": "t", "fu": "u", "uu": "u", "ff": "f"},
        "implies": {"tf": "f", "tu": "u", "fu": "t", "ut": "t", "uf": "u", "uu": "u"},
    }
    for op, rows in tables.items():
        for (x, y), expected in rows.items():
            found, right = connectives.join(op, named[x], named[y]), named[expected]
            assert (bool(found.must), bool(found.may)) == (bool(right.must), bool(right.may)), (op, x, y)
    assert (bool(connectives.negate(unknown).must), bool(connectives.negate(unknown).may)) == (False, True)


def test_all_of_margins_is_the_largest():
    scope = scope_of(case_of("softmax", arrays([[0.0, 0.0]], "f32")), "C-PRC-02")
    seen = scope.observing(observed_as(scope.case, arrays([[0.5, 0.75]], "f32")))
    found = value("all(Y within 0.125 of ref)", seen)
    assert found.worst()[0] == pytest.approx(2)
    assert found.dims == ()


class Bound:
    """A scope that knows a relation's variable alone."""

    def __init__(self, value=None):
        self.value = value

    def binding(self, _name, value):
        """Bind the variable."""
        return Bound(value)


def test_a_relation_stays_undecided_if_one_of_its_instances_is(monkeypatch):
    # one instance with a small margin must not cover for another about which nothing is known
    clause = next(c for c in instance_of("C-PRC-02", "softmax").contract.post if c.label == "shift")
    instances = {1: Margins((), np.asarray(0.0), np.asarray(INF)), 2: Margins((), np.asarray(0.5), np.asarray(0.6))}
    values = {id(clause.domain): lambda _: (1, 2), id(clause.where): lambda _: True}
    monkeypatch.setattr(judge, "evaluate", lambda e, s: values.get(id(e), lambda s: instances[s.value])(s))
    found = judge._relation(clause, Bound())
    assert found.margins.worst() == (0.5, INF)
    assert found.reached
    assert found.binding == (clause.variable, 2)


def test_a_relation_without_an_instance_compared_nothing(monkeypatch):
    clause = next(c for c in instance_of("C-PRC-02", "softmax").contract.post if c.label == "shift")
    values = {id(clause.domain): (1, 2), id(clause.where): False}
    monkeypatch.setattr(judge, "evaluate", lambda e, _: values[id(e)])
    assert judge._relation(clause, Bound()).reached is False
