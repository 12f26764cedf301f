"""Checks a choice of victims against the laws of preemption (rules: laws of chapter 60, PRE-82).

The check uses the partition's state, not the trial that made the choice, so it finds faults of the
trial.
"""

from __future__ import annotations

from collections.abc import Iterable

from remuda.config.queue_properties import DISABLED, FENCE
from remuda.core.invariants.require import require
from remuda.core.messages.tags import REQUIRED_NODE
from remuda.core.model.allocation import Allocation
from remuda.core.model.decision import Attempt, Preempt
from remuda.core.model.partition import Partition
from remuda.core.model.preemption.live import QUEUE
from remuda.core.model.queues.queue import Queue
from remuda.core.model.vectors import amount_at
from remuda.core.ports import always_true, first_will_do
from remuda.core.preempt.attempt import Ports, attempt


def check_choice(partition: Partition, choice: Preempt, now_ns: int) -> None:
    """Check that each victim may be chosen, and that all are needed. Raises: InvariantViolation.

    Implements: PRE-82 (a). Rules: PRE-29, PRE-41, PRE-59, (c) to (f), (h).
    """
    request, node = choice.request, choice.node
    name = f"preemption for {request.ask.allocation_key}"
    require(bool(choice.victims), partition, "{}: it has no victims", name)
    distinct = len(set(choice.victims)) == len(choice.victims)
    require(distinct, partition, "{}: a victim is chosen twice", name)
    for victim in choice.victims:
        _may_go(partition, victim, f"{name}: {victim.allocation_id}")
    _room(partition, choice, name)
    require(node.holds(request.amounts), partition, "{}: the node is too small", name)
    if choice.kind != QUEUE:
        return _required(partition, choice, name)
    leaf = choice.class_queue.leaf
    for victim in choice.victims:
        _in_reach(partition, choice, victim, f"{name}: {victim.allocation_id}")
    if not partition.settings.parity:
        _within_maxima(partition, choice, leaf, name)
    _guarantees(partition, choice, leaf, name)
    _last_resort(partition, choice, now_ns, name)
    return None


def _may_go(partition: Partition, victim: Allocation, name: str) -> None:
    """The allocation may be a victim at all. Rules: PRE-13, PRE-59, PRE-82 (h)."""
    require(victim.release_type == 0, partition, "{} is to be released already", name)
    require(victim.preemption is None, partition, "{} is a victim already", name)
    require(victim.replaces is None, partition, "{} is in flight", name)
    require(REQUIRED_NODE not in victim.ask.tags, partition, "{} is bound to its node", name)


def _room(partition: Partition, choice: Preempt, name: str) -> None:
    """The ask fits the node when the victims on that node have ended. PRE-82 (f)."""
    freed = [each for each in choice.victims if each.node is choice.node]
    for index, amount in choice.request.amounts.need:
        room = amount_at(choice.node.available, index) + _sum(freed, index)
        require(amount <= room, partition, "{}: too little is freed on the node", name)


def _required(partition: Partition, choice: Preempt, name: str) -> None:
    """Victims on a required node have no higher priority than the ask. Rules: PRE-41."""
    for victim in choice.victims:
        lower = victim.ask.priority <= choice.request.ask.priority
        require(lower, partition, "{}: a victim of higher priority", name)
        require(victim.node is choice.node, partition, "{}: a victim elsewhere", name)


def _in_reach(partition: Partition, choice: Preempt, victim: Allocation, name: str) -> None:
    """A victim is inside the fence, outside the ask's queue, and of no higher priority.

    Rules: PRE-7, PRE-8, PRE-9, PRE-10, PRE-11, PRE-12, PRE-82 (d), (e), laws 3, PRE-6.
    """
    leaf, own = choice.class_queue.leaf, victim.application.queue
    require(own is not leaf, partition, "{} is in the queue of the ask", name)
    common = _common(leaf, own)
    for queue in leaf.path_up[: leaf.path_up.index(common)]:
        fenced = queue.settings.preemption_policy == FENCE
        require(not fenced, partition, "{} is outside the fence at {}", name, queue.path)
    for queue in own.path_up:
        disabled = queue.settings.preemption_policy == DISABLED
        require(not disabled, partition, "{}: {} has preemption disabled", name, queue.path)
    asks = _priority_below(leaf, common, choice.request.ask.priority)
    has = _priority_below(own, common, victim.ask.priority)
    require(has <= asks, partition, "{} has a higher priority", name)


def _priority_below(leaf: Queue, common: Queue, priority: int) -> int:
    """Return a priority in a leaf as a common ancestor with another leaf compares it."""
    for queue in leaf.path_up[: leaf.path_up.index(common)]:
        offset = queue.settings.priority_offset
        priority = offset if queue.settings.priority_fence else priority + offset
    return priority


def _within_maxima(partition: Partition, choice: Preempt, leaf: Queue, name: str) -> None:
    """The queues above the ask stay within their maxima, with the ask. Rules: PRE-82 (a)."""
    for queue in leaf.path_up:
        if queue.maximum is None:
            continue
        freed = _below(queue, choice.victims)
        for index, amount in choice.request.amounts.need:
            if queue.maximum.types >> index & 1 or queue.closed:
                used = _stays(queue, index) - _sum(freed, index)
                if queue.promised is not None:
                    used += amount_at(queue.promised, index)
                fits = used + amount <= amount_at(queue.maximum, index)
                require(fits, partition, "{}: {} stays above its maximum", name, queue.path)


def _guarantees(partition: Partition, choice: Preempt, leaf: Queue, name: str) -> None:
    """No queue that is not above the ask falls below its guarantee of a type it gives.

    Rules: PRE-17 (Ours), PRE-82 (c), laws 2, PRE-5.
    """
    for queue in _beside(leaf, choice.victims):
        guaranteed = queue.guaranteed
        given = _below(queue, choice.victims)
        if guaranteed is None:
            continue
        for index, least in enumerate(guaranteed.amounts):
            gone = _sum(given, index)
            if guaranteed.types >> index & 1 and gone > 0:
                kept = _stays(queue, index) - gone >= least
                require(kept, partition, "{}: {} falls below its guarantee", name, queue.path)


def _beside(leaf: Queue, victims: Iterable[Allocation]) -> list[Queue]:
    """Return the queues above the victims that are not above the ask, by path."""
    found: dict[str, Queue] = {}
    for victim in victims:
        queue = victim.application.queue
        found.update({each.path: each for each in queue.path_up if each not in leaf.path_up})
    return [found[path] for path in sorted(found)]


def _common(left: Queue, right: Queue) -> Queue:
    """Return the lowest queue above both."""
    return next(each for each in left.path_up if each in right.path_up)


def _below(queue: Queue, victims: Iterable[Allocation]) -> list[Allocation]:
    found: list[Allocation] = []
    for victim in victims:
        leaf = victim.application.queue
        if queue in leaf.path_up:
            found.append(victim)
    return found


def _sum(allocations: Iterable[Allocation], index: int) -> int:
    return sum(dict(each.amounts.pairs).get(index, 0) for each in allocations)


def _stays(queue: Queue, index: int) -> int:
    return amount_at(queue.allocated, index) - amount_at(queue.preempting, index)


def _last_resort(partition: Partition, choice: Preempt, now_ns: int, name: str) -> None:
    """No allocation that opted out is a victim if the others were enough.

    Not checked where an RM may have refused a better choice, nor in parity mode, where the first
    check decides. Rules: PRE-28, PRE-29, SI-36.
    """
    asked = partition.settings.predicates or partition.settings.preemption_predicates
    if partition.settings.parity or asked or partition.preempting.candidates is None:
        return
    if all(each.ask.allow_preempt_self for each in choice.victims):
        return
    other = attempt(
        partition,
        choice.class_queue,
        choice.request,
        Ports(always_true, first_will_do),
        now_ns,
        nodes_tried=choice.nodes_tried,
        among=partition.preempting.candidates.willing(),
    )
    require(
        isinstance(other, Attempt), partition, "{}: those who did not opt out were enough", name
    )
