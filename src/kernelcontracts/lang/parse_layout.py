"""Between the lexer and the parser: line breaks, words that are keywords only in places, and the depth limit."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from kernelcontracts.lang.names import word_set
from kernelcontracts.lang.parse_scan import BLANKS, Token

if TYPE_CHECKING:
    from collections.abc import Iterable

NEWLINE = "_NL"
END = "$END"

MAX_DEPTH = 100
"""How deeply an expression may nest, counting brackets and operators.

Everything that walks an expression recurses, with at most four interpreter frames a level, and Python allows 1000.
The deepest expression of the shipped library has depth 12.
"""

ITEM_WORDS = word_set(
    """MODULE USE OPERATOR PLAN CONTRACT CLAIMS FAMILY TYPES MEANING DECISION EVENT LET ERROR INPUTS COMPANION SCOPE
    CLAIMED PRE POST TOLERANCE REFERENCE MEASURE VIOLATION CALIBRATE ALWAYS ON_AVERAGE RELATION MATCH LADDER
    CLAIMING SMOKE GOOD BAD BASELINE BUILD"""
)
"""Words that begin an item; anywhere else they are names."""

_OPERATORS = word_set(
    """PLUS MINUS STAR SLASH AT_SIGN CARET RANGE SAME DIFFERENT NOMORE NOLESS LESSTHAN MORETHAN EQUAL ARM ARROW TILDE
    COMMA COLON SEMICOLON DOT AND OR IMPLIES IN WITHIN OF IDENTICAL"""
)
_GOES_ON = _OPERATORS | word_set(
    """LPAR LSQB NOT IF THEN ELSE WHERE WHEN BECAUSE BREAKS NAMES BY FOR FROM ON AT ADDS FAULT PIN CLAIMED MEANING"""
)
"""After these a line break ends nothing."""

_JOINS = _OPERATORS | word_set("""BAR THEN ELSE BECAUSE WHERE WHEN BREAKS NAMES BY VERSION LBRACE RPAR RSQB""")
"""Before these a line break ends nothing."""

_MAKES_A_NAME = frozenset({"COLON", "EQUAL", "ARM", "ADDS", "UNSPECIFIED"})
"""A word before one of these names something, even where an item begins."""

_BEGINS_AN_ITEM = ITEM_WORDS | {"NAME", "CONTRACT_ID", "LBRACE"}
"""After a word that begins an item at the beginning of a line, these show that it does."""

_CALLABLE = frozenset({"BY", "FROM", "ON", "FOR", "WHERE"})
"""Reserved words that stand after an operand; before a parenthesis and after none they are functions' names.

``where(x < 0, 0, x)`` is a call, ``for t in s where (a or b): …`` is not.
"""

_DEEPENS = word_set(
    """PLUS MINUS STAR SLASH AT_SIGN CARET RANGE SAME DIFFERENT NOMORE NOLESS LESSTHAN MORETHAN AND OR IMPLIES NOT IN
    WITHIN IDENTICAL IF BAR LPAR LSQB LBRACE DOT AT"""
)
_CLOSERS = {"RPAR": "LPAR", "RSQB": "LSQB", "RBRACE": "LBRACE"}


@dataclass(slots=True)
class Layout:
    """What the layout made of a text.

    Attributes
    ----------
    tokens
        For the parser, ``$END`` last.
    comments
        All comments, ``##`` ones included, in order.
    blocks
        Which of the tokens are braces that open a block: items may begin after them.
    too_deep
        The first token that nests deeper than ``MAX_DEPTH``.
    """

    tokens: list[Token] = field(default_factory=list)
    comments: list[Token] = field(default_factory=list)
    blocks: set[int] = field(default_factory=set)
    too_deep: Token | None = None


@dataclass(slots=True)
class _Bracket:
    """An open bracket, the first word of the item it stands in, and a bound on the height of the expressions in it.

    The height of an element is at most its operators plus the height of the highest bracket in it.
    """

    type: str
    block: bool
    item: str = ""
    bars: int = 0
    operators: int = 0
    inner: int = 0
    highest: int = 0

    def height(self) -> int:
        return self.operators + self.inner

    def next_element(self) -> None:
        self.highest = max(self.highest, self.height())
        self.operators = self.inner = 0


def lay_out(raw: Iterable[Token], end: int) -> Layout:
    """Arrange the tokens of a text that ends at offset ``end``."""
    layout = Layout()
    state = _State(layout)
    broken = False
    tokens = list(_visible(raw, layout))
    for i, token in enumerate(tokens):
        if token.type == "LINE_BREAK":
            broken = True
            continue
        following = _next_type(tokens, i)
        state.add(token, broken=broken, following=following)
        broken = False
        if layout.too_deep is not None:
            break
    state.finish(end)
    return layout


def _visible(raw: Iterable[Token], layout: Layout) -> Iterable[Token]:
    for token in raw:
        if token.type == "COMMENT":
            layout.comments.append(token)
        elif token.type == "LINE_BREAK" or token.type not in BLANKS:
            yield token


def _next_type(tokens: list[Token], i: int) -> str:
    """Return the type of the next token on the same line."""
    return tokens[i + 1].type if i + 1 < len(tokens) else END


class _State:
    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self.tokens = layout.tokens
        self.stack = [_Bracket("", block=True)]
        self.previous = NEWLINE  # what stands before the next token; NEWLINE where an item begins
        self.item = NEWLINE  # the type of the current item's first word

    def add(self, token: Token, *, broken: bool, following: str) -> None:
        kind = token.type
        if broken and kind in ITEM_WORDS and following in _BEGINS_AN_ITEM:
            # no expression has a word there: brackets that are still open lack their partner, and this line is whole
            while not self.stack[-1].block:
                self.stack.pop()
            self._newline(token.start)
        if broken and self.stack[-1].block and kind not in _JOINS and self.previous not in _GOES_ON:
            self._newline(token.start)
        if kind in ITEM_WORDS or kind in _CALLABLE or self.previous == "DOT":
            self._settle_word(token, following)
            kind = token.type
        if self.previous == NEWLINE and kind != "RBRACE":
            self.item = kind
        if kind == "RBRACE" and self.stack[-1].block and len(self.stack) > 1:
            self._newline(token.start)
        self._count_depth(token)
        if kind == "BAR":
            self._bar(token)
        else:
            self._bracket(token)

    def finish(self, end: int) -> None:
        self._newline(end)
        self.tokens.append(Token(END, "", end, end))

    def _push(self, token: Token, previous: str) -> None:
        self.tokens.append(token)
        self.previous = previous

    def _newline(self, offset: int) -> None:
        if self.previous != NEWLINE:
            self._push(Token(NEWLINE, "", offset, offset), NEWLINE)
            self.stack[-1] = _Bracket(self.stack[-1].type, block=True, item=self.stack[-1].item)

    def _settle_word(self, token: Token, following: str) -> None:
        """Decide between keyword and name."""
        if self.previous == "DOT":
            named = token.text[0].isalpha()
        elif token.type in _CALLABLE:
            named = following == "LPAR" and not self._operand_before()
        else:
            stands_alone = self.previous != NEWLINE or following in _MAKES_A_NAME
            # signatures are the only items that begin with a name and a text
            named = stands_alone or (following == "STRING" and self.stack[-1].item == "VIOLATION")
        if named:
            token.type = "NAME"

    def _operand_before(self) -> bool:
        opened = self.previous == "LBRACE" and not self.stack[-1].block
        return not (opened or self.previous in _GOES_ON or self.previous == NEWLINE)

    def _bar(self, token: Token) -> None:
        """Place a bar.

        Where an operand is due it opens an absolute value; elsewhere it closes one, or parts two values.
        """
        inside = self.stack[-1]
        if not self._operand_before():
            inside.bars += 1
            self._push(token, "LPAR")
        elif inside.bars:
            inside.bars -= 1
            self._push(token, "RPAR")
        else:
            self._push(token, "COMMA")

    def _bracket(self, token: Token) -> None:
        kind = token.type
        if kind in ("LPAR", "LSQB"):
            self.stack.append(_Bracket(kind, block=False))
        elif kind == "LBRACE":
            # a brace where an operand is due is a literal, and line breaks in it mean nothing
            # the braces of a `use` hold names, not items
            block = self.item != "USE" and (self._operand_before() or self.previous == NEWLINE)
            self.stack.append(_Bracket(kind, block=block, item=self.item))
            if block:
                self.layout.blocks.add(len(self.tokens))
            self._push(token, NEWLINE if block else kind)
            return
        elif kind in _CLOSERS and any(b.type == _CLOSERS[kind] for b in self.stack):
            # brackets that were opened since and not closed are the parser's to report
            while self.stack[-1].type != _CLOSERS[kind]:
                self.stack.pop()
            closed = self.stack.pop()
            closed.next_element()
            if not closed.block:
                self.stack[-1].inner = max(self.stack[-1].inner, closed.highest)
        self._push(token, kind)

    def _count_depth(self, token: Token) -> None:
        top = self.stack[-1]
        if token.type in ("COMMA", "SEMICOLON"):
            top.next_element()
        elif token.type in _DEEPENS:
            top.operators += 1
            if self.layout.too_deep is None and max(top.height(), len(self.stack)) > MAX_DEPTH:
                self.layout.too_deep = token
