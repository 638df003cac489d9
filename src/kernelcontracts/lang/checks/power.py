"""E0612, W0611: a protocol can reach the confidence it promises, and the sizes the precondition admits."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kernelcontracts.lang.checks.gamma import constant
from kernelcontracts.lang.checks.provenance import view_labels
from kernelcontracts.lang.decl import OnAverage
from kernelcontracts.lang.diagnostics import Label, diagnostic
from kernelcontracts.lang.expr import Binary, Call, Compare, In, Name, Number, SetLiteral
from kernelcontracts.lang.instance import used_strata
from kernelcontracts.stats.coverage import required_cases

if TYPE_CHECKING:
    from collections.abc import Iterator
    from fractions import Fraction

    from kernelcontracts.lang.checks.context import View
    from kernelcontracts.lang.decl import Labelled
    from kernelcontracts.lang.diagnostics import Diagnostic
    from kernelcontracts.lang.expr import Expr
    from kernelcontracts.lang.span import Span


@dataclass(frozen=True, slots=True)
class Size:
    """How many cases a plan has: ``shapes * seeds * weight``; the weight counts strata with multiplicity."""

    shapes: int
    seeds: int
    weight: int

    @property
    def cases(self) -> int:
        """The product."""
        return self.shapes * self.seeds * self.weight


def check_view(view: View) -> Iterator[Diagnostic]:
    """Yield promises of a protocol that it cannot keep."""
    yield from _check_rate(view)
    yield from _check_averages(view)
    yield from _check_extremes(view)


def plan_size(view: View) -> Size | None:
    """Return the size of a contract's plan over the strata its clauses look at; ``None`` if it cannot be counted."""
    settings = view.settings
    shapes = count_shapes(settings["shapes"].value) if "shapes" in settings else None
    seeds = count_seeds(settings["seeds"].value) if "seeds" in settings else None
    weight = sum(s.weight for s in used_strata(view.contract, view.base))
    return None if shapes is None or seeds is None else Size(shapes, seeds, weight)


# --- counting ----------------------------------------------------------------------------------------------------


def count_shapes(expr: Expr) -> int | None:
    """Return how many shapes a ``shapes`` setting yields."""
    if not isinstance(expr, Call):
        return None
    match expr.function:
        case "grid":
            total = 1
            for _, values in expr.kwargs:
                total *= len(values.items) if isinstance(values, SetLiteral) else 1
            return total
        case "list":
            return len(expr.args)
        case "shape":
            return 1
        case "union":
            parts = [count_shapes(a) for a in expr.args]
            return None if None in parts else sum(p for p in parts if p is not None)
        case "held_out":
            return _whole(dict(expr.kwargs).get("count") or (expr.args[0] if expr.args else None))
    return None


def count_seeds(expr: Expr) -> int | None:
    """Return how many seeds a ``seeds`` setting yields."""
    if isinstance(expr, Call) and expr.function in {"count", "fresh"} and expr.args:
        return _whole(expr.args[0])
    return _whole(expr)


def _whole(expr: Expr | None) -> int | None:
    if isinstance(expr, Number) and expr.value.denominator == 1 and expr.value >= 0:
        return expr.value.numerator
    return None


# --- the rate ----------------------------------------------------------------------------------------------------


def _check_rate(view: View) -> Iterator[Diagnostic]:
    conclude = view.settings.get("conclude")
    if conclude is None:
        return
    if "candidate" in view_labels(view).of(conclude.value):
        return  # reported as such
    promise = _promise(conclude)
    if promise is None:
        yield diagnostic(
            "E0612",
            "`conclude` promises nothing that can be reached",
            source=view.source,
            span=conclude.span,
            label="write `rate(p, c)` with 0 < p < 1 and 0 < c < 1",
        )
        return
    p, confidence = promise
    needed, size = required_cases(p, confidence), plan_size(view)
    if size is not None and size.cases < needed:
        yield _too_few(view, conclude, needed, size, promise)


def _promise(conclude: Labelled) -> tuple[Fraction, Fraction] | None:
    expr = conclude.value
    if not (isinstance(expr, Call) and expr.function == "rate" and len(expr.args) == 2):
        return None
    p, confidence = constant(expr.args[0]), constant(expr.args[1])
    if p is None or confidence is None or not (0 < p < 1 and 0 < confidence < 1):
        return None
    return p, confidence


def _too_few(view: View, conclude: Labelled, needed: int, size: Size, promise: tuple[Fraction, Fraction]) -> Diagnostic:
    own = view.contract.measure.settings if view.contract.measure else ()
    where = conclude.value.span if conclude in own else _measure_span(view)
    return diagnostic(
        "E0612",
        "this protocol cannot reach the confidence it promises",
        source=view.source,
        span=where,
        label=f"needs {needed} cases without a failure; this plan has {size.cases}",
        secondary=_seeds_label(view),
        notes=(f"{size.cases} = {size.shapes} shapes x {size.seeds} seeds x {size.weight} strata, by weight",),
        help=_advice(needed, size, promise),
    )


def _measure_span(view: View) -> Span | None:
    return view.contract.measure.span if view.contract.measure else view.contract.span


def _seeds_label(view: View) -> tuple[Label, ...]:
    own = {s.label: s for s in (view.contract.measure.settings if view.contract.measure else ())}
    seeds = own.get("seeds")
    return (Label(seeds.span, "these are the seeds"),) if seeds is not None and seeds.span else ()


def _advice(needed: int, size: Size, promise: tuple[Fraction, Fraction]) -> str:
    _, confidence = promise
    per_seed = size.shapes * size.weight
    if size.cases < 1:
        return "add shapes, seeds or strata"
    smaller = f"promise `rate({_reachable(size.cases, confidence)}, {float(confidence):g})`"
    return f"raise `seeds` to `count({-(-needed // per_seed)})`, or {smaller}"


def _reachable(cases: int, confidence: Fraction) -> str:
    """Return the smallest rate, in two digits rounded up, that this many cases exclude: ``1 - (1 - c)^(1/n)``."""
    exact = -math.expm1(math.log1p(-float(confidence)) / cases)
    step = 10.0 ** (math.floor(math.log10(exact)) - 1)
    return f"{min(math.ceil(exact / step) * step, 0.99):.2g}"


# --- averages ----------------------------------------------------------------------------------------------------


def _check_averages(view: View) -> Iterator[Diagnostic]:
    """Yield statistics of fewer than two cases in a cell of stratum and shape, which have no confidence limits."""
    settings = view.settings
    label = "average_seeds" if "average_seeds" in settings else "seeds"
    seeds = count_seeds(settings[label].value) if label in settings else None
    if seeds is None:
        return
    for clause in view.contract.post or ():
        if not isinstance(clause, OnAverage):
            continue
        strata = [s for s in view.strata if not clause.strata or s.name in clause.strata]
        few = [s for s in strata if s.weight * seeds < 2]
        if few:
            yield diagnostic(
                "E0612",
                f"`{clause.label}` is a statistic of a single case on `{few[0].name}`",
                source=view.source,
                span=clause.span,
                label=f"one case per shape: `{label}` is {seeds}, the stratum's weight {few[0].weight}",
                notes=("confidence limits of a mean need at least two cases (Student's t with one degree of freedom)",),
                help=f"raise `{label}`, or the weight of the stratum",
            )


# --- extremes ----------------------------------------------------------------------------------------------------


def _check_extremes(view: View) -> Iterator[Diagnostic]:
    """W0611: what is admitted and never tried is promised and not measured."""
    shapes = view.settings.get("shapes")
    if shapes is None:
        return
    for item in view.contract.pre or ():
        for dim, limit in _upper_limits(item.value, view.entry.dims):
            reached = _largest(shapes.value, dim)
            if reached is not None and reached < limit:
                yield diagnostic(
                    "W0611",
                    f"`{dim}` may be {limit}, and is tried up to {reached}",
                    source=view.source,
                    span=item.span,
                    label=f"admits `{dim} = {limit}`",
                    notes=("a bound that holds at small sizes may fail at large ones",),
                    help=f"add a shape with `{dim} = {limit}`, or lower the limit to {reached}",
                )


def _upper_limits(expr: Expr, dims: frozenset[str]) -> Iterator[tuple[str, int]]:
    """Yield ``K in 1 .. 65536`` and ``K <= 65536`` as a dimension and its largest size."""
    match expr:
        case Binary(op="and"):
            yield from _upper_limits(expr.left, dims)
            yield from _upper_limits(expr.right, dims)
        case In(item=Name(id=name), domain=Binary(op="..", right=Number(value=value))) if name in dims:
            yield name, int(value)
        case Compare(operands=(Name(id=name), Number(value=value)), ops=("<=",)) if name in dims:
            yield name, int(value)


def _largest(expr: Expr, dim: str) -> int | None:
    """Return the largest size that a plan gives a dimension; ``None`` if it cannot be read off."""
    if not isinstance(expr, Call) or expr.function == "held_out":
        limit = dict(expr.kwargs).get("limit") if isinstance(expr, Call) else None
        return _whole(limit)
    found = [n for n in (_largest(a, dim) for a in expr.args) if n is not None]
    given = dict(expr.kwargs).get(dim)
    values = given.items if isinstance(given, SetLiteral) else (given,)
    found += [n for n in (_whole(v) for v in values) if n is not None]
    return max(found, default=None)
