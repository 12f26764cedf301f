"""Trackers count the usage of users and groups at queues that limit them.

Rules: chapter 30 sections 4 to 9.

Usage of a user or group without a limit is not counted; views compute it from the live
applications. For each limit a *queue tracker* counts the usage under it, as long as it has
applications. With a wildcard limit, each user gets a tracker with the first application.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeAlias, final

from remuda.core.model.queues.bound import Bound, Waitlist
from remuda.core.model.vectors import Vector

if TYPE_CHECKING:
    from remuda.core.model.queues.queue import Queue

USER: Final = "user"
GROUP: Final = "group"

# Kind, name of the user or group, queue path.
TrackerKey: TypeAlias = tuple[str, str, str]


@final
class Limit:
    """The limits of a user or group in one entry of a queue (LIM-1, LIM-2)."""

    __slots__ = ("max_applications", "maximum")

    def __init__(self, maximum: Vector | None, max_applications: int) -> None:
        self.maximum = maximum
        self.max_applications = max_applications


@final
class QueueTracker(Bound):
    """The usage of one user or group in and below one queue that limits it.

    ``wildcard``: the limit is that of ``*``. ``announced``: observers were told that the limit
    applies to this user (EVT-83). ``references``: how many limit sets contain it. ``waiting``:
    limit groups that its maximum stopped.
    Implements: LIM-30.
    """

    __slots__ = ("announced", "key", "number", "queue", "references", "waiting", "wildcard")

    def __init__(self, number: int, key: TrackerKey, queue: Queue) -> None:
        super().__init__()
        self.number = number
        self.key = key
        self.queue = queue
        self.wildcard: bool = False
        self.announced: bool = False
        self.references: int = 0
        self.waiting = Waitlist()


@final
class LimitSet:
    """The trackers of an application: those of its user, then of its group, leaf upwards.

    Applications with the same trackers share one limit set. ``limited``: trackers with a maximum;
    ``application_limits``: trackers with a maximum number of applications. ``references``: how many
    applications have it.
    """

    __slots__ = ("application_limits", "limited", "number", "references", "trackers")

    def __init__(self, number: int, trackers: tuple[QueueTracker, ...]) -> None:
        self.number = number
        self.trackers = trackers
        self.references: int = 0
        self.limited = tuple([each for each in trackers if each.maximum is not None])
        self.application_limits = tuple([each for each in trackers if each.max_applications])
