"""E0202, E0204: shapes fit, by the names of their dimensions.

Dimensions are symbols, so that a shape is a list of names and fits another if it is that one with some dimensions
left out: a reduced value meets the value it was reduced from, a row statistic every element of its row. Sizes are
never compared, so that nothing can fit by accident.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from kernelcontracts.lang.builtins import Builtin, builtin
from kernelcontracts.lang.checks.context import is_choice
from kernelcontracts.lang.diagnostics import diagnostic
from kernelcontracts.lang.expr import (
    Binary,
    Call,
    Compare,
    Identical,
    If,
    Index,
    Name,
    Number,
    Quantity,
    Reduce,
    Star,
    Unary,
    Within,
)
from kernelcontracts.lang.printer_expr import print_expr
from kernelcontracts.lang.walk import clause_parts, member_path

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from kernelcontracts.lang.checks.context import Entry, View
    from kernelcontracts.lang.decl import Param
    from kernelcontracts.lang.diagnostics import Diagnostic
    from kernelcontracts.lang.expr import Expr
    from kernelcontracts.lang.source import Source

Shape: TypeAlias = "tuple[str, ...] | None"
"""The names of the dimensions, ``*L`` for a variadic one; ``None`` where it is not known."""


def dims_of(param: Param) -> tuple[str, ...]:
    """Return the dimensions of a tensor as they are written in the signature."""
    return tuple(f"*{d.name}" if isinstance(d, Star) else print_expr(d) for d in param.dims)


def show(shape: Iterable[str]) -> str:
    """Return a shape as it stands in messages."""
    return f"[{', '.join(shape)}]"


class Shapes:
    """Infers shapes in one scope, and collects what does not fit."""

    def __init__(
        self,
        entry: Entry,
        names: Mapping[str, Expr],
        source: Source,
        *,
        members: Mapping[str, Expr] | None = None,
    ) -> None:
        self.entry = entry
        self.source = source
        self.found: list[Diagnostic] = []
        self._names = names
        self._members = members
        self._memo: dict[str, Shape] = {}
        self._bound: dict[str, str | None] = {}
        self._tensors = {name: dims_of(p) for name, p in entry.params.items()}
        outputs = entry.operator.outputs
        self.output: Shape = self._tensors[outputs[0].name] if outputs else None
        self._inside: Shapes | None = None

    def of(self, expr: Expr) -> Shape:
        """Return the shape of an expression."""
        path = member_path(expr)
        if path is not None and path[0] in {"claim", "op", "r"}:
            return self._member(path)
        match expr:
            case Number():
                return ()
            case Name():
                return self._name(expr)
            case Unary():
                return self.of(expr.operand)
            case Binary(op="@"):
                return self._product(expr, expr.left, expr.right)
            case Binary(op=".."):
                return ()
            case Binary():
                return self._join(expr, (expr.left, expr.right))
            case Compare():
                return self._join(expr, [e for e in expr.operands if not _is_value(e, expr)])
            case Within():
                return self._join(expr, (expr.actual, expr.tolerance, expr.reference))
            case Identical():
                return self._join(expr, (expr.left, expr.right))
            case If():
                self.of(expr.condition)
                return self._join(expr, (expr.yes, expr.no))
            case Quantity():
                return self._quantity(expr)
            case Call():
                return self._call(expr)
            case Index():
                return self._index(expr)
            case Reduce():
                return self._reduce(expr)
        return None

    def _member(self, path: tuple[str, str]) -> Shape:
        if path[0] != "op" or self._members is None:
            return ()
        if path[1] not in self._members:
            return None
        if self._inside is None:
            # what is wrong inside the operator's entry is reported there
            self._inside = Shapes(self.entry, self._members, self.entry.source)
        return self._inside.of(Name(path[1]))

    def _name(self, expr: Name) -> Shape:
        if expr.id in self._bound:
            return ()
        if expr.id in self._names:
            if expr.id not in self._memo:
                self._memo[expr.id] = None
                self._memo[expr.id] = self.of(self._names[expr.id])
            return self._memo[expr.id]
        if expr.id in self._tensors:
            return self._tensors[expr.id]
        if expr.id in self.entry.dims:
            return ()
        if expr.id in {"ref", "meaning", "output"}:
            return self.output
        return () if expr.id in {"true", "false", "none", "completed", "raised"} else None

    def _join(self, expr: Expr, parts: Iterable[Expr]) -> Shape:
        """Return the shape of parts taken elementwise; unknown if one is."""
        result: Shape = ()
        for part in parts:
            shape = self.of(part)
            if shape is None or result is None:
                result = None
                continue
            joined = broadcast(result, shape)
            if joined is None:
                self._mismatch(expr, result, shape)
            result = joined
        return result

    def _mismatch(self, expr: Expr, left: tuple[str, ...], right: tuple[str, ...]) -> None:
        self.found.append(
            diagnostic(
                "E0202",
                f"the shapes {show(left)} and {show(right)} do not fit",
                source=self.source,
                span=expr.span,
                label=f"{show(left)} meets {show(right)}",
                notes=("shapes fit by the names of their dimensions: one is the other with some left out",),
                help="reduce a dimension with `over = …`, or use `@` to sum over it",
            )
        )

    def _product(self, expr: Expr, left: Expr, right: Expr) -> Shape:
        a, b = self.of(left), self.of(right)
        if a is None or b is None:
            return None
        if len(a) < 2 or len(b) < 2 or a[-1].startswith("*") or b[-2].startswith("*"):
            self._not_matrices(expr, a, b)
            return None
        if a[-1] != b[-2]:
            self._not_matrices(expr, a, b)
            return None
        batch = broadcast(a[:-2], b[:-2])
        if batch is None:
            self._mismatch(expr, a[:-2], b[:-2])
            return None
        return (*batch, a[-2], b[-1])

    def _not_matrices(self, expr: Expr, a: tuple[str, ...], b: tuple[str, ...]) -> None:
        self.found.append(
            diagnostic(
                "E0202",
                f"`@` cannot multiply {show(a)} by {show(b)}",
                source=self.source,
                span=expr.span,
                label="the last dimension on the left is not the last but one on the right",
                notes=("`@` sums over the last dimension of its left side and the last but one of its right side",),
            )
        )

    def _quantity(self, expr: Quantity) -> Shape:
        value = self.of(expr.value)
        if expr.unit == "abs":
            return value
        anchor = self.of(expr.anchor) if expr.anchor is not None else self.output
        if value is None or anchor is None:
            return None
        joined = broadcast(value, anchor)
        if joined is None:
            self._mismatch(expr, value, anchor)
        return joined

    # --- calls ---------------------------------------------------------------------------------------------------

    def _call(self, expr: Call) -> Shape:
        row = builtin(expr.function, ("expression", "observation"))
        if row is None:
            return None
        values = [a for i, a in enumerate(expr.args) if row.kind(i) == "value"]
        over = dict(expr.kwargs).get("over")
        if "over" in row.keywords and len(expr.args) == 1:
            return self._reduction(expr, over)
        if row.name in {"identical_over", "under"}:
            return () if row.shape == "scalar" else self.output
        return self._by_rule(expr, row, values)

    def _by_rule(self, expr: Call, row: Builtin, values: list[Expr]) -> Shape:
        if row.shape == "broadcast":
            return self._join(expr, values)
        shapes = [self.of(v) for v in values]
        match row.shape:
            case "scalar":
                return ()
            case "output":
                return self.output
            case "gather":
                table, index = (*shapes, None, None)[:2]
                return None if table is None or index is None else (*index, *table[1:])
        first = shapes[0] if shapes else None
        for other in shapes[1:]:
            if first is not None and other is not None and broadcast(first, other) is None:
                self._mismatch(expr, first, other)
        return first

    def _reduction(self, expr: Call, over: Expr | None) -> Shape:
        shape = self.of(expr.args[0])
        if over is None or not isinstance(over, Name):
            return ()
        if shape is None:
            return None
        kept = tuple(d for d in shape if d.lstrip("*") != over.id)
        listed = " or ".join(f"`{d.lstrip('*')}`" for d in shape)
        if kept == shape:
            self.found.append(
                diagnostic(
                    "E0204",
                    f"this value has no dimension `{over.id}`",
                    source=self.source,
                    span=over.span or expr.span,
                    label=f"the value is {show(shape)}",
                    help=f"reduce over {listed}" if shape else None,
                )
            )
            return None
        return kept

    # --- comprehensions ------------------------------------------------------------------------------------------

    def bind_target(self, target: Expr | None) -> None:
        """Bind the indices of ``C[*l, m, n]`` to the dimensions of the output."""
        if not isinstance(target, Index) or not isinstance(target.base, Name):
            return
        dims = self._tensors.get(target.base.id)
        if dims is None:
            return
        if len(dims) != len(target.indices):
            self._wrong_count(target, target.base.id, dims)
            return
        for index, dim in zip(target.indices, dims, strict=True):
            if isinstance(index, Name):
                self._bound[index.id] = dim
            elif isinstance(index, Star):
                self._bound[f"*{index.name}"] = dim

    def _index(self, expr: Index) -> Shape:
        for index in expr.indices:
            if not isinstance(index, Star):
                self.of(index)
        if not isinstance(expr.base, Name) or expr.base.id not in self._tensors:
            return ()
        dims = self._tensors[expr.base.id]
        if len(dims) != len(expr.indices):
            self._wrong_count(expr, expr.base.id, dims)
            return ()
        for index, dim in zip(expr.indices, dims, strict=True):
            self._check_index(index, dim, expr.base.id)
        return ()

    def _wrong_count(self, expr: Index, tensor: str, dims: tuple[str, ...]) -> None:
        self.found.append(
            diagnostic(
                "E0202",
                f"`{tensor}` has {len(dims)} dimensions and is given {len(expr.indices)} indices",
                source=self.source,
                span=expr.span,
                label=f"`{tensor}` is {show(dims)}",
            )
        )

    def _check_index(self, index: Expr, dim: str, tensor: str) -> None:
        name = f"*{index.name}" if isinstance(index, Star) else index.id if isinstance(index, Name) else None
        if name is None:
            return
        runs = self._bound.get(name, dim)
        if runs is not None and runs != dim:
            self.found.append(
                diagnostic(
                    "E0202",
                    f"`{name}` runs over `{runs}`, but here it counts `{dim}` of `{tensor}`",
                    source=self.source,
                    span=index.span,
                    label=f"`{tensor}` is {show(self._tensors[tensor])}",
                )
            )

    def _reduce(self, expr: Reduce) -> Shape:
        self.of(expr.bound)
        before = self._bound.get(expr.binder)
        hidden = expr.binder in self._bound
        self._bound[expr.binder] = expr.bound.id if isinstance(expr.bound, Name) else None
        shape = self.of(expr.body)
        del self._bound[expr.binder]
        if hidden:
            self._bound[expr.binder] = before
        return shape


def _is_value(expr: Expr, comparison: Compare) -> bool:
    """Whether an operand is a claim or a value of a decision, which have no shape."""
    return any(is_choice(e) for e in comparison.operands) and (is_choice(expr) or isinstance(expr, Name | Call))


def broadcast(a: tuple[str, ...], b: tuple[str, ...]) -> tuple[str, ...] | None:
    """Return the larger of two shapes of which one is the other with some dimensions left out."""
    short, long = (a, b) if len(a) <= len(b) else (b, a)
    rest = iter(long)
    if all(any(d == e for e in rest) for d in short if d != "1"):
        return long
    return None


# --- where shapes are checked ------------------------------------------------------------------------------------


def check_entry(entry: Entry) -> list[Diagnostic]:
    """Return what does not fit in an operator's entry."""
    shapes = Shapes(entry, entry.definitions, entry.source)
    for name in entry.definitions:
        shapes.of(Name(name))
    operator = entry.operator
    meaning = Shapes(entry, {}, entry.source)
    meaning.bind_target(operator.target)
    if operator.meaning is not None:
        meaning.of(operator.meaning)
    return shapes.found + meaning.found


def check_view(view: View) -> list[Diagnostic]:
    """Return what does not fit in a contract."""
    contract = view.contract
    names = {**view.lets, **view.bounds, **view.bindings}
    shapes = Shapes(view.entry, names, view.source, members=view.entry.definitions)
    lent = _lent(view)
    for name in lent:
        shapes.of(Name(name))
    shapes.found.clear()  # what a companion lends is checked where it is written
    own = [let.name for let in contract.lets] + [b.name for b in contract.tolerance or ()]
    for name in own:
        shapes.of(Name(name))
    for binding in contract.reference.bindings if contract.reference else ():
        shapes.of(binding.value)
    for item in contract.pre or ():
        shapes.of(item.value)
    for clause in contract.post or ():
        for part in clause_parts(clause):
            shapes.of(part)
    return shapes.found


def _lent(view: View) -> list[str]:
    """Return the names that the operator's events or a companion define."""
    contract = view.contract
    own = {let.name for let in contract.lets} | {b.name for b in contract.tolerance or ()}
    own |= {b.name for b in contract.reference.bindings} if contract.reference else set()
    return [n for n in {**view.lets, **view.bounds, **view.bindings} if n not in own]
