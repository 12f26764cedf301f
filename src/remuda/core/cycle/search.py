"""Looks for a node that takes an ask, or that should be kept free for it."""

from __future__ import annotations

from typing import Final, final

from remuda.core.model.decision import Await, Refusals
from remuda.core.model.node import Node
from remuda.core.model.partition import Partition
from remuda.core.model.request import Lane, Request
from remuda.core.model.verdicts import ASKED, PASSED, UNUSABLE, key_of, reason_of
from remuda.core.ports import NodesAnswer, NodesQuestion, Predicates

# Nodes an RM is asked about at once: at first, and at most (EXT-13).
BATCH: Final = 16
BATCH_LIMIT: Final = 1_024

NO_ANSWER: Final = "no answer"


@final
class Search:
    """The search for a node for one ask; ``refusals`` is what it met on the way.

    ``waits``: what was asked and is answered later, None if there is nothing. ``skipped``: nodes
    were left out because there was no answer about them (EXT-17). ``reasons``: why nodes of
    placeholders were refused.
    """

    __slots__ = (
        "_partition",
        "_predicates",
        "_request",
        "_shape",
        "lane",
        "reasons",
        "refusals",
        "skipped",
        "waits",
    )

    def __init__(
        self, partition: Partition, lane: Lane, request: Request, predicates: Predicates
    ) -> None:
        self._partition = partition
        self.lane = lane
        self._shape = lane.shape
        self._request = request
        self._predicates = predicates
        self.refusals = Refusals()
        self.reasons: list[str] = []
        self.waits: Await | None = None
        self.skipped: bool = False

    def open_node(self) -> Node | None:
        """Return the first open node in order that fits and is acceptable, None if there is none.

        Nodes are asked about in batches. Rules: CYC-15, CYC-17, CYC-21, NOD-23, EXT-13, EXT-14.
        """
        order = self._partition.order_of(self._shape.node_policy)
        if not self._partition.predicates:
            return order.first_fit(self._shape.amounts)
        last: Node | None = None
        size = BATCH
        while True:
            batch = order.fitting(self._shape.amounts, last, size)
            found = self.first_accepted(batch)
            if found is not None or self.waits is not None or len(batch) < size:
                return found
            last = batch[-1]
            size = min(size * 4, BATCH_LIMIT)

    def first_accepted(self, nodes: list[Node]) -> Node | None:
        """Return the first of some nodes that the predicates accept, noting those they refuse.

        None as well while that is asked. Rules: SI-80, NOD-13, EXT-22.
        """
        if not self._partition.predicates:
            return nodes[0] if nodes else None
        unknown, accepted = self._sift(nodes)
        if not unknown:
            return accepted
        answer = self._ask(unknown, allocate=True)
        if answer.ticket:
            return None
        passed = answer.passed if 0 <= answer.passed < len(unknown) else len(unknown)
        for index in range(passed):
            told = index < len(answer.refusals)
            reason = answer.refusals[index] if told else NO_ANSWER
            self.refusals.now.append((unknown[index], reason))
        return unknown[passed] if passed < len(unknown) else None

    def _sift(self, nodes: list[Node]) -> tuple[list[Node], Node | None]:
        """Return the nodes without a verdict before the first accepted one, and that one."""
        constraint = self._shape.constraint
        own = key_of(self.lane, allocate=True) if self.lane.judged else ""
        unknown: list[Node] = []
        for node in nodes:
            reason = node.verdicts.get(constraint)
            verdict = node.verdicts.get(own) if own else None
            if reason is not None:
                self.refusals.known.append((node, reason))
            elif verdict is None or verdict == ASKED:
                unknown.append(node)
            elif verdict == PASSED:
                return unknown, node
            elif verdict == UNUSABLE:
                self.skipped = True
            else:
                self.refusals.now.append((node, reason_of(verdict)))
        return unknown, None

    def node_to_reserve(self) -> Node | None:
        """Return the node to keep free for an ask that fits none, None if there is none.

        Only the best is asked about. Rules: CYC-15, RSV-3, RSV-4 (Ours), RSV-5, NOD-13.
        """
        order = self._partition.order_of(self._shape.node_policy)
        node = order.nearest(self._shape.amounts)
        if node is None or not self._partition.predicates:
            return node
        verdict = node.verdicts.get(key_of(self.lane, allocate=False)) or ASKED
        if verdict == PASSED:
            return node
        if verdict == UNUSABLE:
            self.skipped = True
        elif verdict != ASKED:
            self._note_best(node, reason_of(verdict))
        else:
            return self._ask_to_reserve(node)
        return None

    def _ask_to_reserve(self, node: Node) -> Node | None:
        answer = self._ask([node], allocate=False)
        if answer.ticket:
            return None
        if answer.passed == 0:
            return node
        self._note_best(node, answer.refusals[0] if answer.refusals else NO_ANSWER)
        return None

    def first_agreeing(self, nodes: list[Node]) -> int:
        """Return the index of the first node where an ask may take a placeholder's place, else -1.

        Room is no question there. -1 as well while that is asked. Rules: GANG-13, SI-80, EXT-14.
        """
        if not self._partition.predicates:
            return 0 if nodes else -1
        for start in range(0, len(nodes), BATCH_LIMIT):
            found = self._agreeing(nodes, range(start, min(start + BATCH_LIMIT, len(nodes))))
            if found >= 0 or self.waits is not None:
                return found
        return -1

    def _agreeing(self, nodes: list[Node], places: range) -> int:
        """Return the first of some places whose node agrees, -1 if none does."""
        own = key_of(self.lane, allocate=False) if self.lane.judged else ""
        unknown: list[int] = []
        for place in places:
            verdict = nodes[place].verdicts.get(own, ASKED) if own else ASKED
            if verdict == ASKED:
                unknown.append(place)
            elif verdict == PASSED:
                if not unknown:
                    return place
                break
            elif verdict == UNUSABLE:
                self.skipped = True
            else:
                self.reasons.append(reason_of(verdict))
        if not unknown:
            return -1
        answer = self._ask([nodes[place] for place in unknown], allocate=False)
        self.reasons += answer.refusals
        return unknown[answer.passed] if 0 <= answer.passed < len(unknown) else -1

    def _note_best(self, node: Node, reason: str) -> None:
        self.refusals.best = node
        self.refusals.to_reserve = reason

    def _ask(self, nodes: list[Node], *, allocate: bool) -> NodesAnswer:
        """Ask about nodes; asks before this one may take some. Rules: EXT-13, EXT-14."""
        ask = self._request.ask
        node_ids = tuple([node.node_id for node in nodes])
        rm_id, key = self._partition.rm_id, ask.allocation_key
        ahead = self._partition.questions.waiting()
        want = min(self._request.pending + ahead, len(nodes))
        question = NodesQuestion(rm_id, ask.application_id, key, allocate, node_ids, want)
        answer = self._predicates(question)
        if answer.ticket:
            self.waits = Await(self.lane)
            self.waits.ticket = answer.ticket
            self.waits.nodes = nodes[: answer.asked]
            self.waits.allocate = allocate
        return answer
