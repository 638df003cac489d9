"""Sources: positions, and files that are none."""

from __future__ import annotations

import os

import pytest

from kernelcontracts.lang.diagnostics import Diagnostic
from kernelcontracts.lang.source import MAX_BYTES, Source, read_source


def test_offsets_become_lines_and_columns_that_count_from_one():
    source = Source("t", "ab\ncd\r\n\nö")

    assert [source.position(i) for i in (0, 1, 2, 3, 7, 8, 9)] == [
        (1, 1),
        (1, 2),
        (1, 3),
        (2, 1),
        (3, 1),
        (4, 1),
        (4, 2),
    ]
    assert [source.line_text(i) for i in range(6)] == ["", "ab", "cd", "", "ö", ""]
    assert source.lines == 4


def test_a_file_is_read_with_its_name_and_path(tmp_path):
    file = tmp_path / "a.kc"
    file.write_text("kernel-contracts 0.1\n", encoding="utf-8")
    source = read_source(file)

    assert source == Source(str(file), "kernel-contracts 0.1\n")
    assert source.path == file


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is empty"),
        (b" \n\t\n", "is empty"),
        (b"a\n\xff", "is not UTF-8: byte 0xff at offset 2 (line 2)"),
        (b"a\x00b", "is binary: a zero byte at offset 1"),
        (b"\xef\xbb\xbfa", "begins with a UTF-8 byte order mark"),
        (b"\xff\xfea\x00", "begins with a UTF-16 byte order mark"),
        (b"#" * (MAX_BYTES + 1), f"is too large: {MAX_BYTES + 1} bytes, and {MAX_BYTES} is the limit"),
    ],
)
def test_content_that_is_no_text_is_a_diagnostic(tmp_path, content, message):
    file = tmp_path / "a.kc"
    file.write_bytes(content)
    found = read_source(file)

    assert isinstance(found, Diagnostic)
    assert (found.code, found.message) == ("E0106", f"`{file}` {message}")


def test_a_missing_file_and_a_folder_are_diagnostics(tmp_path):
    assert read_source(tmp_path / "none.kc").message == f"`{tmp_path / 'none.kc'}` does not exist"
    assert read_source(tmp_path).message == f"`{tmp_path}` is a directory"
    assert read_source("a\0b").message.endswith("has a name that no file can have")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_without_permission_is_a_diagnostic(tmp_path):
    file = tmp_path / "a.kc"
    file.write_text("x", encoding="utf-8")
    file.chmod(0)

    assert read_source(file).message == f"`{file}` cannot be read: permission denied"


def test_the_largest_size_is_still_read(tmp_path):
    file = tmp_path / "a.kc"
    file.write_bytes(b"#" * MAX_BYTES)

    assert isinstance(read_source(file), Source)
