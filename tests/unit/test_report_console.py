from __future__ import annotations

import io
import re

import pytest

from kernelcontracts.report.console import (
    Bar,
    Silence,
    page_width,
    progress,
    show,
    wants_colour,
)
from kernelcontracts.report.lines import Span, plain

LINES = [
    (
        Span("violate  ", "violate"),
        Span("C-PRC-01", "name"),
        Span(" [red]not markup[/red] :smile:"),
    ),
    (),
    (Span("a long line " * 30, "cause"),),
    (Span("worth 3.5 and 0x3f, `x`  ", ""),),
]


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    encoding = "utf-8"

    def isatty(self):
        """Return that it is one."""
        return True


@pytest.fixture(autouse=True)
def _plain_environment(monkeypatch):
    for name in ("NO_COLOR", "FORCE_COLOR", "CLICOLOR_FORCE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", "80")


def without_colour(text):
    return re.sub(r"\x1b\[[0-9;]*m", "", text)


def test_a_pipe_gets_no_colour_codes():
    stream = io.StringIO()
    show(LINES, stream)

    assert stream.getvalue() == plain(LINES)
    assert "\x1b" not in stream.getvalue()


def test_a_terminal_gets_colour_and_the_same_characters():
    stream = Terminal()
    show(LINES, stream)

    assert "\x1b[" in stream.getvalue()
    assert without_colour(stream.getvalue()) == plain(LINES)


@pytest.mark.parametrize(("name", "value"), [("NO_COLOR", "1"), ("TERM", "dumb")])
def test_the_environment_can_turn_colour_off(monkeypatch, name, value):
    monkeypatch.setenv(name, value)
    stream = Terminal()
    show(LINES, stream)

    assert stream.getvalue() == plain(LINES)


def test_an_empty_no_color_does_not_count(monkeypatch):
    monkeypatch.setenv("NO_COLOR", "")

    assert wants_colour(Terminal())


def test_a_character_that_the_stream_cannot_encode_is_escaped():
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding="ascii")
    show([(Span("naïve ≤ \U0001f600"),)], stream)

    assert raw.getvalue() == b"na\\xefve \\u2264 \\U0001f600\n"


def test_the_page_is_as_wide_as_the_terminal_and_100_columns_elsewhere(monkeypatch):
    assert page_width(Terminal()) == 80
    assert page_width(io.StringIO()) == 100
    monkeypatch.setenv("COLUMNS", "10")
    assert page_width(Terminal()) == 40


class Clock:
    """A clock that is moved by hand."""

    now = 100.0

    def __call__(self):
        """Return the time."""
        return self.now


def test_a_short_run_shows_no_bar():
    stream, clock = Terminal(), Clock()
    bar = Bar(stream, label="cases", clock=clock)
    bar.start(10)
    for _ in range(10):
        clock.now += 0.1
        bar.advance()
    bar.finish()

    assert stream.getvalue() == ""


def test_a_long_run_shows_a_bar_with_what_is_done():
    stream, clock = Terminal(), Clock()
    bar = Bar(stream, label="cases", clock=clock)
    bar.start(4)
    clock.now += 1.5
    bar.advance(2)
    bar.finish()

    assert "cases" in stream.getvalue()
    assert "50%" in stream.getvalue()


def test_finishing_twice_and_starting_again_do_no_harm():
    stream, clock = Terminal(), Clock()
    bar = Bar(stream, label="cases", clock=clock)
    bar.finish()
    bar.start(2)
    clock.now += 2
    bar.advance()
    bar.start(2)
    bar.finish()
    bar.finish()

    assert bar._bar is None


def test_progress_is_silent_in_a_pipe_and_on_a_dumb_terminal(monkeypatch):
    assert isinstance(progress(io.StringIO()), Silence)
    assert isinstance(progress(Terminal()), Bar)
    monkeypatch.setenv("TERM", "dumb")
    assert isinstance(progress(Terminal()), Silence)


def test_silence_writes_nothing(capsys):
    watcher = progress(io.StringIO())
    watcher.start(3)
    watcher.advance()
    watcher.advance(2)
    watcher.finish()

    assert capsys.readouterr() == ("", "")
