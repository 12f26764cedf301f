"""Whether room is taken from others for asks that cannot be placed.

Rules: PRE-3 to PRE-5, PRE-40.
"""

from __future__ import annotations

from remuda.core.model.decision import Attempt, Park, Preempt
from remuda.core.model.partition import Partition
from remuda.core.model.request import Lane
from remuda.core.model.vectors import fits
from remuda.core.preempt.attempt import Ports, attempt
from remuda.core.preempt.reasons import EXHAUSTED
from remuda.core.preempt.required_node import attempt_on_required_node


def may_preempt(partition: Partition, decision: Park) -> bool:
    """Whether to look for victims before the first ask of a lane is left to wait.

    Not while it is known that there are none, nor for a gang that its quota keeps out.
    Rules: PRE-3, PRE-5, PRE-40, PRE-90.
    """
    lane = decision.lane
    if lane.tried is not None or decision.gang:
        return False
    if lane.shape.required_node:
        return decision.limiting is None and _waits_on_its_node(partition, lane)
    return lane.shape.preempts


def _waits_on_its_node(partition: Partition, lane: Lane) -> bool:
    """Whether an ask has reserved the node it requires, and lacks room there. Rules: PRE-40."""
    shape = lane.shape
    node = partition.nodes.get(shape.required_node)
    if node is None or not shape.urgent or shape.promised:
        return False
    return not fits(node.available, shape.amounts)


def decide_preemption(
    partition: Partition, decision: Park, ports: Ports, now_ns: int
) -> Preempt | Park:
    """Return whom to let go for the first ask of a lane; else the lane waits, and it says why.

    Rules: PRE-3, PRE-4, PRE-40, PRE-81.
    """
    lane = decision.lane
    request = lane.first().first()
    made: Preempt | Attempt
    if lane.shape.required_node:
        made = attempt_on_required_node(lane, request, partition.nodes[lane.shape.required_node])
    elif partition.attempts.may(lane.leaf.path, now_ns):
        nodes_tried = decision.limiting is None
        made = attempt(partition, lane, request, ports, now_ns, nodes_tried=nodes_tried)
    else:
        made = Attempt(EXHAUSTED, 0)
    if isinstance(made, Preempt):
        return made
    decision.attempt = made
    return decision
