"""The two ways in which drawing inputs can fail."""

from __future__ import annotations


class NotApplicable(Exception):  # noqa: N818 - an outcome to be reported, not a fault of anybody's
    """A stratum that cannot exist for these formats or this shape; ``str()`` is the reason."""


class StratumError(ValueError):
    """A generator or a shape list that says nothing meaningful, whatever the formats and the shape."""
