"""The state directory: what is found again, also when it was cut at any moment."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from remuda.base.errors import UsageError
from remuda.local.directory import StateDirectory, take_lock
from remuda.local.keeper import BEGUN, ENDED, write_json
from remuda.local.records import Outcome, Stage, new_command
from tests.unit.local.test_commands import wanted


@pytest.fixture
def directory(tmp_path: Path) -> Iterator[StateDirectory]:
    found = StateDirectory(tmp_path / "state")
    yield found
    found.close()


@pytest.mark.remuda_rule("EXT-108")
def test_a_command_is_found_again(directory: StateDirectory) -> None:
    directory.add(wanted(2, gang=2))
    directory.add(wanted(1))
    found = directory.load()
    assert [each.wanted for each in found] == [wanted(1), wanted(2, gang=2)]
    assert {task.stage for each in found for task in each.tasks} == {Stage.WAITING}


@pytest.mark.remuda_rule("EXT-108")
def test_an_outcome_is_found_again_without_the_environment(directory: StateDirectory) -> None:
    command = new_command(msgspec.structs.replace(wanted(), environment={"KEY": "hush"}))
    directory.add(command.wanted)
    command.outcome = Outcome(4, "because")
    directory.write_outcome(command)
    (found,) = directory.load()
    assert (found.outcome, found.wanted.environment) == (Outcome(4, "because"), {})
    directory.forget(command.identity)
    assert directory.load() == []


@pytest.mark.remuda_rule("EXT-110")
def test_the_lock_tells_whether_a_task_runs(directory: StateDirectory) -> None:
    command = new_command(wanted())
    directory.add(command.wanted)
    task = command.tasks[0]
    task.cores, task.gpus = (1, 2), ("g0",)
    directory.write_order(command, task, {})
    own = directory.task(command.identity, 0)
    lock = take_lock(own)
    (found,) = directory.load()
    assert (found.tasks[0].stage, found.tasks[0].cores) == (Stage.RUNNING, (1, 2))
    write_json(own / BEGUN, {"keeper": 1})
    os.close(lock)
    (found,) = directory.load()
    outcome = found.tasks[0].outcome
    assert outcome is not None
    assert (outcome.code, found.tasks[0].stage) == (125, Stage.OVER)
    write_json(own / ENDED, {"code": 6, "reason": "", "dropped": 0})
    (found,) = directory.load()
    assert found.tasks[0].outcome == Outcome(6)


@pytest.mark.remuda_rule("EXT-110")
def test_a_task_whose_keeper_never_began_waits_again(directory: StateDirectory) -> None:
    command = new_command(wanted())
    directory.add(command.wanted)
    directory.write_order(command, command.tasks[0], {})
    os.close(take_lock(directory.task(command.identity, 0)))
    (found,) = directory.load()
    assert found.tasks[0].stage is Stage.WAITING


@pytest.mark.remuda_rule("EXT-108")
def test_what_was_cut_is_passed_over_and_told(
    directory: StateDirectory, caplog: pytest.LogCaptureFixture
) -> None:
    directory.add(wanted(1))
    directory.add(wanted(2))
    path = directory.path / "commands" / "c-1" / "wanted.json"
    content = path.read_bytes()
    with caplog.at_level(logging.WARNING):
        for length in (0, 1, len(content) // 2, len(content) - 1):
            path.write_bytes(content[:length])
            assert [each.identity for each in directory.load()] == ["c-2"]
    assert str(path) in caplog.text


@pytest.mark.remuda_rule("EXT-108")
def test_a_command_that_was_half_written_is_removed(tmp_path: Path) -> None:
    half = tmp_path / "state" / "commands" / "c-1.new"
    half.mkdir(parents=True)
    directory = StateDirectory(tmp_path / "state")
    assert directory.load() == []
    assert not half.exists()
    directory.close()


@pytest.mark.remuda_rule("EXT-103")
def test_a_number_is_not_used_twice(tmp_path: Path) -> None:
    directory = StateDirectory(tmp_path / "state")
    assert directory.last == 0
    directory.add(wanted(7))
    assert directory.last == 7
    (directory.path / "commands" / "c-7" / "wanted.json").write_text("cut")
    directory.close()
    directory = StateDirectory(tmp_path / "state")
    assert (directory.load(), directory.last) == ([], 7)
    directory.close()


@pytest.mark.remuda_rule("EXT-108")
def test_one_service_holds_a_directory(directory: StateDirectory) -> None:
    with pytest.raises(UsageError, match="another service uses it"):
        StateDirectory(directory.path)


@pytest.mark.remuda_rule("EXT-108")
def test_a_directory_that_cannot_be_made_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match=r"--local-dir .* cannot be used"):
        StateDirectory(tmp_path / "file" / "below")
