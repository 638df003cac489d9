"""Claims: what a vendor says a kernel does, where it was said, and what the missing answers leave open."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import product
from typing import TYPE_CHECKING

from kernelcontracts.lang.decisions import (
    ClaimError,
    check_value,
    decision_named,
    parse_value,
    representatives,
    strongest,
    value_of_expr,
    weakest,
)
from kernelcontracts.lang.decl import ClaimBlock, ClaimSheet
from kernelcontracts.lang.values import Choice, Unspecified

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from kernelcontracts.lang.decl import Claim, Decision, Operator, Typing
    from kernelcontracts.lang.span import Span
    from kernelcontracts.lang.values import Claimed, ClaimValue


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a claim comes from.

    Attributes
    ----------
    sheet
        The claim sheet's name, ``--claim`` for the command line, ``the kernel itself`` for a literal in its file.
    evidence, note
        What the sheet says about how the author knows: ``documented``, and the document.
    span
        The place in the sheet's text.
    """

    sheet: str
    evidence: str | None = None
    note: str | None = None
    span: Span | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Answers:
    """The claims that apply to one operator and typing, and where each was made."""

    values: Mapping[str, Claimed]
    origins: Mapping[str, Origin]


COMMAND_LINE = Origin("--claim")
KERNEL_FILE = Origin("the kernel itself")


def claims_for(sheets: Iterable[ClaimSheet | ClaimBlock], operator: Operator, types: Mapping[str, str]) -> Answers:
    """Collect the claims about one operator that hold for one typing.

    A block with conditions on the types is more specific than one without, so that its claims win; among equally
    specific ones the later wins.

    Parameters
    ----------
    sheets
        Claim sheets, or single blocks of them.
    types
        The format of every tensor, inputs and outputs.

    Raises
    ------
    ClaimError
        If a claim names no decision of the operator, or a value outside its domain.
    """
    found: list[tuple[int, Claim, Origin]] = []
    for name, block in _blocks(sheets):
        if block.operator == operator.name and applies(block.types, operator, types):
            found += [(len(block.types), c, Origin(name, c.evidence, c.note, c.span)) for c in block.claims]
    found.sort(key=lambda item: item[0])
    values: dict[str, Claimed] = {}
    origins: dict[str, Origin] = {}
    for _, claim, origin in found:
        values[claim.decision] = _claimed(claim, operator)
        origins[claim.decision] = origin
    return Answers(values, origins)


def _blocks(sheets: Iterable[ClaimSheet | ClaimBlock]) -> Iterator[tuple[str, ClaimBlock]]:
    for sheet in sheets:
        if isinstance(sheet, ClaimSheet):
            yield from ((sheet.name, block) for block in sheet.blocks)
        else:
            yield "a claim sheet", sheet


def _claimed(claim: Claim, operator: Operator) -> Claimed:
    decision = decision_named(operator, claim.decision)
    if claim.value is None:
        return Unspecified(claim.note or "")
    value = value_of_expr(claim.value)
    check_value(decision, value)
    return value


def applies(typings: Iterable[Typing], operator: Operator, types: Mapping[str, str]) -> bool:
    """Whether a typing meets every condition such as ``A, B in {f16, bf16}``.

    A condition may name tensors, format variables, ``inputs`` or ``output``.
    """
    return all(
        types.get(tensor) in typing.formats
        for typing in typings
        for name in typing.names
        for tensor in tensors_named(operator, name)
    )


def tensors_named(operator: Operator, name: str) -> tuple[str, ...]:
    """Return the tensors that a name in a typing stands for; none if it stands for nothing."""
    groups = {"inputs": operator.inputs, "output": operator.outputs, "outputs": operator.outputs}
    if name in groups:
        return tuple(p.name for p in groups[name])
    params = operator.inputs + operator.outputs
    return tuple(p.name for p in params if name in (p.name, p.element))


def from_assignments(assignments: Iterable[str], operator: Operator) -> dict[str, Claimed]:
    """Read claims from a command line: ``accumulator=f16``, ``reduction_order=unspecified``.

    Raises
    ------
    ClaimError
        If an assignment has no ``=``, names no decision, gives a value outside the domain, or repeats a decision.
    """
    claims: dict[str, Claimed] = {}
    for text in assignments:
        name, equals, value = (part.strip() for part in text.partition("="))
        if not equals:
            raise ClaimError(f"`{text}` is not a claim; write it as `decision=value`")
        if name in claims:
            raise ClaimError(f"`{name}` is claimed twice")
        claims[name] = _read(value, decision_named(operator, name))
    return claims


def from_literal(literal: Mapping[str, object], operator: Operator) -> dict[str, Claimed]:
    """Read claims from the literal ``CLAIMS`` of a kernel's file: strings, integers, or ``None`` for unspecified.

    Raises
    ------
    ClaimError
        If a decision or a value is not the operator's, or a value has another type.
    """
    claims: dict[str, Claimed] = {}
    for name, value in literal.items():
        decision = decision_named(operator, str(name))
        if value is None:
            claims[decision.name] = Unspecified()
        elif isinstance(value, str) or (isinstance(value, int) and not isinstance(value, bool)):
            claims[decision.name] = _read(str(value), decision)
        else:
            raise ClaimError(f"`{name}` is claimed as `{value!r}`; write a string, an integer or None")
    return claims


def _read(text: str, decision: Decision) -> Claimed:
    return Unspecified() if text == "unspecified" else parse_value(text, decision)


# --- gaps and completions ----------------------------------------------------------------------------------------


def gaps(needs: Iterable[str], claims: Mapping[str, Claimed]) -> tuple[str, ...]:
    """Return the needed decisions without a claim. An explicit ``unspecified`` is an answer, not a gap."""
    return tuple(n for n in needs if n not in claims)


def open_decisions(needs: Iterable[str], claims: Mapping[str, Claimed]) -> tuple[str, ...]:
    """Return the needed decisions without a definite value: gaps, and those that are ``unspecified``."""
    return tuple(n for n in needs if isinstance(claims.get(n, Unspecified()), Unspecified))


def completions(
    operator: Operator, needs: Iterable[str], claims: Mapping[str, Claimed]
) -> Iterator[dict[str, ClaimValue]]:
    """Enumerate the ways to answer the open decisions, with the claims that are already definite.

    Domains that are not finite are enumerated by their representatives.
    """
    yield from _fill(operator, needs, claims, representatives)


@dataclass(frozen=True, slots=True)
class Bracket:
    """The completions that decide for all (language reference, gaps).

    Conforming at every one of ``strongest`` implies conforming at all completions, violating at every one of
    ``weakest`` implies violating at all: each completion lies below one of the former and above one of the latter,
    and acceptance grows as claims weaken. Where a decision is ordered one value stands at each end, where it is not,
    all its values stand at both.
    """

    strongest: tuple[dict[str, ClaimValue], ...]
    weakest: tuple[dict[str, ClaimValue], ...]


def bracket(operator: Operator, needs: Iterable[str], claims: Mapping[str, Claimed]) -> Bracket:
    """Return the strongest and the weakest completions of some claims; equal where nothing is open."""
    names = tuple(needs)
    return Bracket(tuple(_fill(operator, names, claims, strongest)), tuple(_fill(operator, names, claims, weakest)))


def _fill(
    operator: Operator,
    needs: Iterable[str],
    claims: Mapping[str, Claimed],
    values: Callable[[Decision], tuple[ClaimValue, ...]],
) -> Iterator[dict[str, ClaimValue]]:
    given = {k: v for k, v in claims.items() if isinstance(v, Choice | int)}
    missing = open_decisions(needs, claims)
    choices = [values(decision_named(operator, name)) for name in missing]
    for row in product(*choices):
        yield {**given, **dict(zip(missing, row, strict=True))}
