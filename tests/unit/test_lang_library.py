"""Libraries: finding declarations, adding files, and the cache of the shipped one."""

from __future__ import annotations

import subprocess
import sys

import pytest

from kernelcontracts.lang import parse_cache
from kernelcontracts.lang.library import Library, UnknownNameError, matches, shipped_sources
from kernelcontracts.lang.source import Source

LIBRARY = Library.shipped()


def added(text, library=LIBRARY):
    library, diagnostics = library.with_source(Source("mine.kc", f"kernel-contracts 0.1\nmodule mine\n{text}"))
    return library, [d.code for d in diagnostics]


def test_declarations_are_found_by_name_and_know_their_source():
    found = LIBRARY.operator("matmul")

    assert found.decl.name == "matmul"
    assert found.declaration is found.decl
    assert found.module == "kc.ops.accumulations"
    assert "operator matmul" in found.source.text
    assert LIBRARY.plan("kc.plans.products", "1").decl.version == "1.0.0"
    assert LIBRARY.contract("C-PRC-01").decl.family == "accumulations"
    assert LIBRARY.claim_sheet("numpy").decl.name == "numpy"


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda: LIBRARY.operator("matmull"), "no operator is called `matmull`; there is `matmul`"),
        (
            lambda: LIBRARY.plan("kc.plans.products", "2"),
            "no plan `kc.plans.products` has the version `2`; there is `1.0.0`",
        ),
        (lambda: Library().operator("f"), "no operator is called `f`; there are none"),
    ],
)
def test_what_is_not_there_is_an_error_that_names_what_is_near(ask, message):
    with pytest.raises(UnknownNameError) as caught:
        ask()

    assert str(caught.value) == message


def test_a_version_prefix_finds_the_newest_that_begins_with_it():
    library, _ = added("plan p @1.2.0 { }\nplan p @1.10.0 { }\nplan p @10.0.0 { }\n")

    assert library.plan("p", "1").decl.version == "1.10.0"
    assert library.plan("p", "1.2").decl.version == "1.2.0"
    assert library.plan("p").decl.version == "10.0.0"
    assert not matches("10.0.0", "1")


def test_a_file_that_does_not_parse_adds_nothing():
    library, codes = added("plan p @1 {\n  ?\n}\n")

    assert library is LIBRARY
    assert codes == ["E0101"]


def test_a_declaration_takes_the_place_of_an_earlier_one_with_its_identity():
    library, _ = added("operator matmul(A: T[N]) -> B: T[N] { }\n")

    assert library.operator("matmul").source.name == "mine.kc"
    assert len(library.operators) == len(LIBRARY.operators)


def test_the_cache_gives_the_trees_that_parsing_gives(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    sources = shipped_sources()
    parsed = parse_cache.parse_shipped(sources)
    cached = parse_cache.parse_shipped(sources)

    assert len(list((tmp_path / "kernelcontracts").glob("library-*.bin"))) == 1
    assert cached == parsed
    assert _spans(cached) == _spans(parsed)


def _spans(files):
    return [(d.span, d.doc) for file, _ in files for d in file.declarations]


@pytest.mark.parametrize("damage", [b"", b"nonsense", b"\xdb\x01\x00\x00\x00\xe9\xff\xff\xff\x7f"])
def test_a_damaged_cache_is_ignored(tmp_path, monkeypatch, damage):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    sources = shipped_sources()
    parsed = parse_cache.parse_shipped(sources)
    (file,) = (tmp_path / "kernelcontracts").glob("library-*.bin")
    file.write_bytes(damage)

    assert parse_cache.parse_shipped(sources) == parsed


def test_a_folder_that_others_may_write_to_is_not_trusted(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    folder = tmp_path / "kernelcontracts"
    folder.mkdir()
    folder.chmod(0o777)

    assert len(parse_cache.parse_shipped(shipped_sources())) == len(LIBRARY.files)
    assert list(folder.iterdir()) == []


def test_the_language_does_without_numpy_and_a_warm_library_without_the_parser():
    code = (
        "import sys\n"
        "from kernelcontracts.lang.library import Library\n"
        "Library.shipped()\n"
        "print('numpy' in sys.modules, 'lark' in sys.modules)\n"
    )
    command = [sys.executable, "-c", code]
    subprocess.run(command, check=True, capture_output=True)
    warm = subprocess.run(command, check=True, capture_output=True, text=True)

    assert warm.stdout == "False False\n"
