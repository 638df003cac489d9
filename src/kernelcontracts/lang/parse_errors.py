"""Wording of syntax errors: what stands there, what could, and what was likely meant."""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING

from kernelcontracts.lang.diagnostics import Diagnostic, Label, diagnostic
from kernelcontracts.lang.parse_layout import ITEM_WORDS
from kernelcontracts.lang.parse_words import expected, listed, word
from kernelcontracts.lang.span import Span

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from kernelcontracts.lang.parse_scan import Token
    from kernelcontracts.lang.source import Source


@dataclass(frozen=True, slots=True)
class Place:
    """Where the parser stopped: the token, those of its item before it, the next few, and what it would have taken."""

    token: Token
    before: Sequence[Token]
    following: Sequence[Token]
    accepts: frozenset[str]

    @property
    def previous(self) -> str:
        """The terminal before the token, or an empty text at the beginning of an item."""
        return self.before[-1].type if self.before else ""

    @property
    def next(self) -> str:
        """The terminal after the token."""
        return self.following[0].type if self.following else ""


def describe(
    source: Source,
    token: Token,
    before: Sequence[Token],
    following: Sequence[Token],
    accepts: Iterable[str],
) -> Diagnostic:
    """Return the diagnostic for a token the grammar has no place for."""
    place = Place(token, before, following, frozenset(accepts))
    opened = _left_open(place, new_line=_begins_line(source, place))
    if opened is not None:
        return unclosed(source, token, opened)
    for rule in _RULES:
        found = rule(place)
        if found is not None:
            message, advice = found
            break
    else:
        message, advice = f"{_found(place)} does not fit here", _advice(place)
    return diagnostic(
        "E0101",
        message,
        source=source,
        span=Span(token.start, max(token.end, token.start + 1)),
        label=_label(place),
        help=advice,
    )


def unclosed(source: Source, token: Token, opened: Token) -> Diagnostic:
    """Return the diagnostic for a bracket that the text never closes."""
    return diagnostic(
        "E0101",
        f"{word(opened.type)} is never closed",
        source=source,
        span=Span(opened.start, opened.end),
        label="opened here",
        secondary=[Label(Span(token.start, token.end), _where_it_ends(token))],
        help=f"add {word(_CLOSING.get(opened.type, opened.type))}",
    )


_CLOSING = {"LPAR": "RPAR", "LSQB": "RSQB", "LBRACE": "RBRACE"}


def _where_it_ends(token: Token) -> str:
    if token.type == "$END" or not token.text:
        return "the text ends here"
    return f"`{token.text}` comes first"


def _begins_line(source: Source, place: Place) -> bool:
    if not place.before:
        return False
    return source.position(place.token.start)[0] > source.position(place.before[-1].start)[0]


def _left_open(place: Place, *, new_line: bool) -> Token | None:
    """Return the bracket that the item leaves open, where the text breaks off for want of its partner."""
    opener = {"RPAR": "LPAR", "RSQB": "LSQB", "BAR": "BAR"}
    if "COMMA" in place.accepts:
        # only in a set or a record do commas and a closing brace compete
        opener["RBRACE"] = "LBRACE"
    wanted = [opener[t] for t in place.accepts if t in opener]
    ends = new_line or place.token.type in ("_NL", "$END", "RBRACE", "RPAR", "RSQB")
    if not ends or not wanted:
        return None
    return next((t for t in reversed(place.before) if t.type in wanted), None)


def _found(place: Place) -> str:
    token = place.token
    if token.type in ("_NL", "$END"):
        return word(token.type)
    text = token.text if len(token.text) <= 40 else f"{token.text[:40]}…"
    return f"`{text}`"


def _label(place: Place) -> str:
    words = expected(place.accepts)
    # a list of twenty keywords tells the reader nothing
    return f"expected {words}" if words.count(",") < 6 else "unexpected"


def _advice(place: Place) -> str | None:
    """Near keywords, where a word stands that the grammar does not know here."""
    if not place.token.text[:1].isalpha():
        return None
    wanted = [t.lower() for t in place.accepts if t not in ("NAME", "NUMBER") and t.isupper()]
    near = get_close_matches(place.token.text.lower(), wanted, 1, 0.7)
    return f"did you mean `{near[0]}`?" if near else None


def _unterminated(place: Place) -> tuple[str, str | None] | None:
    if place.token.type != "UNTERMINATED":
        return None
    return "this text has no closing quote", 'end it with `"` on the same line; a quote inside is written `\\"`'


def _unknown_character(place: Place) -> tuple[str, str | None] | None:
    if place.token.type != "UNKNOWN":
        return None
    character = place.token.text
    advice = {
        "'": 'texts stand in double quotes: `"…"`',
        "&": "write `and`",
        "!": "write `not`, or `!=`",
        "%": "write the fraction, such as `1 / 100`",
        "\u2264": "write `<=`",
        "\u2265": "write `>=`",
        "\u00d7": "write `*`",
    }.get(character)
    shown = f"`{character}`" if character.isprintable() else f"U+{ord(character):04X}"
    return f"the character {shown} has no meaning in this language", advice


def _file_start(place: Place) -> tuple[str, str | None] | None:
    if "EDITION" not in place.accepts:
        return None
    return "a file begins with its edition", "make `kernel-contracts 0.1` the first line"


def _module_missing(place: Place) -> tuple[str, str | None] | None:
    if place.accepts != {"MODULE"}:
        return None
    return "the module's name is missing", "add a line `module my.contracts` after the edition"


def _absolute_value(place: Place) -> tuple[str, str | None] | None:
    if place.token.type != "ABS" or place.next != "LPAR":
        return None
    return "`abs` is a unit, not a function", "write the absolute value of x as `|x|`"


def _unit_first(place: Place) -> tuple[str, str | None] | None:
    if place.token.type not in ("ULP", "REL", "ABS"):
        return None
    return f"`{place.token.text}` is a unit and follows a value", f"write for example `2 {place.token.text}`"


def _assignment(place: Place) -> tuple[str, str | None] | None:
    if place.token.type != "EQUAL" or "SAME" not in place.accepts:
        return None
    return "`=` names a value; it does not compare", "write `==`"


def _comparison(place: Place) -> tuple[str, str | None] | None:
    if place.token.type != "SAME" or "EQUAL" not in place.accepts:
        return None
    return "`==` compares; a name is given with `=`", "write `=`"


def _identifier_in_expression(place: Place) -> tuple[str, str | None] | None:
    if place.token.type != "CONTRACT_ID" or "NAME" not in place.accepts:
        return None
    spaced = place.token.text.replace("-", " - ")
    return f"`{place.token.text}` is a contract's identifier, not a difference", f"write `{spaced}` to subtract"


def _version_in_product(place: Place) -> tuple[str, str | None] | None:
    if place.token.type != "VERSION" or "AT_SIGN" not in place.accepts:
        return None
    return f"`{place.token.text}` is a version, not a product", "put a space after `@`"


def _version_missing(place: Place) -> tuple[str, str | None] | None:
    if "VERSION" not in place.accepts or place.token.type != "LBRACE":
        return None
    return "the version is missing", "write for example `@1.0.0` before `{`"


def _reserved(place: Place) -> tuple[str, str | None] | None:
    text = place.token.text
    reserved = text.islower() and place.token.type == text.upper() and text.isidentifier()
    if not reserved or place.accepts != {"NAME"}:
        return None
    return f"`{text}` is a reserved word and cannot be a name", f"choose another name, such as `{text}_`"


def _two_items(place: Place) -> tuple[str, str | None] | None:
    if "_NL" not in place.accepts or not place.before:
        return None
    if place.token.type not in ("NAME", "NUMBER", "STRING", "CONTRACT_ID", *ITEM_WORDS):
        return None
    near = _advice(place)
    if near:
        return None
    return f"{_found(place)} does not go on the line", "begin a new line, or put an operator between"


def _stray_bracket(place: Place) -> tuple[str, str | None] | None:
    if place.token.type not in ("RPAR", "RSQB", "RBRACE") or place.token.type in place.accepts:
        return None
    opener = {"RPAR": "LPAR", "RSQB": "LSQB", "RBRACE": "LBRACE"}[place.token.type]
    if any(t.type == opener for t in place.before) or (place.before and place.token.type == "RBRACE"):
        return None
    return f"{_found(place)} closes nothing", "delete it, or add the bracket it should close"


def _unknown_item(place: Place) -> tuple[str, str | None] | None:
    """Word the case of a misspelt section, or of one that belongs elsewhere."""
    words = [t for t in place.accepts if t in ITEM_WORDS]
    if place.before or len(words) < 2 or not place.token.text[:1].isalpha():
        return None
    text = place.token.text
    near = get_close_matches(text, [w.lower() for w in words], 1, 0.6)
    choices = listed(f"`{w.lower()}`" for w in sorted(words))
    what = "a section" if "SCOPE" in place.accepts else "an item"
    return f"`{text}` does not begin {what} here", (
        f"did you mean `{near[0]}`?" if near else f"possible here: {choices}"
    )


_RULES: tuple[Callable[[Place], tuple[str, str | None] | None], ...] = (
    _unterminated,
    _unknown_character,
    _file_start,
    _module_missing,
    _absolute_value,
    _unit_first,
    _assignment,
    _comparison,
    _identifier_in_expression,
    _version_in_product,
    _version_missing,
    _stray_bracket,
    _unknown_item,
    _reserved,
    _two_items,
)
"""The first that applies words the message."""
