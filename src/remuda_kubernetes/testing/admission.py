"""What admission does with new objects: namespaces have to exist, priorities come from classes.

Source: recordings of a real server, release 1.20, and the documentation of admission controllers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from remuda_kubernetes.testing.resources import NAMESPACE, PRIORITY_CLASS, Resource
from remuda_kubernetes.testing.statuses import Json, Refusal, details_of, forbidden, not_found

if TYPE_CHECKING:
    from remuda_kubernetes.testing.cluster import Cluster

SYSTEM_CLASSES: Final = (
    {"metadata": {"name": "system-cluster-critical"}, "value": 2_000_000_000},
    {"metadata": {"name": "system-node-critical"}, "value": 2_000_001_000},
)


def admit(cluster: Cluster, resource: Resource, item: Json) -> None:
    """Complete a new object, or refuse it. Raises: Refusal 403, 404."""
    if resource.namespaced:
        _check_namespace(cluster, resource, item)
    if resource.kind == "Pod":
        _set_priority(cluster, item)


def _check_namespace(cluster: Cluster, resource: Resource, item: Json) -> None:
    if not cluster.settings.namespaces_required:
        return
    name = item["metadata"]["namespace"]
    found = cluster.store.collection(NAMESPACE.storage).get(name)
    if found is None:
        raise not_found("namespaces", "", name)
    if found.item["metadata"].get("deletionTimestamp"):
        why = f"unable to create new content in namespace {name} because it is being terminated"
        refusal = forbidden(resource.plural, resource.group, item["metadata"]["name"], why)
        details = details_of(item["metadata"]["name"], resource.group, resource.plural)
        cause = {
            "reason": "NamespaceTerminating",
            "message": f"namespace {name} is being terminated",
            "field": "metadata.namespace",
        }
        raise Refusal(403, str(refusal), details={**details, "causes": [cause]})


def _set_priority(cluster: Cluster, item: Json) -> None:
    """Give a pod the priority and the preemption policy of its class, or of the default class."""
    spec = dict(item.get("spec") or {})
    classes = cluster.store.collection(PRIORITY_CLASS.storage)
    name = spec.get("priorityClassName")
    if name:
        found = classes.get(name)
        if found is None:
            why = f"no PriorityClass with name {name} was found"
            raise forbidden("pods", "", item["metadata"]["name"], why)
        chosen = found.item
    else:
        defaults = [each.item for each in classes.now.records.values()]
        defaults = [each for each in defaults if each.get("globalDefault")]
        chosen = max(defaults, key=lambda each: int(each["value"]), default={})
        if chosen:
            spec["priorityClassName"] = chosen["metadata"]["name"]
    spec["priority"] = chosen.get("value", 0)
    spec.setdefault("preemptionPolicy", chosen.get("preemptionPolicy", "PreemptLowerPriority"))
    item["spec"] = spec
