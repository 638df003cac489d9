"""The world and the point of a shadow evaluation: what names mean, and one assignment to what they leave open."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kernelcontracts.formats.facts import Format
    from kernelcontracts.lang.expr import Expr
    from kernelcontracts.lang.values import ClaimValue

Value: TypeAlias = "float | bool | ClaimValue | Format | None"


@dataclass(frozen=True, slots=True)
class World:
    """What names mean, apart from claims, sizes and formats.

    ``names`` and ``members`` are the definitions of the contract and of the operator's entry; ``dims`` and ``tensors``
    the signature's, ``meaning`` what the operator computes, ``positive_claims`` the decisions over integers none
    of which is negative, and ``last_dims`` the last dimension of each tensor.
    """

    names: Mapping[str, Expr]
    members: Mapping[str, Expr]
    dims: frozenset[str]
    tensors: frozenset[str]
    outputs: tuple[str, ...]
    inputs: tuple[str, ...]
    meaning: Expr | None
    positive_claims: frozenset[str] = frozenset()
    last_dims: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Point:
    """One assignment: claims, the size of every dimension, the value of every element, the formats of tensors."""

    claims: Mapping[str, ClaimValue]
    size: float = 1
    magnitude: float = 1.0
    types: Mapping[str, str] = field(default_factory=dict)
