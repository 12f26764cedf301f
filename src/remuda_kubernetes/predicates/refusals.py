"""Why a node refuses a pod, in the words of kube-scheduler.

The texts are facts that people search for, so they are those of current releases. Each refusal
names its filter, since a later change can only help if it concerns the filter that refused.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Final

# Each filter is one bit, so that the filters that refused a class fit into one number. The order
# is that of kube-scheduler: the first filter that refuses gives the reason.
NODE_UNSCHEDULABLE: Final = 1 << 0
NODE_NAME: Final = 1 << 1
TAINT_TOLERATION: Final = 1 << 2
NODE_AFFINITY: Final = 1 << 3
NODE_PORTS: Final = 1 << 4
NODE_RESOURCES: Final = 1 << 5
VOLUME_RESTRICTIONS: Final = 1 << 6
NODE_VOLUME_LIMITS: Final = 1 << 7
VOLUME_BINDING: Final = 1 << 8
VOLUME_ZONE: Final = 1 << 9
TOPOLOGY_SPREAD: Final = 1 << 10
INTER_POD_AFFINITY: Final = 1 << 11
DYNAMIC_RESOURCES: Final = 1 << 12

NAMES: Final = {
    "NodeUnschedulable": NODE_UNSCHEDULABLE,
    "NodeName": NODE_NAME,
    "TaintToleration": TAINT_TOLERATION,
    "NodeAffinity": NODE_AFFINITY,
    "NodePorts": NODE_PORTS,
    "NodeResourcesFit": NODE_RESOURCES,
    "VolumeRestrictions": VOLUME_RESTRICTIONS,
    "NodeVolumeLimits": NODE_VOLUME_LIMITS,
    "VolumeBinding": VOLUME_BINDING,
    "VolumeZone": VOLUME_ZONE,
    "PodTopologySpread": TOPOLOGY_SPREAD,
    "InterPodAffinity": INTER_POD_AFFINITY,
    "DynamicResources": DYNAMIC_RESOURCES,
}
VOLUME_FILTERS: Final = VOLUME_RESTRICTIONS | NODE_VOLUME_LIMITS | VOLUME_BINDING | VOLUME_ZONE

SUCCESS: Final = "Success"
UNSCHEDULABLE: Final = "Unschedulable"
UNRESOLVABLE: Final = "UnschedulableAndUnresolvable"
ERROR: Final = "Error"


@dataclass(frozen=True, slots=True)
class Refusal:
    """One filter's "no".

    ``verdict``: UNSCHEDULABLE (the end of other pods may help), UNRESOLVABLE (it may not), or ERROR
    (the filter cannot judge). ``reasons``: all texts of the filter; ``text`` joins them.
    """

    filter: int
    verdict: str
    reasons: tuple[str, ...]

    @property
    def text(self) -> str:
        """The reasons as one text."""
        return self.reasons[0] if len(self.reasons) == 1 else ", ".join(self.reasons)


def _soft(which: int, reason: str) -> Refusal:
    return Refusal(which, UNSCHEDULABLE, (reason,))


def _hard(which: int, reason: str) -> Refusal:
    return Refusal(which, UNRESOLVABLE, (reason,))


UNSCHEDULABLE_NODE: Final = _hard(NODE_UNSCHEDULABLE, "node(s) were unschedulable")
OTHER_NODE_NAME: Final = _hard(NODE_NAME, "node(s) didn't match the requested node name")
NO_AFFINITY: Final = _hard(NODE_AFFINITY, "node(s) didn't match Pod's node affinity/selector")
NO_ADDED_AFFINITY: Final = _hard(
    NODE_AFFINITY, "node(s) didn't match scheduler-enforced node affinity"
)
NO_PORTS: Final = _soft(NODE_PORTS, "node(s) didn't have free ports for the requested pod ports")
NO_ALLOCATABLE: Final = Refusal(
    NODE_RESOURCES,
    ERROR,
    ("node(s) reported no allocatable resources; check that the node's kubelet runs",),
)
DISK_CONFLICT: Final = _soft(VOLUME_RESTRICTIONS, "node(s) had no available disk")
ONE_POD_CLAIM: Final = _soft(
    VOLUME_RESTRICTIONS,
    "node has pod using PersistentVolumeClaim with the same name and ReadWriteOncePod access mode",
)
TOO_MANY_VOLUMES: Final = _soft(NODE_VOLUME_LIMITS, "node(s) exceed max volume count")
UNBOUND_IMMEDIATE: Final = _hard(VOLUME_BINDING, "pod has unbound immediate PersistentVolumeClaims")
NO_VOLUME_ZONE: Final = _hard(VOLUME_ZONE, "node(s) had no available volume zone")
TOO_SKEWED: Final = _soft(TOPOLOGY_SPREAD, "node(s) didn't match pod topology spread constraints")
NO_TOPOLOGY_LABEL: Final = _hard(
    TOPOLOGY_SPREAD,
    "node(s) didn't match pod topology spread constraints (missing required label)",
)
NO_POD_AFFINITY: Final = _hard(INTER_POD_AFFINITY, "node(s) didn't match pod affinity rules")
POD_ANTI_AFFINITY: Final = _soft(INTER_POD_AFFINITY, "node(s) didn't match pod anti-affinity rules")
EXISTING_ANTI_AFFINITY: Final = _soft(
    INTER_POD_AFFINITY, "node(s) didn't satisfy existing pods anti-affinity rules"
)

VOLUME_GONE: Final = "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)"
VOLUME_ELSEWHERE: Final = "node(s) didn't match PersistentVolume's node affinity"
NO_VOLUME: Final = "node(s) didn't find available persistent volumes to bind"
NO_STORAGE_ROOM: Final = "node(s) did not have enough free storage"


@lru_cache(maxsize=1024)
def untolerated(key: str, value: str) -> Refusal:
    """Return the refusal by a taint."""
    return _hard(TAINT_TOLERATION, f"node(s) had untolerated taint {{{key}: {value}}}")


@lru_cache(maxsize=1024)
def insufficient(names: tuple[str, ...]) -> Refusal:
    """Return the refusal by resources of which too little is free; "pods" is their number."""
    texts = tuple("Too many pods" if name == "pods" else f"Insufficient {name}" for name in names)
    return Refusal(NODE_RESOURCES, UNSCHEDULABLE, texts)


@lru_cache(maxsize=1024)
def unbindable(*reasons: str) -> Refusal:
    """Return the refusal by volumes that cannot be bound or reached."""
    return Refusal(VOLUME_BINDING, UNRESOLVABLE, reasons)


@lru_cache(maxsize=1024)
def no_devices(reason: str, *, lasting: bool = True) -> Refusal:
    """Return the refusal by resource claims."""
    verdict = UNRESOLVABLE if lasting else UNSCHEDULABLE
    return Refusal(DYNAMIC_RESOURCES, verdict, (reason,))


@lru_cache(maxsize=1024)
def unknown_node(name: str) -> Refusal:
    """Return the refusal of a node that the server does not have (any more)."""
    return _hard(NODE_NAME, f"node {name} is not known")
