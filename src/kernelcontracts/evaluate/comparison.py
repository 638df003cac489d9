"""``within`` and ``identical``: where the candidate meets the reference.

The margin of one element is its error over its tolerance. With ``|R - ref| <= δ`` and a tolerance in
``[T_lo, T_hi]`` it lies in ``[(|E - ref| - δ)⁺ / T_hi, (|E - ref| + δ) / T_lo]``; interval subtraction and
division give exactly that. If the tolerance is zero the values must be equal.

Special values (the rule of the OpenCL specification, section 7.4, and of TOSA): where the reference is NaN the
result must be NaN; a result that is NaN or infinite where the reference is finite is a violation, unless the
reference and its tolerance reach beyond the largest finite number of the output format.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kernelcontracts.evaluate.arithmetic import field_of
from kernelcontracts.evaluate.field import (
    Field,
    Logical,
    Margins,
    Tensor,
    merged,
    spread,
    spread_interval,
)
from kernelcontracts.formats.arrays import same_bits
from kernelcontracts.numerics.interval import exact, maximum


def within(actual: Any, tolerance: Any, reference: Any) -> Margins:
    """Return the margins of ``actual within tolerance of reference``."""
    e, t, r = field_of(actual), field_of(tolerance), field_of(reference)
    dims = merged(merged(e.dims, r.dims), t.dims)
    error_of, bound, target = (spread_interval(f, dims) for f in (e, t, r))
    # rounding may carry a bound of zero below it, and a tolerance below zero allows nothing
    bound = maximum(bound, exact(0.0))
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        error = abs(error_of - target)
        lo = _ratio(error.lo, bound.hi)
        hi = _ratio(error.hi, bound.lo)
        return Margins(dims, *_special(actual, error_of, bound, target, lo, hi))


def _ratio(error: Any, bound: Any) -> Any:
    """Divide, with 0/0 = 0: no error needs no tolerance."""
    return np.where(error == 0, 0.0, np.where(bound == 0, np.inf, error / bound))


def _special(actual: Any, value: Any, bound: Any, target: Any, lo: Any, hi: Any) -> tuple[Any, Any]:
    got, ref = value.lo, target.lo
    lo, hi = np.broadcast_arrays(lo, hi)
    both_nan = np.isnan(got) & np.isnan(ref)
    wrong = np.isnan(got) != np.isnan(ref)
    infinite = np.isinf(got) & (got == value.hi) & ~np.isnan(ref)
    if isinstance(actual, Tensor) and actual.format is not None:
        largest = float(actual.format.maxfinite)
        same_sign = np.signbit(got) == np.signbit(ref)
        reach_lo = np.minimum(abs(target.lo), abs(target.hi)) + bound.lo
        reach_hi = np.maximum(abs(target.lo), abs(target.hi)) + bound.hi
        surely = infinite & same_sign & ((reach_lo > largest) | (np.isinf(target.lo) & (target.lo == target.hi)))
        perhaps = infinite & same_sign & (reach_hi > largest)
    else:
        surely = perhaps = infinite & (got == ref)
    wrong = wrong | (infinite & ~perhaps)
    finite_for_infinite = np.isfinite(got) & np.isinf(ref) & (target.lo == target.hi)
    wrong = wrong | finite_for_infinite
    lo = np.where(wrong, np.inf, np.where(both_nan | infinite, 0.0, lo))
    hi = np.where(wrong | (infinite & ~surely), np.inf, np.where(both_nan | surely, 0.0, hi))
    # what is undefined by now is neither allowed nor forbidden for certain
    return np.where(np.isnan(lo), 0.0, lo), np.where(np.isnan(hi), np.inf, hi)


def identical(left: Any, right: Any) -> Margins:
    """Return the margins of ``left identical right``: 0 or infinite."""
    if isinstance(left, Tensor) and isinstance(right, Tensor):
        return _same_bits(left, right)
    a, b = field_of(left), field_of(right)
    dims = merged(a.dims, b.dims)
    x, y = spread_interval(a, dims), spread_interval(b, dims)
    nan = np.isnan(x.lo) & np.isnan(y.lo)
    apart = (x.hi < y.lo) | (x.lo > y.hi) | (np.isnan(x.lo) != np.isnan(y.lo))
    equal = nan | ((x.lo == x.hi) & (y.lo == y.hi) & (x.lo == y.lo))
    return Margins.of(Logical(dims, equal, ~apart))


def _same_bits(left: Tensor, right: Tensor) -> Margins:
    dims = merged(left.dims, right.dims)
    a, b = spread(left.array, left.dims, dims), spread(right.array, right.dims, dims)
    if a.dtype != b.dtype:
        return identical(Field(left.dims, left.as_field().value), Field(right.dims, right.as_field().value))
    return Margins.of(Logical.known(dims, np.asarray(same_bits(*np.broadcast_arrays(a, b)))))
