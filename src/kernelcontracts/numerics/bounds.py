"""A-priori bounds of rounding errors: deterministic, probabilistic, and for random signs.

`gamma` is Higham's constant (*Accuracy and Stability of Numerical Algorithms*, 2002, section 3.1),
`gamma_prob` that of Higham and Mary (*A new approach to probabilistic rounding error analysis*,
SISC 41(5), 2019). `random_sign_bound` needs no assumption on the rounding errors at all, only data
whose signs were drawn by the one who tests.
"""

from __future__ import annotations

from fractions import Fraction
from math import isfinite
from typing import TYPE_CHECKING, overload

import numpy as np

from kernelcontracts.numerics import elementary
from kernelcontracts.numerics.interval import Interval, exact, interval, of_fraction, sqrt

if TYPE_CHECKING:
    from kernelcontracts.formats.arrays import Floats


@overload
def gamma(n: int | Fraction, u: Fraction) -> Fraction: ...
@overload
def gamma(n: Interval | Floats, u: Fraction | Interval) -> Interval: ...


def gamma(n: int | Fraction | Interval | Floats, u: Fraction | Interval) -> Fraction | Interval:
    """Return ``n * u / (1 - n * u)``: a bound of the relative error of `n` successive roundings.

    Exact for rational arguments, enclosed for arrays and intervals.

    Raises
    ------
    ValueError
        If ``n * u >= 1``, where the bound does not hold (Higham 2002, lemma 3.1).
    """
    if isinstance(n, int | Fraction) and isinstance(u, Fraction):
        _require_below_one(n * u, n, u)
        return n * u / (1 - n * u)
    product = interval(n) * interval(u)
    largest = float(np.max(product.hi, initial=0.0))
    _require_below_one(largest, np.max(interval(n).hi, initial=0.0), np.max(interval(u).hi))
    return product / (1 - product)


def _require_below_one(product: Fraction | float, n: object, u: object) -> None:
    if not product < 1:
        raise ValueError(
            f"gamma(n, u) needs n * u < 1, but n = {n} and u = {u} give {float(product):.4g}: "
            "use a wider accumulator or fewer roundings"
        )


def gamma_prob(n: int | Interval | Floats, u: Fraction | Interval, lam: Fraction | int) -> Interval:
    """Enclose ``exp(lam * sqrt(n) * u + n * u^2 / (1 - u)) - 1``.

    Bounds the relative error of `n` roundings with probability at least
    ``1 - 2 * exp(-lam^2 * (1 - u)^2 / 2)`` if the relative errors are independent and of mean zero
    (Higham and Mary 2019, theorem 2.4). On constant data they are not, and the bound can fail
    there.

    Raises
    ------
    ValueError
        If `u` is not below one.
    """
    count, unit = interval(n), interval(u)
    _require_below_one(float(np.max(unit.hi)), 1, u)
    return elementary.expm1_bounds(sqrt(count) * unit * lam + count * unit * unit / (1 - unit))


def random_sign_lambda(nodes: int, alpha: float) -> float:
    """Return ``sqrt(2 * ln(2 * nodes / alpha))``, rounded up.

    With it a union bound over `nodes` sub-Gaussian sums (every internal node of every summation
    tree that is looked at: terms minus one, times outputs) fails with probability at most `alpha`.

    Raises
    ------
    ValueError
        If `alpha` is not between 0 and 1, or `nodes` is not positive.
    """
    if not (0 < alpha < 1 and nodes >= 1):
        raise ValueError(f"`nodes` = {nodes} and `alpha` = {alpha}: use nodes >= 1 and 0 < alpha < 1")
    log = elementary.log(of_fraction(2 * nodes / Fraction(alpha)))
    return float(sqrt(2 * log).hi)


def random_sign_bound(products: Floats, u: Fraction, lam: float, *, exact_products: bool = False) -> Floats:
    """Bound the error of sums whose terms had their signs drawn at random, in any fixed order.

    Parameters
    ----------
    products
        float64 array ``(..., n)``: the terms (or only their magnitudes), exact.
    u
        Unit roundoff of the accumulator, ``(n + 1) * u < 1``.
    lam
        From `random_sign_lambda`, for all nodes of all sums together.
    exact_products
        Whether products enter without a rounding (fused, or exact in the accumulator).

    Returns
    -------
    ndarray
        float64 array ``(...)``, rounded up: with probability at least ``1 - alpha`` over the signs
        no error exceeds it. Underflow is not included.

    Raises
    ------
    ValueError
        If ``(n + 1) * u >= 1``.

    Notes
    -----
    Let ``p_k`` be the terms, each times an independent random sign, ``s_v`` the exact sum of the leaves below
    node `v` of the summation tree, which must not depend on the data, and ``d_v`` the rounding error there.

    1. Hoeffding: ``|s_v| <= lam * norm(p over the leaves of v)`` but for probability
       ``2 * exp(-lam^2 / 2)``; by the union bound for all nodes at once but for `alpha`.
    2. The addition at `v` rounds ``s_v`` plus the errors made below `v`, so
       ``|d_v| <= u * (|s_v| + sum of |d_w| for w below v)``. Summed over the nodes, each error counts at most
       ``n - 1`` times above itself: ``D <= u * sum |s_v| + (n - 1) * u * D``, hence
       ``D <= u * sum |s_v| / (1 - (n - 1) * u)``.
    3. A node with `t` leaves has ``t - 1`` internal nodes below or at it, none with more leaves. Ordered by
       their number of leaves, the i-th internal node therefore has at most ``i + 1``. So ``sum |s_v|`` is
       at most `lam` times the sum, over ``t = 2 ... n``, of the norm of the `t` largest terms.
    4. Products that are rounded first err by ``u * sum |p_k|``, and the rounded ones, which keep their
       random signs in a rounding symmetric about zero, are larger by a factor of at most ``1 + u``.
    """
    n = products.shape[-1]
    _require_below_one((n + 1) * u, n + 1, u)
    norms = _sum_of_norms(products)
    # squares, running sums, roots and their sum lose at most 2n + 2 roundings of 2^-53
    slack = 1 + Fraction(2 * n + 8, 2**53) * 2
    factor = u / (1 - (n - 1) * u) * slack * (1 if exact_products else 1 + u)
    bound = exact(norms) * exact(lam) * factor
    if not exact_products:
        bound = bound + exact(np.abs(products).sum(axis=-1)) * (u * slack)
    return np.asarray(bound.hi)


def _sum_of_norms(products: Floats) -> Floats:
    """Sum the norms of the `t` largest terms over ``t = 2 ... n``, scaled so that no square underflows."""
    scale = np.frexp(np.abs(products).max(axis=-1, initial=0.0))[1]
    squares = np.sort(np.square(np.ldexp(products, -scale[..., None])), axis=-1)[..., ::-1]
    norms = np.sqrt(np.cumsum(squares, axis=-1))[..., 1:].sum(axis=-1)
    return np.asarray(np.ldexp(norms, scale))


def hoeffding_quantile(lam: float) -> float:
    """Return an upper bound of ``2 * exp(-lam^2 / 2)``: how often a random-sign sum exceeds `lam` norms.

    Raises
    ------
    ValueError
        If `lam` is not finite.
    """
    if not isfinite(lam):
        raise ValueError(f"`lam` = {lam}: use a finite number")
    return float((2 * elementary.exp(exact(lam) * exact(lam) * Fraction(-1, 2))).hi)
