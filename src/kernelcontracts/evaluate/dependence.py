"""Which definitions read a claim, directly or through others."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import TYPE_CHECKING

from kernelcontracts.lang.expr import Member, Name, Quantity

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from kernelcontracts.lang.expr import Expr


def nodes(tree: object) -> Iterator[object]:
    """Yield a node and everything below it."""
    yield tree
    if isinstance(tree, tuple):
        for item in tree:
            yield from nodes(item)
    elif is_dataclass(tree):
        for f in fields(tree):
            if f.name != "span":
                yield from nodes(getattr(tree, f.name))


def claim_free_names(spaces: Mapping[str, Mapping[str, Expr]], events: frozenset[str]) -> frozenset[tuple[str, str]]:
    """Return the (space, name) pairs from which no ``claim.x`` can be reached.

    The definitions of a checked contract form no cycle, so the recursion ends.

    Parameters
    ----------
    spaces
        The definitions of the ``contract`` and of its ``operator``.
    events
        The operator's events, which the contract names without ``op.``.
    """
    known: dict[tuple[str, str], bool] = {}

    def reads_claim(space: str, name: str) -> bool:
        key = (space, name)
        if key not in known:
            known[key] = False
            known[key] = any(_reaches(space, node) for node in nodes(spaces[space][name]))
        return known[key]

    def _reaches(space: str, node: object) -> bool:
        if isinstance(node, Member) and isinstance(node.base, Name):
            if node.base.id == "claim":
                return True
            return node.base.id == "op" and node.name in spaces["operator"] and reads_claim("operator", node.name)
        if isinstance(node, Quantity) and node.anchor is None and node.unit != "abs":
            # `ulp` and `rel` are measured at the reference unless something else is said
            return "ref" in spaces[space] and reads_claim(space, "ref")
        if not isinstance(node, Name):
            return False
        # a contract names its operator's events without `op.`
        home = space if node.id in spaces[space] or node.id not in events else "operator"
        return node.id in spaces[home] and reads_claim(home, node.id)

    return frozenset((space, name) for space, lets in spaces.items() for name in lets if not reads_claim(space, name))
