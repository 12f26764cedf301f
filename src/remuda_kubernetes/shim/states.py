"""The states of applications and tasks, and how they follow each other, as tables.

An application is what the scheduler calls so; a task is one pod of it. Every change of a state goes
through ``after``: what no table names does not happen.
"""

from __future__ import annotations

from enum import Enum
from typing import Final, TypeVar

S = TypeVar("S", bound=Enum)
E = TypeVar("E", bound=Enum)


class ApplicationState(Enum):
    """Where an application is."""

    # Known from its pods; the scheduler was not told yet.
    NEW = "New"
    SUBMITTED = "Submitted"
    # The gang's placeholders are being placed; members wait.
    RESERVING = "Reserving"
    RUNNING = "Running"
    # The scheduler refused it.
    REJECTED = "Rejected"
    # It failed and pods of it still run.
    FAILING = "Failing"
    FAILED = "Failed"
    COMPLETED = "Completed"


class ApplicationEvent(Enum):
    """What happens to an application."""

    SUBMIT = "submit"
    # The scheduler accepted it; with a gang to reserve, or without.
    RESERVE = "reserve"
    RUN = "run"
    REJECT = "reject"
    FAIL = "fail"
    END_FAILED = "end failed"
    COMPLETE = "complete"
    # Its originator went before its gang began.
    LEAVE = "leave"


class TaskState(Enum):
    """Where a pod is."""

    # Its application does not run yet.
    WAITING = "Waiting"
    # The scheduler has its ask.
    ASKED = "Asked"
    # It got a node and keeps it; volumes and binding are under way.
    BINDING = "Binding"
    BOUND = "Bound"
    # The scheduler wants its room back; the pod is being ended.
    LEAVING = "Leaving"
    # The scheduler refused its application, or it is a placeholder that came too late.
    REJECTED = "Rejected"
    # The pod has ended or is gone.
    ENDED = "Ended"


class TaskEvent(Enum):
    """What happens to a pod."""

    ASK = "ask"
    # The scheduler gave it a node.
    ALLOCATE = "allocate"
    # The API server knows its node.
    BIND = "bind"
    # It has to look for a node again.
    RETURN = "return"
    LEAVE = "leave"
    REJECT = "reject"
    END = "end"


_A = ApplicationState
_AE = ApplicationEvent
_T = TaskState
_TE = TaskEvent

APPLICATIONS: Final[dict[tuple[ApplicationState, ApplicationEvent], ApplicationState]] = {
    (_A.NEW, _AE.SUBMIT): _A.SUBMITTED,
    (_A.SUBMITTED, _AE.RESERVE): _A.RESERVING,
    (_A.SUBMITTED, _AE.RUN): _A.RUNNING,
    (_A.RESERVING, _AE.RUN): _A.RUNNING,
    (_A.SUBMITTED, _AE.REJECT): _A.REJECTED,
    (_A.SUBMITTED, _AE.FAIL): _A.FAILING,
    (_A.RESERVING, _AE.FAIL): _A.FAILING,
    (_A.RUNNING, _AE.FAIL): _A.FAILING,
    (_A.FAILING, _AE.END_FAILED): _A.FAILED,
    (_A.RESERVING, _AE.END_FAILED): _A.FAILED,
    (_A.RUNNING, _AE.END_FAILED): _A.FAILED,
    (_A.RESERVING, _AE.COMPLETE): _A.COMPLETED,
    (_A.RUNNING, _AE.COMPLETE): _A.COMPLETED,
    (_A.NEW, _AE.LEAVE): _A.COMPLETED,
    (_A.SUBMITTED, _AE.LEAVE): _A.COMPLETED,
    (_A.RESERVING, _AE.LEAVE): _A.COMPLETED,
}

TASKS: Final[dict[tuple[TaskState, TaskEvent], TaskState]] = {
    (_T.WAITING, _TE.ASK): _T.ASKED,
    (_T.ASKED, _TE.ALLOCATE): _T.BINDING,
    # The pod has a node, from before a restart or from another scheduler.
    (_T.WAITING, _TE.BIND): _T.BOUND,
    (_T.ASKED, _TE.BIND): _T.BOUND,
    (_T.BINDING, _TE.BIND): _T.BOUND,
    (_T.BINDING, _TE.RETURN): _T.WAITING,
    (_T.ASKED, _TE.RETURN): _T.WAITING,
    (_T.BINDING, _TE.LEAVE): _T.LEAVING,
    (_T.BOUND, _TE.LEAVE): _T.LEAVING,
    (_T.WAITING, _TE.REJECT): _T.REJECTED,
    (_T.ASKED, _TE.REJECT): _T.REJECTED,
    (_T.WAITING, _TE.END): _T.ENDED,
    (_T.ASKED, _TE.END): _T.ENDED,
    (_T.BINDING, _TE.END): _T.ENDED,
    (_T.BOUND, _TE.END): _T.ENDED,
    (_T.LEAVING, _TE.END): _T.ENDED,
    (_T.REJECTED, _TE.END): _T.ENDED,
}

# Applications that take no more pods: the next pod of that name begins a new application.
OVER: Final = frozenset({_A.REJECTED, _A.FAILED, _A.COMPLETED})


def after(table: dict[tuple[S, E], S], state: S, event: E) -> S | None:
    """Return the state that follows; None if the event means nothing in this state."""
    return table.get((state, event))
