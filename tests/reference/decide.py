"""One cycle of the reference: the first thing that can be done is the decision.

First the reserved pass, then the regular one. Nothing is remembered of earlier cycles: every ask
that waits is tried again in every one. A reservation begins a new cycle, too (README, decision 45).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from remuda.core.ports import NodesQuestion, Predicates
from tests.reference import arithmetic as res
from tests.reference import limits, pauses, reserving, sums
from tests.reference.state import Application, Ask, Node, Partition, Queue, Reservation


@dataclass(frozen=True)
class Place:
    """An allocation. ``instead``: the reservation that is given up for it; others: ``evicted``."""

    app: Application
    ask: Ask
    node: Node
    instead: Reservation | None = None
    evicted: tuple[Reservation, ...] = ()


@dataclass(frozen=True)
class Reserve:
    """A reservation. ``evicted``: those it takes the node from."""

    app: Application
    ask: Ask
    node: Node
    evicted: tuple[Reservation, ...] = ()


Decision: TypeAlias = Place | Reserve
Look: TypeAlias = Callable[[Queue], "Decision | None"]


class Cycle:
    """One partition at one moment. ``delay``: how old an ask must be to reserve, None: never."""

    def __init__(
        self, partition: Partition, predicates: Predicates, now: int, delay: int | None
    ) -> None:
        self.partition = partition
        self.predicates = predicates
        self.now = now
        self.delay = delay
        self.free = sums.available(partition)
        self.closed = reserving.closed_nodes(partition)

    def decide(self) -> Decision | None:
        """The next decision, or None. Rules: CYC-4, CYC-5, CYC-7."""
        if sums.root_maximum(self.partition) is None:
            return None
        root = self.partition.queues["root"]
        found = self.descend(root, self.reserved) if self.partition.reservations else None
        return found or self.descend(root, self.regular)

    def descend(self, queue: Queue, look: Look) -> Decision | None:
        """Depth first through the queues in order; a leaf has children while they drain (RLD-27).

        Rules: CYC-10, CYC-19.
        """
        for child in sums.queue_order(self.partition, queue):
            decision = self.descend(child, look)
            if decision is not None:
                return decision
        return look(queue) if queue.leaf else None

    # ----------------------------------------------------------------------- the reserved pass

    def reserved(self, leaf: Queue) -> Decision | None:
        """The applications of a leaf that have a reservation, in order. Rules: CYC-19."""
        for app in sums.application_order(self.partition, leaf):
            if limits.holds_a_node(self.partition, app):
                limits.look(self.partition, app)
                if limits.may_start(self.partition, app):
                    decision = self.own_nodes(app) or self.other_nodes(app)
                    if decision is not None:
                        return decision
        return None

    def with_reservation(self, app: Application) -> list[tuple[Ask, list[Reservation]]]:
        """The asks that have one, in order, as far as they fit the headroom. Rules: CYC-20."""
        found = [(ask, reserving.of_ask(self.partition, app, ask.key)) for ask in order(app)]
        return [
            (ask, mine)
            for ask, mine in found
            if mine and reserving.fits_headroom(self.partition, app, ask)
        ]

    def own_nodes(self, app: Application) -> Decision | None:
        """The first ask that its own node takes. Rules: CYC-20, CYC-22, README decision 46."""
        for ask, mine in self.with_reservation(app):
            for one in mine:
                node = self.partition.nodes[one.node_id]
                usable = node.schedulable or ask.required_node == node.identity
                if usable and self.takes(node, app, ask):
                    return Place(app, ask, node, instead=one)
        return None

    def other_nodes(self, app: Application) -> Decision | None:
        """The first ask that another node takes, or that reserves more. Rules: CYC-21, RSV-6."""
        for ask, mine in self.with_reservation(app):
            if ask.required_node:
                continue
            own = {one.node_id for one in mine}
            node = self.open_node(app, ask, but=own)
            if node is not None:
                return Place(app, ask, node, instead=mine[0])
            decision = self.reserve(app, ask)
            if decision is not None:
                return decision
        return None

    # ------------------------------------------------------------------------ the regular pass

    def regular(self, leaf: Queue) -> Decision | None:
        """Applications in order, their asks in order; looking at one is remembered with it.

        Rules: CYC-11, CYC-12, CYC-33, QUE-41.
        """
        headroom = sums.headroom(self.partition, leaf.path)
        for app in sums.one_start_at_a_time(self.partition, leaf):
            limits.look(self.partition, app)
            if not limits.may_start(self.partition, app) or app.paused_until > self.now:
                continue
            allowed = res.smaller_of_each(headroom, limits.headroom(self.partition, app))
            for ask in order(app):
                if not res.fits_where_limited(allowed, ask.resource):
                    continue
                if reserving.of_ask(self.partition, app, ask.key):
                    continue
                decision = self.try_ask(app, ask)
                if decision is not None:
                    return decision
                if pauses.found_no_node(self.partition, leaf, app, ask, self.now):
                    break
        return None

    def try_ask(self, app: Application, ask: Ask) -> Decision | None:
        """The node of an ask that fits its headrooms, or one to reserve. Rules: CYC-15."""
        if ask.required_node:
            return self.try_required(app, ask)
        node = self.open_node(app, ask)
        return self.reserve(app, ask) if node is None else Place(app, ask, node)

    def try_required(self, app: Application, ask: Ask) -> Decision | None:
        """The one node of an ask. Rules: CYC-14, RSV-12, README decision 49."""
        node = self.partition.nodes.get(ask.required_node)
        if node is None or not res.fits(node.capacity, ask.resource):
            return None
        here = reserving.on_node(self.partition, node.identity)
        normal = tuple(one for one in here if not one.ask.required_node)
        joins = bool(here) and not normal
        if not joins and self.takes(node, app, ask):
            return Place(app, ask, node, evicted=normal)
        return Reserve(app, ask, node, evicted=normal)

    # ---------------------------------------------------------------------------------- nodes

    def open_node(
        self, app: Application, ask: Ask, but: set[str] | frozenset[str] = frozenset()
    ) -> Node | None:
        """The first node that takes an ask and is not closed. Rules: CYC-15, CYC-21, NOD-8."""
        for node in sums.node_order(self.partition, app):
            closed = node.identity in self.closed or node.identity in but
            if node.schedulable and not closed and self.takes(node, app, ask):
                return node
        return None

    def takes(self, node: Node, app: Application, ask: Ask) -> bool:
        """Whether an ask can go to a node. Rules: CYC-15, CYC-17."""
        return (
            res.fits(node.capacity, ask.resource)
            and res.fits(self.free[node.identity], ask.resource)
            and self.agrees(node, app, ask, allocate=True)
            and sums.charge_fits(self.partition, app.queue, ask.resource)
        )

    def agrees(self, node: Node, app: Application, ask: Ask, *, allocate: bool) -> bool:
        """What the predicates say. Rules: NOD-13."""
        names = (node.identity,)
        question = NodesQuestion(self.partition.rm_id, app.identity, ask.key, allocate, names)
        return self.predicates(question).passed == 0

    def reserve(self, app: Application, ask: Ask) -> Decision | None:
        """The reservation an ask may make now. Rules: RSV-3, RSV-4, RSV-5, RSV-6, CYC-15."""
        mine = reserving.of_ask(self.partition, app, ask.key)
        old = self.delay is not None and self.now - ask.created > self.delay
        if not old or len(mine) >= ask.pending:
            return None
        nodes = sums.node_order(self.partition, app)
        node = reserving.candidate(self.partition, ask, nodes, self.free)
        if node is None or not self.agrees(node, app, ask, allocate=False):
            return None
        return Reserve(app, ask, node)


def order(app: Application) -> list[Ask]:
    """The asks of an application in order."""
    return sums.ask_order(app)
