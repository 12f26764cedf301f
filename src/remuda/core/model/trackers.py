"""What users and groups use where they are limited (rules: chapter 30 sections 4 to 9).

Usage of a user or group without a limit is counted nowhere: whoever asks gets it from the live
applications. Where there is a limit, a *queue tracker* counts what is used under it, for as long as
there are applications it concerns. A wildcard makes one for each user as they come.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeAlias, final

from remuda.core.model.bound import Bound, Waitlist
from remuda.core.model.vectors import Vector

if TYPE_CHECKING:
    from remuda.core.model.queue import Queue

USER: Final = "user"
GROUP: Final = "group"

# Kind, name of the user or group, queue path.
TrackerKey: TypeAlias = tuple[str, str, str]


@final
class Limit:
    """What one entry of a queue's limits grants each of its users or groups (LIM-1, LIM-2)."""

    __slots__ = ("max_applications", "maximum")

    def __init__(self, maximum: Vector | None, max_applications: int) -> None:
        self.maximum = maximum
        self.max_applications = max_applications


@final
class QueueTracker(Bound):
    """What one user or group uses in and below one queue that limits it (LIM-30).

    ``wildcard``: the limit is that of ``*``. ``announced``: observers were told that it holds for
    this user (EVT-83). ``references``: accounts it is part of. ``waiting``: strands that its
    maximum stopped.
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
class Account:
    """The trackers that concern an application: those of its user, then of its group, leaf upwards.

    Applications with the same trackers share one. ``limited``: trackers with a maximum; ``gates``:
    those with a number of applications. ``references``: applications that have it.
    """

    __slots__ = ("gates", "limited", "number", "references", "trackers")

    def __init__(self, number: int, trackers: tuple[QueueTracker, ...]) -> None:
        self.number = number
        self.trackers = trackers
        self.references: int = 0
        self.limited = tuple([each for each in trackers if each.maximum is not None])
        self.gates = tuple([each for each in trackers if each.max_applications])
