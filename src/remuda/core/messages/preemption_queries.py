"""Read-only questions about preemptions, and the answers (rules: PRE-91, PRE-92)."""

from __future__ import annotations

from remuda.base.message import message
from remuda.base.resources import Resource


@message
class PreemptionsQuery:
    """The preemptions of one partition that are known still -> tuple[PreemptionView, ...].

    Oldest first (PRE-91). ``application``: those that its asks caused, or that took allocations of
    it; "": of all. ``number``: that one alone, or none if it is not known; 0: all. ``last``: of
    these the newest, at most that many; 0: all. None: no such partition.
    """

    partition: str
    application: str = ""
    number: int = 0
    last: int = 0
    rm_id: str = ""


@message
class EvictionsQuery:
    """What is evicted again and again -> tuple[EvictionView, ...], by application and ask (PRE-92).

    ``now_ns``: when the hour ends that counts; the core has no clock. None: no such partition.
    """

    partition: str
    now_ns: int
    rm_id: str = ""


@message
class PreemptorView:
    """Who took an allocation (PRE-91): a preemption, and whom it is for.

    ``kind`` and the others as in PreemptionView.
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
    """One preemption: who asked, who went, and why (PRE-91).

    ``kind``: ``queue``, ``required node`` or ``quota``. ``allocation_key``, ``application_id`` and
    ``node_id`` "" for a quota that is enforced, ``queue`` then is the queue it is enforced in.
    ``requested``: the ask, or what is above the quota. ``reasons``: texts that say what justified
    it. ``outcome``: ``waiting``, ``placed``, ``done`` (a quota) or ``lost``, then ``cause`` says
    why.
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
    """An ask or an application that preemption evicted again and again (PRE-92).

    ``allocation_key`` "": the application. ``count``: preemptions within the hour that took
    something of it; ``first_ns`` and ``last_ns``: the times of the first and the last of them.
    """

    application_id: str
    allocation_key: str
    count: int
    first_ns: int
    last_ns: int
