"""``remuda config get`` and ``diff``, on what REST-57 and REST-59 say that a server answers."""

from __future__ import annotations

from pathlib import Path

import pytest

from remuda.cli.program import run
from tests.unit.cli.test_server import answering

YAML = "application/x-yaml; charset=UTF-8"
TEXT = """\
# our queues
partitions:
  - name: default
    queues: [{name: root}]
"""


def told(
    arguments: list[str], capsys: pytest.CaptureFixture[str], answer: str = TEXT
) -> tuple[int, str, str]:
    """Exit code, stdout and stderr of a command on that configuration."""
    with answering(200, answer.encode(), Content_Type=YAML) as (address, asked):
        code = run(["config", *arguments, "--server", address])
    for _, path, headers, _ in asked:
        assert path.startswith("/ws/v1/config?raw=true")
        assert headers["Accept"] == "application/x-yaml"
    return code, *capsys.readouterr()


@pytest.mark.remuda_rule("EXT-83")
def test_get_prints_the_text_as_it_was_read(capsys: pytest.CaptureFixture[str]) -> None:
    assert told(["get"], capsys) == (0, TEXT, "")
    assert told(["get", "--rm", "a b"], capsys) == (0, TEXT, "")


@pytest.mark.remuda_rule("EXT-83")
def test_diff_shows_the_lines_that_differ(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "new.yaml"
    file.write_text(TEXT)
    assert told(["diff", str(file)], capsys) == (0, "", "")
    file.write_text(TEXT.replace("{name: root}", "{name: root, maxapplications: 7}"))
    code, out, err = told(["diff", str(file)], capsys)
    assert (code, err) == (1, "")
    lines = out.splitlines()
    assert lines[:2] == ["--- in force", f"+++ {file}"]
    assert [line for line in lines[2:] if line[0] in "-+"] == [
        "-    queues: [{name: root}]",
        "+    queues: [{name: root, maxapplications: 7}]",
    ]


@pytest.mark.remuda_rule("EXT-76")
def test_a_diff_moves_no_cursor(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "new.yaml"
    file.write_text(TEXT)
    _, out, _ = told(["diff", str(file)], capsys, f"{TEXT}#\t\x1b[2J\u202e\n")
    assert "-#\t\\x1b[2J\\u202e" in out.splitlines()


@pytest.mark.parametrize(
    "content, said",
    [
        (None, "cannot read {}: No such file"),
        (b"\xff\xfe", "{}:1:1: not YAML: it is not UTF-8 text"),
        (b"#" * 10_000_001, "{}: not YAML: it has more than 10000000 bytes"),
    ],
)
def test_a_wrong_file_is_one_line_and_code_2(
    content: bytes | None, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "new.yaml"
    if content is not None:
        file.write_bytes(content)
    code, out, err = told(["diff", str(file)], capsys)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert said.format(file) in err


def test_what_is_no_scheduler_is_code_1(capsys: pytest.CaptureFixture[str]) -> None:
    with answering(200, b"{}") as (address, _):
        assert run(["config", "get", "--server", address]) == 1
    assert capsys.readouterr().err.endswith("is no HTTP API of a scheduler\n")
