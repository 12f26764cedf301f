"""Carries preemptions out, and sees how they end (rules: chapter 60)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from remuda.core.accounting.victims import mark
from remuda.core.apply.orders import order
from remuda.core.apply.turn import Turn
from remuda.core.messages import events
from remuda.core.messages.commands import PREEMPTED_BY_SCHEDULER
from remuda.core.model.allocation import Allocation
from remuda.core.model.partition import Partition
from remuda.core.model.preemption import KEPT, WAITING, Preemption

_NONE: Final = frozenset[Allocation]()


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
    message: str,
    told: str,
    for_queue: frozenset[Allocation] = _NONE,
) -> None:
    """Mark victims and order them out, in one response.

    ``message``: for the RM. ``told``: the text of the event of each victim. ``for_queue``: those
    that do not make room on the node.
    Rules: PRE-34, PRE-44, PRE-72, EVT-46. Emits: AllocationsReleased, EventRecord.
    """
    for victim in victims:
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
        )
    order(turn, partition, victims, PREEMPTED_BY_SCHEDULER, message)


def end(preemption: Preemption, outcome: str, cause: str, now_ns: int) -> None:
    """Note how a preemption ended. Rules: PRE-6, PRE-91."""
    preemption.outcome = outcome
    preemption.cause = cause
    preemption.ended_ns = now_ns
