"""What goes with something else: dependents of deleted owners, the content of namespaces.

Source: the documentation of Kubernetes, "Owners and Dependents" and "Garbage Collection".
"""

from __future__ import annotations

from typing import ClassVar, Final

from remuda_kubernetes.testing.client import ApiFailure
from remuda_kubernetes.testing.mirrors import key_of
from remuda_kubernetes.testing.reconciling import Controller, Mirrors
from remuda_kubernetes.testing.statuses import Json

_KINDS: Final = {
    "pods": "Pod",
    "replicasets": "ReplicaSet",
    "jobs": "Job",
    "configmaps": "ConfigMap",
    "persistentvolumeclaims": "PersistentVolumeClaim",
    "poddisruptionbudgets": "PodDisruptionBudget",
    "nodes": "Node",
}
_FOREGROUND: Final = "foregroundDeletion"
_ORPHAN: Final = "orphan"
_CONTENT_SECONDS: Final = 0.1


class Collector(Controller):
    """Deletes objects none of whose owners exists. Owners of other kinds than these count as there.

    Keys: KIND KEY, as in "pods default/a".
    """

    watched: ClassVar[tuple[str, ...]] = tuple(_KINDS)

    def __init__(self, mirrors: Mirrors) -> None:
        super().__init__(mirrors)
        # What belongs to an owner, by the owner's identity.
        self._dependents: dict[str, set[str]] = {}

    def changed(self, plural: str, kind: str, item: Json) -> None:
        """Look at dependents of what is gone, at what has owners, and at what waits for others."""
        me, metadata = f"{plural} {key_of(item)}", item["metadata"]
        for reference in metadata.get("ownerReferences") or ():
            dependents = self._dependents.setdefault(reference["uid"], set())
            if kind == "DELETED":
                dependents.discard(me)
                self._look_at(reference)
            else:
                dependents.add(me)
        if kind == "DELETED":
            for dependent in self._dependents.pop(metadata["uid"], ()):
                self.loop.add(dependent)
        elif metadata.get("ownerReferences") or metadata.get("deletionTimestamp"):
            self.loop.add(me)

    async def reconcile(self, key: str) -> None:
        """Delete an object if its owners are gone, or let it go if it waits for dependents."""
        plural, _, name = key.partition(" ")
        item = self.mirrors[plural].items.get(name)
        if item is None:
            return
        if item["metadata"].get("deletionTimestamp"):
            await self._release(plural, item)
            return
        references = item["metadata"].get("ownerReferences") or []
        if not references or any(self._is_there(item, each) for each in references):
            return
        metadata = item["metadata"]
        try:
            await self.api.delete(self.mirrors.path(plural, item), uid=metadata["uid"])
        except ApiFailure as failure:
            if failure.code not in {404, 409}:
                raise

    def _look_at(self, reference: Json) -> None:
        for plural, kind in _KINDS.items():
            if kind == reference["kind"]:
                for key, item in self.mirrors[plural].items.items():
                    if item["metadata"]["uid"] == reference["uid"]:
                        self.loop.add(f"{plural} {key}")
                        return

    def _is_there(self, item: Json, reference: Json) -> bool:
        """Whether an owner exists, or is of a kind that is not looked at."""
        for plural, kind in _KINDS.items():
            if kind != reference["kind"]:
                continue
            namespace = item["metadata"].get("namespace", "")
            key = f"{namespace}/{reference['name']}" if kind != "Node" else reference["name"]
            owner = self.mirrors[plural].items.get(key)
            return owner is not None and owner["metadata"]["uid"] == reference["uid"]
        return True

    async def _release(self, plural: str, item: Json) -> None:
        """Carry out what a deleted object waits for, and take its finalizer away."""
        finalizers = item["metadata"].get("finalizers") or []
        dependents = self._dependents.get(item["metadata"]["uid"], set())
        if _FOREGROUND in finalizers:
            if not dependents:
                await self._without(plural, item, _FOREGROUND)
            for dependent in sorted(dependents):
                await self._delete(dependent)
        elif _ORPHAN in finalizers:
            for dependent in sorted(dependents):
                await self._leave(dependent, item["metadata"]["uid"])
            await self._without(plural, item, _ORPHAN)

    async def _delete(self, key: str) -> None:
        plural, _, name = key.partition(" ")
        item = self.mirrors[plural].items.get(name)
        if item is not None and not item["metadata"].get("deletionTimestamp"):
            await self.api.delete(self.mirrors.path(plural, item), uid=item["metadata"]["uid"])

    async def _leave(self, key: str, uid: str) -> None:
        """Let a dependent belong to nobody of this identity."""
        plural, _, name = key.partition(" ")
        item = self.mirrors[plural].items.get(name)
        if item is not None:
            owners = item["metadata"].get("ownerReferences") or []
            kept = [each for each in owners if each["uid"] != uid] or None
            body = {"metadata": {"ownerReferences": kept}}
            await self.api.patch(self.mirrors.path(plural, item), body)

    async def _without(self, plural: str, item: Json, finalizer: str) -> None:
        kept = [each for each in item["metadata"]["finalizers"] if each != finalizer] or None
        body = {"metadata": {"finalizers": kept, "uid": item["metadata"]["uid"]}}
        await self.api.patch(self.mirrors.path(plural, item), body)


class Namespaces(Controller):
    """Empties namespaces that are being deleted, and lets them go."""

    watched: ClassVar[tuple[str, ...]] = ("namespaces",)

    def changed(self, plural: str, kind: str, item: Json) -> None:
        """Look at namespaces that are being deleted."""
        if kind != "DELETED" and item["metadata"].get("deletionTimestamp"):
            self.loop.add(key_of(item))

    async def reconcile(self, key: str) -> None:
        """Delete the content; without content the namespace has no finalizer any more."""
        namespace = self.mirrors["namespaces"].items.get(key)
        if namespace is None:
            return
        left = 0
        for head, plural in await self._kinds():
            path = f"{head}/namespaces/{key}/{plural}"
            listed = await self.api.get(path, limit="1")
            if listed["items"]:
                left += 1
                await self.api.delete(path)
        if left:
            self.loop.later(key, _CONTENT_SECONDS)
            return
        body = {**namespace, "apiVersion": "v1", "kind": "Namespace", "spec": {"finalizers": []}}
        await self.api.replace(f"/api/v1/namespaces/{key}/finalize", body)

    async def _kinds(self) -> list[tuple[str, str]]:
        """Return the paths and names of what a namespace can hold."""
        groups = (await self.api.get("/apis"))["groups"]
        versions = [f"/apis/{each['preferredVersion']['groupVersion']}" for each in groups]
        found = []
        for head in ["/api/v1", *versions]:
            offered = await self.api.get(head)
            found += [
                (head, each["name"])
                for each in offered["resources"]
                if each["namespaced"] and "deletecollection" in each["verbs"]
            ]
        return found
