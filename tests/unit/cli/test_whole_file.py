"""Files that are there whole or not at all."""

from __future__ import annotations

from pathlib import Path

import pytest

from remuda.cli.whole_file import write_whole


def rights(path: Path) -> int:
    return path.stat().st_mode & 0o777


def test_a_file_is_replaced_with_the_rights_that_are_named(tmp_path: Path) -> None:
    path = tmp_path / "a"
    write_whole(path, "one\r\n")
    assert (path.read_bytes(), rights(path)) == (b"one\r\n", 0o600)
    write_whole(path, "\u65e5", rights=0o640)
    assert (path.read_text(encoding="utf-8"), rights(path)) == ("\u65e5", 0o640)
    assert list(tmp_path.iterdir()) == [path]


def test_a_new_file_replaces_none(tmp_path: Path) -> None:
    path = tmp_path / "a"
    write_whole(path, "one", new=True)
    with pytest.raises(FileExistsError):
        write_whole(path, "two", new=True)
    assert path.read_text() == "one"
    assert list(tmp_path.iterdir()) == [path]


def test_a_text_that_cannot_be_written_leaves_the_file(tmp_path: Path) -> None:
    path = tmp_path / "a"
    write_whole(path, "one")
    with pytest.raises(UnicodeEncodeError):
        write_whole(path, "two\udcff")
    assert path.read_text() == "one"
    assert list(tmp_path.iterdir()) == [path]
    with pytest.raises(FileNotFoundError):
        write_whole(tmp_path / "none" / "a", "one")
