"""The lines of a trace. Each is one JSON object whose ``line`` field says which kind it is."""

from __future__ import annotations

from typing import Annotated, TypeAlias

import msgspec

SCHEMA = "kernelcontracts/trace/1"

Hex: TypeAlias = Annotated[str, msgspec.Meta(pattern=r"^(-?0x[01]\.[0-9a-f]+p[+-][0-9]+|-?inf|nan)$")]
"""A float as `float.hex` writes it."""

Shape: TypeAlias = dict[str, int | list[int]]
"""Dimension name to size; a variadic dimension has a list."""


class Number(msgspec.Struct, frozen=True):
    """A float that decides something: exact as hex, readable as decimal; NaN and inf spelled."""

    dec: str
    hex: Hex

    @classmethod
    def of(cls, value: float) -> Number:
        """Wrap a Python float."""
        return cls(repr(float(value)), float(value).hex())

    @property
    def value(self) -> float:
        """The float itself, read from the hex form."""
        return float.fromhex(self.hex)


class Interval(msgspec.Struct, frozen=True):
    """Error over tolerance, as an interval because the reference has a width."""

    lo: Number
    hi: Number

    @classmethod
    def of(cls, lo: float, hi: float) -> Interval:
        """Wrap two Python floats."""
        return cls(Number.of(lo), Number.of(hi))


class ContractRef(msgspec.Struct, frozen=True):
    """A contract by its name and by what it says."""

    id: str
    hash: str


class Bits(msgspec.Struct, frozen=True):
    """A tensor bit for bit: hex of its little-endian bytes in C order."""

    format: str
    shape: tuple[int, ...]
    bits: str


class Header(msgspec.Struct, frozen=True, tag_field="line", tag="header"):
    """The first line: what was run, on what terms, where.

    Attributes
    ----------
    claims
        Decision to claimed value, as a claim sheet writes it; fixed before any input is drawn.
    types
        The typings under test: tensor name to format name.
    plans
        Contract to the hash of its plan; inputs are keyed by it.
    environment
        Versions, processor, thread counts: whatever may change the candidate's bits.
    """

    schema: str
    tool: str
    kernel: str
    operator: str
    contracts: tuple[ContractRef, ...]
    claims: dict[str, str]
    types: tuple[dict[str, str], ...]
    seed: int
    plans: dict[str, str]
    environment: dict[str, str]


class Clause(msgspec.Struct, frozen=True, tag_field="line", tag="clause"):
    """One clause of one contract in one case; no margin where nothing was compared."""

    contract: str
    clause: str
    typing: dict[str, str]
    stratum: str
    shape: Shape
    case: int
    seed: str
    margin: Interval | None
    verdict: str
    outcome: str


class Witness(msgspec.Struct, frozen=True, tag_field="line", tag="witness"):
    """An input on which a clause fails, complete: nothing has to be drawn again to see it fail."""

    contract: str
    clause: str
    typing: dict[str, str]
    stratum: str
    shape: Shape
    case: int
    seed: str
    inputs: dict[str, Bits]
    outcome: str
    note: str


class End(msgspec.Struct, frozen=True, tag_field="line", tag="end"):
    """The last line of a run that was not interrupted."""

    verdict: str
    lines: int


Line: TypeAlias = Header | Clause | Witness | End
