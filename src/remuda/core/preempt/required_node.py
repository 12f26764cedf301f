"""Chooses victims on the required node of an ask (rules: chapter 60 part B)."""

from __future__ import annotations

from remuda.core.model.allocation import Allocation
from remuda.core.model.asks.class_queue import ClassQueue
from remuda.core.model.asks.request import Request
from remuda.core.model.decision import Attempt, Preempt
from remuda.core.model.nodes.node import Node
from remuda.core.model.preemption.candidates import is_candidate
from remuda.core.model.preemption.live import REQUIRED_NODE
from remuda.core.model.vectors import Amounts, amount_at
from remuda.core.preempt.reasons import NO_FIT_THERE


def attempt_on_required_node(
    class_queue: ClassQueue, request: Request, node: Node
) -> Preempt | Attempt:
    """Choose victims on the required node of an ask, or return that there are none.

    Guarantees, fences and the preemption policies of asks are not checked here.
    Implements: PRE-40. Rules: PRE-41, PRE-42, PRE-43 (Ours), PRE-45.
    """
    asked = request.amounts
    candidates = [
        each
        for each in node.allocations
        if is_candidate(each) and _may_go(each, request) and _shares_type(each.amounts, asked)
    ]
    candidates.sort(key=lambda each: _sort_key(each, node))
    victims = _enough(node, asked, candidates)
    if victims is None:
        return Attempt(NO_FIT_THERE, 1 + len(node.allocations))
    decision = Preempt(request, class_queue, node, REQUIRED_NODE)
    decision.victims = victims
    decision.reasons = (
        f"node '{node.node_id}' is required by an ask of priority {request.ask.priority}",
    )
    return decision


def _may_go(allocation: Allocation, request: Request) -> bool:
    """Whether the priority of an allocation allows it to be a victim. Implements: PRE-41."""
    return allocation.ask.priority <= request.ask.priority


def _shares_type(held: Amounts, asked: Amounts) -> bool:
    return bool(held.types & asked.types)


def _sort_key(
    allocation: Allocation, node: Node
) -> tuple[int, int, int, float, float, str, str, str]:
    """Return the sort key of a candidate; the best victim comes first.

    Implements: PRE-42 (Ours).
    """
    ask = allocation.ask
    kind = 1 if ask.allow_preempt_self else 2
    return (
        3 if ask.originator else kind,
        ask.priority,
        -allocation.requested_ns,
        *_shares(allocation.amounts, node),
        ask.application_id,
        ask.allocation_key,
        allocation.allocation_id,
    )


def _shares(held: Amounts, node: Node) -> tuple[float, float]:
    """Return the largest share of the node that an allocation holds, and the sum of its shares.

    An allocation that holds less of one type and no more of any other comes first. Rules: PRE-42
    (Ours).
    """
    total = dict(node.total.pairs)
    shares = [amount / total[index] for index, amount in held.need if total.get(index, 0) > 0]
    return max(shares, default=0.0), sum(shares)


def _enough(node: Node, asked: Amounts, candidates: list[Allocation]) -> list[Allocation] | None:
    """Return the victims that the ask needs to fit, None if all are not enough.

    Implements: PRE-43 (Ours).
    """
    short = {index: amount - amount_at(node.available, index) for index, amount in asked.need}
    taken: list[Allocation] = []
    for candidate in candidates:
        if all(amount <= 0 for amount in short.values()):
            break
        taken.append(candidate)
        _free(short, candidate.amounts, 1)
    if any(amount > 0 for amount in short.values()):
        return None
    kept: list[Allocation] = []
    for candidate in reversed(taken):
        _free(short, candidate.amounts, -1)
        if any(amount > 0 for amount in short.values()):
            _free(short, candidate.amounts, 1)
            kept.append(candidate)
    return kept[::-1]


def _free(short: dict[int, int], held: Amounts, sign: int) -> None:
    for index, amount in held.need:
        if index in short:
            short[index] -= sign * amount
