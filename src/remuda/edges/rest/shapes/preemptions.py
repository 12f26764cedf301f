"""The JSON shapes of preemptions and of what is evicted again and again (REST-125, REST-126)."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from remuda.core.messages.preemption_queries import EvictionView, PreemptionView, VictimView
from remuda.edges.questions.shapes import Shape, amounts, plain


class Victim(Shape, kw_only=True):
    """One allocation that was chosen, as it was then. ``forQueue``: not for room on the node."""

    application_id: str
    allocation_key: str
    allocation_id: str = msgspec.field(name="allocationID")
    queue_name: str
    node_id: str
    resource: dict[str, int] = amounts()
    priority: str
    originator: bool = False
    opted_out: bool = False
    for_queue: bool = False
    confirmed: bool = False


class Preemption(Shape, kw_only=True):
    """One preemption. ``resource``: the ask, or what was above the quota; a quota has no ask."""

    number: int
    kind: str
    time: int
    application_id: str = ""
    allocation_key: str = ""
    queue_name: str
    node_id: str = ""
    resource: dict[str, int] = amounts()
    reasons: list[str] = msgspec.field(default_factory=list)
    victims: list[Victim]
    freed: dict[str, int] = amounts()
    outcome: str
    cause: str = ""
    finished_time: int = 0


class RepeatedEviction(Shape, kw_only=True):
    """An ask, or without a key an application, that is evicted again and again (PRE-92)."""

    application_id: str
    allocation_key: str = ""
    count: int
    first_occurrence: int
    last_occurrence: int


class Preemptions(Shape, kw_only=True):
    """The preemptions of a partition, newest first, and the repeated evictions."""

    preemptions: list[Preemption]
    repeated: list[RepeatedEviction]


def preemptions(views: Iterable[PreemptionView], evictions: Iterable[EvictionView]) -> Preemptions:
    """Return the shape of preemptions, given oldest first, and the subjects that are evicted most.

    Implements: REST-125.
    """
    dressed = [preemption(view) for view in views]
    return Preemptions(
        preemptions=dressed[::-1],
        repeated=[_repeated(view) for view in evictions],
    )


def preemption(view: PreemptionView) -> Preemption:
    """Return the shape of one preemption. Implements: REST-126."""
    return Preemption(
        number=view.number,
        kind=view.kind,
        time=view.created_ns,
        application_id=view.application_id,
        allocation_key=view.allocation_key,
        queue_name=view.queue,
        node_id=view.node_id,
        resource=plain(view.requested),
        reasons=list(view.reasons),
        victims=[_victim(each) for each in view.victims],
        freed=plain(view.freed),
        outcome=view.outcome,
        cause=view.cause,
        finished_time=view.ended_ns,
    )


def _victim(view: VictimView) -> Victim:
    return Victim(
        application_id=view.application_id,
        allocation_key=view.allocation_key,
        allocation_id=view.allocation_id,
        queue_name=view.queue,
        node_id=view.node_id,
        resource=plain(view.resource),
        priority=str(view.priority),
        originator=view.originator,
        opted_out=view.opted_out,
        for_queue=view.for_queue,
        confirmed=view.confirmed,
    )


def _repeated(view: EvictionView) -> RepeatedEviction:
    return RepeatedEviction(
        application_id=view.application_id,
        allocation_key=view.allocation_key,
        count=view.count,
        first_occurrence=view.first_ns,
        last_occurrence=view.last_ns,
    )
