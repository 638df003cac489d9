"""Drawing whole strata, and the generators that fill one tensor at a time."""

from __future__ import annotations

import hashlib
from fractions import Fraction
from importlib.resources import files

import numpy as np
import pytest

from kernelcontracts.formats.arrays import bits, to_f64
from kernelcontracts.formats.facts import Format, format_named
from kernelcontracts.lang.builtins import TABLE
from kernelcontracts.lang.decl import Operator, Plan
from kernelcontracts.lang.parse import parse
from kernelcontracts.lang.source import Source
from kernelcontracts.numerics.rounding import representable, round_to
from kernelcontracts.strata import draw as room
from kernelcontracts.strata.bits import Words
from kernelcontracts.strata.draw import draw
from kernelcontracts.strata.errors import NotApplicable, StratumError
from kernelcontracts.strata.generators import EACH, JOINT, PARAMETERS, Context
from kernelcontracts.strata.problem import Problem
from kernelcontracts.strata.shapes import shapes


def declarations(*path):
    root = files("kernelcontracts") / "library"
    text = root.joinpath(*path).read_text(encoding="utf-8")
    return {d.name: d for d in parse(Source("library", text)).file.declarations}


OPERATORS = {**declarations("ops", "accumulations.kc"), **declarations("ops", "rows.kc")}
PLANS = declarations("plans", "plans.kc")
KEY = b"key"


def stratum(text):
    source = f"kernel-contracts 0.1\nmodule test\n\nplan p @1.0.0 {{\n  inputs s: {text}\n}}\n"
    (plan,) = parse(Source("test", source)).file.declarations
    return plan.strata[0]


def softmax(text, *, L=(4,), N=37, fmt="f32", key=KEY):
    found = draw(
        stratum(text),
        operator=OPERATORS["softmax"],
        shape={"L": L, "N": N},
        types={"X": fmt, "Y": fmt},
        key=key,
    )
    return found["X"]


def gather(text, *, V=7, D=3, N=50, fmt="f16"):
    types = {"table": fmt, "idx": "i64", "out": fmt}
    shape = {"V": V, "D": D, "N": N}
    return draw(stratum(text), operator=OPERATORS["gather_rows"], shape=shape, types=types, key=KEY)


def matmul(text, *, shape=None, types=("f32", "f32", "f32"), key=KEY):
    shape = shape or {"L": (), "M": 3, "N": 4, "K": 5}
    return draw(
        stratum(text),
        operator=OPERATORS["matmul"],
        shape=shape,
        types=dict(zip("ABC", types, strict=True)),
        key=key,
    )


def small_shape(operator):
    sizes = {"L": (2,), "M": 3, "N": 5, "K": 6, "V": 4, "D": 2}
    setting = next(s.value for s in PLANS[operator.plan.name].settings if s.label == "shapes")
    names = shapes(setting, operator=operator, seed_words=b"")[0]
    return {name: sizes[name] for name in names}


@pytest.mark.parametrize("name", sorted(n for n, d in OPERATORS.items() if isinstance(d, Operator)))
def test_every_shipped_stratum_fills_every_input_of_its_operator(name):
    operator = OPERATORS[name]
    plan = PLANS[operator.plan.name]
    assert isinstance(plan, Plan)
    types = {p.name: "i64" if p.element == "i64" else "bf16" for p in (*operator.inputs, *operator.outputs)}
    for item in plan.strata:
        found = draw(item, operator=operator, shape=small_shape(operator), types=types, key=KEY)
        assert list(found) == [p.name for p in operator.inputs]


def test_equal_arguments_draw_equal_bits_and_any_change_draws_others():
    text = "A, B ~ normal(0, 1)"
    base = bits(matmul(text)["A"]).tobytes()
    assert bits(matmul(text)["A"]).tobytes() == base
    assert bits(matmul(text, key=b"other")["A"]).tobytes() != base
    assert bits(matmul(text, types=("f32", "f32", "f16"))["A"]).tobytes() != base
    wider = matmul(text, shape={"L": (), "M": 3, "N": 5, "K": 5})
    assert bits(wider["A"]).tobytes() != base


def test_factors_drawn_by_one_generator_are_independent():
    found = matmul("A, B ~ normal(0, 1)", shape={"L": (), "M": 5, "N": 5, "K": 5})
    assert not np.array_equal(found["A"], found["B"])


@pytest.mark.parametrize(
    "shape", [{"L": (0,), "M": 3, "N": 4, "K": 5}, {"L": (), "M": 3, "N": 4, "K": 0}, {"L": (), "M": 0, "N": 4, "K": 5}]
)
@pytest.mark.parametrize("name", sorted(JOINT))
def test_problems_without_products_have_zero_factors(name, shape):
    args = {"ints": "24", "swamp": "24", "identity": "A"}.get(name, "")
    found = matmul(f"A, B ~ {name}({args})", shape=shape)
    assert found["A"].shape == (*shape["L"], shape["M"], shape["K"])
    assert found["B"].shape == (*shape["L"], shape["K"], shape["N"])
    assert not np.any(found["A"])
    assert not np.any(found["B"])


@pytest.mark.parametrize("name", sorted(EACH))
def test_generators_of_one_tensor_fill_empty_and_single_entries(name):
    inner = "normal(0, 1)"
    text = {
        "uniform": "uniform(0, 1)",
        "normal": inner,
        "on_grid": f"on_grid({inner}, 1 / 4)",
        "one_hot": "one_hot(0, 5)",
        "equal_maxima": "equal_maxima(-4)",
        "integers": "integers(0, 3)",
        "inject": f"inject({inner}, {{1, 2}})",
    }.get(name, f"{name}()")
    for N in (0, 1, 2):
        assert softmax(f"X ~ {text}", N=N).shape == (4, N)
    assert softmax(f"X ~ {text}", L=(), N=3).shape == (3,)


def test_continuous_values_are_rounded_once_to_the_format():
    x = softmax("X ~ uniform(-3, 5)", fmt="bf16", N=400)
    values = to_f64(x)
    assert values.min() >= -3
    assert values.max() <= 5
    assert np.array_equal(values, round_to(values, format_named("bf16")))
    # all of bf16's numbers between 2 and 4 are as likely: about 1 / 4 of the draws lie there
    assert 0.2 < np.mean((values >= 2) & (values < 4)) < 0.3


def test_normal_has_the_mean_and_deviation_that_were_asked_for():
    x = to_f64(softmax("X ~ normal(3, 1 / 2)", N=20000))
    assert abs(x.mean() - 3) < 5 * 0.5 / x.size**0.5
    assert abs(x.std() - 0.5) < 5 * 0.5 / (2 * x.size) ** 0.5


@pytest.mark.parametrize("fmt", ["f32", "f16", "bf16"])
def test_gridded_values_stay_on_their_grid_in_every_format(fmt):
    x = to_f64(softmax("X ~ on_grid(normal(0, 1), 1 / 64)", N=2000, fmt=fmt)) * 64
    assert np.array_equal(x, np.rint(x))
    assert np.unique(x).size > 100


def test_a_grid_that_rounding_would_leave_is_refused():
    with pytest.raises(StratumError, match="3"):
        softmax("X ~ on_grid(normal(0, 1), 3)")


def test_one_entry_of_each_row_is_hot():
    x = to_f64(softmax("X ~ one_hot(-2, 30000)", N=11, L=(40,)))
    assert (np.count_nonzero(x == 30000, axis=1) == 1).all()
    assert (np.count_nonzero(x == -2, axis=1) == 10).all()
    assert len(set(np.argmax(x, axis=1).tolist())) > 5


def test_the_number_of_equal_maxima_is_a_power_of_two_and_tails_occur():
    x = to_f64(softmax("X ~ equal_maxima(-200)", N=37, L=(60,)))
    counts = np.count_nonzero(x == 0, axis=1)
    assert set(counts.tolist()) == {1, 2, 4, 8, 16, 32}
    assert set(np.unique(x)) == {0, -200}
    odd = x[1::2]
    assert all((row[37 - c :] == 0).all() for row, c in zip(odd, counts[1::2], strict=True))
    assert any(row[0] == 0 for row in x[::2])


def test_random_signs_are_fair_and_magnitudes_leave_headroom():
    found = matmul("A, B ~ random_sign()", shape={"L": (), "M": 40, "N": 3, "K": 1000}, types=("f16", "f16", "f16"))
    a, b = to_f64(found["A"]), to_f64(found["B"])
    assert abs(np.mean(np.sign(a))) < 5 / a.size**0.5
    assert (np.abs(a) @ np.abs(b)).max() <= float(format_named("f16").maxfinite) / 4


def test_random_signs_need_no_contraction():
    assert np.abs(to_f64(softmax("X ~ random_sign()"))).max() < 8


@pytest.mark.parametrize("fmt", ["f64", "f32", "f16", "bf16", "f8e4m3", "f8e5m2"])
def test_bit_patterns_are_finite_with_a_negative_zero_and_a_subnormal(fmt):
    table = gather("table ~ bit_patterns(); idx ~ integers(0, V - 1)", V=40, D=40, fmt=fmt)["table"]
    values = to_f64(table)
    assert np.isfinite(values).all()
    assert (np.signbit(values) & (values == 0)).any()
    small = np.abs(values[values != 0])
    assert (small < float(format_named(fmt).minnormal)).any()
    assert 0.4 < np.mean(np.signbit(values)) < 0.6


def test_bit_patterns_of_eight_bits_meet_every_finite_number():
    table = gather("table ~ bit_patterns(); idx ~ integers(0, V - 1)", V=80, D=80, fmt="f8e4m3")["table"]
    assert len(set(bits(table).ravel().tolist())) == 254


def test_integers_fill_a_closed_range_with_dimensions_in_it():
    idx = gather("table ~ normal(1, 1); idx ~ integers(0, V - 1)")["idx"]
    assert idx.dtype == np.int64
    assert set(idx.tolist()) == set(range(7))


@pytest.mark.parametrize("N", [2, 3, 50, 129])
def test_every_injected_value_occurs(N):
    idx = gather("table ~ normal(1, 1); idx ~ inject(integers(0, V - 1), {4 * V, -4 * V})", N=N)["idx"]
    assert {28, -28} <= set(idx.tolist())
    assert set(idx.tolist()) <= {28, -28, *range(7)}
    # the rest is a sixteenth at most
    assert np.sum(np.abs(idx) == 28) <= 2 + N // 16


def test_a_single_entry_takes_one_of_two_injected_values():
    idx = gather("table ~ normal(1, 1); idx ~ inject(integers(0, V - 1), {V, -1})", N=1)["idx"]
    assert idx.tolist() in ([7], [-1])


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("X ~ gaussian(0, 1)", "gaussian"),
        ("X ~ normal(0)", "mean, deviation"),
        ("X ~ normal(0, 1, 2)", "mean, deviation"),
        ("X ~ normal(0, -1)", "-1"),
        ("X ~ uniform(2, 1)", "uniform"),
        ("Z ~ normal(0, 1)", "Z"),
        ("X ~ normal(0, 1); X ~ normal(0, 1)", "twice"),
        ("X ~ normal(Q, 1)", "Q"),
        ("X ~ on_grid(wide(), 1)", "wide"),
        ("X ~ inject(normal(0, 1), 3)", "set"),
    ],
)
def test_declarations_that_make_no_sense_are_refused_in_one_line(text, word):
    with pytest.raises(StratumError, match=word) as caught:
        softmax(text)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("A ~ ints(24); B ~ ints(24)", "together"),
        ("A, B ~ ints(99)", "99"),
        ("A, B ~ identity(C)", "`A` or `B`"),
        ("A ~ normal(0, 1)", "`B`"),
    ],
)
def test_products_must_be_drawn_whole(text, word):
    with pytest.raises(StratumError, match=word):
        matmul(text)


def test_floating_numbers_for_indices_are_refused():
    with pytest.raises(StratumError, match="integers"):
        gather("table ~ normal(1, 1); idx ~ normal(0, 1)")
    with pytest.raises(StratumError, match="integers"):
        gather("table ~ normal(1, 1); idx ~ bit_patterns()")
    with pytest.raises(StratumError, match="fraction"):
        gather("table ~ normal(1, 1); idx ~ inject(integers(0, 3), {1 / 2})")


@pytest.mark.parametrize(
    ("text", "fmt"),
    [
        ("X ~ uniform(-1000, 1000)", "f8e4m3"),
        ("X ~ integers(0, 3000)", "bf16"),
        ("X ~ integers(0, N - 38)", "f32"),
        ("X ~ ints(24)", "f32"),
    ],
)
def test_what_cannot_exist_is_not_applicable_for_a_stated_reason(text, fmt):
    with pytest.raises(NotApplicable) as caught:
        softmax(text, fmt=fmt)
    assert str(caught.value)


def test_every_generator_has_parameters_and_is_of_one_kind():
    assert set(JOINT) | set(EACH) == set(PARAMETERS)
    assert not set(JOINT) & set(EACH)


def test_arguments_may_be_named():
    named = softmax("X ~ normal(deviation = 2, mean = 1)")
    assert np.array_equal(named, softmax("X ~ normal(1, 2)"))


def test_the_room_names_its_outcomes_beside_its_door():
    assert room.NotApplicable is NotApplicable
    assert room.StratumError is StratumError


GOLDEN = {
    "X ~ uniform(-3, 5)": "1232f25f6966e5e8",
    "X ~ normal(0, 1)": "14b5db82e9e1e70f",
    "X ~ random_sign()": "8267c49c8cd79295",
    "X ~ on_grid(normal(0, 1), 1 / 64)": "2a98c899cee110bc",
    "X ~ one_hot(0, 30000)": "c60ddc9168ef4746",
    "X ~ equal_maxima(-200)": "687f3d8922fb3d0e",
    "X ~ bit_patterns()": "c988c92e13ed965b",
    "X ~ integers(-5, 5)": "f7357336ea10d36e",
    "X ~ inject(normal(0, 1), {9, -9})": "5b1a41c175e9ee62",
}


@pytest.mark.parametrize("text", GOLDEN)
def test_generators_draw_the_recorded_bits(text):
    drawn = bits(softmax(text, fmt="bf16"))
    assert hashlib.sha256(drawn.astype("<u2").tobytes()).hexdigest()[:16] == GOLDEN[text]


def test_a_normal_deviate_is_the_words_own_up_to_one_rounding():
    x = softmax("X ~ normal(0, 1)", L=(), N=1)
    label = "stratum s / L=(), N=1 / X=f32, Y=f32"
    z = Words(KEY).child(label).child("X").child("X").normal("normal", (1,))
    assert Fraction(float(x[0])) == Fraction(float(np.float32(z[0])))


def with_bias():
    text = (
        "kernel-contracts 0.1\nmodule test\n\n"
        "operator biased(A: T[M, K], B: T[K, N], D: T[M]) -> C: T[M, N] {\n"
        "  meaning C[m, n] = sum[k < K](A[m, k] * B[k, n])\n}\n"
    )
    (operator,) = parse(Source("test", text)).file.declarations
    return operator


def test_inputs_that_are_no_factors_are_drawn_on_their_own():
    types = dict.fromkeys("ABCD", "f16")
    shape = {"M": 3, "N": 4, "K": 50000}
    found = draw(
        stratum("A, B ~ random_sign(); D ~ random_sign()"), operator=with_bias(), shape=shape, types=types, key=KEY
    )
    # the factors shrink to leave headroom for fifty thousand terms, the third input does not
    assert np.abs(to_f64(found["D"])).max() > 0.25
    assert np.abs(to_f64(found["A"])).max() <= 8 * 2.0**-4
    found = draw(stratum("A, B ~ ints(11); D ~ one_hot(0, 1)"), operator=with_bias(), shape=shape, types=types, key=KEY)
    assert np.count_nonzero(to_f64(found["D"])) == 1


def test_a_shape_that_leaves_a_dimension_out_is_refused():
    with pytest.raises(StratumError, match="`K`"):
        matmul("A, B ~ ints(24)", shape={"L": (), "M": 1, "N": 1})
    with pytest.raises(StratumError, match="`L`"):
        matmul("A, B ~ normal(0, 1)", shape={"M": 1, "N": 1, "K": 1})


def test_integers_beyond_62_bits_are_refused():
    with pytest.raises(StratumError, match="62 bits"):
        gather("table ~ normal(1, 1); idx ~ integers(0, 2 ^ 62)")


TINY = Format("tiny", 2, 0, 1, Fraction(3), storage_bits=4)


@pytest.mark.parametrize("name", sorted(JOINT))
@pytest.mark.parametrize("rhs", [TINY, None], ids=["product", "sum"])
@pytest.mark.parametrize("out", ["f32", "f16"])
def test_formats_of_two_binades_either_hold_a_stratum_or_say_why_not(name, rhs, out):
    problem = Problem(TINY, rhs, format_named(out), 2, 3, 9, 1 if rhs is None else 4, Words(KEY))
    operator = OPERATORS["reduce_sum" if rhs is None else "matmul"]
    tensor = operator.inputs[0].name
    args = {"ints": "24", "swamp": "2", "identity": tensor}.get(name, "")
    call = stratum(f"{tensor} ~ {name}({args})").draws[0].generator
    context = Context(operator, {}, {}, Words(KEY))
    try:
        factors = JOINT[name](problem, context, call.args)
    except NotApplicable as reason:
        message = str(reason)
        assert "tiny" in message or out in message
        return
    for values in factors:
        assert values is None or representable(values, TINY).all()


def test_the_language_and_this_room_know_the_same_generators():
    known = {name: (len(p), len(p)) for name, p in PARAMETERS.items()}
    assert known == {name: (row.least, row.most) for (place, name), row in TABLE.items() if place == "generator"}
