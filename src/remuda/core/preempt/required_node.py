"""Makes room on the one node an ask may go to (rules: PRE-40 to PRE-49)."""

from __future__ import annotations

from remuda.core.model.allocation import Allocation
from remuda.core.model.candidates import is_candidate
from remuda.core.model.decision import Attempt, Preempt
from remuda.core.model.node import Node
from remuda.core.model.preemption import REQUIRED_NODE
from remuda.core.model.request import Lane, Request
from remuda.core.model.vectors import Amounts, amount_at
from remuda.core.preempt.reasons import NO_FIT_THERE


def attempt_on_required_node(lane: Lane, request: Request, node: Node) -> Preempt | Attempt:
    """Choose victims on the node that an ask requires, or say that there are none.

    Guarantees, fences and what asks may do by their policies are no question here.
    Rules: PRE-40 to PRE-43 (Ours), PRE-45.
    """
    asked = request.amounts
    candidates = [
        each
        for each in node.allocations
        if is_candidate(each) and _may_go(each, request) and _shares_type(each.amounts, asked)
    ]
    candidates.sort(key=lambda each: _place(each, node))
    victims = _enough(node, asked, candidates)
    if victims is None:
        return Attempt(NO_FIT_THERE, 1 + len(node.allocations))
    decision = Preempt(request, lane, node, REQUIRED_NODE)
    decision.victims = victims
    decision.reasons = (
        f"node '{node.node_id}' is required by an ask of priority {request.ask.priority}",
    )
    return decision


def _may_go(allocation: Allocation, request: Request) -> bool:
    """Whether the priority of an allocation does not save it. Rules: PRE-41."""
    return allocation.ask.priority <= request.ask.priority


def _shares_type(held: Amounts, asked: Amounts) -> bool:
    return bool(held.types & asked.types)


def _place(allocation: Allocation, node: Node) -> tuple[int, int, int, float, float, str, int, str]:
    """Return the place among the candidates, the best victim first. Rules: PRE-42 (Ours)."""
    ask = allocation.ask
    kind = 1 if ask.allow_preempt_self else 2
    return (
        3 if ask.originator else kind,
        ask.priority,
        -allocation.requested_ns,
        *_shares(allocation.amounts, node),
        ask.allocation_key,
        allocation.application.number,
        allocation.allocation_id,
    )


def _shares(held: Amounts, node: Node) -> tuple[float, float]:
    """Return the largest share of the node that an allocation holds, and the sum of them all.

    Who holds less of one type and no more of any other comes first. Rules: PRE-42 (Ours).
    """
    total = dict(node.total.pairs)
    shares = [amount / total[index] for index, amount in held.need if total.get(index, 0) > 0]
    return max(shares, default=0.0), sum(shares)


def _enough(node: Node, asked: Amounts, candidates: list[Allocation]) -> list[Allocation] | None:
    """Return as many as the ask needs to fit, None if all are not enough. Rules: PRE-43 (Ours)."""
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
