"""What tests of reservations start from: full nodes, who holds one, why an ask waits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from remuda.config.schema import Configuration, QueueConfig
from remuda.core.messages import commands as c
from remuda.core.messages import effects as e
from remuda.core.messages import events as ev
from remuda.core.messages import queries as q
from remuda.core.messages.ask_views import FindingView, RequestView
from remuda.core.messages.effects import Effect
from remuda.core.ports import NodesAnswer, NodesQuestion, Predicates, always_true
from remuda.core.scheduler import Scheduler
from tests.unit.core.door import SECOND, Caller, leaf, of, partition

DELAY = 2 * SECOND  # RSV-3
LATE = DELAY + 1  # the first age at which an ask may reserve
OLD = "root.old"


class Crowd(Caller):
    """Nodes of ten cores that are partly used, and a new application ``app`` in root.a.

    What uses them belongs to the application ``old`` in root.old, one allocation ``on-NODE`` each.
    The node ``spare`` is large and draining: nothing goes there, but its capacity keeps the
    headroom of root open (NOD-8).
    """

    def __init__(self, *queues: QueueConfig, **other: Any) -> None:
        super().__init__(*(queues or (leaf("a"),)), leaf("old"), **other)
        self._furnish()

    def _furnish(self) -> None:
        self.node("spare", {"vcore": 1000, "memory": 1000}, c.CREATE_DRAIN)
        self.app("old", OLD, user="olga", groups=("others",))
        self.app("app")

    def again(
        self, delay_ns: int | None, *queues: QueueConfig, predicates: Predicates = always_true
    ) -> None:
        """Begin anew with another reservation delay, None for never."""
        self.scheduler = Scheduler(predicates, reservation_delay_ns=delay_ns)
        chosen = partition(*(queues or (leaf("a"),)), leaf("old"))
        asks = predicates is not always_true
        self.send(c.RegisterResourceManager(self.rm, Configuration((chosen,)), predicates=asks))
        self._furnish()

    def full(self, **free: int) -> None:
        """More nodes of ten cores, of which so many are free."""
        for node_id, cores in free.items():
            self.node(node_id, {"vcore": 10})
            if cores < 10:
                self.existing("old", f"on-{node_id}", node_id, {"vcore": 10 - cores})

    def clear(self, node_id: str) -> list[Effect]:
        """End what has used a node from the start."""
        return self.release("old", f"on-{node_id}")

    def send_nothing(self) -> list[Effect]:
        """A request without content; the RM may have changed its mind (decision 3)."""
        return self.send(c.UpdateNodes(self.rm))

    def run(self, after_ns: int = 0) -> list[Effect]:
        """Let time pass and decide everything; that ends, and all counters are right."""
        self.now += after_ns
        effects = self.step()
        assert not self.scheduler.has_work()
        self.scheduler.check()
        return effects

    def held(self) -> dict[str, list[str]]:
        """Who reserved which node, as ``application|key``; all three places agree (RSV-1)."""
        nodes = {
            node.node_id: [f"{app}|{key}" for app, key in node.reservations]
            for node in self.node_views().values()
            if node.reservations
        }
        of_asks = sorted(
            (node_id, f"{app.application_id}|{request.allocation_key}")
            for app in self.apps().values()
            for request in app.requests
            for node_id in request.reservations
        )
        assert of_asks == sorted((name, who) for name, all_of in nodes.items() for who in all_of)
        assert self.counted() == len(of_asks)
        return nodes

    def counted(self) -> int:
        """How many reservations the partition counts."""
        found = self.scheduler.view(q.PartitionsQuery())
        assert isinstance(found, tuple)
        (only,) = [each for each in found if isinstance(each, q.PartitionView)]
        return only.reservations

    def request(self, key: str, app: str = "app") -> RequestView:
        """One waiting ask."""
        (found,) = [r for r in self.apps()[app].requests if r.allocation_key == key]
        return found

    def finding(self, key: str, app: str = "app") -> FindingView:
        """Why an ask waits."""
        found = self.request(key, app).finding
        assert found is not None
        return found

    def log(self, key: str, app: str = "app") -> dict[str, tuple[int, int]]:
        """The log of an ask: message -> how often, when last."""
        return {each.message: (each.count, each.last_ns) for each in self.request(key, app).log}


def two_nodes() -> Crowd:
    """Two nodes, n1 and n2, with 4 and 5 cores free."""
    crowd = Crowd()
    crowd.full(n1=4, n2=5)
    return crowd


def reserved_node() -> Crowd:
    """``big`` of eight cores has reserved n1, of which 4 are free; root.b is empty."""
    crowd = Crowd(leaf("a"), leaf("b"))
    crowd.full(n1=4)
    crowd.ask("app", "big", {"vcore": 8})
    assert reserved(crowd.run(LATE)) == [("+", "n1", "big")]
    return crowd


class Reluctant:
    """An RM that refuses nodes: ``refused`` maps (key, node, allocate) to the text.

    A key ``*`` stands for all. ``asked``: every node that was asked about, in order.
    """

    def __init__(self, refused: dict[tuple[str, str, bool], str] | None = None) -> None:
        self.refused = refused or {}
        self.asked: list[tuple[str, str, bool]] = []

    def __call__(self, question: NodesQuestion) -> NodesAnswer:
        """Answer for the nodes in order, up to the first that is acceptable."""
        texts: list[str] = []
        for number, node_id in enumerate(question.node_ids):
            self.asked.append((question.allocation_key, node_id, question.allocate))
            text = ""
            for key in (question.allocation_key, "*"):
                text = text or self.refused.get((key, node_id, question.allocate), "")
            if not text:
                return NodesAnswer(number, tuple(texts))
            texts.append(text)
        return NodesAnswer(-1, tuple(texts))


def went(effects: Sequence[Effect]) -> list[tuple[str, str]]:
    """What was placed where, in order."""
    return [(new.allocation_id, new.node_id) for new in of(effects, e.AllocationNew)]


def reserved(effects: Sequence[Effect]) -> list[tuple[str, str, str]]:
    """The reservations made (+) and dropped (-), as (sign, node, allocation key), in order."""
    signs = {ev.ADD: "+", ev.REMOVE: "-"}
    return [
        (signs[record.change], record.object_id, record.reference_id)
        for record in of(effects, e.EventRecord)
        if (record.kind, record.detail) == (ev.NODE, ev.NODE_RESERVATION)
    ]


def told(effects: Sequence[Effect]) -> list[str]:
    """The messages of events about asks, in order."""
    return [record.message for record in of(effects, e.EventRecord) if record.kind == ev.REQUEST]
