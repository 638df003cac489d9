"""Which words may be names. The parser's grammar says the same; this is for trees that come from elsewhere."""

from __future__ import annotations

import re


def word_set(text: str) -> frozenset[str]:
    """Return the words of a text that lists them."""
    return frozenset(text.split())


RESERVED = word_set(
    """pin by because for from on where when adds nothing fault breaks names unspecified if then else implies and or
    not in within of identical ulp rel abs at"""
)
"""Words that join parts of items, and so can be no names. Words that begin items are names everywhere else."""

FUNCTIONS_TOO = frozenset({"by", "from", "on", "for", "where"})
"""Reserved words that stand after an operand; where one is due, before a parenthesis, they name functions."""

_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_CONTRACT_ID = re.compile(r"C-[A-Z][A-Z0-9]{2}-[A-Z0-9]{2,}(-[A-Z0-9]+)*")
_VERSION = re.compile(r"[0-9]+(\.[0-9]+){0,2}")
_HASH = re.compile(r"kc1:[0-9a-f]{8,64}")


def is_word(text: str) -> bool:
    """Whether a text may stand after a dot."""
    return _WORD.fullmatch(text) is not None


def is_name(text: str) -> bool:
    """Whether a text may name a value, a tensor, a clause."""
    return is_word(text) and text not in RESERVED


def is_function(text: str) -> bool:
    """Whether a text may name a function."""
    return is_name(text) or text in FUNCTIONS_TOO


def is_path(text: str) -> bool:
    """Whether a text is a dotted path."""
    first, *rest = text.split(".")
    return is_name(first) and all(map(is_word, rest))


def is_contract_id(text: str) -> bool:
    """Whether a text is a contract's identifier."""
    return _CONTRACT_ID.fullmatch(text) is not None


def is_version(text: str) -> bool:
    """Whether a text is a version, or the beginning of one."""
    return _VERSION.fullmatch(text) is not None


def is_hash(text: str) -> bool:
    """Whether a text is a semantic hash, perhaps cut short."""
    return _HASH.fullmatch(text) is not None
