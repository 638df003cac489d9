"""E0501, E0502, W0510: bounds scale with the inputs as the results do.

Every real input tensor has a unit of its own, a symbol; an operator's meaning fixes the unit of its output and which
inputs must be pure numbers (``unit_inference``, by the algebra of ``unit_algebra``).
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from kernelcontracts.lang.checks.gamma import constant
from kernelcontracts.lang.checks.unit_algebra import ONE, Solver, Unit, power, show, times
from kernelcontracts.lang.checks.unit_inference import Units
from kernelcontracts.lang.decl import Relation
from kernelcontracts.lang.diagnostics import diagnostic
from kernelcontracts.lang.expr import Binary, Compare, Name, Number, Quantity, SetLiteral
from kernelcontracts.lang.walk import clause_parts, walk

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kernelcontracts.lang.checks.context import Entry, View
    from kernelcontracts.lang.diagnostics import Diagnostic
    from kernelcontracts.lang.expr import Expr

__all__ = [
    "ONE",
    "Solver",
    "Unit",
    "Units",
    "check_entry",
    "check_view",
    "power",
    "show",
    "signature_units",
    "times",
]


def signature_units(entry: Entry) -> tuple[dict[str, dict[str, Fraction]], list[Diagnostic]]:
    """Return the unit of every tensor, as the operator's meaning demands, and what is wrong in the meaning."""
    operator = entry.operator
    units = {p.name: ONE if p.element == "i64" else {p.name: Fraction(1)} for p in operator.inputs}
    solver = Solver(rigid=False)
    checker = Units(entry, units, {}, entry.source, solver=solver)
    result = checker.of(operator.meaning) if operator.meaning is not None else None
    final = {name: solver.reduce(unit) for name, unit in units.items()}
    for output in operator.outputs:
        final[output.name] = (
            ONE
            if output.element == "i64"
            else solver.reduce(result)
            if result is not None
            else {output.name: Fraction(1)}
        )
    return final, checker.found


def check_entry(entry: Entry) -> list[Diagnostic]:
    """Return what does not scale alike in an operator's entry."""
    tensors, found = signature_units(entry)
    if found:
        return found
    units = Units(entry, tensors, entry.definitions, entry.source)
    for name in entry.definitions:
        units.of(Name(name))
    for bound in entry.operator.errors:
        _check_error(bound.value, units)
    return units.found


def _check_error(expr: Expr, units: Units) -> None:
    """Require that an error bound scales as the output it bounds."""
    unit = units.of(expr) if not units.found else None
    if unit is not None and units.output is not None and not units.solver.unify(units.output, unit):
        units.mismatch(expr, units.output, unit)


def check_view(view: View) -> list[Diagnostic]:
    """Return what does not scale alike in a contract."""
    contract, entry = view.contract, view.entry
    tensors, wrong = signature_units(entry)
    if wrong:
        return []
    names, own = view.definitions, view.own
    units = Units(entry, tensors, names, view.source, members=entry.definitions)
    for name in names:
        if name not in own:
            units.of(Name(name))
    units.found.clear()  # what a companion or the operator lends is checked where it is written
    for name in names:
        if name in own:
            units.of(Name(name))
    for item in contract.pre or ():
        units.of(item.value)
    for clause in contract.post or ():
        if isinstance(clause, Relation):
            units.bind(clause.variable, _variable_unit(clause, units))
        for part in clause_parts(clause):
            units.of(part)
    return [*units.found, *_absolute(view, tensors)]


def _variable_unit(clause: Relation, units: Units) -> Unit:
    """Return the unit of a relation's variable: that of the numbers it ranges over; a transform has none."""
    domain = clause.domain
    if isinstance(domain, SetLiteral):
        known = [units.of(e) for e in domain.items if not (isinstance(e, Number) and e.value == 0)]
        return known[0] if known else ONE
    return ONE if isinstance(domain, Binary) else None


def _absolute(view: View, tensors: Mapping[str, dict[str, Fraction]]) -> list[Diagnostic]:
    """W0510: ``1e-6 abs`` says something only about results of a known size."""
    outputs = view.entry.operator.outputs
    scale = tensors.get(outputs[0].name) if outputs else None
    if not scale or set(scale) <= _bounded_inputs(view):
        return []
    parts = [b.value for b in view.contract.tolerance or ()]
    parts += [p for clause in view.contract.post or () for p in clause_parts(clause)]
    return [
        diagnostic(
            "W0510",
            "an absolute tolerance against a result that has a scale",
            source=view.source,
            span=node.span,
            label=f"the result scales as {show(scale)}",
            notes=("scaling the inputs makes it arbitrarily loose, or impossible to meet",),
            help="use `rel`, `ulp` or a bound made of inputs, or bound the inputs in `pre`: `all(|A| <= 1)`",
        )
        for part in parts
        for node in walk(part)
        if isinstance(node, Quantity) and node.unit == "abs" and _is_literal(node.value)
    ]


def _is_literal(expr: Expr) -> bool:
    value = constant(expr)
    return value is not None and value != 0


def _bounded_inputs(view: View) -> set[str]:
    """Return the inputs whose size the precondition limits by a constant."""
    names = {p.name for p in view.entry.operator.inputs}
    found: set[str] = set()
    for item in view.pre:
        for node in walk(item.value):
            if isinstance(node, Compare) and any(constant(e) is not None for e in node.operands):
                read = {n.id for e in node.operands for n in walk(e) if isinstance(n, Name)}
                found |= names if "inputs" in read else read & names
    return found
