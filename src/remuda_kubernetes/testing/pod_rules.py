"""Which pods may be created, and what of a pod may be changed afterwards.

Sources: recordings of a real server, release 1.20, for fields and reasons; the API reference for
scheduling gates and the resize sub-resource.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from remuda_kubernetes.objects.quantities import scaled
from remuda_kubernetes.testing.amounts import quality_class
from remuda_kubernetes.testing.pod_defaults import normal_resources
from remuda_kubernetes.testing.statuses import (
    Cause,
    Json,
    forbidden_value,
    invalid_value,
    required,
)

_ONLY: Final = (
    "pod updates may not change fields other than `spec.containers[*].image`, "
    "`spec.initContainers[*].image`, `spec.activeDeadlineSeconds` or `spec.tolerations` (only "
    "additions to existing tolerations)"
)
_RESIZE_ONLY: Final = "only cpu and memory resources are mutable"
_THOUSAND: Final = 1000
# Of a pod with gates these may still be narrowed.
_GATED_FIELDS: Final = ("nodeSelector", "affinity")


def creation_causes(item: Json) -> Iterator[Cause]:
    """Yield what is wrong with a new pod, defaults filled in."""
    spec = item["spec"]
    containers = spec.get("containers") or []
    if not containers:
        yield required("spec.containers")
    seen: set[str] = set()
    for place, container in enumerate(containers):
        yield from _container_causes(container, f"spec.containers[{place}]", seen)
    for place, container in enumerate(spec.get("initContainers") or []):
        yield from _container_causes(container, f"spec.initContainers[{place}]", seen)
    if spec.get("nodeName") and spec.get("schedulingGates"):
        yield forbidden_value(
            "spec.nodeName", "cannot be set until all schedulingGates have been cleared"
        )


def _container_causes(container: Json, field: str, seen: set[str]) -> Iterator[Cause]:
    name = container.get("name") or ""
    if not name:
        yield required(f"{field}.name")
    elif name in seen:
        yield "FieldValueDuplicate", f"{field}.name", f'Duplicate value: "{name}"'
    seen.add(name)
    if not container.get("image"):
        yield required(f"{field}.image")
    limits = container["resources"].get("limits") or {}
    for resource, quantity in (container["resources"].get("requests") or {}).items():
        at = f"{field}.resources.requests"
        if scaled(quantity, _THOUSAND) < 0:
            yield invalid_value(f"{at}[{resource}]", quantity, "must be greater than or equal to 0")
        limit = limits.get(resource)
        if limit is not None and scaled(quantity, _THOUSAND) > scaled(limit, _THOUSAND):
            text = f"must be less than or equal to {resource} limit of {limit}"
            yield invalid_value(at, quantity, text)


def update_causes(before: Json, after: Json) -> Iterator[Cause]:
    """Yield what may not be changed of a pod and was."""
    old, new = before["spec"], after.get("spec") or {}
    if old == new:
        return
    old_gates = [each["name"] for each in old.get("schedulingGates") or ()]
    new_gates = [each["name"] for each in new.get("schedulingGates") or ()]
    if not set(new_gates) <= set(old_gates):
        yield forbidden_value("spec.schedulingGates", "only deletion is allowed")
    allowed = dict(new)
    _keep(allowed, old, "schedulingGates", "activeDeadlineSeconds")
    if old_gates:
        _keep(allowed, old, *_GATED_FIELDS)
    for name in ("containers", "initContainers"):
        allowed[name] = _with_images(new.get(name), old.get(name))
        _keep(allowed, allowed, name)
    tolerations = new.get("tolerations") or []
    if all(each in tolerations for each in old.get("tolerations") or ()):
        _keep(allowed, old, "tolerations")
    if allowed != {name: value for name, value in old.items() if value is not None}:
        yield forbidden_value("spec", _ONLY)


def _keep(target: Json, source: Json, *names: str) -> None:
    """Let fields of a target be those of a source; what the source lacks is removed."""
    for name in names:
        if source.get(name) is None:
            target.pop(name, None)
        else:
            target[name] = source[name]


def _with_images(new: Any, old: Any) -> Any:
    """Return new containers with the images of the old ones."""
    if not isinstance(new, list) or not isinstance(old, list) or len(new) != len(old):
        return new
    return [{**each, "image": was.get("image")} for each, was in zip(new, old, strict=True)]


def resized(before: Json, after: Json, *, proposed: bool) -> tuple[Json, list[Cause]]:
    """Return a pod with the resources of another, and what else that would change.

    ``proposed``: the status says that the kubelet has not agreed yet, as releases before 1.33 do.
    """
    new = _normal_containers((after.get("spec") or {}).get("containers") or [])
    old = before["spec"]["containers"]
    causes: list[Cause] = []
    if len(new) != len(old):
        causes.append(forbidden_value("spec", _RESIZE_ONLY))
        return before, causes
    containers = [
        {**was, "resources": each["resources"]} for each, was in zip(new, old, strict=True)
    ]
    if containers != new:
        causes.append(forbidden_value("spec", _RESIZE_ONLY))
    spec = {**before["spec"], "containers": containers}
    quality = before["status"].get("qosClass")
    if quality and quality_class(spec) != quality:
        text = "Pod QOS Class may not change as a result of resizing"
        causes.append(invalid_value("spec", quality, text))
    status = dict(before["status"])
    if proposed and spec != before["spec"]:
        status["resize"] = "Proposed"
    return {**before, "spec": spec, "status": status}, causes


def _normal_containers(containers: list[Json]) -> list[Json]:
    return [
        {**each, "resources": normal_resources(each.get("resources") or {})} for each in containers
    ]
