"""Carries preemptions out, and sees how they end (rules: chapter 60)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from remuda.core.accounting.lanes import restage
from remuda.core.accounting.victims import mark, promise
from remuda.core.apply.evictions import note_evictions
from remuda.core.apply.looking import look_at_preempting
from remuda.core.apply.orders import order
from remuda.core.apply.questions import forget
from remuda.core.apply.reservations import close_or_open, reserve, unreserve, unreserve_all
from remuda.core.apply.turn import Turn
from remuda.core.messages import events
from remuda.core.messages.commands import PREEMPTED_BY_SCHEDULER
from remuda.core.model.allocation import Allocation
from remuda.core.model.decision import Preempt
from remuda.core.model.partition import Partition
from remuda.core.model.preemption import KEPT, REQUIRED_NODE, WAITING, Preemption
from remuda.core.model.request import Request

_NONE: Final = frozenset[Allocation]()

# Why reservations end that a preemption makes of no use.
GAVE_WAY: Final = "a preemption took the node"


def record(partition: Partition, preemption: Preemption) -> None:
    """Keep a preemption; of those that are over, the oldest go. Rules: PRE-91."""
    partition.preemptions[preemption.number] = preemption
    for number in list(partition.preemptions):
        if len(partition.preemptions) <= KEPT:
            break
        each = partition.preemptions[number]
        if each.outcome != WAITING and not each.left:
            del partition.preemptions[number]


def evict(
    turn: Turn,
    partition: Partition,
    preemption: Preemption,
    victims: Sequence[Allocation],
    *,
    message: str,
    told: str,
    for_queue: frozenset[Allocation] = _NONE,
) -> None:
    """Mark victims and order them out, in one response.

    ``message``: for the RM. ``told``: the text of the event of each victim. ``for_queue``: those
    that do not make room on the node.
    Rules: PRE-34, PRE-44, PRE-72, PRE-92, EVT-46. Emits: AllocationsReleased, EventRecord.
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
            told,
            victim.application.queue_path,
        )
    order(turn, partition, victims, PREEMPTED_BY_SCHEDULER, message)
    note_evictions(turn, partition, preemption, victims)


def _count(victim: Allocation) -> None:
    """Count a victim in its leaf. Rules: MET-42."""
    leaf = victim.application.queue
    assert leaf is not None
    leaf.tally.preempted += 1
    held = leaf.tally.preempted_amounts
    for name, amount in victim.amounts.resource.items():
        held[name] = held.get(name, 0) + amount


def preempt(turn: Turn, partition: Partition, decision: Preempt) -> None:
    """Reserve the node for the ask, keep room for it, then order the victims out.

    The choice was made on this very state, so none of this can fail.
    Rules: PRE-34, PRE-36 (Ours), PRE-44, PRE-89, PRE-91. Emits: AllocationsReleased, EventRecord.
    """
    request, lane, node = decision.request, decision.lane, decision.node
    look_at_preempting(turn, partition, request)
    partition.attempts.count(lane.leaf.path, 0, turn.now_ns, fruitful=True)
    request.tried_ns = turn.now_ns
    forget(lane)
    unreserve_all(turn, partition, decision.cancelled, GAVE_WAY)
    if node.node_id not in request.reservations:
        _make_way(turn, partition, request)
    preemption = Preemption(
        partition.next_number(),
        kind=decision.kind,
        created_ns=turn.now_ns,
        queue_path=lane.leaf.path,
        amounts=request.amounts,
        reasons=decision.reasons,
    )
    preemption.stand_for(request, node.node_id)
    request.preemption = preemption
    record(partition, preemption)
    if node.node_id in request.reservations:
        close_or_open(partition, node)
        restage(partition, request)
    else:
        reserve(turn, partition, request, node)
    if not partition.parity:
        promise(partition, request)
    key, application = request.ask.allocation_key, request.application
    what = "daemon set ask" if decision.kind == REQUIRED_NODE else "ask"
    evict(
        turn,
        partition,
        preemption,
        decision.victims,
        message=f"preempting allocations to free up resources to run {what}: {key}",
        told=f"Preempted by {key} from application {application.application_id} "
        f"in {lane.leaf.path}",
        for_queue=decision.for_queue,
    )


def _make_way(turn: Turn, partition: Partition, request: Request) -> None:
    """End a reservation of an ask that may have no more of them. Rules: RSV-6, PRE-89."""
    oldest = request.oldest_reservation()
    if oldest is not None and not request.wants_reservation():
        unreserve(turn, partition, oldest, GAVE_WAY)
