"""The command ``kc``."""

from __future__ import annotations

import errno
import os
import sys
from importlib.metadata import PackageNotFoundError, version

USAGE = 2


def main(argv: list[str] | None = None) -> None:
    """Run ``kc`` and exit with its status.

    Nothing a user types ends in a traceback: what cannot be understood is a line on standard error and status 2.
    """
    args = sys.argv[1:] if argv is None else argv
    if sys.stdout is None:
        # started with its output closed, as a daemon may be: the exit status still tells
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123, SIM115  # lives as long as the process
    if args == ["--version"]:
        print(f"kc {_version()}")
        sys.exit(0)
    sys.exit(_run(args))


def _version() -> str:
    try:
        return version("kernelcontracts")
    except PackageNotFoundError:
        return "unknown (not installed)"


def _run(args: list[str]) -> int:
    from kernelcontracts.cli.app import build

    app = build(_version())
    try:
        answer = app(args, exit_on_error=False, print_error=True, result_action="return_value")
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return 130
    except BrokenPipeError:
        # whoever read our output has gone; there is nobody left to tell
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141
    except OSError as error:
        if error.errno != errno.ENOSPC:
            return _last_words(error)
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        print("kc: the output cannot be written: no space left on device; free some, or name another", file=sys.stderr)
        return 3
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else USAGE
    except Exception as error:  # noqa: BLE001  # the last door: a defect of ours is told in one line as well
        return _last_words(error)
    return answer if isinstance(answer, int) else 0


def _last_words(error: Exception) -> int:
    from cyclopts import CycloptsError

    if isinstance(error, CycloptsError):
        return USAGE
    if os.environ.get("KC_TRACEBACK"):
        raise error
    name = type(error).__name__
    print(f"kc: internal error: {name}: {error}", file=sys.stderr)
    print("    this is a defect of kernelcontracts; KC_TRACEBACK=1 shows where", file=sys.stderr)
    return 3
