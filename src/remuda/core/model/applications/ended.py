"""Applications that ended and are kept for a while: the completed and the rejected ones."""

from __future__ import annotations

from collections import OrderedDict, deque
from dataclasses import replace
from typing import final

from remuda.core.messages.application_queries import ApplicationKey
from remuda.core.messages.tags import RUN_TIME
from remuda.core.model import states
from remuda.core.model.applications.application import Application, History
from remuda.core.model.applications.gang import Gang
from remuda.core.model.applications.submission import Submission
from remuda.core.model.queues.priorities import MIN_PRIORITY
from remuda.core.model.vectors import Vector


@final
class EndedApplication:
    """What stays of an application after its end; no command or decision changes it.

    Rules: APP-15, REST-77, REST-78.
    """

    __slots__ = (
        "allocated",
        "backoff_until_ns",
        "finished_ns",
        "gang",
        "history",
        "number",
        "peak",
        "pending",
        "priority",
        "queue_path",
        "record",
        "reject_reason",
        "started_ns",
        "state",
        "state_log",
        "submitted_ns",
        "user",
        "user_groups",
    )

    def __init__(self, application: Submission | Application, state: str, finished_ns: int) -> None:
        self.number = application.number
        # Nobody reads other tags of an application that ended (EXT-120).
        record = application.record
        kept = {RUN_TIME: record.tags[RUN_TIME]} if RUN_TIME in record.tags else {}
        self.record = replace(record, tags=kept) if record.tags else record
        self.queue_path: str = application.queue_path
        self.user: str = application.user
        self.user_groups: tuple[str, ...] = application.user_groups
        self.submitted_ns: int = application.submitted_ns
        self.started_ns: int = 0  # When it entered Starting, 0: never.
        self.finished_ns = finished_ns
        self.state = state  # Completed, Failed or Rejected.
        self.state_log: tuple[tuple[int, str], ...] = ()  # When it entered which state.
        self.reject_reason: str = ""
        self.priority: int = MIN_PRIORITY
        self.backoff_until_ns: int = 0
        # Zero of the types that its asks, and its allocations, had.
        self.pending = Vector()
        self.allocated = Vector()
        self.peak = Vector()  # The most it held at once, placeholders included.
        self.gang: Gang | None = None
        self.history: History | None = None

    @property
    def application_id(self) -> str:
        """The ID the RM gave it."""
        return self.record.application_id


def rejected(submitted: Submission, finished_ns: int, reason: str) -> EndedApplication:
    """Return the record of an application that no queue takes. Rules: APP-1, REST-78."""
    ended = EndedApplication(submitted, states.REJECTED, finished_ns)
    ended.state_log = ((finished_ns, states.REJECTED),)
    ended.reject_reason = reason
    return ended


def completed(application: Application, finished_ns: int) -> EndedApplication:
    """Return the record of an application that has completed or failed. Rules: APP-14, REST-77."""
    ended = EndedApplication(application, application.state, finished_ns)
    ended.started_ns = application.started_ns
    ended.state_log = application.state_log
    ended.priority = application.priority
    ended.backoff_until_ns = application.backoff_until_ns
    ended.pending = application.pending
    ended.allocated = application.allocated
    ended.peak = application.peak()
    ended.gang = application.gang
    ended.history = application.history
    return ended


@final
class Ended:
    """Completed or rejected applications, in the order in which they ended.

    ``applications``: by arrival number, since several applications with one ID may have ended.
    ``keys``: the keys of all of them, for listings. ``latest``: the last one that ended, by ID.
    Implements: APP-15.
    """

    __slots__ = ("applications", "keys", "latest")

    def __init__(self) -> None:
        # Always the first one is removed; a plain dictionary gets slow with that.
        self.applications: dict[int, EndedApplication] = OrderedDict()
        self.keys: deque[ApplicationKey] = deque()
        self.latest: dict[str, EndedApplication] = {}

    def put(self, application: EndedApplication) -> None:
        """Add an application that ends now. Rules: APP-15."""
        name = application.application_id
        self.applications[application.number] = application
        self.keys.append(((), name, application.number))
        self.latest[name] = application

    def first(self) -> EndedApplication:
        """Return the application that ended first; there must be one."""
        return next(iter(self.applications.values()))

    def drop_first(self) -> None:
        """Remove the application that ended first. Rules: APP-18."""
        _, name, number = self.keys.popleft()
        gone = self.applications.pop(number)
        if self.latest[name] is gone:
            del self.latest[name]


@final
class KeptApplications:
    """The applications of a partition that ended and are kept for a while (APP-15)."""

    __slots__ = ("applications", "completed", "rejected", "states")

    def __init__(self) -> None:
        self.completed = Ended()
        self.rejected = Ended()
        # The completed and the rejected ones, by number, in the order in which they ended.
        self.applications: dict[int, EndedApplication] = OrderedDict()
        # How many of them are in each state.
        self.states: dict[str, int] = {}
