"""The command ``remuda shadow``: what it prints, and how it answers wrong input."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from remuda.cli.program import run
from tests.unit.runtime.journals.written import QUEUES, journal_of

LOWER = QUEUES.replace("vcore: 20", "vcore: 2")


def files(folder: Path, text: str) -> list[str]:
    """A journal and a configuration, as options."""
    config = folder / "new.yaml"
    config.write_text(text)
    journal = folder / "journal"
    journal.mkdir()
    journal_of(journal, rounds=20)
    return ["shadow", "--journal", str(journal), "--config", str(config), "--once"]


@pytest.mark.remuda_rule("EXT-134")
def test_the_configuration_in_force_differs_nowhere(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(files(tmp_path, QUEUES)) == 0
    (line,) = capsys.readouterr().out.splitlines()
    assert line.endswith(" inputs, 20 decisions, 0 differences")


@pytest.mark.remuda_rule("EXT-131")
def test_json_lines_have_each_difference_and_end_with_the_summary(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([*files(tmp_path, LOWER), "--output", "jsonl"]) == 0
    *lines, last = map(json.loads, capsys.readouterr().out.splitlines())
    assert {each["type"] for each in lines} == {"difference"}
    assert last["type"] == "summary"
    latest = {(each["application_id"], each["allocation_key"]): each for each in lines}
    standing = [each for each in latest.values() if each["cause"]]
    assert len(standing) == last["differences"] == sum(each["count"] for each in last["counts"])
    assert last["differences"] > 0


@pytest.mark.remuda_rule("EXT-134")
@pytest.mark.parametrize(
    "more, text",
    [
        (["--tolerance", "-1"], "--tolerance is -1; it has to be from 0 to 86400 seconds"),
        (["--for", "-1"], "--for is -1; it has to be 0 or more seconds"),
        (["--since", "yesterday"], "--since 'yesterday' is no moment"),
        (["--rm", "nobody"], "no resource manager 'nobody' registered; nothing was compared"),
        (["--config", "no.yaml"], "cannot read no.yaml"),
        (["--journal", "nowhere"], "cannot read nowhere"),
    ],
)
def test_wrong_input_is_answered_in_a_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], more: list[str], text: str
) -> None:
    assert run([*files(tmp_path, QUEUES), *more]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    (line,) = printed.err.splitlines()
    assert line.startswith("remuda: ")
    assert text in line


@pytest.mark.remuda_rule("EXT-128")
def test_a_configuration_that_is_refused_is_answered_with_its_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shared = QUEUES.replace("name: default", "name: other")
    assert run([*files(tmp_path, shared + "surplus: 1\n")]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert "new.yaml" in printed.err
