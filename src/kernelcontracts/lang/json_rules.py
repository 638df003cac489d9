"""What the types of the tree do not say: which texts a field may hold, and what must agree with what."""

from __future__ import annotations

from dataclasses import fields
from functools import cache
from typing import TYPE_CHECKING, Any

from kernelcontracts.lang import decl, expr
from kernelcontracts.lang.lower import EVIDENCE
from kernelcontracts.lang.lower_contract import REFERENCES
from kernelcontracts.lang.lower_expr import REDUCERS
from kernelcontracts.lang.names import (
    is_contract_id,
    is_function,
    is_hash,
    is_name,
    is_path,
    is_version,
    is_word,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from kernelcontracts.lang.expr import Node

_FREE = frozenset(
    {
        (expr.Text, "value"), (expr.Number, "text"), (decl.Because, "text"), (decl.Signature, "message"),
        (decl.Claim, "note"), (decl.ClaimSheet, "name"), (decl.ClaimSheet, "device"), (decl.File, "edition"),
    }
)  # fmt: skip
"""Fields that hold any text; so does every ``doc``."""

_COMPARISONS = frozenset({"<", "<=", ">", ">=", "==", "!="})

_SPECIAL: dict[tuple[type, str], tuple[Callable[[str], bool], str]] = {
    (expr.Unary, "op"): (frozenset({"-", "not", "abs"}).__contains__, "one of `-`, `not`, `abs`"),
    (expr.Binary, "op"): (
        frozenset({"+", "-", "*", "/", "@", "^", "..", "and", "or", "implies"}).__contains__, "a binary operator"
    ),
    (expr.Compare, "ops"): (_COMPARISONS.__contains__, "a comparison"),
    (expr.Quantity, "unit"): (frozenset({"ulp", "rel", "abs"}).__contains__, "one of `ulp`, `rel`, `abs`"),
    (expr.Reduce, "function"): (REDUCERS.__contains__, "a function that binds an index"),
    (expr.Call, "function"): (is_function, "the name of a function"),
    (expr.Member, "name"): (is_word, "a word"),
    (expr.Feature, "name"): (is_word, "a word"),
    (decl.Because, "kind"): (is_name, "a name"),
    (decl.PlanRef, "name"): (is_path, "a dotted name"),
    (decl.PlanRef, "version"): (lambda text: not text or is_version(text), "a version such as `1.0.0`"),
    (decl.Plan, "name"): (is_path, "a dotted name"),
    (decl.Plan, "version"): (is_version, "a version such as `1.0.0`"),
    (decl.Contract, "id"): (is_contract_id, "an identifier such as `C-PRC-01`"),
    (decl.Contract, "version"): (is_version, "a version such as `1.0.0`"),
    (decl.Companion, "id"): (is_contract_id, "an identifier such as `C-PRC-01`"),
    (decl.Companion, "version"): (is_version, "a version such as `1.0.0`"),
    (decl.Use, "path"): (is_path, "a dotted name"),
    (decl.Use, "pin"): (is_hash, "a hash such as `kc1:0123abcd`"),
    (decl.File, "module"): (is_path, "a dotted name"),
    (decl.Reference, "kind"): (REFERENCES.__contains__, f"one of {', '.join(REFERENCES)}"),
    (decl.Claim, "evidence"): (EVIDENCE.__contains__, f"one of {', '.join(EVIDENCE)}"),
    (decl.Trial, "role"): (frozenset({"good", "bad", "baseline"}).__contains__, "one of good, bad, baseline"),
}  # fmt: skip


def problems(node: Node) -> Iterator[str]:
    """Yield what is wrong with a node whose fields have the right types; its parts were examined before."""
    cls = type(node)
    for name in _names(cls):  # type: ignore[arg-type]  # mypy does not see that a class is hashable
        valid, what = _SPECIAL.get((cls, name), (is_name, "a name"))
        for text in _texts(getattr(node, name), pairs=cls is not decl.ClaimSheet):
            if not valid(text):
                yield f"`{name}` must be {what}, not `{text[:40]}`"
    yield from _agreement(node)


@cache
def _names(cls: type) -> tuple[str, ...]:
    return tuple(f.name for f in fields(cls) if f.name not in ("span", "doc") and (cls, f.name) not in _FREE)


def _texts(value: Any, *, pairs: bool) -> Iterator[str]:
    """Yield the texts in a field: its own, those of a list, the names of pairs."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, tuple):
        for item in value:
            if isinstance(item, str):
                yield item
            elif isinstance(item, tuple) and item and isinstance(item[0], str) and (pairs or len(item) == 2):
                yield item[0]


def _agreement(node: Node) -> Iterator[str]:
    match node:
        case expr.Compare(operands, ops) if len(operands) != len(ops) + 1 or not ops:
            yield f"{len(ops)} comparisons need {len(ops) + 1} operands, not {len(operands)}"
        case expr.RecordLiteral(()):
            yield "a record has at least one field"
        case expr.Index(_, ()):
            yield "an index has at least one part"
        case decl.Decision(_, levels) if not levels or not all(levels):
            yield "a decision has at least one level, and every level a value"
        case decl.Stratum(_, draws, weight) if not draws or not 1 <= weight < 10**6:
            yield "a stratum has at least one draw, and a weight from 1 to 999999"
        case decl.Typing((), _) | decl.Draw((), _):
            yield "at least one tensor must be named"
        case decl.Operator() if (node.target is None) != (node.meaning is None) or not node.outputs:
            yield "an operator has an output, and both sides of its meaning or neither"
        case decl.Trial():
            yield from _trial(node)
        case _:
            return


def _trial(node: decl.Trial) -> Iterator[str]:
    if node.fault is not None and not isinstance(node.fault, expr.Call):
        yield "a fault is a call"
    if node.fault is not None and node.changes:
        yield "a trial has either a fault or changed decisions"
    if node.role == "baseline" and node.fault is None:
        yield "a baseline is a call, such as `zeros()`"
