"""Lowering of whole files and of claim sheets; ``Lower`` has a method for every rule of the grammar."""

# ruff: noqa: D102  # a method is named after the rule it lowers, and the grammar says what that is
from __future__ import annotations

from typing import Any

from kernelcontracts.lang.decl import Claim, ClaimBlock, ClaimSheet, File, Use
from kernelcontracts.lang.lower_contract import LowerContract
from kernelcontracts.lang.lower_operator import parts
from kernelcontracts.lang.lower_parts import (
    Part,
    after,
    names_in,
    not_tokens,
    of_type,
    span_of,
)
from kernelcontracts.lang.span import Span

EVIDENCE = ("asserted", "documented", "measured", "exhaustive", "proved")


class Lower(LowerContract):
    """Turns reductions into nodes."""

    def edition(self, c: list[Any]) -> Part:
        return Part("edition", c[1].text, span_of(c))

    def module(self, c: list[Any]) -> Part:
        return Part("module", c[1].value, span_of(c))

    def use(self, c: list[Any]) -> Use:
        pin = after(c, "PIN")
        return Use(c[1].value, names_in(c), pin.text if pin else None, span=span_of(c))

    def build(self, c: list[Any]) -> Part:
        return Part("build", (c[1].text, self.string(c[3])), span_of(c))

    def claim(self, c: list[Any]) -> Claim:
        evidence = after(c, "BY")
        if evidence is not None and evidence.text not in EVIDENCE:
            self.complain(
                f"there is no evidence of kind `{evidence.text}`",
                Span(evidence.start, evidence.end),
                help=f"the kinds are {', '.join(f'`{k}`' for k in EVIDENCE)}, weakest first",
            )
        note = self.strings(c[3:])
        return Claim(
            c[0].text, c[2], evidence.text if evidence else None, note[0] if note else None, span=span_of(c)
        )  # fmt: skip

    def unspecified(self, c: list[Any]) -> Claim:
        note = self.strings(c)
        return Claim(c[0].text, None, None, note[0] if note else None, span=span_of(c))

    def claim_block(self, c: list[Any]) -> ClaimBlock:
        typings = after(c, "WHERE")
        claims = tuple(i for i in c if isinstance(i, Claim))
        return ClaimBlock(c[1].text, typings.value if typings else (), claims, span=span_of(c))

    def claims(self, c: list[Any]) -> ClaimSheet:
        strings = self.strings(c)
        build = [p for p in c if isinstance(p, Part) and p.kind == "build"]
        blocks = tuple(i for i in c if isinstance(i, ClaimBlock))
        pairs = tuple(parts(build, "build"))
        device = strings[1] if of_type(c, "ON") else None
        return ClaimSheet(strings[0], device, pairs, blocks, span=span_of(c))

    def start(self, c: list[Any]) -> File:
        edition, module = c[0], c[1]
        uses = tuple(i for i in c if isinstance(i, Use))
        declarations = tuple(i for i in not_tokens(c[2:]) if not isinstance(i, Use))
        return File(edition.value, module.value, uses, declarations, span=span_of(c))
