"""The volume controller: claims and volumes find each other, and volumes are made for claims.

A claim of a class that waits for its first consumer is left alone until the scheduler has chosen a
volume (its claim reference) or a node (an annotation of the claim).
Source: the documentation of Kubernetes, "Persistent Volumes" and "Storage Classes".
"""

from __future__ import annotations

from typing import ClassVar, Final

from remuda_kubernetes.objects.quantities import whole
from remuda_kubernetes.testing.client import ApiFailure
from remuda_kubernetes.testing.mirrors import key_of
from remuda_kubernetes.testing.reconciling import Controller
from remuda_kubernetes.testing.statuses import Json

NO_PROVISIONER: Final = "kubernetes.io/no-provisioner"
SELECTED_NODE: Final = "volume.kubernetes.io/selected-node"
_BOUND: Final = "pv.kubernetes.io/bind-completed"
_CLAIM_PROTECTION: Final = "kubernetes.io/pvc-protection"
_VOLUME_PROTECTION: Final = "kubernetes.io/pv-protection"
# Before the name of a volume, where else there is the key of a claim.
_VOLUME: Final = "volume:"
_HOST: Final = "kubernetes.io/hostname"


class Volumes(Controller):
    """Binds claims and volumes, makes volumes of classes that have a provisioner, lets both go.

    Keys: "claims NAMESPACE/NAME" and "volumes NAME".
    """

    watched: ClassVar[tuple[str, ...]] = (
        "persistentvolumeclaims",
        "persistentvolumes",
        "storageclasses",
        "pods",
    )

    def changed(self, plural: str, kind: str, item: Json) -> None:
        """Look at a claim or volume, or at all claims that wait for what is new."""
        claims = self.mirrors["persistentvolumeclaims"].items
        if plural == "persistentvolumeclaims":
            self.loop.add(f"claims {key_of(item)}")
            if kind == "DELETED" and item["spec"].get("volumeName"):
                self.loop.add(f"volumes {item['spec']['volumeName']}")
        elif plural == "pods":
            for key, claim in claims.items():
                if claim["metadata"].get("deletionTimestamp"):
                    self.loop.add(f"claims {key}")
        else:
            if plural == "persistentvolumes":
                self.loop.add(f"volumes {key_of(item)}")
            for key, claim in claims.items():
                if claim["status"].get("phase") != "Bound":
                    self.loop.add(f"claims {key}")

    async def reconcile(self, key: str) -> None:
        """Bring a claim nearer to its volume, or let a volume go."""
        plural, _, name = key.partition(" ")
        if plural == "volumes":
            await self._settle(name)
            return
        claim = self.mirrors["persistentvolumeclaims"].items.get(name)
        if claim is None:
            return
        if claim["metadata"].get("deletionTimestamp"):
            if not self._is_used(claim):
                await self._release("persistentvolumeclaims", claim, _CLAIM_PROTECTION)
            return
        if claim["status"].get("phase") == "Bound":
            return
        volume = self._chosen(claim) or self._fitting(claim)
        if volume is not None:
            await self._bind(claim, volume)
        elif self._may_be_made(claim):
            await self._make(claim)

    async def _settle(self, name: str) -> None:
        """Say that a volume is free, or whose claim is gone; let a deleted one go."""
        volume = self.mirrors["persistentvolumes"].items.get(name)
        if volume is None:
            return
        reference = volume["spec"].get("claimRef")
        path = self.mirrors.path("persistentvolumes", volume)
        claimed = reference is not None and self._is_there(reference)
        if volume["metadata"].get("deletionTimestamp"):
            if not claimed:
                await self._release("persistentvolumes", volume, _VOLUME_PROTECTION)
        elif reference is None:
            if volume["status"].get("phase") != "Available":
                await self.api.patch(f"{path}/status", {"status": {"phase": "Available"}})
        elif not claimed and reference.get("uid"):
            if volume["spec"].get("persistentVolumeReclaimPolicy") == "Delete":
                await self.api.delete(path)
            elif volume["status"].get("phase") != "Released":
                await self.api.patch(f"{path}/status", {"status": {"phase": "Released"}})

    def _is_there(self, reference: Json) -> bool:
        """Whether the claim that a volume names exists."""
        key = f"{reference.get('namespace')}/{reference.get('name')}"
        claim = self.mirrors["persistentvolumeclaims"].items.get(key)
        return claim is not None and reference.get("uid") in {None, claim["metadata"]["uid"]}

    def _is_used(self, claim: Json) -> bool:
        """Whether a pod that has not ended has the claim."""
        metadata = claim["metadata"]
        return any(
            (volume.get("persistentVolumeClaim") or {}).get("claimName") == metadata["name"]
            for pod in self.mirrors["pods"].items.values()
            if pod["metadata"]["namespace"] == metadata["namespace"]
            and pod["status"].get("phase") not in {"Succeeded", "Failed"}
            for volume in pod["spec"].get("volumes") or ()
        )

    async def _release(self, plural: str, item: Json, finalizer: str) -> None:
        found = item["metadata"].get("finalizers") or []
        if finalizer in found:
            kept = [each for each in found if each != finalizer] or None
            body = {"metadata": {"finalizers": kept}}
            await self.api.patch(self.mirrors.path(plural, item), body)

    def _chosen(self, claim: Json) -> Json | None:
        """Return the volume that names a claim, or that the claim names."""
        volumes = self.mirrors["persistentvolumes"].items
        named = volumes.get(claim["spec"].get("volumeName", ""))
        if named is not None:
            return named
        metadata = claim["metadata"]
        for volume in volumes.values():
            reference = volume["spec"].get("claimRef") or {}
            if (reference.get("namespace"), reference.get("name")) == (
                metadata["namespace"],
                metadata["name"],
            ) and reference.get("uid", metadata["uid"]) == metadata["uid"]:
                return volume
        return None

    def _fitting(self, claim: Json) -> Json | None:
        """Return the smallest free volume for a claim that need not wait for a pod."""
        if self._waits(claim):
            return None
        spec = claim["spec"]
        wanted = whole(((spec.get("resources") or {}).get("requests") or {}).get("storage", "0"))
        modes = set(spec.get("accessModes") or ())
        free = [
            volume
            for volume in self.mirrors["persistentvolumes"].items.values()
            if not volume["spec"].get("claimRef")
            and volume["spec"].get("storageClassName", "") == (spec.get("storageClassName") or "")
            and modes <= set(volume["spec"].get("accessModes") or ())
            and _size(volume) >= wanted
        ]
        return min(free, key=_size, default=None)

    def _class(self, claim: Json) -> Json:
        name = claim["spec"].get("storageClassName") or ""
        return self.mirrors["storageclasses"].items.get(name) or {}

    def _waits(self, claim: Json) -> bool:
        return self._class(claim).get("volumeBindingMode") == "WaitForFirstConsumer"

    def _may_be_made(self, claim: Json) -> bool:
        provisioner = self._class(claim).get("provisioner", NO_PROVISIONER)
        chosen = (claim["metadata"].get("annotations") or {}).get(SELECTED_NODE)
        return provisioner != NO_PROVISIONER and (bool(chosen) or not self._waits(claim))

    async def _make(self, claim: Json) -> None:
        """Make a volume where the claim's pod will run."""
        metadata, spec = claim["metadata"], claim["spec"]
        node = (metadata.get("annotations") or {}).get(SELECTED_NODE)
        storage = ((spec.get("resources") or {}).get("requests") or {}).get("storage", "1Gi")
        driver = self._class(claim)["provisioner"]
        name = f"pvc-{metadata['uid']}"
        body: Json = {
            "apiVersion": "v1",
            "kind": "PersistentVolume",
            "metadata": {"name": name},
            "spec": {
                "capacity": {"storage": storage},
                "accessModes": spec.get("accessModes") or ["ReadWriteOnce"],
                "storageClassName": spec.get("storageClassName"),
                "claimRef": _reference(claim),
                "csi": {"driver": driver, "volumeHandle": name},
                "persistentVolumeReclaimPolicy": "Delete",
            },
        }
        if node:
            expression = {"key": _HOST, "operator": "In", "values": [node]}
            terms = [{"matchExpressions": [expression]}]
            body["spec"]["nodeAffinity"] = {"required": {"nodeSelectorTerms": terms}}
        try:
            made = await self.api.create("/api/v1/persistentvolumes", body)
        except ApiFailure as failure:
            if failure.reason != "AlreadyExists":
                raise
            return
        self.mirrors["persistentvolumes"].put(made)
        self.loop.add(f"claims {key_of(claim)}")

    async def _bind(self, claim: Json, volume: Json) -> None:
        """Let a volume and a claim name each other."""
        path = self.mirrors.path("persistentvolumes", volume)
        if (volume["spec"].get("claimRef") or {}).get("uid") != claim["metadata"]["uid"]:
            await self.api.patch(path, {"spec": {"claimRef": _reference(claim)}})
        await self.api.patch(f"{path}/status", {"status": {"phase": "Bound"}})
        path = self.mirrors.path("persistentvolumeclaims", claim)
        annotations = {_BOUND: "yes"}
        spec = {"volumeName": volume["metadata"]["name"]}
        await self.api.patch(path, {"metadata": {"annotations": annotations}, "spec": spec})
        status = {
            "phase": "Bound",
            "accessModes": volume["spec"].get("accessModes") or [],
            "capacity": volume["spec"].get("capacity") or {},
        }
        await self.api.patch(f"{path}/status", {"status": status})


def _size(volume: Json) -> int:
    return whole((volume["spec"].get("capacity") or {}).get("storage", "0"))


def _reference(claim: Json) -> Json:
    metadata = claim["metadata"]
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "namespace": metadata["namespace"],
        "name": metadata["name"],
        "uid": metadata["uid"],
    }
