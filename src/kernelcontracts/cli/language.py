"""The verbs that read contracts and run nothing: fmt, lint, hash, to-json, from-json, explain."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import App, Parameter

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from kernelcontracts.lang.decl import Declaration
    from kernelcontracts.lang.diagnostics import Diagnostic
    from kernelcontracts.lang.library import Library
    from kernelcontracts.lang.source import Source

Format = Literal["text", "concise", "json"]
DIFFERENT, USAGE = 1, 2

Files = Annotated[str, Parameter(help="Files, folders, or `-` for standard input.", allow_leading_hyphen=True)]
How = Annotated[Format, Parameter(help="How to print what is found.")]


def register(app: App) -> None:
    """Add the verbs to an application."""
    app.command(fmt)
    app.command(lint)
    app.command(hash_, name="hash")
    app.command(to_json)
    app.command(from_json)
    app.command(explain)


def fmt(
    *files: Files,
    check: Annotated[bool, Parameter(help="Write nothing; exit with 1 if a file would change.")] = False,
    diff: Annotated[bool, Parameter(help="Write nothing; print what would change.")] = False,
) -> int:
    """Set contract files in their canonical layout; comments stay.

    Exit status: 0 done, 1 a file would change (with --check or --diff), 2 a file cannot be read, parsed or written.
    """
    from kernelcontracts.cli.files import WriteError, read_all
    from kernelcontracts.lang.format import format_text

    if not files:
        return _fail("no file is named; `kc fmt FILE…`, or `kc fmt -` for standard input")
    sources, problems = read_all(files)
    changed = False
    for source in sources:
        result = format_text(source)
        if result.text is None:
            problems += result.diagnostics
            continue
        changed |= result.text != source.text
        try:
            _deliver(source, result.text, check=check, diff=diff)
        except WriteError as error:
            return _fail(str(error))
    if problems:
        _show(problems, "text")
        return USAGE
    return DIFFERENT if changed and (check or diff) else 0


def _deliver(source: Source, text: str, *, check: bool, diff: bool) -> None:
    """Do with a formatted text what was asked for."""
    from kernelcontracts.cli.files import write

    if diff:
        sys.stdout.writelines(_difference(source, text))
    elif check and text != source.text:
        print(f"{source.name} would be reformatted")
    elif not check and source.path is None:
        sys.stdout.write(text)
    elif not check and text != source.text and source.path is not None:
        write(source.path, text)
        print(f"{source.name} reformatted", file=sys.stderr)


def _difference(source: Source, text: str) -> Iterator[str]:
    from difflib import unified_diff

    before, after = source.text.splitlines(keepends=True), text.splitlines(keepends=True)
    yield from unified_diff(before, after, source.name, f"{source.name} (formatted)")


def lint(
    *files: Files,
    deep: Annotated[bool, Parameter(help="Also try trivial kernels on the contracts' inputs.")] = False,
    format: How = "text",  # noqa: A002  # the option's name
) -> int:
    """Check contracts without running any kernel: names, shapes, units, provenance, power, vacuity.

    Exit status: 0 no error (there may be warnings), 2 errors.
    """
    from kernelcontracts.cli.files import read_all
    from kernelcontracts.lang.diagnostics import has_errors, in_order

    if not files:
        return _fail("no file is named; `kc lint FILE…`")
    sources, problems = read_all(files)
    library, modules, found = _with_sources(sources)
    found = [*problems, *found]
    if modules:
        from kernelcontracts.lang.check import check_library

        found += check_library(library, modules)
    if deep and modules and not has_errors(found):
        from kernelcontracts.calibrate.vacuity import lint_deep

        found += lint_deep(library, sources)
    _show(in_order(found), format, stream="out")
    return USAGE if has_errors(found) else 0


def _with_sources(sources: Sequence[Source]) -> tuple[Library, set[str], list[Diagnostic]]:
    """Return the shipped library with some files, their modules, and what parsing found."""
    from kernelcontracts.lang.library import Library

    library = Library.shipped()
    found: list[Diagnostic] = []
    known = len(library.files)
    for source in sources:
        library, diagnostics = library.with_source(source)
        found += diagnostics
    return library, {file.module for file, _ in library.files[known:]}, found


def hash_(*files: Files) -> int:
    """Print the semantic hash of every declaration: equal hashes, equal meaning, whatever the spelling."""
    from kernelcontracts.cli.files import read_all
    from kernelcontracts.lang.canonical import semantic_hash
    from kernelcontracts.lang.parse import parse

    if not files:
        return _fail("no file is named; `kc hash FILE…`")
    sources, problems = read_all(files)
    for source in sources:
        result = parse(source)
        if result.file is None:
            problems += result.diagnostics
            continue
        for declaration in result.file.declarations:
            print(f"{semantic_hash(declaration)}  {_title(declaration)}")
    if problems:
        _show(problems, "text")
    return USAGE if problems else 0


def _title(declaration: Declaration) -> str:
    from kernelcontracts.lang.decl import Contract

    name = declaration.id if isinstance(declaration, Contract) else declaration.name
    version = getattr(declaration, "version", None)
    return f"{name} @{version}" if version else name


def to_json(file: Annotated[str, Parameter(help="A contract file, or `-`.", allow_leading_hyphen=True)], /) -> int:
    """Print a contract file as JSON: the same tree, numbers as exact fractions."""
    from kernelcontracts.cli.files import read
    from kernelcontracts.lang.diagnostics import Diagnostic
    from kernelcontracts.lang.json import to_json_text
    from kernelcontracts.lang.parse import parse

    source = read(file)
    if isinstance(source, Diagnostic):
        _show([source], "text")
        return USAGE
    result = parse(source)
    if result.file is None:
        _show(result.diagnostics, "text")
        return USAGE
    sys.stdout.write(to_json_text(result.file))
    return 0


def from_json(
    file: Annotated[str, Parameter(help="A JSON file as `kc to-json` writes it, or `-`.", allow_leading_hyphen=True)], /
) -> int:
    """Print the contract text of a JSON file, in its canonical layout."""
    from kernelcontracts.cli.files import read
    from kernelcontracts.lang.decl import File
    from kernelcontracts.lang.diagnostics import Diagnostic
    from kernelcontracts.lang.json_read import JsonError
    from kernelcontracts.lang.json_read import from_json as read_json
    from kernelcontracts.lang.printer import print_file

    source = read(file)
    if isinstance(source, Diagnostic):
        _show([source], "text")
        return USAGE
    try:
        node = read_json(source.text)
    except JsonError as error:
        return _fail(f"`{source.name}`: {error}")
    if not isinstance(node, File):
        return _fail(f"`{source.name}`: $.kind: expected a node of kind `file`")
    sys.stdout.write(print_file(node))
    return 0


def explain(
    code: Annotated[str | None, Parameter(help="A code such as E0301, or its name.")] = None,
    /,
    *,
    list_: Annotated[bool, Parameter(name="--list", help="List all codes.", negative="")] = False,
) -> int:
    """Explain a diagnostic: what it means, an example that has it, and the same repaired."""
    from kernelcontracts.lang.diagnostics import CODES, page

    if list_:
        for entry in CODES.values():
            print(f"{entry.code}  {entry.severity:<7}  {entry.name:<26}  {entry.title}")
        return 0
    if code is None:
        return _fail("no code is named; `kc explain E0301`, or `kc explain --list`")
    try:
        sys.stdout.write(page(code))
    except LookupError as error:
        return _fail(str(error.args[0]))
    return 0


def _show(found: Iterable[Diagnostic], how: Format, *, stream: Literal["out", "err"] = "err") -> None:
    """Print diagnostics; those that were asked for on standard output, those that get in the way on standard error."""
    from kernelcontracts.report import console, diagnostics

    target = sys.stdout if stream == "out" else sys.stderr
    items = list(found)
    if how == "json":
        target.write(diagnostics.render_json(items))
    elif how == "concise":
        console.show(diagnostics.concise_lines(items), target)
    else:
        console.show(diagnostics.text_lines(items), target)
        if items and stream == "out":
            print(diagnostics.summary(items), file=target)


def _fail(message: str) -> int:
    print(f"kc: {message}", file=sys.stderr)
    return USAGE
