"""Libraries: the declarations of several files, found by name and version."""

from __future__ import annotations

from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import cache
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Generic, TypeVar

from kernelcontracts.lang.decl import ClaimSheet, Contract, Operator, Plan
from kernelcontracts.lang.parse_cache import parse_shipped
from kernelcontracts.lang.source import Source

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from importlib.resources.abc import Traversable

    from kernelcontracts.lang.decl import Declaration, File
    from kernelcontracts.lang.diagnostics import Diagnostic

D = TypeVar("D", bound="Declaration")


class UnknownNameError(LookupError):
    """A name or a version that is not in the library. The message says which are near; say one of those."""


@dataclass(frozen=True, slots=True)
class Located(Generic[D]):
    """A declaration, the text it stands in, and the module it belongs to."""

    decl: D
    source: Source
    module: str = ""

    @property
    def declaration(self) -> D:
        """The declaration."""
        return self.decl


@dataclass(frozen=True, slots=True)
class Library:
    """Declarations by kind, in the order in which their files were added."""

    files: tuple[tuple[File, Source], ...] = ()
    operators: tuple[Located[Operator], ...] = field(default=(), compare=False)
    plans: tuple[Located[Plan], ...] = field(default=(), compare=False)
    contracts: tuple[Located[Contract], ...] = field(default=(), compare=False)
    claim_sheets: tuple[Located[ClaimSheet], ...] = field(default=(), compare=False)

    @staticmethod
    def shipped() -> Library:
        """Return the library that comes with the package; it is parsed once."""
        return _shipped()

    def with_source(self, source: Source) -> tuple[Library, tuple[Diagnostic, ...]]:
        """Return this library with the declarations of one more text, and the diagnostics of parsing it.

        A declaration that has the identity of an earlier one (the name; the version too, where there is one) takes
        its place. A text that does not parse adds nothing.
        """
        # the parser is imported where a text is parsed: with the shipped library alone it may not be needed
        from kernelcontracts.lang.parse import parse

        result = parse(source)
        if result.file is None:
            return self, result.diagnostics
        return self.with_file(result.file, source), result.diagnostics

    def with_file(self, file: File, source: Source) -> Library:
        """Return this library with the declarations of one more file."""

        def located(kind: type[D]) -> list[Located[D]]:
            return [Located(d, source, file.module) for d in file.declarations if isinstance(d, kind)]

        return Library(
            (*self.files, (file, source)),
            _replacing(self.operators, located(Operator)),
            _replacing(self.plans, located(Plan)),
            _replacing(self.contracts, located(Contract)),
            _replacing(self.claim_sheets, located(ClaimSheet)),
        )

    def operator(self, name: str) -> Located[Operator]:
        """Return the operator of that name.

        Raises
        ------
        UnknownNameError
            If there is none.
        """
        return _pick("operator", name, "", [(x.decl.name, "", x) for x in self.operators])

    def plan(self, name: str, version: str = "") -> Located[Plan]:
        """Return the newest plan of that name whose version begins with ``version``.

        Raises
        ------
        UnknownNameError
            If there is none.
        """
        return _pick("plan", name, version, [(x.decl.name, x.decl.version, x) for x in self.plans])

    def contract(self, id: str, version: str = "") -> Located[Contract]:  # noqa: A002 - the language's word
        """Return the newest contract of that identifier whose version begins with ``version``.

        Raises
        ------
        UnknownNameError
            If there is none.
        """
        return _pick("contract", id, version, [(x.decl.id, x.decl.version, x) for x in self.contracts])

    def claim_sheet(self, name: str) -> Located[ClaimSheet]:
        """Return the claim sheet of that name.

        Raises
        ------
        UnknownNameError
            If there is none.
        """
        return _pick("claim sheet", name, "", [(x.decl.name, "", x) for x in self.claim_sheets])


@cache
def _shipped() -> Library:
    library = Library()
    for file, source in parse_shipped(shipped_sources()):
        library = library.with_file(file, source)
    return library


def shipped_sources() -> tuple[Source, ...]:
    """Return the texts of the shipped library, in the order of their paths."""
    root = resources.files("kernelcontracts") / "library"
    found = sorted(_texts(root, ()), key=lambda item: item[0])
    return tuple(
        Source(f"kernelcontracts/library/{'/'.join(path)}", item.read_text(encoding="utf-8"), _path(item))
        for path, item in found
    )


def _texts(folder: Traversable, path: tuple[str, ...]) -> Iterable[tuple[tuple[str, ...], Traversable]]:
    for item in folder.iterdir():
        here = (*path, item.name)
        if item.is_dir():
            yield from _texts(item, here)
        elif item.name.endswith(".kc"):
            yield here, item


def _path(item: Traversable) -> Path | None:
    return item if isinstance(item, Path) else None


def _identity(decl: Declaration) -> tuple[str, str]:
    match decl:
        case Contract():
            return decl.id, decl.version
        case Plan():
            return decl.name, decl.version
        case ClaimSheet():
            return decl.name, decl.device or ""
        case Operator():
            return decl.name, ""


def _replacing(old: tuple[Located[D], ...], new: Sequence[Located[D]]) -> tuple[Located[D], ...]:
    merged = {_identity(x.decl): x for x in old}
    merged.update((_identity(x.decl), x) for x in new)
    return tuple(merged.values())


def _pick(what: str, name: str, version: str, known: Iterable[tuple[str, str, Located[D]]]) -> Located[D]:
    choices = list(known)
    same = [(v, x) for n, v, x in choices if n == name]
    if not same:
        near = get_close_matches(name, {n for n, _, _ in choices}, 3, 0.5) or sorted({n for n, _, _ in choices})
        raise UnknownNameError(f"no {what} is called `{name}`; {_near(near)}")
    fitting = [(v, x) for v, x in same if matches(v, version)]
    if not fitting:
        raise UnknownNameError(f"no {what} `{name}` has the version `{version}`; {_near(v for v, _ in same)}")
    return max(fitting, key=lambda item: _numbers(item[0]))[1]


def _near(names: Iterable[str]) -> str:
    listed = ", ".join(f"`{n}`" for n in names)
    return f"there is {listed}" if listed else "there are none"


def matches(version: str, prefix: str) -> bool:
    """Whether a version begins with a prefix, part by part: ``1.0.0`` with ``1``, not ``10.0`` with ``1``."""
    wanted = _numbers(prefix)
    return _numbers(version)[: len(wanted)] == wanted


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".") if part.isdigit())
