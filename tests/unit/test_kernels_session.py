from __future__ import annotations

import numpy as np
import pytest

from kernelcontracts.kernels.address import Address, parse_address
from kernelcontracts.kernels.limits import default_memory
from kernelcontracts.kernels.observation import Outcome
from kernelcontracts.kernels.session import KernelLoadError, LayoutError, Limits, open_session
from kernelcontracts.lang.decl import Operator, Param

REDUCE = Operator("reduce_sum", (Param("X", "Tx", ()),), (Param("S", "Ts", ()),))
TYPES = {"X": "f32", "S": "f32"}


def address_of(tmp_path, text, target="f"):
    path = tmp_path / "mine.py"
    path.write_text(text)
    return Address("file", target, str(path))


def call(session, X, **options):
    return session.call({"X": X}, types=TYPES, output_shapes={"S": X.shape[:-1]}, **options)


@pytest.fixture(scope="module")
def numpy_session():
    with open_session(parse_address("numpy:reduce_sum"), REDUCE) as session:
        yield session


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("import no_such_module", "raised ModuleNotFoundError when it was loaded (line 1): No module named"),
        ("x = 1\n1/0", "raised ZeroDivisionError when it was loaded (line 2)"),
        ("def f(:", "has a syntax error in line 1"),
        ("def g(X): pass\ndef h(X): pass", "has no function `f`; it has `g`, `h`"),
        ("def ff(X): pass", "did you mean `ff`?"),
        ("f = 3", "`f` in `mine.py` is a `int`, not a function"),
        ("raise SystemExit(3)", "raised SystemExit when it was loaded"),
        ("import os; print('last words', flush=True); os._exit(0)", "exit status 0; its last line was `last words`"),
    ],
)
def test_a_file_that_cannot_be_loaded_says_why_in_one_line(tmp_path, text, words):
    with pytest.raises(KernelLoadError) as caught:
        open_session(address_of(tmp_path, text), REDUCE)

    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(KernelLoadError, match=r"there is no file `.*none\.py`"):
        open_session(Address("file", "f", str(tmp_path / "none.py")), REDUCE)


def test_an_unknown_adapter_is_guessed():
    with pytest.raises(KernelLoadError, match="there is no adapter `nunpy`; did you mean `numpy`"):
        open_session(parse_address("nunpy:matmul"), REDUCE)


def test_a_file_that_never_finishes_loading_is_given_up(tmp_path):
    address = address_of(tmp_path, "import time\nwhile True: time.sleep(1)")
    # long enough for the worker to get as far as the file or not: either way it does not answer
    with pytest.raises(KernelLoadError, match="did not return within 1 s"):
        open_session(address, REDUCE, limits=Limits(start_seconds=1.0))


def test_a_kernel_file_imports_its_neighbours_and_reads_beside_itself(tmp_path):
    (tmp_path / "neighbour.py").write_text("FACTOR = 2\n")
    (tmp_path / "data.txt").write_text("3")
    address = address_of(
        tmp_path,
        "import neighbour, pathlib\n"
        "D = int((pathlib.Path(__file__).parent / 'data.txt').read_text())\n"
        "def f(X): return X.sum(-1) * X.dtype.type(neighbour.FACTOR * D)\n",
    )
    with open_session(address, REDUCE) as session:
        assert call(session, np.ones((2, 3), np.float32)).outputs["S"].tolist() == [18, 18]
        assert session.environment["file"].endswith("mine.py")
        assert len(session.environment["file_sha256"]) == 64


def test_the_relative_path_of_a_file_is_the_callers(tmp_path, monkeypatch):
    address_of(tmp_path, "def f(X): return X.sum(-1)")
    monkeypatch.chdir(tmp_path)
    with open_session(parse_address("mine.py:f"), REDUCE) as session:
        assert call(session, np.ones((2, 3), np.float32)).outcome is Outcome.COMPLETED


def test_a_library_function_without_a_signature_is_called_without_out(tmp_path):
    operator = Operator("matmul", (Param("A", "T", ()), Param("B", "T", ())), (Param("C", "T", ()),))
    address = address_of(tmp_path, "import operator\nf = operator.matmul")
    A = np.arange(6, dtype=np.float64).reshape(2, 3)
    with open_session(address, operator) as session:
        seen = session.call({"A": A, "B": A.T}, types=dict.fromkeys("ABC", "f64"), output_shapes={"C": (2, 2)})
    assert not seen.owned
    assert np.array_equal(seen.outputs["C"], A @ A.T)


def test_what_is_returned_beside_out_is_noted_once(tmp_path):
    address = address_of(
        tmp_path, "import numpy as np\ndef f(X, out):\n    np.sum(X, axis=-1, out=out)\n    return 3\n"
    )
    with open_session(address, REDUCE) as session:
        for _ in range(2):
            assert call(session, np.ones((2, 3), np.float32)).outputs["S"].tolist() == [3, 3]
        assert session.notes == ["returned something besides writing to `out`; only `out` counts"]


def test_a_lost_worker_and_its_price_are_noted(tmp_path):
    address = address_of(tmp_path, "import os\ndef f(X):\n    os._exit(1)\n")
    with open_session(address, REDUCE) as session:
        outcomes = {call(session, np.ones((2, 3), np.float32)).outcome for _ in range(3)}

    assert outcomes == {Outcome.DIED}
    assert sum(note.startswith("starting a new worker takes") for note in session.notes) == 1


def test_a_worker_that_cannot_start_again_is_a_death_not_an_error(tmp_path):
    address = address_of(tmp_path, "import os\ndef f(X):\n    os._exit(1)\n")
    with open_session(address, REDUCE) as session:
        call(session, np.ones((2, 3), np.float32))
        (tmp_path / "mine.py").unlink()
        seen = call(session, np.ones((2, 3), np.float32))

    assert seen.outcome is Outcome.DIED
    assert "could not be started again" in seen.message


def test_the_callers_inputs_stay_the_callers(numpy_session):
    X = np.ones((3, 4), np.float32)
    X.flags.writeable = False
    seen = call(numpy_session, X)

    assert seen.outcome is Outcome.COMPLETED
    assert not np.shares_memory(seen.outputs["S"], X)
    first = seen.outputs["S"].copy()
    call(numpy_session, X * 2)
    assert np.array_equal(seen.outputs["S"], first), "a later call must not reach an earlier result"


def test_a_larger_case_after_a_smaller_one_finds_room(numpy_session):
    for rows in (2, 50_000, 3, 200_000):
        X = np.ones((rows, 8), np.float32)
        assert (call(numpy_session, X).outputs["S"] == 8).all()


def test_inputs_need_not_be_contiguous_at_the_caller(numpy_session):
    X = np.arange(24, dtype=np.float32).reshape(4, 6).T[::2]

    assert np.array_equal(call(numpy_session, X).outputs["S"], X.sum(-1))


def test_an_unknown_layout_is_the_callers_error(numpy_session):
    with pytest.raises(LayoutError, match="`diagonal`"):
        call(numpy_session, np.ones((2, 3), np.float32), layouts={"X": "diagonal"})


def test_an_input_that_is_not_of_its_declared_format_is_the_callers_error(numpy_session):
    with pytest.raises(TypeError, match="the input `X` is an array of float64, declared as f32"):
        call(numpy_session, np.ones((2, 3)))


def test_the_fence_that_stood_is_told(numpy_session):
    fences = {call(numpy_session, np.ones((2, 3), np.float32)).fence for _ in range(3)}

    assert len(fences) == 3


def test_the_environment_says_what_bits_depend_on(monkeypatch):
    monkeypatch.setenv("OPENBLAS_CORETYPE", "Haswell")
    with open_session(parse_address("numpy:reduce_sum"), REDUCE) as session:
        environment = session.environment

    assert environment["OPENBLAS_CORETYPE"] == "Haswell"
    assert environment["numpy"] == np.__version__
    assert "time limit" in environment["isolation"]


def test_the_default_limits_leave_room_for_the_parent():
    assert 0 < default_memory() <= 4 << 30
    assert Limits().memory_bytes == default_memory()
    assert Limits().seconds == 60


def test_a_closed_session_can_be_closed_again(numpy_session):
    session = open_session(parse_address("numpy:reduce_sum"), REDUCE)
    session.close()
    session.close()
