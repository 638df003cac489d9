"""Structure that the grammar leaves open: editions, sections that must be there, names that must differ."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from kernelcontracts.lang.decl import ClaimSheet, Contract, Operator, Plan
from kernelcontracts.lang.diagnostics import Diagnostic, Label, diagnostic
from kernelcontracts.lang.span import Span

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from kernelcontracts.lang.decl import Declaration, File, Measure
    from kernelcontracts.lang.source import Source

EDITION = "0.1"
"""The edition of the language that this tool reads."""

_STUBS = {
    "scope": "scope {\n    operator matmul\n    types    A, B, C in {f32}\n  }",
    "pre": "pre {\n    finite: all(finite(inputs))\n  }",
    "post": "post {\n    always close: output within worst of ref\n  }",
    "tolerance": "tolerance none",
    "reference": "reference exact meaning",
    "measure": "measure from op.plan {\n    conclude: rate(0.01, 0.99)\n  }",
    "violation": "violation { }",
}
"""The sections a contract must have, in order, with what could stand there. ``calibrate`` has a check of its own."""

_FROM_COMPANION = frozenset({"pre", "tolerance", "reference"})


class _Spanned(Protocol):
    @property
    def span(self) -> Span | None: ...


def check_structure(file: File, source: Source) -> list[Diagnostic]:
    """Return what is wrong with the structure of a file that parsed."""
    found = [*_edition(file, source), *_module(file, source)]
    found += _duplicates("declaration", ((_title(d), d) for d in file.declarations), source)
    for declaration in file.declarations:
        found += _within(declaration, source)
        if isinstance(declaration, Contract):
            found += _missing_sections(declaration, source)
    return found


def _edition(file: File, source: Source) -> Iterator[Diagnostic]:
    if file.edition == EDITION:
        return
    start = source.text.find("kernel-contracts")
    yield diagnostic(
        "E0104",
        f"edition `{file.edition}` is not known to this tool, which reads edition {EDITION}",
        source=source,
        span=Span(start, start + len("kernel-contracts")),
        label="declared here",
        help=f"write `kernel-contracts {EDITION}`, or use a newer version of `kc`",
    )


def _module(file: File, source: Source) -> Iterator[Diagnostic]:
    if source.path is None or source.path.suffix != ".kc":
        return
    expected, actual = source.path.stem, file.module.rsplit(".", 1)[-1]
    if expected == actual:
        return
    start = source.text.find(file.module)
    yield diagnostic(
        "E0105",
        f"the module's last name is `{actual}`, but the file is called `{source.path.name}`",
        source=source,
        span=Span(max(start, 0), max(start, 0) + len(file.module)),
        label="names another file",
        help=f"rename the file to `{actual}.kc`, or the module's last name to `{expected}`",
    )


def _missing_sections(contract: Contract, source: Source) -> Iterator[Diagnostic]:
    header = contract.span or Span(0, 0)
    line_end = source.text.find("{", header.start)
    for name, stub in _STUBS.items():
        if getattr(contract, name) is not None or (contract.companion and name in _FROM_COMPANION):
            continue
        yield diagnostic(
            "E0102",
            f"contract {contract.id} has no section `{name}`",
            source=source,
            span=Span(header.start, max(line_end, header.start + 1)),
            label=f"`{name}` is missing",
            notes=["every section is written, so that nothing is left out by accident"],
            help=f"add, for example:\n  {stub}",
        )


def _title(declaration: Declaration) -> str:
    match declaration:
        case Contract():
            return f"contract {declaration.id} @{declaration.version}"
        case Plan():
            return f"plan {declaration.name} @{declaration.version}"
        case Operator():
            return f"operator {declaration.name}"
        case ClaimSheet():
            return f'claims "{declaration.name}" on "{declaration.device or ""}"'


def _within(declaration: Declaration, source: Source) -> Iterator[Diagnostic]:
    """Names that must differ within one declaration."""
    match declaration:
        case Operator():
            d = declaration
            yield from _duplicates("tensor", ((p.name, p) for p in (*d.inputs, *d.outputs)), source)
            yield from _duplicates("decision", ((x.name, x) for x in d.decisions), source)
            lets, errors, events = ((x.name, x) for x in d.lets), ((x.name, x) for x in d.errors), d.events
            yield from _duplicates("name", (*lets, *errors, *((x.label, x) for x in events)), source)
        case Plan():
            yield from _measure(declaration, source)
        case Contract():
            yield from _contract(declaration, source)
        case ClaimSheet():
            for block in declaration.blocks:
                yield from _duplicates("claim", ((c.decision, c) for c in block.claims), source)


def _contract(contract: Contract, source: Source) -> Iterator[Diagnostic]:
    bindings = contract.reference.bindings if contract.reference else ()
    lets = ((v.name, v) for v in (*contract.lets, *bindings))
    yield from _duplicates("name", (*lets, *((b.name, b) for b in contract.tolerance or ())), source)
    yield from _duplicates("precondition", ((p.label, p) for p in contract.pre or ()), source)
    yield from _duplicates("clause", ((c.label, c) for c in contract.post or ()), source)
    yield from _duplicates("signature", ((s.name, s) for s in contract.violation or ()), source)
    if contract.measure is not None:
        yield from _measure(contract.measure, source)


def _measure(plan: Plan | Measure, source: Source) -> Iterator[Diagnostic]:
    yield from _duplicates("stratum", ((s.name, s) for s in plan.strata), source)
    yield from _duplicates("setting", ((s.label, s) for s in plan.settings), source)


def _duplicates(what: str, named: Iterable[tuple[str, _Spanned]], source: Source) -> Iterator[Diagnostic]:
    seen: dict[str, _Spanned] = {}
    for name, item in named:
        first = seen.setdefault(name, item)
        if first is item:
            continue
        title = f"`{name}` is declared twice" if what == "declaration" else f"the {what} `{name}` is given twice"
        yield diagnostic(
            "E0103",
            title,
            source=source,
            span=item.span,
            label="again here",
            secondary=[Label(first.span, "first here")] if first.span else [],
            help="give one of them another name, or delete it",
        )
