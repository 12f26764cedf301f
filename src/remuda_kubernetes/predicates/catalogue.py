"""Objects of all other kinds: each goes where the filters look, and wakes what it may help."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from remuda_kubernetes.objects import kinds
from remuda_kubernetes.objects.cluster import Namespace
from remuda_kubernetes.objects.devices import ResourceClaim
from remuda_kubernetes.objects.kinds import Kind
from remuda_kubernetes.objects.metadata import KubernetesObject
from remuda_kubernetes.predicates.devices import DeviceClaim, device_claim
from remuda_kubernetes.predicates.refusals import (
    DYNAMIC_RESOURCES,
    INTER_POD_AFFINITY,
    VOLUME_BINDING,
)
from remuda_kubernetes.predicates.storage import Storage
from remuda_kubernetes.predicates.storage_changes import StorageChanges
from remuda_kubernetes.predicates.topology import Topology
from remuda_kubernetes.predicates.waiting import Waiting
from remuda_kubernetes.predicates.workloads import Workloads

_WORKLOADS: Final = frozenset({"Service", "ReplicationController", "ReplicaSet", "StatefulSet"})


class Catalogue:
    """Sorts objects by kind. ``devices``: the resource claims by "namespace/name"."""

    def __init__(
        self, storage: Storage, workloads: Workloads, topology: Topology, waiting: Waiting
    ) -> None:
        self.devices: dict[str, DeviceClaim] = {}
        self._storage = StorageChanges(storage, waiting)
        self._workloads = workloads
        self._topology = topology
        self._waiting = waiting

    def set(self, kind: Kind, found: KubernetesObject) -> None:
        """Take a new or changed object. Raises: ObjectError."""
        if isinstance(found, Namespace):
            self._set_namespace(found.name, found.labels)
        elif isinstance(found, ResourceClaim):
            self.devices[f"{found.namespace}/{found.name}"] = device_claim(found)
            self._waiting.wake(DYNAMIC_RESOURCES)
        elif kind.name in _WORKLOADS:
            self._workloads.set(kind.name, found)
            self._waiting.workloads_changed(found.namespace)
        else:
            self._storage.set(found)

    def remove(self, kind: Kind, namespace: str, name: str) -> None:
        """Note that an object is gone."""
        if kind is kinds.NAMESPACE:
            self._set_namespace(name, None)
        elif kind is kinds.RESOURCE_CLAIM:
            self.devices.pop(f"{namespace}/{name}", None)
        elif kind.name in _WORKLOADS:
            self._workloads.remove(kind.name, namespace, name)
            self._waiting.workloads_changed(namespace)
        else:
            self._storage.remove(kind, namespace, name)

    def storage_changed(self) -> None:
        """Wake what volumes that became free may help."""
        self._waiting.wake(VOLUME_BINDING)

    def _set_namespace(self, name: str, labels: Mapping[str, str] | None) -> None:
        if self._topology.set_namespace(name, labels):
            # The pods of this namespace may match other terms now, and terms other pods.
            self._waiting.wake(INTER_POD_AFFINITY)
