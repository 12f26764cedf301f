"""Changes of volumes, claims, classes and drivers, and which waiting pods each may help.

Busy clusters change volumes all the time. So a change wakes only classes that use a claim to which
it matters, and only if a filter about volumes refused them.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from remuda_kubernetes.objects.kinds import Kind
from remuda_kubernetes.objects.metadata import KubernetesObject
from remuda_kubernetes.objects.storage import (
    CsiDriver,
    CsiNode,
    CsiStorageCapacity,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
    VolumeAttachment,
)
from remuda_kubernetes.predicates.refusals import (
    NODE_VOLUME_LIMITS,
    VOLUME_BINDING,
    VOLUME_FILTERS,
    VOLUME_ZONE,
)
from remuda_kubernetes.predicates.storage import Storage
from remuda_kubernetes.predicates.waiting import Waiting


class StorageChanges:
    """Puts objects about volumes where they belong."""

    def __init__(self, storage: Storage, waiting: Waiting) -> None:
        self._storage = storage
        self._waiting = waiting

    def set(self, found: KubernetesObject) -> None:
        """Take a new or changed object; other kinds are ignored. Raises: ObjectError."""
        match found:
            case PersistentVolume():
                self._set_volume(found)
            case PersistentVolumeClaim():
                self._set_claim(found)
            case StorageClass():
                self._storage.set_class(found)
                self._wake(partial(self._storage.wants_class, found.name))
            case CsiNode():
                self._storage.set_csi_node(found)
                self._waiting.wake_node(found.name, NODE_VOLUME_LIMITS)
            case CsiDriver():
                self._storage.set_driver(found)
                self._waiting.wake(VOLUME_BINDING)
            case CsiStorageCapacity():
                self._storage.set_capacity(found)
                self._wake(partial(self._storage.wants_class, found.storage_class_name))
            case VolumeAttachment():
                self._storage.set_attachment(found)
            case _:
                pass

    def _set_volume(self, volume: PersistentVolume) -> None:
        old = self._storage.volumes.get(volume.name)
        if old is not None and _same(old.volume, volume):
            return
        self._storage.set_volume(volume)
        entry = self._storage.volumes[volume.name]
        self._wake(partial(self._storage.may_have, entry))

    def _set_claim(self, claim: PersistentVolumeClaim) -> None:
        self._storage.set_claim(claim)
        key = f"{claim.namespace}/{claim.name}"
        self._waiting.wake_claims(VOLUME_FILTERS, key.__eq__)
        # A claim and the volume that is attached for it count once from now on.
        if claim.spec.volume_name:
            self._waiting.wake(NODE_VOLUME_LIMITS)

    def _wake(self, concerned: Callable[[str], bool]) -> None:
        self._waiting.wake_claims(VOLUME_BINDING | VOLUME_ZONE, concerned)

    def remove(self, kind: Kind, namespace: str, name: str) -> None:
        """Note that an object is gone. Pods can profit only if the object limited something."""
        storage = self._storage
        match kind.name:
            case "PersistentVolume":
                storage.remove_volume(name)
                storage.forget(storage.promised, name)
            case "PersistentVolumeClaim":
                storage.forget(storage.claims, f"{namespace}/{name}")
                storage.forget(storage.selected, f"{namespace}/{name}")
            case "StorageClass":
                storage.forget(storage.classes, name)
            case "CSINode":
                storage.forget(storage.limits, name)
                self._waiting.wake_node(name, NODE_VOLUME_LIMITS)
            case "CSIDriver":
                storage.forget(storage.drivers, name)
                self._waiting.wake(VOLUME_BINDING)
            case "CSIStorageCapacity":
                storage.remove_capacity(f"{namespace}/{name}")
            case "VolumeAttachment":
                node = storage.remove_attachment(name)
                self._waiting.wake_node(node, NODE_VOLUME_LIMITS)
            case _:
                pass


def _same(old: PersistentVolume, new: PersistentVolume) -> bool:
    """Whether the filters see no difference."""
    return (
        old.spec == new.spec
        and old.status.phase == new.status.phase
        and old.labels == new.labels
        and old.annotations == new.annotations
        and old.metadata.deletion_timestamp == new.metadata.deletion_timestamp
    )
