"""The files of the audit log: private, bounded, whole lines."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

import pytest

from remuda.base.errors import UsageError
from remuda.telemetry.audit.files import AuditFiles

LINE = b'{"n":%d}\n'


def line(number: int) -> bytes:
    return LINE % number


def content(directory: Path) -> dict[str, bytes]:
    return {each.name: each.read_bytes() for each in sorted(directory.iterdir())}


@pytest.mark.remuda_rule("EXT-26")
def test_full_files_are_numbered_and_the_oldest_goes(tmp_path: Path) -> None:
    files = AuditFiles(tmp_path / "audit", size_bytes=2 * len(line(0)), older=2)
    for number in range(8):
        files.append(line(number))
    files.close()
    assert content(tmp_path) == {
        "audit": line(6) + line(7),
        "audit.1": line(4) + line(5),
        "audit.2": line(2) + line(3),
    }
    assert {stat.S_IMODE(each.stat().st_mode) for each in tmp_path.iterdir()} == {0o600}


@pytest.mark.remuda_rule("EXT-26")
def test_a_line_longer_than_a_file_is_written_whole(tmp_path: Path) -> None:
    files = AuditFiles(tmp_path / "audit", size_bytes=3, older=1)
    for number in range(3):
        files.append(line(number))
    files.close()
    assert content(tmp_path) == {"audit": line(2), "audit.1": line(1)}


@pytest.mark.remuda_rule("EXT-26")
def test_lines_are_appended_to_a_file_that_exists_and_half_a_line_is_ended(tmp_path: Path) -> None:
    path = tmp_path / "audit"
    for torn in (b"", b'{"time":'):
        path.write_bytes(line(0) + torn)
        files = AuditFiles(path, size_bytes=1_000, older=1)
        files.append(line(1))
        files.append(line(2))
        files.close()
        assert path.read_bytes() == line(0) + (torn and torn + b"\n") + line(1) + line(2)


@pytest.mark.remuda_rule("EXT-26")
def test_a_file_that_somebody_moves_away_is_made_anew(tmp_path: Path) -> None:
    path = tmp_path / "audit"
    files = AuditFiles(path, size_bytes=1_000, older=1)
    files.append(line(0))
    path.rename(tmp_path / "moved")
    files.append(line(1))
    path.unlink()
    files.append(line(2))
    files.close()
    assert content(tmp_path) == {"audit": line(2), "moved": line(0)}


@pytest.mark.remuda_rule("EXT-26")
def test_a_line_that_does_not_fit_the_disk_leaves_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "audit"
    files = AuditFiles(path, size_bytes=1_000, older=1)
    files.append(line(0))
    real = os.write
    written: list[int] = []

    def full(file: int, data: bytes) -> int:
        if written:
            raise OSError(errno.ENOSPC, "No space left on device")
        written.append(real(file, data[:3]))
        return written[0]

    monkeypatch.setattr(os, "write", full)
    with pytest.raises(OSError, match="No space left"):
        files.append(line(1))
    monkeypatch.setattr(os, "write", real)
    assert path.read_bytes() == line(0)
    files.append(line(1))
    files.close()
    assert path.read_bytes() == line(0) + line(1)


@pytest.mark.remuda_rule("EXT-26")
def test_files_that_cannot_be_renamed_cost_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = AuditFiles(tmp_path / "audit", size_bytes=len(line(0)), older=3)
    for number in range(4):
        files.append(line(number))
    real = Path.replace

    def refuse(self: Path, target: Path) -> Path:
        if self.name == "audit":
            raise OSError(errno.EACCES, "Permission denied")
        return real(self, target)

    with monkeypatch.context() as patched:
        patched.setattr(Path, "replace", refuse)
        for _ in range(5):
            with pytest.raises(OSError, match="Permission denied"):
                files.append(line(4))
    files.append(line(4))
    files.close()
    assert content(tmp_path) == {
        "audit": line(4),
        "audit.1": line(3),
        "audit.2": line(2),
        "audit.3": line(1),
    }


@pytest.mark.remuda_rule("EXT-26")
def test_a_place_where_nothing_can_be_written_is_refused_in_one_line(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    busy = AuditFiles(tmp_path / "busy", size_bytes=1_000, older=1)
    cases = {
        tmp_path: "is not a regular file",
        pipe: "is not a regular file",
        tmp_path / "none" / "audit": "there is no directory",
        tmp_path / "busy": "another process writes it",
        tmp_path / ("x" * 300): "File name too long",
    }
    for path, words in cases.items():
        with pytest.raises(UsageError, match=words) as caught:
            AuditFiles(path, size_bytes=1_000, older=1)
        assert "\n" not in str(caught.value)
    busy.close()
