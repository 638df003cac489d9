"""The candidate as the probes see it: give it exact numbers, read the numbers it returns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from kernelcontracts.formats.arrays import store, to_f64
from kernelcontracts.kernels.observation import Outcome

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from kernelcontracts.diagnose.failure import Array, Doubles
    from kernelcontracts.kernels.observation import Observation


@dataclass(frozen=True, slots=True)
class Candidate:
    """A kernel under diagnosis.

    Attributes
    ----------
    operator
        The name of the operator it claims to compute.
    types
        Format names by tensor.
    output
        The name of its output.
    call
        Runs it once.
    """

    operator: str
    types: Mapping[str, str]
    output: str
    call: Callable[[dict[str, Array]], Observation]

    def observe(self, inputs: Mapping[str, Array]) -> Observation:
        """Run it on values that its input formats represent, whatever their dtype here."""
        arrays = {
            name: np.asarray(x, np.int64)
            if self.types[name] == "i64"
            else store(np.asarray(x, np.float64), self.types[name])
            for name, x in inputs.items()
        }
        return self.call(arrays)

    def run(self, inputs: Mapping[str, Array]) -> Doubles | None:
        """Return the output in float64, or ``None`` unless the call completed."""
        return self.result(self.observe(inputs))

    def result(self, observation: Observation) -> Doubles | None:
        """Return the output that a call gave, in float64, or ``None``."""
        if observation.outcome != Outcome.COMPLETED or self.output not in observation.outputs:
            return None
        return np.asarray(to_f64(observation.outputs[self.output]), np.float64)
