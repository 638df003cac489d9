"""E0501, E0502, W0510: bounds scale with the inputs as the results do.

Every real input tensor has a unit of its own, a symbol; an operator's meaning fixes the unit of its output and which
inputs must be pure numbers. What is added, compared or taken the larger of has one unit. Units form the free abelian
group on the symbols, with rational exponents; equality is solved by elimination, as in Kennedy, Relational
parametricity and units of measure, 1997. Zero and the constants of formats have any unit.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, TypeAlias

from kernelcontracts.lang.builtins import Builtin, builtin
from kernelcontracts.lang.checks.context import is_choice
from kernelcontracts.lang.checks.gamma import constant
from kernelcontracts.lang.decl import Relation
from kernelcontracts.lang.diagnostics import diagnostic
from kernelcontracts.lang.expr import (
    Binary,
    Call,
    Compare,
    Identical,
    If,
    In,
    Index,
    Name,
    Number,
    Quantity,
    Reduce,
    SetLiteral,
    Unary,
    Within,
)
from kernelcontracts.lang.walk import children, clause_parts, member_path, walk

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from kernelcontracts.lang.checks.context import Entry, View
    from kernelcontracts.lang.diagnostics import Diagnostic
    from kernelcontracts.lang.expr import Expr
    from kernelcontracts.lang.source import Source

Unit: TypeAlias = "dict[str, Fraction] | None"
"""Exponents by symbol, none of them zero; ``None`` where the unit is not known. A symbol ``?n`` can still be solved."""

ONE: dict[str, Fraction] = {}


class Solver:
    """Equations between units. Symbols that begin with ``?`` are unknowns, others stand for themselves."""

    def __init__(self, *, rigid: bool = True) -> None:
        self.rigid = rigid
        self._solved: dict[str, dict[str, Fraction]] = {}
        self._count = 0

    def fresh(self) -> dict[str, Fraction]:
        """Return a unit that may become any."""
        self._count += 1
        return {f"?{self._count}": Fraction(1)}

    def reduce(self, unit: dict[str, Fraction]) -> dict[str, Fraction]:
        """Return a unit with everything that is solved put in."""
        while any(symbol in self._solved for symbol in unit):
            total: dict[str, Fraction] = {}
            for symbol, exponent in unit.items():
                for part, power in self._solved.get(symbol, {symbol: Fraction(1)}).items():
                    total[part] = total.get(part, Fraction(0)) + exponent * power
            unit = {s: e for s, e in total.items() if e}
        return unit

    def unify(self, a: dict[str, Fraction], b: dict[str, Fraction]) -> bool:
        """Make two units equal; false if they cannot be."""
        rest = self.reduce(times(a, b, -1))
        if not rest:
            return True
        free = [s for s in rest if s.startswith("?")] or ([] if self.rigid else list(rest))
        if not free:
            return False
        chosen = free[0]
        power = rest.pop(chosen)
        self._solved[chosen] = {s: -e / power for s, e in rest.items()}
        return True


def times(a: dict[str, Fraction], b: dict[str, Fraction], sign: int | Fraction = 1) -> dict[str, Fraction]:
    """Return ``a * b^sign``."""
    total = dict(a)
    for symbol, exponent in b.items():
        total[symbol] = total.get(symbol, Fraction(0)) + sign * exponent
    return {s: e for s, e in total.items() if e}


def power(a: dict[str, Fraction], exponent: Fraction) -> dict[str, Fraction]:
    """Return ``a^exponent``."""
    return {s: e * exponent for s, e in a.items() if e * exponent}


def show(unit: dict[str, Fraction]) -> str:
    """Return a unit as it stands in messages: ``⟨A⟩·⟨B⟩^2``, or ``a pure number``."""
    if not unit:
        return "a pure number"
    return "·".join(f"⟨{s}⟩" if e == 1 else f"⟨{s}⟩^{e}" for s, e in sorted(unit.items()))


# --- signatures --------------------------------------------------------------------------------------------------


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


class Units:
    """Infers units in one scope, and collects what does not scale alike."""

    def __init__(
        self,
        entry: Entry,
        tensors: Mapping[str, dict[str, Fraction]],
        names: Mapping[str, Expr],
        source: Source,
        *,
        members: Mapping[str, Expr] | None = None,
        solver: Solver | None = None,
    ) -> None:
        self.entry = entry
        self.source = source
        self.found: list[Diagnostic] = []
        self.solver = solver or Solver()
        self._tensors = tensors
        self._names = names
        self._members = members
        self._memo: dict[str, Unit] = {}
        self._bound: dict[str, Unit] = {}
        self._inside: Units | None = None
        outputs = entry.operator.outputs
        self.output: Unit = tensors.get(outputs[0].name) if outputs else None

    def of(self, expr: Expr) -> Unit:
        """Return the unit of an expression."""
        path = member_path(expr)
        if path is not None and path[0] in {"claim", "op", "r"}:
            return self._member(path)
        match expr:
            case Number():
                return self.solver.fresh() if expr.value == 0 else ONE
            case Name():
                return self._name(expr)
            case Unary(op="not"):
                self.of(expr.operand)
                return ONE
            case Unary():
                return self.of(expr.operand)
            case Binary():
                return self._binary(expr)
            case Compare():
                return self._compare(expr)
            case Within():
                return self._within(expr)
            case Identical():
                self._same(expr, (expr.left, expr.right))
                return ONE
            case In():
                return self._in(expr)
            case If():
                self.of(expr.condition)
                return self._same(expr, (expr.yes, expr.no))
            case Quantity():
                return self._quantity(expr, self.output)
            case Call():
                return self._call(expr)
            case Index():
                for index in expr.indices:
                    self.of(index)
                return self.of(expr.base)
            case Reduce():
                return self._reduce(expr)
        return None

    def _member(self, path: tuple[str, str]) -> Unit:
        if path[0] != "op" or self._members is None:
            return ONE
        if path[1] not in self._members:
            return None
        if self._inside is None:
            # what is wrong inside the operator's entry is reported there
            self._inside = Units(self.entry, self._tensors, self._members, self.entry.source, solver=self.solver)
        return self._inside.of(Name(path[1]))

    def _name(self, expr: Name) -> Unit:
        if expr.id in self._bound:
            return self._bound[expr.id]
        if expr.id in self._names:
            if expr.id not in self._memo:
                self._memo[expr.id] = None
                self._memo[expr.id] = self.of(self._names[expr.id])
            return self._instance(self._memo[expr.id])
        if expr.id in self._tensors:
            return self._tensors[expr.id]
        if expr.id in {"ref", "meaning", "output"}:
            return self.output
        if expr.id in self.entry.dims or expr.id in {"true", "false", "completed", "raised"}:
            return ONE
        return None

    def _instance(self, unit: Unit) -> Unit:
        """Give a definition that has any unit a new one at each use, so that uses do not bind each other."""
        if unit is None:
            return None
        reduced = self.solver.reduce(unit)
        renamed: dict[str, Fraction] = {}
        for symbol, exponent in reduced.items():
            fresh = self.solver.fresh() if symbol.startswith("?") else {symbol: Fraction(1)}
            renamed = times(renamed, power(fresh, exponent))
        return renamed

    # --- one unit for several ------------------------------------------------------------------------------------

    def _same(self, expr: Expr, parts: Iterable[Expr]) -> Unit:
        """Require that parts have one unit, and return it."""
        common: Unit = None
        known = True
        for part in parts:
            unit = self.of(part)
            if unit is None:
                known = False
            elif common is None:
                common = unit
            elif not self.solver.unify(common, unit):
                self._mismatch(expr, common, unit)
                return None
        return common if known else None

    def _mismatch(self, expr: Expr, left: dict[str, Fraction], right: dict[str, Fraction]) -> None:
        a, b = show(self.solver.reduce(left)), show(self.solver.reduce(right))
        self.found.append(
            diagnostic(
                "E0501",
                "these quantities do not scale the same way",
                source=self.source,
                span=expr.span,
                label=f"one side scales as {a}, the other as {b}",
                notes=("scaling an input by s must scale both sides by the same power of s",),
                help="give the smaller side the missing factor, such as `|A| @ |B|` for a matrix product",
            )
        )

    def _pure(self, expr: Expr, what: str) -> bool:
        """Require that an argument is a pure number; false where it is not."""
        unit = self.of(expr)
        fits = unit is None or self.solver.unify(unit, ONE)
        if unit is not None and not fits:
            self.found.append(
                diagnostic(
                    "E0502",
                    f"{what} needs a pure number",
                    source=self.source,
                    span=expr.span,
                    label=f"this scales as {show(self.solver.reduce(unit))}",
                    help="divide by something that scales alike",
                )
            )
        return fits

    def _compare(self, expr: Compare) -> Unit:
        if any(is_choice(e) for e in expr.operands) and any(isinstance(e, Name | Call) for e in expr.operands):
            return ONE  # values of decisions have no unit
        self._same(expr, expr.operands)
        return ONE

    def _in(self, expr: In) -> Unit:
        if is_choice(expr.item):
            return ONE
        domain = expr.domain
        parts = domain.items if isinstance(domain, SetLiteral) else children(domain)
        self._same(expr, (expr.item, *parts))
        return ONE

    def _within(self, expr: Within) -> Unit:
        reference = self.of(expr.reference)
        actual = self.of(expr.actual)
        before, self.output = self.output, reference if reference is not None else self.output
        width = self.of(expr.tolerance)
        self.output = before
        for a, b in ((actual, reference), (width, reference)):
            if a is not None and b is not None and not self.solver.unify(b, a):
                self._mismatch(expr, b, a)
                break
        return ONE

    # --- arithmetic ----------------------------------------------------------------------------------------------

    def _binary(self, expr: Binary) -> Unit:
        if expr.op in {"and", "or", "implies"}:
            self.of(expr.left)
            self.of(expr.right)
            return ONE
        if expr.op in {"+", "-", ".."}:
            return self._same(expr, (expr.left, expr.right))
        if expr.op == "^":
            return self._power(expr)
        left, right = self.of(expr.left), self.of(expr.right)
        if left is None or right is None:
            return None
        return times(left, right, -1 if expr.op == "/" else 1)

    def _power(self, expr: Binary) -> Unit:
        exponent = constant(expr.right)
        if exponent is None:
            base_is_pure = self._pure(expr.left, "the base of a power that is not a number")
            return ONE if self._pure(expr.right, "an exponent") and base_is_pure else None
        base = self.of(expr.left)
        return None if base is None else power(base, exponent)

    def _quantity(self, expr: Quantity, anchor: Unit) -> Unit:
        if expr.unit == "abs":
            # `minnormal(Y) abs` and `0.001 abs` are both quantities of the result, whatever they are made of
            self.of(expr.value)
            return self.solver.fresh()
        if not self._pure(expr.value, f"the number of `{expr.unit}`"):
            return None
        return self.of(expr.anchor) if expr.anchor is not None else anchor

    # --- calls ---------------------------------------------------------------------------------------------------

    def _call(self, expr: Call) -> Unit:
        row = builtin(expr.function, ("expression", "observation"))
        if row is None:
            return None
        if row.name == "impl":
            return self._on_inputs(expr)
        if row.shape == "output" and row.candidate:
            return self._tensors.get(self.entry.operator.outputs[0].name) if self.entry.operator.outputs else None
        values = [a for i, a in enumerate(expr.args) if row.kind(i) == "value"]
        return self._by_rule(expr, row, values)

    def _on_inputs(self, expr: Call) -> Unit:
        """Require that the candidate is called with arguments that scale as its inputs do."""
        for argument, param in zip(expr.args, self.entry.operator.inputs, strict=False):
            unit, wanted = self.of(argument), self._tensors.get(param.name)
            if unit is not None and wanted is not None and not self.solver.unify(wanted, unit):
                self._mismatch(argument, wanted, unit)
        outputs = self.entry.operator.outputs
        return self._tensors.get(outputs[0].name) if outputs else None

    def _by_rule(self, expr: Call, row: Builtin, values: list[Expr]) -> Unit:
        match row.unit:
            case "joint":
                joined = values[1:] if row.name == "where" else values
                if row.name == "where" and values:
                    self.of(values[0])
                return self._same(expr, joined)
            case "pure":
                fits = [self._pure(value, f"`{row.name}`") for value in values]
                return ONE if all(fits) else None
            case "free":
                return self.solver.fresh()
        units = [self.of(v) for v in values]
        match row.unit:
            case "first":
                return units[0] if units else None
            case "root":
                return power(units[0], Fraction(1, 2)) if units and units[0] is not None else None
        return ONE

    def bind(self, name: str, unit: Unit) -> None:
        """Give a variable of a relation a unit."""
        self._bound[name] = unit

    def _reduce(self, expr: Reduce) -> Unit:
        before = self._bound.get(expr.binder)
        hidden = expr.binder in self._bound
        self._bound[expr.binder] = ONE
        unit = self.of(expr.body)
        del self._bound[expr.binder]
        if hidden:
            self._bound[expr.binder] = before
        return unit


# --- where units are checked -------------------------------------------------------------------------------------


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
        units._mismatch(expr, units.output, unit)  # noqa: SLF001 - the same module's own report


def check_view(view: View) -> list[Diagnostic]:
    """Return what does not scale alike in a contract."""
    contract, entry = view.contract, view.entry
    tensors, wrong = signature_units(entry)
    if wrong:
        return []
    names = {**view.lets, **view.bounds, **view.bindings}
    units = Units(entry, tensors, names, view.source, members=entry.definitions)
    own = {let.name for let in contract.lets} | {b.name for b in contract.tolerance or ()}
    if contract.reference is not None:
        own |= {b.name for b in contract.reference.bindings}
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
