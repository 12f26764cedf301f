"""The kinds of objects that are watched or written: where the server keeps them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from remuda_kubernetes.objects.cluster import (
    ConfigMap,
    Lease,
    Namespace,
    PodDisruptionBudget,
    PriorityClass,
    ReplicaSet,
    ReplicationController,
    Service,
    StatefulSet,
)
from remuda_kubernetes.objects.devices import ResourceClaim
from remuda_kubernetes.objects.metadata import KubernetesObject
from remuda_kubernetes.objects.nodes import Node
from remuda_kubernetes.objects.pods import Pod
from remuda_kubernetes.objects.storage import (
    CsiDriver,
    CsiNode,
    CsiStorageCapacity,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
    VolumeAttachment,
)


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of object.

    ``name`` is that of the API, ``plural`` the word in paths. ``versions``: those that the records
    can be read from, the best first; the server's discovery says which there are.
    """

    name: str
    plural: str
    type: type[KubernetesObject]
    group: str = ""
    versions: tuple[str, ...] = ("v1",)
    namespaced: bool = True

    def path(self, version: str, namespace: str = "", name: str = "") -> str:
        """Return the path of all objects, those of a namespace, or one object."""
        root = f"/apis/{self.group}/{version}" if self.group else f"/api/{version}"
        within = f"/namespaces/{namespace}" if self.namespaced and namespace else ""
        return f"{root}{within}/{self.plural}" + (f"/{name}" if name else "")


POD: Final = Kind("Pod", "pods", Pod)
NODE: Final = Kind("Node", "nodes", Node, namespaced=False)
CONFIG_MAP: Final = Kind("ConfigMap", "configmaps", ConfigMap)
NAMESPACE: Final = Kind("Namespace", "namespaces", Namespace, namespaced=False)
PRIORITY_CLASS: Final = Kind(
    "PriorityClass",
    "priorityclasses",
    PriorityClass,
    group="scheduling.k8s.io",
    namespaced=False,
)
PERSISTENT_VOLUME: Final = Kind(
    "PersistentVolume", "persistentvolumes", PersistentVolume, namespaced=False
)
CLAIM: Final = Kind("PersistentVolumeClaim", "persistentvolumeclaims", PersistentVolumeClaim)
_STORAGE: Final = "storage.k8s.io"
STORAGE_CLASS: Final = Kind(
    "StorageClass", "storageclasses", StorageClass, group=_STORAGE, namespaced=False
)
CSI_NODE: Final = Kind("CSINode", "csinodes", CsiNode, group=_STORAGE, namespaced=False)
CSI_DRIVER: Final = Kind("CSIDriver", "csidrivers", CsiDriver, group=_STORAGE, namespaced=False)
CSI_CAPACITY: Final = Kind(
    "CSIStorageCapacity",
    "csistoragecapacities",
    CsiStorageCapacity,
    group=_STORAGE,
    versions=("v1", "v1beta1"),
)
ATTACHMENT: Final = Kind(
    "VolumeAttachment", "volumeattachments", VolumeAttachment, group=_STORAGE, namespaced=False
)
SERVICE: Final = Kind("Service", "services", Service)
REPLICATION_CONTROLLER: Final = Kind(
    "ReplicationController", "replicationcontrollers", ReplicationController
)
REPLICA_SET: Final = Kind("ReplicaSet", "replicasets", ReplicaSet, group="apps")
STATEFUL_SET: Final = Kind("StatefulSet", "statefulsets", StatefulSet, group="apps")
BUDGET: Final = Kind(
    "PodDisruptionBudget",
    "poddisruptionbudgets",
    PodDisruptionBudget,
    group="policy",
    versions=("v1", "v1beta1"),
)
RESOURCE_CLAIM: Final = Kind(
    "ResourceClaim",
    "resourceclaims",
    ResourceClaim,
    group="resource.k8s.io",
    versions=("v1", "v1beta2", "v1beta1"),
)
LEASE: Final = Kind("Lease", "leases", Lease, group="coordination.k8s.io")

# What is watched. Without the kinds after the first three the shim works, with less to go by.
WATCHED: Final = (
    NAMESPACE,
    PRIORITY_CLASS,
    CONFIG_MAP,
    NODE,
    STORAGE_CLASS,
    CSI_NODE,
    CSI_DRIVER,
    CSI_CAPACITY,
    PERSISTENT_VOLUME,
    CLAIM,
    ATTACHMENT,
    SERVICE,
    REPLICATION_CONTROLLER,
    REPLICA_SET,
    STATEFUL_SET,
    BUDGET,
    RESOURCE_CLAIM,
    POD,
)
