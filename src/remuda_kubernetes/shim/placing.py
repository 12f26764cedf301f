"""Which pods are on which nodes, for the filters and for the reports to the scheduler.

A pod is counted where it runs, and where it is about to run from the moment of the decision.
"""

from __future__ import annotations

from remuda_kubernetes.objects.pods import Pod
from remuda_kubernetes.objects.values import ObjectError
from remuda_kubernetes.shim.state import State
from remuda_kubernetes.translation import object_events


def place(state: State, pod: Pod, node: str) -> None:
    """Count a pod on a node. One that cannot be read is told, and not counted by the filters."""
    if state.node_of.get(pod.uid) != node:
        _leave(state, pod.uid)
    state.node_of[pod.uid] = node
    state.on_node.setdefault(node, {})[pod.uid] = pod
    try:
        state.cluster.set_pod(pod, node)
    except ObjectError as error:
        state.post(object_events.object_faults("Pod", pod, str(error)))


def remove(state: State, uid: str) -> None:
    """Count a pod nowhere."""
    _leave(state, uid)
    state.cluster.remove_pod(uid)


def _leave(state: State, uid: str) -> None:
    node = state.node_of.pop(uid, None)
    if node is not None:
        pods = state.on_node[node]
        del pods[uid]
        if not pods:
            del state.on_node[node]


def on_node(state: State, node: str) -> list[Pod]:
    """Return the pods on a node, in the order of their arrival."""
    return list(state.on_node.get(node, {}).values())
