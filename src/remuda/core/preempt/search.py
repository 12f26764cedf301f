"""Goes through the nodes of an attempt, the best first (rules: PRE-25, PRE-62, PRE-87).

What could at most be freed on a node is known without looking at its allocations one by one. So
only nodes are looked at in full that may come next.
"""

from __future__ import annotations

from collections.abc import Iterator
from heapq import heapify, heappop, heappush
from typing import Final, TypeAlias, final

from remuda.core.model.candidates import Candidates
from remuda.core.model.node import Node
from remuda.core.model.partition import Partition
from remuda.core.model.request import Request
from remuda.core.model.vectors import amount_at
from remuda.core.preempt.nodes import Check, NodeSide, fits_now
from remuda.core.preempt.trial import Prey, Trial

# Nodes that are gone through allocation by allocation in one attempt (PRE-87).
NODES_LIMIT: Final = 200

# Bits, start, node ID: what checks are ordered by; the first two at least, if not known exactly.
Order: TypeAlias = tuple[int, int, str]


@final
class NodeSearch:
    """The nodes an ask could be placed on after some victims went.

    ``nodes_tried``: those with room were tried before, in vain (PRE-24). ``examined``: nodes that
    were gone through in full; ``glanced``: nodes that were not. Rules: PRE-25, PRE-87.
    """

    __slots__ = ("_by_bits", "_candidates", "_partition", "_request", "_side", "_trial", "examined")

    def __init__(
        self,
        partition: Partition,
        request: Request,
        candidates: Candidates,
        trial: Trial,
        side: NodeSide,
        *,
        parity: bool,
    ) -> None:
        self._partition = partition
        self._request = request
        self._candidates = candidates
        self._trial = trial
        self._side = side
        self._by_bits = not parity
        self.examined: int = 0

    def checks(self, *, nodes_tried: bool) -> Iterator[Check]:
        """Give what the RM would be asked, the best first."""
        usable = self._usable()
        if not nodes_tried:
            for node in usable:
                if fits_now(node, self._request):
                    yield Check(node, [], -1)
        waiting: list[tuple[Order, Node, Check | None]] = []
        for node in usable:
            if fits_now(node, self._request):
                continue
            bound = self._bound(node)
            if bound is None:
                continue
            if bound[0] or bound[1] or self.examined >= NODES_LIMIT:
                waiting.append(((*bound, node.node_id), node, None))
                continue
            # Nothing can come before this one, so if it is as good as it looks it is next.
            check = self._examine(node)
            if check is None:
                continue
            order = self._order(check)
            if order[:2] == (0, 0):
                yield check
            else:
                waiting.append((order, node, check))
        yield from self._best_first(waiting)

    def _best_first(self, waiting: list[tuple[Order, Node, Check | None]]) -> Iterator[Check]:
        heap = [(order, number) for number, (order, _, _) in enumerate(waiting)]
        heapify(heap)
        while heap:
            order, number = heappop(heap)
            _, node, check = waiting[number]
            if check is not None:
                yield check
            elif self.examined < NODES_LIMIT:
                check = self._examine(node)
                if check is not None:
                    waiting[number] = (order, node, check)
                    heappush(heap, (self._order(check), number))

    def _usable(self) -> list[Node]:
        """Return the usable nodes by ID. Rules: PRE-18, PRE-50."""
        nodes = self._partition.nodes
        return [nodes[node_id] for node_id in sorted(nodes) if self._side.usable(nodes[node_id])]

    def _examine(self, node: Node) -> Check | None:
        self.examined += 1
        return self._side.check(node)

    def _order(self, check: Check) -> Order:
        bits = check.score(check.start) & ~(2**32 - 1) if self._by_bits else 0
        return bits, check.start, check.node.node_id

    def _bound(self, node: Node) -> tuple[int, int] | None:
        """Return bits and start that are not worse than those of a node; None: it is of no use."""
        on_node = self._candidates.on.get(node.node_id)
        if on_node is None:
            return None
        available = node.available
        short = {
            index: amount - amount_at(available, index)
            for index, amount in self._request.amounts.need
            if amount > amount_at(available, index)
        }
        known = self._trial.prey
        prey = [(known[kind], count) for kind, count in on_node.items() if kind in known]
        if len(prey) > 1:
            prey.sort(key=_by_class)
        return self._least(prey, short)

    def _least(self, prey: list[tuple[Prey, int]], short: dict[int, int]) -> tuple[int, int] | None:
        """Return the fewest victims that could do, and the best class the last of them could be."""
        left = dict(short)
        largest = dict.fromkeys(short, 0)
        found = -1
        for each, count in prey:
            free = min(count, each.allowed)
            for index, amount in each.need:
                if index in left:
                    left[index] -= amount * free
                    largest[index] = max(largest[index], amount)
            if found < 0 and all(amount <= 0 for amount in left.values()):
                found = each.kind.bits if self._by_bits else 0
        if found < 0:
            return None
        return found, max(-(-short[index] // largest[index]) for index in short) - 1


def _by_class(found: tuple[Prey, int]) -> int:
    return found[0].kind.bits
