"""Reading the JSON form: every field is checked, and an error says where it stands."""

from __future__ import annotations

import re
from dataclasses import MISSING, fields
from fractions import Fraction
from functools import cache
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Any, Union, get_args, get_origin, get_type_hints

import msgspec

from kernelcontracts.lang import decl, expr
from kernelcontracts.lang.json import NODES, key_of
from kernelcontracts.lang.json_rules import problems
from kernelcontracts.lang.numbers import read_number, write_number
from kernelcontracts.lang.parse_layout import MAX_DEPTH
from kernelcontracts.lang.reparse import reparse
from kernelcontracts.lang.span import Span

if TYPE_CHECKING:
    from kernelcontracts.lang.expr import Node


class JsonError(ValueError):
    """JSON that is not the form of a tree; the message begins with the path of the offending value."""


def from_json(data: bytes | str | dict[str, Any]) -> Node:
    """Read a node.

    Parameters
    ----------
    data
        JSON text, or what a JSON reader made of it.

    Raises
    ------
    JsonError
        If it is not JSON, or not the form of a node.
    """
    if isinstance(data, dict):
        return _checked(_node(data, "$", 0))
    try:
        decoded = msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        reason = "nested too deeply" if isinstance(error, RecursionError) else str(error)
        raise JsonError(f"$: not JSON: {reason[:1].lower()}{reason[1:]}") from error
    return _checked(_node(decoded, "$", 0))


def _checked(node: Node) -> Node:
    """Return a node, if its text is the text of that node.

    The rules for single fields give good messages; this one makes sure that no tree without a text comes in.
    """
    again = reparse(node)
    if again != node:
        raise JsonError("$: this tree has no text: what it would be written as means something else")
    return node


def _node(data: Any, path: str, depth: int) -> Node:
    # a declaration is at most four levels above its expressions
    if depth > MAX_DEPTH + 4:
        raise JsonError(f"{path}: nested deeper than {MAX_DEPTH} levels; name parts of the expression with `let`")
    if not isinstance(data, dict):
        raise JsonError(f"{path}: expected a node, an object with the key `kind`, not {_what(data)}")
    kind = data.get("kind")
    cls = NODES.get(kind) if isinstance(kind, str) else None
    if cls is None:
        raise JsonError(f"{path}.kind: there is no node of kind `{data.get('kind')}`")
    known = _fields(cls)  # type: ignore[arg-type]  # mypy does not see that a class is hashable
    for key in data:
        if key != "kind" and key not in known:
            raise JsonError(f"{path}.{key}: a node of kind `{data['kind']}` has no such field")
    values = {}
    for key, (name, hint, required) in known.items():
        if key in data:
            values[name] = _value(data[key], hint, f"{path}.{key}", depth + 1)
        elif required:
            raise JsonError(f"{path}: a node of kind `{data['kind']}` needs the field `{key}`")
    node = cls(**values)
    for problem in problems(node):
        raise JsonError(f"{path}: {problem}")
    return node


@cache
def _fields(cls: type) -> dict[str, tuple[str, Any, bool]]:
    """Return name, type and necessity of the fields of a class, by the key under which they are written."""
    hints = get_type_hints(cls, globalns=_namespace())
    return {key_of(cls, f.name): (f.name, hints[f.name], f.default is MISSING) for f in fields(cls) if f.name != "span"}


@cache
def _namespace() -> dict[str, Any]:
    return {**vars(expr), **vars(decl), "Fraction": Fraction, "Span": Span, "Expr": expr.Expr}


def _value(data: Any, hint: Any, path: str, depth: int) -> Any:
    origin = get_origin(hint)
    if hint is Fraction:
        return _fraction(data, path)
    if hint in (str, int, bool):
        if type(data) is not hint:
            raise JsonError(f"{path}: expected {_NAMES[hint]}, not {_what(data)}")
        return data
    if origin is tuple:
        return _sequence(data, get_args(hint), path, depth)
    if origin in (Union, UnionType):
        return _alternative(data, get_args(hint), path, depth)
    node = _node(data, path, depth)
    if not isinstance(node, hint):
        raise JsonError(f"{path}: a node of kind `{data['kind']}` does not belong here")
    return node


def _alternative(data: Any, choices: tuple[Any, ...], path: str, depth: int) -> Any:
    if data is None and NoneType in choices:
        return None
    rest = tuple(c for c in choices if c is not NoneType)
    if len(rest) == 1:
        return _value(data, rest[0], path, depth)
    node = _node(data, path, depth)
    if type(node) not in rest:
        raise JsonError(f"{path}: a node of kind `{data['kind']}` does not belong here")
    return node


def _sequence(data: Any, args: tuple[Any, ...], path: str, depth: int) -> tuple[Any, ...]:
    if not isinstance(data, list):
        raise JsonError(f"{path}: expected a list, not {_what(data)}")
    if len(args) == 2 and args[1] is Ellipsis:
        return tuple(_value(item, args[0], f"{path}[{i}]", depth) for i, item in enumerate(data))
    if len(data) != len(args):
        raise JsonError(f"{path}: expected a list of {len(args)}, not of {len(data)}")
    return tuple(_value(item, a, f"{path}[{i}]", depth) for i, (item, a) in enumerate(zip(data, args, strict=True)))


_FRACTION = re.compile(r"[0-9]{1,4000}(/[1-9][0-9]{0,3999})?")


def _fraction(data: Any, path: str) -> Fraction:
    if not isinstance(data, str) or not _FRACTION.fullmatch(data):
        raise JsonError(f'{path}: expected an exact number such as `"3"` or `"1/400"`, not {_what(data)}')
    value = Fraction(data)
    try:
        read_number(write_number(value))
    except ValueError as error:
        raise JsonError(f"{path}: {error}") from error
    return value


_NAMES = {str: "a text", int: "an integer", bool: "true or false"}


def _what(data: Any) -> str:
    match data:
        case None:
            return "null"
        case bool():
            return str(data).lower()
        case str():
            return f"the text `{data[:40]}`"
        case int() | float():
            return f"the number `{data}`"
        case list():
            return "a list"
        case _:
            return "an object"
