"""Nodes: the scheduler gets each with what it can give.

A cordoned node stays schedulable for the scheduler: the predicates keep pods away that do not
tolerate it, and pods that do, such as those of a DaemonSet, may go there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from remuda.si.pb import si_pb2 as si
from remuda_kubernetes.objects.nodes import Node
from remuda_kubernetes.objects.values import ObjectError
from remuda_kubernetes.shim import placing, pods
from remuda_kubernetes.shim.effects import ToScheduler
from remuda_kubernetes.shim.state import Phase, State
from remuda_kubernetes.translation import object_events, requests, resources


def changed(state: State, old: Node | None, new: Node | None) -> None:
    """Take in a node that came, changed, or went."""
    if new is None:
        assert old is not None
        _gone(state, old)
        return
    try:
        state.cluster.set_node(new)
    except ObjectError as error:
        state.post(object_events.node_rejected(new, str(error)))
        return
    if state.phase is not Phase.RUNNING:
        return
    if new.name not in state.placed:
        add(state, [new])
        pods.on_node(state, new)
        if not state.telling:
            # Else all nodes are opened together, when all pods were told.
            open_nodes(state, [new.name])
    elif old is None or _told(old) != _told(new):
        info = _read(state, new, requests.changed_node)
        if info is not None:
            _send(state, [info])


def add(state: State, nodes: list[Node]) -> None:
    """Tell the scheduler of nodes that it does not know; broken ones are left out.

    The scheduler places no pod on them until they are opened.
    """
    infos = []
    for node in nodes:
        info = _read(state, node, requests.new_node)
        if info is not None:
            state.placed.add(node.name)
            infos.append(info)
    _send(state, infos)


def open_nodes(state: State, names: Iterable[str]) -> None:
    """Let the scheduler use nodes, after all that runs there was reported."""
    action = si.NodeInfo.DRAIN_TO_SCHEDULABLE
    _send(state, [requests.node_action(name, action) for name in names if name in state.placed])


def look_again(state: State, names: list[str]) -> None:
    """Have the scheduler ask again about nodes whose predicates may have another answer."""
    known = [name for name in names if name in state.placed]
    _send(state, [requests.node_action(name, si.NodeInfo.UPDATE) for name in known])


def answered(state: State, response: si.NodeResponse) -> None:
    """Take in which nodes the scheduler took."""
    for accepted in response.accepted:
        node = state.objects.node(accepted.nodeID)
        if accepted.nodeID in state.listed:
            state.listed.discard(accepted.nodeID)
        elif isinstance(node, Node):
            state.post(object_events.node_accepted(node))
    for rejected in response.rejected:
        state.placed.discard(rejected.nodeID)
        node = state.objects.node(rejected.nodeID)
        if isinstance(node, Node):
            state.post(object_events.node_rejected(node, rejected.reason))


def _gone(state: State, node: Node) -> None:
    state.cluster.remove_node(node.name)
    if node.name not in state.placed:
        return
    state.placed.discard(node.name)
    for pod in placing.on_node(state, node.name):
        state.foreign.discard(pod.uid)
    _send(state, [requests.node_action(node.name, si.NodeInfo.DECOMISSION)])


def _read(
    state: State, node: Node, translate: Callable[[Node, str], si.NodeInfo]
) -> si.NodeInfo | None:
    try:
        return translate(node, state.settings.instance_type_label)
    except ObjectError as error:
        state.post(object_events.node_rejected(node, str(error)))
        return None


def _told(node: Node) -> tuple[dict[str, int] | None, object, bool]:
    """Return all that the scheduler is told of a node but its name."""
    try:
        amounts = resources.node_amounts(node)
    except ObjectError:
        amounts = None
    return amounts, node.labels, node.ready


def _send(state: State, infos: list[si.NodeInfo]) -> None:
    if infos:
        state.outbox.put(ToScheduler(si.NodeRequest(rmID=state.rm_id, nodes=infos)))
