"""``u_operand passes kept add_depth gamma``: what a claim means for an error bound."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from kernelcontracts.evaluate import arithmetic
from kernelcontracts.evaluate.field import Logical, Tensor
from kernelcontracts.formats.facts import FORMATS
from kernelcontracts.lang import decisions
from kernelcontracts.numerics import rounding

if TYPE_CHECKING:
    from kernelcontracts.evaluate.scope import Scope
    from kernelcontracts.lang.expr import Call


def u_operand(call: Call, scope: Scope, evaluate: Any) -> Fraction:
    """Relative error of one operand under the claimed operand rounding."""
    return decisions.u_operand(evaluate(call.args[0], scope))


def passes(call: Call, scope: Scope, evaluate: Any) -> int:
    """How many partial products one product is made of."""
    return decisions.passes(evaluate(call.args[0], scope))


def kept(call: Call, scope: Scope, evaluate: Any) -> Logical:
    """Tell whether the claimed operand rounding changes none of these tensors, entry by entry of the whole call.

    A split keeps an operand exactly when the first part holds all of it, so that every other part is zero and
    each product is one product.
    """
    *tensors, rule = call.args
    choice = evaluate(rule, scope)
    if choice.name == "as_given":
        return Logical.known((), np.asarray(True))
    fmt = FORMATS[str(choice.args[0])]
    fits = all(bool(rounding.representable(_exact(evaluate(t, scope)), fmt).all()) for t in tensors)
    return Logical.known((), np.asarray(fits))


def _exact(value: Tensor) -> Any:
    return value.exact


def add_depth(call: Call, scope: Scope, evaluate: Any) -> int:
    """Additions on the longest path of the claimed summation tree (Higham 2002, section 4.2)."""
    order, n = (evaluate(arg, scope) for arg in call.args)
    return decisions.add_depth(order, int(n))


def gamma(call: Call, scope: Scope, evaluate: Any) -> Any:
    """Return n u / (1 - n u) (Higham 2002, lemma 3.1); the checks prove n u < 1 on the contract's domain."""
    n, unit = (evaluate(arg, scope) for arg in call.args)
    nu = arithmetic.binary("*", n, unit)
    return arithmetic.binary("/", nu, arithmetic.binary("-", Fraction(1), nu))


TABLE = {
    "u_operand": u_operand,
    "passes": passes,
    "kept": kept,
    "add_depth": add_depth,
    "gamma": gamma,
}
