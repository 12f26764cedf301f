"""Answers questions about amounts alone (rules: EXT-25)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import assert_never

from remuda.core.messages.holdings import Holder, HoldingsQuery, HoldingView
from remuda.core.model.applications.application import Application
from remuda.core.model.nodes.node import Node
from remuda.core.model.partition import Partition
from remuda.core.model.queues.queue import Queue
from remuda.core.model.vectors import add_vector, copy


def holding_views(partition: Partition, query: HoldingsQuery) -> tuple[HoldingView, ...]:
    """Return one page of the amounts that queues, applications or nodes hold. Rules: EXT-25.

    Cost: O(page), and a comparison of each name.
    """
    if query.holder is Holder.QUEUE:
        queues = {each.path: each for each in partition.queues(partition.root)}
        return tuple([_queue(partition, queues[path]) for path in _page(queues, query)])
    if query.holder is Holder.APPLICATION:
        names = _page(partition.applications, query)
        return tuple([_application(partition, partition.applications[name]) for name in names])
    if query.holder is Holder.NODE:
        names = _page(partition.nodes, query)
        return tuple([_node(partition, partition.nodes[name]) for name in names])
    assert_never(query.holder)


def _page(names: Iterable[str], query: HoldingsQuery) -> list[str]:
    """Return the names of the page, sorted."""
    if query.name:
        return [name for name in names if name == query.name]
    return sorted([name for name in names if name > query.after])[: query.limit]


def _queue(partition: Partition, queue: Queue) -> HoldingView:
    types = partition.types
    return HoldingView(
        name=queue.path,
        state=queue.state,
        allocated=types.resource(queue.allocated),
        capacity=None if queue.maximum is None else types.resource(queue.maximum),
        guaranteed=None if queue.guaranteed is None else types.resource(queue.guaranteed),
        pending=types.resource(queue.pending),
    )


def _application(partition: Partition, application: Application) -> HoldingView:
    types = partition.types
    gang = application.gang
    allocated = copy(application.allocated)
    if gang is not None:
        add_vector(allocated, gang.usage)
    return HoldingView(
        name=application.record.application_id,
        state=application.state,
        allocated=types.resource(allocated),
        pending=types.resource(application.pending),
        placeholder=None if gang is None else types.resource(gang.usage),
    )


def _node(partition: Partition, node: Node) -> HoldingView:
    types = partition.types
    return HoldingView(
        name=node.node_id,
        state="Draining" if not node.schedulable else "Ready" if node.ready() else "NotReady",
        allocated=types.resource(node.allocated),
        capacity=dict(node.total.resource),
        occupied=types.resource(node.occupied),
    )
