"""Carries preemptions out and keeps them (rules: chapter 60)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from remuda.core.accounting.victims import mark, promise
from remuda.core.apply.allocations.release_requests import request_release
from remuda.core.apply.asks.ask_findings import note_preempting
from remuda.core.apply.asks.reservations import close_or_open, reserve, unreserve, unreserve_all
from remuda.core.apply.turn import Turn
from remuda.core.messages import events
from remuda.core.messages.commands import PREEMPTED_BY_SCHEDULER
from remuda.core.model.allocation import Allocation
from remuda.core.model.applications.application import Application
from remuda.core.model.asks.request import Request
from remuda.core.model.decision import Preempt
from remuda.core.model.partition import Partition
from remuda.core.model.preemption.live import KEPT, REQUIRED_NODE, WAITING, Preemption
from remuda.core.pending.asks import reclassify

_NONE: Final = frozenset[Allocation]()

# Why a reservation ends when a preemption takes its node.
GAVE_WAY: Final = "a preemption took the node"


def record(partition: Partition, preemption: Preemption) -> None:
    """Keep a preemption, and drop the oldest ended ones beyond the limit. Implements: PRE-91."""
    partition.preempting.made[preemption.number] = preemption
    for number in list(partition.preempting.made):
        if len(partition.preempting.made) <= KEPT:
            break
        each = partition.preempting.made[number]
        if each.outcome != WAITING and not each.left:
            del partition.preempting.made[number]


def evict(
    turn: Turn,
    partition: Partition,
    preemption: Preemption,
    victims: Sequence[Allocation],
    *,
    message: str,
    event_message: str,
    for_queue: frozenset[Allocation] = _NONE,
) -> None:
    """Mark victims and request their release, in one response.

    ``message``: for the RM; ``event_message``: for the event of each victim. ``for_queue``: the
    victims that make room under a queue's maximum, not on the node.
    Implements: PRE-34, PRE-44. Rules: PRE-72, PRE-92, EVT-46. Emits: AllocationsReleased,
    EventRecord.
    """
    for victim in victims:
        _count(victim)
        mark(partition, preemption, victim, for_queue=victim in for_queue)
        turn.event(
            partition,
            events.REQUEST,
            victim.ask.allocation_key,
            events.NONE,
            events.DETAILS_NONE,
            victim.application.application_id,
            victim.amounts.resource,
            event_message,
            victim.application.queue_path,
        )
    request_release(turn, partition, victims, PREEMPTED_BY_SCHEDULER, message)
    note_evictions(turn, partition, preemption, victims)


def _count(victim: Allocation) -> None:
    """Count a victim in its leaf queue. Rules: MET-42."""
    leaf = victim.application.queue
    leaf.counts.preempted += 1
    held = leaf.counts.preempted_amounts
    for name, amount in victim.amounts.resource.items():
        held[name] = held.get(name, 0) + amount


def preempt(turn: Turn, partition: Partition, decision: Preempt) -> None:
    """Reserve the node for the ask, keep room for it, then request the release of the victims.

    The victims were chosen on this very state, so none of this can fail.
    Implements: PRE-36 (Ours), PRE-46. Rules: PRE-34, PRE-44, PRE-89, PRE-91. Emits:
    AllocationsReleased, EventRecord.
    """
    request, class_queue, node = decision.request, decision.class_queue, decision.node
    note_preempting(turn, partition, request)
    partition.preempting.attempts.count(class_queue.leaf.path, 0, turn.now_ns, fruitful=True)
    request.tried_ns = turn.now_ns
    class_queue.ask_class.predicate_class.forget()
    unreserve_all(turn, partition, decision.cancelled, GAVE_WAY)
    if node.node_id not in request.reservations:
        _make_way(turn, partition, request)
    preemption = Preemption(
        partition.next_number(),
        kind=decision.kind,
        created_ns=turn.now_ns,
        queue_path=class_queue.leaf.path,
        amounts=request.amounts,
        reasons=decision.reasons,
    )
    preemption.set_target(request, node.node_id)
    request.preemption = preemption
    record(partition, preemption)
    if node.node_id in request.reservations:
        close_or_open(partition, node)
        reclassify(partition, request)
    else:
        reserve(turn, partition, request, node)
    if not partition.settings.parity:
        promise(partition, request)
    key, application = request.ask.allocation_key, request.application
    what = "daemon set ask" if decision.kind == REQUIRED_NODE else "ask"
    evict(
        turn,
        partition,
        preemption,
        decision.victims,
        message=f"preempting allocations to free up resources to run {what}: {key}",
        event_message=f"Preempted by {key} from application {application.application_id} "
        f"in {class_queue.leaf.path}",
        for_queue=decision.for_queue,
    )


def _make_way(turn: Turn, partition: Partition, request: Request) -> None:
    """End the oldest reservation of an ask that may have no more reservations.

    Rules: RSV-6, PRE-89.
    """
    oldest = request.oldest_reservation()
    if oldest is not None and not request.wants_reservation():
        unreserve(turn, partition, oldest, GAVE_WAY)


def note_evictions(
    turn: Turn, partition: Partition, preemption: Preemption, victims: Sequence[Allocation]
) -> None:
    """Count the evictions of a preemption; emit an event for each subject evicted too often.

    A preemption counts once for each ask and once for each application, however many allocations it
    takes of them. Events about asks come first, each with the ask's key as reference, then events
    about applications. Cost: O(victims).
    Implements: PRE-92. Emits: EventRecord.
    """
    evictions, number = partition.preempting.evictions, preemption.number
    for victim in victims:
        key = victim.ask.allocation_key
        subject = (victim.application.application_id, key)
        times = evictions.asks.note(subject, number, turn.now_ns)
        _report(turn, partition, victim.application, key, times)
    for victim in victims:
        subject = (victim.application.application_id, "")
        times = evictions.applications.note(subject, number, turn.now_ns)
        _report(turn, partition, victim.application, "", times)


def _report(
    turn: Turn, partition: Partition, application: Application, key: str, times: int
) -> None:
    if times:
        turn.application_event(
            partition,
            application,
            events.NONE,
            events.DETAILS_NONE,
            key,
            message=f"evicted {times} times within an hour by preemption",
        )
