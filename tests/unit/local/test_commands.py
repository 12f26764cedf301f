"""What is decided about commands, event by event, without processes and without a scheduler."""

from __future__ import annotations

import pytest

from remuda.local import effects as effect
from remuda.local.commands import Commands, too_large
from remuda.local.devices import Devices
from remuda.local.records import Command, Outcome, Stage, Wanted, new_command
from remuda.si.pb import si_pb2 as si


def wanted(
    number: int = 1, *, gang: int = 1, cpus: int = 1_000, gpus: int = 0, memory: int = 0
) -> Wanted:
    return Wanted(
        number=number,
        identity=f"c-{number}",
        user="ada",
        arguments=["true"],
        environment={},
        directory="/",
        umask=0o22,
        resources={"vcore": cpus, "nvidia.com/gpu": gpus, "memory": memory},
        gang=gang,
    )


@pytest.fixture
def commands() -> Commands:
    return Commands(Devices((0, 1, 2, 3), ("g0", "g1")), kept=2)


def kinds(commands: Commands) -> list[type[effect.Effect]]:
    return [type(each) for each in commands.take()]


def running(commands: Commands, number: int = 1, *, gang: int = 1) -> Command:
    """A command whose tasks have been started."""
    command = commands.submit(wanted(number, gang=gang))
    for task in command.tasks:
        commands.placed(command.application, task.key)
    commands.take()
    assert command.stage is Stage.RUNNING
    return command


@pytest.mark.remuda_rule("EXT-103", "EXT-105")
def test_a_command_asks_starts_and_gives_back(commands: Commands) -> None:
    command = commands.submit(wanted())
    added, ask = commands.take()
    assert added == effect.AddApplication(command, gang=False, runs=False)
    assert ask == effect.AskFor(command, "c-1.0", gang=False)
    commands.placed("c-1", "c-1.0")
    assert commands.take() == [effect.StartTask(command, 0)]
    commands.ended("c-1", 0, Outcome(3))
    released, written, removed = commands.take()
    assert released == effect.ReleaseTask("c-1", "c-1.0", si.STOPPED_BY_RM)
    assert written == effect.WriteDown(command)
    assert removed == effect.RemoveApplication("c-1")
    assert (command.outcome, commands.live()) == (Outcome(3), [])


@pytest.mark.remuda_rule("EXT-103", "EXT-104")
def test_a_gang_starts_when_its_last_task_has_its_place(commands: Commands) -> None:
    command = commands.submit(wanted(gang=3))
    added, *asks = commands.take()
    assert added == effect.AddApplication(command, gang=True, runs=False)
    assert [(each.key, each.placeholder) for each in asks if isinstance(each, effect.AskFor)] == [
        *((f"c-1.{index}.place", True) for index in range(3)),
        *((f"c-1.{index}", False) for index in range(3)),
    ]
    for index in range(3):
        commands.placed("c-1", f"c-1.{index}.place")
        commands.ordered("c-1", f"c-1.{index}.place", si.PLACEHOLDER_REPLACED)
    confirmed = commands.take()
    assert confirmed == [
        effect.ReleaseTask("c-1", f"c-1.{index}.place", si.PLACEHOLDER_REPLACED)
        for index in range(3)
    ]
    commands.placed("c-1", "c-1.2")
    commands.placed("c-1", "c-1.0")
    assert commands.take() == []
    commands.placed("c-1", "c-1.1")
    assert commands.take() == [effect.StartTask(command, index) for index in range(3)]


@pytest.mark.remuda_rule("EXT-104")
def test_a_gang_without_all_its_places_in_time_is_submitted_again(commands: Commands) -> None:
    command = commands.submit(wanted(gang=2))
    commands.placed("c-1", "c-1.0")
    commands.take()
    commands.moved("c-1", "Failing", "ResourceReservationTimeout")
    assert commands.take() == []
    commands.moved("c-1", "Failed", "ResourceReservationTimeout")
    added, *asks = commands.take()
    assert added == effect.AddApplication(command, gang=True, runs=False)
    assert (command.application, len(asks), command.outcome) == ("c-1.1", 4, None)
    # What still comes about the first attempt starts nothing, and is given back.
    commands.placed("c-1", "c-1.1")
    assert commands.take() == [effect.ReleaseTask("c-1", "c-1.1", si.STOPPED_BY_RM)]
    assert [task.stage for task in command.tasks] == [Stage.WAITING, Stage.WAITING]


@pytest.mark.remuda_rule("EXT-105")
def test_a_task_that_fails_ends_the_others_and_gives_its_code(commands: Commands) -> None:
    command = running(commands, gang=3)
    commands.ended("c-1", 1, Outcome(5))
    assert kinds(commands) == [effect.ReleaseTask, effect.EndTask, effect.EndTask]
    commands.ended("c-1", 0, Outcome(143))
    commands.ended("c-1", 2, Outcome(0))
    assert command.outcome == Outcome(5)
    assert effect.WriteDown in kinds(commands)


@pytest.mark.remuda_rule("EXT-105")
def test_a_task_that_ends_well_leaves_the_others_alone(commands: Commands) -> None:
    command = running(commands, gang=2)
    commands.ended("c-1", 0, Outcome(0))
    assert kinds(commands) == [effect.ReleaseTask]
    commands.ended("c-1", 1, Outcome(0))
    assert command.outcome == Outcome(0)


@pytest.mark.remuda_rule("EXT-105")
def test_a_cancelled_command_ends_at_once_if_it_waits(commands: Commands) -> None:
    command = commands.submit(wanted())
    commands.take()
    commands.cancel(command)
    assert kinds(commands) == [effect.WriteDown, effect.RemoveApplication]
    assert command.outcome == Outcome(143, "it was cancelled")
    commands.cancel(command)
    # A place that was given meanwhile is given back.
    commands.placed("c-1", "c-1.0")
    assert kinds(commands) == [effect.ReleaseTask]


@pytest.mark.remuda_rule("EXT-105")
def test_a_cancelled_command_that_runs_has_the_code_of_its_own(commands: Commands) -> None:
    command = running(commands)
    commands.cancel(command)
    assert commands.take() == [effect.EndTask(command, 0)]
    assert command.outcome is None
    commands.ended("c-1", 0, Outcome(0))
    assert command.outcome == Outcome(0, "it was cancelled")


@pytest.mark.remuda_rule("EXT-105")
def test_an_order_of_the_scheduler_is_confirmed_when_the_task_has_ended(commands: Commands) -> None:
    command = running(commands)
    commands.ordered("c-1", "c-1.0", si.PREEMPTED_BY_SCHEDULER)
    assert commands.take() == [effect.EndTask(command, 0)]
    commands.ended("c-1", 0, Outcome(143))
    released = commands.take()[0]
    assert released == effect.ReleaseTask("c-1", "c-1.0", si.PREEMPTED_BY_SCHEDULER)
    assert command.outcome == Outcome(143, "the scheduler took its place (PREEMPTED_BY_SCHEDULER)")


@pytest.mark.remuda_rule("EXT-105")
def test_a_member_that_loses_its_place_before_the_start_asks_again(commands: Commands) -> None:
    command = commands.submit(wanted(gang=2))
    commands.placed("c-1", "c-1.0")
    commands.take()
    commands.ordered("c-1", "c-1.0", si.PREEMPTED_BY_SCHEDULER)
    released, ask = commands.take()
    assert released == effect.ReleaseTask("c-1", "c-1.0", si.PREEMPTED_BY_SCHEDULER)
    assert ask == effect.AskFor(command, "c-1.0", gang=False)
    assert command.tasks[0].stage is Stage.WAITING


@pytest.mark.remuda_rule("EXT-105")
def test_what_the_scheduler_refuses_has_the_code_125_unless_it_runs(commands: Commands) -> None:
    waits = commands.submit(wanted(1))
    commands.refused("c-1", "", "no queue")
    assert waits.outcome == Outcome(125, "the scheduler refuses it: no queue")
    runs = running(commands, 2)
    commands.refused("c-2", "", "no queue")
    commands.refused("c-2", "c-2.0", "no node")
    commands.refused("unknown", "key", "whatever")
    assert (runs.outcome, commands.take()) == (None, [])


@pytest.mark.remuda_rule("EXT-106")
def test_devices_are_for_one_task_until_it_ends(commands: Commands) -> None:
    started = []
    for number in (1, 2, 3):
        command = commands.submit(wanted(number, cpus=2_000, gpus=1))
        started.append(command.tasks[0])
        if number < 3:
            commands.placed(command.application, command.tasks[0].key)
    assert [(task.cores, task.gpus) for task in started[:2]] == [
        ((0, 1), ("g0",)),
        ((2, 3), ("g1",)),
    ]
    commands.ended("c-1", 0, Outcome(0))
    commands.placed("c-3", "c-3.0")
    assert (started[2].cores, started[2].gpus) == ((0, 1), ("g0",))


@pytest.mark.remuda_rule("EXT-106")
def test_a_part_of_a_core_is_no_core_for_itself(commands: Commands) -> None:
    command = commands.submit(wanted(cpus=1_500))
    commands.placed("c-1", "c-1.0")
    assert command.tasks[0].cores == ()


@pytest.mark.remuda_rule("EXT-107")
def test_a_scheduler_that_knows_nothing_is_told_everything_in_order(commands: Commands) -> None:
    runs = running(commands, 1)
    gang = commands.submit(wanted(2, gang=2))
    commands.placed("c-2", "c-2.0")
    commands.take()
    commands.request_all()
    assert commands.take() == [
        effect.AddApplication(runs, gang=False, runs=True),
        effect.AddApplication(gang, gang=True, runs=False),
        effect.ReportTask(runs, "c-1.0"),
        effect.AskFor(gang, "c-2.0.place", gang=True, placeholder=True),
        effect.AskFor(gang, "c-2.1.place", gang=True, placeholder=True),
        effect.AskFor(gang, "c-2.0", gang=True),
        effect.AskFor(gang, "c-2.1", gang=True),
    ]
    # The answer to the report starts nothing a second time.
    commands.placed("c-1", "c-1.0")
    assert commands.take() == []


@pytest.mark.remuda_rule("EXT-107", "EXT-110")
def test_a_gang_of_which_one_failed_meanwhile_is_ended(commands: Commands) -> None:
    command = new_command(wanted(gang=2))
    command.tasks[0].stage = Stage.RUNNING
    command.tasks[1].stage, command.tasks[1].outcome = Stage.OVER, Outcome(9)
    commands.restore(command)
    assert commands.take() == [effect.EndTask(command, 0)]
    commands.ended("c-1", 0, Outcome(143))
    assert command.outcome == Outcome(9)


@pytest.mark.remuda_rule("EXT-105", "EXT-107")
def test_a_gang_that_is_being_ended_starts_nothing_more(commands: Commands) -> None:
    """A service that was killed while it started a gang leaves tasks that wait."""
    command = new_command(wanted(gang=2))
    command.tasks[0].stage = Stage.RUNNING
    commands.restore(command)
    commands.request_all()
    assert effect.AskFor(command, "c-1.1", gang=False) in commands.take()
    commands.cancel(command)
    assert commands.take() == [effect.EndTask(command, 0)]
    commands.placed("c-1", "c-1.1")
    assert commands.take() == [effect.ReleaseTask("c-1", "c-1.1", si.STOPPED_BY_RM)]
    commands.request_all()
    assert effect.AskFor not in kinds(commands)
    commands.ended("c-1", 0, Outcome(143))
    assert command.outcome == Outcome(143, "it was cancelled")


@pytest.mark.remuda_rule("EXT-110")
def test_a_command_that_ended_meanwhile_is_written_down(commands: Commands) -> None:
    command = new_command(wanted())
    command.tasks[0].stage, command.tasks[0].outcome = Stage.OVER, Outcome(0)
    commands.restore(command)
    assert kinds(commands) == [effect.WriteDown, effect.RemoveApplication]
    assert (command.outcome, commands.live()) == (Outcome(0), [])


@pytest.mark.remuda_rule("EXT-108")
def test_the_oldest_of_too_many_commands_that_have_ended_are_forgotten(commands: Commands) -> None:
    for number in (1, 2, 3):
        commands.cancel(commands.submit(wanted(number)))
    assert list(commands.all) == ["c-2", "c-3"]
    assert [each for each in commands.take() if isinstance(each, effect.ForgetCommand)] == [
        effect.ForgetCommand("c-1")
    ]


@pytest.mark.remuda_rule("EXT-109")
def test_the_type_that_is_lacking_is_named() -> None:
    machine = {"vcore": 4_000, "memory": 100}
    assert too_large({"vcore": 1_000, "memory": 25}, 4, machine) == ""
    assert too_large({"vcore": 1_000, "memory": 26}, 4, machine) == "memory"
    assert too_large({"fpga": 1}, 1, machine) == "fpga"
