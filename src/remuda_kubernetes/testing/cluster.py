"""Writing objects: create, update and patch, with the checks and defaults of their kinds.

This is the part of a server between its HTTP and its store. It raises a Refusal for what a real
server would refuse, and nothing is written then.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from remuda_kubernetes.testing import admission, deletion, pod_rules, webhooks
from remuda_kubernetes.testing.defaults import filled, normalised
from remuda_kubernetes.testing.event_rules import event_causes
from remuda_kubernetes.testing.identity import (
    generated_name,
    metadata_causes,
    new_uid,
    timestamp,
)
from remuda_kubernetes.testing.owners import Owners, changed_paths
from remuda_kubernetes.testing.resources import NAMESPACE, RESOURCES, Resource
from remuda_kubernetes.testing.settings import Settings
from remuda_kubernetes.testing.statuses import (
    Cause,
    Json,
    Refusal,
    bad_request,
    conflict,
    exists,
    invalid,
    invalid_value,
    not_found,
)
from remuda_kubernetes.testing.store import Record, Store, versioned

_GIVEN_METADATA: Final = (
    "name",
    "generateName",
    "namespace",
    "labels",
    "annotations",
    "ownerReferences",
    "finalizers",
)
# Of these a write has to say which version it replaces.
_VERSION_REQUIRED: Final = frozenset({"Lease", "PodDisruptionBudget"})
_GENERATED_TRIES: Final = 8
_UNSTORED: Final = frozenset({"kind", "apiVersion"})


@dataclass(frozen=True, slots=True)
class Writer:
    """The author of a write, whether it is only a trial, and whether it is a patch.

    ``user``, ``groups``: who the author is for admission webhooks.
    """

    manager: str = "unknown"
    api_version: str = "v1"
    dry_run: bool = False
    patched: bool = False
    user: str = "kubernetes-admin"
    groups: tuple[str, ...] = ("system:masters", "system:authenticated")


class Cluster:
    """The objects of a server and the rules for changing them."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.store = Store(settings.history)
        self._kinds = {resource.kind: resource for resource in reversed(RESOURCES)}
        for name in ("default", "kube-system", "kube-public", "kube-node-lease"):
            self.create(NAMESPACE, "", {"metadata": {"name": name}}, Writer())
        for item in admission.SYSTEM_CLASSES:
            self.create(self._kinds["PriorityClass"], "", item, Writer())

    def get(self, resource: Resource, namespace: str, name: str) -> Record:
        """Return an object. Raises: Refusal 404."""
        record = self.store.collection(resource.storage).get(resource.key(namespace, name))
        if record is None:
            raise not_found(resource.plural, resource.group, name)
        return record

    def create(self, resource: Resource, namespace: str, body: Json, writer: Writer) -> Record:
        """Create an object. Raises: Refusal."""
        item = self._new_item(resource, namespace, body)
        admission.admit(self, resource, item)
        name = item["metadata"]["name"]
        item = normalised(resource.kind, filled(resource.kind, item, self.settings))
        item = normalised(resource.kind, webhooks.mutated(self, resource, item, None, writer))
        if causes := self._creation_causes(resource, item):
            # Both APIs of events are the same to the server then.
            raise invalid(resource.kind, resource.storage[0], name, causes)
        key = resource.key(namespace, name)
        if self.store.collection(resource.storage).get(key) is not None:
            raise exists(resource.plural, resource.group, name)
        webhooks.validated(self, resource, item, None, writer)
        owners = Owners(writer.manager, writer.api_version, {})
        if writer.dry_run:
            return _unstored(key, item, owners)
        return self.store.write(resource.storage, key, item, owners)

    def change(
        self,
        resource: Resource,
        record: Record,
        after: Json,
        writer: Writer,
        *,
        part: str = "",
        owners: Owners | None = None,
    ) -> Record:
        """Replace an object. ``part``: the sub-resource, "" the object itself. Raises: Refusal."""
        before = record.item
        self._check_preconditions(resource, before, after, patched=writer.patched)
        item = self._merged(resource, before, after, part)
        item = normalised(resource.kind, item)
        if not part:
            item = webhooks.mutated(self, resource, item, before, writer)
        if causes := self._update_causes(resource, before, item, part):
            name = before["metadata"]["name"]
            raise invalid(resource.kind, resource.group, name, causes)
        if not part:
            webhooks.validated(self, resource, item, before, writer)
        if owners is None:
            paths = changed_paths(before, item)
            owners = record.owners.taken(writer.manager, paths, applied=False)
        if writer.dry_run:
            return _unstored(record.key, item, owners)
        if deletion.is_due(resource, item):
            # The store tells the last content that it had; the caller sees what it wrote.
            self.store.delete(resource.storage, record.key)
            return _unstored(record.key, item, owners)
        return self.store.write(resource.storage, record.key, item, owners)

    def load(self, objects: Iterable[Json], *, keep_versions: bool = False) -> int:
        """Take many whole objects at once and return how many; nothing is checked.

        Watches get no events. A missing identity and missing defaults are filled in.
        ``keep_versions``: of their metadata, too; else all get the next versions. It is for
        clusters that exist when a test begins.
        """
        grouped: dict[tuple[str, str], list[Record]] = {}
        for given in objects:
            resource = self._kinds.get(str(given.get("kind")))
            if resource is None:
                raise bad_request(f"there is no kind {given.get('kind')!r}")
            record = self._loaded(resource, given, keep_versions=keep_versions)
            grouped.setdefault(resource.storage, []).append(record)
        for storage, records in grouped.items():
            self.store.collection(storage).load(records)
        return sum(map(len, grouped.values()))

    def _loaded(self, resource: Resource, given: Json, *, keep_versions: bool) -> Record:
        metadata = dict(given["metadata"])
        if resource.namespaced:
            metadata.setdefault("namespace", "default")
        else:
            metadata.pop("namespace", None)
        metadata.setdefault("uid", new_uid())
        metadata.setdefault("creationTimestamp", timestamp())
        if resource.has_generation:
            metadata.setdefault("generation", 1)
        item = _plain({**given, "metadata": metadata})
        full = filled(resource.kind, item, self.settings)
        # The status of the object is kept, and so are the taints of a node.
        if item.get("status"):
            full["status"] = {**full.get("status", {}), **item["status"]}
        if resource.kind == "Node" and "spec" in item:
            full["spec"] = item["spec"]
        full = normalised(resource.kind, full)
        if keep_versions and "resourceVersion" in metadata:
            version = int(metadata["resourceVersion"])
            self.store.version = max(self.store.version, version)
        else:
            self.store.version += 1
            version = self.store.version
        key = resource.key(metadata.get("namespace", ""), metadata["name"])
        return versioned(key, full, version, Owners("load", "v1", {}))

    def _new_item(self, resource: Resource, namespace: str, body: Json) -> Json:
        given = body.get("metadata") or {}
        if given.get("resourceVersion"):
            message = "resourceVersion should not be set on objects to be created"
            raise Refusal(500, message, reason="")
        if resource.namespaced and (given.get("namespace") or namespace) != namespace:
            raise bad_request(
                "the namespace of the provided object does not match the namespace sent on the "
                "request"
            )
        metadata = {name: given[name] for name in _GIVEN_METADATA if given.get(name)}
        metadata.pop("namespace", None)
        if resource.namespaced:
            metadata["namespace"] = namespace
        metadata["uid"] = new_uid()
        metadata["creationTimestamp"] = timestamp()
        if resource.has_generation or (resource.kind == "Pod" and self.settings.has_generations):
            metadata["generation"] = 1
        if not metadata.get("name"):
            metadata["name"] = self._free_name(resource, namespace, metadata)
        return _plain({**body, "metadata": metadata})

    def _free_name(self, resource: Resource, namespace: str, metadata: Json) -> str:
        prefix = metadata.get("generateName", "")
        if not prefix:
            return ""
        collection = self.store.collection(resource.storage)
        name = generated_name(prefix)
        for _ in range(_GENERATED_TRIES):
            if collection.get(resource.key(namespace, name)) is None:
                break
            name = generated_name(prefix)
        return name

    def _creation_causes(self, resource: Resource, item: Json) -> list[Cause]:
        causes = metadata_causes(item["metadata"], resource.kind)
        if resource.kind == "Pod":
            causes += pod_rules.creation_causes(item)
        elif resource.kind == "Event":
            new_api, minor = bool(resource.group), self.settings.minor
            causes += event_causes(item, new_api=new_api, minor=minor)
        return causes

    def _check_preconditions(
        self, resource: Resource, before: Json, after: Json, *, patched: bool
    ) -> None:
        """Refuse a write that is about another object or an older version of it."""
        given, metadata = after.get("metadata") or {}, before["metadata"]
        name = metadata["name"]
        if (given.get("name") or name) != name:
            raise bad_request(
                f"the name of the object ({given['name']}) does not match the name on the URL "
                f"({name})"
            )
        if given.get("uid") and given["uid"] != metadata["uid"]:
            if patched:
                cause = invalid_value("metadata.uid", given["uid"], "field is immutable")
                raise invalid(resource.kind, resource.group, name, [cause])
            why = (
                f"Precondition failed: UID in precondition: {given['uid']}, "
                f"UID in object meta: {metadata['uid']}"
            )
            raise conflict(resource.plural, resource.group, name, why)
        version = given.get("resourceVersion")
        if not version and resource.kind in _VERSION_REQUIRED:
            field, text = "metadata.resourceVersion", "must be specified for an update"
            cause = ("FieldValueInvalid", field, f"Invalid value: 0x0: {text}")
            raise invalid(resource.plural, resource.group, name, [cause])
        if version and version != metadata["resourceVersion"]:
            raise conflict(resource.plural, resource.group, name)

    def _merged(self, resource: Resource, before: Json, after: Json, part: str) -> Json:
        """Return what is to be stored: what a client may not change is as it was."""
        given = after.get("metadata") or {}
        metadata = {
            name: value
            for name, value in before["metadata"].items()
            if name not in {"labels", "annotations", "ownerReferences", "finalizers"}
        }
        for name in ("labels", "annotations", "ownerReferences", "finalizers"):
            if given.get(name):
                metadata[name] = given[name]
        item = _plain({**after, "metadata": metadata})
        if part == "status":
            item = {**before, "metadata": metadata, "status": item.get("status") or {}}
        elif resource.has_status and "status" in before:
            item["status"] = before["status"]
        if metadata.get("generation") and item.get("spec") != before.get("spec"):
            item["metadata"]["generation"] = metadata["generation"] + 1
        return item

    def _update_causes(
        self, resource: Resource, before: Json, item: Json, part: str
    ) -> list[Cause]:
        causes = metadata_causes(item["metadata"], resource.kind)
        if resource.kind == "Pod" and part == "":
            causes += pod_rules.update_causes(before, item)
        return causes

    def modify(self, resource: Resource, record: Record, edit: Callable[[Json], Json]) -> Record:
        """Change an object as the server itself does, past all checks."""
        return self.store.write(resource.storage, record.key, edit(record.item), record.owners)


def _plain(item: Json) -> Json:
    """Return an object as it is stored: without kind and version, and without nulls."""
    return {name: _without_nulls(value) for name, value in item.items() if name not in _UNSTORED}


def _without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _without_nulls(inner) for name, inner in value.items() if inner is not None}
    if isinstance(value, list):
        return [_without_nulls(inner) for inner in value]
    return value


def _unstored(key: str, item: Json, owners: Owners) -> Record:
    """Return an object that is not kept, as an answer."""
    return Record(key, item, 0, msgspec.json.encode(item), owners)
