"""What an adapter is: the way one library's functions become kernels."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping


class AdapterError(ValueError):
    """An address this adapter cannot serve. The message says what was asked for and what there is."""


@dataclass(frozen=True, slots=True)
class Availability:
    """Whether a backend can be used here.

    Attributes
    ----------
    ok
        Whether it can.
    reason
        Why not, in plain words; ``""`` if it can.
    how_to_install
        The command that would make it available; ``""`` if it is, or if there is none.
    """

    ok: bool
    reason: str = ""
    how_to_install: str = ""


@runtime_checkable
class Adapter(Protocol):
    """One library, seen as a source of kernels. It lives in the worker process only.

    An adapter materialises the declared output format inside its library, before anything reads the result:
    reading through a wider format can change which kernel the library runs. What it cannot compute that way it
    declines; it never computes something near it.
    """

    name: str

    def available(self) -> Availability:
        """Say whether the library can be used here. Never raises."""
        ...

    def load(self, target: str, operator: str, options: Mapping[str, str]) -> Callable[..., Any]:
        """Return the kernel.

        It takes the operator's inputs as positional numpy arrays, in the operator's order. If it has a
        parameter ``out``, it writes there; else it returns an array of its own.

        Raises
        ------
        AdapterError
            If there is no such target, it is no such operator, or an option is unknown.
        """
        ...

    def declines(self, operator: str, types: Mapping[str, str]) -> str:
        """Say why this library cannot compute the operator in these formats, or return ``""`` if it can.

        ``types`` maps the names of inputs and outputs to format names.
        """
        ...

    def provenance(self) -> dict[str, str]:
        """Return what identifies the library's build: version, configuration, threads."""
        ...


def no_options(adapter: str, options: Mapping[str, str], known: tuple[str, ...] = ()) -> None:
    """Refuse options that an adapter does not know.

    Raises
    ------
    AdapterError
        If there is one.
    """
    for key in options:
        if key not in known:
            have = f"it knows {', '.join(f'`{k}`' for k in known)}" if known else "it has none here"
            raise AdapterError(f"`{key}` is not an option of the `{adapter}` adapter; {have}")


def takes_out(kernel: Callable[..., Any]) -> bool:
    """Return whether a callable has a parameter named ``out`` that can be passed by name."""
    try:
        parameters = inspect.signature(kernel).parameters
    except (TypeError, ValueError):
        return False
    out = parameters.get("out")
    return out is not None and out.kind in (out.POSITIONAL_OR_KEYWORD, out.KEYWORD_ONLY)


def listed(names: Iterable[str]) -> str:
    """Return names in backticks, with commas, for a message."""
    return ", ".join(f"`{name}`" for name in names)
