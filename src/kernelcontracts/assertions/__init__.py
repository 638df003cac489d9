"""`assert_conforms`: the derived-tolerance answer to ``allclose``."""

from kernelcontracts.assertions.conforms import ConformanceError, assert_conforms

__all__ = ["ConformanceError", "assert_conforms"]
