"""A result as JSON, and the JSON Schemas of what this package writes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from kernelcontracts.engine.result import SCHEMA, CheckResult
from kernelcontracts.trace.schema import SCHEMA as TRACE_SCHEMA
from kernelcontracts.trace.schema import Line

if TYPE_CHECKING:
    from os import PathLike


class ResultError(ValueError):
    """Text that is not a result this version reads. The message says where and why."""


def render(result: CheckResult) -> str:
    """Return the result as indented JSON, ended by a newline.

    Keys stand in the order of the documentation; where a key is a name of the user's, in the order
    of the operator's signature or the claim sheet. The same result gives the same bytes.
    """
    return msgspec.json.format(msgspec.json.encode(result), indent=2).decode() + "\n"


def read(text: str | bytes) -> CheckResult:
    """Return the result that `render` wrote.

    Raises
    ------
    ResultError
        If the text is not JSON, misses a field, or declares another schema.
    """
    try:
        result = msgspec.json.decode(text, type=CheckResult)
    except msgspec.MsgspecError as error:
        reason = str(error)
        raise ResultError(f"not a result: {reason[:1].lower()}{reason[1:]}") from None
    if result.schema != SCHEMA:
        raise ResultError(f"the schema is `{result.schema}`; this tool reads `{SCHEMA}`")
    return result


def schemas() -> dict[str, str]:
    """Return the JSON Schema files: name to text."""
    return {
        "check-1.json": _schema(CheckResult, SCHEMA),
        "trace-1.json": _schema(Line, TRACE_SCHEMA),
    }


def write_schemas(folder: str | PathLike[str]) -> None:
    """Write the JSON Schema files into a folder that exists."""
    for name, text in schemas().items():
        (Path(folder) / name).write_text(text, encoding="utf-8")


def _schema(kind: Any, name: str) -> str:
    head = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "urn:" + name.replace("/", ":"),
        "title": name,
    }
    return json.dumps(head | msgspec.json.schema(kind), indent=2) + "\n"
