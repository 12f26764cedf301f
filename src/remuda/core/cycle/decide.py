"""One decision of one partition: which ask goes to which node (rules: CYC-5, CYC-10 to CYC-21).

1. Take the leaf the reserved pass looks at first, if that has something to try; else let real asks
   take the place of placeholders (``swap``); else walk from root to the leaf that is owed most
   (child order of each parent).
2. Take the first ask of the leaf's first lane: application order, then ask order.
3. See whether its application may start, if it has not, and whether quotas hold its whole gang.
4. Check the limits of its user and group, leaf upwards.
5. Check the limits of the queue path, leaf upwards.
6. Take the first node in node order that fits and whose predicates agree.
7. If there is none, and the ask may, keep the node free that lacks least for it.

What fails at 3 or 4 fails for the whole strand, at 5 to 7 for the whole lane: that is set aside.
Between 2 and 3 the regular pass leaves out an application that backs off (CYC-33).

Where predicates are asked over a distance their answer comes later. Until then the lane is aside,
and asks behind it get as far as their own questions, but nothing is placed before it (EXT-14).
"""

from __future__ import annotations

from remuda.core.cycle.search import Search
from remuda.core.cycle.stops import stop_of, stops_of_others
from remuda.core.cycle.swap import decide_swap, first_leaf
from remuda.core.model import states
from remuda.core.model.decision import (
    NO_REFUSALS,
    Allocate,
    Await,
    Decision,
    Hold,
    Park,
    Pause,
    Postpone,
    Refusals,
    Reserve,
)
from remuda.core.model.partition import Partition
from remuda.core.model.queue import Queue
from remuda.core.model.request import Lane, Request
from remuda.core.model.shape import HOME, YOUNG
from remuda.core.model.vectors import Amounts, fits
from remuda.core.ports import Predicates


def has_work(partition: Partition) -> bool:
    """Whether a partition has an ask worth trying; one that leaves, is stopped or rests has none.

    Rules: CYC-4, CYC-5, OBJ-4, OBJ-8, OBJ-9, RM-15, EXT-14.
    """
    root = partition.root
    if root.maximum is None or partition.state != states.ACTIVE or partition.resting:
        return False
    if root.state == states.STOPPED:
        return False
    return bool(partition.urgent or partition.swapping) or root.has_ready()


def decide(partition: Partition, predicates: Predicates) -> Decision:
    """Return the next decision of a partition that has work.

    Rules: CYC-5, CYC-10, CYC-11, CYC-12, CYC-20, CYC-23, GANG-4, LIM-54, LIM-71.
    """
    if partition.swapping and not partition.urgent:
        return decide_swap(partition, predicates)
    lane = _first_urgent(partition) if partition.urgent else _first_lane(partition.root)
    strand = lane.first()
    if lane.leaf.settings.backoff and not lane.shape.urgent:
        application = strand.first().application
        if application.backoff_until_ns:
            return Pause(application)
    stop = stop_of(strand) if strand.gate or strand.account.limited else None
    shape = lane.shape
    if shape.total is not None and not isinstance(stop, Hold):
        full = _no_room_for_gang(lane.leaf, shape.total)
        if full is not None:
            parked = _park(lane, full, NO_REFUSALS)
            parked.gang = True
            return parked
    if stop is not None:
        return stop
    amounts = shape.amounts
    for queue in lane.leaf.path_up:
        if queue.maximum is not None and not queue.fits(amounts) and not shape.fits(queue):
            return _park(lane, queue, NO_REFUSALS)
    if not partition.predicates and shape.stage == YOUNG and not shape.node_policy:
        # What Search would do, without it: this is the one path where that is worth it.
        found = partition.node_order.first_fit(amounts)
        return Allocate(strand.first(), found) if found else _park(lane, None, NO_REFUSALS)
    return _find(partition, lane, strand.first(), predicates)


def _first_lane(root: Queue) -> Lane:
    """Walk to the lane that is served next in the regular pass. Rules: CYC-10, RLD-27.

    A leaf that was a parent serves its draining children before its own applications.
    """
    queue = root
    while queue.children:
        if queue.leaf and not queue.child_order.ready:
            break
        queue = queue.children[queue.child_order.first()]
    return queue.lanes[queue.ready.first()]


def _first_urgent(partition: Partition) -> Lane:
    """Walk to the lane that is served next in the reserved pass. Rules: CYC-19, RLD-27."""
    leaf = first_leaf(partition, partition.urgent)
    return leaf.lanes[leaf.urgent.first()]


def _no_room_for_gang(leaf: Queue, total: Amounts) -> Queue | None:
    """Return the first queue, leaf upwards, whose quota has no room for a whole gang.

    Root's maximum is the size of the cluster and no quota. Rules: GANG-4.
    """
    for queue in leaf.path_up:
        if queue.parent is not None and not queue.fits(total):
            return queue
    return None


def _find(partition: Partition, lane: Lane, request: Request, predicates: Predicates) -> Decision:
    """Decide about an ask that no limit stops. Rules: CYC-15, CYC-21, RSV-3, EXT-14."""
    if lane.ticket:
        return Await(lane)
    search = Search(partition, lane, request, predicates)
    decision = _choose(partition, lane, request, search)
    return _heed(partition, lane, search, decision) if partition.predicates else decision


def _heed(partition: Partition, lane: Lane, search: Search, decision: Decision) -> Decision:
    """Return what is left of a decision if an answer is still to come, or never came.

    As long as an ask awaits an answer none behind it is placed. Rules: EXT-14, EXT-17.
    """
    search.refusals.told = len(search.refusals.now) > 0 or len(lane.judged) > 0
    if search.waits is not None:
        return search.waits
    if search.skipped and not isinstance(decision, Allocate):
        return Postpone(lane)
    if partition.questions.waiting() and not isinstance(decision, Park):
        return Await(lane)
    return decision


def _choose(partition: Partition, lane: Lane, request: Request, search: Search) -> Decision:
    """Choose a node, one to reserve, or none. Rules: CYC-15, CYC-21, RSV-3."""
    shape = lane.shape
    if shape.stage == HOME:
        return _go_home(lane, request, search)
    if shape.required_node:
        return _go_where_required(partition, lane, request, search)
    node = search.open_node()
    if node is not None:
        return Allocate(request, node, search.refusals, request.oldest_reservation())
    if shape.may_reserve and not search.skipped and search.waits is None:
        node = search.node_to_reserve()
        if node is not None:
            return Reserve(request, node, search.refusals)
    return _park(lane, None, search.refusals)


def _go_home(lane: Lane, request: Request, search: Search) -> Decision:
    """Decide about an ask that a node it reserved would take now. Rules: CYC-20, CYC-22 (Ours)."""
    for reservation in request.reservations.values():
        if reservation.home:
            node = search.first_accepted([reservation.node])
            if node is not None:
                return Allocate(request, node, search.refusals, reservation)
            if search.waits is not None:
                break
    return _park(lane, None, search.refusals)


def _go_where_required(
    partition: Partition, lane: Lane, request: Request, search: Search
) -> Decision:
    """Decide about an ask for just one node.

    It takes precedence over reservations of asks that may go elsewhere, and joins others like it.
    Rules: CYC-14 (Ours), NOD-8, RSV-12.
    """
    shape = lane.shape
    node = partition.nodes.get(shape.required_node)
    if node is None or shape.urgent or not node.holds(shape.amounts):
        return _park(lane, None, search.refusals)
    others = list(node.reservations.values())
    cancelled = [each for each in others if not each.request.required_node()]
    decision: Allocate | Reserve = Reserve(request, node, search.refusals)
    if len(cancelled) == len(others) and fits(node.available, shape.amounts):
        accepted = search.first_accepted([node])
        if accepted is not None:
            decision = Allocate(request, node, search.refusals)
    decision.cancelled = cancelled
    return decision


def _park(lane: Lane, limiting: Queue | None, refusals: Refusals) -> Park:
    """Decide that nothing of a lane can be placed, and what follows from that.

    Rules: CYC-12, CYC-33 (decisions 51 and 53 of docs/spec).
    """
    parked = Park(lane, limiting, refusals)
    if lane.fresh:
        parked.others = stops_of_others(lane)
    backoff = lane.leaf.settings.backoff
    if backoff and limiting is None and not lane.shape.urgent:
        request = lane.first().first()
        parked.counts = not request.unplaced
        parked.pauses = parked.counts and request.application.unplaced + 1 >= backoff
    return parked
