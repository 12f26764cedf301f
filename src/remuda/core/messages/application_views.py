"""Views of one application, its task groups and its allocations (REST-77, REST-80)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field

from remuda.base.message import message
from remuda.base.resources import Resource
from remuda.core.messages.ask_views import RequestView
from remuda.core.messages.preemption_queries import PreemptorView
from remuda.core.messages.rows import WaitingAsks


@message
class AllocationView:
    """One allocation (REST-80).

    ``placeholder_used``: it replaced a placeholder, which was allocated at
    ``placeholder_request_time_ns`` (GANG-17, REST-80). ``release_type``: the TerminationType of a
    release request that is not confirmed yet, 0 without one (SI-69). ``replacement``: the
    allocation that waits for the end of this placeholder (GANG-14). ``preemption``: the number of
    the preemption that chose it as a victim, 0 for none (PRE-34). ``preempted_by``: details of that
    preemption.
    """

    allocation_key: str
    allocation_id: str
    tags: Mapping[str, str]
    request_time_ns: int
    allocation_time_ns: int
    resource: Resource
    priority: int
    node_id: str
    application_id: str
    partition: str
    originator: bool
    task_group: str = ""
    placeholder: bool = False
    placeholder_used: bool = False
    placeholder_request_time_ns: int = 0
    release_type: int = 0
    replacement: str = ""
    preemption: int = 0
    preempted_by: PreemptorView | None = None


@message
class PlaceholderView:
    """One task group of a gang application (GANG-35).

    ``minimum``: the size of its first placeholder. ``count``: distinct members requested or
    recovered. ``replaced``: confirmed swaps. ``timed_out``: members that ended in another way.
    """

    task_group: str
    minimum: Resource
    count: int
    replaced: int
    timed_out: int


@message
class ApplicationView:
    """One application (REST-77). ``state_log``: (time, state) pairs, oldest first.

    ``used``: amounts of real allocations; ``placeholder``: amounts of placeholders.
    ``placeholder_data``: by task group. ``placeholder_deadline_ns``: when the reservation times
    out, 0: no timer (GANG-20). ``backoff_deadline_ns``: until when none of its asks is tried
    (CYC-33), 0: no back-off. ``tags``: of one that ended only its declared run time (EXT-120).
    ``preemptions``: numbers of the preemptions its asks caused.
    ``evictions``: numbers of those that took its allocations. Both are oldest first, as far as they
    are still kept (PRE-91). ``waiting``: its asks, if there are too many for ``requests``, which is
    empty then. ``used_seconds``, ``preempted_seconds``, ``placeholder_seconds``: usage of ended
    allocations by instance type, in amount times seconds; each allocation counts in one of them: as
    a victim, as a placeholder, or else as used (RES-57).
    """

    application_id: str
    partition: str
    queue: str
    user: str
    groups: tuple[str, ...]
    state: str
    submission_time_ns: int
    finished_time_ns: int
    start_time_ns: int
    used: Resource
    max_used: Resource
    pending: Resource
    rejected_message: str
    max_request_priority: int
    state_log: tuple[tuple[int, str], ...]
    backoff_deadline_ns: int
    requests: Sequence[RequestView]
    allocations: Sequence[AllocationView]
    placeholder: Resource = field(default_factory=dict)
    placeholder_deadline_ns: int = 0
    placeholder_data: tuple[PlaceholderView, ...] = ()
    preemptions: tuple[int, ...] = ()
    evictions: tuple[int, ...] = ()
    used_seconds: Mapping[str, Resource] = field(default_factory=dict)
    preempted_seconds: Mapping[str, Resource] = field(default_factory=dict)
    placeholder_seconds: Mapping[str, Resource] = field(default_factory=dict)
    waiting: WaitingAsks[RequestView] | None = None
    tags: Mapping[str, str] = field(default_factory=dict)
