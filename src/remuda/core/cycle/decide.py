"""One decision of one partition: which ask goes to which node (rules: CYC-10 to CYC-17).

1. Walk from root to the leaf that is owed most (child order of each parent).
2. Take the first ask of the leaf's first lane: application order, then ask order.
3. See whether its application may start, if it has not.
4. Check the limits of its user and group, leaf upwards.
5. Check the limits of the queue path, leaf upwards.
6. Take the first node in node order that fits and whose predicates agree.

What fails at 3 or 4 fails for the whole strand, at 5 or 6 for the whole lane: that is set aside.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from remuda.core.model import states
from remuda.core.model.bound import Bound
from remuda.core.model.decision import Allocate, Decision, Hold, Park, Wait
from remuda.core.model.node import Node
from remuda.core.model.partition import Partition
from remuda.core.model.queue import Queue
from remuda.core.model.request import Lane, Request, Shape
from remuda.core.model.vectors import fits
from remuda.core.ports import NodesQuestion, Predicates


def has_work(partition: Partition) -> bool:
    """Whether a partition has an ask worth trying; one that leaves has none.

    Rules: CYC-4, CYC-5, OBJ-9.
    """
    if partition.root.maximum is None or not partition.root.has_ready():
        return False
    return partition.state == states.ACTIVE


def decide(partition: Partition, predicates: Predicates) -> Decision:
    """Return the next decision of a partition that has work.

    Rules: CYC-10, CYC-11, CYC-12, LIM-54, LIM-71.
    """
    lane = _first_lane(partition.root)
    strand = lane.first()
    if strand.gated:
        queue_full = _first_full(lane.leaf.path_up)
        quota_full = _first_full(strand.account.gates)
        if queue_full is not None or quota_full is not None:
            return Hold(strand, queue_full, quota_full)
    amounts = lane.shape.amounts
    for tracker in strand.account.limited:
        if not tracker.fits(amounts):
            return Wait(strand, tracker)
    for queue in lane.leaf.path_up:
        if queue.maximum is not None and not queue.fits(amounts):
            return Park(lane, queue, [])
    request = strand.first()
    refused: list[Node] = []
    node = _find_node(partition, lane, request, predicates, refused)
    if node is None:
        return Park(lane, None, refused)
    return Allocate(request, node, refused)


def _first_lane(root: Queue) -> Lane:
    """Walk to the lane that is served next. Rules: CYC-10, RLD-27.

    A leaf that was a parent serves its draining children before its own applications.
    """
    queue = root
    while queue.children:
        if queue.leaf and not queue.child_order.has_ready():
            break
        queue = queue.children[queue.child_order.first()]
    return queue.lanes[queue.ready.first()]


def _first_full(bounds: Sequence[Bound]) -> Bound | None:
    """Return the first of these where no further application may start. Rules: QUE-22, LIM-61."""
    for bound in bounds:
        if bound.full():
            return bound
    return None


def _find_node(
    partition: Partition,
    lane: Lane,
    request: Request,
    predicates: Predicates,
    refused: list[Node],
) -> Node | None:
    """Return the node for an ask, None if there is none. Rules: CYC-14, CYC-15, CYC-17, NOD-8."""
    shape = lane.shape
    accept: Callable[[Node], bool] | None = None
    if partition.predicates:
        accept = _acceptance(partition, shape, request, predicates, refused)
    if not shape.required_node:
        return partition.node_order.first_fit(shape.amounts, accept)
    node = partition.nodes.get(shape.required_node)
    if node is None or not fits(node.available, shape.amounts):
        return None
    return node if accept is None or accept(node) else None


def _acceptance(
    partition: Partition,
    shape: Shape,
    request: Request,
    predicates: Predicates,
    refused: list[Node],
) -> Callable[[Node], bool]:
    """Return what asks the RM about a node, noting those it refuses. Rules: SI-80, NOD-13."""

    def accept(node: Node) -> bool:
        if shape.constraint in node.refused:
            return False
        ask = request.ask
        question = NodesQuestion(
            partition.rm_id, ask.application_id, ask.allocation_key, True, (node.node_id,)
        )
        if predicates(question).passed == 0:
            return True
        refused.append(node)
        return False

    return accept
