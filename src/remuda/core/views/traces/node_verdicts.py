"""Says for each node whether it takes an ask, and if not, why (rules: EXT-46)."""

from __future__ import annotations

from typing import Final

from remuda.core.messages.ask_views import NodeSummaryView
from remuda.core.messages.trace_queries import (
    DRAINING,
    NO_ROOM,
    REFUSED,
    RESERVED,
    TAKES,
    TOO_SMALL,
    NodeVerdictView,
)
from remuda.core.model.asks.ask_class import AskClass
from remuda.core.model.asks.request import Request
from remuda.core.model.nodes.node import Node
from remuda.core.model.partition import Partition
from remuda.core.model.vectors import Amounts, amount_at, fits, shortage
from remuda.core.policy.node_summary import REASONS_LIMIT

# How many nodes are shown, and how many reasons of predicates.
SHOWN: Final = 20

_ORDER: Final = (TAKES, REFUSED, NO_ROOM, RESERVED, DRAINING, TOO_SMALL)


class NodeVerdicts:
    """The verdicts of all nodes that an ask may go to; ``takes``: how many would take it."""

    def __init__(self, partition: Partition, request: Request, ask_class: AskClass) -> None:
        self._partition = partition
        self._request = request
        self._ask_class = ask_class
        self._counts: dict[str, int] = dict.fromkeys(_ORDER, 0)
        self._reasons: dict[str, int] = {}
        self._judged: list[tuple[int, float, str]] = []
        for node in self._nodes():
            self._count(node)

    @property
    def takes(self) -> int:
        """How many nodes take the ask."""
        return self._counts[TAKES]

    def summary(self) -> NodeSummaryView:
        """Return the nodes by reason. Implements: EXT-46. Rules: REST-120."""
        counts = self._counts
        return NodeSummaryView(
            total=len(self._judged),
            draining=counts[DRAINING],
            reserved=counts[RESERVED],
            too_small=counts[TOO_SMALL],
            no_room=counts[NO_ROOM],
            refused=counts[REFUSED],
            reasons=tuple(sorted(self._reasons.items())[:REASONS_LIMIT]),
        )

    def nearest(self) -> tuple[NodeVerdictView, ...]:
        """Return some nodes, first those that are nearest to taking the ask. Rules: RSV-4."""
        return tuple(
            [self._view(self._partition.nodes[node_id]) for _, _, node_id in self._first()]
        )

    def _first(self) -> list[tuple[int, float, str]]:
        return sorted(self._judged)[:SHOWN]

    def _nodes(self) -> list[Node]:
        """Return the nodes that the ask may go to: the required one, or all."""
        required = self._ask_class.required_node
        if not required:
            return list(self._partition.nodes.values())
        node = self._partition.nodes.get(required)
        return [] if node is None else [node]

    def _count(self, node: Node) -> None:
        verdict = self._verdict(node)
        self._counts[verdict] += 1
        if verdict == REFUSED:
            reason = self._reason(node)
            self._reasons[reason] = self._reasons.get(reason, 0) + 1
        lacks = shortage(node.available, self._ask_class.amounts)
        self._judged.append((_ORDER.index(verdict), lacks, node.node_id))

    def _verdict(self, node: Node) -> str:
        """Return the first reason that applies. Rules: NOD-8, NOD-9, RSV-7, CYC-14, CYC-15."""
        amounts = self._ask_class.amounts
        if not node.schedulable and not self._ask_class.required_node:
            return DRAINING
        if node.held and node.node_id not in self._request.reservations:
            return RESERVED
        if not node.holds(amounts):
            return TOO_SMALL
        if not fits(node.available, amounts):
            return NO_ROOM
        return REFUSED if self._reason(node) else TAKES

    def _reason(self, node: Node) -> str:
        """Return why predicates refused a node, "" if they did not."""
        if not node.verdicts:
            return ""
        return node.verdicts.get(self._ask_class.predicate_class.refused(), "")

    def _view(self, node: Node) -> NodeVerdictView:
        lacking = _lacking(node, self._ask_class.amounts)
        names = self._partition.types.names
        return NodeVerdictView(
            node.node_id,
            self._verdict(node),
            {names[index]: amount for index, amount in lacking},
            self._reason(node),
        )


def _lacking(node: Node, amounts: Amounts) -> list[tuple[int, int]]:
    """Return what a node misses for amounts, by type index, in the order of the names."""
    found: list[tuple[int, int]] = []
    for index, amount in amounts.need:
        have = max(0, amount_at(node.available, index))
        if have < amount:
            found.append((index, amount - have))
    return found
