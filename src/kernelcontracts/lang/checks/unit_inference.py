"""The unit of an expression, and the places where quantities that do not scale alike meet.

What is added, compared or taken the larger of has one unit. Zero and the constants of formats have any unit.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from kernelcontracts.lang.builtins import Builtin, builtin
from kernelcontracts.lang.checks.context import is_choice
from kernelcontracts.lang.checks.gamma import constant
from kernelcontracts.lang.checks.inference import Inference
from kernelcontracts.lang.checks.unit_algebra import ONE, Solver, Unit, power, show, times
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
from kernelcontracts.lang.walk import children, member_path

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from kernelcontracts.lang.checks.context import Entry
    from kernelcontracts.lang.expr import Expr
    from kernelcontracts.lang.source import Source


class Units(Inference["dict[str, Fraction]", "dict[str, Fraction] | None"]):
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
        super().__init__(entry, names, source, members=members, scalar=ONE)
        self.solver = solver or Solver()
        self._tensors = tensors
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

    def _entered(self, members: Mapping[str, Expr]) -> Units:
        return Units(self.entry, self._tensors, members, self.entry.source, solver=self.solver)

    def _name(self, expr: Name) -> Unit:
        if expr.id in self._bound:
            return self._bound[expr.id]
        if expr.id in self._names:
            return self._instance(self._definition(expr.id))
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
                self.mismatch(expr, common, unit)
                return None
        return common if known else None

    def mismatch(self, expr: Expr, left: dict[str, Fraction], right: dict[str, Fraction]) -> None:
        """Report that two sides do not scale the same way."""
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
                self.mismatch(expr, b, a)
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
                self.mismatch(argument, wanted, unit)
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
        with self._binding(expr.binder, ONE):
            return self.of(expr.body)
