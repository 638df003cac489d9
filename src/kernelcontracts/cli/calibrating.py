"""What ``kc calibrate`` prints."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernelcontracts.calibrate.trials import claiming
from kernelcontracts.check.errors import RequestError
from kernelcontracts.lang.instance import instances_for

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from kernelcontracts.calibrate.run import Calibrated
    from kernelcontracts.lang.instance import Instance
    from kernelcontracts.lang.library import Library


def chosen(library: Library, ids: Sequence[str], operator: str | None) -> list[Instance]:
    """Return the instances that were asked for, by id or class.

    Raises
    ------
    RequestError
        If one of them does not exist.
    """
    operators = [operator] if operator else [located.declaration.name for located in library.operators]
    try:
        every = [i for name in operators for i in instances_for(library, name)]
    except LookupError as error:
        raise RequestError(str(error)) from error
    unknown = [name for name in ids if not any(name in (i.id, i.cls) for i in every)]
    if unknown:
        known = ", ".join(i.id for i in every)
        raise RequestError(f"no contract `{unknown[0]}`; there are {known}")
    return [i for i in every if not ids or i.id in ids or i.cls in ids]


def head_lines(instance: Instance) -> Iterator[str]:
    """Yield a contract's heading: what the trials claim."""
    said = ", ".join(f"{name} = {value}" for name, value in claiming(instance).items())
    yield f"{instance.id} @{instance.version}"
    yield f"  claiming {said}"


def result_lines(result: Calibrated) -> Iterator[str]:
    """Yield one trial."""
    mark = "ok  " if result.sound else "BAD "
    where = " ".join(f"{n}={f}" for n, f in result.attempt.types.items())
    head = f"  {mark}{result.attempt.role:9s} {result.attempt.name:36s}"
    verdict = result.verdict.value + (f" {result.clause}" if result.clause else "")
    named = f" named {result.signature}" if result.signature else ""
    smoke = "" if result.smoke is None else f", smoke {'passes' if result.smoke else 'fails'}"
    yield f"{head} {verdict}{named}{smoke}: {result.state} [{where}]"


def table_lines(results: Sequence[Calibrated]) -> Iterator[str]:
    """Yield the detection table: shapes at which one case of a stratum stops a bad kernel."""
    bad = [r for r in results if r.detected]
    if not bad:
        return
    strata = list(dict.fromkeys(name for r in bad for name in r.detected))
    yield "  detected at (shapes of each stratum where one case is enough)"
    for r in bad:
        hits = [
            f"{name} {r.detected[name][0]}/{r.detected[name][1]}" for name in strata if r.detected.get(name, (0,))[0]
        ]
        yield f"    {r.attempt.name:36s} {', '.join(hits) or 'statistics over several cases only'}"
