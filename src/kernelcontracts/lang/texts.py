"""String literals: escapes to characters and back."""

from __future__ import annotations

import re

_PLAIN = {'"': '"', "\\": "\\", "n": "\n", "t": "\t"}
_ESCAPE = re.compile(r"\\(u\{([0-9a-fA-F]{1,6})\}|.)")
_MUST_ESCAPE = re.compile(r'["\\\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\ufeff]')


def read_text(literal: str) -> str:
    r"""Return what a string literal says: ``\"``, ``\\``, ``\n``, ``\t`` and ``\u{1F4A9}`` are escapes.

    Raises
    ------
    ValueError
        At an unknown escape, or one that names no character.
    """
    return _ESCAPE.sub(_unescape, literal[1:-1])


def _unescape(match: re.Match[str]) -> str:
    if match.group(2) is not None:
        number = int(match.group(2), 16)
        if number > 0x10FFFF or 0xD800 <= number < 0xE000:
            raise ValueError(f"`{match.group()}` names no character")
        return chr(number)
    try:
        return _PLAIN[match.group(1)]
    except KeyError:
        raise ValueError(
            f'`{match.group()}` is not an escape; a text may hold `\\"`, `\\\\`, `\\n`, `\\t` and `\\u{{…}}`'
        ) from None


def write_text(text: str) -> str:
    """Return the literal that says ``text``, on one line."""
    return f'"{_MUST_ESCAPE.sub(_escape, text)}"'


def _escape(match: re.Match[str]) -> str:
    character = match.group()
    short = {v: k for k, v in _PLAIN.items()}
    return f"\\{short[character]}" if character in short else f"\\u{{{ord(character):X}}}"
