"""Diagnostics as data: what is wrong, where, why, and what to do about it.

One immutable value serves every renderer (text, concise, JSON). If only one thing can be shown, it is the message.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Literal, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from kernelcontracts.lang.source import Source
    from kernelcontracts.lang.span import Span

Severity: TypeAlias = Literal["error", "warning", "note"]


@dataclass(frozen=True, slots=True)
class Label:
    """A second place that matters, with a few words about it; ``source`` is ``None`` for the same text."""

    span: Span
    text: str
    source: Source | None = None


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One finding.

    Attributes
    ----------
    code, name
        Its stable identity twice: ``E0301`` and ``candidate-in-tolerance``.
    severity
        ``error``, ``warning`` or ``note``. Errors make a file unusable.
    message
        One line, lower case, no full stop, the author's text in backticks.
    source, span, label
        Where, and a few words to stand under the underlined text.
    secondary
        Other places, such as the first of two duplicates.
    notes
        Why it is wrong.
    help
        An edit that would repair it.
    """

    code: str
    name: str
    severity: Severity
    message: str
    source: Source | None = None
    span: Span | None = None
    label: str = ""
    secondary: tuple[Label, ...] = ()
    notes: tuple[str, ...] = ()
    help: str | None = None

    @property
    def line(self) -> int:
        """The line, counted from 1; 0 where there is no place."""
        return self._position()[0]

    @property
    def column(self) -> int:
        """The column, counted from 1; 0 where there is no place."""
        return self._position()[1]

    def _position(self) -> tuple[int, int]:
        if self.source is None or self.span is None:
            return 0, 0
        return self.source.position(self.span.start)


@dataclass(frozen=True, slots=True)
class Code:
    """An entry of the register of codes."""

    code: str
    name: str
    severity: Severity
    title: str


def _entry(code: str, name: str, title: str) -> Code:
    return Code(code, name, "warning" if code.startswith("W") else "error", title)


CODES: dict[str, Code] = {
    code.code: code
    for code in (
        _entry("E0101", "unexpected-token", "the text is not in the grammar"),
        _entry("E0102", "missing-section", "a contract lacks one of its sections"),
        _entry("E0103", "duplicate", "the same thing is said twice"),
        _entry("E0104", "unknown-edition", "the file is written in an edition this tool does not know"),
        _entry("E0105", "module-path", "the module's name and the file's name differ"),
        _entry("E0106", "unreadable-source", "the file is not a source text"),
        _entry("E0107", "format-refused", "formatting would change what the file says"),
        _entry("E0201", "unknown-name", "a name means nothing here"),
        _entry("E0202", "dimension-mismatch", "two shapes do not fit"),
        _entry("E0203", "no-storage", "an element type is a format that no tensor can have"),
        _entry("E0204", "absent-dimension", "a reduction over a dimension the value lacks"),
        _entry("E0205", "uncovered-value", "a match or a ladder does not cover the decision's values"),
        _entry("E0301", "candidate-in-tolerance", "a tolerance depends on the candidate"),
        _entry("E0302", "candidate-in-reference", "a reference depends on the candidate"),
        _entry("E0303", "candidate-in-domain", "a precondition or an input plan depends on the candidate"),
        _entry("E0304", "candidate-anchor", "the bounding side of a comparison comes from the candidate"),
        _entry("E0305", "diagnosis-in-verdict", "a verdict depends on a diagnosis"),
        _entry("E0306", "candidate-in-decision-rule", "a decision rule depends on the candidate"),
        _entry("E0401", "stronger-claim-loosens", "claiming more loosens a bound"),
        _entry("E0403", "unknown-decision", "the operator has no such decision"),
        _entry("E0404", "claim-outside-domain", "a claimed value is not one of the decision's values"),
        _entry("E0406", "arms-not-nested", "a stronger arm accepts what a weaker one rejects"),
        _entry("E0501", "scales-differ", "two sides scale differently with the inputs"),
        _entry("E0502", "needs-dimensionless", "a function needs a dimensionless argument"),
        _entry("W0510", "absolute-literal", "an absolute tolerance against a result that has a scale"),
        _entry("E0603", "gamma-not-a-bound", "gamma(n, u) without a proof that n * u < 1"),
        _entry("W0611", "extremes-untested", "the shapes of the plan never reach the extremes of the precondition"),
        _entry("E0612", "confidence-unreachable", "the plan has too few cases for the confidence it promises"),
        _entry("E0701", "missing-state", "calibration lacks a good, a bad or a baseline"),
        _entry("E0702", "no-killing-mutant", "no bad trial contradicts a decision the contract reads"),
        _entry("E0901", "accepts-everything", "a clause accepts every result"),
        _entry("W0920", "unexplained-bound", "a bound without a reason"),
    )
}
"""Every code this tool emits, by code."""


def diagnostic(
    code: str,
    message: str,
    *,
    source: Source | None = None,
    span: Span | None = None,
    label: str = "",
    secondary: Iterable[Label] = (),
    notes: Iterable[str] = (),
    help: str | None = None,  # noqa: A002 - the field's name, and what every compiler calls it
) -> Diagnostic:
    """Make a diagnostic; name and severity come from the register.

    Raises
    ------
    KeyError
        If the code is not registered, which is a defect of this program.
    """
    entry = CODES[code]
    return Diagnostic(
        code, entry.name, entry.severity, message, source, span, label, tuple(secondary), tuple(notes), help
    )


def has_errors(diagnostics: Iterable[Diagnostic]) -> bool:
    """Whether any of them is an error."""
    return any(d.severity == "error" for d in diagnostics)


def in_order(diagnostics: Iterable[Diagnostic]) -> tuple[Diagnostic, ...]:
    """Sort by source and place, dropping exact repetitions."""
    unique = dict.fromkeys(diagnostics)
    return tuple(sorted(unique, key=_place))


def _place(item: Diagnostic) -> tuple[str, int, str]:
    name = item.source.name if item.source is not None else ""
    return name, item.span.start if item.span is not None else 0, item.code


@cache
def page(code: str) -> str:
    """Return the Markdown page of a code.

    Raises
    ------
    LookupError
        If there is no such code; the message names near ones.
    """
    entry = CODES.get(code.upper()) or next((c for c in CODES.values() if c.name == code.lower()), None)
    if entry is None:
        raise LookupError(_unknown_code(code))
    folder = resources.files("kernelcontracts.lang") / "codes"
    return (folder / f"{entry.code}-{entry.name}.md").read_text(encoding="utf-8")


def _unknown_code(code: str) -> str:
    from difflib import get_close_matches

    known: Sequence[str] = [*CODES, *(c.name for c in CODES.values())]
    near = get_close_matches(code.upper(), known, 3) or get_close_matches(code.lower(), known, 3)
    listed = f"; near: {', '.join(f'`{n}`' for n in near)}" if near else ""
    return f"no diagnostic has the code `{code}`{listed}; `kc explain --list` shows all"
