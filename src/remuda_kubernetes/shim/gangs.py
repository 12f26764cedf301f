"""Gangs: placeholders keep room for the members, until all of it is there.

The originator is the pod that brings the task groups. Placeholders belong to it, so they go when it
goes; the shim removes them anyway, as far as they are left.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any, Final

from remuda_kubernetes.objects.outcomes import Outcome, Result
from remuda_kubernetes.shim import asking
from remuda_kubernetes.shim.effects import AnnotatePod, CreatePod, DeletePod
from remuda_kubernetes.shim.ending import forget_if_empty
from remuda_kubernetes.shim.records import Application, Task
from remuda_kubernetes.shim.state import State
from remuda_kubernetes.shim.states import ApplicationState, TaskEvent, TaskState
from remuda_kubernetes.translation import events, names, placeholders

_PAUSE_SECONDS: Final = 5.0
# How long a placeholder that was created may stay unseen.
_UNSEEN_SECONDS: Final = 30.0


def must_reserve(application: Application) -> bool:
    """Whether an application that was accepted has to reserve room first.

    Not one whose members run already: it had begun before a restart.
    """
    return bool(application.facts.groups) and next(_begun(application), None) is None


def go_on(state: State, application: Application) -> None:
    """Let the members of a gang ask that had begun before a restart.

    If all its members are on nodes that are gone, the scheduler knows of none. Then it takes the
    placeholders that are left for those of a gang that has not begun, and holds the members back.
    """
    if application.facts.groups and not any(
        task.node in state.placed for task in _begun(application)
    ):
        give_up(state, application)
    asking.begin(state, application)


def _begun(application: Application) -> Iterator[Task]:
    """Yield the members that have a node; the originator may have had one before its gang began."""
    for task in application.tasks.values():
        has_node = task.state in {TaskState.BOUND, TaskState.BINDING}
        if has_node and not task.placeholder and task.key != application.originator.uid:
            yield task


def reserve(state: State, application: Application) -> None:
    """Create the placeholders that are missing. Those of before a restart are there already."""
    if application.reserved or application.state is not ApplicationState.RESERVING:
        return
    tasks = application.tasks.values()
    pods = [task.pod for task in tasks]
    count = 0
    for manifest in placeholders.missing_placeholders(
        application.facts,
        pods,
        state.settings.placeholder_image,
        application.spent,
        {task.key: task.facts.task_group for task in tasks},
    ):
        name = manifest["metadata"]["name"]
        if name not in application.creating:
            application.creating.add(name)
            count += 1
            _create(state, application, manifest)
    if count:
        state.post(events.gang_begins(application.originator, application.identity, count))
    _begin_if_complete(state, application)


def _create(state: State, application: Application, manifest: dict[str, Any]) -> None:
    state.call(
        partial(CreatePod, namespace=application.facts.namespace, manifest=manifest),
        partial(_created, state, application, manifest),
    )


def _created(
    state: State, application: Application, manifest: dict[str, Any], outcome: Outcome
) -> None:
    """Take in what became of a placeholder. The watch brings it if it was created."""
    name = manifest["metadata"]["name"]
    ended = outcome.pod is not None and outcome.pod.ended
    # A conflict: it exists, from before a restart; or one with its name has ended, which no watch
    # shows, and its name is taken for good.
    if outcome.done or (outcome.result is Result.CONFLICT and not ended):
        if name in application.creating:
            state.after(_UNSEEN_SECONDS, partial(_unseen, state, application, name))
        return
    application.creating.discard(name)
    if application.reserved or application.state is not ApplicationState.RESERVING:
        forget_if_empty(state, application)
        return
    if ended:
        application.spent.add(name)
        _reserve_later(state, application, 0.0)
        return
    state.post(events.placeholder_failed(application.originator, name, outcome.message))
    _reserve_later(state, application, _PAUSE_SECONDS)


def _unseen(state: State, application: Application, name: str) -> None:
    """Create a placeholder once more that no watch brought.

    Somebody deleted it before it was seen, for example while the watch was interrupted.
    """
    if name in application.creating:
        application.creating.discard(name)
        reserve(state, application)
        forget_if_empty(state, application)


def _reserve_later(state: State, application: Application, seconds: float) -> None:
    """Create what is missing after a while: once, however many placeholders that is about."""
    if not application.looks_again:
        application.looks_again = True
        state.after(seconds, partial(_look_again, state, application))


def _look_again(state: State, application: Application) -> None:
    application.looks_again = False
    reserve(state, application)


def joined(state: State, task: Task) -> None:
    """Remove a placeholder that comes too late: its gang has begun, or has given up."""
    application = task.application
    if task.placeholder and application.facts.groups and application.reserved:
        task.move(TaskEvent.REJECT)
        remove(state, task)


def task_bound(state: State, task: Task) -> None:
    """Take in that a task has its node: the gang may be complete.

    All tasks of a large gang are looked at only when enough tasks have a node to complete it.
    """
    application = task.application
    application.lacking -= 1
    if application.lacking <= 0:
        _begin_if_complete(state, application)


def _begin_if_complete(state: State, application: Application) -> None:
    """Let the members ask when each group has the room it needs.

    That is kept by placeholders with a node, and taken by members with a node: the originator may
    be a member that was placed before a restart, and no placeholder is made for it again.
    """
    if application.state is not ApplicationState.RESERVING:
        return
    have: dict[str, int] = {}
    for task in application.tasks.values():
        leaves = task.placeholder and task.state is TaskState.LEAVING
        if leaves or task.state is TaskState.BOUND:
            group = task.facts.task_group
            have[group] = have.get(group, 0) + 1
    application.lacking = sum(
        max(0, group.min_member - have.get(group.name, 0)) for group in application.facts.groups
    )
    if application.lacking == 0:
        asking.begin(state, application)


def task_gone(state: State, task: Task) -> None:
    """Take in that a task is gone.

    Without the originator no room is kept. A placeholder that was deleted too early is made again.
    """
    application = task.application
    if application.facts.groups and task.key == application.originator.uid:
        give_up(state, application)
    elif task.placeholder and application.state is ApplicationState.RESERVING:
        _reserve_later(state, application, _PAUSE_SECONDS)


def give_up(state: State, application: Application) -> None:
    """Make no more placeholders, and remove those that are left."""
    application.reserved = True
    for task in list(application.tasks.values()):
        if task.placeholder:
            remove(state, task)


def mark_over(state: State, application: Application) -> None:
    """Note at the originator that the time of the gang is over, so a restart knows it, too."""
    pod = application.originator
    if pod.uid in state.tasks:
        state.post(events.gang_timed_out(pod, application.identity, hard=False))
        state.call(
            partial(AnnotatePod, pod=pod, annotations={names.RESERVATION_OVER: "true"}), _ignore
        )


def _ignore(_outcome: Outcome) -> None:
    """Leave it: at worst a restart reserves room once more."""


def remove(state: State, task: Task) -> None:
    """Delete a placeholder at once; again until it is gone."""
    state.call(
        partial(DeletePod, pod=task.pod, grace_seconds=0),
        partial(_removed, state, task.key),
    )


def _removed(state: State, uid: str, outcome: Outcome) -> None:
    task = state.tasks.get(uid)
    if task is not None and outcome.result in {Result.FAILED, Result.BLOCKED}:
        state.after(_PAUSE_SECONDS, partial(remove, state, task))
