"""The JSON form of the tree: the same nodes, tagged with their kind, numbers as exact fractions.

A node is an object whose first key is ``kind``, the class's name in small letters (``on_average``, ``set_literal``).
A field that has its default value is left out. Numbers are texts such as ``"1/400"``, because JSON's numbers are binary
floats to most readers. Pairs are lists of two.
"""

from __future__ import annotations

import re
from dataclasses import fields
from fractions import Fraction
from functools import cache
from typing import TYPE_CHECKING, Any

from kernelcontracts.lang import decl, expr

if TYPE_CHECKING:
    from kernelcontracts.lang.expr import Node

NODES: dict[str, type[Node]] = {
    re.sub(r"(?<!^)([A-Z])", r"_\1", cls.__name__).lower(): cls
    for module in (expr, decl)
    for cls in vars(module).values()
    if isinstance(cls, type) and issubclass(cls, expr.Node) and cls is not expr.Node
}
"""Every class of node by its kind."""

_RENAMED = {(decl.Because, "kind"): "basis", (decl.Reference, "kind"): "oracle"}
"""Keys of fields whose name is taken by the tag."""

_KINDS = {cls: kind for kind, cls in NODES.items()}


def kind_of(node: Node) -> str:
    """Return the tag of a node: ``on_average`` for an ``OnAverage``."""
    return _KINDS[type(node)]


def to_json(node: Node) -> dict[str, Any]:
    """Return the JSON form of a node, as Python dictionaries, lists and texts."""
    data: dict[str, Any] = {"kind": kind_of(node)}
    for name, key, default in _written(type(node)):  # type: ignore[arg-type]  # mypy does not see that a class is hashable
        value = getattr(node, name)
        if value != default or type(value) is not type(default):
            data[key] = _encode(value)
    return data


def to_json_text(node: Node) -> str:
    """Return the JSON form of a node as indented text."""
    import msgspec

    return msgspec.json.format(msgspec.json.encode(to_json(node)), indent=2).decode() + "\n"


@cache
def _written(cls: type) -> tuple[tuple[str, str, Any], ...]:
    """Return the fields that are written, each with its key and its default."""
    return tuple((f.name, key_of(cls, f.name), f.default) for f in fields(cls) if f.name != "span")


def key_of(cls: type, name: str) -> str:
    """Return the key under which a field is written: its name, unless that is ``kind``."""
    return _RENAMED.get((cls, name), name)


def _encode(value: Any) -> Any:
    if isinstance(value, expr.Node):
        return to_json(value)
    if isinstance(value, tuple):
        return [_encode(item) for item in value]
    if isinstance(value, Fraction):
        return str(value)
    return value
