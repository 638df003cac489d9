"""Values of decisions, as claim sheets write them and as everything above reads them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class Choice:
    """One value of a decision: a name, with arguments or with the fields of a record.

    ``pairwise(128)`` is ``Choice("pairwise", (128,))``, ``to(tf32)`` is ``Choice("to", ("tf32",))``, and the
    accumulator ``{format = f32, width = 13}`` is ``Choice("f32", (), (("width", 13),))``: a record's format is
    its name, and a bare name is short for the record without further fields.
    """

    name: str
    args: tuple[int | str, ...] = ()
    fields: tuple[tuple[str, int], ...] = ()

    def __str__(self) -> str:
        if self.fields:
            rest = ", ".join(f"{key} = {value}" for key, value in self.fields)
            return f"{{format = {self.name}, {rest}}}"
        if self.args:
            return f"{self.name}({', '.join(str(a) for a in self.args)})"
        return self.name

    def field(self, key: str) -> int | None:
        """Return a field of a record value, or ``None``."""
        return dict(self.fields).get(key)


ClaimValue: TypeAlias = Choice | int


@dataclass(frozen=True, slots=True)
class Unspecified:
    """An explicit refusal to say: the kernel is judged on the union of what every value accepts."""

    reason: str = ""

    def __str__(self) -> str:
        return "unspecified"


Claimed: TypeAlias = ClaimValue | Unspecified
