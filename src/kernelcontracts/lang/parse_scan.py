"""From characters to tokens, with the terminals of the grammar."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from lark.lexer import TerminalDef

BLANKS = frozenset({"BLANK", "COMMENT", "LINE_BREAK"})
"""Terminals that the grammar ignores."""


@dataclass(slots=True)
class Token:
    """A terminal's name, the characters it took, and where they stand.

    Not frozen: the layout decides which words are keywords by changing ``type``.
    """

    type: str
    text: str
    start: int
    end: int


class Scanner:
    """One regular expression for all terminals of a grammar.

    The grammar library has a lexer of its own, but rebuilds it for every text that is lexed apart from parsing, which
    the layout needs. The terminals are the grammar's, so nothing is said twice. They are disjoint (a test proves it),
    except for words, which are names unless the grammar spells them out.
    """

    def __init__(self, terminals: Iterable[TerminalDef]) -> None:
        fixed = {t.pattern.value: t.name for t in terminals if t.pattern.type == "str"}
        self.words = {text: name for text, name in fixed.items() if text[0].isalpha()}
        signs = sorted((s for s in fixed if s not in self.words), key=len, reverse=True)
        self._signs = {sign: fixed[sign] for sign in signs}
        patterns = sorted((t for t in terminals if t.pattern.type == "re"), key=lambda t: -t.priority)
        groups = [f"(?P<{t.name}>{t.pattern.to_regexp()})" for t in patterns if t.priority >= 0]
        groups.append(f"(?P<SIGN>{'|'.join(map(re.escape, signs))})")
        groups += [f"(?P<{t.name}>{t.pattern.to_regexp()})" for t in patterns if t.priority < 0]
        self._pattern = re.compile("|".join(groups))

    def scan(self, text: str) -> Iterator[Token]:
        """Yield the tokens of a text, blanks, comments and line breaks included; every character is in one."""
        words, signs = self.words, self._signs
        for match in self._pattern.finditer(text):
            kind = match.lastgroup or ""
            taken = match.group()
            if kind == "NAME":
                kind = words.get(taken, kind)
            elif kind == "SIGN":
                kind = signs[taken]
            yield Token(kind, taken, match.start(), match.end())
