"""A private folder for what is costly to make and easy to make again."""

from __future__ import annotations

import contextlib
import os
import tempfile
from pathlib import Path


def private_folder() -> Path | None:
    """Return the cache folder, or ``None`` where no private one can be had.

    What is read from it may run code (the grammar library keeps its tables with ``pickle``), so it must belong to the
    user, and nobody else may write there. ``KC_NO_CACHE`` turns it off.
    """
    if os.environ.get("KC_NO_CACHE"):
        return None
    base = os.environ.get("XDG_CACHE_HOME", "")
    try:
        folder = (Path(base) if base.startswith("/") else Path.home() / ".cache") / "kernelcontracts"
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        status = folder.stat()
    except (OSError, RuntimeError):
        return None
    if status.st_uid != os.getuid() or status.st_mode & 0o022:
        return None
    return folder


def keep(path: Path, data: bytes) -> None:
    """Write a cache file in one step; a full disk or a read-only folder is no error."""
    with contextlib.suppress(OSError):
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=".new-")
        try:
            with os.fdopen(handle, "wb") as stream:
                stream.write(data)
            Path(name).replace(path)
        except OSError:
            Path(name).unlink()
            raise


def kept(path: Path) -> bytes | None:
    """Return the content of a cache file, or ``None`` if there is none."""
    try:
        return path.read_bytes()
    except OSError:
        return None
