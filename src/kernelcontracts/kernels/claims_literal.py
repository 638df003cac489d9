"""The claims that a kernel file makes about itself, read without executing it."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

#: The module-level name that holds the claims.
NAME = "CLAIMS"


class ClaimsError(ValueError):
    """A ``CLAIMS`` that cannot be read. The message names file and line and says what is expected."""


def _assigned(statement: ast.stmt) -> ast.expr | None:
    """Return what a statement assigns to ``CLAIMS``, if it does."""
    if isinstance(statement, ast.Assign):
        targets = statement.targets
    elif isinstance(statement, ast.AnnAssign):
        targets = [statement.target]
    else:
        return None
    hit = any(isinstance(target, ast.Name) and target.id == NAME for target in targets)
    return statement.value if hit else None


def read_claims(path: str | Path) -> dict[str, Any] | None:
    """Return a file's module-level ``CLAIMS = {...}``.

    Only a literal is read (`ast.literal_eval`): claims are a statement, so no code of the candidate decides them.

    Returns
    -------
    dict or None
        ``None`` if the file makes no claims.

    Raises
    ------
    ClaimsError
        If the file cannot be read or parsed, or ``CLAIMS`` is not one dictionary literal with names as keys.
    """
    file = Path(path)
    try:
        tree = ast.parse(file.read_bytes(), filename=file.name)
    except OSError as error:
        raise ClaimsError(f"`{file}` cannot be read: {error.strerror}") from error
    except (SyntaxError, ValueError) as error:
        line = f" in line {error.lineno}" if isinstance(error, SyntaxError) and error.lineno else ""
        said = error.msg if isinstance(error, SyntaxError) else error
        raise ClaimsError(f"`{file.name}` has a syntax error{line}: {said}") from error
    except (MemoryError, RecursionError) as error:
        # what CPython's parser raises for an expression nested beyond its stack
        raise ClaimsError(f"`{file.name}` is nested too deeply to be read") from error
    values = [value for value in map(_assigned, tree.body) if value is not None]
    if not values:
        return None
    if len(values) > 1:
        lines = " and ".join(str(value.lineno) for value in values)
        raise ClaimsError(f"`{file.name}` assigns `{NAME}` more than once, in lines {lines}; keep one")
    return _literal(values[0], file)


def _literal(value: ast.expr, file: Path) -> dict[str, Any]:
    where = f"`{NAME}` in `{file.name}`, line {value.lineno},"
    try:
        found = ast.literal_eval(value)
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError) as error:
        raise ClaimsError(
            f"{where} is not a literal; expected a dictionary of plain strings, numbers and dictionaries"
        ) from error
    if not isinstance(found, dict):
        raise ClaimsError(f"{where} is a `{type(found).__name__}`; expected a dictionary")
    for key in found:
        if not isinstance(key, str):
            raise ClaimsError(f"{where} has the key `{key!r}`; expected names in quotes")
    return found
