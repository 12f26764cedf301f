"""Commands and their tasks: what people ask for, and what becomes of it.

A command is what somebody submitted. It has one task, or as many as its gang has members; each task
is one process. The state directory keeps ``Wanted`` and ``Outcome`` as JSON.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Final

import msgspec

VCORE: Final = "vcore"
MEMORY: Final = "memory"
GPU: Final = "nvidia.com/gpu"

# Exit codes of commands that did not come to an end of their own.
FAILED: Final = 125
TERMINATED: Final = 143


class Wanted(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A command as it was submitted, when and by whom.

    ``resources``: amounts of one task in base units. ``environment``, ``directory``, ``umask``: of
    the caller. ``gang``: its tasks, which start together. ``number``: its place among all commands;
    ``submitted_s``: Unix seconds.
    """

    number: int
    identity: str
    user: str
    arguments: list[str]
    environment: dict[str, str]
    directory: str
    umask: int
    resources: dict[str, int]
    gang: int = 1
    queue: str = ""
    priority: int = 0
    submitted_s: int = 0

    @property
    def is_gang(self) -> bool:
        """Whether it has tasks that start together."""
        return self.gang > 1


class Outcome(msgspec.Struct, frozen=True):
    """How a command or a task ended: its exit code, and why if it was not its own.

    ``dropped``: bytes of output that the disk did not take.
    """

    code: int
    reason: str = ""
    dropped: int = 0


class Stage(Enum):
    """How far a task is.

    ``PLACED``: it has its resources and waits for the others of its gang.
    """

    WAITING = "waiting"
    PLACED = "placed"
    RUNNING = "running"
    OVER = "over"


@dataclass(slots=True)
class Task:
    """One process of a command: ``index`` from 0.

    ``cores``: those it has alone; ``gpus``: the IDs of its devices. ``order``: the kind of the
    scheduler's order to release it, which its end confirms.
    """

    index: int
    key: str
    stage: Stage = Stage.WAITING
    cores: tuple[int, ...] = ()
    gpus: tuple[str, ...] = ()
    outcome: Outcome | None = None
    order: int = 0


@dataclass(slots=True)
class Command:
    """A command and its tasks.

    ``outcome``: how it ended, None before. ``ending``: why its tasks were told to end.
    ``attempt``: how often its gang was submitted again. ``placeholders``: keys of those it asks
    for.
    """

    wanted: Wanted
    tasks: list[Task]
    outcome: Outcome | None = None
    ending: Outcome | None = None
    attempt: int = 0
    placeholders: dict[str, None] = field(default_factory=dict)

    @property
    def identity(self) -> str:
        """Its name, by which people and files know it."""
        return self.wanted.identity

    @property
    def application(self) -> str:
        """The ID of its application."""
        return self.identity if not self.attempt else f"{self.identity}.{self.attempt}"

    @property
    def stage(self) -> Stage:
        """How far it is as a whole."""
        if self.outcome is not None:
            return Stage.OVER
        begun = any(task.stage in (Stage.RUNNING, Stage.OVER) for task in self.tasks)
        return Stage.RUNNING if begun else Stage.WAITING


def new_command(wanted: Wanted) -> Command:
    """Return a command whose tasks wait."""
    tasks = [Task(index, f"{wanted.identity}.{index}") for index in range(wanted.gang)]
    return Command(wanted, tasks)


def whole_cores(resources: Mapping[str, int]) -> int:
    """Return how many cores a task gets for itself, 0 if it asks for a part of one."""
    cores, part = divmod(resources.get(VCORE, 0), 1_000)
    return 0 if part else cores
