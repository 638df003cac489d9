"""The pages run: what they show is what the commands and the code on them print.

A page's ```` ```python ```` blocks are executed in order, in one fresh process, if one of them is followed by a
```` ```text ```` block; then each such block must be what was printed. In a ```` ```console run ```` block every
``$ kc …`` line is run and what follows it is compared. ``...`` stands for anything that differs from run to run or is
left out. Other blocks are only shown.
"""

from __future__ import annotations

import doctest
import os
import re
import shlex
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").glob("*.md")])
FENCE = re.compile(r"^```(?P<info>[^\n`]*)\n(?P<body>.*?)^```$", re.MULTILINE | re.DOTALL)
MARK = "\x1e"


@dataclass(frozen=True)
class Block:
    """A fenced block of a page."""

    info: str
    body: str
    line: int
    follows: bool  # nothing but blank lines stands between this block and the one before


def blocks_of(text):
    found, end = [], 0
    for match in FENCE.finditer(text):
        line = text.count("\n", 0, match.start()) + 1
        found.append(Block(match["info"].strip(), match["body"], line, not text[end : match.start()].strip()))
        end = match.end()
    return found


def python_of(blocks):
    """Return pairs of code and expected output (``None`` where the page shows none)."""
    pairs = []
    for i, block in enumerate(blocks):
        if block.info == "python":
            after = blocks[i + 1] if i + 1 < len(blocks) else None
            shown = after is not None and after.follows and after.info == "text"
            pairs.append((block, after.body if shown else None))
    return pairs if any(want is not None for _, want in pairs) else []


def commands_of(blocks):
    """Return the ``$`` lines of blocks marked ``run``, each with the output shown below it."""
    for block in blocks:
        if block.info == "console run":
            for part in re.split(r"^\$ ", block.body, flags=re.MULTILINE)[1:]:
                command, _, want = part.partition("\n")
                yield block, command, want


def same(want, got):
    return doctest.OutputChecker().check_output(want.rstrip() + "\n", got.rstrip() + "\n", doctest.ELLIPSIS)


def environment(folder):
    script = Path(sys.executable).parent
    return {
        **os.environ,
        "PATH": f"{script}{os.pathsep}{os.environ.get('PATH', '')}",
        "XDG_CACHE_HOME": str(folder / "cache"),
        "COLUMNS": "100",
        "NO_COLOR": "1",
        "PYTHONWARNINGS": "default",
    }


def run(arguments, folder):
    done = subprocess.run(
        arguments, cwd=folder, env=environment(folder), capture_output=True, text=True, timeout=300, check=False
    )
    return done.stdout, done.stderr


@pytest.fixture
def folder(tmp_path):
    """Give a place to run in, where the examples lie as on the pages."""
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    return tmp_path


def prose(text):
    return re.sub(r"`[^`\n]*`", "", FENCE.sub("", text))


def pages_with(find):
    return [pytest.param(p, id=p.name) for p in PAGES if list(find(blocks_of(p.read_text(encoding="utf-8"))))]


@pytest.mark.parametrize("page", pages_with(python_of))
def test_the_python_on_a_page_prints_what_the_page_shows(page, folder):
    pairs = python_of(blocks_of(page.read_text(encoding="utf-8")))
    script = folder / "page.py"
    script.write_text("".join(f"{block.body}\nprint({MARK!r})\n" for block, _ in pairs), encoding="utf-8")

    stdout, stderr = run([sys.executable, str(script)], folder)

    printed = stdout.split(MARK + "\n")
    assert len(printed) == len(pairs) + 1, stderr
    for (block, want), got in zip(pairs, printed, strict=False):
        assert same(want or "", got), f"{page.name}:{block.line} prints\n{got}"


@pytest.mark.parametrize("page", pages_with(commands_of))
def test_the_commands_on_a_page_print_what_the_page_shows(page, folder):
    for block, command, want in commands_of(blocks_of(page.read_text(encoding="utf-8"))):
        stdout, stderr = run(shlex.split(command, comments=True), folder)

        assert same(want, stdout + stderr), f"{page.name}:{block.line}: $ {command}\n{stdout}{stderr}"


def test_the_main_pages_have_something_to_run():
    pages = {page.name: blocks_of(page.read_text(encoding="utf-8")) for page in PAGES}
    running = {name for name, blocks in pages.items() if python_of(blocks) or list(commands_of(blocks))}

    assert {"README.md", "paper-defects.md", "tutorial.md", "findings.md"} <= running


def test_every_link_between_pages_leads_somewhere():
    dead = [
        f"{page.name}: {target}"
        for page in PAGES
        for target in re.findall(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)", prose(page.read_text(encoding="utf-8")))
        if not (page.parent / target).exists()
    ]

    assert dead == []


def test_a_wrong_output_on_a_page_would_be_noticed():
    text = "```python\nprint(1 + 1)\n```\n\n```text\n3\n```\n"
    ((block, want),) = python_of(blocks_of(text))

    assert block.body == "print(1 + 1)\n"
    assert not same(want, "2\n")
    assert same("2\n", "2\n")
    assert same("a ... c\n", "a b c\n")
