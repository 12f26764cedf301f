"""What becomes of commands: decides on each event what is to be told, started and written down.

Pure: events come in by methods, effects go out by ``take``. Nothing here knows processes, files or
the time. A command is an application, its task an ask; a gang asks for placeholders first, and its
tasks start when all of them have their place.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from remuda.local.devices import Devices
from remuda.local.effects import (
    AddApplication,
    AskFor,
    Effect,
    EndTask,
    ForgetCommand,
    ReleaseTask,
    RemoveApplication,
    ReportTask,
    StartTask,
    WriteDown,
)
from remuda.local.records import (
    FAILED,
    TERMINATED,
    Command,
    Outcome,
    Stage,
    Task,
    Wanted,
    new_command,
)
from remuda.si.pb import si_pb2 as si

# Commands that have ended and are still known.
KEPT: Final = 1_000

# States of an application in which nothing of it is placed any more.
_GIVEN_UP: Final = ("Failing", "Failed", "Killed", "Rejected")

# Why the scheduler wants a place back.
_KINDS: Final[Mapping[int, str]] = {number: name for name, number in si.TerminationType.items()}

_CANCELLED: Final = Outcome(TERMINATED, "it was cancelled")


class Commands:
    """All commands of this machine, by identity.

    ``kept``: how many are known after their end. Rules: EXT-103, EXT-104, EXT-105, EXT-107.
    """

    def __init__(self, devices: Devices, kept: int = KEPT) -> None:
        self._devices = devices
        self._kept = kept
        self._effects: list[Effect] = []
        self._by_application: dict[str, Command] = {}
        self.all: dict[str, Command] = {}

    def take(self) -> list[Effect]:
        """Return what is to be done, in order, once."""
        effects, self._effects = self._effects, []
        return effects

    def live(self) -> list[Command]:
        """Return the commands that have not ended, in the order of their submission."""
        return list(self._by_application.values())

    def running(self) -> list[tuple[Command, Task]]:
        """Return the tasks that run."""
        return [
            (command, task)
            for command in self._by_application.values()
            for task in command.tasks
            if task.stage is Stage.RUNNING
        ]

    # ------------------------------------------------------------------ what people do

    def submit(self, wanted: Wanted) -> Command:
        """Take a command: it waits until the scheduler places it."""
        command = new_command(wanted)
        self.all[command.identity] = command
        self._by_application[command.application] = command
        self._request(command)
        return command

    def cancel(self, command: Command) -> None:
        """End a command, whether it runs or waits; one that has ended stays as it is."""
        self._give_up(command, _CANCELLED)

    # --------------------------------------------------------- what the scheduler says

    def placed(self, application: str, key: str) -> None:
        """A task or placeholder has its place. The tasks of a gang wait for each other.

        Implements: EXT-104.
        """
        command = self._by_application.get(application)
        if command is None:
            self._effects.append(ReleaseTask(application, key, si.STOPPED_BY_RM))
            return
        task = _task(command, key)
        if task is None or task.stage is not Stage.WAITING:
            return
        if command.ending is not None:
            # Other tasks of its gang are being ended; this one would go on alone.
            self._effects.append(ReleaseTask(application, key, si.STOPPED_BY_RM))
            return
        task.stage = Stage.PLACED
        if all(each.stage is not Stage.WAITING for each in command.tasks):
            for each in command.tasks:
                if each.stage is Stage.PLACED:
                    self._start(command, each)

    def ordered(self, application: str, key: str, kind: int) -> None:
        """The scheduler wants back what a task or placeholder has.

        A placeholder is nothing but a place and is given back at once. A task is ended first; its
        command has ended then, since nobody knows whether it may run twice.
        """
        command = self._by_application.get(application)
        task = None if command is None else _task(command, key)
        if command is None or task is None or task.stage is not Stage.RUNNING:
            self._effects.append(ReleaseTask(application, key, kind))
            if command is not None and task is not None and task.stage is Stage.PLACED:
                task.stage = Stage.WAITING
                self._effects.append(AskFor(command, key, gang=False))
            return
        task.order = kind
        reason = f"the scheduler took its place ({_KINDS[kind]})"
        self._give_up(command, Outcome(TERMINATED, reason))

    def refused(self, application: str, key: str, reason: str) -> None:
        """The scheduler does not take an application, or the ask with a key.

        What runs already goes on: to end it would cost more than to count it wrongly.
        """
        command = self._by_application.get(application)
        if command is None:
            return
        task = _task(command, key)
        runs = command.stage is Stage.RUNNING if task is None else task.stage is Stage.RUNNING
        if not runs:
            self._give_up(command, Outcome(FAILED, f"the scheduler refuses it: {reason}"))

    def moved(self, application: str, state: str, reason: str) -> None:
        """An application has another state.

        A gang that did not get all its places in time gives them back and is submitted again, so
        that two gangs cannot wait for each other for ever. Rules: EXT-104.
        """
        command = self._by_application.get(application)
        if command is None or state not in _GIVEN_UP:
            return
        if command.wanted.is_gang and command.stage is Stage.WAITING and not command.ending:
            if state == "Failed":
                self._again(command)
            return
        self._give_up(command, Outcome(FAILED, f"its application is {state}: {reason}"))

    # ---------------------------------------------------------- what happens to processes

    def ended(self, identity: str, index: int, outcome: Outcome) -> None:
        """A task has ended; with its last one the command has. Implements: EXT-105."""
        command = self.all[identity]
        task = command.tasks[index]
        if task.stage is Stage.OVER:
            return
        task.stage, task.outcome = Stage.OVER, outcome
        self._devices.give_back(task, [each for _, each in self.running()])
        kind = task.order or si.STOPPED_BY_RM
        self._effects.append(ReleaseTask(command.application, task.key, kind))
        if outcome.code and command.ending is None:
            command.ending = outcome
            self._effects += _ends(command)
        self._finish(command)

    # -------------------------------------------------------------- beginning anew

    def restore(self, command: Command) -> None:
        """Take a command from before a restart, with what its tasks are now."""
        self.all[command.identity] = command
        if command.outcome is not None:
            return
        self._by_application[command.application] = command
        for task in command.tasks:
            if task.stage is Stage.RUNNING:
                self._devices.keep(task)
        failed = [each.outcome for each in command.tasks if each.outcome and each.outcome.code]
        if failed and command.ending is None:
            command.ending = failed[0]
            self._effects += _ends(command)
        self._finish(command)

    def request_all(self) -> None:
        """Tell a scheduler that knows nothing everything: applications, what runs, what waits.

        The node has to be told between the applications and what runs. Implements: EXT-107.
        """
        for command in self.live():
            for task in command.tasks:
                if task.stage is Stage.PLACED:
                    task.stage = Stage.WAITING
            self._add(command)
        for command, task in self.running():
            self._effects.append(ReportTask(command, task.key))
        for command in self.live():
            if command.ending is None:
                self._ask(command)

    # ------------------------------------------------------------------------- inside

    def _request(self, command: Command) -> None:
        self._add(command)
        self._ask(command)

    def _add(self, command: Command) -> None:
        runs = command.stage is Stage.RUNNING
        gang = command.wanted.is_gang and not runs
        self._effects.append(AddApplication(command, gang, runs))

    def _ask(self, command: Command) -> None:
        """Ask for the tasks of a command that wait; for a gang, for placeholders before.

        Implements: EXT-103.
        """
        gang = command.wanted.is_gang and command.stage is Stage.WAITING
        command.placeholders = {}
        if gang:
            for task in command.tasks:
                key = f"{task.key}.place"
                command.placeholders[key] = None
                self._effects.append(AskFor(command, key, gang=True, placeholder=True))
        for task in command.tasks:
            if task.stage is Stage.WAITING:
                self._effects.append(AskFor(command, task.key, gang))

    def _again(self, command: Command) -> None:
        del self._by_application[command.application]
        command.attempt += 1
        for task in command.tasks:
            task.stage = Stage.WAITING
        self._by_application[command.application] = command
        self._request(command)

    def _start(self, command: Command, task: Task) -> None:
        task.stage = Stage.RUNNING
        self._devices.take(task, command.wanted.resources)
        self._effects.append(StartTask(command, task.index))

    def _give_up(self, command: Command, outcome: Outcome) -> None:
        """End a command for a reason of its own; the first reason counts."""
        if command.outcome is not None:
            return
        if command.ending is None:
            command.ending = outcome
        self._effects += _ends(command)
        self._finish(command)

    def _finish(self, command: Command) -> None:
        """Write down how a command ended, if nothing of it runs or will run."""
        if any(each.stage is Stage.RUNNING for each in command.tasks):
            return
        if command.ending is None and any(each.outcome is None for each in command.tasks):
            return
        command.outcome = _outcome(command)
        self._effects += [WriteDown(command), RemoveApplication(command.application)]
        del self._by_application[command.application]
        self._forget_oldest()

    def _forget_oldest(self) -> None:
        """Forget the oldest commands that have ended, beyond those that are kept."""
        over = [each.identity for each in self.all.values() if each.outcome is not None]
        for identity in over[: max(len(over) - self._kept, 0)]:
            del self.all[identity]
            self._effects.append(ForgetCommand(identity))


def _ends(command: Command) -> list[Effect]:
    """Return what ends the tasks of a command that run."""
    return [EndTask(command, task.index) for task in command.tasks if task.stage is Stage.RUNNING]


def _outcome(command: Command) -> Outcome:
    """Return how a command ended: with the code of its own if all its tasks had one."""
    ending = command.ending
    outcomes = [each.outcome for each in command.tasks]
    if ending is None:
        return Outcome(0)
    if None in outcomes or any(each is ending for each in outcomes):
        return ending
    codes = [each.code for each in outcomes if each is not None and each.code]
    return Outcome(codes[0] if codes else 0, ending.reason)


def _task(command: Command, key: str) -> Task | None:
    """Return the task with a key, None for a placeholder or a key of something else."""
    return next((task for task in command.tasks if task.key == key), None)


def amounts_of(resources: Mapping[str, int], times: int) -> dict[str, int]:
    """Return so many times as much of each type."""
    return {name: amount * times for name, amount in resources.items()}


def too_large(resources: Mapping[str, int], times: int, capacity: Mapping[str, int]) -> str:
    """Return the first type, by name, of which the machine has less; "" if it has enough."""
    needed = amounts_of(resources, times)
    lacking: Iterable[str] = (
        name for name in sorted(needed) if needed[name] > capacity.get(name, 0)
    )
    return next(iter(lacking), "")
