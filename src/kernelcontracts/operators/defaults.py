"""What an emulator does where nothing is said: the decisions of an ordinary, honest kernel."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernelcontracts.lang.values import Choice

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kernelcontracts.lang.values import Claimed, ClaimValue

_ACCUMULATION: dict[str, ClaimValue] = {
    "accumulator": Choice("f32"),
    "acc_rounding": Choice("rne"),
    "operand_rounding": Choice("as_given"),
    "reduction_order": Choice("pairwise", (8,)),
    "determinism": Choice("bitwise"),
    "daz_in": Choice("preserve"),
    "ftz_out": Choice("preserve"),
}

DEFAULTS: Mapping[str, Mapping[str, ClaimValue]] = {
    "matmul": _ACCUMULATION,
    "reduce_sum": _ACCUMULATION,
    "softmax": {
        "stabilization": Choice("max_shift"),
        "accumulator": Choice("f32"),
        "acc_rounding": Choice("rne"),
        "exp_ulp": 1,
    },
    "gather_rows": {
        "oob_policy": Choice("RAISE"),
        "negative_index": Choice("out_of_bounds"),
    },
}
"""For each operator that can be emulated, its decisions and their default values."""


def complete(operator: str, decisions: Mapping[str, Claimed]) -> dict[str, ClaimValue]:
    """Return the decisions of an operator, the unsaid and unspecified ones by default.

    Raises
    ------
    ValueError
        If the operator has no emulator, or a decision is not one of its own.
    """
    if operator not in DEFAULTS:
        known = ", ".join(sorted(DEFAULTS))
        raise ValueError(f"no emulator for operator `{operator}`; there are {known}")
    values = dict(DEFAULTS[operator])
    for name, value in decisions.items():
        if name not in values:
            raise ValueError(f"`{name}` is not a decision of `{operator}`; its decisions are {', '.join(values)}")
        if isinstance(value, Choice | int):
            values[name] = value
    return values


def choice(decisions: Mapping[str, ClaimValue], name: str) -> Choice:
    """Return a decision whose value is a name.

    Raises
    ------
    ValueError
        If the value is a number.
    """
    value = decisions[name]
    if not isinstance(value, Choice):
        raise ValueError(  # noqa: TRY004 - a claim typed by a person, not an argument of a wrong type
            f"`{name} = {value}` is not the name of a choice"
        )
    return value


def number(decisions: Mapping[str, ClaimValue], name: str) -> int:
    """Return a decision whose value is an integer.

    Raises
    ------
    ValueError
        If the value is a name.
    """
    value = decisions[name]
    if not isinstance(value, int):
        raise ValueError(  # noqa: TRY004 - as for choice
            f"`{name} = {value}` is not an integer"
        )
    return value
