"""Kernel addresses: ``numpy:matmul``, ``emulator:matmul?accumulator=f16``, ``kernels.py:my_matmul``."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import unquote


class AddressError(ValueError):
    """A kernel address that cannot be read. The message says what was found and what is expected."""


@dataclass(frozen=True, slots=True)
class Address:
    """Where a kernel is.

    Attributes
    ----------
    adapter
        The adapter's name (``numpy``, ``torch``, ``emulator``), or ``file`` for a Python file.
    target
        The function's name within the adapter, or within the file.
    path
        The file, for ``file`` addresses; else ``""``.
    options
        What stands after ``?``, in order.
    """

    adapter: str
    target: str
    path: str = ""
    options: tuple[tuple[str, str], ...] = ()

    def __str__(self) -> str:
        head = f"{self.path}:{self.target}" if self.adapter == "file" else f"{self.adapter}:{self.target}"
        if not self.options:
            return head
        return head + "?" + "&".join(f"{key}={value}" for key, value in self.options)

    def option(self, key: str) -> str | None:
        """Return one option's text, or ``None``."""
        return dict(self.options).get(key)


def parse_address(text: str) -> Address:
    """Read a kernel address.

    Raises
    ------
    AddressError
        If the text has no ``:`` or an empty part, or an option without ``=``.
    """
    head, _, query = text.partition("?")
    where, colon, target = head.rpartition(":")
    if not colon or not where or not target:
        raise AddressError(
            f"`{text}` is not a kernel address; expected `adapter:function` such as `numpy:matmul`, "
            f"or `file.py:function`"
        )
    options = []
    for part in query.split("&") if query else []:
        key, equals, value = part.partition("=")
        if not equals or not key:
            raise AddressError(f"`{part}` in `{text}` is not an option; expected `name=value` after `?`")
        options.append((key, unquote(value)))
    if where.endswith(".py"):
        return Address("file", target, where, tuple(options))
    return Address(where, target, "", tuple(options))
