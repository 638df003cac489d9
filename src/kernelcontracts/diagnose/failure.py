"""What a conviction hands to the diagnosis: the cases that failed, as the engine saw them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kernelcontracts.kernels.observation import Observation

Array: TypeAlias = NDArray[Any]
Doubles: TypeAlias = NDArray[Any]
Shape: TypeAlias = "Mapping[str, int | tuple[int, ...]]"


@dataclass(frozen=True, slots=True, eq=False)
class Failure:
    """One failed case.

    Attributes
    ----------
    clause, stratum
        What failed, on which kind of inputs.
    shape
        Dimensions by name; a variadic dimension is a tuple.
    inputs
        The arrays the candidate was given.
    got
        Its output in float64, or ``None`` where there was none.
    ref_lo, ref_hi
        An enclosure of the right result, shape of the output, or ``None`` where the clause has none.
    tol_hi
        The tolerance (an upper limit of it), shape of the output, or ``None`` for exact clauses.
    observation
        Everything else the call showed.
    """

    clause: str
    stratum: str
    shape: Shape
    inputs: Mapping[str, Array]
    got: Doubles | None
    ref_lo: Doubles | None
    ref_hi: Doubles | None
    tol_hi: Doubles | None
    observation: Observation

    @property
    def errors(self) -> Doubles | None:
        """The output minus the middle of the reference, or ``None`` where one of them is missing."""
        if self.got is None or self.ref_lo is None or self.ref_hi is None:
            return None
        with np.errstate(all="ignore"):
            middle = self.ref_lo + (self.ref_hi - self.ref_lo) / 2
            errors: Doubles = np.asarray(self.got - middle, np.float64)
        return errors

    @property
    def wrong(self) -> NDArray[np.bool_] | None:
        """Which elements lie outside reference and tolerance; an element that is not finite is wrong."""
        if self.got is None or self.ref_lo is None or self.ref_hi is None:
            return None
        room = 0.0 if self.tol_hi is None else self.tol_hi
        with np.errstate(all="ignore"):
            right = (self.got >= self.ref_lo - room) & (self.got <= self.ref_hi + room)
        return np.asarray(~right, np.bool_)


def size(failure: Failure) -> int:
    """Return how many numbers went in: the measure by which cases are large or small."""
    return sum(x.size for x in failure.inputs.values())
