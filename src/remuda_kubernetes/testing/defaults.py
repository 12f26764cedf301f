"""What a server fills in when an object is created, and what it does not take from a client.

Source: recordings of a real server, release 1.20, and the API reference.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from remuda_kubernetes.testing.amounts import normal_list
from remuda_kubernetes.testing.pod_defaults import new_pod, normal_pod, normal_resources, pod_spec
from remuda_kubernetes.testing.settings import Settings
from remuda_kubernetes.testing.statuses import Json

_NOT_READY: Final = "node.kubernetes.io/not-ready"
_NAME_LABEL: Final = "kubernetes.io/metadata.name"
_NODE_TEXTS: Final = (
    "machineID",
    "systemUUID",
    "bootID",
    "kernelVersion",
    "osImage",
    "containerRuntimeVersion",
    "kubeletVersion",
    "kubeProxyVersion",
    "operatingSystem",
    "architecture",
)


def filled(kind: str, item: Json, settings: Settings) -> Json:
    """Return a new object with everything that a server fills in. Raises: Refusal 400."""
    fill = _FILL.get(kind)
    return item if fill is None else fill(item, settings)


def normalised(kind: str, item: Json) -> Json:
    """Return an object, new or changed, in its normal form. Raises: Refusal 400."""
    change = _NORMAL.get(kind)
    return item if change is None else change(item)


def _node(item: Json, _: Settings) -> Json:
    spec = dict(item.get("spec") or {})
    taints = spec.get("taints") or []
    if not any(each.get("key") == _NOT_READY for each in taints):
        spec["taints"] = [*taints, {"key": _NOT_READY, "effect": "NoSchedule"}]
    status = {
        "daemonEndpoints": {"kubeletEndpoint": {"Port": 0}},
        "nodeInfo": dict.fromkeys(_NODE_TEXTS, ""),
        **(item.get("status") or {}),
    }
    return {**item, "spec": spec, "status": status}


def _namespace(item: Json, settings: Settings) -> Json:
    if settings.has_name_labels:
        metadata = item["metadata"]
        labels = {**(metadata.get("labels") or {}), _NAME_LABEL: metadata["name"]}
        item = {**item, "metadata": {**metadata, "labels": labels}}
    return {**item, "spec": {"finalizers": ["kubernetes"]}, "status": {"phase": "Active"}}


def _budget(item: Json, _: Settings) -> Json:
    counts = ("disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods")
    return {**item, "status": dict.fromkeys(counts, 0)}


def _priority_class(item: Json, _: Settings) -> Json:
    full = {"preemptionPolicy": "PreemptLowerPriority", **item}
    if not full.get("globalDefault"):
        full.pop("globalDefault", None)
    return full


def _protected(item: Json, finalizer: str) -> Json:
    """Return an object that a controller has to let go."""
    found = item["metadata"].get("finalizers") or []
    if finalizer in found:
        return item
    return {**item, "metadata": {**item["metadata"], "finalizers": [*found, finalizer]}}


def _volume(item: Json, _: Settings) -> Json:
    item = _protected(item, "kubernetes.io/pv-protection")
    spec = {"persistentVolumeReclaimPolicy": "Retain", "volumeMode": "Filesystem"}
    spec = {**spec, **(item.get("spec") or {})}
    return {**item, "spec": spec, "status": {"phase": "Pending"}}


def _claim(item: Json, _: Settings) -> Json:
    item = _protected(item, "kubernetes.io/pvc-protection")
    spec = {"volumeMode": "Filesystem", **(item.get("spec") or {})}
    return {**item, "spec": spec, "status": {"phase": "Pending"}}


def _storage_class(item: Json, _: Settings) -> Json:
    return {"reclaimPolicy": "Delete", "volumeBindingMode": "Immediate", **item}


def _workload(item: Json, _: Settings) -> Json:
    spec = {"replicas": 1, **(item.get("spec") or {})}
    return {**item, "spec": _with_template(spec), "status": {"replicas": 0}}


def _daemon_set(item: Json, _: Settings) -> Json:
    counts = (
        "currentNumberScheduled",
        "numberMisscheduled",
        "desiredNumberScheduled",
        "numberReady",
    )
    spec = _with_template(dict(item.get("spec") or {}))
    return {**item, "spec": spec, "status": dict.fromkeys(counts, 0)}


def _job(item: Json, _: Settings) -> Json:
    spec = {"parallelism": 1, "completions": 1, "backoffLimit": 6, **(item.get("spec") or {})}
    template = dict(spec.get("template") or {})
    uid = item["metadata"]["uid"]
    labels = {"controller-uid": uid, "job-name": item["metadata"]["name"]}
    metadata = dict(template.get("metadata") or {})
    metadata["labels"] = {**(metadata.get("labels") or {}), **labels}
    spec["template"] = {**template, "metadata": metadata}
    spec.setdefault("selector", {"matchLabels": {"controller-uid": uid}})
    return {**item, "spec": _with_template(spec), "status": {}}


def _with_template(spec: Json) -> Json:
    template = spec.get("template")
    if isinstance(template, dict) and isinstance(template.get("spec"), dict):
        spec["template"] = {**template, "spec": pod_spec(template["spec"])}
    return spec


def _service(item: Json, _: Settings) -> Json:
    spec = {"type": "ClusterIP", "sessionAffinity": "None", **(item.get("spec") or {})}
    return {**item, "spec": spec, "status": {"loadBalancer": {}}}


def _without_status(item: Json, _: Settings) -> Json:
    return {**item, "status": {}}


_FILL: Final[Mapping[str, Callable[[Json, Settings], Json]]] = {
    "Pod": new_pod,
    "Node": _node,
    "Namespace": _namespace,
    "PodDisruptionBudget": _budget,
    "PriorityClass": _priority_class,
    "PersistentVolume": _volume,
    "PersistentVolumeClaim": _claim,
    "StorageClass": _storage_class,
    "ReplicaSet": _workload,
    "ReplicationController": _workload,
    "StatefulSet": _workload,
    "Deployment": _workload,
    "DaemonSet": _daemon_set,
    "Job": _job,
    "CronJob": _without_status,
    "Service": _service,
}


def _normal_node(item: Json) -> Json:
    changed = dict(item)
    status = dict(item.get("status") or {})
    for name in ("capacity", "allocatable"):
        if name in status:
            status[name] = normal_list(status[name])
    spec = dict(item.get("spec") or {})
    for name in ("unschedulable", "taints"):
        if name in spec and not spec[name]:
            del spec[name]
    return {**changed, "spec": spec, "status": status}


def _normal_capacity(item: Json) -> Json:
    spec = dict(item.get("spec") or {})
    if "capacity" in spec:
        spec["capacity"] = normal_list(spec["capacity"])
    if "resources" in spec:
        spec["resources"] = normal_resources(spec["resources"])
    return {**item, "spec": spec}


def _normal_event(item: Json) -> Json:
    """Return an event with the fields that have no default but null or an empty text."""
    times = dict.fromkeys(("eventTime", "firstTimestamp", "lastTimestamp"))
    texts = {"reportingComponent": "", "reportingInstance": ""}
    return {**times, **texts, "source": {}, "involvedObject": {}, **item}


_NORMAL: Final[Mapping[str, Callable[[Json], Json]]] = {
    "Pod": normal_pod,
    "Node": _normal_node,
    "PersistentVolume": _normal_capacity,
    "PersistentVolumeClaim": _normal_capacity,
    "Event": _normal_event,
}
