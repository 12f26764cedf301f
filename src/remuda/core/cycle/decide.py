"""One decision of one partition: which ask goes to which node (rules: chapter 50 part B).

1. If the reserved pass has something to try, take its first leaf. Otherwise, if real asks may
   replace placeholders, try that (``swap``). Otherwise walk from root to the leaf that is served
   next (child order of each parent).
2. Take the first ask of the leaf's first class queue: application order, then ask order.
3. Check whether its application may start, if it has not, and whether quotas have room for its
   whole gang.
4. Check the limits of its user and group, leaf upwards.
5. Check the limits of the queue path, leaf upwards.
6. Take the first node in node order that has room and that the predicates accept.
7. If there is none, and the ask may reserve, reserve the node that lacks least.

If line 3 or 4 fails, the whole limit group is blocked; if lines 5 to 7 fail, the whole class queue.
A gang without room at line 3 blocks the class queue, too. Between lines 2 and 3 the regular pass
skips an application that backs off (CYC-33).

The RM may answer questions about nodes later. Until then the class queue is blocked. The asks
behind it send their own questions, but none of them is placed before the answer comes (EXT-14).
"""

from __future__ import annotations

from remuda.core.cycle.probe import decide_probe
from remuda.core.cycle.regular import next_to_unblock
from remuda.core.cycle.search import Search
from remuda.core.cycle.stops import stop_of, stops_of_others
from remuda.core.cycle.swap import decide_swap
from remuda.core.model import states
from remuda.core.model.asks.ask_class import NODE_READY, YOUNG
from remuda.core.model.asks.class_queue import ClassQueue
from remuda.core.model.asks.request import Request
from remuda.core.model.decision import (
    NO_REFUSALS,
    Allocate,
    ApplicationLimitReached,
    AwaitPredicates,
    BackedOff,
    Decision,
    NoRoom,
    PostponePredicates,
    Refusals,
    Reserve,
)
from remuda.core.model.partition import Partition
from remuda.core.model.queues.queue import Queue
from remuda.core.model.vectors import Amounts, fits
from remuda.core.pending.head import head, urgent_head
from remuda.core.ports import Predicates


def has_work(partition: Partition) -> bool:
    """Whether a partition has something to try; never if it is leaving, stopped or resting.

    Implements: CYC-4. Rules: CYC-5, OBJ-4, OBJ-8, OBJ-9, RM-15, EXT-14.
    """
    root = partition.root
    if root.maximum is None or partition.state != states.ACTIVE or partition.resting:
        return False
    if root.state == states.STOPPED:
        return False
    waiting = partition.waiting
    if waiting.urgent or waiting.swapping or waiting.retries.ready or root.has_ready():
        return True
    return waiting.gained_room.any


def decide(  # noqa: C901 - one call less for every allocation
    partition: Partition, predicates: Predicates
) -> Decision:
    """Return the next decision of a partition that has work.

    Implements: CYC-5, CYC-12, SI-11. Rules: CYC-10, CYC-11, CYC-20, CYC-23, CYC-25, GANG-4, LIM-54,
    LIM-71.
    """
    waiting = partition.waiting
    urgent = waiting.urgent
    if (waiting.swapping or waiting.retries.ready) and not urgent:
        ready = waiting.retries.ready
        return decide_probe(partition, predicates) if ready else decide_swap(partition, predicates)
    if waiting.gained_room.any and not urgent:
        unblock_in_turn = next_to_unblock(partition)
        if unblock_in_turn is not None:
            return unblock_in_turn
    class_queue = urgent_head(partition) if urgent else head(partition)
    limit_group = class_queue.first()
    if class_queue.leaf.settings.backoff and not class_queue.ask_class.urgent:
        application = limit_group.first().application
        if application.backoff_until_ns:
            return BackedOff(application)
    stop = stop_of(limit_group) if limit_group.admission or limit_group.limit_set.limited else None
    ask_class = class_queue.ask_class
    if ask_class.total is not None and not isinstance(stop, ApplicationLimitReached):
        full = _no_room_for_gang(class_queue.leaf, ask_class.total)
        if full is not None:
            no_room = _no_room(class_queue, full, NO_REFUSALS)
            no_room.gang = True
            return no_room
    if stop is not None:
        return stop
    amounts = ask_class.amounts
    for queue in class_queue.leaf.path_up:
        if queue.maximum is not None and not queue.fits(amounts) and not ask_class.fits(queue):
            return _no_room(class_queue, queue, NO_REFUSALS)
    if not partition.settings.predicates and ask_class.stage == YOUNG and not ask_class.node_policy:
        # The same as Search does, but without its cost, for the most frequent path.
        found = partition.pool.node_order.first_fit(amounts)
        return (
            Allocate(limit_group.first(), found)
            if found
            else _no_room(class_queue, None, NO_REFUSALS)
        )
    return _find_node(partition, class_queue, limit_group.first(), predicates)


def _no_room_for_gang(leaf: Queue, total: Amounts) -> Queue | None:
    """Return the first queue, leaf upwards, whose quota has no room for a whole gang.

    Room that started gangs still lack does not count as room. Root is not checked: its maximum is
    the size of the cluster, not a quota. Implements: GANG-4.
    """
    for queue in leaf.path_up:
        if queue.parent is not None and not queue.fits_gang(total):
            return queue
    return None


def _find_node(
    partition: Partition, class_queue: ClassQueue, request: Request, predicates: Predicates
) -> Decision:
    """Decide about an ask that no limit stops. Rules: CYC-15, CYC-21, RSV-3, EXT-14."""
    predicate_class = class_queue.ask_class.predicate_class
    if predicate_class.ticket:
        return AwaitPredicates(class_queue, wanted=predicate_class.wanted)
    search = Search(partition, class_queue, request, predicates)
    search.ahead = partition.waiting.questions.wanted
    decision = _choose_node(partition, class_queue, request, search)
    return (
        _unless_unanswered(partition, class_queue, search, decision)
        if partition.settings.predicates
        else decision
    )


def _unless_unanswered(
    partition: Partition, class_queue: ClassQueue, search: Search, decision: Decision
) -> Decision:
    """Replace a decision if an answer of the RM is missing: await or postpone instead.

    While an ask awaits an answer, no ask behind it is placed. Rules: EXT-14, EXT-17.
    """
    search.refusals.to_note = (
        len(search.refusals.now) > 0 or len(class_queue.ask_class.predicate_class.judged) > 0
    )
    if search.waits is not None:
        return search.waits
    if search.skipped and not isinstance(decision, Allocate):
        return PostponePredicates(class_queue)
    if partition.waiting.questions.waiting() and not isinstance(decision, NoRoom):
        return AwaitPredicates(class_queue)
    return decision


def _choose_node(
    partition: Partition, class_queue: ClassQueue, request: Request, search: Search
) -> Decision:
    """Choose a node to allocate or to reserve, or none.

    Implements: CYC-21. Rules: CYC-15, RSV-3.
    """
    ask_class = class_queue.ask_class
    if ask_class.stage == NODE_READY:
        return _take_ready_node(class_queue, request, search)
    if ask_class.required_node:
        return _go_where_required(partition, class_queue, request, search)
    node = search.open_node()
    if node is not None:
        return Allocate(request, node, search.refusals, request.oldest_reservation())
    if ask_class.may_reserve and not search.skipped and search.waits is None:
        node = search.node_to_reserve()
        if node is not None:
            return Reserve(request, node, search.refusals)
    return _no_room(class_queue, None, search.refusals)


def _take_ready_node(class_queue: ClassQueue, request: Request, search: Search) -> Decision:
    """Decide about an ask whose reserved node is ready.

    Implements: CYC-20, CYC-22 (Ours), PRE-47.
    """
    for reservation in request.reservations.values():
        if reservation.node_ready:
            node = search.first_accepted([reservation.node])
            if node is not None:
                return Allocate(request, node, search.refusals, reservation)
            if search.waits is not None:
                break
    return _no_room(class_queue, None, search.refusals)


def _go_where_required(
    partition: Partition, class_queue: ClassQueue, request: Request, search: Search
) -> Decision:
    """Decide about an ask that requires one node.

    The ask cancels reservations of asks that may go to other nodes. Other asks that require the
    node keep their reservations.
    Implements: CYC-14 (Ours), RSV-12. Rules: NOD-8.
    """
    ask_class = class_queue.ask_class
    node = partition.nodes.get(ask_class.required_node)
    if node is None or ask_class.urgent or not node.holds(ask_class.amounts):
        return _no_room(class_queue, None, search.refusals)
    others = list(node.reservations.values())
    cancelled = [each for each in others if not each.request.required_node()]
    decision: Allocate | Reserve = Reserve(request, node, search.refusals)
    if len(cancelled) == len(others) and fits(node.available, ask_class.amounts):
        accepted = search.first_accepted([node])
        if accepted is not None:
            decision = Allocate(request, node, search.refusals)
    decision.cancelled = cancelled
    return decision


def _no_room(class_queue: ClassQueue, limiting: Queue | None, refusals: Refusals) -> NoRoom:
    """Return that no ask of a class queue can be placed, and the consequences.

    Implements: EVT-43. Rules: CYC-12, CYC-33 (decisions 51 and 53 of docs/spec).
    """
    no_room = NoRoom(class_queue, limiting, refusals)
    if class_queue.fresh:
        no_room.others = stops_of_others(class_queue)
    backoff = class_queue.leaf.settings.backoff
    if backoff and limiting is None and not class_queue.ask_class.urgent:
        request = class_queue.first().first()
        no_room.counts = not request.unplaced
        no_room.pauses = no_room.counts and request.application.unplaced + 1 >= backoff
    return no_room
