"""Decisions: their domains as values, their order by strength, and the numbers that values stand for.

Everything that reasons about claims asks here: is this value allowed (``decision_domain``), how is it written
(``decision_values``), is it stronger than that one (``decision_order``), what does it cost (``decision_formulas``).
"""

from __future__ import annotations

from kernelcontracts.lang.decision_domain import (
    DEFAULT_PARAMETERS,
    PARAMETERS,
    ClaimError,
    check_value,
    decision_named,
    describe,
    fraction_bits,
    is_finite,
    member,
    representatives,
    value_names,
)
from kernelcontracts.lang.decision_formulas import add_depth, passes, u_operand
from kernelcontracts.lang.decision_order import SIZES, Comparison, compare, is_ordered, strongest, weakest
from kernelcontracts.lang.decision_values import parse_value, value_of_expr

__all__ = [
    "DEFAULT_PARAMETERS",
    "PARAMETERS",
    "SIZES",
    "ClaimError",
    "Comparison",
    "add_depth",
    "check_value",
    "compare",
    "decision_named",
    "describe",
    "fraction_bits",
    "is_finite",
    "is_ordered",
    "member",
    "parse_value",
    "passes",
    "representatives",
    "strongest",
    "u_operand",
    "value_names",
    "value_of_expr",
    "weakest",
]
