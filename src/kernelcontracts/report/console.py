"""Writing to a terminal or a pipe, and showing progress on the side."""

from __future__ import annotations

import os
import shutil
import sys
import time
from typing import TYPE_CHECKING, Protocol, TextIO

from kernelcontracts.report.lines import plain
from kernelcontracts.report.text import WIDTH

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from rich.progress import Progress as RichProgress
    from rich.progress import TaskID

    from kernelcontracts.report.lines import Line

STYLES = {
    "conform": "green",
    "violate": "bold red",
    "under_specified": "yellow",
    "undecided": "yellow",
    "out_of_contract": "yellow",
    "error": "bold red",
    "label": "dim",
    "name": "bold",
    "cause": "bold",
    "number": "cyan",
    "bits": "dim cyan",
    "command": "blue",
}

_PATIENCE = 1.0
"""Seconds before a bar appears. A response within a second does not interrupt a person's train of
thought (Nielsen 1993, Usability Engineering, ch. 5), and a bar that flashes by does."""


def wants_colour(stream: TextIO) -> bool:
    """Return whether to colour: on a terminal, unless `NO_COLOR` is set (no-color.org)."""
    if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return False
    return stream.isatty()


def page_width(stream: TextIO) -> int:
    """Return the columns to wrap at: the terminal's; elsewhere fixed, so that files are alike."""
    if not stream.isatty():
        return WIDTH
    return max(40, shutil.get_terminal_size((WIDTH, 24)).columns)


def show(lines: Iterable[Line], stream: TextIO | None = None) -> None:
    """Print lines, coloured where that is wanted; the characters are the same either way.

    A character that the stream cannot encode is shown as its escape, because a report is worth more
    than its spelling.
    """
    target = sys.stdout if stream is None else stream
    if wants_colour(target):
        _show_coloured(lines, target)
    else:
        target.write(_encodable(plain(lines), target))
    target.flush()


def _encodable(text: str, target: TextIO) -> str:
    encoding = getattr(target, "encoding", None) or "utf-8"
    return text.encode(encoding, "backslashreplace").decode(encoding)


def _show_coloured(lines: Iterable[Line], target: TextIO) -> None:
    from rich.console import Console
    from rich.text import Text

    console = Console(file=target, force_terminal=True, highlight=False, emoji=False, markup=False)
    for line in lines:
        text = Text()
        for span in line:
            text.append(_encodable(span.text, target), STYLES.get(span.style, ""))
        text.rstrip()
        # soft wrap: the console neither breaks nor crops, so that what is copied is what was
        # written
        console.print(text, soft_wrap=True)


class Progress(Protocol):
    """Somebody who wants to know how far a run has come."""

    def start(self, total: int) -> None:
        """Begin a run of `total` steps."""

    def advance(self, steps: int = 1) -> None:
        """Count steps as done."""

    def finish(self) -> None:
        """End the run, also when it failed."""


class Silence:
    """Progress that nobody watches."""

    def start(self, total: int) -> None:
        """Ignore it."""

    def advance(self, steps: int = 1) -> None:
        """Ignore it."""

    def finish(self) -> None:
        """Ignore it."""


class Bar:
    """A bar on a terminal's stderr, for runs longer than a second, erased at the end."""

    def __init__(self, stream: TextIO, *, label: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._stream, self._label, self._clock = stream, label, clock
        self._total = self._done = 0
        self._began = 0.0
        self._bar: RichProgress | None = None
        self._task: TaskID | None = None

    def start(self, total: int) -> None:
        """Begin a run of `total` steps; nothing is shown yet."""
        self.finish()
        self._total, self._done, self._began = total, 0, self._clock()

    def advance(self, steps: int = 1) -> None:
        """Count steps as done, and show the bar once a second has passed."""
        self._done += steps
        if self._bar is None and self._clock() - self._began > _PATIENCE:
            self._open()
        if self._bar is not None and self._task is not None:
            self._bar.update(self._task, completed=self._done)

    def finish(self) -> None:
        """Erase the bar."""
        if self._bar is not None:
            self._bar.stop()
        self._bar = self._task = None

    def _open(self) -> None:
        from rich.console import Console
        from rich.progress import Progress as Rich

        self._bar = Rich(console=Console(file=self._stream), transient=True)
        self._task = self._bar.add_task(self._label, total=self._total)
        self._bar.start()


def progress(stream: TextIO | None = None, *, label: str = "cases") -> Progress:
    """Return a bar where `stream` (stderr) is a terminal that can move its cursor, else silence."""
    target = sys.stderr if stream is None else stream
    if not target.isatty() or os.environ.get("TERM") == "dumb":
        return Silence()
    return Bar(target, label=label)
