"""What every adapter owes the engine, whatever library stands behind it."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from kernelcontracts.formats.arrays import bits, dtype_of
from kernelcontracts.kernels.address import parse_address
from kernelcontracts.kernels.observation import Outcome
from kernelcontracts.kernels.session import KernelLoadError, Limits, open_session
from kernelcontracts.lang.decl import Operator, Param

FLOATS = ("f64", "f32", "f16", "bf16")
SMALL = ("f8e4m3", "f8e5m2")

OPERATORS = {
    "matmul": Operator("matmul", (Param("A", "Ta", ()), Param("B", "Tb", ())), (Param("C", "Tc", ()),)),
    "reduce_sum": Operator("reduce_sum", (Param("X", "Tx", ()),), (Param("S", "Ts", ()),)),
    "softmax": Operator("softmax", (Param("X", "Tx", ()),), (Param("Y", "Ty", ()),)),
    "gather_rows": Operator(
        "gather_rows", (Param("table", "T", ()), Param("idx", "i64", ())), (Param("out", "T", ()),)
    ),
}

ADAPTERS = ["numpy", pytest.param("torch", marks=pytest.mark.torch), "emulator"]


@pytest.fixture(scope="module")
def sessions():
    """One session per adapter and operator, opened when it is first asked for."""
    opened = {}

    def session_for(adapter, operator):
        if adapter == "torch":
            pytest.importorskip("torch")
        key = (adapter, operator)
        if key not in opened:
            # importing a framework on a busy machine takes its time
            limits = Limits(seconds=60.0, start_seconds=120.0)
            address = parse_address(f"{adapter}:{operator}")
            opened[key] = open_session(address, OPERATORS[operator], limits=limits)
        return opened[key]

    yield session_for
    for session in opened.values():
        session.close()


@pytest.fixture(params=ADAPTERS)
def adapter(request):
    return request.param


def integers(shape, fmt, seed=0):
    """Integers from -2 to 2: with eight terms, products and sums are exact in every format and order."""
    rng = np.random.default_rng(seed)
    return rng.integers(-2, 3, shape).astype(np.float64).astype(dtype_of(fmt))


def cases(operator):
    """All typings of an operator's declaration."""
    if operator == "matmul":
        for a, b, c in itertools.product(FLOATS + SMALL, FLOATS + SMALL, FLOATS):
            yield {"A": a, "B": b, "C": c}
    elif operator == "reduce_sum":
        for x, s in itertools.product(FLOATS + SMALL, FLOATS):
            yield {"X": x, "S": s}
    elif operator == "softmax":
        for x, y in itertools.product(("f32", "f16", "bf16"), repeat=2):
            yield {"X": x, "Y": y}
    else:
        for t in FLOATS + SMALL:
            yield {"table": t, "idx": "i64", "out": t}


def inputs_for(operator, types, seed=0):
    if operator == "matmul":
        return {"A": integers((2, 3, 8), types["A"], seed), "B": integers((2, 8, 5), types["B"], seed + 1)}
    if operator == "reduce_sum":
        return {"X": integers((4, 8), types["X"], seed)}
    if operator == "softmax":
        # equal numbers: each of eight gets an eighth, exactly
        return {"X": np.full((3, 8), 1.5).astype(dtype_of(types["X"]))}
    idx = np.array([2, 0, 5, 2], np.int64)
    return {"table": integers((6, 7), types["table"], seed), "idx": idx}


def answer(operator, inputs, types):
    """Return the exact result; nothing here rounds."""
    wide = {name: array.astype(np.float64) for name, array in inputs.items() if name != "idx"}
    name = OPERATORS[operator].outputs[0].name
    if operator == "matmul":
        value = wide["A"] @ wide["B"]
    elif operator == "reduce_sum":
        value = wide["X"].sum(axis=-1)
    elif operator == "softmax":
        value = np.full(wide["X"].shape, 0.125)
    else:
        value = wide["table"][inputs["idx"]]
    return name, value.astype(dtype_of(types[name]))


def call(session, operator, inputs, types, layouts=None):
    name, value = answer(operator, inputs, types)
    seen = session.call(inputs, types=types, output_shapes={name: value.shape}, layouts=layouts)
    return seen, name, value


def equal(found, expected):
    return found.dtype == expected.dtype and np.array_equal(bits(found + 0), bits(expected + 0))


@pytest.mark.parametrize("operator", OPERATORS)
def test_every_typing_is_computed_rightly_or_declined(sessions, adapter, operator):
    session = sessions(adapter, operator)
    completed = 0
    for types in cases(operator):
        inputs = inputs_for(operator, types)
        seen, name, value = call(session, operator, inputs, types)
        if seen.outcome is Outcome.DECLINED:
            assert seen.message, types
            assert not seen.outputs, types
            continue
        assert seen.outcome is Outcome.COMPLETED, (types, seen.message)
        # an empty sum of signed zeros may be either zero: adding 0 makes them one
        assert equal(seen.outputs[name], value), types
        completed += 1
    assert completed >= 3


@pytest.mark.parametrize("operator", OPERATORS)
def test_the_library_writes_the_declared_format_into_our_buffer(sessions, adapter, operator):
    session = sessions(adapter, operator)
    for types in cases(operator):
        seen, name, _ = call(session, operator, inputs_for(operator, types), types)
        if seen.outcome is Outcome.DECLINED:
            continue
        assert seen.owned
        assert seen.outputs[name].dtype == dtype_of(types[name])
        assert seen.stale == {name: False}, types
        assert all(seen.guards_unchanged.values()), types
        assert all(seen.inputs_unchanged.values()), types
        assert seen.alias == ""


@pytest.mark.parametrize("layout", ["fortran", "strided"])
@pytest.mark.parametrize("operator", OPERATORS)
def test_the_layout_in_memory_changes_no_exact_result(sessions, adapter, operator, layout):
    session = sessions(adapter, operator)
    for types in cases(operator):
        inputs = inputs_for(operator, types, seed=7)
        layouts = dict.fromkeys(inputs, layout)
        seen, name, value = call(session, operator, inputs, types, layouts)
        if seen.outcome is Outcome.DECLINED:
            continue
        assert seen.outcome is Outcome.COMPLETED, (types, seen.message)
        assert equal(seen.outputs[name], value), types
        assert all(seen.guards_unchanged.values()), types


@pytest.mark.parametrize(
    ("operator", "shapes"),
    [
        ("matmul", {"A": (0, 3), "B": (3, 2)}),
        ("matmul", {"A": (2, 0), "B": (0, 3)}),
        ("matmul", {"A": (0, 2, 3), "B": (0, 3, 2)}),
        ("reduce_sum", {"X": (0, 5)}),
        ("reduce_sum", {"X": (3, 0)}),
        ("softmax", {"X": (0, 4)}),
    ],
)
def test_empty_tensors_are_ordinary(sessions, adapter, operator, shapes):
    session = sessions(adapter, operator)
    inputs = {name: np.zeros(shape, np.float32) for name, shape in shapes.items()}
    output = OPERATORS[operator].outputs[0].name
    types = {**dict.fromkeys(inputs, "f32"), output: "f32"}
    seen, name, value = call(session, operator, inputs, types)

    assert seen.outcome is Outcome.COMPLETED, seen.message
    assert seen.outputs[name].shape == value.shape
    assert equal(seen.outputs[name], value)


def test_gathering_no_rows_gives_none(sessions, adapter):
    session = sessions(adapter, "gather_rows")
    inputs = {"table": np.ones((3, 4), np.float32), "idx": np.zeros(0, np.int64)}
    types = {"table": "f32", "idx": "i64", "out": "f32"}
    seen, name, _ = call(session, "gather_rows", inputs, types)

    assert seen.outcome is Outcome.COMPLETED, seen.message
    assert seen.outputs[name].shape == (0, 4)


def test_a_sum_without_leading_dimensions_is_a_scalar(sessions, adapter):
    seen, name, value = call(
        sessions(adapter, "reduce_sum"), "reduce_sum", {"X": np.ones(5, np.float32)}, {"X": "f32", "S": "f32"}
    )

    assert seen.outputs[name].shape == ()
    assert seen.outputs[name] == value == 5


def test_an_output_is_rounded_by_the_library_not_by_the_reader(sessions, adapter):
    """2049 needs twelve bits: f16 keeps eleven and rounds the tie to 2048."""
    inputs = {"A": np.array([[2048, 1]], np.float16), "B": np.ones((2, 1), np.float16)}
    session = sessions(adapter, "matmul")
    types = {"A": "f16", "B": "f16", "C": "f16"}
    seen = session.call(inputs, types=types, output_shapes={"C": (1, 1)})

    assert seen.outputs["C"].dtype == np.float16
    assert seen.outputs["C"][0, 0] == 2048


def test_special_numbers_cross_the_process_bit_for_bit(sessions, adapter):
    session = sessions(adapter, "gather_rows")
    for fmt in FLOATS + SMALL:
        width = dtype_of(fmt).itemsize
        patterns = np.frombuffer(bytes(range(256)) * width, f"u{width}").reshape(-1, 16)
        table = patterns.view(dtype_of(fmt))
        idx = np.arange(len(table))[::-1].astype(np.int64)
        types = {"table": fmt, "idx": "i64", "out": fmt}
        seen = session.call({"table": table, "idx": idx}, types=types, output_shapes={"out": table.shape})

        assert seen.outcome is Outcome.COMPLETED, (fmt, seen.message)
        found, expected = seen.outputs["out"], table[::-1]
        # a copy through the processor's registers may quieten a signalling NaN
        wide = [array.astype(np.float64) for array in (found, expected)]
        numbers = ~np.isnan(wide[1])
        assert np.array_equal(bits(found)[numbers], bits(expected)[numbers]), fmt
        assert np.isnan(wide[0][~numbers]).all(), fmt


def test_the_provenance_is_text(sessions, adapter):
    environment = sessions(adapter, "matmul").environment

    assert all(isinstance(k, str) and isinstance(v, str) for k, v in environment.items())
    assert {"python", "numpy", "platform", "isolation", "cpu"} <= environment.keys()


@pytest.mark.parametrize(
    ("address", "words"),
    [
        ("{}:no_such_function", "no_such_function"),
        ("{}:matmul?no_such_option=1", "no_such_option"),
        ("{}:reduce_sum", "reduce_sum"),
    ],
)
def test_an_address_that_cannot_be_served_says_what_is_wrong(adapter, address, words):
    if adapter == "torch":
        pytest.importorskip("torch")
    with pytest.raises(KernelLoadError, match=words) as caught:
        open_session(parse_address(address.format(adapter)), OPERATORS["matmul"])

    assert "\n" not in str(caught.value)
    assert "Traceback" not in str(caught.value)
