"""Instances: generic contracts on operators, companions, needs, and the two hashes."""

from __future__ import annotations

import pytest

from kernelcontracts.lang.instance import find_instance, instances_for
from kernelcontracts.lang.library import Library, shipped_sources
from kernelcontracts.lang.source import Source

LIBRARY = Library.shipped()


def changed(file, old, new):
    source = next(s for s in shipped_sources() if s.name.endswith(file))
    assert old in source.text
    library, _ = LIBRARY.with_source(Source(source.name, source.text.replace(old, new)))
    return library


def test_a_generic_contract_has_an_instance_for_each_operator_of_its_family():
    ids = [i.id for i in instances_for(LIBRARY, "reduce_sum")]
    assert sorted(ids) == ["C-CMP-03-REDUCE-SUM", "C-ORD-01-REDUCE-SUM", "C-PRC-01-REDUCE-SUM", "C-PRC-03-REDUCE-SUM"]
    assert [i.id for i in instances_for(LIBRARY, "softmax")] == ["C-PRC-02-SOFTMAX"]


def test_an_instance_is_found_by_its_id_or_by_its_class_and_operator():
    assert find_instance(LIBRARY, "C-PRC-01-MATMUL") == find_instance(LIBRARY, "C-PRC-01", "matmul")
    assert find_instance(LIBRARY, "C-EXC-02-GATHER-ROWS").cls == "C-EXC-02"


@pytest.mark.parametrize("wanted", [("C-PRC-01",), ("C-PRC-01-MATMULL",), ("C-PRC-01", "softmax"), ("", "matmul")])
def test_an_id_that_is_none_is_answered_with_those_near_it(wanted):
    with pytest.raises(LookupError, match="no instance has the id"):
        find_instance(LIBRARY, *wanted)


def test_the_operator_is_filled_in():
    contract = find_instance(LIBRARY, "C-PRC-01-MATMUL").contract
    assert (contract.family, contract.variable) == (None, None)
    assert contract.scope.operator == "matmul"
    assert contract.measure.base.name == "kc.plans.products"


def test_a_companion_lends_what_the_contract_does_not_have():
    own, lender = find_instance(LIBRARY, "C-CMP-03-MATMUL"), find_instance(LIBRARY, "C-PRC-01-MATMUL")
    assert own.companion == "C-PRC-01-MATMUL"
    assert own.contract.pre == lender.contract.pre
    assert own.contract.tolerance == lender.contract.tolerance
    assert own.contract.reference == lender.contract.reference
    assert own.contract.post != lender.contract.post
    assert lender.companion is None


def test_needs_are_found_through_lets_bounds_and_the_operators_entry():
    assert find_instance(LIBRARY, "C-ORD-01-MATMUL").needs == (
        "accumulator",
        "acc_rounding",
        "operand_rounding",
        "reduction_order",
        "daz_in",
        "ftz_out",
    )
    assert "reduction_order" not in find_instance(LIBRARY, "C-PRC-01-MATMUL").needs
    assert "determinism" in find_instance(LIBRARY, "C-CMP-03-MATMUL").needs
    assert find_instance(LIBRARY, "C-EXC-02-GATHER-ROWS").needs == ("oob_policy", "negative_index")


def test_what_the_scope_asks_of_claims_is_needed():
    assert "stabilization" in find_instance(LIBRARY, "C-PRC-02-SOFTMAX").needs


def test_only_strata_that_a_clause_looks_at_are_drawn():
    names = [s.name for s in find_instance(LIBRARY, "C-PRC-03-MATMUL").strata]
    assert names == ["subnormal_in", "subnormal_out"]
    base = LIBRARY.plan("kc.plans.products").decl
    assert find_instance(LIBRARY, "C-PRC-01-MATMUL").strata == base.strata


def test_a_contracts_own_settings_replace_the_plans():
    own = find_instance(LIBRARY, "C-ORD-01-MATMUL")
    plan = {s.label: s.value for s in LIBRARY.plan("kc.plans.products").decl.settings}
    assert own.setting("seeds") != plan["seeds"]
    assert own.setting("shapes") == plan["shapes"]
    assert own.setting("nothing") is None


def test_hashes_differ_between_instances_and_agree_between_equal_texts():
    found = [i for o in ("matmul", "reduce_sum", "softmax", "gather_rows") for i in instances_for(LIBRARY, o)]
    assert len({i.hash for i in found}) == len(found)
    again = changed("core/prc.kc", "always     close: output", "always     close:   output")
    assert find_instance(again, "C-PRC-01-MATMUL").hash == find_instance(LIBRARY, "C-PRC-01-MATMUL").hash


def test_the_plans_hash_follows_the_inputs_and_nothing_else():
    before = find_instance(LIBRARY, "C-PRC-01-MATMUL")
    looser = find_instance(changed("core/prc.kc", "worst   = op.worst", "worst   = op.ordered"), "C-PRC-01-MATMUL")
    assert looser.plan_hash == before.plan_hash
    assert looser.hash != before.hash
    reseeded = find_instance(changed("plans/plans.kc", "start = 24301", "start = 24302"), "C-PRC-01-MATMUL")
    assert reseeded.plan_hash != before.plan_hash


def test_a_stratum_that_no_clause_looks_at_does_not_enter_the_plans_hash():
    old = "inputs ties:          A, B ~ ties()"
    other = changed("plans/plans.kc", old, old.replace("ties()", "wide()"))
    assert find_instance(other, "C-ORD-01-MATMUL").plan_hash == find_instance(LIBRARY, "C-ORD-01-MATMUL").plan_hash
    assert find_instance(other, "C-PRC-01-MATMUL").plan_hash != find_instance(LIBRARY, "C-PRC-01-MATMUL").plan_hash


def test_the_operators_bounds_enter_the_instances_hash():
    other = changed("ops/accumulations.kc", "0.8 * u_in^2", "0.9 * u_in^2")
    assert find_instance(other, "C-PRC-01-MATMUL").hash != find_instance(LIBRARY, "C-PRC-01-MATMUL").hash
