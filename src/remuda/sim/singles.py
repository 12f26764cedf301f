"""Tasks as single asks, each of which needs room on one node.

The counterpart of gangs: the requests for a task, and the answers about it.
"""

from __future__ import annotations

from typing import Final, Protocol, final

from remuda.base.message import message
from remuda.config.schema import USER_NAME
from remuda.core.messages.commands import AllocationRelease, Ask, NewApplication
from remuda.core.messages.effects import (
    AllocationNew,
    AllocationsReleased,
    ApplicationUpdated,
    ReleasedAllocation,
)
from remuda.sim.predicates import equivalence
from remuda.sim.timeline import Timeline
from remuda.sim.workload import USER, Task

# The user of tasks without a user, and the prefix of users a scheduler would refuse.
ANYBODY: Final = "simulated"
USER_PREFIX: Final = "user-"


@message
class Begun:
    """A task got all its room. ``allocation_id``: what ends with it, "" for its application."""

    node_ids: tuple[str, ...]
    allocation_id: str


class Asking(Protocol):
    """How tasks are asked for: one by one, or as gangs."""

    def task_of(self, allocation_key: str) -> str:
        """Return the ID of the task that asked under a key."""
        ...

    def application(self, task: Task, path: str) -> NewApplication:
        """Return the application of a task."""
        ...

    def asks(self, task: Task) -> tuple[Ask, ...]:
        """Return what a task asks for when it is submitted."""
        ...

    def confirmations(self) -> tuple[AllocationRelease, ...]:
        """Return what has to be confirmed at once, each once."""
        ...

    def placed(self, effect: AllocationNew) -> Begun | None:
        """Note an allocation; the task's start if nothing of it is missing any more."""
        ...

    def released(self, effect: AllocationsReleased) -> None:
        """Note what the scheduler orders to end at once."""
        ...

    def updated(self, effect: ApplicationUpdated) -> bool:
        """Note the state of an application; whether its task will never run."""
        ...

    def evicted(self, victim: ReleasedAllocation) -> tuple[Ask, ...] | None:
        """Note the end of a victim; what to ask for in its place, None if it had ended before."""
        ...

    def whole(self, task: Task) -> bool:
        """Whether a task has all its room."""
        ...

    def refused(self, application_id: str, rule: str) -> bool:
        """Whether a run goes on without an application that was refused."""
        ...

    def ended(self, task: Task) -> None:
        """Note the end of a task, with all it has."""
        ...


@final
class Singles:
    """Every task is one ask; several may share an application."""

    def __init__(self, tasks: tuple[Task, ...], timeline: Timeline, *, preempts: bool) -> None:
        self._tasks = {task.task_id: task for task in tasks}
        self._timeline = timeline
        self._preempts = preempts
        # How many allocations a task was asked for in its life, if more than one (SI-34).
        self._totals: dict[str, int] = {}
        self._running: dict[str, str] = {}

    def task_of(self, allocation_key: str) -> str:
        """Return the task of that name."""
        return allocation_key

    def application(self, task: Task, path: str) -> NewApplication:
        """Return the application of a task."""
        user = user_of(task)
        return NewApplication(task.application_id, path, user=user, groups=(user,))

    def asks(self, task: Task) -> tuple[Ask, ...]:
        """Return the one ask of a task."""
        ask = Ask(
            task.application_id,
            task.task_id,
            task.resource,
            max_allocations=self._totals.get(task.task_id, 1),
            priority=task.priority,
            allow_preempt_other=self._preempts,
            equivalence=equivalence(task),
        )
        return (ask,)

    def confirmations(self) -> tuple[AllocationRelease, ...]:
        """Return none: no allocation has to be confirmed at once."""
        return ()

    def placed(self, effect: AllocationNew) -> Begun:
        """Note a start."""
        key = effect.ask.allocation_key
        self._running[key] = effect.allocation_id
        self._timeline.took(self._tasks[key].resource)
        return Begun((effect.node_id,), effect.allocation_id)

    def released(self, effect: AllocationsReleased) -> None:
        """Do nothing: the release of a single task needs no further step."""

    def updated(self, effect: ApplicationUpdated) -> bool:
        """No state keeps a task from running."""
        return False

    def evicted(self, victim: ReleasedAllocation) -> tuple[Ask, ...] | None:
        """Note the end of a victim; the same ask for one more allocation in all."""
        key = victim.allocation_key
        if self._running.get(key) != victim.allocation_id:
            return None
        task = self._tasks[key]
        self.ended(task)
        self._totals[key] = self._totals.get(key, 1) + 1
        return self.asks(task)

    def whole(self, task: Task) -> bool:
        """Whether a task runs."""
        return task.task_id in self._running

    def refused(self, application_id: str, rule: str) -> bool:
        """Return False: no refusal is expected."""
        return False

    def ended(self, task: Task) -> None:
        """Note the end of a task."""
        del self._running[task.task_id]
        self._timeline.ended(task.resource)


def user_of(task: Task) -> str:
    """Return a name the scheduler takes for a user of a trace, who may be a number (UGR-8)."""
    label = task.labels.get(USER, "")
    if not label or USER_NAME.fullmatch(label):
        return label or ANYBODY
    return USER_PREFIX + "".join(c if USER_NAME.fullmatch(f"_{c}") else "_" for c in label)
