"""The shape of an expression, and the places where shapes that do not fit meet."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernelcontracts.lang.builtins import Builtin, builtin
from kernelcontracts.lang.checks.context import is_choice
from kernelcontracts.lang.checks.inference import Inference
from kernelcontracts.lang.checks.shape_algebra import Shape, broadcast, dims_of, show
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
from kernelcontracts.lang.walk import member_path

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from kernelcontracts.lang.checks.context import Entry
    from kernelcontracts.lang.expr import Expr
    from kernelcontracts.lang.source import Source


class Shapes(Inference["tuple[str, ...]", "str | None"]):
    """Infers shapes in one scope, and collects what does not fit."""

    def __init__(
        self,
        entry: Entry,
        names: Mapping[str, Expr],
        source: Source,
        *,
        members: Mapping[str, Expr] | None = None,
    ) -> None:
        super().__init__(entry, names, source, members=members, scalar=())
        self._tensors = {name: dims_of(p) for name, p in entry.params.items()}
        outputs = entry.operator.outputs
        self.output: Shape = self._tensors[outputs[0].name] if outputs else None

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

    def _entered(self, members: Mapping[str, Expr]) -> Shapes:
        return Shapes(self.entry, members, self.entry.source)

    def _name(self, expr: Name) -> Shape:
        if expr.id in self._bound:
            return ()
        if expr.id in self._names:
            return self._definition(expr.id)
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
        dim = expr.bound.id if isinstance(expr.bound, Name) else None
        with self._binding(expr.binder, dim):
            return self.of(expr.body)


def _is_value(expr: Expr, comparison: Compare) -> bool:
    """Whether an operand is a claim or a value of a decision, which have no shape."""
    return any(is_choice(e) for e in comparison.operands) and (is_choice(expr) or isinstance(expr, Name | Call))
