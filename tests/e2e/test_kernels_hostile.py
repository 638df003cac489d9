from __future__ import annotations

import contextlib
import gc
import importlib.util
import os
import re
import socket
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from kernelcontracts.kernels.address import Address
from kernelcontracts.kernels.observation import Outcome
from kernelcontracts.kernels.session import Limits, open_session
from kernelcontracts.lang.decl import Operator, Param

KERNELS = Path(__file__).with_name("hostile_kernels.py")
OPERATOR = Operator("reduce_sum", (Param("X", "Tx", ()),), (Param("S", "Ts", ()),))
TYPES = {"X": "f32", "S": "f32"}
TRIGGER = 666.0

linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="Linux only")


def start(name, **limits):
    # 3 s is far above what a call needs on a busy machine, and short enough to wait for
    options = {"seconds": 3.0, "memory_bytes": 1 << 30, **limits}
    return open_session(Address("file", name, str(KERNELS)), OPERATOR, limits=Limits(**options))


def ask(session, X):
    return session.call({"X": X}, types=TYPES, output_shapes={"S": X.shape[:-1]})


def load_kernels():
    spec = importlib.util.spec_from_file_location("hostile_kernels", KERNELS)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def numbered(kernels):
    return {kernel.__name__: number for number, kernel in enumerate(kernels)}


SELECTABLE = numbered(load_kernels().SELECTABLE)
SELECTABLE_OUT = numbered(load_kernels().SELECTABLE_OUT)
NUMBERS = SELECTABLE | SELECTABLE_OUT


def good_input(name="", scale=1):
    X = (np.arange(12, dtype=np.float32).reshape(3, 4) + 1) * np.float32(scale)
    X[0, 1] = NUMBERS.get(name, 2)
    return X


def bad_input(name=""):
    X = good_input(name)
    X[0, 0] = TRIGGER
    return X


def is_right(observation, X):
    return (
        observation.outcome is Outcome.COMPLETED
        and np.array_equal(observation.outputs["S"], X.sum(axis=-1))
        and all(observation.inputs_unchanged.values())
        and all(held is not False for held in observation.guards_unchanged.values())
        and not any(observation.stale.values())
        and not observation.alias
    )


@pytest.fixture(scope="module")
def shared():
    """One worker each for the kernels that leave it alive: what one does must not reach the next."""
    with start("selected", seconds=30.0) as returning, start("selected_out") as writing:
        yield returning, writing


@pytest.fixture
def misbehave(shared):
    """Return what a bad call showed, after checking that the good calls around it are right."""

    def session_for(name, limits):
        if not limits and name in NUMBERS:
            return contextlib.nullcontext(shared[name in SELECTABLE_OUT])
        return start(name, **limits)

    def call(name, **limits):
        with session_for(name, limits) as session:
            before = ask(session, good_input(name))
            assert is_right(before, good_input(name)), before
            seen = ask(session, bad_input(name))
            for scale in (2, 3):
                X = good_input(name, scale)
                after = ask(session, X)
                assert is_right(after, X), after
        return seen

    return call


def runs(pid):
    try:
        return "Z" not in Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except OSError:
        return False


def wait_until(condition, seconds=10.0):
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


@pytest.mark.parametrize("name", ["honest", "honest_out", "reuses_its_workspace"])
def test_an_honest_kernel_is_right_whatever_came_before(misbehave, name):
    assert is_right(misbehave(name), bad_input(name))


@pytest.mark.parametrize("name", ["hangs", "hangs_in_c"])
def test_a_hang_ends_at_the_time_limit(misbehave, name):
    seen = misbehave(name, seconds=0.4)

    assert seen.outcome is Outcome.TIMED_OUT
    assert seen.message == "did not return within 0.4 s"
    assert seen.seconds < 3


@pytest.mark.parametrize(
    ("name", "kind", "words"),
    [
        ("exits_cleanly", "", "exit status 0"),
        ("kills_itself", "SIGKILL", "SIGKILL"),
        ("segfaults", "SIGSEGV", "memory that is not its own"),
        ("closes_all_files", "", "lost the channel"),
        ("forks_and_dies", "", "exit status 7"),
    ],
)
def test_the_end_of_the_process_is_told_in_plain_words(misbehave, name, kind, words):
    seen = misbehave(name)

    assert (seen.outcome, seen.kind) == (Outcome.DIED, kind)
    assert words in seen.message
    assert seen.outputs == {}
    assert seen.seconds < 2, "a death must be seen at once, not at the time limit"


@linux
def test_an_allocation_of_100_gib_raises_a_memory_error(misbehave):
    seen = misbehave("allocates_100_gib")

    assert (seen.outcome, seen.kind) == (Outcome.RAISED, "MemoryError") or (
        seen.outcome is Outcome.DIED and seen.kind == "memory limit"
    )


@linux
def test_resident_memory_is_watched_where_no_system_limit_counts_it(misbehave):
    seen = misbehave("fills_shared_memory", seconds=30.0, memory_bytes=200 << 20)

    assert (seen.outcome, seen.kind) == (Outcome.DIED, "memory limit")
    assert "limit 0.195 GiB" in seen.message


def test_a_written_input_is_seen(misbehave):
    seen = misbehave("writes_its_input")

    assert seen.outcome is Outcome.COMPLETED
    assert seen.inputs_unchanged == {"X": False}
    assert np.array_equal(seen.outputs["S"], bad_input("writes_its_input").sum(axis=-1))


@pytest.mark.parametrize("name", ["writes_past_its_output", "writes_before_its_output"])
def test_one_element_outside_the_output_is_seen(misbehave, name):
    seen = misbehave(name)

    assert seen.guards_unchanged == {"X": True, "S": False}
    assert seen.inputs_unchanged == {"X": True}
    assert seen.owned


@pytest.mark.parametrize("name", ["writes_nothing", "leaves_the_tail"])
def test_an_output_that_is_not_all_written_is_stale(misbehave, name):
    assert misbehave(name).stale == {"S": True}


def test_one_unwritten_element_of_a_new_array_is_stale(misbehave):
    seen = misbehave("returns_empty_memory")

    assert seen.stale == {"S": True}
    assert not seen.owned
    assert seen.guards_unchanged == {"X": True, "S": None}


def test_a_large_unwritten_tail_of_a_new_array_is_stale():
    X = np.ones((1 << 20, 1), np.float32)
    X[0, 0] = TRIGGER
    with start("returns_empty_memory") as session:
        seen = ask(session, X)

    assert seen.stale == {"S": True}


def test_a_returned_input_is_an_alias(misbehave):
    seen = misbehave("returns_its_input")

    assert (seen.outcome, seen.alias) == (Outcome.COMPLETED, "X")


@pytest.mark.parametrize("name", ["returns_the_last_result", "returns_a_frozen_last_result"])
def test_the_array_of_an_earlier_call_is_stale(misbehave, name):
    assert misbehave(name).stale == {"S": True}


def test_patched_libraries_decide_nothing():
    with start("patches_everything") as session:
        seen = ask(session, bad_input())

        assert not is_right(seen, bad_input())
        # what is left of the worker may be unable to answer; the session goes on all the same
        answers = [ask(session, good_input()) for _ in range(2)]
    assert is_right(answers[-1], good_input()), answers


@linux
def test_a_flood_of_output_neither_blocks_nor_fills_memory():
    with start("floods_stdout", seconds=30.0) as session:
        seen = ask(session, bad_input())

        assert is_right(seen, bad_input())
        assert len(session.printed) <= 4096
        assert "spam" in session.printed
        assert is_right(ask(session, good_input()), good_input())


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("returns_the_wrong_shape", "returned shape (2,) for `S`, expected (3,)"),
        ("returns_the_wrong_format", "returned float64 for `S`, expected f32"),
        ("returns_none", "returned `NoneType`, expected an array of f32 (3,) for `S`"),
    ],
)
def test_a_malformed_result_says_what_was_found_and_expected(misbehave, name, words):
    seen = misbehave(name)

    assert (seen.outcome, seen.message) == (Outcome.MALFORMED, words)


def test_a_kernel_declines_by_returning_not_implemented(misbehave):
    seen = misbehave("declines")

    assert seen.outcome is Outcome.DECLINED
    assert "NotImplemented" in seen.message


@pytest.mark.parametrize("name", ["writes_garbage_to_all_files", "forges_a_reply"])
def test_bytes_on_the_channel_are_a_malformed_answer(misbehave, name):
    seen = misbehave(name)

    assert seen.outcome is Outcome.MALFORMED
    assert "on the channel" in seen.message


@linux
def test_a_second_reply_is_not_taken_for_the_next_one():
    with start("replies_twice") as session:
        first = ask(session, bad_input())
        time.sleep(0.3)
        second = ask(session, good_input())

        assert is_right(first, bad_input())
        assert is_right(second, good_input())
        assert any("unasked" in note for note in session.notes)


@linux
def test_shared_memory_cannot_be_shrunk_under_the_parent(misbehave):
    assert is_right(misbehave("shrinks_the_shared_memory"), bad_input("shrinks_the_shared_memory"))


def test_a_fork_that_returns_twice_is_heard_once(misbehave):
    assert is_right(misbehave("forks"), bad_input("forks"))


@linux
def test_children_are_gone_when_the_session_ends():
    with start("leaves_children") as session:
        assert is_right(ask(session, bad_input()), bad_input())
        assert wait_until(lambda: ask(session, good_input()) and "child" in session.printed)
        child = int(re.search(r"child (\d+)", session.printed)[1])
        assert runs(child)

    assert wait_until(lambda: not runs(child))


@pytest.mark.parametrize(
    ("name", "kind", "message"),
    [
        ("raises_base_exception", "Unspeakable", "raised Unspeakable: (its message could not be read)"),
        ("raises_system_exit", "SystemExit", "raised SystemExit: enough"),
        ("raises_keyboard_interrupt", "KeyboardInterrupt", "raised KeyboardInterrupt"),
    ],
)
def test_whatever_is_raised_is_a_raise(misbehave, name, kind, message):
    seen = misbehave(name)

    assert (seen.outcome, seen.kind, seen.message) == (Outcome.RAISED, kind, message)


def test_a_long_message_is_cut_and_stays_on_one_line(misbehave):
    seen = misbehave("raises_a_novel")

    assert seen.outcome is Outcome.RAISED
    assert len(seen.message) < 600
    assert "\n" not in seen.message


def test_a_message_cannot_steer_the_terminal(misbehave):
    seen = misbehave("raises_terminal_codes")

    assert seen.message == "raised ValueError: [2J [1;32mPASS all tests"


def test_the_working_folder_is_the_kernels_own_to_delete(misbehave, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "precious").write_text("data")

    assert is_right(misbehave("deletes_its_folder"), bad_input())
    assert (tmp_path / "precious").read_text() == "data"


@linux
def test_the_network_is_out_of_reach_where_the_environment_says_so():
    with socket.create_server(("127.0.0.1", 0)) as server, start("connects") as session:
        if "no network" not in session.environment["isolation"]:
            pytest.skip("this system lets no process leave the network")
        X = bad_input()
        X[0, 1] = server.getsockname()[1]
        seen = ask(session, X)

    assert (seen.outcome, seen.kind) == (Outcome.RAISED, "OSError")


@linux
def test_the_worker_dies_with_its_parent_even_while_it_hangs(tmp_path):
    code = f"""
import sys
sys.path.insert(0, {str(Path(__file__).parent)!r})
import importlib.util as u
spec = u.spec_from_file_location("t", {__file__!r}); t = u.module_from_spec(spec); spec.loader.exec_module(t)
s = t.start("hangs_in_c", seconds=100)
print(s._process._process.pid, flush=True)
t.ask(s, t.bad_input())
"""
    parent = subprocess.Popen(
        [sys.executable, "-c", code],
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"TMPDIR": str(tmp_path)},  # nobody is left to remove the folder
    )
    worker = int(parent.stdout.readline())
    assert runs(worker)
    parent.kill()
    parent.wait()
    parent.stdout.close()

    assert wait_until(lambda: not runs(worker))


@linux
def test_a_session_leaves_nothing_behind():
    def files():
        return {entry.name for entry in Path("/proc/self/fd").iterdir()}

    with start("honest") as session:
        ask(session, good_input())
    gc.collect()
    before = files()
    with start("kills_itself") as session:
        ask(session, bad_input())
        folder = session._process._folder
        ask(session, good_input())
        second, pid = session._process._folder, session._process._process.pid

    gc.collect()
    assert files() == before
    assert not Path(folder).exists()
    assert not Path(second).exists()
    assert not runs(pid)
