"""Hollow nodes and pods of the measurements, as the API server would show them.

Applications of equal pods ask for a little of the room, so that all of them fit. All predicates
have something to judge: nodes have zones, some have a taint; some pods tolerate the taint, and some
may choose nodes by a selector or an affinity.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

Json = dict[str, Any]

# One node of so many has the taint.
_TAINTED: Final = 20
_TAINT: Final = {"key": "dedicated", "value": "batch", "effect": "NoSchedule"}
_AMOUNTS: Final = {"cpu": "64", "memory": "256Gi", "ephemeral-storage": "100Gi", "pods": "110"}

QUEUES: Final = """
partitions:
  - name: default
    placementrules:
      - name: provided
        create: true
    queues:
      - name: root
        submitacl: '*'
        queues:
          - name: scale
            parent: true
"""


@dataclass(frozen=True, slots=True)
class Size:
    """A cluster.

    ``queues``: leaves that take turns. ``each``: pods of one application, which are one predicate
    class. ``apart``: each pod keeps away from nodes with pods of its own application. ``choosy``:
    of four applications one chooses one of the ``zones``, and one the half of them.
    """

    nodes: int
    pods: int
    queues: int = 1
    each: int = 50
    apart: bool = False
    choosy: bool = False
    zones: int = 10


def configuration() -> Json:
    """Return the ConfigMap with the queues."""
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "yunikorn-configs", "namespace": "yunikorn"},
        "data": {"queues.yaml": QUEUES},
    }


def namespace(name: str) -> Json:
    """Return a namespace."""
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}


def nodes(size: Size) -> Iterator[Json]:
    """Yield the nodes, in zones, all of them ready."""
    for number in range(size.nodes):
        name = f"node-{number:05}"
        spec: Json = {"taints": [_TAINT]} if number % _TAINTED == 0 else {}
        zone = f"zone-{number % size.zones}"
        yield {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {
                "name": name,
                "labels": {"kubernetes.io/hostname": name, "topology.kubernetes.io/zone": zone},
            },
            "spec": spec,
            "status": {
                "allocatable": _AMOUNTS,
                "capacity": _AMOUNTS,
                "conditions": [{"type": "Ready", "status": "True"}],
            },
        }


def pods(size: Size) -> Iterator[Json]:
    """Yield the pods, one application after the other."""
    for number in range(size.pods):
        yield pod(size, number)


def pod(size: Size, number: int) -> Json:
    """Return one pod."""
    application = number // size.each
    name = f"app-{application:04}"
    labels = {
        "app": name,
        "applicationId": name,
        "queue": f"root.scale.q{application % size.queues}",
        "pod-index": str(number),
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": f"{name}-{number:06}", "namespace": "scale", "labels": labels},
        "spec": {
            "schedulerName": "yunikorn",
            "containers": [
                {
                    "name": "main",
                    "image": "registry.invalid/pause",
                    "resources": {"requests": {"cpu": "100m", "memory": "256Mi"}},
                }
            ],
            **_wishes(application, name, size),
        },
    }


def _wishes(application: int, name: str, size: Size) -> Json:
    """Return what the pods of an application want of their nodes."""
    wishes: Json = {}
    zone = "topology.kubernetes.io/zone"
    kind = application % 4
    affinity: Json = {}
    if kind == 1 and size.choosy:
        wishes["nodeSelector"] = {zone: f"zone-{application % size.zones}"}
    elif kind == 2 and size.choosy:
        zones = [f"zone-{each}" for each in range(size.zones // 2)]
        term = {"matchExpressions": [{"key": zone, "operator": "In", "values": zones}]}
        required = {"nodeSelectorTerms": [term]}
        affinity["nodeAffinity"] = {"requiredDuringSchedulingIgnoredDuringExecution": required}
    elif kind == 3:
        wishes["tolerations"] = [{**_TAINT, "operator": "Equal"}]
    if size.apart:
        away = {
            "labelSelector": {"matchLabels": {"app": name}},
            "topologyKey": "kubernetes.io/hostname",
        }
        affinity["podAntiAffinity"] = {"requiredDuringSchedulingIgnoredDuringExecution": [away]}
    if affinity:
        wishes["affinity"] = affinity
    return wishes
