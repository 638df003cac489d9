"""Finding an adapter by name."""

from __future__ import annotations

import difflib
from importlib import import_module
from typing import TYPE_CHECKING

from kernelcontracts.kernels.adapters.protocol import AdapterError

if TYPE_CHECKING:
    from kernelcontracts.kernels.adapters.protocol import Adapter

GROUP = "kernelcontracts.adapters"

#: The adapters of this package, for source trees that were never installed and so have no entry points.
_BUILT_IN = {
    "numpy": "kernelcontracts.kernels.adapters.numpy_adapter:NumpyAdapter",
    "torch": "kernelcontracts.kernels.adapters.torch_adapter:TorchAdapter",
    "emulator": "kernelcontracts.operators.adapter:EmulatorAdapter",
}


def adapter_names() -> tuple[str, ...]:
    """Return the names of all adapters: this package's and those that others have registered."""
    from importlib.metadata import entry_points

    return tuple(sorted({*_BUILT_IN, *(point.name for point in entry_points(group=GROUP))}))


def _factory(name: str) -> str | None:
    if name in _BUILT_IN:
        return _BUILT_IN[name]
    # a tenth of a worker's start, so only where it is needed
    from importlib.metadata import entry_points

    return next((point.value for point in entry_points(group=GROUP, name=name)), None)


def adapter_named(name: str, path: str = "") -> Adapter:
    """Make an adapter.

    Parameters
    ----------
    name
        The adapter's name, or ``file``.
    path
        The Python file, for ``file``.

    Raises
    ------
    AdapterError
        If there is none of that name, or it cannot be imported.
    """
    if name == "file":
        from kernelcontracts.kernels.adapters.file_adapter import FileAdapter

        return FileAdapter(path)
    value = _factory(name)
    if value is None:
        known = adapter_names()
        close = difflib.get_close_matches(name, known, 1)
        hint = f"did you mean `{close[0]}`?" if close else f"there are {', '.join(f'`{k}`' for k in known)}"
        raise AdapterError(f"there is no adapter `{name}`; {hint}")
    module, _, attribute = value.partition(":")
    try:
        made: Adapter = getattr(import_module(module), attribute)()
    except (ImportError, AttributeError) as error:
        raise AdapterError(f"the adapter `{name}` cannot be imported: {error}") from error
    return made
