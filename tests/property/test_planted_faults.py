"""The comparison with the reference notices faults of the scheduling cycle.

Each fault is planted into the scheduler alone; the reference shares no code with it. If a fault is
not found within the bounded number of workloads, they miss what they are there for.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import Any

import pytest

from remuda.config.process_limits import Limits
from remuda.core import scheduler
from remuda.core.apply.applications import past_asks
from remuda.core.apply.asks import reservations
from remuda.core.apply.requests import allocations, nodes
from remuda.core.cycle import decide as cycle
from remuda.core.cycle.search import Search
from remuda.core.model.asks.request import Request
from remuda.core.model.cluster import Cluster
from remuda.core.model.decision import Allocate, NoRoom, Reserve
from remuda.core.model.nodes.node import Node
from remuda.core.model.nodes.node_order import NodeOrder
from remuda.core.model.nodes.pool import NodePool
from remuda.core.model.partition import Partition
from remuda.core.model.queues.turns import Turns
from remuda.core.model.vectors import Amounts, Vector, fit_within, shortage
from tests.package import replaces_functions
from tests.reference.driver import difference
from tests.reference.workloads import Run, record

pytestmark = replaces_functions

# Few workloads show that reservations count for the number of applications: one of the last ten.
SEEDS = (*range(30), *range(150, 160))
Plant = Callable[[pytest.MonkeyPatch], None]


@functools.lru_cache(maxsize=len(SEEDS))
def known(seed: int) -> Run:
    """The workload of a seed, drawn once for all faults."""
    return record(seed, moody=bool(seed % 2))


def found_at() -> int:
    """The first workload on which scheduler and reference differ, -1 if there is none."""
    return next((seed for seed in SEEDS if noticed(known(seed))), -1)


def noticed(run: Run) -> bool:
    """Whether something is wrong with a workload; a crash counts as well."""
    try:
        return difference(run) != ""
    except (AssertionError, KeyError):
        return True


# ------------------------------------------------------------------------------------ faults


def score_with_swapped_arguments(patch: pytest.MonkeyPatch) -> None:
    """What would be left over counts, as in 1.5.1. Rules: RSV-4."""

    def left_over(available: Vector, amounts: Amounts) -> float:
        wanted = dict(amounts.need)
        score = 0.0
        for index, free in enumerate(available.amounts):
            want = wanted.get(index, 0)
            if free > 0:
                score += 1.0 if want <= 0 else max(0.0, (free - want) / free)
        return score

    def nearest(order: NodeOrder, amounts: Amounts) -> Node | None:
        candidates = to_reserve(order, amounts)
        return min(candidates, key=lambda n: left_over(n.available, amounts), default=None)

    patch.setattr(NodeOrder, "nearest", nearest)


def to_reserve(order: NodeOrder, amounts: Amounts) -> list[Node]:
    """The nodes that could be reserved, in order."""
    blocks = [block for shelf in order._shelves for block in shelf.blocks]
    everything = [node for block in blocks for node in block.nodes]
    return [
        node
        for node in everything
        if not node.reservations and fit_within(order.sizes[node.total.number][0], amounts)
    ]


def ties_go_to_the_last_node(patch: pytest.MonkeyPatch) -> None:
    """Among equal nodes not the first in order is reserved. Rules: RSV-4."""

    def nearest(order: NodeOrder, amounts: Amounts) -> Node | None:
        candidates = to_reserve(order, amounts)
        candidates.reverse()
        return min(candidates, key=lambda n: shortage(n.available, amounts), default=None)

    patch.setattr(NodeOrder, "nearest", nearest)


def two_seconds_are_enough(patch: pytest.MonkeyPatch) -> None:
    """An ask may reserve at exactly two seconds. Rules: RSV-3."""
    start = Cluster.__init__

    def begin(cluster: Cluster, delay_ns: int | None, limits: Limits) -> None:
        start(cluster, delay_ns - 1 if delay_ns else delay_ns, limits)

    patch.setattr(Cluster, "__init__", begin)


def reserves_beyond_the_headroom(patch: pytest.MonkeyPatch) -> None:
    """What no queue has room for keeps nodes free all the same. Rules: RSV-3."""
    decide = cycle.decide

    def decided(partition: Partition, predicates: Any) -> Any:
        decision = decide(partition, predicates)
        if (
            isinstance(decision, NoRoom)
            and decision.limiting
            and decision.class_queue.ask_class.may_reserve
        ):
            request = decision.class_queue.first().first()
            search = Search(partition, decision.class_queue, request, predicates)
            node = search.node_to_reserve()
            if node is not None and not decision.class_queue.ask_class.required_node:
                return Reserve(request, node, search.refusals)
        return decision

    patch.setattr(scheduler, "decide", decided)


def reserved_nodes_stay_open(patch: pytest.MonkeyPatch) -> None:
    """Everybody may use a reserved node. Rules: RSV-7."""
    patch.setattr(reservations, "close_or_open", lambda partition, node: None)


def reserved_nodes_stay_closed(patch: pytest.MonkeyPatch) -> None:
    """Also while the ask does not fit its headroom. Rules: RSV-10."""
    patch.setattr(reservations, "_review_reservation_classes", lambda turn, partition: None)


def drained_nodes_are_used(patch: pytest.MonkeyPatch) -> None:
    """An ask goes to the node it reserved although that drains. Rules: CYC-22, NODE-11."""
    settle = reservations._renew_node_ready

    def settled(turn: Any, partition: Partition, reservation: Any) -> None:
        node = reservation.node
        schedulable, node.schedulable = node.schedulable, True
        settle(turn, partition, reservation)
        node.schedulable = schedulable

    patch.setattr(reservations, "_renew_node_ready", settled)


def required_nodes_evict_nobody(patch: pytest.MonkeyPatch) -> None:
    """An ask for a required node leaves the reservations there. Rules: CYC-14, RSV-12."""
    go = cycle._go_where_required

    def went(*given: Any) -> Any:
        decision = go(*given)
        if isinstance(decision, Allocate | Reserve):
            decision.cancelled = []
        return decision

    patch.setattr(cycle, "_go_where_required", went)


def two_start_at_a_time(patch: pytest.MonkeyPatch) -> None:
    """StateAware does not look whether somebody is in Starting. Rules: QUE-41."""

    def following(turns: Turns) -> Any:
        return turns._members[turns._order.first()] if turns._members else None

    patch.setattr(Turns, "next", following)


def one_reservation_is_enough(patch: pytest.MonkeyPatch) -> None:
    """An ask that wants several allocations reserves one node. Rules: RSV-3, RSV-6."""
    patch.setattr(Request, "wants_reservation", lambda request: not request.reservations)


def reservations_take_no_place(patch: pytest.MonkeyPatch) -> None:
    """A reservation does not count for the number of applications. Rules: QUE-24."""
    patch.setattr(reservations, "count_early", lambda partition, application: None)


def old_reservations_stay(patch: pytest.MonkeyPatch) -> None:
    """Nothing ends because of its age. Rules: RSV-10."""
    patch.setattr(reservations, "_end_old", lambda turn, partition, reservation_class: None)


def the_newest_reservation_goes(patch: pytest.MonkeyPatch) -> None:
    """Who finds another node gives up the newest reservation. Rules: CYC-21."""

    def newest(request: Request) -> Any:
        return list(request.reservations.values())[-1] if request.reservations else None

    patch.setattr(Request, "oldest_reservation", newest)


def shrunk_nodes_stay_reserved(patch: pytest.MonkeyPatch) -> None:
    """A node that got too small keeps its reservation. Rules: NODE-16."""
    patch.setattr(nodes, "drop_unfit", lambda turn, partition, held: None)


def one_order_of_nodes_for_all(patch: pytest.MonkeyPatch) -> None:
    """The order of nodes an application asked for is ignored. Rules: NOD-23."""
    patch.setattr(NodePool, "order_of", lambda pool, policy: pool.node_order)


def asks_are_as_old_as_their_arrival(patch: pytest.MonkeyPatch) -> None:
    """The tag creationTime means nothing. Rules: QUE-44, QUE-42."""
    for module in (allocations, past_asks):
        patch.setattr(module, "created_ns", lambda tags, now_ns, calendar: now_ns)


FAULTS: Iterable[Plant] = (
    score_with_swapped_arguments,
    ties_go_to_the_last_node,
    two_seconds_are_enough,
    reserves_beyond_the_headroom,
    reserved_nodes_stay_open,
    reserved_nodes_stay_closed,
    drained_nodes_are_used,
    required_nodes_evict_nobody,
    two_start_at_a_time,
    one_reservation_is_enough,
    reservations_take_no_place,
    old_reservations_stay,
    the_newest_reservation_goes,
    shrunk_nodes_stay_reserved,
    one_order_of_nodes_for_all,
    asks_are_as_old_as_their_arrival,
)


@pytest.mark.remuda_rule("RSV-3", "RSV-4", "RSV-6", "RSV-7", "RSV-10", "CYC-14", "CYC-21", "CYC-22")
@pytest.mark.remuda_rule("QUE-24", "QUE-41", "QUE-44", "NODE-16", "NOD-23")
@pytest.mark.parametrize("plant", FAULTS, ids=lambda plant: plant.__name__)
def test_a_planted_fault_is_found(plant: Plant, monkeypatch: pytest.MonkeyPatch) -> None:
    plant(monkeypatch)
    assert found_at() >= 0
