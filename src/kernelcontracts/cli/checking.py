"""``kc check``, ``kc plan``, ``kc replay``, ``kc calibrate``: the verbs that run kernels."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import App, Parameter

from kernelcontracts.cli.threads import load_numpy_with_one_thread

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kernelcontracts.check.claims import Sourced
    from kernelcontracts.check.request import Request
    from kernelcontracts.engine.result import CheckResult
    from kernelcontracts.kernels.session import Limits
    from kernelcontracts.lang.diagnostics import Diagnostic
    from kernelcontracts.lang.library import Library
    from kernelcontracts.trace.schema import Header
    from kernelcontracts.trace.writer import TraceWriter

Format = Literal["text", "concise", "json"]
USAGE, UNDECIDED = 2, 3


def register(app: App) -> None:
    """Add the verbs to an application."""
    app.command(check)
    app.command(plan)
    app.command(replay)
    app.command(calibrate)


def _fail(message: str, status: int = USAGE) -> int:
    print(f"kc: {message}", file=sys.stderr)
    return status


def _library(files: tuple[str, ...]) -> Library:
    """Return the shipped library with the user's own files.

    Raises
    ------
    RequestError
        If a file cannot be read or has errors.
    """
    from kernelcontracts.check.errors import RequestError
    from kernelcontracts.lang.check import check_library
    from kernelcontracts.lang.library import Library
    from kernelcontracts.lang.source import Source, read_source

    library = Library.shipped()
    known = len(library.files)
    for file in files:
        source = read_source(Path(file))
        if not isinstance(source, Source):
            raise RequestError(source.message)
        library, diagnostics = library.with_source(source)
        _refuse_errors(diagnostics)
    # what the engine runs has to be what lint lets pass: it relies on names that mean something and on whole counts
    if modules := {file.module for file, _ in library.files[known:]}:
        _refuse_errors(check_library(library, modules))
    return library


def _refuse_errors(diagnostics: Iterable[Diagnostic]) -> None:
    from kernelcontracts.check.errors import RequestError

    for found in diagnostics:
        if found.severity == "error":
            name = found.source.name if found.source else "the library"
            raise RequestError(f"{name}: {found.message} [{found.code}]; `kc lint {name}` shows where")


def _seed(given: int | None) -> int:
    return int.from_bytes(os.urandom(4)) if given is None else given


def check(
    kernel: str,
    /,
    *,
    operator: Annotated[str | None, Parameter(help="The operator, if the kernel's name is another.")] = None,
    contract: Annotated[tuple[str, ...], Parameter(help="Contracts to check; all that apply if none is given.")] = (),
    claims: Annotated[str | None, Parameter(help="A claim sheet.")] = None,
    claim: Annotated[tuple[str, ...], Parameter(help="One claim, `decision=value`.")] = (),
    types: Annotated[str | None, Parameter(help="Formats, `A=bf16,B=bf16,C=f32`, or one for all tensors.")] = None,
    seed: Annotated[int | None, Parameter(help="Draw the whole plan from this number.")] = None,
    format: Annotated[Format, Parameter(help="How to print the result.")] = "text",  # noqa: A002  # the option's name
    library: Annotated[tuple[str, ...], Parameter(help="Further .kc files with operators, contracts, plans.")] = (),
    trace: Annotated[str | None, Parameter(help="Write one line per case and clause to this file.")] = None,
    timeout: Annotated[float, Parameter(help="Seconds one call may take.")] = 60.0,
    verbose: Annotated[bool, Parameter(help="Show every clause and the environment.")] = False,
) -> int:
    """Check a kernel against written contracts.

    The kernel is `numpy:matmul`, `torch:softmax`, `emulator:matmul?accumulator=f16`, or `file.py:function`.
    Exit status: 0 all conform, 1 a violation, 2 usage, 3 could not decide or could not run.
    """
    load_numpy_with_one_thread()
    from kernelcontracts.check.claims import gather_claims
    from kernelcontracts.check.errors import RequestError
    from kernelcontracts.check.request import resolve
    from kernelcontracts.kernels.session import Limits
    from kernelcontracts.strata.errors import StratumError

    if not timeout > 0:
        return _fail(f"`--timeout {timeout:g}` leaves no time for a call; expected a positive number")
    try:
        request = resolve(
            kernel,
            library=_library(library),
            operator=operator,
            contracts=contract,
            types=types,
            seed=_seed(seed),
            redraw=True,
        )
        sourced = gather_claims(request, file=claims, assignments=claim)
        result = _traced(request, sourced, trace, Limits(seconds=timeout))
    except (RequestError, StratumError) as error:
        return _fail(str(error))
    return _shown(result, format, verbose=verbose)


def _traced(request: Request, sourced: Sourced, file: str | None, limits: Limits) -> CheckResult:
    """Run the check, keeping a trace where one was asked for, and the witnesses where there are any."""
    import msgspec

    from kernelcontracts.check.errors import RequestError
    from kernelcontracts.check.recording import Recorder, header_of, write_witnesses
    from kernelcontracts.check.request import refuse_huge
    from kernelcontracts.check.verb import check as run
    from kernelcontracts.engine.plan import make_plan
    from kernelcontracts.report.console import progress
    from kernelcontracts.trace.writer import TraceError, open_trace

    plans = [make_plan(i, request.types, run_seed=request.seed, redraw=request.redraw) for i in request.instances]
    for made in plans:
        refuse_huge(made)
    header = header_of(request, sourced, {p.instance.id: p.hash for p in plans}, {})
    try:
        writer = open_trace(file, header) if file is not None else None
    except TraceError as error:
        raise RequestError(str(error)) from error
    bar = progress()
    bar.start(sum(len(p.cases) + len(p.averages) for p in plans))
    recorder = Recorder(writer, bar.advance)
    try:
        result = run(request, sourced, limits=limits, listener=lambda _plan: recorder)
    finally:
        bar.finish()
    witnessed = any(r.witness is not None for r in result.results)
    if writer is None and witnessed:
        writer = _kept(header)
    if writer is None:
        return result
    write_witnesses(writer, result)
    if writer.failed is not None:
        print(f"kc: {writer.failed}", file=sys.stderr)
        return result
    return msgspec.structs.replace(result, replay=str(writer.path) if witnessed else None)


def _kept(header: Header) -> TraceWriter | None:
    """Open a trace in the user's cache for the witnesses of a violation, or give up quietly: it is a convenience."""
    from hashlib import sha256

    import msgspec

    from kernelcontracts.trace.writer import TraceError, open_trace

    home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "kernelcontracts" / "traces"
    name = sha256(msgspec.json.encode(header)).hexdigest()[:12]
    try:
        home.mkdir(parents=True, exist_ok=True)
        return open_trace(home / f"{name}.kctrace", header, overwrite=True)
    except (OSError, TraceError):
        return None


def _shown(result: CheckResult, how: Format, *, verbose: bool) -> int:
    from kernelcontracts.report import concise, console, json, text
    from kernelcontracts.report.status import exit_status

    if how == "json":
        sys.stdout.write(json.render(result))
    elif how == "concise":
        console.show(concise.concise_lines(result))
    else:
        width = console.page_width(sys.stdout)
        console.show(text.text_lines(result, width=width, verbose=verbose))
    return exit_status(result)


def plan(
    operator: str,
    /,
    *,
    contract: tuple[str, ...] = (),
    types: str | None = None,
    seed: int | None = None,
    cases: Annotated[bool, Parameter(help="List every case.")] = False,
    library: tuple[str, ...] = (),
) -> int:
    """Print what would be measured for an operator: strata, shapes, cases and the rate they establish."""
    load_numpy_with_one_thread()
    from kernelcontracts.check.errors import RequestError
    from kernelcontracts.check.request import resolve
    from kernelcontracts.cli.planning import plan_lines
    from kernelcontracts.engine.plan import make_plan

    try:
        request = resolve(
            f"emulator:{operator}",
            library=_library(library),
            contracts=contract,
            types=types,
            seed=_seed(seed),
            redraw=True,
        )
    except RequestError as error:
        return _fail(str(error))
    for instance in request.instances:
        made = make_plan(instance, request.types, run_seed=request.seed, redraw=request.redraw)
        for line in plan_lines(made, every=cases):
            print(line)
    return 0


def replay(
    trace: str,
    /,
    *,
    kernel: Annotated[str | None, Parameter(help="Ask another kernel in place of the recorded one.")] = None,
    library: tuple[str, ...] = (),
) -> int:
    """Show the witnesses of a trace to the kernel again, and judge them again.

    Exit status: 1 if a violation repeats, 0 if none does, 2 usage, 3 if there is nothing to replay.
    """
    load_numpy_with_one_thread()
    from kernelcontracts.check.errors import RequestError
    from kernelcontracts.check.replay import replay as run
    from kernelcontracts.cli.replaying import replay_lines
    from kernelcontracts.kernels.address import AddressError
    from kernelcontracts.trace.reader import read_trace
    from kernelcontracts.trace.schema import Witness
    from kernelcontracts.trace.writer import TraceError

    try:
        read = read_trace(trace)
        witnesses = tuple(line for line in read.lines if isinstance(line, Witness))
        if read.truncated:
            print(f"kc: {read.truncated}", file=sys.stderr)
        if not witnesses:
            return _fail(f"`{trace}` holds no witness: no violation was recorded in it", UNDECIDED)
        answers = run(read.header, witnesses, _library(library), kernel=kernel)
    except (RequestError, TraceError, AddressError, LookupError) as error:
        return _fail(str(error))
    for line in replay_lines(kernel or read.header.kernel, answers):
        print(line)
    return 1 if any(a.repeated for a in answers) else 0


def calibrate(
    contract: Annotated[tuple[str, ...], Parameter(help="Contract ids; none means all.")] = (),
    /,
    *,
    operator: str | None = None,
    seed: int = 0,
    library: tuple[str, ...] = (),
) -> int:
    """Show that contracts tell good kernels from bad ones: the three states, mutants, and where each is detected."""
    load_numpy_with_one_thread()
    from kernelcontracts.calibrate.run import calibrate as run
    from kernelcontracts.check.errors import RequestError
    from kernelcontracts.cli.calibrating import chosen, head_lines, result_lines, table_lines

    try:
        instances = chosen(_library(library), contract, operator)
    except RequestError as error:
        return _fail(str(error))
    sound = True
    for instance in instances:
        for line in head_lines(instance):
            print(line)
        results = run(instance, seed=seed, report=lambda r: print("\n".join(result_lines(r)), flush=True))
        for line in table_lines(results):
            print(line)
        sound &= all(r.sound for r in results)
    return 0 if sound else 1
