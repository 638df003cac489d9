"""Three-valued truth of comparisons between enclosures (Kleene's strong logic)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from kernelcontracts.formats.arrays import Bools


@dataclass(frozen=True, slots=True, eq=False)
class Truth:
    """What is certain and what is possible, elementwise.

    Parameters
    ----------
    must
        True where the statement holds for every choice of values within the enclosures.
    may
        True where it holds for some choice; wherever `must` is true, `may` is.
    """

    must: Bools
    may: Bools

    @classmethod
    def known(cls, value: Bools | bool) -> Truth:
        """Return the certain truth `value`."""
        certain = np.asarray(value, dtype=np.bool_)
        return cls(certain, certain)

    def __and__(self, other: Truth) -> Truth:
        return Truth(self.must & other.must, self.may & other.may)

    def __or__(self, other: Truth) -> Truth:
        return Truth(self.must | other.must, self.may | other.may)

    def __invert__(self) -> Truth:
        return Truth(~self.may, ~self.must)

    def implies(self, other: Truth) -> Truth:
        """Return ``not self or other``."""
        return ~self | other

    def all(self, axis: int | None = None) -> Truth:
        """Return whether the statement holds everywhere (along an axis)."""
        return Truth(np.asarray(self.must.all(axis)), np.asarray(self.may.all(axis)))

    def any(self, axis: int | None = None) -> Truth:
        """Return whether the statement holds somewhere (along an axis)."""
        return Truth(np.asarray(self.must.any(axis)), np.asarray(self.may.any(axis)))

    @property
    def decided(self) -> Bools:
        """True where the enclosures suffice to decide."""
        same: Bools = self.must == self.may
        return same
