"""Read-only questions about preemptions, and the answers (rules: PRE-91, PRE-92)."""

from __future__ import annotations

from remuda.base.message import message
from remuda.base.resources import Resource


@message
class PreemptionsQuery:
    """The kept preemptions of one partition -> tuple[PreemptionView, ...].

    Oldest first (PRE-91). ``application``: only preemptions that its asks caused, or that took its
    allocations; "": all. ``number``: only that preemption; 0: all. ``last``: at most that many of
    these, the newest; 0: all. None: no such partition.
    """

    partition: str
    application: str = ""
    number: int = 0
    last: int = 0
    rm_id: str = ""


@message
class EvictionsQuery:
    """Asks and applications evicted repeatedly -> tuple[EvictionView, ...], by both IDs (PRE-92).

    ``now_ns``: the end of the hour that is counted; the core has no clock. None: no such partition.
    """

    partition: str
    now_ns: int
    rm_id: str = ""


@message
class PreemptorView:
    """The preemption that took an allocation, and the ask it was for (PRE-91).

    The fields are those of PreemptionView.
    """

    number: int
    kind: str
    application_id: str
    allocation_key: str
    queue: str


@message
class VictimView:
    """One allocation that a preemption chose (PRE-91).

    ``for_queue``: it was chosen to make room under a queue's maximum, not on the node.
    ``confirmed``: it has ended.
    """

    application_id: str
    allocation_key: str
    allocation_id: str
    queue: str
    node_id: str
    resource: Resource
    priority: int
    originator: bool
    opted_out: bool
    for_queue: bool
    confirmed: bool


@message
class PreemptionView:
    """One preemption: its ask, its victims, and the reasons (PRE-91).

    ``kind``: ``queue``, ``required node`` or ``quota``. ``allocation_key``, ``application_id`` and
    ``node_id`` are "" for quota enforcement; ``queue`` is then the queue with the quota.
    ``requested``: the ask's resource, or the usage above the quota. ``reasons``: texts that justify
    it. ``outcome``: ``waiting``, ``placed``, ``done`` (a quota) or ``lost``; ``cause`` says why it
    was lost.
    """

    number: int
    kind: str
    created_ns: int
    application_id: str
    allocation_key: str
    queue: str
    node_id: str
    requested: Resource
    reasons: tuple[str, ...]
    victims: tuple[VictimView, ...]
    freed: Resource
    outcome: str
    cause: str
    ended_ns: int


@message
class EvictionView:
    """An ask or an application that preemption evicted repeatedly (PRE-92).

    ``allocation_key`` "": the application. ``count``: preemptions within the hour that took its
    allocations. ``first_ns`` and ``last_ns``: the times of the first and the last of them.
    """

    application_id: str
    allocation_key: str
    count: int
    first_ns: int
    last_ns: int
