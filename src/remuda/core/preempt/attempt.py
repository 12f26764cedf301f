"""One attempt to take room from others for an ask (rules: PRE-3, PRE-16, PRE-24 to PRE-33, PRE-81).

The victims that make room on the node come first, then, if a maximum is in the way, those that make
room under it. Nothing changes here; ``apply`` carries the choice out.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Final, final

from remuda.core.model.candidates import ORDINARY, Candidates
from remuda.core.model.decision import Attempt, Preempt
from remuda.core.model.node import Node
from remuda.core.model.partition import Partition
from remuda.core.model.preemption import QUEUE
from remuda.core.model.request import Lane, Request
from remuda.core.ports import (
    NodesQuestion,
    Predicates,
    PreemptionItem,
    PreemptionPredicates,
    PreemptionQuestion,
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

# Nodes an RM is asked about at once, and how often in one attempt (PRE-25, PRE-87).
BATCH: Final = 10
BATCHES_LIMIT: Final = 50


@final
class Ports:
    """Who is asked: about nodes as they are, and about nodes without victims. Rules: PRE-26."""

    __slots__ = ("predicates", "preemption")

    def __init__(self, predicates: Predicates, preemption: PreemptionPredicates) -> None:
        self.predicates = predicates
        self.preemption = preemption


def attempt(
    partition: Partition,
    lane: Lane,
    request: Request,
    ports: Ports,
    now_ns: int,
    *,
    nodes_tried: bool,
    among: Candidates | None = None,
) -> Preempt | Attempt:
    """Choose victims for the first ask of a lane, or say why there are none.

    ``nodes_tried``: no node took it as they are; False: a queue's maximum stopped it first.
    ``among``: who may go, None for all candidates there are.
    The result depends on the state, the ask and the answers of the RM only.
    Rules: PRE-3, PRE-81, PRE-85 to PRE-88, in parity PRE-84.
    """
    candidates = among or partition.candidates
    parity = partition.parity
    amounts = request.amounts
    path = ask_path(lane.leaf, request.ask.priority, amounts, parity=parity)
    if candidates is None or not candidates.kinds:
        return Attempt(NO_HELP)
    trial = Trial(Fence(path, parity=parity), amounts, candidates, parity=parity)
    if not trial.owed:
        return Attempt(NO_GUARANTEE, len(path))
    if not trial.prey:
        return Attempt(NO_HELP, len(candidates.kinds))
    if parity and not PathUse(lane.leaf, amounts).could_be_within(trial):
        return Attempt(NO_GUARANTEE, len(candidates.kinds))
    side = NodeSide(partition, request, trial, now_ns, parity=parity)
    search = NodeSearch(partition, request, candidates, trial, side)
    judge = _Judge(partition, lane, request, ports)
    check, index = judge.best(search.checks(nodes_tried=nodes_tried, skipped=lane.passed))
    cost = len(partition.nodes) + side.looked_at
    if judge.ticket:
        return Attempt(ASKED, cost, judge.ticket, judge.asked)
    if check is None:
        return _in_vain(search, side, cost)
    queues = PathUse(lane.leaf, amounts) if parity else QueueSide(lane.leaf, amounts)
    on_node = check.victims[: index + 1]
    for_queue = _beyond_node(queues, trial, side, on_node)
    if for_queue is None or not (on_node or for_queue):
        return Attempt(TOO_FEW, cost)
    if isinstance(queues, QueueSide) and not partition.preemption_predicates:
        on_node = _without_spares(queues, request, check.node, on_node, for_queue)
    decision = Preempt(request, lane, check.node, QUEUE)
    decision.nodes_tried = nodes_tried
    decision.victims = [allocation for allocation, _ in on_node + for_queue]
    decision.for_queue = frozenset([allocation for allocation, _ in for_queue])
    decision.reasons = owed_reasons(partition, lane.leaf, trial, on_node + for_queue)
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
    """Spare victims of the node that those for the queue make superfluous.

    Those may sit on the same node. Rules: PRE-82 (g), PRE-88.
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
    """Return that no node would do, as far as they were looked at. Rules: PRE-87, PRE-90."""
    made = Attempt(EXHAUSTED if search.cut else NO_HELP, cost)
    made.passed = search.passed if search.cut else 0
    made.opens_ns = side.opens_ns
    made.blocked = side.blocked and not search.cut
    return made


def _beyond_node(
    queues: PathUse | QueueSide, trial: Trial, side: NodeSide, on_node: list[Found]
) -> list[Found] | None:
    """Return whom else it takes besides the victims on the node; None if that is not to be had.

    Rules: PRE-30, PRE-31, PRE-33, PRE-88.
    """
    for _, prey in on_node:
        trial.take(prey, charged=True)
        queues.take(prey)
    return queues.victims(trial, side, {allocation for allocation, _ in on_node})


@final
class _Judge:
    """Finds out which check is the best, asking the RM if it wants to be asked.

    ``ticket``: what was ``asked`` last is answered later; 0: nothing is open.
    """

    __slots__ = ("_lane", "_partition", "_ports", "_request", "asked", "ticket")

    def __init__(self, partition: Partition, lane: Lane, request: Request, ports: Ports) -> None:
        self._partition = partition
        self._lane = lane
        self._request = request
        self._ports = ports
        self.ticket: int = 0
        self.asked: tuple[PreemptionItem, ...] = ()

    def best(self, checks: Iterator[Check]) -> tuple[Check | None, int]:
        """Return the best check and the index of its last victim. Rules: PRE-25, PRE-28, PRE-29."""
        if not self._partition.preemption_predicates:
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
            for check, (success, told) in zip(batch, verdicts, strict=False):
                last = told if check.start < 0 else max(told, check.start)
                if not success or not -1 <= last < len(check.victims):
                    continue
                order = (check.score(last), check.start, check.node.node_id)
                if best is None or order < best:
                    best, found, index = order, check, last
            if self.ticket or len(batch) < BATCH or (best is not None and best[0] < ORDINARY):
                break
        return found, index

    def _takes_it_now(self, node: Node) -> bool:
        """Whether a node with room is acceptable as it is. Rules: PRE-26, SI-80.

        Where that is answered later it is taken to be: it is asked again before the ask is placed.
        """
        if not self._partition.predicates:
            return True
        ask = self._request.ask
        rm_id, key = self._partition.rm_id, ask.allocation_key
        question = NodesQuestion(rm_id, ask.application_id, key, True, (node.node_id,))
        answer = self._ports.predicates(question)
        return answer.passed == 0 or answer.ticket > 0

    def _ask(self, batch: list[Check]) -> tuple[tuple[bool, int], ...]:
        """Ask the RM, unless it has answered just that already. Rules: PRE-24, PRE-26, EXT-18."""
        items = tuple([self._item(check) for check in batch])
        hearing = self._lane.hearing
        if hearing is not None:
            known = hearing.about(items)
            if known is not None:
                return known
            if len(hearing.heard) >= BATCHES_LIMIT:
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
