"""Instances: a contract applied to one operator, complete and hashed.

A generic contract (``for op in accumulations``) is written once; what is run, shown, cited and certified is its
instance for an operator. Two hashes keep two questions apart: ``hash`` covers what is asked of a kernel, ``plan_hash``
covers what fixes the inputs. Claims enter neither, so that no claim can choose the inputs it is tested on.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from kernelcontracts.lang.canonical import semantic_hash
from kernelcontracts.lang.decl import Operator, Plan
from kernelcontracts.lang.expr import Name
from kernelcontracts.lang.walk import judged_parts, member_path, walk

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kernelcontracts.lang.decl import Contract, Labelled, Measure, Stratum
    from kernelcontracts.lang.expr import Expr
    from kernelcontracts.lang.library import Library


@dataclass(frozen=True, slots=True)
class Instance:
    """A contract for one operator.

    Attributes
    ----------
    id, cls, version
        ``C-PRC-01-MATMUL``, its class ``C-PRC-01``, and the contract's version.
    contract
        The contract with its operator filled in and its companion's parts merged: lets, precondition, reference and
        tolerance where it has none of its own.
    operator
        The operator's entry.
    companion
        The id of the instance that must conform as well, or ``None``.
    strata
        The strata some clause looks at: those of the base plan, then its own.
    settings
        The protocol: the base plan's settings, replaced by its own.
    needs
        The decisions a verdict depends on, in the operator's order.
    hash, plan_hash
        What is asked, and what fixes the inputs.
    """

    id: str
    cls: str
    version: str
    contract: Contract
    operator: Operator
    companion: str | None
    strata: tuple[Stratum, ...]
    settings: tuple[Labelled, ...]
    needs: tuple[str, ...]
    hash: str
    plan_hash: str

    def setting(self, label: str) -> Expr | None:
        """Return the value of a setting of the protocol, or ``None`` where it is not given."""
        return next((s.value for s in self.settings if s.label == label), None)


def instances_for(library: Library, operator_name: str) -> tuple[Instance, ...]:
    """Return the instances of every contract about an operator, in the library's order.

    Raises
    ------
    LookupError
        If there is no such operator.
    """
    operator: Operator = library.operator(operator_name).decl
    return tuple(
        instantiate(library, located.decl, operator)
        for located in library.contracts
        if is_about(located.decl, operator)
    )


def find_instance(library: Library, id: str, operator: str | None = None) -> Instance:  # noqa: A002 - the domain's word
    """Return the instance of that id; ``C-PRC-01`` with an operator finds ``C-PRC-01-MATMUL``.

    Raises
    ------
    LookupError
        If nothing has the id, or a generic id is given without an operator.
    """
    names = [operator] if operator else [located.decl.name for located in library.operators]
    found = [i for name in names for i in instances_for(library, name)]
    for instance in found:
        if id == instance.id:
            return instance
    general = [i for i in found if i.id == instance_id_of(library, id, i.operator)]
    if len(general) == 1:
        return general[0]
    raise LookupError(_not_found(id, general or found))


def instance_id_of(library: Library, id: str, operator: Operator) -> str | None:  # noqa: A002 - as above
    """Return the id that a contract's instance for an operator has, or ``None`` if the contract does not exist."""
    for located in library.contracts:
        if located.decl.id == id and is_about(located.decl, operator):
            return instance_id(located.decl, operator)
    return None


def _not_found(id: str, near: list[Instance]) -> str:  # noqa: A002 - as above
    from difflib import get_close_matches

    names = [i.id for i in near]
    listed = ", ".join(f"`{n}`" for n in (get_close_matches(id, names, 3, 0.5) or names[:6]))
    return f"no instance has the id `{id}`" + (f"; near: {listed}" if listed else "")


def is_about(contract: Contract, operator: Operator) -> bool:
    """Whether a contract's family or scope holds an operator."""
    if contract.family is not None:
        return contract.family in operator.families or contract.family == operator.name
    return contract.scope is not None and contract.scope.operator == operator.name


def instance_id(contract: Contract, operator: Operator) -> str:
    """Return ``C-PRC-01-REDUCE-SUM``; a contract written for one operator keeps its own id."""
    if contract.family is None:
        return contract.id
    return f"{contract.id}-{operator.name.upper().replace('_', '-')}"


def class_of(contract_id: str) -> str:
    """Return the class of an id: ``C-PRC-01`` of ``C-PRC-01-MATMUL``."""
    return "-".join(contract_id.split("-")[:3])


def instantiate(library: Library, contract: Contract, operator: Operator) -> Instance:
    """Apply a contract to an operator.

    Raises
    ------
    LookupError
        If its companion or its plan is not in the library.
    """
    companion = _companion(library, contract)
    merged = _specialise(_merge(contract, companion), operator)
    base = base_plan(library, merged, operator)
    strata = used_strata(merged, base)
    settings = _settings(base, merged.measure)
    return Instance(
        id=instance_id(contract, operator),
        cls=class_of(contract.id),
        version=contract.version,
        contract=merged,
        operator=operator,
        companion=None if companion is None else instance_id(companion, operator),
        strata=strata,
        settings=settings,
        needs=needed_decisions(merged, operator),
        hash=_digest("instance", semantic_hash(merged), semantic_hash(operator)),
        plan_hash=_plan_hash(operator, strata, settings),
    )


def _companion(library: Library, contract: Contract) -> Contract | None:
    if contract.companion is None:
        return None
    found: Contract = library.contract(contract.companion.id, contract.companion.version).decl
    return found


def _merge(contract: Contract, companion: Contract | None) -> Contract:
    if companion is None:
        return contract
    own = {let.name for let in contract.lets}
    return replace(
        contract,
        lets=contract.lets + tuple(let for let in companion.lets if let.name not in own),
        pre=companion.pre if contract.pre is None else contract.pre,
        tolerance=companion.tolerance if contract.tolerance is None else contract.tolerance,
        reference=companion.reference if contract.reference is None else contract.reference,
    )


def _specialise(contract: Contract, operator: Operator) -> Contract:
    """Fill in the operator, so that the text of an instance says what it is about."""
    scope, measure = contract.scope, contract.measure
    if scope is not None:
        scope = replace(scope, operator=operator.name)
    if measure is not None and measure.base is not None and measure.base.name == "op.plan":
        measure = replace(measure, base=operator.plan)
    return replace(contract, variable=None, family=None, scope=scope, measure=measure)


def base_plan(library: Library, contract: Contract, operator: Operator) -> Plan | None:
    """Return the plan a contract measures from, for one operator; ``None`` if it names none."""
    measure = contract.measure
    if measure is None or measure.base is None:
        return None
    ref = operator.plan if measure.base.name == "op.plan" else measure.base
    if ref is None:
        return None
    plan: Plan = library.plan(ref.name, ref.version).decl
    return plan


def used_strata(contract: Contract, base: Plan | None) -> tuple[Stratum, ...]:
    """Return the strata some clause looks at; a clause without ``on`` looks at all."""
    everything = (*(base.strata if base else ()), *(contract.measure.strata if contract.measure else ()))
    clauses = contract.post or ()
    if any(not clause.strata for clause in clauses):
        return everything
    named = {name for clause in clauses for name in clause.strata}
    return tuple(s for s in everything if s.name in named)


def _settings(base: Plan | None, measure: Measure | None) -> tuple[Labelled, ...]:
    merged = {s.label: s for s in (base.settings if base else ())}
    merged.update({s.label: s for s in (measure.settings if measure else ())})
    return tuple(merged.values())


def _plan_hash(operator: Operator, strata: tuple[Stratum, ...], settings: tuple[Labelled, ...]) -> str:
    signature = Operator(operator.name, operator.inputs, operator.outputs)
    plan = Plan("plan", "1", strata, settings)
    return _digest("plan", semantic_hash(signature), semantic_hash(plan))


def _digest(kind: str, *parts: str) -> str:
    text = "\n".join((f"kernel-contracts {kind}", *parts))
    return f"kc1:{hashlib.sha256(text.encode()).hexdigest()}"


# --- what a verdict depends on -----------------------------------------------------------------------------------


def needed_decisions(contract: Contract, operator: Operator) -> tuple[str, ...]:
    """Return the decisions that a verdict reads, through lets and the operator's entry, in the operator's order."""
    lets = {let.name: let.value for let in contract.lets}
    found = {d for part in judged_parts(contract) for d in claims_read(part, lets, operator)}
    return tuple(d.name for d in operator.decisions if d.name in found)


def claims_read(expr: Expr, lets: dict[str, Expr], operator: Operator) -> Iterator[str]:
    """Yield the decisions an expression reads, directly, through ``lets`` or through ``op.x``."""
    entry = operator_definitions(operator)
    # a contract names an operator's events without `op.`; a let of its own hides them
    own = {event.label: event.value for event in operator.events} | lets
    seen: set[tuple[bool, str]] = set()
    todo: list[tuple[bool, Expr]] = [(False, expr)]
    while todo:
        inside, part = todo.pop()
        for node in walk(part):
            path = member_path(node)
            if path is not None and path[0] == "claim":
                yield path[1]
            key = _definition(node, entry if inside else own, entry, inside=inside)
            if key is not None and key not in seen:
                seen.add(key)
                todo.append((key[0], (entry if key[0] else own)[key[1]]))


def _definition(node: Expr, names: dict[str, Expr], entry: dict[str, Expr], *, inside: bool) -> tuple[bool, str] | None:
    """Return which definition a node stands for: whether the operator's entry holds it, and its name."""
    path = member_path(node)
    if path is not None and path[0] == "op" and path[1] in entry:
        return True, path[1]
    return (inside, node.id) if isinstance(node, Name) and node.id in names else None


def operator_definitions(operator: Operator) -> dict[str, Expr]:
    """Return what an operator's entry defines: lets, error bounds and events, by name."""
    return {
        **{event.label: event.value for event in operator.events},
        **{let.name: let.value for let in operator.lets},
        **{bound.name: bound.value for bound in operator.errors},
    }
