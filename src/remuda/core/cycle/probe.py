"""Asks the RM again about nodes it refused; no ask waits for the answer (rules: EXT-15, SI-10).

The asks of the class stay blocked. They are unblocked only if a node passes.
"""

from __future__ import annotations

from remuda.core.model.asks.ask_class import AskClass
from remuda.core.model.asks.class_queue import ClassQueue
from remuda.core.model.asks.retries import SLICE
from remuda.core.model.decision import Probe
from remuda.core.model.nodes.node import Node
from remuda.core.model.partition import Partition
from remuda.core.model.vectors import fits
from remuda.core.ports import NodesQuestion, Predicates


def decide_probe(partition: Partition, predicates: Predicates) -> Probe:
    """Ask about the next slice of nodes of the current predicate class.

    Rules: EXT-13, EXT-15, NOD-13.
    """
    retries = partition.waiting.retries
    predicate_class = retries.current
    assert predicate_class is not None
    probe = Probe(predicate_class)
    for ask_class in retries.left[:SLICE]:
        class_queue = _choose_nodes(partition, ask_class, probe)
        if class_queue is not None:
            if probe.nodes:
                probe.answer = predicates(_question(partition, class_queue, probe))
            break
        probe.skipped += 1
    return probe


def _choose_nodes(partition: Partition, ask_class: AskClass, probe: Probe) -> ClassQueue | None:
    """Put the nodes to ask about into ``probe``; return the class queue to ask for, or None.

    None: no node is left for this ask class. Nodes that were asked about in this round are skipped.
    Rules: EXT-15.
    """
    retries = partition.waiting.retries
    if not ask_class.waiting:
        return None
    class_queue = next(iter(ask_class.waiting.values()))
    goes_on = probe.skipped == 0
    if not (goes_on and retries.reserving):
        nodes = _with_room(partition, ask_class, retries.after if goes_on else None)
        probe.nodes = [node for node in nodes if node.node_id not in retries.done]
        probe.last = nodes[-1] if len(nodes) == SLICE else None
        if probe.nodes or probe.last is not None:
            return class_queue
    if ask_class.may_reserve:
        probe.nodes, class_queue = _to_reserve(partition, ask_class, class_queue)
        probe.reserving = len(probe.nodes) > 0
    return class_queue if probe.reserving else None


def _question(partition: Partition, class_queue: ClassQueue, probe: Probe) -> NodesQuestion:
    ask = class_queue.first().first().ask
    return NodesQuestion(
        partition.rm_id,
        ask.application_id,
        ask.allocation_key,
        not probe.reserving,
        tuple([node.node_id for node in probe.nodes]),
        equivalence=ask.equivalence,
    )


def _with_room(partition: Partition, ask_class: AskClass, after: Node | None) -> list[Node]:
    """Return the next nodes that have room for an ask class. Rules: CYC-14, CYC-15."""
    if ask_class.required_node:
        node = partition.nodes.get(ask_class.required_node)
        fitting = (
            node is not None and ask_class.reaches(node) and fits(node.available, ask_class.amounts)
        )
        return [node] if node is not None and fitting else []
    order = partition.pool.order_of(ask_class.node_policy)
    if after is not None and not order.has(after):
        return []
    return order.fitting(ask_class.amounts, after, SLICE)


def _to_reserve(
    partition: Partition, ask_class: AskClass, class_queue: ClassQueue
) -> tuple[list[Node], ClassQueue]:
    """Return the refused node that a class queue of an ask class would reserve.

    Rules: RSV-4.
    """
    for each in ask_class.waiting.values():
        reservation_refused = partition.reserving.refused.get(each.number)
        if reservation_refused is not None:
            node = reservation_refused[1]
            known = partition.nodes.get(node.node_id) is node
            return [node] if known and not node.reservations else [], each
    return [], class_queue
