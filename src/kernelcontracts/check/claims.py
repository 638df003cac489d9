"""Where the claims of a check come from, in order of precedence.

``--claims FILE`` and ``--claim name=value`` first; else the kernel's own ``CLAIMS`` literal, which is read
without running the file; else, for a kernel that comes with the package, its shipped claim sheet, or the
decisions an emulator is told to have.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from kernelcontracts.check.errors import RequestError
from kernelcontracts.kernels.claims_literal import ClaimsError, read_claims
from kernelcontracts.lang.claims import claims_for, from_assignments, from_literal
from kernelcontracts.lang.decisions import ClaimError
from kernelcontracts.lang.decl import ClaimSheet
from kernelcontracts.lang.parse import parse
from kernelcontracts.lang.source import Source, read_source

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kernelcontracts.check.request import Request
    from kernelcontracts.lang.decl import Operator
    from kernelcontracts.lang.values import Claimed


@dataclass(frozen=True, slots=True)
class Sourced:
    """Claims, where they come from in words, and the builds they were made for (``numpy = "2"``)."""

    values: Mapping[str, Claimed]
    origin: str
    build: Mapping[str, str] = field(default_factory=dict)

    def elsewhere(self, environment: Mapping[str, str]) -> tuple[str, ...]:
        """Return one remark per build entry that the environment of a run does not match.

        ``2.13`` matches ``2.13`` and ``2.13.0+cpu``, not ``2.1``.
        """
        remarks = []
        for name, made_for in self.build.items():
            found = environment.get(name, "")
            if found != made_for and not found.startswith(f"{made_for}."):
                here = f"this is {found}" if found else "there is none here"
                remarks.append(f"the claims were made for {name} {made_for}, and {here}")
        return tuple(remarks)


def gather_claims(request: Request, *, file: str | None, assignments: Sequence[str]) -> Sourced:
    """Collect the claims for a request.

    Raises
    ------
    RequestError
        If a claim file cannot be read, or a claim names an unknown decision or value.
    """
    operator = request.operator
    try:
        base = _from_file(file, request) if file is not None else _own(request)
        given = from_assignments(assignments, operator)
    except ClaimError as error:
        hint = f"; {error.hint}" if error.hint else ""
        raise RequestError(f"{error}{hint}") from error
    except ClaimsError as error:
        raise RequestError(str(error)) from error
    if not given:
        return base
    origin = "the command line" if not base.values else f"{base.origin}, and the command line"
    return Sourced({**base.values, **given}, origin, base.build)


def _from_file(file: str, request: Request) -> Sourced:
    sheets = read_sheets(file)
    answers = claims_for(sheets, request.operator, request.types)
    if not answers.values:
        raise RequestError(
            f"`{file}` claims nothing about `{request.operator.name}` in this typing; expected a block "
            f"`for {request.operator.name} {{ … }}`"
        )
    return Sourced(answers.values, file, _builds(sheets))


def read_sheets(file: str) -> list[ClaimSheet]:
    """Read the claim sheets of a file.

    Raises
    ------
    RequestError
        If the file cannot be read, has errors, or holds no claim sheet.
    """
    source = read_source(Path(file))
    if not isinstance(source, Source):
        raise RequestError(source.message)
    result = parse(source)
    if result.file is None or result.diagnostics:
        first = result.diagnostics[0]
        line, column = source.position(first.span.start) if first.span else (1, 1)
        raise RequestError(f"{file}:{line}:{column}: {first.message} [{first.code}]; `kc lint {file}` shows all")
    sheets = [d for d in result.file.declarations if isinstance(d, ClaimSheet)]
    if not sheets:
        raise RequestError(f'`{file}` holds no claim sheet; expected a declaration `claims "name" {{ … }}`')
    return sheets


def _own(request: Request) -> Sourced:
    address = request.address
    if address.adapter == "file":
        literal = read_claims(Path(address.path))
        if literal is None:
            return Sourced({}, "nowhere")
        return Sourced(
            from_literal(literal_for(literal, address.target), request.operator),
            "the kernel itself",
        )
    if address.adapter == "emulator":
        return Sourced(_emulated(request), "the emulator's own switches")
    sheets = [s.declaration for s in request.library.claim_sheets if s.declaration.name == address.adapter]
    if not sheets or address.options:
        # a shipped sheet speaks of the plain function; options change what is run
        return Sourced({}, "nowhere")
    answers = claims_for(sheets, request.operator, request.types)
    if not answers.values:
        return Sourced({}, "nowhere")
    return Sourced(answers.values, f"the shipped sheet `{address.adapter}`", _builds(sheets))


def _builds(sheets: Sequence[ClaimSheet]) -> dict[str, str]:
    return {name: value for sheet in sheets for name, value in sheet.build}


def literal_for(literal: Mapping[str, object], function: str) -> Mapping[str, object]:
    """Return the claims about one function: a literal may hold one mapping per function, or plain claims."""
    if any(isinstance(value, dict) for value in literal.values()):
        inner = literal.get(function, {})
        return inner if isinstance(inner, dict) else {}
    return literal


def _emulated(request: Request) -> dict[str, Claimed]:
    from importlib import import_module

    claims_of = import_module("kernelcontracts.operators.options").decisions_of
    try:
        return dict(claims_of(request.operator.name, dict(request.address.options)))
    except ValueError as error:
        raise RequestError(f"`{request.address}`: {error}") from error


def words(claims: Mapping[str, Claimed], operator: Operator) -> dict[str, str]:
    """Return claims as text, in the operator's order of decisions."""
    return {d.name: str(claims[d.name]) for d in operator.decisions if d.name in claims}
