"""What parent and worker say to each other: length-prefixed msgpack over two inherited pipes.

Only descriptions travel this way. Numbers travel in shared memory, and the parent reads them there itself: nothing
that decides a verdict depends on a reply being honest.
"""

from __future__ import annotations

import msgspec

#: Longest reply: a few sentences and a description of the environment take a few kilobytes.
MAX_REPLY = 1 << 20

#: Longest text of a person's making (an exception's message) that is passed on.
MAX_TEXT = 500

#: Exit status of a worker that can no longer write on its channel (EX_IOERR of sysexits.h).
EXIT_CHANNEL = 74


class Place(msgspec.Struct, frozen=True, array_like=True):
    """Where one tensor lies in the shared memory. Strides and offset are in bytes."""

    name: str
    format: str
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int


class LoadRequest(msgspec.Struct, frozen=True):
    """The first message: which kernel, for which operator, under which limits."""

    adapter: str
    target: str
    path: str
    options: dict[str, str]
    operator: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    memory_bytes: int


class LoadReply(msgspec.Struct, frozen=True):
    """How loading went. ``takes_out`` says whether the kernel writes into buffers of ours."""

    ok: bool
    message: str = ""
    takes_out: bool = False
    environment: dict[str, str] = {}
    isolation: tuple[str, ...] = ()


class CallRequest(msgspec.Struct, frozen=True):
    """One case. ``poison`` holds, for each output, the bits its buffer is filled with."""

    number: int
    arena_bytes: int
    inputs: tuple[Place, ...]
    outputs: tuple[Place, ...]
    poison: tuple[int, ...]


class CallReply(msgspec.Struct, frozen=True):
    """How a call ended, as the worker saw it.

    ``outcome`` is ``completed``, ``raised``, ``malformed`` or ``declined``. ``repeated`` says, for each output,
    whether the array returned is one that an earlier call returned, untouched.
    """

    number: int
    outcome: str
    kind: str = ""
    message: str = ""
    alias: str = ""
    repeated: tuple[bool, ...] = ()
    note: str = ""


def plain(text: str) -> str:
    """Return text of a candidate's making as one short line that a terminal shows as it is."""
    printable = "".join(letter if letter.isprintable() else " " for letter in text[:MAX_TEXT])
    return " ".join(printable.split())


def pack(message: msgspec.Struct) -> bytes:
    """Return a message with its length in front (four bytes, big endian)."""
    body = msgspec.msgpack.encode(message)
    return len(body).to_bytes(4, "big") + body
