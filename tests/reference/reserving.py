"""The reference's reservations: chapter 50 part D, decisions 45 to 50.

A reservation is a fact and nothing else; whom it keeps out is worked out whenever that is asked.
"""

from __future__ import annotations

from tests.reference import arithmetic as res
from tests.reference import limits, sums
from tests.reference.state import Application, Ask, Node, Partition, Reservation


def of_ask(partition: Partition, app: Application, key: str) -> list[Reservation]:
    """The reservations of one ask, oldest first."""
    return [one for one in partition.reservations if one.app is app and one.key == key]


def on_node(partition: Partition, node_id: str) -> list[Reservation]:
    """The reservations of one node, oldest first."""
    return [one for one in partition.reservations if one.node_id == node_id]


def fits_headroom(partition: Partition, app: Application, ask: Ask) -> bool:
    """Whether queues, user and group leave room for an ask. Rules: CYC-12, CYC-20, LIM-54."""
    left = sums.headroom(partition, app.queue)
    allowed = res.smaller_of_each(left, limits.headroom(partition, app))
    return res.fits_where_limited(allowed, ask.resource)


def closed_nodes(partition: Partition) -> set[str]:
    """The nodes kept free by a reservation whose ask fits its headroom. Rules: RSV-7, RSV-10."""
    return {
        one.node_id for one in partition.reservations if fits_headroom(partition, one.app, one.ask)
    }


def outlived(partition: Partition, now: int) -> list[tuple[Reservation, str]]:
    """The reservations that have to go now, and why.

    Rules: NODE-16, RSV-9, RSV-10.
    """
    found = []
    for one in partition.reservations:
        node = partition.nodes[one.node_id]
        most = partition.reservation_limit
        if not res.fits(node.capacity, one.ask.resource):
            found.append((one, "shrunk"))
        elif most and now - one.since > most and not fits_headroom(partition, one.app, one.ask):
            found.append((one, "limit"))
    return found


def ends(partition: Partition) -> list[int]:
    """When reservations whose asks do not fit their headroom get too old. Rules: RSV-10."""
    most = partition.reservation_limit
    return [
        one.since + most + 1
        for one in partition.reservations
        if most and not fits_headroom(partition, one.app, one.ask)
    ]


def shortfall(free: res.Amounts, wanted: res.Amounts) -> float:
    """How much of an ask a node does not cover now. Rules: RES-54."""
    score = 0.0
    for type_name, amount in sorted(wanted.items()):
        there = free.get(type_name, 0)
        if amount > 0 and there <= 0:
            score += 1
        elif amount > 0 and there < amount:
            score += (amount - there) / amount
    return score


def candidate(
    partition: Partition, ask: Ask, nodes: list[Node], free: dict[str, dict[str, int]]
) -> Node | None:
    """The node an ask would reserve, the first of the best. Rules: RSV-4, README decision 48."""
    taken = {one.node_id for one in partition.reservations}
    suitable = [
        node
        for node in nodes
        if node.schedulable and node.identity not in taken and res.fits(node.capacity, ask.resource)
    ]
    return min(suitable, key=lambda n: shortfall(free[n.identity], ask.resource), default=None)


def surplus(
    partition: Partition, app: Application, key: str, node_id: str = ""
) -> list[Reservation]:
    """The reservations of an ask that end, the oldest first; all if it is gone.

    Those it has too many of; with ``node_id``, where it just got an allocation, one in any case:
    that on this node, or else the oldest. Rules: RSV-6, SI-44, CYC-15.
    """
    mine = of_ask(partition, app, key)
    mine.sort(key=lambda one: one.node_id != node_id)
    ask = app.asks.get(key)
    too_many = len(mine) - (ask.pending if ask is not None else 0)
    return mine[: max(too_many, 1 if node_id else 0)]
