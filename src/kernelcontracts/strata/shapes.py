"""Shapes to measure at, from a plan's ``shapes`` setting."""

from __future__ import annotations

from itertools import product
from math import isqrt, prod
from typing import TYPE_CHECKING, TypeAlias

from kernelcontracts.lang.expr import Call, Name, SetLiteral, Star
from kernelcontracts.strata import arguments
from kernelcontracts.strata.bits import Words
from kernelcontracts.strata.errors import StratumError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kernelcontracts.lang.decl import Operator
    from kernelcontracts.lang.expr import Expr

Size: TypeAlias = "int | tuple[int, ...]"
ShapeDict: TypeAlias = "dict[str, Size]"

_WORK = 2**22
"""Bound on the product of all dimensions of a held-out shape: an exact reference takes well under a second."""

# what a held-out shape may have in front: mostly nothing, else a dimension or two of a few members
_LEADING: tuple[tuple[int, ...], ...] = ((), (), (), (1,), (2,), (3,), (5,), (2, 3), (3, 1, 2))


def shapes(expr: Expr, *, operator: Operator, seed_words: Words | bytes) -> tuple[ShapeDict, ...]:
    """Return the shapes that an expression names, each once, in a fixed order.

    Parameters
    ----------
    expr
        ``grid(M = {1, 17}, …)``, all combinations, the last dimension fastest; ``list(shape(M = 33,
        …), …)``; ``union(…, …)``; ``held_out(count = 40, near = {16, 32}, limit = 300)``. A
        variadic dimension takes ``none``, a number (one dimension) or ``by(2, 3)``.
    operator
        Whose dimensions.
    seed_words
        The randomness of ``held_out``, or its key.

    Raises
    ------
    StratumError
        For anything else, and for shapes that leave a dimension out.
    """
    words = seed_words if isinstance(seed_words, Words) else Words(seed_words)
    found = _shapes(expr, dimensions(operator), words)
    unique = {tuple(sorted(shape.items())): shape for shape in found}
    return tuple(unique.values())


def dimensions(operator: Operator) -> dict[str, bool]:
    """Return the dimensions of an operator's inputs in order, and whether each is variadic."""
    result: dict[str, bool] = {}
    for param in operator.inputs:
        for dim in param.dims:
            if isinstance(dim, Star | Name):
                result[dim.name if isinstance(dim, Star) else dim.id] = isinstance(dim, Star)
    return result


def _shapes(expr: Expr, dims: dict[str, bool], words: Words) -> Iterator[ShapeDict]:
    match expr:
        case Call(function="grid"):
            yield from _grid(expr, dims)
        case Call(function="list", args=items, kwargs=()):
            for item in items:
                yield _listed(item, dims)
        case Call(function="union", args=parts, kwargs=()):
            for i, part in enumerate(parts):
                yield from _shapes(part, dims, words.child(f"part {i}"))
        case Call(function="held_out"):
            yield from _held_out(expr, dims, words)
        case _:
            raise StratumError("shapes are given by grid(…), list(shape(…), …), union(…) or held_out(…)")


def _grid(call: Call, dims: dict[str, bool]) -> Iterator[ShapeDict]:
    given = _named(call, dims)
    axes = [[_size(item, name, dims) for item in _members(given[name])] for name in dims]
    for sizes in product(*axes):
        yield dict(zip(dims, sizes, strict=True))


def _listed(item: Expr, dims: dict[str, bool]) -> ShapeDict:
    if not (isinstance(item, Call) and item.function == "shape"):
        raise StratumError("the members of list(…) are shape(…)")
    given = _named(item, dims)
    return {name: _size(given[name], name, dims) for name in dims}


def _named(call: Call, dims: dict[str, bool]) -> dict[str, Expr]:
    given = dict(call.kwargs)
    if call.args or set(given) != set(dims) or len(given) != len(call.kwargs):
        wanted = ", ".join(f"{name} = …" for name in dims)
        raise StratumError(f"`{call.function}` names every dimension once: ({wanted})")
    return given


def _members(expr: Expr) -> tuple[Expr, ...]:
    return expr.items if isinstance(expr, SetLiteral) else (expr,)


def _size(expr: Expr, name: str, dims: dict[str, bool]) -> Size:
    if dims[name]:
        return _leading(expr)
    return _natural(expr, name)


def _leading(expr: Expr) -> tuple[int, ...]:
    match expr:
        case Name(id="none"):
            return ()
        case Call(function="by", args=items, kwargs=()):
            return tuple(_natural(item, "by") for item in items)
        case _:
            return (_natural(expr, "a variadic dimension"),)


def _natural(expr: Expr, name: str) -> int:
    value = arguments.integer(expr, {})
    if value < 0:
        raise StratumError(f"`{value}` cannot be a size of `{name}`: it must be 0 or more")
    return value


def _held_out(call: Call, dims: dict[str, bool], words: Words) -> Iterator[ShapeDict]:
    """Draw shapes near the numbers that kernels are made for, and far from them.

    A dimension is, with equal chances, one of the given numbers or a neighbour, a prime, or (one
    time in nine, and then with the rest shared evenly) one. Shapes above the bound on work are
    drawn again, so that large dimensions meet small ones.
    """
    count, near, limit = _held_out_settings(call)
    close = sorted({n for v in near for n in (v - 1, v, v + 1) if 1 <= n <= limit})
    pools = [close or [1], primes(limit) or [1], close or [1], primes(limit) or [1]]
    seen: set[tuple[object, ...]] = set()
    # the bound on tries ends the search where there are fewer shapes than were asked for
    for turn in range(20 * count):
        if len(seen) == count:
            return
        shape = _one_held_out(dims, pools, words.child(f"shape {turn}"))
        mark = tuple(sorted(shape.items()))
        if mark not in seen and _work(shape) <= _WORK:
            seen.add(mark)
            yield shape


def _one_held_out(dims: dict[str, bool], pools: list[list[int]], words: Words) -> ShapeDict:
    shape: ShapeDict = {}
    for name, variadic in dims.items():
        if variadic:
            shape[name] = _LEADING[words.integer(f"{name} leading", 0, len(_LEADING) - 1)]
            continue
        choice = words.integer(f"{name} pool", 0, 8)
        pool = pools[choice % 4] if choice < 8 else [1]
        shape[name] = pool[words.integer(f"{name} size", 0, len(pool) - 1)]
    return shape


def _held_out_settings(call: Call) -> tuple[int, list[int], int]:
    given = dict(call.kwargs)
    if call.args or set(given) != {"count", "near", "limit"}:
        raise StratumError("`held_out` takes (count = …, near = {…}, limit = …)")
    near = [_natural(item, "near") for item in _members(given["near"])]
    count, limit = _natural(given["count"], "count"), _natural(given["limit"], "limit")
    if limit < 1:
        raise StratumError("`held_out` has the limit `0`: it must be 1 or more")
    return count, near, limit


def _work(shape: ShapeDict) -> int:
    return prod(prod(size) if isinstance(size, tuple) else size for size in shape.values())


def primes(limit: int) -> list[int]:
    """Return the primes up to a limit (the sieve of Eratosthenes)."""
    prime = [False, False] + [True] * (limit - 1)
    for n in range(2, isqrt(limit) + 1):
        if prime[n]:
            prime[n * n :: n] = [False] * len(range(n * n, limit + 1, n))
    return [n for n in range(limit + 1) if prime[n]]
