"""One attempt to preempt for an ask (rules: chapter 60 part A).

Victims that make room on a node are chosen first. If the ask still does not fit the maximum of a
queue, further victims are chosen that make room below it. Nothing changes here; ``apply`` carries
the choice out.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Final, final

from remuda.core.model.asks.class_queue import ClassQueue
from remuda.core.model.asks.request import Request
from remuda.core.model.decision import Attempt, Preempt
from remuda.core.model.nodes.node import Node
from remuda.core.model.partition import Partition
from remuda.core.model.preemption.candidates import ORDINARY, Candidates
from remuda.core.model.preemption.live import QUEUE
from remuda.core.ports import (
    AttemptWatch,
    NodesQuestion,
    Predicates,
    PreemptionItem,
    PreemptionPredicates,
    PreemptionQuestion,
    nobody_watches,
)
from remuda.core.preempt.fence import Fence, ask_path
from remuda.core.preempt.nodes import Check, Found, NodeSide, spare_room, spares
from remuda.core.preempt.parity import PathUse
from remuda.core.preempt.queue_side import QueueSide
from remuda.core.preempt.reasons import (
    ASKED,
    EXHAUSTED,
    NO_GUARANTEE,
    NO_HELP,
    TOO_FEW,
    owed_reasons,
)
from remuda.core.preempt.search import NodeSearch
from remuda.core.preempt.trial import Trial

# How many nodes a question to the RM names, and how many questions an attempt asks (PRE-25,
# PRE-87).
BATCH: Final = 10
BATCHES_LIMIT: Final = 50


@final
class Ports:
    """The predicates of the RM for nodes as they are, and for nodes without victims.

    ``watch`` is called at the begin and end of each attempt.

    Rules: PRE-26.
    """

    __slots__ = ("predicates", "preemption", "watch")

    def __init__(self, predicates: Predicates, preemption: PreemptionPredicates) -> None:
        self.predicates = predicates
        self.preemption = preemption
        self.watch: AttemptWatch = nobody_watches


def attempt(
    partition: Partition,
    class_queue: ClassQueue,
    request: Request,
    ports: Ports,
    now_ns: int,
    *,
    nodes_tried: bool,
    among: Candidates | None = None,
) -> Preempt | Attempt:
    """Choose victims for the first ask of a class queue, or return why there are none.

    ``nodes_tried``: the ask was tried on nodes without success; False: the maximum of a queue
    stopped it first. ``among``: the candidates, None for all candidates of the partition. The
    result depends only on the state, the ask and the answers of the RM.
    Implements: PRE-81, PRE-84. Rules: PRE-3, PRE-85, PRE-86, PRE-87, PRE-88, in parity PRE-84.
    """
    candidates = among or partition.preempting.candidates
    parity = partition.settings.parity
    amounts = request.amounts
    path = ask_path(class_queue.leaf, request.ask.priority, amounts, parity=parity)
    if candidates is None or not candidates.kinds:
        return Attempt(NO_HELP)
    trial = Trial(Fence(path, parity=parity), amounts, candidates, parity=parity)
    if not trial.owed:
        return Attempt(NO_GUARANTEE, len(path))
    if not trial.options:
        return Attempt(NO_HELP, len(candidates.kinds))
    if parity and not PathUse(class_queue.leaf, amounts).could_be_within(trial):
        return Attempt(NO_GUARANTEE, len(candidates.kinds))
    side = NodeSide(partition, request, trial, now_ns, parity=parity)
    search = NodeSearch(partition, request, candidates, trial, side)
    judge = _Judge(partition, class_queue, request, ports)
    check, index = judge.best(search.checks(nodes_tried=nodes_tried, skipped=class_queue.passed))
    cost = len(partition.nodes) + side.looked_at
    if judge.ticket:
        return Attempt(ASKED, cost, judge.ticket, judge.asked)
    if check is None:
        return _in_vain(search, side, cost)
    queues = PathUse(class_queue.leaf, amounts) if parity else QueueSide(class_queue.leaf, amounts)
    on_node = check.victims[: index + 1]
    for_queue = _beyond_node(queues, trial, side, on_node)
    if for_queue is None or not (on_node or for_queue):
        return Attempt(TOO_FEW, cost)
    if isinstance(queues, QueueSide) and not partition.settings.preemption_predicates:
        on_node = _without_spares(queues, request, check.node, on_node, for_queue)
    decision = Preempt(request, class_queue, check.node, QUEUE)
    decision.nodes_tried = nodes_tried
    decision.victims = [allocation for allocation, _ in on_node + for_queue]
    decision.for_queue = frozenset([allocation for allocation, _ in for_queue])
    decision.reasons = owed_reasons(partition, class_queue.leaf, trial, on_node + for_queue)
    decision.cancelled = [
        each for each in check.node.reservations.values() if each.request is not request
    ]
    return decision


def _without_spares(
    queues: QueueSide,
    request: Request,
    node: Node,
    on_node: list[Found],
    for_queue: list[Found],
) -> list[Found]:
    """Spare victims on the node that are not needed because of the victims for the queue.

    Victims for the queue may be on the same node. Rules: PRE-82 (g), PRE-88.
    """
    spare = spare_room(
        node, request, on_node + [each for each in for_queue if each[0].node is node]
    )
    kept: list[Found] = []
    for found in reversed(on_node):
        if queues.spares(found[1]) and spares(spare, found[1]):
            queues.take(found[1], -1)
        else:
            kept.append(found)
    return kept[::-1]


def _in_vain(search: NodeSearch, side: NodeSide, cost: int) -> Attempt:
    """Return an attempt that found no node. Rules: PRE-87, PRE-90."""
    made = Attempt(EXHAUSTED if search.cut else NO_HELP, cost)
    made.passed = search.passed if search.cut else 0
    made.opens_ns = side.opens_ns
    made.blocked = side.blocked and not search.cut
    return made


def _beyond_node(
    queues: PathUse | QueueSide, trial: Trial, side: NodeSide, on_node: list[Found]
) -> list[Found] | None:
    """Return the victims needed besides those on the node; None if they are not enough.

    Implements: PRE-30, PRE-37. Rules: PRE-31, PRE-33, PRE-88.
    """
    for _, option in on_node:
        trial.take(option, charged=True)
        queues.take(option)
    return queues.victims(trial, side, {allocation for allocation, _ in on_node})


@final
class _Judge:
    """Finds the best check; asks the RM if it registered with preemption predicates.

    ``ticket``: the number of the open question about ``asked``; 0: none is open.
    """

    __slots__ = ("_class_queue", "_partition", "_ports", "_request", "asked", "ticket")

    def __init__(
        self, partition: Partition, class_queue: ClassQueue, request: Request, ports: Ports
    ) -> None:
        self._partition = partition
        self._class_queue = class_queue
        self._request = request
        self._ports = ports
        self.ticket: int = 0
        self.asked: tuple[PreemptionItem, ...] = ()

    def best(self, checks: Iterator[Check]) -> tuple[Check | None, int]:
        """Return the best check and the index of its last victim.

        Implements: PRE-25. Rules: PRE-28, PRE-29.
        """
        if not self._partition.settings.preemption_predicates:
            for check in checks:
                if check.start >= 0 or self._takes_it_now(check.node):
                    return check, check.start
            return None, -1
        best: tuple[int, int, str] | None = None
        found: Check | None = None
        index = -1
        for _ in range(BATCHES_LIMIT):
            batch = list(islice(checks, BATCH))
            verdicts = self._ask(batch) if batch else ()
            for check, (success, judged) in zip(batch, verdicts, strict=False):
                last = judged if check.start < 0 else max(judged, check.start)
                if not success or not -1 <= last < len(check.victims):
                    continue
                order = (check.score(last), check.start, check.node.node_id)
                if best is None or order < best:
                    best, found, index = order, check, last
            if self.ticket or len(batch) < BATCH or (best is not None and best[0] < ORDINARY):
                break
        return found, index

    def _takes_it_now(self, node: Node) -> bool:
        """Whether the predicates accept a node that has room without victims.

        If the RM answers later, the node counts as accepted: the RM is asked again before the ask
        is placed.

        Rules: PRE-26, SI-80.
        """
        if not self._partition.settings.predicates:
            return True
        ask = self._request.ask
        rm_id, key = self._partition.rm_id, ask.allocation_key
        question = NodesQuestion(rm_id, ask.application_id, key, True, (node.node_id,))
        answer = self._ports.predicates(question)
        return answer.passed == 0 or answer.ticket > 0

    def _ask(self, batch: list[Check]) -> tuple[tuple[bool, int], ...]:
        """Ask the RM about a batch, unless it has answered the same question already.

        Implements: PRE-24, PRE-26. Rules: EXT-18.
        """
        items = tuple([self._item(check) for check in batch])
        victim_answers = self._class_queue.victim_answers
        if victim_answers is not None:
            known = victim_answers.about(items)
            if known is not None:
                return known
            if len(victim_answers.answered) >= BATCHES_LIMIT:
                return ()
        rm_id = self._partition.rm_id
        answer = self._ports.preemption(PreemptionQuestion(rm_id, items, first_success=False))
        self.ticket, self.asked = answer.ticket, items
        return tuple([(verdict.success, verdict.index) for verdict in answer.verdicts])

    def _item(self, check: Check) -> PreemptionItem:
        keys = tuple([allocation.ask.allocation_key for allocation, _ in check.victims])
        ask = self._request.ask
        node_id = check.node.node_id
        return PreemptionItem(ask.allocation_key, node_id, keys, check.start, ask.application_id)
