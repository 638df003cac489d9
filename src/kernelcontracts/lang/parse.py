"""Parsing: text to tree, with several errors per file and none that follow from another.

The parser is restarted at the item in which an error stands: the state from before that item is restored and the
item, with everything in its braces, is left out.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from threading import RLock
from typing import TYPE_CHECKING, Any

from lark.exceptions import UnexpectedToken

from kernelcontracts.lang.decl import File
from kernelcontracts.lang.diagnostics import Diagnostic, diagnostic, in_order
from kernelcontracts.lang.parse_errors import describe, unclosed
from kernelcontracts.lang.parse_grammar import Machine, machine
from kernelcontracts.lang.parse_layout import END, MAX_DEPTH, NEWLINE, lay_out
from kernelcontracts.lang.parse_structure import check_structure
from kernelcontracts.lang.span import Span

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kernelcontracts.lang.parse_layout import Layout
    from kernelcontracts.lang.parse_scan import Token
    from kernelcontracts.lang.source import Source

MAX_ERRORS = 50
"""After this many errors a file is not read further: it is not a contract file with mistakes, but something else."""

_ONE_AT_A_TIME = RLock()


@dataclass(frozen=True, slots=True)
class Comment:
    """A comment: its text with the signs, where it stands, and whether it has its line to itself."""

    text: str
    span: Span
    alone: bool


@dataclass(frozen=True, slots=True)
class ParseResult:
    """What came of a text.

    Attributes
    ----------
    file
        The tree, or ``None`` if the text is not in the language. A file whose only faults are of structure (a
        missing section, a duplicate) has a tree.
    diagnostics
        In the order of the text.
    comments
        All comments, doc comments included.
    """

    file: File | None
    diagnostics: tuple[Diagnostic, ...]
    comments: tuple[Comment, ...]


def parse(source: Source) -> ParseResult:
    """Parse a source text. Bad input gives diagnostics, never an exception."""
    with _ONE_AT_A_TIME:
        return _parse(source, machine())


def _parse(source: Source, tools: Machine) -> ParseResult:
    layout = lay_out(tools.scanner.scan(source.text), len(source.text))
    comments = tuple(_comment(source, token) for token in layout.comments)
    if layout.too_deep is not None:
        return ParseResult(None, (_too_deep(source, layout.too_deep),), comments)
    tools.lower.begin(source)
    file, errors = _Run(source, tools, layout).run()
    complaints = tools.lower.found
    if errors:
        # the parser's saved states share lists with the running one, so that after a restart an item may be seen twice
        complaints = [d for d in complaints if d.code == "E0101"]
    found = [*errors, *complaints]
    if file is None or any(d.code == "E0101" for d in found):
        return ParseResult(None, in_order(found), comments)
    file = _attach_docs(file, comments)
    found += check_structure(file, source)
    return ParseResult(file, in_order(found), comments)


class _Run:
    """One pass over the tokens of a text."""

    def __init__(self, source: Source, tools: Machine, layout: Layout) -> None:
        self.source = source
        self.tools = tools
        self.tokens = layout.tokens
        self.blocks = layout.blocks
        self.errors: list[Diagnostic] = []

    def run(self) -> tuple[File | None, list[Diagnostic]]:
        """Parse; the second pass, which remembers states, runs only where the first met an error."""
        try:
            return self._straight(), []
        except UnexpectedToken:
            self.tools.lower.begin(self.source)
            self._with_recovery()
            return None, self.errors

    def _straight(self) -> File:
        parser: Any = self.tools.parser.parse_interactive()
        feed, result = parser.feed_token, None
        for token in self.tokens:
            result = feed(token)
        if not isinstance(result, File):
            raise TypeError("the parser accepted a text without making a file")
        return result

    def _with_recovery(self) -> None:
        parser: Any = self.tools.parser.parse_interactive()
        saved, item, i = parser.copy(deepcopy_values=False), 0, 0
        while i < len(self.tokens) and len(self.errors) < MAX_ERRORS:
            token = self.tokens[i]
            try:
                parser.feed_token(token)
            except UnexpectedToken:
                self._report(i, item, parser)
                if token.type == END or item == 0:
                    # without an edition the text may be anything
                    return
                parser = saved.copy(deepcopy_values=False)
                i = item = self._skip(item, i)
                continue
            i += 1
            if token.type == NEWLINE or i - 1 in self.blocks:
                saved, item = parser.copy(deepcopy_values=False), i

    def _report(self, i: int, item: int, parser: Any) -> None:
        token = self.tokens[i]
        if token.type == END or (token.type == NEWLINE and token.start >= len(self.source.text)):
            opened = _last_open(self.tokens[:i], self.blocks)
            if opened is not None:
                self.errors.append(unclosed(self.source, token, opened))
                return
        before = self.tokens[item:i]
        following = self.tokens[i + 1 : i + 4]
        self.errors.append(describe(self.source, token, before, following, parser.accepts()))

    def _skip(self, item: int, wrong: int) -> int:
        """Return where the next item begins: after this item's line break, braces skipped whole."""
        depth, i = 0, item
        while self.tokens[i].type != END:
            kind = self.tokens[i].type
            if kind == "LBRACE":
                depth += 1
            elif kind == "RBRACE":
                if depth == 0 and (i > wrong or item < wrong):
                    return i
                # a closing brace that begins an item and is an error closes nothing: it is left out alone
                depth = max(depth - 1, 0)
            elif kind == NEWLINE and depth == 0 and i >= wrong:
                return i + 1
            i += 1
        return i


def _last_open(tokens: Sequence[Token], blocks: set[int]) -> Token | None:
    """Return the innermost block that is open at the end, or else the innermost bracket.

    A bracket that is open inside a block has been reported where its item ended.
    """
    pairs = {"RPAR": "LPAR", "RSQB": "LSQB", "RBRACE": "LBRACE"}
    stack: list[Token] = []
    block_braces = {id(tokens[i]) for i in blocks if i < len(tokens)}
    for token in tokens:
        if token.type in pairs.values():
            stack.append(token)
        elif token.type in pairs and any(t.type == pairs[token.type] for t in stack):
            while stack.pop().type != pairs[token.type]:
                pass
    open_blocks = [t for t in stack if id(t) in block_braces]
    candidates = open_blocks or stack
    return candidates[-1] if candidates else None


def _comment(source: Source, token: Token) -> Comment:
    line, column = source.position(token.start)
    alone = not source.line_text(line)[: column - 1].strip()
    return Comment(token.text.rstrip(), Span(token.start, token.end), alone)


def is_doc(comment: Comment) -> bool:
    """Whether a comment is a doc comment: two signs, not more, on a line of its own."""
    return comment.alone and comment.text.startswith("##") and not comment.text.startswith("###")


def doc_comments(file: File, comments: Sequence[Comment]) -> dict[Comment, int]:
    """Return the doc comments, each with the number of the declaration that it documents.

    Those are the ones between the end of one declaration and the beginning of the next. Empty ones say nothing.
    """
    found: dict[Comment, int] = {}
    end = file.span.start if file.span else 0
    for i, declaration in enumerate(file.declarations):
        span = declaration.span or Span(0, 0)
        own = [c for c in comments if is_doc(c) and end <= c.span.start < span.start]
        if any(c.text.strip("# ") for c in own):
            found |= dict.fromkeys(own, i)
        end = span.end
    return found


def _attach_docs(file: File, comments: Sequence[Comment]) -> File:
    """Give each declaration the doc comments that stand before it."""
    docs: dict[int, list[str]] = {}
    for comment, i in doc_comments(file, comments).items():
        docs.setdefault(i, []).append(comment.text[2:].removeprefix(" "))
    if not docs:
        return file
    declarations = tuple(
        replace(d, doc="\n".join(docs[i])) if i in docs else d for i, d in enumerate(file.declarations)
    )
    return replace(file, declarations=declarations)


def _too_deep(source: Source, token: Token) -> Diagnostic:
    return diagnostic(
        "E0101",
        f"this expression nests deeper than {MAX_DEPTH} levels",
        source=source,
        span=Span(token.start, token.end),
        label="one level too many",
        help="name parts of it with `let`",
    )
