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
from remuda.local.keeper import BEGUN, ENDED, ORDER, write_json
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


@pytest.mark.remuda_rule("EXT-110")
def test_a_task_is_not_started_again_if_its_keeper_begins_and_dies_as_it_is_looked_for(
    directory: StateDirectory, monkeypatch: pytest.MonkeyPatch
) -> None:
    command = new_command(wanted())
    directory.add(command.wanted)

    def begins_and_dies(own: Path) -> bool:
        write_json(own / BEGUN, {"keeper": 1})
        return False

    monkeypatch.setattr("remuda.local.directory.keeper_lives", begins_and_dies)
    (found,) = directory.load()
    assert found.tasks[0].stage is Stage.OVER


@pytest.mark.remuda_rule("EXT-108")
def test_a_command_that_could_not_be_added_does_not_stop_the_next(
    directory: StateDirectory,
) -> None:
    commands = directory.path / "commands"
    in_the_way = commands / "c-1"
    in_the_way.mkdir()
    (in_the_way / "file").touch()
    with pytest.raises(OSError, match="not empty"):
        directory.add(wanted())
    assert list(commands.iterdir()) == [in_the_way]
    (in_the_way / "file").unlink()
    directory.add(wanted())
    assert [each.identity for each in directory.load()] == ["c-1"]


@pytest.mark.remuda_rule("EXT-108")
@pytest.mark.parametrize("killed", [False, True])
def test_the_environment_goes_from_the_orders_of_tasks_too(
    directory: StateDirectory, *, killed: bool
) -> None:
    """Its keeper may be killed before it removes its order, and the service as it writes."""
    command = new_command(msgspec.structs.replace(wanted(gang=2), environment={"KEY": "hush"}))
    directory.add(command.wanted)
    for task in command.tasks:
        directory.write_order(command, task, {"environment": {"KEY": "hush"}})
        own = directory.task(command.identity, task.index)
        (own / f"{ORDER}.new").write_text("hush")
    command.outcome = Outcome(143)
    if killed:
        outcome = directory.path / "commands" / command.identity / "outcome.json"
        write_json(outcome, {"code": 143})
    else:
        directory.write_outcome(command)
    (found,) = directory.load()
    assert found.outcome == Outcome(143)
    files = [each for each in directory.path.rglob("*") if each.is_file()]
    assert [each for each in files if "hush" in each.read_text()] == []


@pytest.mark.remuda_rule("EXT-108")
def test_a_command_that_is_forgotten_in_part_is_removed_at_the_next_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    directory = StateDirectory(tmp_path / "state")
    directory.add(wanted())
    with monkeypatch.context() as patched:
        patched.setattr("shutil.rmtree", lambda *_, **__: None)
        directory.forget("c-1")
    assert directory.load() == []
    directory.close()
    directory = StateDirectory(tmp_path / "state")
    assert list((directory.path / "commands").iterdir()) == []
    directory.close()


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
