"""Options of an emulator's address: decisions and one fault, read from text."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from kernelcontracts.lang.values import Choice
from kernelcontracts.operators.defaults import complete

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kernelcontracts.lang.values import ClaimValue

_NAME = r"[A-Za-z_]\w*"
_CALL = re.compile(rf"({_NAME})\s*\(([^()]*)\)")
_FIELD = re.compile(rf"({_NAME})\s*=\s*({_NAME}|[0-9]+)")


def read_value(text: str) -> ClaimValue:
    """Read a value as claim sheets write it: ``f16``, ``pairwise(8)``, ``2``, a record.

    Raises
    ------
    ValueError
        If the text has none of these forms.
    """
    text = text.strip()
    if re.fullmatch("[0-9]{1,18}", text):
        return int(text)
    if re.fullmatch(_NAME, text):
        return Choice(text)
    call = _CALL.fullmatch(text)
    if call:
        return Choice(call[1], tuple(_atom(part) for part in call[2].split(",") if part.strip()))
    if text.startswith("{") and text.endswith("}"):
        return _record(text)
    raise ValueError(
        f"`{text}` is not a value; expected a name, `name(8)`, an integer or `{{format = f32, width = 13}}`"
    )


def _atom(text: str) -> int | str:
    value = read_value(text)
    return value if isinstance(value, int) else str(value)


def _record(text: str) -> Choice:
    fields = dict(_fields(text))
    name = fields.pop("format", None)
    if name is None or not all(value.isdigit() for value in fields.values()):
        raise ValueError(f"`{text}` is not a record; expected one such as `{{format = f32, width = 13}}`")
    return Choice(name, (), tuple((key, int(value)) for key, value in sorted(fields.items())))


def _fields(text: str) -> list[tuple[str, str]]:
    matches = [_FIELD.fullmatch(part.strip()) for part in text[1:-1].split(",")]
    return [(match[1], match[2]) for match in matches if match]


def decisions_of(operator: str, options: Mapping[str, str]) -> dict[str, ClaimValue]:
    """Return every decision of the emulated kernel that an address describes.

    Raises
    ------
    ValueError
        If an option is no decision of the operator, or has no readable value. ``fault`` and ``fma``
        are skipped.
    """
    said = {key: read_value(text) for key, text in options.items() if key not in {"fault", "fma"}}
    return complete(operator, said)


def fault_of(options: Mapping[str, str]) -> Choice | None:
    """Return the fault that an address asks for, such as ``fault=drop_tail(32)``, or ``None``.

    Raises
    ------
    ValueError
        If it cannot be read.
    """
    text = options.get("fault")
    if text is None:
        return None
    fault = read_value(text)
    if isinstance(fault, int):
        raise ValueError(  # noqa: TRY004 - text typed by a person, not an argument of a wrong type
            f"`{text}` is not a fault; expected one such as `drop_tail(32)`"
        )
    return fault
