"""What groups pods, for spread constraints that an administrator set as default.

Source: the documentation of Kubernetes, "Pod Topology Spread Constraints", cluster-level default
constraints: they count the pods that the Services of a pod and its controller choose.
"""

from __future__ import annotations

from remuda_kubernetes.objects.cluster import (
    ReplicaSet,
    ReplicationController,
    Service,
    StatefulSet,
)
from remuda_kubernetes.objects.metadata import KubernetesObject, OwnerReference
from remuda_kubernetes.objects.pods import Pod
from remuda_kubernetes.predicates.selection import (
    NOTHING,
    Selector,
    both,
    compile_selector,
    equal_selector,
)

_CONTROLLERS = {
    ("v1", "ReplicationController"): "ReplicationController",
    ("apps/v1", "ReplicaSet"): "ReplicaSet",
    ("apps/v1", "StatefulSet"): "StatefulSet",
}


class Workloads:
    """Services and controllers by namespace."""

    def __init__(self) -> None:
        self._services: dict[str, dict[str, dict[str, str]]] = {}
        self._controllers: dict[tuple[str, str, str], Selector] = {}

    def set(self, kind: str, found: KubernetesObject) -> None:
        """Take a service or a controller."""
        key = (kind, found.namespace, found.name)
        if isinstance(found, Service):
            self._forget_service(found.namespace, found.name)
            if found.spec.selector:
                services = self._services.setdefault(found.namespace, {})
                services[found.name] = found.spec.selector
        elif isinstance(found, ReplicationController):
            self._controllers[key] = equal_selector(found.spec.selector or {})
        elif isinstance(found, ReplicaSet | StatefulSet):
            self._controllers[key] = compile_selector(found.spec.selector)

    def remove(self, kind: str, namespace: str, name: str) -> None:
        """Forget a service or a controller."""
        if kind == "Service":
            self._forget_service(namespace, name)
        self._controllers.pop((kind, namespace, name), None)

    def _forget_service(self, namespace: str, name: str) -> None:
        services = self._services.get(namespace, {})
        services.pop(name, None)
        if not services:
            self._services.pop(namespace, None)

    def selector(self, pod: Pod) -> Selector | None:
        """Return the pods that default constraints count; None: nothing chooses this pod."""
        pairs: dict[str, str] = {}
        for chosen in self._services.get(pod.namespace, {}).values():
            if all(pod.labels.get(key) == value for key, value in chosen.items()):
                pairs.update(chosen)
        selector = equal_selector(pairs)
        owner = _controller(pod)
        if owner is not None:
            kind = _CONTROLLERS.get((owner.api_version, owner.kind), "")
            own = self._controllers.get((kind, pod.namespace, owner.name))
            if own is not None and own != NOTHING:
                selector = both(selector, own)
        return selector if selector.equal or selector.others else None


def _controller(pod: Pod) -> OwnerReference | None:
    return next((each for each in pod.metadata.owner_references or () if each.controller), None)
