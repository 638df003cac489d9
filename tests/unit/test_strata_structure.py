"""Reading contractions off meanings, and laying matrices out."""

from __future__ import annotations

from importlib.resources import files

import numpy as np
import pytest

from kernelcontracts.lang.decl import Operator
from kernelcontracts.lang.parse import parse
from kernelcontracts.lang.source import Source
from kernelcontracts.strata.arguments import integer, rational
from kernelcontracts.strata.errors import NotApplicable, StratumError
from kernelcontracts.strata.structure import contraction, dims_of


def operators(text):
    file = parse(Source("test", text)).file
    return {d.name: d for d in file.declarations if isinstance(d, Operator)}


def shipped():
    root = files("kernelcontracts") / "library" / "ops"
    found = {}
    for name in ("accumulations.kc", "rows.kc"):
        found.update(operators((root / name).read_text(encoding="utf-8")))
    return found


def declared(signature, meaning):
    text = f"kernel-contracts 0.1\nmodule test\n\noperator op({signature} {{\n  meaning {meaning}\n}}\n"
    return operators(text)["op"]


def test_a_matrix_product_has_a_batch_rows_and_columns():
    found = contraction(shipped()["matmul"])
    assert (found.output, found.lhs, found.rhs, found.reduced) == ("C", "A", "B", "K")
    assert (found.batch, found.rows, found.columns) == (("L",), ("M",), ("N",))
    assert found.sizes({"L": (2, 3), "M": 4, "N": 5, "K": 6}) == (6, 4, 6, 5)


def test_a_sum_has_rows_only():
    found = contraction(shipped()["reduce_sum"])
    assert (found.lhs, found.rhs, found.reduced) == ("X", None, "N")
    assert (found.batch, found.rows, found.columns) == ((), ("L",), ())
    assert found.sizes({"L": (), "N": 9}) == (1, 1, 9, 1)


@pytest.mark.parametrize("name", ["softmax", "gather_rows"])
def test_other_operators_are_no_contractions(name):
    with pytest.raises(NotApplicable, match=name):
        contraction(shipped()[name])


def test_factors_stored_transposed_are_laid_out_as_stored():
    operator = declared(
        "W: T[N, *L, K], X: T[K, M, *L]) -> Y: T[*L, N, M]",
        "Y[*l, n, m] = sum[k < K](W[n, *l, k] * X[k, m, *l])",
    )
    found = contraction(operator)
    assert (found.batch, found.rows, found.columns) == (("L",), ("N",), ("M",))
    shape = {"L": (2, 3), "N": 4, "M": 5, "K": 6}
    left, right = np.arange(6 * 4 * 6.0).reshape(6, 4, 6), np.arange(6 * 6 * 5.0).reshape(6, 6, 5)
    w, x = found.lay_lhs(left, shape), found.lay_rhs(right, shape)
    assert w.shape == dims_of(operator.inputs[0], shape) == (4, 2, 3, 6)
    assert x.shape == dims_of(operator.inputs[1], shape) == (6, 5, 2, 3)
    assert w[1, 1, 2, 3] == left[5, 1, 3]
    assert x[3, 4, 1, 2] == right[5, 3, 4]
    assert np.array_equal(found.take_lhs(w, shape), left)
    assert np.array_equal(found.take_rhs(x, shape), right)


@pytest.mark.parametrize(
    ("signature", "meaning"),
    [
        ("X: T[*L, N]) -> Y: T[*L]", "Y[*l] = max[i < N](X[*l, i])"),
        ("X: T[*L, N]) -> Y: T[*L]", "Y[*l] = sum[i < N](X[*l, i] + X[*l, i])"),
        ("X: T[*L, N]) -> Y: T[*L]", "Y[*l] = sum[i < N](X[*l, i] * X[*l, i])"),
        ("X: T[M, N], Z: T[N]) -> Y: T[M]", "Y[m] = sum[i < N](X[m, i] * exp(Z[i]))"),
        ("X: T[N], Z: T[M]) -> Y: T[M]", "Y[m] = sum[i < N](X[i] * Z[m])"),
        ("X: T[*L, N, N]) -> Y: T[*L]", "Y[*l] = sum[i < N](X[*l, i, i])"),
    ],
)
def test_meanings_that_are_no_sum_of_products_are_not_applicable(signature, meaning):
    operator = declared(signature, meaning)
    with pytest.raises(NotApplicable):
        contraction(operator)


def value_of(text):
    source = f"kernel-contracts 0.1\nmodule test\n\nplan p @1.0.0 {{\n  seeds: {text}\n}}\n"
    return parse(Source("test", source)).file.declarations[0].settings[0].value


def test_arguments_are_evaluated_exactly_with_dimensions():
    dims = {"V": 7}
    assert rational(value_of("1 / 64"), dims) * 64 == 1
    assert integer(value_of("V - 1"), dims) == 6
    assert integer(value_of("-4 * V"), dims) == -28
    assert integer(value_of("2 ^ 10 + 0.5 * 2"), dims) == 1025


@pytest.mark.parametrize("text", ["1 / 0", "W + 1", "2 ^ 100000", "exp(1)", "0 ^ (-1)"])
def test_arguments_that_mean_nothing_are_refused_in_one_line(text):
    with pytest.raises(StratumError) as caught:
        rational(value_of(text), {"V": 7})
    assert "\n" not in str(caught.value)


def test_a_fraction_where_a_whole_number_is_needed_is_refused():
    with pytest.raises(StratumError, match="1/2"):
        integer(value_of("1 / 2"), {})
