"""Nodes."""

from __future__ import annotations

from remuda_kubernetes.objects.metadata import KubernetesObject
from remuda_kubernetes.objects.pods import Amounts
from remuda_kubernetes.objects.values import Value


class Taint(Value, frozen=True):
    """Keeps pods away that do not tolerate it. Effects: NoSchedule, PreferNoSchedule, NoExecute."""

    key: str = ""
    value: str = ""
    effect: str = ""


class NodeSpec(Value, frozen=True):
    """What operators want of a node."""

    unschedulable: bool = False
    taints: tuple[Taint, ...] | None = None


class NodeCondition(Value, frozen=True):
    """One condition of a node."""

    type: str = ""
    status: str = ""
    reason: str = ""
    message: str = ""


class NodeStatus(Value, frozen=True):
    """What a node has."""

    capacity: Amounts | None = None
    allocatable: Amounts | None = None
    conditions: tuple[NodeCondition, ...] | None = None


class Node(KubernetesObject, frozen=True):
    """A node."""

    spec: NodeSpec = NodeSpec()
    status: NodeStatus = NodeStatus()

    @property
    def ready(self) -> bool:
        """Whether its kubelet says that it works."""
        return any(
            each.type == "Ready" and each.status == "True" for each in self.status.conditions or ()
        )
