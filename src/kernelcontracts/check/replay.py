"""``kc replay``: the witnesses of a trace, shown to the kernel again and judged again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kernelcontracts.check.errors import RequestError
from kernelcontracts.check.request import typing_of
from kernelcontracts.engine.contract import readings_under_gaps
from kernelcontracts.engine.judge import Judge, alternatives
from kernelcontracts.engine.plan import PlannedCase, make_plan
from kernelcontracts.engine.result import Status, Tensor
from kernelcontracts.engine.run import Candidate
from kernelcontracts.engine.tally import Failure
from kernelcontracts.engine.witness import array_of, explained
from kernelcontracts.evaluate.case import Case, param_shape
from kernelcontracts.formats.arrays import dtype_of
from kernelcontracts.kernels.address import parse_address
from kernelcontracts.kernels.session import KernelLoadError, Limits, open_session
from kernelcontracts.lang.claims import from_assignments
from kernelcontracts.lang.expr import Star
from kernelcontracts.lang.instance import find_instance
from kernelcontracts.trace.bits import BitsError, decode

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from kernelcontracts.engine.tally import Finding
    from kernelcontracts.kernels.session import Session
    from kernelcontracts.lang.decl import Operator
    from kernelcontracts.lang.instance import Instance
    from kernelcontracts.lang.library import Library
    from kernelcontracts.lang.values import Claimed, ClaimValue
    from kernelcontracts.trace.schema import Header, Witness


@dataclass(frozen=True, slots=True)
class Replayed:
    """One witness, judged again.

    Attributes
    ----------
    repeated
        Whether the same clause is violated again.
    changed
        Why the judgement may differ from the recorded one (another version of the contract), or ``""``.
    """

    witness: Witness
    finding: Finding
    outcome: str
    repeated: bool
    changed: str


def replay(header: Header, witnesses: tuple[Witness, ...], library: Library, *, kernel: str | None) -> list[Replayed]:
    """Judge recorded witnesses again.

    Parameters
    ----------
    kernel
        Another kernel to ask in place of the recorded one.

    Raises
    ------
    RequestError
        If the kernel cannot be loaded or the trace names a contract that the library does not have.
    """
    address = parse_address(kernel or header.kernel)
    operator = library.operator(header.operator).declaration
    claims = from_assignments([f"{name}={value}" for name, value in header.claims.items()], operator)
    hashes = {ref.id: ref.hash for ref in header.contracts}
    try:
        with open_session(address, operator, limits=Limits()) as session:
            return list(_each(witnesses, library, claims, hashes, session, header.seed, operator.name))
    except KernelLoadError as error:
        raise RequestError(str(error)) from error


def _each(
    witnesses: tuple[Witness, ...],
    library: Library,
    claims: Mapping[str, Claimed],
    hashes: Mapping[str, str],
    session: Session,
    seed: int,
    operator: str,
) -> Iterator[Replayed]:
    for witness in witnesses:
        try:
            instance = find_instance(library, witness.contract)
        except LookupError as error:
            raise RequestError(f"the trace names contract `{witness.contract}`, which is not in the library") from error
        if instance.operator.name != operator:
            raise RequestError(
                f"the trace is about `{operator}`, and its contract `{instance.id}` about `{instance.operator.name}`"
            )
        changed = "" if hashes.get(instance.id) == instance.hash else "the contract has changed since the trace"
        yield _again(witness, instance, claims, session, seed, changed)


def _again(
    witness: Witness,
    instance: Instance,
    claims: Mapping[str, Claimed],
    session: Session,
    seed: int,
    changed: str,
) -> Replayed:
    case = recorded_case(witness, instance)
    plan = make_plan(instance, witness.typing, run_seed=seed)
    judge = Judge(instance, _readings(instance, claims))
    # the stratum is told, and decides nothing: the inputs are the witness's own
    stratum = next((s for s in instance.strata if s.name == witness.stratum), instance.strata[0])
    planned = PlannedCase(witness.case, stratum, case.shape, witness.seed)
    observed = Candidate(session, plan).observe(case)
    clause = next((c for c in instance.contract.post or () if c.label == witness.clause), None)
    if clause is None:
        raise RequestError(f"the trace names clause `{witness.clause}`, which `{instance.id}` no longer has")
    finding = judge.finding(clause, judge.scopes(case), observed)
    finding = explained(judge, Failure(planned, case, observed, finding))
    outcome = observed.observation.outcome.value
    return Replayed(witness, finding, outcome, finding.status is Status.VIOLATE, changed)


def recorded_case(witness: Witness, instance: Instance) -> Case:
    """Return the case of a witness, if its parts fit each other: a trace is text that anybody may have edited.

    Raises
    ------
    RequestError
        If the typing, the shape or the bits of a tensor do not fit the operator.
    """
    operator, where = instance.operator, f"the witness of `{witness.contract}#{witness.clause}`"
    formats = ",".join(f"{name}={fmt}" for name, fmt in witness.typing.items() if fmt != "i64")
    if typing_of(operator, formats) != witness.typing:
        raise RequestError(f"{where} does not give every tensor of `{operator.name}` a format")
    shape = _recorded_shape(witness, operator, where)
    inputs = {}
    for param in operator.inputs:
        bits = witness.inputs.get(param.name)
        due = param_shape(param, shape)
        if bits is None or bits.shape != due or bits.format != witness.typing[param.name]:
            found = "nothing" if bits is None else f"{bits.format}{list(bits.shape)}"
            expected = f"{witness.typing[param.name]}{list(due)}"
            raise RequestError(f"{where} holds {found} for `{param.name}`; expected {expected}")
        try:
            decode(bits)
        except BitsError as error:
            raise RequestError(f"{where}, tensor `{param.name}`: {error}") from error
        inputs[param.name] = array_of(Tensor(bits.format, bits.shape, bits.bits), dtype_of(bits.format))
    return Case(operator, witness.typing, shape, inputs)


def _recorded_shape(witness: Witness, operator: Operator, where: str) -> dict[str, int | tuple[int, ...]]:
    shape = {k: tuple(v) if isinstance(v, list) else v for k, v in witness.shape.items()}
    for param in (*operator.inputs, *operator.outputs):
        for dim in param.dims:
            several = isinstance(dim, Star)
            name = str(getattr(dim, "name" if several else "id", dim))
            if not isinstance(shape.get(name), tuple if several else int):
                expected = "a list of sizes" if several else "a size"
                raise RequestError(
                    f"{where} has `{witness.shape.get(name)}` for dimension `{name}`; expected {expected}"
                )
    return shape


def _readings(instance: Instance, claims: Mapping[str, Claimed]) -> tuple[dict[str, ClaimValue], ...]:
    """Return the readings a witness was found under: with claims missing, those of the last completion."""
    gaps = tuple(name for name in instance.needs if name not in claims)
    if not gaps:
        return alternatives(instance, claims)
    *_, last = readings_under_gaps(instance, claims, gaps)
    return last
