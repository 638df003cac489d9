"""Examples of the language in Markdown: finding them, and completing what is only an excerpt."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kernelcontracts.lang.check import check_library
from kernelcontracts.lang.diagnostics import in_order
from kernelcontracts.lang.library import Library
from kernelcontracts.lang.source import Source

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kernelcontracts.lang.diagnostics import Diagnostic

HEADER = """\
kernel-contracts 0.1
module my.contracts
use kc.ops.accumulations { matmul }

"""

SECTIONS = {
    "scope": "scope {\n  operator matmul\n  types    A, B, C in {f32}\n}",
    "let": "",
    "pre": """\
pre {
  finite:   all(finite(A)) and all(finite(B))
  headroom: max(op.mag) <= min(maxfinite(C), maxfinite(claim.accumulator)) / 4
  small_nu: op.longest * op.u_acc <= 1 / 4
}""",
    "post": "post {\n  always close: C within worst of ref\n}",
    "tolerance": "tolerance {\n  worst = op.worst\n}",
    "reference": "reference exact meaning",
    "measure": "measure from op.plan {\n  conclude: rate(0.01, 0.99)\n}",
    "violation": "violation { }",
    "calibrate": """\
calibrate {
  claiming accumulator = f32, acc_rounding = rne, operand_rounding = as_given, daz_in = preserve, ftz_out = preserve
  smoke    gauss: allclose(rtol = 0.02, atol = 0.1, size = 64)
  good     as_claimed
  bad      accumulator = f16
  bad      acc_rounding = rz
  bad      operand_rounding = to(bf16)
  bad      daz_in = flush
  bad      ftz_out = flush
  baseline zeros()
}""",
}
"""A contract without a finding. An example that is a section or two takes the place of its sections."""

_SECTION = re.compile(rf"^(?={'|'.join(rf'{name}' for name in (*SECTIONS, 'companion'))}\b)", re.MULTILINE)
_FENCE = re.compile(r"^```(\w+)([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Block:
    """A fenced block: its language, the rest of the info string, its text, and the line it begins at."""

    language: str
    info: str
    text: str
    line: int


def blocks(markdown: str) -> Iterator[Block]:
    for match in _FENCE.finditer(markdown):
        line = markdown.count("\n", 0, match.start()) + 1
        yield Block(match.group(1), match.group(2).strip(), match.group(3), line)


def complete(block: Block) -> tuple[Source, int]:
    """Return the whole file that an example stands for, and the line at which the example begins in it."""
    text, start = block.text, 0
    if not text.startswith("kernel-contracts") and "whole" not in block.info:
        text = HEADER + (_in_contract(text) if _SECTION.match(text) else text)
        start = text.index(block.text)
    named = re.search(r"file=(\S+)", block.info)
    return Source("example.kc", text, Path(named.group(1)) if named else None), text.count("\n", 0, start) + 1


def _in_contract(excerpt: str) -> str:
    given = [part.rstrip() for part in _SECTION.split(excerpt) if part.strip()]
    replaced = {part.split()[0] for part in given}
    kept = [text for name, text in SECTIONS.items() if name not in replaced and text]
    body = "\n".join([*kept, *given])
    return "contract C-PRC-21-MATMUL @1.0.0 {\n" + body + "\n}\n"


def lint(source: Source) -> tuple[Diagnostic, ...]:
    """Return what ``kc lint`` finds."""
    library = Library.shipped()
    known = len(library.files)
    library, found = library.with_source(source)
    modules = {file.module for file, _ in library.files[known:]}
    checked = check_library(library, modules) if modules else ()
    return in_order([*found, *checked])


@dataclass(frozen=True)
class Examples:
    """The functions above, for tests that need them."""

    blocks = staticmethod(blocks)
    complete = staticmethod(complete)
    lint = staticmethod(lint)


@pytest.fixture(scope="session")
def examples() -> Examples:
    return Examples()
