"""Functions of a person's Python file as kernels."""

from __future__ import annotations

import difflib
import importlib.util
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kernelcontracts.kernels.adapters.protocol import AdapterError, Availability, no_options
from kernelcontracts.kernels.wire import plain

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from types import ModuleType


def _where(error: BaseException, path: Path) -> str:
    """Return the line of the file in which an import went wrong, as text to append."""
    line = None
    trace = error.__traceback__
    while trace is not None:
        if Path(trace.tb_frame.f_code.co_filename) == path:
            line = trace.tb_lineno
        trace = trace.tb_next
    return f" (line {line})" if line else ""


def load_module(path: Path) -> ModuleType:
    """Execute a file as a module of its own; its neighbours can be imported as in ``python file.py``.

    Raises
    ------
    AdapterError
        If it cannot be read, has a syntax error, or raises.
    """
    if not path.is_file():
        raise AdapterError(f"there is no file `{path}`")
    name = f"kernel_file_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise AdapterError(f"`{path}` is not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    sys.path.insert(0, str(path.parent))
    try:
        spec.loader.exec_module(module)
    except SyntaxError as error:
        raise AdapterError(f"`{path.name}` has a syntax error in line {error.lineno}: {error.msg}") from error
    except BaseException as error:
        said = plain(str(error))
        raise AdapterError(
            f"`{path.name}` raised {type(error).__name__} when it was loaded{_where(error, path)}: {said}"
        ) from error
    return module


class FileAdapter:
    """``file.py:function``: the function is called with numpy arrays.

    With ``?arrays=torch`` it is called with tensors on the same memory, its result is read through the same
    memory, and nothing is converted.
    """

    name = "file"

    def __init__(self, path: str) -> None:
        self._path = Path(path)

    def available(self) -> Availability:
        """Say that files can always be read; whether this one can, loading tells."""
        return Availability(ok=True)

    def load(self, target: str, operator: str, options: Mapping[str, str]) -> Callable[..., Any]:  # noqa: ARG002 - a file's function may be for any operator
        """Execute the file and return its function.

        Raises
        ------
        AdapterError
            If the file cannot be executed, or has no such function.
        """
        no_options(self.name, options, ("arrays",))
        if options.get("arrays", "numpy") not in ("numpy", "torch"):
            raise AdapterError(f"`arrays={options['arrays']}` is unknown; expected `numpy` or `torch`")
        module = load_module(self._path)
        found = getattr(module, target, None)
        if found is None:
            raise AdapterError(f"`{self._path.name}` has no function `{target}`{self._hint(module, target)}")
        if not callable(found):
            raise AdapterError(f"`{target}` in `{self._path.name}` is a `{type(found).__name__}`, not a function")
        if options.get("arrays") != "torch":
            return found  # type: ignore[no-any-return]  # whatever is callable
        from kernelcontracts.kernels.adapters.torch_bridge import with_tensors

        return with_tensors(found)

    def _hint(self, module: ModuleType, target: str) -> str:
        functions = [name for name, value in vars(module).items() if callable(value) and not name.startswith("_")]
        close = difflib.get_close_matches(target, functions, 1)
        if close:
            return f"; did you mean `{close[0]}`?"
        return f"; it has {', '.join(f'`{name}`' for name in sorted(functions))}" if functions else ""

    def declines(self, operator: str, types: Mapping[str, str]) -> str:  # noqa: ARG002 - the function itself may decline
        """Return ``""``: a function declines by returning ``NotImplemented``."""
        return ""

    def provenance(self) -> dict[str, str]:
        """Return the file's path and the hash of its text."""
        import hashlib

        digest = hashlib.sha256(self._path.read_bytes()).hexdigest()
        return {"file": str(self._path), "file_sha256": digest}
