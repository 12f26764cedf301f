"""When nothing happens any more, nothing is left that the rules would do (chapter 50, B and D).

A random walk changes asks, nodes and limits, and lets time pass. After each step what can be seen
from outside is compared with the rules, one by one; nothing is compared with another scheduler.
"""

from __future__ import annotations

from collections.abc import Mapping
from random import Random

import pytest

from remuda.config.schema import QueueConfig
from remuda.core.messages import commands as c
from remuda.core.messages import gates
from remuda.core.messages import queries as q
from remuda.core.messages.ask_views import RequestView
from tests.unit.core.door import REQUIRED_NODE, SECOND, leaf, parent
from tests.unit.core.rules.crowd import DELAY, LATE, Crowd

NODES = ("n0", "n1", "n2", "n3")
APPS = {"app": "root.a", "packs": "root.a", "below": "root.p.b"}
Amounts = Mapping[str, int]


def fits(room: Amounts, need: Amounts) -> bool:
    """RES-29, what a node must have; a missing type is none."""
    return all(amount <= max(0, room.get(name, 0)) for name, amount in need.items())


def allowed(room: Amounts, need: Amounts) -> bool:
    """RES-30, what a headroom must have; a missing type is unlimited."""
    return all(amount <= max(0, room.get(name, amount)) for name, amount in need.items())


class Walk(Crowd):
    """Asks of three applications in two queues, four nodes that come, go, drain and change."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        super().__init__(*self.queues())
        self.app("packs", "root.a", user="bob", tags={"node.sort.policy": "binpacking"})
        self.app("below", "root.p.b")
        self.full(**{node_id: self.random.choice((0, 2, 4, 6, 10)) for node_id in NODES})

    def queues(self) -> tuple[QueueConfig, QueueConfig]:
        """The queues with other maxima."""
        a, b = (
            {"vcore": self.random.choice((9, 15, 30))} if self.random.random() < 0.5 else None
            for _ in range(2)
        )
        return leaf("a", a), parent("p", leaf("b"), maximum=b)

    def change(self) -> None:
        """One request."""
        kinds = (self.change_ask, self.end_something, self.change_node, self.resize_node)
        weights = (8, 4, 2, 2)
        if self.random.random() < 0.1:
            policy = self.random.choice(("fair", "binpacking"))
            self.reload(*self.queues(), leaf("old"), node_sort_policy=policy)
        else:
            self.random.choices(kinds, weights)[0]()

    def change_ask(self) -> None:
        """An ask, new or sent again; some require a node."""
        app, key = self.random.choice(list(APPS)), f"k{self.random.randrange(12)}"
        size = {"vcore": self.random.choice((1, 2, 3, 5, 8, 9, 11))}
        pinned = self.random.random() < 0.15
        tags = {REQUIRED_NODE: self.random.choice(NODES)} if pinned else {}
        count, priority = self.random.choice((1, 1, 2, 3)), self.random.choice((0, 0, 1))
        self.ask(app, key, size, count, tags=tags, priority=priority)

    def end_something(self) -> None:
        """An allocation or an ask ends."""
        views = self.apps().values()
        running = [(a.application_id, x.allocation_id) for a in views for x in a.allocations]
        waiting = [(a.application_id, r.allocation_key) for a in views for r in a.requests]
        if running and self.random.random() < 0.7:
            self.release(*self.random.choice(running))
        elif waiting:
            self.release_ask(*self.random.choice(waiting))

    def change_node(self) -> None:
        """A node comes, goes, drains or comes back."""
        node_id = self.random.choice(NODES)
        found = self.node_views().get(node_id)
        if found is None:
            self.node(node_id, {"vcore": 10})
        elif self.random.random() < 0.3:
            self.node(node_id, action=c.DECOMISSION)
        else:
            self.node(node_id, action=c.DRAIN_NODE if found.schedulable else c.DRAIN_TO_SCHEDULABLE)

    def resize_node(self) -> None:
        """A node gets larger or smaller, or others use more or less of it."""
        node_id = self.random.choice(NODES)
        capacity = {"vcore": self.random.choice((7, 8, 10, 14))}
        occupied = {"vcore": self.random.choice((0, 0, 1, 5))}
        self.node(node_id, capacity, c.UPDATE, occupied=occupied)


class Rest:
    """What can be seen of a scheduler that has nothing to do."""

    def __init__(self, walk: Walk) -> None:
        self.now = walk.now
        self.nodes = walk.node_views()
        self.room = {path: walk.queue(path).headroom or {} for path in APPS.values()}
        self.asks = {
            (app.application_id, request.allocation_key): request
            for app in walk.apps().values()
            for request in app.requests
        }
        self.closed = [node.node_id for node in self.nodes.values() if self.keeps_others_out(node)]

    def may(self, request: RequestView) -> bool:
        """Whether an ask fits the headroom of its queue (CYC-12, step 4)."""
        return allowed(self.room[APPS[request.application_id]], request.resource)

    def keeps_others_out(self, node: q.NodeView) -> bool:
        """RSV-7 with decision 47."""
        return any(self.may(self.asks[owner]) for owner in node.reservations)

    def check_node(self, node: q.NodeView) -> None:
        """RSV-5, RSV-6, RSV-12, NODE-16."""
        owners = [self.asks[owner] for owner in node.reservations]
        assert len(owners) <= 1 or all(each.required_node for each in owners)
        assert all(fits(node.capacity, each.resource) for each in owners)

    def check_ask(self, request: RequestView) -> None:
        """That an ask waits for a reason, and holds what it may hold."""
        most = 1 if request.required_node else request.pending_count
        assert len(request.reservations) <= most
        if self.may(request):
            self.check_own_nodes(request)
            if request.required_node:
                self.check_required(request)
            else:
                self.check_free(request)
        finding = request.finding
        assert finding is not None
        if finding.gate == gates.QUEUE_QUOTA:
            assert not self.may(request)
        else:
            assert finding.gate == (gates.REQUIRED_NODE if request.required_node else gates.NODES)

    def check_own_nodes(self, request: RequestView) -> None:
        """CYC-20, CYC-22."""
        for node_id in request.reservations:
            node = self.nodes[node_id]
            if node.schedulable or request.required_node:
                assert not fits(node.available, request.resource)

    def check_required(self, request: RequestView) -> None:
        """CYC-14: what it requires is reserved, if it can be had at all."""
        node = self.nodes.get(request.required_node)
        if node is not None and fits(node.capacity, request.resource):
            assert request.reservations == (node.node_id,)

    def check_free(self, request: RequestView) -> None:
        """CYC-15, CYC-21, RSV-3: no open node has room, and what may be reserved is."""
        usable = [node for node in self.nodes.values() if node.schedulable]
        for node in usable:
            assert node.node_id in self.closed or not fits(node.available, request.resource)
        old = self.now - request.request_time_ns > DELAY
        if old and len(request.reservations) < request.pending_count:
            for node in usable:
                assert node.reservations or not fits(node.capacity, request.resource)


@pytest.mark.remuda_rule(
    "CYC-12", "CYC-14", "CYC-15", "CYC-20", "CYC-21", "CYC-22", "NODE-16", "RSV-3", "RSV-5",
    "RSV-6", "RSV-7", "RSV-12",
)  # fmt: skip
@pytest.mark.parametrize("first", range(0, 60, 10))
def test_what_could_be_done_is_done(first: int) -> None:
    reservations = 0
    for seed in range(first, first + 10):
        walk = Walk(seed)
        for _ in range(20):
            for _ in range(walk.random.randint(1, 3)):
                walk.change()
            walk.run(walk.random.choice((0, 0, 1, SECOND, LATE, LATE)))
            rest = Rest(walk)
            for node in rest.nodes.values():
                rest.check_node(node)
                reservations += len(node.reservations)
            for request in rest.asks.values():
                rest.check_ask(request)
    assert reservations > 200  # seen after steps
