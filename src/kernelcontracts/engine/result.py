"""The result of checking one kernel: the values that every renderer, trace and exit status is made from."""

from __future__ import annotations

from enum import StrEnum

import msgspec


class Status(StrEnum):
    """Verdicts, worst first: the worst of the parts is the verdict of the whole."""

    VIOLATE = "violate"
    UNDER_SPECIFIED = "under_specified"
    UNDECIDED = "undecided"
    OUT_OF_CONTRACT = "out_of_contract"
    CONFORM = "conform"

    @property
    def rank(self) -> int:
        """0 for the worst."""
        return list(Status).index(self)


class Float(msgspec.Struct, frozen=True):
    """A float that decides something: exact as hex, readable as decimal. NaN and infinities are spelled."""

    dec: str
    hex: str

    @classmethod
    def of(cls, value: float) -> Float:
        """Wrap a Python float."""
        return cls(repr(float(value)), float(value).hex())

    @property
    def value(self) -> float:
        """The float itself."""
        return float.fromhex(self.hex)


class Margin(msgspec.Struct, frozen=True):
    """Error over tolerance as an interval, because the reference has a width. Above 1 is a violation."""

    lo: Float
    hi: Float


class Tensor(msgspec.Struct, frozen=True):
    """A small tensor in evidence: its format, shape, and bits (hex of the little-endian bytes, C order)."""

    format: str
    shape: tuple[int, ...]
    bits: str
    shown: tuple[str, ...] = ()
    """Decimal renderings of the elements, when there are at most 16."""


class Witness(msgspec.Struct, frozen=True):
    """One input on which a clause fails, made small."""

    stratum: str
    shape: dict[str, int | list[int]]
    case: int
    seed: str
    inputs: dict[str, Tensor]
    index: tuple[int, ...] | None
    got: Float | None
    expected: Float | None
    tolerance: Float | None
    note: str
    minimised: bool
    outcome: str


class PlanSummary(msgspec.Struct, frozen=True):
    """What was measured."""

    hash: str
    cases: int
    rejected: int
    undecided: int
    strata: tuple[str, ...]
    seed: int


class Statistic(msgspec.Struct, frozen=True):
    """A statistical clause in its worst cell: the statistic, its confidence limits and the bound."""

    cell: str
    value: Float
    lower: Float
    upper: Float
    bound: Float


class ClauseResult(msgspec.Struct, frozen=True):
    """One clause of one contract for one typing."""

    clause: str
    verdict: Status
    margin: Margin | None
    cases: int
    undecided: int
    reason: str
    statistic: Statistic | None = None


class ContractResult(msgspec.Struct, frozen=True, rename={"cls": "class"}):
    """One contract, judged."""

    contract: str
    cls: str
    version: str
    hash: str
    verdict: Status
    types: dict[str, str]
    claims: dict[str, str]
    clause: str | None
    signature: str | None
    message: str
    margin: Margin | None
    p: Float | None
    confidence: Float | None
    plan: PlanSummary | None
    witness: Witness | None
    clauses: tuple[ClauseResult, ...]
    reason: str
    gaps: tuple[str, ...] = ()
    strongest: dict[str, str] | None = None
    """Without claims: the strongest claims under which the kernel conforms, if there are any."""
    notes: tuple[str, ...] = ()


class HarnessError(msgspec.Struct, frozen=True):
    """Something that went wrong on our side, or that could not be run: never a verdict."""

    where: str
    message: str


class CheckResult(msgspec.Struct, frozen=True):
    """What ``kc check`` answers."""

    schema: str
    tool: str
    kernel: str
    operator: str
    verdict: Status | None
    claims_from: str
    seed: int
    results: tuple[ContractResult, ...]
    errors: tuple[HarnessError, ...]
    environment: dict[str, str]
    replay: str | None = None
    """The trace file that `kc replay` reads, if one was written."""


SCHEMA = "kernelcontracts/check/1"
