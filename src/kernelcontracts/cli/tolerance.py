"""``kc tolerance``: derived bounds as numbers."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

from cyclopts import App, Parameter

if TYPE_CHECKING:
    from kernelcontracts.lang.decl import Operator

USAGE = 2


def register(app: App) -> None:
    """Add the verb to an application."""
    app.command(tolerance)


def tolerance(
    operator: str,
    /,
    *,
    shape: Annotated[str, Parameter(help="`512x4096x512` (M x K x N), or `M=512,K=4096,N=512`.")],
    dtype: Annotated[str, Parameter(help="Formats, as `--types` of `kc check` takes them.")] = "f32",
    accumulator: Annotated[str | None, Parameter(help="Short for `--claim accumulator=…`.")] = None,
    claim: tuple[str, ...] = (),
) -> int:
    """Print the derived error bounds of an operator, for a number in an existing test."""
    from kernelcontracts.assertions.tolerance import derived_bounds
    from kernelcontracts.check.errors import RequestError
    from kernelcontracts.check.request import typing_of
    from kernelcontracts.lang.claims import from_assignments
    from kernelcontracts.lang.decisions import ClaimError
    from kernelcontracts.lang.library import Library
    from kernelcontracts.lang.values import Unspecified
    from kernelcontracts.strata.errors import NotApplicable

    given = (*claim, *((f"accumulator={accumulator}",) if accumulator else ()))
    library = Library.shipped()
    try:
        op = library.operator(operator).declaration
        claims = {k: v for k, v in from_assignments(given, op).items() if not isinstance(v, Unspecified)}
        sizes, types = _sizes(op, shape), typing_of(op, dtype)
        found = list(derived_bounds(library, op, shape=sizes, types=types, claims=claims))
    except (RequestError, ClaimError, LookupError, NotApplicable) as error:
        print(f"kc: {error}", file=sys.stderr)
        return USAGE
    if not found:
        print(f"kc: no contract bounds the error of `{operator}`: its results are exact", file=sys.stderr)
        return USAGE
    print(f"{operator}  {' '.join(f'{n}={f}' for n, f in types.items())}  {shape}, on N(0, 1) data")
    for bound in found:
        print(f"\n{bound.name}  ({bound.contract})")
        print(f"  at most    {bound.largest:.4g}   median {bound.median:.4g}   (absolute, per element)")
        print(f"  as a test  rtol={bound.rtol!r}, atol={bound.atol:.4g}")
        print(f"  formula    {bound.formula}")
        if bound.why:
            print(f"  because    {bound.why}")
    return 0


DIGITS = 7
"""Digits of the longest dimension: a row of it is evaluated in full."""

ORDER = {"matmul": ("M", "K", "N"), "softmax": ("L", "N"), "reduce_sum": ("L", "N"), "gather_rows": ("V", "D", "N")}
"""How people write a shape in one word, by operator."""


def _sizes(operator: Operator, text: str) -> dict[str, int | tuple[int, ...]]:
    from kernelcontracts.check.errors import RequestError
    from kernelcontracts.strata.shapes import dimensions

    dims = dimensions(operator)
    order = ORDER.get(operator.name, tuple(dims))
    pieces = text.split(",") if "=" in text else [f"{d}={s}" for d, s in zip(order, text.split("x"), strict=False)]
    count = len(text.split("x"))
    if "=" not in text and count != len(order):
        raise RequestError(f"`--shape {text}` has {count} sizes; `{operator.name}` takes {' x '.join(order)}")
    sizes: dict[str, int | tuple[int, ...]] = {name: () for name, variadic in dims.items() if variadic}
    for piece in pieces:
        name, _, size = (part.strip() for part in piece.partition("="))
        if name not in dims or not size.isdigit() or len(size) > DIGITS or int(size) < 1:
            known = ", ".join(dims)
            raise RequestError(f"`{piece}` in `--shape` is not a dimension with a positive size; expected {known}")
        sizes[name] = (int(size),) if dims[name] else int(size)
    missing = [name for name in dims if name not in sizes]
    if missing:
        raise RequestError(f"`--shape {text}` says nothing about {', '.join(missing)}")
    return sizes
