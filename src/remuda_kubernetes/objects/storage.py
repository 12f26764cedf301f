"""Volumes: what decides on which nodes a pod can reach them."""

from __future__ import annotations

from remuda_kubernetes.objects.metadata import KubernetesObject, LabelSelector, ObjectReference
from remuda_kubernetes.objects.pods import (
    Amounts,
    AwsDiskSource,
    GceDiskSource,
    NodeSelector,
    ResourceRequirements,
)
from remuda_kubernetes.objects.values import Value


class CsiVolumeSource(Value, frozen=True):
    """A volume of a CSI driver."""

    driver: str = ""
    volume_handle: str = ""


class VolumeNodeAffinity(Value, frozen=True):
    """The nodes that can reach a volume."""

    required: NodeSelector | None = None


class PersistentVolumeSpec(Value, frozen=True):
    """What a volume is, and which claim has it."""

    capacity: Amounts | None = None
    access_modes: tuple[str, ...] | None = None
    claim_ref: ObjectReference | None = None
    storage_class_name: str = ""
    volume_mode: str | None = None
    node_affinity: VolumeNodeAffinity | None = None
    csi: CsiVolumeSource | None = None
    gce_persistent_disk: GceDiskSource | None = None
    aws_elastic_block_store: AwsDiskSource | None = None


class PersistentVolumeStatus(Value, frozen=True):
    """Phases: Pending, Available, Bound, Released, Failed."""

    phase: str = ""


class PersistentVolume(KubernetesObject, frozen=True):
    """A volume."""

    spec: PersistentVolumeSpec = PersistentVolumeSpec()
    status: PersistentVolumeStatus = PersistentVolumeStatus()


class ClaimSpec(Value, frozen=True):
    """What a claim wants, and which volume it got."""

    access_modes: tuple[str, ...] | None = None
    selector: LabelSelector | None = None
    resources: ResourceRequirements | None = None
    volume_name: str = ""
    storage_class_name: str | None = None
    volume_mode: str | None = None


class ClaimStatus(Value, frozen=True):
    """Phases: Pending, Bound, Lost."""

    phase: str = ""
    capacity: Amounts | None = None


class PersistentVolumeClaim(KubernetesObject, frozen=True):
    """A claim for a volume."""

    spec: ClaimSpec = ClaimSpec()
    status: ClaimStatus = ClaimStatus()


class TopologyExpression(Value, frozen=True):
    """One label that a node must have, with one of some values."""

    key: str = ""
    values: tuple[str, ...] | None = None


class TopologyTerm(Value, frozen=True):
    """Labels that must all be there."""

    match_label_expressions: tuple[TopologyExpression, ...] | None = None


class StorageClass(KubernetesObject, frozen=True):
    """How volumes are made. Modes of binding: Immediate, WaitForFirstConsumer."""

    provisioner: str = ""
    volume_binding_mode: str = "Immediate"
    allowed_topologies: tuple[TopologyTerm, ...] | None = None


class DriverAllocatable(Value, frozen=True):
    """How many volumes of a driver a node can have; None: any number."""

    count: int | None = None


class CsiNodeDriver(Value, frozen=True):
    """A driver on a node."""

    name: str = ""
    allocatable: DriverAllocatable | None = None


class CsiNodeSpec(Value, frozen=True):
    """The drivers of a node."""

    drivers: tuple[CsiNodeDriver, ...] | None = None


class CsiNode(KubernetesObject, frozen=True):
    """What a node's CSI drivers can do; has the name of the node."""

    spec: CsiNodeSpec = CsiNodeSpec()


class CsiDriverSpec(Value, frozen=True):
    """Whether a driver reports how much room its storage has."""

    storage_capacity: bool = False


class CsiDriver(KubernetesObject, frozen=True):
    """A CSI driver."""

    spec: CsiDriverSpec = CsiDriverSpec()


class CsiStorageCapacity(KubernetesObject, frozen=True):
    """How much room a storage class has where some nodes are."""

    node_topology: LabelSelector | None = None
    storage_class_name: str = ""
    capacity: str | int | None = None
    maximum_volume_size: str | int | None = None


class AttachmentSource(Value, frozen=True):
    """The volume that is attached."""

    persistent_volume_name: str | None = None


class VolumeAttachmentSpec(Value, frozen=True):
    """Which volume is attached where."""

    node_name: str = ""
    source: AttachmentSource = AttachmentSource()


class VolumeAttachment(KubernetesObject, frozen=True):
    """A volume that is, or is being, attached to a node."""

    spec: VolumeAttachmentSpec = VolumeAttachmentSpec()
