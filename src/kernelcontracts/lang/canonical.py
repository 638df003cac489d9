"""Canonical form and hashes: equal for texts that say the same, different for texts that do not.

Numbers become fractions in lowest terms; operands of ``+ * and or`` are flattened and sorted, because the arithmetic is
real and the logic has two values; sets, records and named arguments are sorted; bound variables are numbered by the
depth at which they are bound. Docs, comments, reasons, messages and spellings are left out. What remains is
serialised by RFC 8785 and hashed by SHA-256.
"""

from __future__ import annotations

import json
from dataclasses import fields
from fractions import Fraction
from functools import cache
from hashlib import sha256
from typing import TYPE_CHECKING, Any, TypeAlias

import rfc8785

from kernelcontracts.lang.decl import (
    Claim,
    Operator,
    Relation,
    Signature,
    Typing,
)
from kernelcontracts.lang.expr import (
    Binary,
    Call,
    Index,
    Name,
    Number,
    RecordLiteral,
    Reduce,
    SetLiteral,
    Star,
)
from kernelcontracts.lang.json import key_of, kind_of, to_json

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kernelcontracts.lang.expr import Expr, Node

Data: TypeAlias = Any
_Bound: TypeAlias = "Mapping[str, str]"

_COMMUTATIVE = frozenset({"+", "*", "and", "or"})

_SILENT: dict[type, frozenset[str]] = {
    Signature: frozenset({"message"}),
    Claim: frozenset({"note"}),
    Number: frozenset({"text"}),
}
"""Fields that carry no meaning, beyond those that never do."""

_ALWAYS_SILENT = frozenset({"span", "doc", "because"})


def canonical(node: Node) -> bytes:
    """Return the canonical form of a node: RFC 8785 JSON in UTF-8."""
    return rfc8785.dumps(_data(node, {}))


def semantic_hash(node: Node) -> str:
    """Return ``kc1:`` and 64 hexadecimal digits; equal for texts that say the same."""
    return f"kc1:{sha256(canonical(node)).hexdigest()}"


def document_hash(node: Node) -> str:
    """Return ``kcdoc1:`` and 64 hexadecimal digits; docs, reasons, messages and spellings count, layout does not."""
    return f"kcdoc1:{sha256(rfc8785.dumps(to_json(node))).hexdigest()}"


def _data(value: Any, bound: _Bound) -> Data:
    """Return the canonical data of a value; ``bound`` gives the numbers of the variables in whose scope it stands."""
    match value:
        case None | bool() | int():
            return value
        case str():
            return value
        case Fraction():
            return str(value)
        case tuple():
            return [_data(item, bound) for item in value]
        case _:
            return _node(value, bound)


def _node(node: Any, bound: _Bound) -> Data:
    match node:
        case Name(name) | Star(name) if name in bound:
            return {"kind": kind_of(node), "bound": bound[name]}
        case Binary(op, _, _) if op in _COMMUTATIVE:
            operands = _sorted(_data(e, bound) for e in _flat(node, op))
            return {"kind": "binary", "op": op, "operands": operands}
        case Reduce(function, binder, limit, body):
            inner = _bind(bound, [binder])
            return {
                "kind": "reduce", "function": function, "bound": _data(limit, bound), "body": _data(body, inner),
            }  # fmt: skip
        case Relation():
            return _relation(node, bound)
        case Operator():
            return _operator(node, bound)
        case SetLiteral(items):
            unique = {_key(d): d for d in (_data(i, bound) for i in items)}
            return {"kind": "set_literal", "items": [unique[k] for k in sorted(unique)]}
        case RecordLiteral(pairs):
            return {"kind": "record_literal", "fields": _pairs(pairs, bound)}
        case Call(function, args, kwargs):
            return {
                "kind": "call", "function": function, "args": _data(args, bound), "kwargs": _pairs(kwargs, bound),
            }  # fmt: skip
        case Typing(names, formats):
            return {"kind": "typing", "names": sorted(set(names)), "formats": sorted(set(formats))}
        case _:
            return _plain(node, bound)


def _plain(node: Any, bound: _Bound, **replaced: Data) -> Data:
    """Return the fields of a node that carry meaning, those left out that say nothing."""
    data: dict[str, Data] = {"kind": kind_of(node)}
    for name in _meaningful(type(node)):  # type: ignore[arg-type]  # mypy does not see that a class is hashable
        value = replaced[name] if name in replaced else _data(getattr(node, name), bound)
        data[key_of(type(node), name)] = value
    return data


@cache
def _meaningful(cls: type) -> tuple[str, ...]:
    silent = _ALWAYS_SILENT | _SILENT.get(cls, frozenset())
    return tuple(f.name for f in fields(cls) if f.name not in silent)


def _relation(node: Relation, bound: _Bound) -> Data:
    inner = _bind(bound, [node.variable])
    return _plain(
        node,
        bound,
        variable=inner[node.variable],
        predicate=_data(node.predicate, inner),
        where=_data(node.where, inner),
    )


def _operator(node: Operator, bound: _Bound) -> Data:
    """Bind the indices of the meaning's target in the meaning."""
    if not isinstance(node.target, Index):
        return _plain(node, bound)
    names = [
        index.id if isinstance(index, Name) else index.name
        for index in node.target.indices
        if isinstance(index, Name | Star)
    ]
    inner = _bind(bound, names)
    return _plain(node, bound, target=_data(node.target, inner), meaning=_data(node.meaning, inner))


def _bind(bound: _Bound, names: list[str]) -> dict[str, str]:
    # not the size of `bound`: a binder that hides an outer one of the same name does not make it grow
    depth = 1 + max((int(number[1:]) for number in bound.values()), default=-1)
    fresh = {name: f"${depth + i}" for i, name in enumerate(dict.fromkeys(names))}
    return {**bound, **fresh}


def _flat(node: Expr, op: str) -> list[Expr]:
    if isinstance(node, Binary) and node.op == op:
        return [*_flat(node.left, op), *_flat(node.right, op)]
    return [node]


def _pairs(pairs: tuple[tuple[str, Expr], ...], bound: _Bound) -> Data:
    return {name: _data(value, bound) for name, value in pairs}


def _sorted(items: Any) -> list[Data]:
    return sorted(items, key=_key)


def _key(data: Data) -> str:
    return json.dumps(data, sort_keys=True, ensure_ascii=True)
