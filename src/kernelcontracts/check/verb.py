"""``kc check``: every asked contract against one kernel, and what came of it."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING

import msgspec

from kernelcontracts.check.claims import words
from kernelcontracts.check.judged import contract_result
from kernelcontracts.engine.contract import Outcome, check_contract, outside
from kernelcontracts.engine.domain import outside_types
from kernelcontracts.engine.plan import make_plan
from kernelcontracts.engine.result import SCHEMA, CheckResult, ContractResult, HarnessError, Status
from kernelcontracts.engine.run import Candidate
from kernelcontracts.kernels.session import KernelLoadError, Limits, open_session

if TYPE_CHECKING:
    from collections.abc import Callable

    from kernelcontracts.check.claims import Sourced
    from kernelcontracts.check.request import Request
    from kernelcontracts.engine.plan import Plan
    from kernelcontracts.engine.run import Listener
    from kernelcontracts.kernels.session import Session
    from kernelcontracts.lang.instance import Instance

ENOUGH = 8
"""Failing cases collected before a contract stops: a signature such as "only the last tile" needs several."""


def tool() -> str:
    """Return the tool's name and version."""
    try:
        return f"kernelcontracts {version('kernelcontracts')}"
    except PackageNotFoundError:
        return "kernelcontracts (not installed)"


def check(
    request: Request,
    sourced: Sourced,
    *,
    limits: Limits | None = None,
    listener: Callable[[Plan], Listener] | None = None,
    enough: int = ENOUGH,
    minimise: bool = True,
) -> CheckResult:
    """Check a kernel against the contracts of a request.

    Nothing the kernel does is raised here. A kernel that cannot be loaded gives a result with an error and no
    verdict.
    """
    try:
        session = open_session(request.address, request.operator, limits=limits or Limits())
    except KernelLoadError as error:
        return _result(request, sourced, (), (HarnessError("kernel", str(error)),), {})
    with session:
        results = _with_companions(
            request,
            lambda i: _one(i, request, sourced, session, listener, enough=enough, minimise=minimise),
        )
        environment = dict(session.environment)
        if session.notes:
            environment["notes"] = "; ".join(session.notes)
    return _result(request, sourced, _remarked(results, sourced.elsewhere(environment)), (), environment)


def _remarked(results: list[ContractResult], remarks: tuple[str, ...]) -> tuple[ContractResult, ...]:
    return tuple(msgspec.structs.replace(r, notes=(*r.notes, *remarks)) for r in results)


def _with_companions(request: Request, run: Callable[[Instance], ContractResult]) -> list[ContractResult]:
    """Run contracts in order; one with a companion conforms only if the companion does."""
    results: dict[str, ContractResult] = {}
    for instance in request.instances:
        results[instance.id] = run(instance)
    return [_companioned(instance, results) for instance in request.instances]


def _companioned(instance: Instance, results: dict[str, ContractResult]) -> ContractResult:
    result = results[instance.id]
    companion = results.get(instance.companion or "")
    if companion is None or companion.verdict is Status.CONFORM or result.verdict is not Status.CONFORM:
        return result
    reason = f"its own clauses hold, and its companion {companion.contract} does not conform"
    return msgspec.structs.replace(result, verdict=Status.UNDECIDED, reason=reason)


def _one(
    instance: Instance,
    request: Request,
    sourced: Sourced,
    session: Session,
    listener: Callable[[Plan], Listener] | None,
    *,
    enough: int,
    minimise: bool,
) -> ContractResult:
    why = outside_types(instance, request.types)
    plan = make_plan(instance, request.types, run_seed=request.seed, redraw=request.redraw)
    candidate = Candidate(session, plan)
    if why:
        outcome: Outcome = outside(why)
    else:
        outcome = check_contract(
            plan,
            candidate,
            sourced.values,
            listener=listener(plan) if listener else None,
            enough=enough,
        )
    claims = words({n: v for n, v in sourced.values.items() if n in instance.needs}, instance.operator)
    return contract_result(plan, outcome, candidate, claims, minimise_it=minimise)


def _result(
    request: Request,
    sourced: Sourced,
    results: tuple[ContractResult, ...],
    errors: tuple[HarnessError, ...],
    environment: dict[str, str],
) -> CheckResult:
    verdict = min((r.verdict for r in results), key=lambda s: s.rank) if results else None
    return CheckResult(
        schema=SCHEMA,
        tool=tool(),
        kernel=str(request.address),
        operator=request.operator.name,
        verdict=verdict,
        claims_from=sourced.origin,
        seed=request.seed,
        results=results,
        errors=errors,
        environment=environment,
    )
