"""What a server fills in when a pod is created, or a template of pods.

Source: recordings of a real server, release 1.20, and the API reference.
"""

from __future__ import annotations

from typing import Any, Final

from remuda_kubernetes.testing.amounts import normal_list, quality_class
from remuda_kubernetes.testing.settings import Settings
from remuda_kubernetes.testing.statuses import Json, bad_request

_TOLERATION_SECONDS: Final = 300
_NOT_READY: Final = "node.kubernetes.io/not-ready"
_UNREACHABLE: Final = "node.kubernetes.io/unreachable"
_POD_SPEC: Final = {
    "restartPolicy": "Always",
    "terminationGracePeriodSeconds": 30,
    "dnsPolicy": "ClusterFirst",
    "securityContext": {},
    "schedulerName": "default-scheduler",
}
_CONTAINER: Final = {
    "resources": {},
    "terminationMessagePath": "/dev/termination-log",
    "terminationMessagePolicy": "File",
}


def pod_spec(spec: Json) -> Json:
    """Return the spec of a pod, or of a template of pods, with the defaults filled in."""
    full = {**_POD_SPEC, **spec}
    for name in ("initContainers", "containers"):
        if full.get(name):
            full[name] = [_container(each, full) for each in _members(full[name], name)]
    return full


def normal_resources(resources: Any) -> Json:
    """Return requests and limits in their normal form. Raises: Refusal 400."""
    if not isinstance(resources, dict):
        raise bad_request("resources must be a JSON object")
    return {
        name: normal_list(part) if name in {"requests", "limits"} else part
        for name, part in resources.items()
    }


def _container(container: Json, spec: Json) -> Json:
    full = {**_CONTAINER, **container}
    if "imagePullPolicy" not in full:
        full["imagePullPolicy"] = _pull_policy(str(full.get("image", "")))
    resources = normal_resources(full["resources"])
    if limits := resources.get("limits"):
        resources["requests"] = {**limits, **(resources.get("requests") or {})}
    full["resources"] = resources
    if ports := full.get("ports"):
        full["ports"] = [_port(each, spec) for each in _members(ports, "ports")]
    return full


def _port(port: Json, spec: Json) -> Json:
    full = {"protocol": "TCP", **port}
    if spec.get("hostNetwork") and not full.get("hostPort") and "containerPort" in full:
        full["hostPort"] = full["containerPort"]
    return full


def _pull_policy(image: str) -> str:
    tag = image.rpartition("/")[2].partition(":")[2]
    return "Always" if tag in {"", "latest"} and "@" not in image else "IfNotPresent"


def _members(value: Any, name: str) -> list[Json]:
    if not isinstance(value, list) or not all(isinstance(each, dict) for each in value):
        raise bad_request(f"{name} must be a list of JSON objects")
    return value


def new_pod(item: Json, settings: Settings) -> Json:
    """Return a new pod with everything that a server fills in. Raises: Refusal 400."""
    spec = pod_spec(item.get("spec") or {})
    spec.setdefault("enableServiceLinks", True)
    spec["tolerations"] = _tolerations(spec.get("tolerations") or [])
    if spec.get("overhead"):
        spec["overhead"] = normal_list(spec["overhead"])
    status: Json = {"phase": "Pending", "qosClass": quality_class(spec)}
    if spec.get("schedulingGates"):
        if settings.has_gates:
            status["conditions"] = [_gated()]
        else:
            del spec["schedulingGates"]
    return {**item, "spec": spec, "status": status}


def _gated() -> Json:
    return {
        "type": "PodScheduled",
        "status": "False",
        "lastProbeTime": None,
        "lastTransitionTime": None,
        "reason": "SchedulingGated",
        "message": "Scheduling is blocked due to non-empty scheduling gates",
    }


def _tolerations(tolerations: list[Json]) -> list[Json]:
    added = [
        {
            "key": taint,
            "operator": "Exists",
            "effect": "NoExecute",
            "tolerationSeconds": _TOLERATION_SECONDS,
        }
        for taint in (_NOT_READY, _UNREACHABLE)
        if not any(_tolerates_eviction(each, taint) for each in tolerations)
    ]
    return [*tolerations, *added]


def _tolerates_eviction(toleration: Json, taint: str) -> bool:
    key, effect = toleration.get("key") or taint, toleration.get("effect") or "NoExecute"
    return key == taint and effect == "NoExecute"


def normal_pod(item: Json) -> Json:
    """Return a pod, new or changed, in its normal form."""
    status = item.get("status") or {}
    changed = dict(status)
    spec = item.get("spec") or {}
    full = _tolerations(spec.get("tolerations") or [])
    if full != spec.get("tolerations"):
        # A change that replaces all tolerations gets these back.
        item = {**item, "spec": {**spec, "tolerations": full}}
    if conditions := status.get("conditions"):
        changed["conditions"] = [
            {"lastProbeTime": None, "lastTransitionTime": None, **each} for each in conditions
        ]
    if status.get("podIP") and not status.get("podIPs"):
        changed["podIPs"] = [{"ip": status["podIP"]}]
    return {**item, "status": changed}
