"""What the scheduler's responses mean."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Final

from remuda.si.pb import si_pb2 as si
from remuda.si.wire import Response
from remuda_kubernetes.shim import applications, asking, binding, evicting, nodes
from remuda_kubernetes.shim.state import State
from remuda_kubernetes.shim.states import TaskEvent, TaskState
from remuda_kubernetes.translation import events

# Pauses before a refused ask is sent again: the first, doubled up to the longest.
_PAUSE_SECONDS: Final = 10.0
_PAUSE_SECONDS_LIMIT: Final = 300.0


def take_in(state: State, responses: Iterable[Response]) -> None:
    """Take in responses, in their order."""
    for response in responses:
        if isinstance(response, si.AllocationResponse):
            allocation(state, response)
        elif isinstance(response, si.ApplicationResponse):
            application(state, response)
        else:
            nodes.answered(state, response)


def allocation(state: State, response: si.AllocationResponse) -> None:
    """Take in allocations, releases, and refusals of asks."""
    for new in response.new:
        if new.allocationKey in state.tasks or not _is_foreign(new):
            _new(state, new)
    evicting.released(state, response.released)
    for dropped in response.releasedAsks:
        evicting.ask_released(state, dropped)
    for refused in response.rejected:
        _refused(state, refused.allocationKey, refused.reason)
    for rejected in response.rejectedAllocations:
        _refused(state, rejected.allocationKey, rejected.reason)


def _new(state: State, new: si.Allocation) -> None:
    """Take in an allocation: a decision, or the scheduler's word on a report of ours."""
    task = state.tasks.get(new.allocationKey)
    if task is not None and task.state is TaskState.BOUND and task.node == new.nodeID:
        task.allocation_id = new.allocationID
        return
    binding.allocated(state, new)


def _is_foreign(new: si.Allocation) -> bool:
    """Whether an allocation is the room of a pod of another scheduler."""
    return not new.applicationID


def _refused(state: State, key: str, reason: str) -> None:
    """Take in that the scheduler refused an ask, or the report of an allocation.

    An ask is sent again after a while, since its queue or its limits may have changed. One that was
    refused because its application had ended meanwhile waits in a new one by now.
    """
    task = state.tasks.get(key)
    if task is None:
        return
    if task.state is TaskState.BOUND:
        # The pod runs all the same; what it takes is not counted in any queue.
        state.post(events.not_counted(task.pod, reason))
    elif task.state is TaskState.ASKED:
        asking.unlist(state, task)
        task.move(TaskEvent.RETURN)
        state.post(events.ask_refused(task.pod, reason))
        pause = min(_PAUSE_SECONDS * 2**task.tries, _PAUSE_SECONDS_LIMIT)
        task.tries += 1
        state.after(pause, partial(asking.ask_again, state, key))


def application(state: State, response: si.ApplicationResponse) -> None:
    """Take in what became of applications."""
    for accepted in response.accepted:
        applications.accepted(state, accepted.applicationID)
    for rejected in response.rejected:
        applications.rejected(state, rejected.applicationID, rejected.reason)
    for updated in response.updated:
        applications.updated(state, updated.applicationID, updated.state, updated.message)
