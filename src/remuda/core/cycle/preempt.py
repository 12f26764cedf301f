"""Decides whether allocations are preempted for an ask that cannot be placed.

Rules: PRE-3, PRE-4, PRE-5, PRE-40.
"""

from __future__ import annotations

from remuda.core.model.asks.class_queue import ClassQueue
from remuda.core.model.decision import Attempt, NoRoom, Preempt
from remuda.core.model.partition import Partition
from remuda.core.model.vectors import fits
from remuda.core.preempt.attempt import Ports, attempt
from remuda.core.preempt.reasons import EXHAUSTED
from remuda.core.preempt.required_node import attempt_on_required_node


def may_preempt(partition: Partition, decision: NoRoom) -> bool:
    """Whether to look for victims before a class queue is blocked.

    False while an earlier attempt is known to fail again, and for a gang that no quota has room
    for.
    Implements: PRE-5. Rules: PRE-3, PRE-40, PRE-90.
    """
    class_queue = decision.class_queue
    if class_queue.tried is not None or decision.gang:
        return False
    if class_queue.ask_class.required_node:
        return decision.limiting is None and _waits_on_its_node(partition, class_queue)
    return class_queue.ask_class.preempts


def _waits_on_its_node(partition: Partition, class_queue: ClassQueue) -> bool:
    """Whether the ask has reserved its required node and lacks room there. Rules: PRE-40."""
    ask_class = class_queue.ask_class
    node = partition.nodes.get(ask_class.required_node)
    if node is None or not ask_class.urgent or ask_class.promised:
        return False
    return not fits(node.available, ask_class.amounts)


def decide_preemption(
    partition: Partition, decision: NoRoom, ports: Ports, now_ns: int
) -> Preempt | NoRoom:
    """Return the victims that make room for the first ask of a class queue, or why none can.

    Implements: PRE-3. Rules: PRE-4, PRE-40, PRE-81, MET-13.
    """
    class_queue = decision.class_queue
    request = class_queue.first().first()
    made: Preempt | Attempt
    if class_queue.ask_class.required_node:
        made = attempt_on_required_node(
            class_queue, request, partition.nodes[class_queue.ask_class.required_node]
        )
    elif partition.preempting.attempts.may(class_queue.leaf.path, now_ns):
        nodes_tried = decision.limiting is None
        ports.watch(begins=True)
        made = attempt(partition, class_queue, request, ports, now_ns, nodes_tried=nodes_tried)
        ports.watch(begins=False)
    else:
        made = Attempt(EXHAUSTED, 0)
    if isinstance(made, Preempt):
        return made
    decision.attempt = made
    return decision
