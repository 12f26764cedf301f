"""Sets the times at which lowered maxima of queues are enforced (rules: chapter 60 part D).

A queue whose maximum changed while it used more gets a start time. One timer of the partition is
set for the first whole second of Unix time at which a queue is due. All queues due in that second
are examined together, parents before children. While no queue is due there is no timer. While an RM
is away its start times are delayed, like its timers.
"""

from __future__ import annotations

from typing import TypeAlias, final

from remuda.core.apply.decisions.quota_preemption import begin_quota_run
from remuda.core.apply.turn import Turn
from remuda.core.model import deadlines
from remuda.core.model.cluster import ResourceManager
from remuda.core.model.deadlines import SECOND_NS
from remuda.core.model.partition import Partition
from remuda.core.model.preemption.live import DONE
from remuda.core.model.queues.queue import Queue
from remuda.core.model.vectors import value_of
from remuda.core.preempt.quota_change import Part, delay_of, excess
from remuda.core.preempt.quota_victims import decide_quota, shielded

# Usage above the maximum, by queue path.
Above: TypeAlias = dict[str, Part]


@final
class QuotasBefore:
    """Maximum and delay of each queue before a reload, by path (PRE-64).

    Empty where quotas are not enforced by preemption: all delays are 0 there.
    """

    __slots__ = ("known",)

    def __init__(self, partition: Partition) -> None:
        switched_on = partition.settings.config.quota_preemption
        self.known = {
            queue.path: (value_of(queue.maximum), delay_of(partition, queue))
            for queue in (partition.queues(partition.root) if switched_on else ())
        }


def renew_quotas(turn: Turn, partition: Partition, before: QuotasBefore) -> None:
    """Give a start time to each queue that a reload left above its maximum.

    A start time is kept as long as usage is above the maximum, also if the maximum changes. A
    change of the delay moves it. A change during a run is noted too, and takes effect after the
    run.
    Implements: PRE-63. Rules: PRE-64 (Ours). Cost: O(queues).
    """
    if not partition.settings.config.quota_preemption:
        partition.preempting.quotas.disarm_all()
        return
    clock = _clock(turn, partition)
    for queue in partition.queues(partition.root):
        delay = delay_of(partition, queue)
        maximum, old_delay = before.known.get(queue.path, (None, 0))
        if delay == 0 or not excess(queue):
            partition.preempting.quotas.disarm(queue)
        elif queue.quota_due_ns:
            partition.preempting.quotas.arm(queue, queue.quota_due_ns + delay - old_delay)
        elif old_delay == 0 or maximum != value_of(queue.maximum):
            partition.preempting.quotas.arm(queue, clock + delay)
    _plan(turn, partition)


def above_quotas(partition: Partition, leaf: Queue) -> Above:
    """Return the usage above each maximum of a path, for note_growth to compare with.

    Rules: PRE-66.
    """
    if not partition.settings.config.quota_preemption:
        return {}
    return {queue.path: excess(queue) for queue in leaf.path_up}


def note_growth(turn: Turn, partition: Partition, leaf: Queue, before: Above) -> None:
    """Give a start time to each queue that a recovered or resized allocation put over its maximum.

    A queue that was over it before and has a start time keeps it. Implements: PRE-66.
    """
    if not before:
        return
    clock = _clock(turn, partition)
    for queue in leaf.path_up:
        was, now, delay = before[queue.path], excess(queue), delay_of(partition, queue)
        grew = any(amount > was.get(index, 0) for index, amount in now.items())
        if delay and grew and not (was and queue.quota_due_ns):
            partition.preempting.quotas.arm(queue, clock + delay)
    _plan(turn, partition)


def enforce_quotas(turn: Turn, partition: Partition) -> None:
    """Begin the runs that are due, parents before children.

    No run begins in a queue during a run there or above, including one that just began. The queue
    is examined again when that run ends. A timer that was set for another time does nothing.
    Implements: PRE-75. Rules: PRE-65, PRE-66. Emits: AllocationsReleased, EventRecord.
    """
    quotas = partition.preempting.quotas
    if not 0 < quotas.tick_ns <= turn.now_ns:
        return
    quotas.tick_ns = 0
    while (choice := decide_quota(partition, turn.now_ns)) is not None:
        quotas.disarm(choice.queue)
        begin_quota_run(turn, partition, choice)
    _plan(turn, partition)


def end_runs(turn: Turn, partition: Partition) -> None:
    """End the runs whose victims have all ended, and set the timer for the queues they blocked.

    Rules: PRE-65, PRE-91.
    """
    quotas = partition.preempting.quotas
    if not quotas.ended:
        return
    for preemption in quotas.ended:
        quotas.running.pop(preemption.number).quota_run = None
        preemption.end(DONE, turn.now_ns)
    quotas.ended = []
    _plan(turn, partition)


def put_off(turn: Turn, manager: ResourceManager, away_ns: int) -> None:
    """Delay the start times of an RM's queues by the time it was away. Rules: RM-15, PRE-64."""
    for partition in manager.own():
        for queue in partition.preempting.quotas.armed.values():
            queue.quota_due_ns += away_ns
        partition.preempting.quotas.tick_ns = 0  # its timer no longer goes off at a whole second
        _plan(turn, partition)


def _clock(turn: Turn, partition: Partition) -> int:
    """Return the time of a partition's timers, which stands still while its RM is away."""
    away_since_ns = turn.cluster.managers[partition.rm_id].away_since_ns
    return turn.now_ns if away_since_ns is None else away_since_ns


def _plan(turn: Turn, partition: Partition) -> None:
    """Set the timer for the next queue that is due, unless it is set for that time already.

    A queue that waits for the end of a run needs no timer. Rules: PRE-65.
    """
    quotas = partition.preempting.quotas
    clock = _clock(turn, partition)
    due = [each.quota_due_ns for each in quotas.armed.values() if not shielded(each)]
    tick_ns = -(-max(clock, min(due)) // SECOND_NS) * SECOND_NS if due else 0
    if tick_ns and tick_ns != quotas.tick_ns:
        turn.set_timer(partition, deadlines.QUOTA, tick_ns - clock)
    quotas.tick_ns = tick_ns
