"""What builtins are in a shadow evaluation, where every tensor is one number."""

from __future__ import annotations

import math
from functools import cache
from typing import TYPE_CHECKING

from kernelcontracts.lang.decisions import add_depth, passes, u_operand
from kernelcontracts.lang.values import Choice

if TYPE_CHECKING:
    from collections.abc import Callable

    from kernelcontracts.formats.facts import Format
    from kernelcontracts.lang.checks.shadow import Shadow
    from kernelcontracts.lang.checks.shadow_world import Value
    from kernelcontracts.lang.expr import Call


def spacing(x: float, fmt: Format) -> float:
    """Return the distance of neighbouring numbers of a format at ``x``."""
    exponent = math.frexp(abs(x))[1] - 1 if x and math.isfinite(x) else fmt.emin
    exponent = min(max(exponent, fmt.emin), fmt.emax)
    return math.ldexp(1.0, exponent - fmt.precision + 1)


def _fact(read: Callable[[Format], float]) -> Callable[[Shadow, Call], Value]:
    read = cache(read)

    def rule(shadow: Shadow, call: Call) -> Value:
        fmt = shadow.format(call.args[0])
        return None if fmt is None else read(fmt)

    return rule


def _numbers(compute: Callable[..., float]) -> Callable[[Shadow, Call], Value]:
    def rule(shadow: Shadow, call: Call) -> Value:
        values = [shadow.number(a) for a in call.args]
        return None if None in values else compute(*values)

    return rule


@cache
def _unit(fmt: Format, mode: str) -> float:
    return float(fmt.unit_roundoff(mode))


def _roundoff(shadow: Shadow, call: Call) -> Value:
    fmt, mode = shadow.format(call.args[0]), shadow.mode(call)
    return None if fmt is None or mode is None else _unit(fmt, mode)


def _gamma(n: float, u: float) -> float:
    return n * u / (1 - n * u) if n * u < 1 else math.inf


@cache
def _operand_roundoff(rounding: Choice) -> float:
    return float(u_operand(rounding))


def _operand(shadow: Shadow, call: Call) -> Value:
    value = shadow.value(call.args[0])
    return _operand_roundoff(value) if isinstance(value, Choice) else None


def _passes(shadow: Shadow, call: Call) -> Value:
    value = shadow.value(call.args[0])
    return passes(value) if isinstance(value, Choice) else None


def _depth(shadow: Shadow, call: Call) -> Value:
    order, n = shadow.value(call.args[0]), shadow.number(call.args[1])
    return add_depth(order, int(n)) if isinstance(order, Choice) and n is not None else None


def _inexact(shadow: Shadow, call: Call) -> Value:
    """Tell whether a product may be inexact: one of p and q bits has at most p + q bits."""
    formats = [shadow.format(a) for a in call.args]
    if None in formats:
        return None
    first, second, target = (f.precision for f in formats if f is not None)
    return 1.0 if first + second > target else 0.0


def _where(shadow: Shadow, call: Call) -> Value:
    truth = shadow.truth(call.args[0])
    return None if truth is None else shadow.value(call.args[1 if truth else 2])


def _total(shadow: Shadow, call: Call) -> Value:
    value = shadow.number(call.args[0])
    return None if value is None else shadow.point.size * value


def _ulp(shadow: Shadow, call: Call) -> Value:
    x, fmt = shadow.number(call.args[0]), shadow.format(call.args[1])
    return None if x is None or fmt is None else spacing(x, fmt)


def _round(shadow: Shadow, call: Call) -> Value:
    return shadow.number(call.args[0])


CALLS: dict[str, Callable[[Shadow, Call], Value]] = {
    "u": _roundoff,
    "precision": _fact(lambda f: f.precision),
    "maxfinite": _fact(lambda f: float(f.maxfinite)),
    "minnormal": _fact(lambda f: float(f.minnormal)),
    "minsub": _fact(lambda f: float(f.minsub)),
    "round": _round,
    "ulp": _ulp,
    "gamma": _numbers(_gamma),
    "u_operand": _operand,
    "passes": _passes,
    "add_depth": _depth,
    "inexact_products": _inexact,
    "nonzero": _numbers(lambda x: float(x != 0)),
    "subnormal": lambda _s, _c: False,
    "normal": lambda _s, _c: True,
    "finite": lambda _s, _c: True,
    "sqrt": _numbers(math.sqrt),
    "exp": _numbers(math.exp),
    "log": _numbers(math.log),
    "where": _where,
    "clamp": _numbers(lambda x, low, high: min(max(x, low), high)),
    "sum": _total,
    "max": _numbers(lambda *xs: max(xs)),
    "min": _numbers(lambda *xs: min(xs)),
    "mean": _round,
    "rms": _numbers(abs),
    "all": lambda s, c: s.truth(c.args[0]),
    "any": lambda s, c: s.truth(c.args[0]),
}
