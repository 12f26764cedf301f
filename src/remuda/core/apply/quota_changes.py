"""Brings queues down to a maximum that was lowered, after a delay (rules: PRE-63 to PRE-73).

A queue whose maximum changed while it used more gets a start time. A timer of the partition goes
off at the first whole second of Unix time at which one is due, so that all that is due in the same
second is looked at together, parents before children; while nothing is due nothing is looked at.
While an RM is away start times stand still with its timers.
"""

from __future__ import annotations

from typing import Final, TypeAlias, final

from remuda.base.resource_text import printable
from remuda.base.resources import sat
from remuda.core.apply.preemption import evict, record
from remuda.core.apply.turn import Turn
from remuda.core.messages import events
from remuda.core.model import deadlines
from remuda.core.model.allocation import Allocation
from remuda.core.model.cluster import ResourceManager
from remuda.core.model.deadlines import SECOND_NS
from remuda.core.model.partition import Partition
from remuda.core.model.preemption import DONE, QUOTA, Preemption
from remuda.core.model.queue import Queue
from remuda.core.model.vectors import Vector, add, value_of
from remuda.core.preempt.quota_change import Part, delay_of, excess, stays
from remuda.core.preempt.quota_victims import QuotaChoice, choose_for_quota

TOLD: Final = "Preempted by Quota change enforcement process in"
ORDERED: Final = "preempting allocations to enforce new max quota for queue :"

# By how much queues are above their maximum, by path.
Above: TypeAlias = dict[str, Part]


@final
class QuotasBefore:
    """What a reload is compared with: maximum and delay of each queue, by path (PRE-64).

    Nothing where queues are not brought down to a maximum: there all delays are 0.
    """

    __slots__ = ("known",)

    def __init__(self, partition: Partition) -> None:
        switched_on = partition.config.quota_preemption
        self.known = {
            queue.path: (value_of(queue.maximum), delay_of(partition, queue))
            for queue in (partition.queues(partition.root) if switched_on else ())
        }


def renew_quotas(turn: Turn, partition: Partition, before: QuotasBefore) -> None:
    """Give queues a start time that a reload left above their maximum.

    A start time is kept whatever the maximum is now, as long as use is above it; a change of the
    delay moves it. While a run is on a change is noted like any other, and waits for its end.
    Rules: PRE-63, PRE-64 (Ours). Cost: O(queues).
    """
    if not partition.config.quota_preemption:
        partition.quotas.disarm_all()
        return
    clock = _clock(turn, partition)
    for queue in partition.queues(partition.root):
        delay = delay_of(partition, queue)
        maximum, old_delay = before.known.get(queue.path, (None, 0))
        if delay == 0 or not excess(queue):
            partition.quotas.disarm(queue)
        elif queue.quota_due_ns:
            partition.quotas.arm(queue, queue.quota_due_ns + delay - old_delay)
        elif old_delay == 0 or maximum != value_of(queue.maximum):
            partition.quotas.arm(queue, clock + delay)
    _plan(turn, partition)


def above_quotas(partition: Partition, leaf: Queue) -> Above:
    """Return what note_growth compares with later. Rules: PRE-66."""
    if not partition.config.quota_preemption:
        return {}
    return {queue.path: excess(queue) for queue in leaf.path_up}


def note_growth(turn: Turn, partition: Partition, leaf: Queue, before: Above) -> None:
    """Give the queues a start time that something recovered or resized pushed over the maximum.

    One that was over it and has a start time keeps that. Rules: PRE-66.
    """
    if not before:
        return
    clock = _clock(turn, partition)
    for queue in leaf.path_up:
        was, now, delay = before[queue.path], excess(queue), delay_of(partition, queue)
        grew = any(amount > was.get(index, 0) for index, amount in now.items())
        if delay and grew and not (was and queue.quota_due_ns):
            partition.quotas.arm(queue, clock + delay)
    _plan(turn, partition)


def enforce_quotas(turn: Turn, partition: Partition) -> None:
    """Begin what is due, parents before children.

    Nothing begins in a queue while a run is on there or above, one that just began included; it is
    looked at again when that ends. A timer that was set for another time does nothing.
    Rules: PRE-65, PRE-66, PRE-75. Emits: AllocationsReleased, EventRecord.
    """
    quotas = partition.quotas
    if not 0 < quotas.tick_ns <= turn.now_ns:
        return
    quotas.tick_ns = 0
    for queue in sorted(quotas.armed.values(), key=lambda each: (len(each.path_up), each.path)):
        if queue.quota_due_ns <= turn.now_ns and not _shielded(queue):
            quotas.disarm(queue)
            _begin(turn, partition, queue)
    _plan(turn, partition)


def end_runs(turn: Turn, partition: Partition) -> None:
    """End the runs whose victims are all gone; what waited for that is looked at again.

    Rules: PRE-65, PRE-91.
    """
    quotas = partition.quotas
    if not quotas.ended:
        return
    for preemption in quotas.ended:
        quotas.running.pop(preemption.number).quota_run = None
        preemption.end(DONE, turn.now_ns)
    quotas.ended = []
    _plan(turn, partition)


def put_off(turn: Turn, manager: ResourceManager, away_ns: int) -> None:
    """Move the start times of an RM that was away that long. Rules: RM-15, PRE-64."""
    for partition in manager.own():
        for queue in partition.quotas.armed.values():
            queue.quota_due_ns += away_ns
        partition.quotas.tick_ns = 0  # its timer no longer goes off at a whole second
        _plan(turn, partition)


def _clock(turn: Turn, partition: Partition) -> int:
    """Return the time for the timers of a partition, which stands still while its RM is away."""
    away_since_ns = turn.cluster.managers[partition.rm_id].away_since_ns
    return turn.now_ns if away_since_ns is None else away_since_ns


def _plan(turn: Turn, partition: Partition) -> None:
    """Set the timer for the next queue that is due, if another time than it is set for.

    What has to wait for the end of a run needs none. Rules: PRE-65.
    """
    quotas = partition.quotas
    clock = _clock(turn, partition)
    due = [each.quota_due_ns for each in quotas.armed.values() if not _shielded(each)]
    tick_ns = -(-max(clock, min(due)) // SECOND_NS) * SECOND_NS if due else 0
    if tick_ns and tick_ns != quotas.tick_ns:
        turn.set_timer(partition, deadlines.QUOTA, tick_ns - clock)
    quotas.tick_ns = tick_ns


def _shielded(queue: Queue) -> bool:
    """Whether a run is on in a queue or above it. Rules: PRE-65."""
    return any(each.quota_run is not None for each in queue.path_up)


def _begin(turn: Turn, partition: Partition, queue: Queue) -> None:
    """Order out who has to go, and tell of it; a queue that is within its maximum is left alone.

    Rules: PRE-65, PRE-72, EVT-77. Emits: AllocationsReleased, EventRecord.
    """
    choice = choose_for_quota(queue)
    if not choice.excess:
        return
    if choice.victims:
        _evict(turn, partition, queue, choice)
    assert queue.maximum is not None
    turn.event(
        partition,
        events.QUEUE,
        queue.path,
        events.SET,
        events.QUEUE_PREEMPTION,
        resource=partition.types.resource(queue.maximum),
        message=_summary(partition, choice),
    )


def _evict(turn: Turn, partition: Partition, queue: Queue, choice: QuotaChoice) -> None:
    """Order victims out, in one response for each application. Rules: PRE-72, PRE-75, PRE-91."""
    preemption = Preemption(
        partition.next_number(),
        kind=QUOTA,
        created_ns=turn.now_ns,
        queue_path=queue.path,
        amounts=partition.types.amounts(_named(partition, choice.excess)),
        reasons=_reasons(partition, queue, choice),
    )
    queue.quota_run = preemption
    partition.quotas.running[preemption.number] = queue
    record(partition, preemption)
    victims: dict[int, list[Allocation]] = {}
    for victim in choice.victims:
        victims.setdefault(victim.application.number, []).append(victim)
    message, told = f"{ORDERED} {queue.path}", f"{TOLD} {queue.path}"
    for own in victims.values():
        evict(turn, partition, preemption, own, message=message, told=told)


def _reasons(partition: Partition, queue: Queue, choice: QuotaChoice) -> list[str]:
    """Return what justifies a run, as texts. Rules: PRE-91."""
    assert queue.maximum is not None
    used = {index: stays(queue, index) for index in choice.excess}
    maximum = partition.types.resource(queue.maximum)
    found = [
        f"{queue.path} uses {printable(_named(partition, used))} and may use {printable(maximum)}"
    ]
    if choice.planned != choice.excess:
        found.append(f"guarantees let go {printable(_named(partition, choice.planned))} of it")
    return found


def _summary(partition: Partition, choice: QuotaChoice) -> str:
    """Return how much was to go and how much does, as a text. Rules: PRE-72, EVT-77."""
    claimed = Vector()
    for victim in choice.victims:
        add(claimed, victim.amounts)
    planned, freed = _named(partition, choice.planned), partition.types.resource(claimed)
    return (
        f"Quota Preemption results summary: preemptable resources: {printable(planned)}, "
        f"claimed resources: {printable(freed)}, selected victims: {choice.candidates}, "
        f"preempted victims: {len(choice.victims)}"
    )


def _named(partition: Partition, part: Part) -> dict[str, int]:
    """Return amounts by the names of their types, sorted."""
    return dict(sorted({partition.types.names[index]: sat(part[index]) for index in part}.items()))
