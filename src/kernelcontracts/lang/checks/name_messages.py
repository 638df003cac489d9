"""What is said of names that stand for nothing, and of calls that do not fit."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING

from kernelcontracts.lang.diagnostics import Diagnostic, diagnostic

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from kernelcontracts.lang.builtins import Place
    from kernelcontracts.lang.checks.context import Entry
    from kernelcontracts.lang.expr import Call, Expr
    from kernelcontracts.lang.source import Source
    from kernelcontracts.lang.span import Span


def did_you_mean(name: str, known: Iterable[str], count: int = 3, cutoff: float = 0.6) -> str | None:
    """Return advice that names the nearest known names, or ``None`` where none is near."""
    near = get_close_matches(name, sorted(known), count, cutoff)
    return f"did you mean {' or '.join(f'`{n}`' for n in near)}?" if near else None


def unknown(name: str, known: Iterable[str], source: Source, span: Span | None, what: str) -> Diagnostic:
    """Report a name that stands for nothing, with the nearest ones that do."""
    near = did_you_mean(name, known)
    return diagnostic(
        "E0201",
        f"`{name}` is not {what}",
        source=source,
        span=span,
        label="unknown here",
        help=near,
        notes=() if near else _listing(known),
    )


def _listing(known: Iterable[str]) -> tuple[str, ...]:
    names = sorted(known)
    return (f"known are {', '.join(f'`{n}`' for n in names)}",) if 0 < len(names) <= 12 else ()


def check_decision(name: str, entry: Entry, source: Source, span: Span | None) -> Iterator[Diagnostic]:
    """Yield E0403 unless the operator has the decision."""
    if name in entry.decisions:
        return
    yield diagnostic(
        "E0403",
        f"`{entry.operator.name}` has no decision `{name}`",
        source=source,
        span=span,
        label="nothing to claim here",
        notes=(f"its decisions are {', '.join(f'`{d}`' for d in entry.decisions) or 'none'}",),
        help=did_you_mean(name, entry.decisions, 3, 0.5),
    )


def wrong_count(name: str, least: int, most: int | None, count: int, expr: Expr, source: Source) -> Diagnostic:
    """Report a call with too few or too many arguments; ``most`` is ``None`` where there may be any number."""
    wanted = f"{least}" if least == most else f"{least} or more" if most is None else f"{least} to {most}"
    plural = "argument" if (least, most) == (1, 1) else "arguments"
    return diagnostic(
        "E0201",
        f"`{name}` takes {wanted} {plural}, not {count}",
        source=source,
        span=expr.span,
        label=f"{count} given",
    )


def misplaced(expr: Call, place: Place, source: Source) -> Diagnostic:
    """Report a builtin that may be called, but not here."""
    return diagnostic(
        "E0201",
        f"`{expr.function}` does not belong here",
        source=source,
        span=expr.span,
        label=_belongs(place),
    )


def _belongs(place: Place) -> str:
    return {
        "observation": "it observes the candidate, so it stands in `post` and in signatures",
        "domain": "it is what a `relation` ranges over, or an argument of `identical_over`",
        "generator": "it draws inputs, so it follows `~`",
        "protocol": "it is a setting of a protocol",
        "smoke": "it is a functional test, so it follows `smoke`",
        "fault": "it is a fault, so it follows `fault` or `baseline`",
        "expression": "it computes a value",
    }[place]
