"""Looks for a node that takes an ask, or that should be kept free for it."""

from __future__ import annotations

from typing import Final, final

from remuda.core.model.decision import Refusals
from remuda.core.model.node import Node
from remuda.core.model.partition import Partition
from remuda.core.model.request import Request, Shape
from remuda.core.ports import NodesAnswer, NodesQuestion, Predicates

# Nodes an RM is asked about at once: at first, and at most (EXT-13).
BATCH: Final = 16
BATCH_LIMIT: Final = 1_024

NO_ANSWER: Final = "no answer"


@final
class Search:
    """The search for a node for one ask; ``refusals`` is what it met on the way.

    ``reasons``: why nodes of placeholders were refused.
    """

    __slots__ = ("_partition", "_predicates", "_request", "_shape", "reasons", "refusals")

    def __init__(
        self, partition: Partition, shape: Shape, request: Request, predicates: Predicates
    ) -> None:
        self._partition = partition
        self._shape = shape
        self._request = request
        self._predicates = predicates
        self.refusals = Refusals()
        self.reasons: list[str] = []

    def open_node(self) -> Node | None:
        """Return the first open node in order that fits and is acceptable, None if there is none.

        Nodes are asked about in batches. Rules: CYC-15, CYC-17, CYC-21, NOD-23, EXT-13.
        """
        order = self._partition.order_of(self._shape.node_policy)
        if not self._partition.predicates:
            return order.first_fit(self._shape.amounts)
        last: Node | None = None
        size = BATCH
        while True:
            batch = order.fitting(self._shape.amounts, last, size)
            found = self.first_accepted(batch)
            if found is not None or len(batch) < size:
                return found
            last = batch[-1]
            size = min(size * 4, BATCH_LIMIT)

    def first_accepted(self, nodes: list[Node]) -> Node | None:
        """Return the first of some nodes that the predicates accept, noting those they refuse.

        Rules: SI-80, NOD-13, EXT-22.
        """
        if not self._partition.predicates:
            return nodes[0] if nodes else None
        unknown: list[Node] = []
        for node in nodes:
            reason = node.refused.get(self._shape.constraint)
            if reason is None:
                unknown.append(node)
            else:
                self.refusals.known.append((node, reason))
        if not unknown:
            return None
        answer = self._ask(unknown, allocate=True)
        passed = answer.passed if 0 <= answer.passed < len(unknown) else len(unknown)
        for index in range(passed):
            told = index < len(answer.refusals)
            reason = answer.refusals[index] if told else NO_ANSWER
            self.refusals.now.append((unknown[index], reason))
        return unknown[passed] if passed < len(unknown) else None

    def node_to_reserve(self) -> Node | None:
        """Return the node to keep free for an ask that fits none, None if there is none.

        Only the best is asked about. Rules: CYC-15, RSV-3, RSV-4 (Ours), RSV-5, NOD-13.
        """
        order = self._partition.order_of(self._shape.node_policy)
        node = order.nearest(self._shape.amounts)
        if node is None or not self._partition.predicates:
            return node
        answer = self._ask([node], allocate=False)
        if answer.passed == 0:
            return node
        self.refusals.best = node
        self.refusals.to_reserve = answer.refusals[0] if answer.refusals else NO_ANSWER
        return None

    def first_agreeing(self, nodes: list[Node]) -> int:
        """Return the index of the first node where an ask may take a placeholder's place, else -1.

        Room is no question there. Rules: GANG-13, SI-80.
        """
        if not self._partition.predicates:
            return 0 if nodes else -1
        for start in range(0, len(nodes), BATCH_LIMIT):
            batch = nodes[start : start + BATCH_LIMIT]
            answer = self._ask(batch, allocate=False)
            self.reasons += answer.refusals
            if 0 <= answer.passed < len(batch):
                return start + answer.passed
        return -1

    def _ask(self, nodes: list[Node], *, allocate: bool) -> NodesAnswer:
        ask = self._request.ask
        node_ids = tuple([node.node_id for node in nodes])
        rm_id, key = self._partition.rm_id, ask.allocation_key
        return self._predicates(NodesQuestion(rm_id, ask.application_id, key, allocate, node_ids))
