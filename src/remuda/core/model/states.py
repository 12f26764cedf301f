"""The states of applications, queues and partitions, as tables (rules: chapter 80).

An event without a row for the current state is refused and changes nothing. The RM and the REST API
show these names.
"""

from __future__ import annotations

from typing import Final

from remuda.core.messages import events

NEW: Final = "New"
ACCEPTED: Final = "Accepted"
STARTING: Final = "Starting"
RUNNING: Final = "Running"
REJECTED: Final = "Rejected"
COMPLETING: Final = "Completing"
COMPLETED: Final = "Completed"
FAILING: Final = "Failing"
FAILED: Final = "Failed"
RESUMING: Final = "Resuming"
EXPIRED: Final = "Expired"

RUN: Final = "runApplication"
REJECT: Final = "rejectApplication"
COMPLETE: Final = "completeApplication"
FAIL: Final = "failApplication"
RESUME: Final = "resumeApplication"
EXPIRE: Final = "expireApplication"

APPLICATION: Final[dict[tuple[str, str], str]] = {
    (NEW, RUN): ACCEPTED,
    (NEW, REJECT): REJECTED,
    (NEW, FAIL): FAILING,
    (NEW, RESUME): RESUMING,
    (ACCEPTED, RUN): STARTING,
    (ACCEPTED, COMPLETE): COMPLETING,
    (ACCEPTED, FAIL): FAILING,
    (ACCEPTED, RESUME): RESUMING,
    (STARTING, RUN): RUNNING,
    (STARTING, COMPLETE): COMPLETING,
    (STARTING, FAIL): FAILING,
    (RUNNING, RUN): RUNNING,
    (RUNNING, COMPLETE): COMPLETING,
    (RUNNING, FAIL): FAILING,
    (COMPLETING, RUN): RUNNING,
    (COMPLETING, COMPLETE): COMPLETED,
    (COMPLETING, FAIL): FAILING,
    (RESUMING, RUN): ACCEPTED,
    (RESUMING, COMPLETE): COMPLETING,
    (RESUMING, FAIL): FAILING,
    (FAILING, FAIL): FAILED,
    (COMPLETED, EXPIRE): EXPIRED,
    (FAILED, EXPIRE): EXPIRED,
    (REJECTED, EXPIRE): EXPIRED,
}

# The change detail of the event for entering a state. Implements: EVT-16.
STATE_DETAIL: Final[dict[str, int]] = {
    ACCEPTED: events.APP_ACCEPTED,
    STARTING: events.APP_STARTING,
    RUNNING: events.APP_RUNNING,
    REJECTED: events.APP_REJECT,
    COMPLETING: events.APP_COMPLETING,
    COMPLETED: events.APP_COMPLETED,
    FAILING: events.APP_FAILING,
    FAILED: events.APP_FAILED,
    RESUMING: events.APP_RESUMING,
    EXPIRED: events.APP_EXPIRED,
}

# States of queues and partitions (chapter 80 section 2).
ACTIVE: Final = "Active"
DRAINING: Final = "Draining"
STOPPED: Final = "Stopped"

REMOVE: Final = "Remove"
START: Final = "Start"
STOP: Final = "Stop"

# What becomes of a queue or partition in a state by an event. Implements: QLC-1, QUE-4, OBJ-1.
OBJECT: Final[dict[tuple[str, str], str]] = {
    (ACTIVE, REMOVE): DRAINING,
    (ACTIVE, START): ACTIVE,
    (ACTIVE, STOP): STOPPED,
    (DRAINING, REMOVE): DRAINING,
    (DRAINING, START): ACTIVE,
    (STOPPED, REMOVE): DRAINING,
    (STOPPED, START): ACTIVE,
    (STOPPED, STOP): STOPPED,
}
