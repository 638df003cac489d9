"""Derived bounds as numbers, for people who must put one into an existing test.

The bound of a real contract is a tensor that follows the inputs. Here it is evaluated on ordinary data, N(0, 1) for
products and sums, and summed up: how large it is, and which ``rtol`` and ``atol`` contain it there.
"""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING

import numpy as np

from kernelcontracts.assertions.subject import plain_reading
from kernelcontracts.check.errors import RequestError
from kernelcontracts.engine.domain import in_order
from kernelcontracts.engine.judge import Judge
from kernelcontracts.evaluate.arithmetic import field_of
from kernelcontracts.evaluate.case import Case, param_dims
from kernelcontracts.evaluate.expressions import evaluate, reference
from kernelcontracts.evaluate.field import spread_interval
from kernelcontracts.lang.expr import Member, Name, Star
from kernelcontracts.lang.instance import instances_for
from kernelcontracts.lang.printer import print_expr
from kernelcontracts.strata.draw import draw

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from kernelcontracts.lang.decl import Bound, Operator
    from kernelcontracts.lang.instance import Instance
    from kernelcontracts.lang.library import Library
    from kernelcontracts.lang.values import ClaimValue

ORDINARY = ("gauss", "small")
"""Strata of ordinary data, by name."""

ROWS = 16
"""Rows and columns evaluated: bounds depend on the summed dimension only, so a few rows show them."""


@dataclass(frozen=True, slots=True)
class Derived:
    """One bound of one contract, on ordinary data.

    Attributes
    ----------
    largest, median
        Of the absolute tolerance over the output elements.
    rtol, atol
        Constants with ``tolerance <= atol + rtol * |expected|`` for every element that was evaluated: ``rtol`` is
        the output's rounding, ``atol`` what remains.
    formula, why
        The bound as written, and its derivation.
    """

    contract: str
    name: str
    largest: float
    median: float
    rtol: float
    atol: float
    formula: str
    why: str


def derived_bounds(
    library: Library,
    operator: Operator,
    *,
    shape: Mapping[str, int | tuple[int, ...]],
    types: Mapping[str, str],
    claims: Mapping[str, ClaimValue],
) -> Iterator[Derived]:
    """Yield the bounds of every contract about an operator, for one shape and typing.

    Parameters
    ----------
    shape
        Sizes by dimension; dimensions that are not summed over are cut to a few rows.
    claims
        What is claimed; the plain reading fills the rest.

    Raises
    ------
    RequestError
        If the size or the claims are outside the preconditions of every contract with a bound.
    """
    reading = plain_reading(operator) | dict(claims)
    seen: set[str] = set()
    outside: list[str] = []
    for instance in in_order(instances_for(library, operator.name)):
        stratum = next((s for s in instance.strata if s.name in ORDINARY), None)
        if stratum is None:
            continue
        key = sha256(f"tolerance {operator.name}".encode()).digest()
        small = _few_rows(operator, shape)
        case = Case(operator, types, small, draw(stratum, operator=operator, shape=small, types=types, key=key))
        judge = Judge(instance, (reading,))
        why = judge.admits(judge.scopes(case)[0])
        if why:
            # beyond its precondition a bound is no bound: n u / (1 - n u) is even negative past n u = 1
            outside.append(f"precondition `{why}` of {instance.id}")
            continue
        for bound in instance.contract.tolerance or ():
            found = _one(instance, bound, case, reading)
            if found.formula not in seen:
                seen.add(found.formula)
                yield found
    if outside and not seen:
        raise RequestError(f"no bound holds at this size under these claims: {outside[0]} fails")


def _few_rows(operator: Operator, shape: Mapping[str, int | tuple[int, ...]]) -> dict[str, int | tuple[int, ...]]:
    """Cut every dimension of the output that is not a row's own length."""
    kept = dict(shape)
    summed = _summed(operator)
    for dim in operator.outputs[0].dims:
        if isinstance(dim, Star):
            kept[dim.name] = tuple(min(size, ROWS) for size in shape[dim.name])  # type: ignore[union-attr]  # a tuple
        elif isinstance(dim, Name) and dim.id not in summed:
            kept[dim.id] = min(int(shape[dim.id]), ROWS)  # type: ignore[arg-type]  # an int
    return kept


def _summed(operator: Operator) -> set[str]:
    from kernelcontracts.evaluate.dependence import nodes
    from kernelcontracts.lang.expr import Reduce

    bounds = [node.bound for node in nodes(operator.meaning) if isinstance(node, Reduce)]
    return {bound.id for bound in bounds if isinstance(bound, Name)}


def _one(instance: Instance, bound: Bound, case: Case, reading: Mapping[str, ClaimValue]) -> Derived:
    scope = Judge(instance, (reading,)).scopes(case)[0]
    dims = param_dims(case.output, case.shape)
    tolerance = np.asarray(spread_interval(field_of(scope.let(bound.name, evaluate)), dims).hi)
    expected = np.abs(spread_interval(field_of(reference(scope)), dims).lo)
    fmt = case.format_of(case.output.name)
    assert fmt is not None
    rtol = float(fmt.unit_roundoff())
    source = bound
    if isinstance(bound.value, Member):
        source = next(e for e in instance.operator.errors if e.name == bound.value.name)
    return Derived(
        instance.id,
        bound.name,
        float(tolerance.max()),
        float(np.median(tolerance)),
        rtol,
        float(np.maximum(tolerance - rtol * expected, 0).max()),
        print_expr(source.value),
        source.because.text if source.because else "",
    )
