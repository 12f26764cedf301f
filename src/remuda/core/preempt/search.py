"""Yields the nodes of an attempt, the best first (rules: PRE-25, PRE-62, PRE-87).

A node is judged in up to three steps with rising cost: by the amounts it lacks; by the most that
victims could free on it; allocation by allocation. The next step is made only for a node that may
be the best one left. So in most attempts, nearly all nodes cost only the first step.
Implements: PRE-62.
"""

from __future__ import annotations

from collections.abc import Iterator
from heapq import heapify, heappop, heappush
from typing import Final, TypeAlias, final

from remuda.core.model.asks.request import Request
from remuda.core.model.nodes.node import Node
from remuda.core.model.partition import Partition
from remuda.core.model.preemption.candidates import Candidates
from remuda.core.model.vectors import amount_at
from remuda.core.preempt.nodes import Check, NodeSide
from remuda.core.preempt.trial import Option, Trial

# The budget of an attempt for steps beyond the first: a second step costs 1, a third 4.
SPEND_LIMIT: Final = 400
_THIRD_STEP: Final = 4

# The last step made for a node.
_ROUGH: Final = 0
_CLOSE: Final = 1
_EXACT: Final = 2

# Bits, start, node ID, last step. Before the third step, bits and start are lower bounds.
_HeapEntry: TypeAlias = tuple[int, int, str, int]


@final
class NodeSearch:
    """The nodes that an ask could be placed on without some victims.

    ``passed``: how many nodes were looked at; ``cut``: there are more nodes, but the budget is used
    up. Rules: PRE-25, PRE-87.
    """

    __slots__ = (
        "_by_bits",
        "_candidates",
        "_checks",
        "_partition",
        "_request",
        "_side",
        "_spent",
        "_trial",
        "cut",
        "passed",
    )

    def __init__(
        self,
        partition: Partition,
        request: Request,
        candidates: Candidates,
        trial: Trial,
        side: NodeSide,
    ) -> None:
        self._partition = partition
        self._request = request
        self._candidates = candidates
        self._trial = trial
        self._side = side
        self._by_bits = not partition.settings.parity
        self._checks: dict[str, Check] = {}
        self._spent: int = 0
        self.passed: int = 0
        self.cut: bool = False

    def checks(self, *, nodes_tried: bool, skipped: int) -> Iterator[Check]:
        """Yield the checks of nodes, the best first.

        ``nodes_tried``: nodes with room were tried before without success (PRE-24). ``skipped``:
        how many nodes an earlier attempt looked at; they are skipped.
        """
        heap = self._rough(nodes_tried=nodes_tried)
        heapify(heap)
        while heap:
            _, start, node_id, known = heappop(heap)
            if known == _EXACT:
                yield self._checks.pop(node_id)
                continue
            if known == _ROUGH:
                self.passed += 1
                if self.passed <= skipped:
                    continue
                if self._spent >= SPEND_LIMIT:
                    self.passed -= 1
                    self.cut = True
                    return
            self._refine(heap, self._partition.nodes[node_id], known, start)

    def _refine(self, heap: list[_HeapEntry], node: Node, known: int, start: int) -> None:
        """Make the next step for a node, and put it back into the heap unless it is of no use."""
        node_id = node.node_id
        if known == _ROUGH and start >= 0:
            self._spent += 1
            bound = self._bound(node)
            if bound is not None:
                heappush(heap, (*bound, node_id, _CLOSE))
            return
        check: Check | None = Check(node, [], -1)
        if start >= 0:
            self._spent += _THIRD_STEP
            check = self._side.check(node)
        if check is not None:
            self._checks[node_id] = check
            bits = check.score(check.start) & ~(2**32 - 1) if self._by_bits else 0
            heappush(heap, (bits, check.start, node_id, _EXACT))

    def _rough(self, *, nodes_tried: bool) -> list[_HeapEntry]:
        """Return the usable nodes with the fewest victims that could suffice, if all were largest.

        Implements: PRE-20. Rules: PRE-18, PRE-50.
        """
        largest: dict[int, int] = {}
        best = 0
        if self._by_bits:
            best = min([option.kind.bits for option in self._trial.options.values()])
        for option in self._trial.options.values():
            for index, amount in option.need:
                largest[index] = max(amount, largest.get(index, 0))
        needs = [
            (index, amount, largest.get(index, 0)) for index, amount in self._request.amounts.need
        ]
        found: list[_HeapEntry] = []
        holds: dict[int, bool] = {}
        for node_id, node in self._partition.nodes.items():
            number = node.total.number
            if number not in holds:
                holds[number] = node.holds(self._request.amounts)
            if not holds[number] or not self._side.free_for(node):
                continue
            fewest = _fewest(node, needs)
            if fewest > 0:
                found.append((best, fewest - 1, node_id, _ROUGH))
            elif fewest == 0 and not nodes_tried:
                found.append((0, -1, node_id, _ROUGH))
        return found

    def _bound(self, node: Node) -> tuple[int, int] | None:
        """Return lower bounds of a node's bits and start; None: no victims make enough room."""
        on_node = self._candidates.on.get(node.node_id)
        if on_node is None:
            return None
        known = self._trial.options
        options = [(known[kind], count) for kind, count in on_node.items() if kind in known]
        if len(options) > 1:
            options.sort(key=_by_class)
        available = node.available
        short = {
            index: amount - amount_at(available, index)
            for index, amount in self._request.amounts.need
            if amount > amount_at(available, index)
        }
        return self._least(options, short)

    def _least(
        self, options: list[tuple[Option, int]], short: dict[int, int]
    ) -> tuple[int, int] | None:
        """Return the best bits of the last victim, and the index after the fewest victims."""
        left = dict(short)
        largest = dict.fromkeys(short, 0)
        found = -1
        for each, count in options:
            free = min(count, each.allowed)
            for index, amount in each.need:
                if index in left:
                    left[index] -= amount * free
                    largest[index] = max(largest[index], amount)
            if found < 0 and max(left.values()) <= 0:
                found = each.kind.bits if self._by_bits else 0
        if found < 0:
            return None
        return found, max(-(-short[index] // largest[index]) for index in short) - 1


def _fewest(node: Node, needs: list[tuple[int, int, int]]) -> int:
    """Return how many of the largest victims suffice; 0: the ask fits, -1: no number does.

    ``needs``: (type, amount of the ask, largest amount of one victim).
    """
    values = node.available.amounts
    known = len(values)
    fewest = 0
    for index, amount, largest in needs:
        short = amount - values[index] if index < known else amount
        if short > 0:
            if not largest:
                return -1
            fewest = max(fewest, -(-short // largest))
    return fewest


def _by_class(found: tuple[Option, int]) -> int:
    return found[0].kind.bits
