"""Looks for a node to place an ask on, or to reserve for it.

If the RM answers later, the nodes keep its verdicts. The search asks about nodes without a verdict:
as many as the whole class queue can use, after the nodes that earlier asks will take (EXT-13,
EXT-14).
"""

from __future__ import annotations

from typing import Final, final

from remuda.core.model.asks.class_queue import ClassQueue
from remuda.core.model.asks.request import Request
from remuda.core.model.asks.verdicts import ASKED, PASSED, UNUSABLE, reason_of
from remuda.core.model.decision import AwaitPredicates, Refusals
from remuda.core.model.nodes.node import Node
from remuda.core.model.nodes.node_blocks import Entry
from remuda.core.model.nodes.node_order import NodeOrder
from remuda.core.model.nodes.passed_over import PassedOver
from remuda.core.model.partition import Partition
from remuda.core.ports import NodesAnswer, NodesQuestion, Predicates

# How many nodes the first question names, and how many a question names at most (EXT-13).
BATCH: Final = 16
BATCH_LIMIT: Final = 1_024

# Before the first node of an order.
_FIRST: Final[Entry] = ()

NO_ANSWER: Final = "no answer"


@final
class Search:
    """The search for a node for one ask; ``refusals``: the nodes that predicates refused.

    ``waits``: the question that the RM answers later, None if there is none. ``skipped``: some
    nodes were skipped because the RM gave no answer about them (EXT-17). ``reasons``: why nodes of
    placeholders were refused. ``ahead``: how many nodes the waiting asks before this one will take.
    """

    __slots__ = (
        "_ask_class",
        "_partition",
        "_predicates",
        "_request",
        "ahead",
        "class_queue",
        "reasons",
        "refusals",
        "skipped",
        "waits",
    )

    def __init__(
        self,
        partition: Partition,
        class_queue: ClassQueue,
        request: Request,
        predicates: Predicates,
    ) -> None:
        self._partition = partition
        self.class_queue = class_queue
        self._ask_class = class_queue.ask_class
        self._request = request
        self._predicates = predicates
        self.refusals = Refusals()
        self.reasons: list[str] = []
        self.waits: AwaitPredicates | None = None
        self.skipped: bool = False
        self.ahead: int = 0

    def open_node(self) -> Node | None:
        """Return the first open node that has room and that predicates accept, else None.

        Nodes are asked about in batches. Implements: CYC-17. Rules: CYC-15, CYC-21, NOD-23, EXT-13,
        EXT-14.
        """
        pool, amounts = self._partition.pool, self._ask_class.amounts
        order = pool.order_of(self._ask_class.node_policy)
        if not self._partition.settings.predicates:
            return order.first_fit(amounts)
        over, low = self._passed_over(), _FIRST
        batch: list[Node] = []
        if over is not None:
            batch, low = over.refresh(self._ask_class, order, pool.changes), over.low
        accepted = None if batch else self._first_if_accepted(order, low)
        if accepted is not None:
            return accepted
        size = BATCH
        # The waiting asks before this one take the first ``ahead`` nodes.
        limit = size + self.ahead
        advances = over is not None
        while True:
            following = order.fitting_behind(amounts, low, limit)
            low = order.entry_of(following[-1].node_id) if following else low
            refused = over.advance(following, order, pool.changes) if over and advances else 0
            advances = advances and refused == len(following)
            found = self._first_of(batch + following[refused:], order, low)
            if found is not None or self.waits is not None:
                return found
            if len(following) < limit:
                break
            batch = []
            limit = size = min(size * 4, BATCH_LIMIT)
        if over is not None:
            self.refusals.known = over.refusals(amounts, order) + self.refusals.known
        return None

    def _first_if_accepted(self, order: NodeOrder, low: Entry) -> Node | None:
        """Return the first node behind an entry that has room, if it was accepted, as usual.

        Rules: CYC-15, EXT-14.
        """
        predicate_class = self._ask_class.predicate_class
        if not predicate_class.judged:
            return None
        for node in order.fitting_behind(self._ask_class.amounts, low, 1):
            verdicts = node.verdicts
            if (
                verdicts.get(predicate_class.key_of(allocate=True)) == PASSED
                and predicate_class.refused() not in verdicts
            ):
                return node
        return None

    def _passed_over(self) -> PassedOver | None:
        """Return which nodes the ask class need not look at; None if it keeps no refusals."""
        ask_class = self._ask_class
        if ask_class.passed_over is None and ask_class.predicate_class.lasting:
            ask_class.passed_over = PassedOver()
        return ask_class.passed_over

    def first_accepted(self, nodes: list[Node]) -> Node | None:
        """Return the first of some nodes that the predicates accept, noting those they refuse.

        The result is None, too, while the answer of the RM is missing. Implements: NOD-13. Rules:
        SI-80, EXT-22.
        """
        if not self._partition.settings.predicates:
            return nodes[0] if nodes else None
        return self._first_of(nodes, None, _FIRST)

    def _first_of(self, nodes: list[Node], order: NodeOrder | None, low: Entry) -> Node | None:
        """Return the first of some nodes that is accepted.

        ``order``: where to find more nodes, behind the entry ``low``; None: there are none.
        If earlier asks wait and an accepted node is known, the nodes before it are not asked about:
        the earlier asks may take them. Implements: EXT-14.
        """
        unknown, accepted = self._sift(nodes)
        if not unknown or (accepted is not None and self.ahead):
            return accepted
        answer = self._ask(self._candidates(unknown, order, low), allocate=True)
        if answer.ticket:
            return None
        passed = answer.passed if 0 <= answer.passed < len(unknown) else len(unknown)
        for index in range(passed):
            given = index < len(answer.refusals)
            reason = answer.refusals[index] if given else NO_ANSWER
            self.refusals.now.append((unknown[index], reason))
        return unknown[passed] if passed < len(unknown) else None

    def _sift(self, nodes: list[Node]) -> tuple[list[Node], Node | None]:
        """Return the nodes without a verdict up to the first accepted node, and that node."""
        predicate_class = self._ask_class.predicate_class
        lasting = predicate_class.refused() if predicate_class.lasting else ""
        own = predicate_class.key_of(allocate=True) if predicate_class.judged else ""
        unknown: list[Node] = []
        for node in nodes:
            verdicts = node.verdicts
            if not verdicts:
                unknown.append(node)
                continue
            reason = verdicts.get(lasting) if lasting else None
            verdict = verdicts.get(own) if own else None
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

    def _candidates(self, unknown: list[Node], order: NodeOrder | None, low: Entry) -> list[Node]:
        """Return the nodes to ask about, given the first nodes without a verdict.

        If the RM answers later, each round trip takes time. So one question names as many nodes as
        the class queue can use, and starts after the nodes that earlier asks will take. Rules:
        EXT-13, EXT-14, EXT-15.
        """
        questions = self._partition.waiting.questions
        if order is None or not questions.later:
            return unknown
        wanted = self._nodes_wanted()
        if questions.together:
            wanted += self.ahead
        elif self.ahead:
            start = min(self.ahead, len(unknown) - 1)
            return (unknown[start:] + unknown[:start])[: max(wanted, BATCH)]
        wanted = min(wanted * self._ask_class.predicate_class.reach, BATCH_LIMIT)
        if wanted > len(unknown):
            predicate_class = self._ask_class.predicate_class
            own, refused = predicate_class.key_of(allocate=True), predicate_class.refused()
            more = order.fitting_behind(self._ask_class.amounts, low, wanted - len(unknown))
            unknown += [
                node for node in more if own not in node.verdicts and refused not in node.verdicts
            ]
        return unknown

    def _wanted(self) -> int:
        """Return how many allocations its class queue still wants, at most BATCH_LIMIT. EXT-13."""
        wanted = self._request.pending - 1
        class_queue = self.class_queue
        for number in class_queue.order.keys:
            for group in class_queue.limit_groups[number].groups.values():
                wanted += group.order.count
                if wanted >= BATCH_LIMIT:
                    return BATCH_LIMIT
        return wanted

    def _nodes_wanted(self) -> int:
        """Return about how many nodes its class queue needs verdicts on: others take nodes, too.

        Rules: EXT-13.
        """
        return min(self._wanted() * self._ask_class.predicate_class.spread_now(), BATCH_LIMIT)

    def node_to_reserve(self) -> Node | None:
        """Return the node to reserve for an ask that fits no node, None if there is none.

        The RM is asked only about the best node. Rules: CYC-15, RSV-3, RSV-4 (Ours), RSV-5, NOD-13.
        """
        order = self._partition.pool.order_of(self._ask_class.node_policy)
        node = order.nearest(self._ask_class.amounts)
        if node is None or not self._partition.settings.predicates:
            return node
        verdict = node.verdicts.get(self._ask_class.predicate_class.key_of(allocate=False)) or ASKED
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

        Room is not checked, since the placeholder already takes it. The result is -1, too, while
        the answer of the RM is missing. Implements: GANG-13. Rules: SI-80, EXT-14.
        """
        if not self._partition.settings.predicates:
            return 0 if nodes else -1
        for start in range(0, len(nodes), BATCH_LIMIT):
            found = self._agreeing(nodes, range(start, min(start + BATCH_LIMIT, len(nodes))))
            if found >= 0 or self.waits is not None:
                return found
        return -1

    def _agreeing(self, nodes: list[Node], places: range) -> int:
        """Return the first of some indexes whose node is accepted, -1 if none is."""
        predicate_class = self._ask_class.predicate_class
        own = predicate_class.key_of(allocate=False) if predicate_class.judged else ""
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
        """Ask the RM about nodes; earlier asks may take some of them. Rules: EXT-13, EXT-14."""
        ask, rm_id = self._request.ask, self._partition.rm_id
        node_ids = tuple([node.node_id for node in nodes])
        key = ask.allocation_key
        wanted = self._wanted()
        behind = self.ahead if self._partition.waiting.questions.together else 0
        want = min((self._nodes_wanted() if allocate else wanted) + behind, len(nodes))
        question = NodesQuestion(
            rm_id, ask.application_id, key, allocate, node_ids, want, ask.equivalence
        )
        answer = self._predicates(question)
        if answer.ticket:
            self.waits = AwaitPredicates(self.class_queue, wanted=wanted)
            self.waits.ticket = answer.ticket
            self.waits.nodes = nodes[: answer.asked]
            self.waits.allocate = allocate
        return answer
