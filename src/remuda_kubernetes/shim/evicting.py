"""Pods that the scheduler wants gone: victims, placeholders that are replaced or too late.

The scheduler keeps the room until the pod is gone and the shim has confirmed that.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Final

from remuda.si.pb import si_pb2 as si
from remuda_kubernetes.objects.outcomes import Outcome, Result
from remuda_kubernetes.shim import applications, asking, gangs
from remuda_kubernetes.shim.effects import DeletePod, EvictPod
from remuda_kubernetes.shim.records import Task
from remuda_kubernetes.shim.state import SECOND, State
from remuda_kubernetes.shim.states import TaskEvent, TaskState
from remuda_kubernetes.translation import events, requests

# How often an eviction is tried again, and how long a budget may hold it up. The victim was chosen
# because no other choice did; after that it is deleted.
_PAUSE_SECONDS: Final = 5.0
_BUDGET_SECONDS: Final = 60.0


def released(state: State, releases: Iterable[si.AllocationRelease]) -> None:
    """Take in which allocations the scheduler released, in one response.

    Victims and the pod they make room for are told of each other.
    """
    chosen: dict[str, list[Task]] = {}
    for release in releases:
        victim = _released(state, release)
        if victim is not None:
            chosen.setdefault(release.message, []).append(victim)
    for message, victims in chosen.items():
        _tell(state, message, victims)


def _released(state: State, release: si.AllocationRelease) -> Task | None:
    """Take in one release; return the task that has to leave, if it is a victim."""
    task = state.tasks.get(release.allocationKey)
    if release.terminationType == si.STOPPED_BY_RM:
        if task is not None and task.allocation_id == release.allocationID:
            _not_counted(state, task)
        return None
    if task is None:
        state.outbox.release(
            requests.release(release.applicationID, release.allocationKey, release.terminationType)
        )
        return None
    task.termination = release.terminationType
    task.allocation_id = release.allocationID or task.allocation_id
    if not task.move(TaskEvent.LEAVE):
        return None
    if task.placeholder:
        gangs.remove(state, task)
        return None
    _evict(state, task.key, state.now_ns + int(_BUDGET_SECONDS * SECOND))
    return task


def _not_counted(state: State, task: Task) -> None:
    """Take in that the scheduler counts a pod no more: as we asked for, or its node was removed.

    The node may be there again by now, with a decision of before on its way; the pod is reported
    then. The scheduler takes what it knows already as no change. A placeholder of an application
    that has ended is being deleted, and does not belong to the next one of that name.
    """
    task.allocation_id = ""
    if task.placeholder and not applications.is_known(task.application):
        return
    if task.state in {TaskState.BINDING, TaskState.BOUND} and task.node in state.placed:
        asking.report(state, task)


def _tell(state: State, message: str, victims: list[Task]) -> None:
    """Tell victims why they have to leave, and the pod they leave for what it waits for.

    ``message``: the scheduler's words; those about an ask end in its key (PRE-34, PRE-44).
    """
    preemptor = state.tasks.get(message.rpartition(": ")[2])
    if preemptor is not None:
        why = f"for pod {preemptor.pod.key}"
        names = sorted([each.pod.key for each in victims])
        state.post(events.preempting(preemptor.pod, names))
    else:
        why = f"as the scheduler says: {message}"
    for task in victims:
        state.post(events.preempted(task.pod, why, task.node))


def ask_released(state: State, release: si.AllocationAskRelease) -> None:
    """Take in that the scheduler dropped an ask: that of a placeholder whose time is over."""
    task = state.tasks.get(release.allocationKey)
    if task is not None and task.placeholder and task.state is TaskState.ASKED:
        gangs.remove(state, task)


def _evict(state: State, uid: str, until_ns: int) -> None:
    """Evict a victim through its budgets; delete it when they hold it up for too long."""
    task = state.tasks.get(uid)
    if task is None or task.state is not TaskState.LEAVING or task.pod.deleted:
        return
    told = partial(_evicted, state, uid, until_ns)
    if state.now_ns < until_ns:
        state.call(partial(EvictPod, pod=task.pod), told)
    else:
        state.call(partial(DeletePod, pod=task.pod), told)


def _evicted(state: State, uid: str, until_ns: int, outcome: Outcome) -> None:
    task = state.tasks.get(uid)
    if task is None or outcome.done or outcome.result is Result.GONE:
        return
    if outcome.result is Result.REFUSED and until_ns:
        # The server has no evictions, or not for us: time does not change that.
        _evict(state, uid, 0)
        return
    if outcome.result is Result.BLOCKED:
        state.post(events.eviction_blocked(task.pod, outcome.message))
    state.after(_PAUSE_SECONDS, partial(_evict, state, uid, until_ns))


def confirm(state: State, task: Task) -> None:
    """Tell the scheduler that a pod it wanted gone is gone."""
    state.outbox.release(
        requests.release(task.application.identity, task.key, task.termination, "the pod is gone")
    )
