"""``remuda config fmt``: what it prints, replaces and refuses, and with which exit code."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from remuda.cli.program import run

UNTIDY = """\
partitions:
- name: default # the only one
  queues:
  - name: root
"""
TIDY = """\
partitions:
  - name: default # the only one
    queues:
      - name: root
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "queues.yaml"
    path.write_text(UNTIDY)
    return path


@pytest.mark.remuda_rule("EXT-117")
def test_it_prints_and_leaves_the_file(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["config", "fmt", str(file)]) == 0
    assert capsys.readouterr() == (TIDY, "")
    assert file.read_text() == UNTIDY


@pytest.mark.remuda_rule("EXT-117")
def test_it_checks_replaces_and_then_has_nothing_to_do(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["config", "fmt", "--check", str(file)]) == 1
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err == (f"remuda: {file} is not formatted; 'remuda config fmt --write' does that\n")
    file.chmod(0o640)
    link = file.with_name("link")
    link.symlink_to(file)
    assert run(["config", "fmt", "--write", str(link)]) == 0
    assert file.read_text() == TIDY
    assert file.stat().st_mode & 0o777 == 0o640
    assert link.is_symlink()
    assert sorted(each.name for each in file.parent.iterdir()) == ["link", "queues.yaml"]
    before = file.stat().st_ino
    assert run(["config", "fmt", "--write", str(file)]) == 0
    assert run(["config", "fmt", "--check", str(file)]) == 0
    assert file.stat().st_ino == before


@pytest.mark.parametrize(
    "arguments, said",
    [
        (["--check", "--write", "queues.yaml"], "--check and --write exclude each other"),
        (["--write", "-"], "--write replaces a file, and - is none"),
        (["none.yaml"], "cannot read none.yaml: No such file or directory"),
        (["bad.yaml"], "bad.yaml:2:9: partitions[0]"),
        (["bytes.yaml"], "bytes.yaml"),
        (["--write", "pipe.yaml"], "cannot read pipe.yaml: it is not a regular file"),
    ],
)
def test_what_is_wrong_is_one_line_and_code_2(
    arguments: list[str],
    said: str,
    file: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(file.parent)
    Path("bad.yaml").write_text("partitions:\n- name: default\n")
    Path("bytes.yaml").write_bytes(b"\xff\xfe\x00")
    os.mkfifo("pipe.yaml")
    assert run(["config", "fmt", *arguments]) == 2
    found = capsys.readouterr()
    assert found.out == ""
    assert found.err.count("\n") == 1
    assert said in found.err
    assert file.read_text() == UNTIDY
