"""Equal parts of objects are kept in memory once.

Pods of one job differ in their names, and hardly in labels, containers, tolerations and owners. A
record of a pod takes 5 kB as it is decoded, and about 1 kB if it shares those parts. The records
are frozen and their dictionaries are never changed, so that nobody can tell the difference; the
fresh ones are changed here before anybody has seen them.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

import msgspec

from remuda_kubernetes.objects.metadata import KubernetesObject, ObjectMeta
from remuda_kubernetes.objects.nodes import Node
from remuda_kubernetes.objects.pods import Pod

# The table is emptied when it has so many entries, so that it holds on to little that is gone.
_LIMIT: Final = 1 << 16
_set: Final = msgspec.structs.force_setattr
_text: Final = msgspec.json.Encoder().encode

_META_TEXTS: Final = ("namespace", "generate_name", "creation_timestamp")
_SPEC_TEXTS: Final = (
    "node_name",
    "scheduler_name",
    "restart_policy",
    "preemption_policy",
    "priority_class_name",
)
_STATUS_TEXTS: Final = ("phase", "reason")
# Parts with dictionaries in them are looked up by their JSON.
_SPEC_PARTS: Final = (
    "containers",
    "init_containers",
    "node_selector",
    "affinity",
    "overhead",
    "topology_spread_constraints",
    "resources",
)
_STATUS_PARTS: Final = ("container_statuses", "init_container_statuses")


class Sharing:
    """The parts that were seen."""

    def __init__(self) -> None:
        self._seen: Final[dict[Any, Any]] = {}

    def share(self, value: KubernetesObject) -> None:
        """Replace parts of a fresh record by equal ones that are there already."""
        if len(self._seen) > _LIMIT:
            self._seen.clear()
        if isinstance(value, Pod):
            self._pod(value)
        elif isinstance(value, Node):
            self._parts(value.status, ("capacity", "allocatable"))
            self._conditions(value.status, value.status.conditions)
        else:
            self._metadata(value.metadata)

    def _pod(self, pod: Pod) -> None:
        self._metadata(pod.metadata)
        spec, status = pod.spec, pod.status
        self._texts(spec, _SPEC_TEXTS)
        self._parts(spec, _SPEC_PARTS)
        found = spec.tolerations
        if found:
            _set(spec, "tolerations", self._seen.setdefault(found, found))
        self._texts(status, _STATUS_TEXTS)
        self._parts(status, _STATUS_PARTS)
        self._conditions(status, status.conditions)

    def _metadata(self, metadata: ObjectMeta) -> None:
        self._texts(metadata, _META_TEXTS)
        self._parts(metadata, ("labels", "annotations"))
        owners = metadata.owner_references
        if owners:
            _set(metadata, "owner_references", self._seen.setdefault(owners, owners))

    def _texts(self, record: Any, names: Iterable[str]) -> None:
        keep = self._seen.setdefault
        for name in names:
            found = getattr(record, name)
            if found:
                _set(record, name, keep(found, found))

    def _parts(self, record: Any, names: Iterable[str]) -> None:
        for name in names:
            found = getattr(record, name)
            if found:
                _set(record, name, self._seen.setdefault(_text(found), found))

    def _conditions(self, status: Any, conditions: tuple[Any, ...] | None) -> None:
        if not conditions:
            return
        shared = []
        for each in conditions:
            found = self._seen.get(each)
            if found is None:
                for name in each.__struct_fields__:
                    text = getattr(each, name)
                    if text:
                        _set(each, name, self._seen.setdefault(text, text))
                self._seen[each] = found = each
            shared.append(found)
        _set(status, "conditions", tuple(shared))
