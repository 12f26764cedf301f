"""Changes of nodes that may make room for an ask (rules: EXT-47)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from remuda.base.resources import Resource
from remuda.core.messages.commands import (
    CREATE,
    DRAIN_TO_SCHEDULABLE,
    START,
    UPDATE,
    ChangeObjectState,
    Command,
    NodeUpdate,
    UpdateNodes,
)
from remuda.core.messages.trace_queries import DRAINING, AskTraceView
from remuda.insight.changes import LARGER, NODE, TRIED, UNDRAIN, Change, Surroundings, amounts

# How many new nodes are proposed at most.
NODES_LIMIT: Final = 16

_PARTITION: Final = "si/node-partition"


def more_room(trace: AskTraceView, around: Surroundings) -> Iterator[Change]:
    """Yield ways to have room on a node: some draining ones, and one more."""
    nodes = trace.nearest if around.may_name_nodes else ()
    fitting = [each for each in nodes if each.verdict == DRAINING and not each.lacking]
    for node in fitting[:TRIED]:
        command = _undrain(around, node.node_id)
        yield Change(UNDRAIN, f"use node {node.node_id} again", commands=(command,))
    yield more_nodes(trace, around, 1)


def _undrain(around: Surroundings, node_id: str) -> Command:
    """Return what ends the drain of a node, by those who began it. Rules: EXT-176."""
    node = around.nodes.get(node_id)
    if node is not None and node.drained_by_operator:
        return ChangeObjectState(around.rm_id, around.partition, action=START, node=node_id)
    update = NodeUpdate(node_id, DRAIN_TO_SCHEDULABLE, attributes={_PARTITION: around.partition})
    return UpdateNodes(around.rm_id, (update,))


def more_nodes(trace: AskTraceView, around: Surroundings, count: int) -> Change:
    """Return so many more nodes, at most ``NODES_LIMIT``; the ask fits on each."""
    size = _with_ask(around.largest, trace)
    count = min(count, NODES_LIMIT)
    names = [around.name, *(f"{around.name}-{number}" for number in range(2, count + 1))]
    command = UpdateNodes(around.rm_id, tuple([_new(around, name, size) for name in names]))
    what = "one more node" if count == 1 else f"{count} more nodes, each"
    return Change(NODE, f"{what} with {amounts(size)}", commands=(command,), count=count)


def larger_node(trace: AskTraceView, around: Surroundings, node_id: str) -> Iterator[Change]:
    """Yield the node that an ask requires with room for it; if it is not there, it is added."""
    if not around.may_name_nodes:
        return
    node = around.nodes.get(node_id)
    if node is None:
        size = _with_ask({}, trace)
        command = UpdateNodes(around.rm_id, (_new(around, node_id, size),))
        yield Change(NODE, f"add node {node_id} with {amounts(size)}", commands=(command,))
        return
    size = dict(node.capacity)
    for name, amount in trace.ask.resource.items():
        lacking = amount - node.available.get(name, 0)
        size[name] = size.get(name, 0) + max(lacking, 0)
    if size != node.capacity:
        update = NodeUpdate(node_id, UPDATE, size, attributes={_PARTITION: around.partition})
        command = UpdateNodes(around.rm_id, (update,))
        text = f"enlarge node {node_id} to {amounts(size)}"
        yield Change(LARGER, text, commands=(command,))


def _with_ask(capacity: Resource, trace: AskTraceView) -> dict[str, int]:
    """Return a capacity with room for the ask at least."""
    size = dict(capacity)
    for name, amount in trace.ask.resource.items():
        size[name] = max(size.get(name, 0), amount)
    return size


def _new(around: Surroundings, node_id: str, size: Resource) -> NodeUpdate:
    return NodeUpdate(node_id, CREATE, size, attributes={_PARTITION: around.partition})
