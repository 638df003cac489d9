"""How messages call the terminals of the grammar."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernelcontracts.lang.names import word_set

if TYPE_CHECKING:
    from collections.abc import Iterable

_SIGNS = {
    "ARROW": "->", "ARM": "=>", "SAME": "==", "DIFFERENT": "!=", "NOMORE": "<=", "NOLESS": ">=", "LESSTHAN": "<",
    "MORETHAN": ">", "EQUAL": "=", "RANGE": "..", "DOT": ".", "PLUS": "+", "MINUS": "-", "STAR": "*", "SLASH": "/",
    "AT_SIGN": "@", "CARET": "^", "BAR": "|", "TILDE": "~", "LPAR": "(", "RPAR": ")", "LSQB": "[", "RSQB": "]",
    "LBRACE": "{", "RBRACE": "}", "COMMA": ",", "COLON": ":", "SEMICOLON": ";",
}  # fmt: skip

_CLASSES = {
    "NAME": "a name",
    "NUMBER": "a number",
    "STRING": "a text in quotes",
    "CONTRACT_ID": "a contract identifier such as C-PRC-01",
    "VERSION": "a version such as @1.0.0",
    "HASH": "a hash such as kc1:0123abcd",
    "EDITION": "`kernel-contracts 0.1`",
    "_NL": "the end of the line",
    "$END": "the end of the file",
}

EXPRESSION_STARTS = frozenset({"NAME", "NUMBER", "STRING", "LPAR", "BAR", "MINUS", "LBRACE"})
_BINARY = word_set(
    """PLUS MINUS STAR SLASH AT_SIGN CARET RANGE SAME DIFFERENT NOMORE NOLESS LESSTHAN MORETHAN AND OR IMPLIES IN
    WITHIN IDENTICAL ULP REL ABS DOT LPAR LSQB BAR"""
)


def word(terminal: str) -> str:
    """Return a terminal's name in the reader's terms."""
    if terminal in _SIGNS:
        return f"`{_SIGNS[terminal]}`"
    return _CLASSES.get(terminal) or f"`{terminal.lower()}`"


def listed(words: Iterable[str]) -> str:
    """Return ``a, b or c``."""
    items = list(words)
    if len(items) < 2:
        return "".join(items)
    return f"{', '.join(items[:-1])} or {items[-1]}"


def expected(accepts: Iterable[str]) -> str:
    """Return what might have stood here, shortened to what helps.

    Where an expression may begin, its seven first terminals are called an expression; where one may go on, the
    operators are called one thing if something else may follow.
    """
    rest = set(accepts)
    words: list[str] = []
    if rest >= EXPRESSION_STARTS:
        rest -= EXPRESSION_STARTS | {"NOT", "IF", "STAR"}
        words.append("an expression")
    if len(rest & _BINARY) > 8 and rest - _BINARY:
        rest -= _BINARY
        words.append("an operator")
    words += sorted(word(t) for t in rest)
    return listed(words)
