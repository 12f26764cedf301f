"""Taints of nodes and the tolerations of pods.

Source: the documentation of Kubernetes, "Taints and Tolerations".
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from remuda_kubernetes.objects.nodes import Taint
from remuda_kubernetes.objects.pods import Toleration

_KEEPING_AWAY: Final = frozenset({"NoSchedule", "NoExecute"})
CORDON: Final = Taint(key="node.kubernetes.io/unschedulable", effect="NoSchedule")

Tolerations = tuple[Toleration, ...]


def tolerates(tolerations: Iterable[Toleration], taint: Taint) -> bool:
    """Whether one of the tolerations tolerates a taint."""
    return any(_tolerates(each, taint) for each in tolerations)


def _tolerates(toleration: Toleration, taint: Taint) -> bool:
    if toleration.effect and toleration.effect != taint.effect:
        return False
    if toleration.key and toleration.key != taint.key:
        return False
    if toleration.operator in {"", "Equal"}:
        return toleration.value == taint.value
    return toleration.operator == "Exists"


def first_untolerated(tolerations: Tolerations, taints: Iterable[Taint]) -> Taint | None:
    """Return the first taint that keeps a pod away; a preference does not."""
    for taint in taints:
        if taint.effect in _KEEPING_AWAY and not tolerates(tolerations, taint):
            return taint
    return None
