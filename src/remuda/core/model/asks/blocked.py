"""The places where a waiting ask can be, and the events that move it between them.

An ask belongs to a class queue, and there to a limit group. It is *ready* if neither is blocked.
Otherwise it is in exactly one other place, which the ``reason`` of a Blocked names: that of its
limit group if that is blocked, else that of its class queue. ``UNBLOCKS`` lists the moves back.
"""

from __future__ import annotations

from typing import Final, final

from remuda.core.messages.gates import (
    AWAITING_PREDICATES,
    GANG,
    MAX_APPLICATIONS,
    NODES,
    NOT_SERVED,
    POSTPONED,
    QUEUE_QUOTA,
    REQUIRED_NODE,
    USER_QUOTA,
)
from remuda.core.model.queues.bound import Bound, Waitlist
from remuda.core.model.queues.trackers import QueueTracker

READY: Final = "ready"

# The events that unblock; core/pending/changes.py has a function for each.
NEW_ASK: Final = "new ask"
QUEUE_ROOM: Final = "room in a queue"
USER_ROOM: Final = "room for a user or group"
APPLICATION_PLACE: Final = "one application less"
NODE_ROOM: Final = "room on a node"
NODE_FREE: Final = "a node without reservation"
RESERVABLE_CHANGED: Final = "another node to reserve"
PREDICATES_CHANGED: Final = "predicates may agree now"
ANSWERED: Final = "the RM answered"
PAUSE_OVER: Final = "a second passed"
PREEMPTION_DUE: Final = "preemption may be tried"
ADMITTED: Final = "the application may be served"
SETTINGS: Final = "settings changed"

_OF_CLASS_QUEUES: Final = (QUEUE_QUOTA, GANG, NODES, REQUIRED_NODE)

# Every reason but that the application is not served.
_BUT_NOT_SERVED: Final = (
    *_OF_CLASS_QUEUES,
    AWAITING_PREDICATES,
    POSTPONED,
    USER_QUOTA,
    MAX_APPLICATIONS,
)

# Event -> the reasons it ends. The unblocked asks are tried again, and may be blocked again.
UNBLOCKS: Final[dict[str, tuple[str, ...]]] = {
    NEW_ASK: _BUT_NOT_SERVED,
    QUEUE_ROOM: (QUEUE_QUOTA, GANG),
    USER_ROOM: (USER_QUOTA,),
    APPLICATION_PLACE: (MAX_APPLICATIONS,),
    NODE_ROOM: (NODES, REQUIRED_NODE),
    NODE_FREE: (NODES, REQUIRED_NODE),
    RESERVABLE_CHANGED: (NODES,),
    PREDICATES_CHANGED: (NODES, REQUIRED_NODE),
    ANSWERED: (AWAITING_PREDICATES,),
    PAUSE_OVER: (POSTPONED,),
    PREEMPTION_DUE: _OF_CLASS_QUEUES,
    ADMITTED: (NOT_SERVED,),
    SETTINGS: _BUT_NOT_SERVED,
}


@final
class Blocked:
    """Why a class queue or a limit group is not tried, and where it waits.

    ``reason``: a gate. ``at``: the queue, or the tracker of a user or group, whose limit stopped
    it; None for other reasons. ``until_ns``: when it is tried again in any case, 0: never. Rules:
    CYC-11, CYC-12, CYC-25, LIM-53, EXT-14, EXT-17.
    """

    __slots__ = ("at", "reason", "until_ns")

    def __init__(self, reason: str, at: Bound | None = None, until_ns: int = 0) -> None:
        self.reason = reason
        self.at = at
        self.until_ns = until_ns

    def waitlist(self) -> Waitlist | None:
        """Return the waitlist of a limit group with this reason. Rules: LIM-53, LIM-60."""
        at = self.at
        if at is None:
            return None
        if self.reason == MAX_APPLICATIONS:
            return at.starting
        return at.waiting if isinstance(at, QueueTracker) else None


# For applications that are not served: they end, resume, back off or wait for gang or turn.
CLOSED_GROUP: Final = Blocked(NOT_SERVED)
