"""What the failed cases themselves show: sizes of errors, where they sit, what stands in their place."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from kernelcontracts.lang.values import Choice

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from kernelcontracts.diagnose.failure import Array, Doubles, Failure
    from kernelcontracts.lang.values import Claimed

LEAN = 0.75
"""Share of errors of one sign that makes a bias.

Unbiased errors of 16 elements all but never lean so far: P(X >= 12) with X binomial(16, 1/2) is 0.04 for one case,
and the share is taken over all failed cases.
"""

FEWEST = 16
"""Errors needed to speak of a bias."""


def errors(failures: Sequence[Failure]) -> Doubles:
    """Return the finite errors of all failed cases, flattened."""
    found = [e[np.isfinite(e)] for f in failures if (e := f.errors) is not None]
    return np.concatenate(found) if found else np.zeros(0)


def bias(failures: Sequence[Failure]) -> float | None:
    """Return the mean error over the elements of failed cases."""
    found = errors(failures)
    return float(found.mean()) if found.size else None


def rms(failures: Sequence[Failure]) -> float | None:
    """Return the root of the mean square error."""
    found = errors(failures)
    if not found.size:
        return None
    scale = float(np.abs(found).max())
    return 0.0 if scale == 0 else scale * float(np.sqrt(np.mean((found / scale) ** 2)))


def max_abs(failures: Sequence[Failure]) -> float | None:
    """Return the largest absolute error."""
    found = errors(failures)
    return float(np.abs(found).max()) if found.size else None


def sign_of_bias(failures: Sequence[Failure]) -> float | None:
    """Return -1 or 1 if most errors point one way, 0 if they do not, ``None`` if there are few."""
    found = errors(failures)
    found = found[found != 0]
    if found.size < FEWEST:
        return None
    up = float((found > 0).mean())
    return 1.0 if up >= LEAN else -1.0 if up <= 1 - LEAN else 0.0


def stale_share(failures: Sequence[Failure]) -> float | None:
    """Return the share of failed cases whose output is left over.

    Left over is what the call reported as stale, and what equals the output of an earlier failed case of the same
    shape on other inputs. A constant output proves nothing: all of them are equal.
    """
    if not failures:
        return None
    stale = [
        any(f.observation.stale.values()) or any(_repeats(f, e) for e in failures[:i]) for i, f in enumerate(failures)
    ]
    return sum(stale) / len(stale)


def _repeats(later: Failure, earlier: Failure) -> bool:
    if later.got is None or earlier.got is None or later.got.shape != earlier.got.shape:
        return False
    if not np.array_equal(later.got, earlier.got, equal_nan=True) or constant(later.got):
        return False
    return any(
        x.shape != earlier.inputs[name].shape or x.tobytes() != earlier.inputs[name].tobytes()
        for name, x in later.inputs.items()
    )


def constant(x: Doubles) -> bool:
    """Whether all elements are equal, NaN included."""
    return x.size < 2 or bool((x == x.flat[0]).all()) or bool(np.isnan(x).all())


def _lost_rows(failures: Sequence[Failure], claims: Mapping[str, Claimed]) -> Iterator[tuple[Doubles, Doubles]]:
    """Yield, for each failed gather with an output, its table and the rows whose index is out of bounds."""
    wraps = claims.get("negative_index") == Choice("wrap")
    for failure in failures:
        if failure.got is None or "idx" not in failure.inputs:
            continue
        table: Array = failure.inputs["table"]
        index = np.asarray(failure.inputs["idx"], np.int64)
        if wraps:
            index = np.where(index < 0, index + len(table), index)
        outside = (index < 0) | (index >= len(table))
        if outside.any() and failure.got.ndim == 2 and len(failure.got) == len(index):
            yield table.astype(np.float64), failure.got[outside]


def zero_rows(failures: Sequence[Failure], claims: Mapping[str, Claimed]) -> float | None:
    """Return the share of rows for indices out of bounds that are zero."""
    rows = [row for _, lost in _lost_rows(failures, claims) for row in lost]
    return None if not rows else sum(bool((row == 0).all()) for row in rows) / len(rows)


def canary_rows(failures: Sequence[Failure], claims: Mapping[str, Claimed]) -> float | None:
    """Return the share of rows for indices out of bounds that are neither zero nor a row of the table."""
    verdicts = [
        not (row == 0).all() and not _is_row(row, table) for table, lost in _lost_rows(failures, claims) for row in lost
    ]
    return None if not verdicts else sum(map(bool, verdicts)) / len(verdicts)


def _is_row(row: Doubles, table: Doubles) -> bool:
    same = (table == row) | (np.isnan(table) & np.isnan(row))
    return bool(same.all(axis=1).any())
