"""The verbs of ``kc``, put together."""

from __future__ import annotations

from cyclopts import App

from kernelcontracts.cli import checking, language, tolerance


def build(version: str) -> App:
    """Return the application with every verb registered."""
    app = App(
        name="kc",
        help="Written, checkable contracts for what an ML kernel computes.",
        version=version,
        help_format="plaintext",
    )
    checking.register(app)
    language.register(app)
    tolerance.register(app)
    return app
