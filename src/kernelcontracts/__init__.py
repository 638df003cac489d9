"""Written, checkable contracts for what an ML kernel computes.

Importing the package imports nothing else: its names are loaded when they are used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kernelcontracts.assertions import ConformanceError, assert_conforms

__all__ = ["ConformanceError", "assert_conforms"]


def __getattr__(name: str) -> Any:
    if name in __all__:
        from kernelcontracts import assertions

        return getattr(assertions, name)
    raise AttributeError(f"module `kernelcontracts` has no attribute `{name}`")
