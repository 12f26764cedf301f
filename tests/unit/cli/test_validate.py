"""What ``remuda validate`` prints about files, and the code it ends with."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner, Result

from remuda.base.errors import UsageError
from remuda.cli.validate import validate

VALID = """\
partitions:
  - name: default
    queues:
      - name: root
        submitacl: "*"
        queues: [{name: a}, {name: b, queues: [{name: c}]}]
  - name: gpu
    queues: [{name: x, submitacl: "*"}]
"""

INVALID = """\
partitions:
  - name: default
    queues:
      - name: a.b
        submitacl: "*"
      - name: c
        submitacl: "*"
        colour: red
"""

# Legal, and mostly not meant: nothing with memory can be placed (CFG-76).
ODD = """\
partitions:
  - name: default
    queues:
      - name: a
        submitacl: "*"
        resources: {max: {memory: 0}}
"""

app = typer.Typer()
app.command()(validate)


def invoke(*arguments: object, stdin: str | bytes | None = None) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments], input=stdin)


def listed(*arguments: object, stdin: str | None = None) -> list[dict[str, Any]]:
    found = json.loads(invoke("--output", "json", *arguments, stdin=stdin).stdout)
    assert isinstance(found, list)
    return found


@pytest.fixture
def good(tmp_path: Path) -> Path:
    path = tmp_path / "good.yaml"
    path.write_text(VALID)
    return path


@pytest.fixture
def bad(tmp_path: Path) -> Path:
    path = tmp_path / "bad.yaml"
    path.write_text(INVALID)
    return path


@pytest.mark.remuda_rule("TOOL-1")
def test_a_valid_file_is_one_line_with_its_counts_and_code_0(good: Path) -> None:
    result = invoke(good)
    assert result.exit_code == 0
    assert result.stdout == f"{good}: valid (2 partitions, 6 queues)\n"
    assert result.stderr == ""


@pytest.mark.remuda_rule("TOOL-1")
def test_all_problems_are_told_with_place_rule_and_hint_and_code_1(bad: Path) -> None:
    result = invoke(bad)
    assert result.exit_code == 1
    lines = result.stdout.splitlines()
    (unknown,) = [line for line in lines if "[CFG-13]" in line]
    assert unknown.startswith(f"{bad}:8:9: error: partitions[0].queues[1]")
    assert "colour" in unknown
    assert "; the keys are " in unknown.partition("[CFG-13]")[2]
    (name,) = [line for line in lines if "[CFG-61]" in line]
    assert name.startswith(f"{bad}:4:15: error: partitions[0].queues[0].name: ")
    assert "'a.b'" in name
    assert lines[-1] == f"{bad}: invalid (2 errors)"
    assert len(lines) == 3


@pytest.mark.remuda_rule("TOOL-1")
def test_json_is_one_list_with_these_keys(good: Path, bad: Path) -> None:
    first, second = listed(good, bad)
    assert first == {"file": str(good), "valid": True, "problems": []}
    assert (second["file"], second["valid"]) == (str(bad), False)
    found = {problem["rule"]: problem for problem in second["problems"]}
    assert set(found) == {"CFG-13", "CFG-61"}
    for problem in second["problems"]:
        assert set(problem) == {"line", "column", "rule", "path", "severity", "message"}
        assert problem["severity"] == "error"
    assert (found["CFG-61"]["line"], found["CFG-61"]["column"]) == (4, 15)
    assert found["CFG-61"]["path"] == "partitions[0].queues[0].name"
    assert "; the keys are " in found["CFG-13"]["message"]


@pytest.fixture
def odd(tmp_path: Path) -> Path:
    path = tmp_path / "odd.yaml"
    path.write_text(ODD)
    return path


@pytest.mark.remuda_rule("TOOL-1", "CFG-76")
def test_a_warning_leaves_a_file_valid(odd: Path) -> None:
    result = invoke(odd)
    assert result.exit_code == 0
    warning, verdict = result.stdout.splitlines()
    assert warning.startswith(f"{odd}:6:26: warning: partitions[0].queues[0].resources.max: ")
    assert "[CFG-76]; " in warning
    assert verdict == f"{odd}: valid (1 partition, 2 queues, 1 warning)"
    (found,) = listed(odd)
    (problem,) = found["problems"]
    assert (found["valid"], problem["severity"]) == (True, "warning")


@pytest.mark.remuda_rule("TOOL-1", "CFG-76")
def test_strict_makes_warnings_count(odd: Path, good: Path) -> None:
    result = invoke("--strict", odd)
    assert result.exit_code == 1
    assert result.stdout.splitlines()[-1] == f"{odd}: invalid (1 warning)"
    assert [each["valid"] for each in listed("--strict", odd, good)] == [False, True]
    assert invoke("--strict", good).exit_code == 0


@pytest.mark.remuda_rule("TOOL-1")
def test_several_files_end_with_a_summary(good: Path, bad: Path) -> None:
    result = invoke(good, bad, good)
    assert result.exit_code == 1
    assert result.stdout.splitlines()[-1] == "3 files: 2 valid, 1 invalid"


@pytest.mark.remuda_rule("TOOL-1")
def test_an_unreadable_file_does_not_keep_the_others_from_being_checked(
    good: Path, bad: Path, tmp_path: Path
) -> None:
    absent = tmp_path / "absent.yaml"
    result = invoke(absent, tmp_path, bad, good)
    assert result.exit_code == 2
    lines = result.stdout.splitlines()
    assert f"{bad}: invalid (2 errors)" in lines
    assert f"{good}: valid (2 partitions, 6 queues)" in lines
    assert lines[-1] == "4 files: 1 valid, 1 invalid, 2 unreadable"
    assert result.stderr.splitlines() == [
        f"remuda: cannot read {absent}: No such file or directory",
        f"remuda: cannot read {tmp_path}: Is a directory",
    ]


@pytest.mark.remuda_rule("TOOL-1")
def test_json_names_an_unreadable_file_too(good: Path, tmp_path: Path) -> None:
    absent = tmp_path / "absent.yaml"
    first, second = listed(absent, good)
    assert (first["file"], first["valid"]) == (str(absent), False)
    (problem,) = first["problems"]
    assert (problem["line"], problem["rule"], problem["severity"]) == (0, "TOOL-1", "error")
    assert second["valid"] is True
    assert invoke("--output", "json", absent, good).exit_code == 2


@pytest.mark.remuda_rule("TOOL-1")
def test_a_dash_reads_standard_input_once(good: Path) -> None:
    result = invoke("-", stdin=VALID)
    assert (result.exit_code, result.stdout) == (0, "-: valid (2 partitions, 6 queues)\n")
    assert invoke("-", stdin=INVALID).exit_code == 1
    (found,) = listed("-", stdin=INVALID)
    assert (found["file"], found["valid"]) == ("-", False)
    twice = invoke("-", good, "-", stdin=VALID)
    assert isinstance(twice.exception, UsageError)
    assert twice.stdout == ""


@pytest.mark.remuda_rule("CFG-2", "CFG-12", "TOOL-1")
@pytest.mark.parametrize(
    "text, counts",
    [
        ("", "1 partition, 1 queue"),
        (" ", "0 partitions, 0 queues"),
        ("partitions: []", "0 partitions, 0 queues"),
    ],
)
def test_files_without_content(tmp_path: Path, text: str, counts: str) -> None:
    path = tmp_path / "little.yaml"
    path.write_text(text)
    result = invoke(path)
    assert (result.exit_code, result.stdout) == (0, f"{path}: valid ({counts})\n")


@pytest.mark.remuda_rule("CFG-5", "TOOL-1")
@pytest.mark.parametrize(
    "data, place, said",
    [
        (b"partitions: []\nx: \xff\n", ":2:1", "it is not UTF-8 text"),
        (b"\x7fELF\x02\x01\x01\x00\xfe\xff", ":1:1", "it is not UTF-8 text"),
        (b"a" * 10_000_001, "", "it has more than 10000000 bytes"),
    ],
)
def test_what_is_no_text_is_invalid(tmp_path: Path, data: bytes, place: str, said: str) -> None:
    path = tmp_path / "junk.yaml"
    path.write_bytes(data)
    result = invoke(path)
    assert result.exit_code == 1
    first, last = result.stdout.splitlines()
    assert first.startswith(f"{path}{place}: error: not YAML: {said} [CFG-5]; ")
    assert last == f"{path}: invalid (1 error)"


def test_a_file_name_that_is_no_text_is_shown_on_one_line(tmp_path: Path) -> None:
    path = Path(os.fsdecode(os.fsencode(tmp_path) + b"/a\n\xff.yaml"))
    path.write_text(VALID)
    shown = f"{tmp_path}/a\ufffd\ufffd.yaml"
    assert invoke(path).stdout == f"{shown}: valid (2 partitions, 6 queues)\n"
    assert listed(path)[0]["file"] == shown
