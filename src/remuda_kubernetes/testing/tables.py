"""Objects as rows of a table, for people: what `kubectl get` shows.

Columns of pods are those of a recorded real server; those of the others are what kubectl's users
know. Columns with priority 1 are shown by `kubectl get -o wide`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final, TypeAlias

from remuda_kubernetes.testing.forms import partial
from remuda_kubernetes.testing.statuses import Json
from remuda_kubernetes.testing.store import Record

Column: TypeAlias = tuple[str, str, int]
Cells: TypeAlias = Callable[[Json], list[Any]]

_NONE: Final = "<none>"
_UNKNOWN: Final = "<unknown>"
_UNITS: Final = ((365 * 86400, "y"), (86400, "d"), (3600, "h"), (60, "m"))
_NAME: Final[Column] = ("Name", "string", 0)
_AGE: Final[Column] = ("Age", "string", 0)


def table(kind: str, metadata: Json, records: Sequence[Record], *, full: bool = False) -> Json:
    """Return objects as a table. ``full``: with the whole objects, not only their metadata."""
    columns, cells = _TABLES.get(kind, _PLAIN)
    definitions = [
        {
            "name": name,
            "type": kind_of_cell,
            "format": "name" if name == "Name" else "",
            "description": "",
            "priority": priority,
        }
        for name, kind_of_cell, priority in columns
    ]
    rows = [
        {"cells": cells(each.item), "object": each.item if full else partial(each.item)}
        for each in records
    ]
    return {
        "kind": "Table",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": metadata,
        "columnDefinitions": definitions,
        "rows": rows,
    }


def age(moment: str | None) -> str:
    """Return how long ago a moment of RFC 3339 was, in one unit or two."""
    if not moment:
        return _UNKNOWN
    try:
        then = datetime.fromisoformat(moment)
    except ValueError:
        return "<invalid>"
    seconds = max(0, int((datetime.now(UTC) - then).total_seconds()))
    for size, unit in _UNITS:
        if seconds >= 2 * size:
            return f"{seconds // size}{unit}"
    return f"{seconds}s"


def _name(item: Json) -> str:
    return str(item["metadata"]["name"])


def _age(item: Json) -> str:
    return age(item["metadata"].get("creationTimestamp"))


def _pod(item: Json) -> list[Any]:
    spec, status = item["spec"], item["status"]
    states = status.get("containerStatuses") or []
    ready = sum(1 for each in states if each.get("ready"))
    restarts = sum(int(each.get("restartCount", 0)) for each in states)
    return [
        _name(item),
        f"{ready}/{len(spec.get('containers') or ())}",
        _pod_state(item),
        restarts,
        _age(item),
        status.get("podIP") or _NONE,
        spec.get("nodeName") or _NONE,
        status.get("nominatedNodeName") or _NONE,
        _NONE,
    ]


def _pod_state(item: Json) -> str:
    status = item["status"]
    if item["metadata"].get("deletionTimestamp"):
        return "Terminating"
    for condition in status.get("conditions") or ():
        if condition.get("reason") == "SchedulingGated":
            return "SchedulingGated"
    if status.get("reason"):
        return str(status["reason"])
    if status.get("phase") == "Succeeded":
        return "Completed"
    return "Error" if status.get("phase") == "Failed" else str(status.get("phase") or _UNKNOWN)


def _node(item: Json) -> list[Any]:
    status, spec = item.get("status") or {}, item.get("spec") or {}
    ready = {each["type"]: each["status"] for each in status.get("conditions") or ()}.get("Ready")
    state = {"True": "Ready", "False": "NotReady"}.get(ready or "", "Unknown")
    if spec.get("unschedulable"):
        state += ",SchedulingDisabled"
    prefix = "node-role.kubernetes.io/"
    labels = item["metadata"].get("labels") or {}
    roles = sorted(name.removeprefix(prefix) for name in labels if name.startswith(prefix))
    about = status.get("nodeInfo") or {}
    addresses = {each["type"]: each["address"] for each in status.get("addresses") or ()}
    return [
        _name(item),
        state,
        ",".join(roles) or _NONE,
        _age(item),
        about.get("kubeletVersion", ""),
        addresses.get("InternalIP", _NONE),
        addresses.get("ExternalIP", _NONE),
        about.get("osImage") or _UNKNOWN,
        about.get("kernelVersion") or _UNKNOWN,
        about.get("containerRuntimeVersion") or _UNKNOWN,
    ]


def _namespace(item: Json) -> list[Any]:
    return [_name(item), item["status"].get("phase", ""), _age(item)]


def _event(item: Json) -> list[Any]:
    regarding = item.get("involvedObject") or {}
    last = (
        item.get("lastTimestamp") or item.get("eventTime") or item["metadata"]["creationTimestamp"]
    )
    source = (item.get("source") or {}).get("component") or item.get("reportingComponent") or ""
    return [
        age(last),
        item.get("type", ""),
        item.get("reason", ""),
        f"{str(regarding.get('kind', '')).lower()}/{regarding.get('name', '')}",
        source,
        item.get("message", ""),
        age(item.get("firstTimestamp") or last),
        item.get("count", 1),
        _name(item),
    ]


def _budget(item: Json) -> list[Any]:
    spec = item.get("spec") or {}
    return [
        _name(item),
        str(spec.get("minAvailable", "N/A")),
        str(spec.get("maxUnavailable", "N/A")),
        (item.get("status") or {}).get("disruptionsAllowed", 0),
        _age(item),
    ]


def _replicas(item: Json) -> list[Any]:
    status = item.get("status") or {}
    wanted = (item.get("spec") or {}).get("replicas", 1)
    return [
        _name(item),
        wanted,
        status.get("replicas", 0),
        status.get("readyReplicas", 0),
        _age(item),
    ]


def _job(item: Json) -> list[Any]:
    wanted = (item.get("spec") or {}).get("completions", 1)
    done = (item.get("status") or {}).get("succeeded", 0)
    return [_name(item), f"{done}/{wanted}", _age(item)]


def _claim(item: Json) -> list[Any]:
    spec, status = item.get("spec") or {}, item.get("status") or {}
    capacity = (status.get("capacity") or {}).get("storage", "")
    modes = ",".join(spec.get("accessModes") or ())
    return [
        _name(item),
        status.get("phase", ""),
        spec.get("volumeName", ""),
        capacity,
        modes,
        spec.get("storageClassName") or "",
        _age(item),
    ]


def _priority_class(item: Json) -> list[Any]:
    return [_name(item), item.get("value", 0), bool(item.get("globalDefault")), _age(item)]


def _lease(item: Json) -> list[Any]:
    return [_name(item), (item.get("spec") or {}).get("holderIdentity", ""), _age(item)]


_PLAIN: Final[tuple[tuple[Column, ...], Cells]] = (
    (_NAME, ("Created At", "date", 0)),
    lambda item: [_name(item), item["metadata"].get("creationTimestamp")],
)
_TABLES: Final[Mapping[str, tuple[tuple[Column, ...], Cells]]] = {
    "Pod": (
        (
            _NAME,
            ("Ready", "string", 0),
            ("Status", "string", 0),
            ("Restarts", "integer", 0),
            _AGE,
            ("IP", "string", 1),
            ("Node", "string", 1),
            ("Nominated Node", "string", 1),
            ("Readiness Gates", "string", 1),
        ),
        _pod,
    ),
    "Node": (
        (
            _NAME,
            ("Status", "string", 0),
            ("Roles", "string", 0),
            _AGE,
            ("Version", "string", 0),
            ("Internal-IP", "string", 1),
            ("External-IP", "string", 1),
            ("OS-Image", "string", 1),
            ("Kernel-Version", "string", 1),
            ("Container-Runtime", "string", 1),
        ),
        _node,
    ),
    "Namespace": ((_NAME, ("Status", "string", 0), _AGE), _namespace),
    "Event": (
        (
            ("Last Seen", "string", 0),
            ("Type", "string", 0),
            ("Reason", "string", 0),
            ("Object", "string", 0),
            ("Source", "string", 1),
            ("Message", "string", 0),
            ("First Seen", "string", 1),
            ("Count", "integer", 1),
            ("Name", "string", 1),
        ),
        _event,
    ),
    "PodDisruptionBudget": (
        (
            _NAME,
            ("Min Available", "string", 0),
            ("Max Unavailable", "string", 0),
            ("Allowed Disruptions", "integer", 0),
            _AGE,
        ),
        _budget,
    ),
    "ReplicaSet": (
        (
            _NAME,
            ("Desired", "integer", 0),
            ("Current", "integer", 0),
            ("Ready", "integer", 0),
            _AGE,
        ),
        _replicas,
    ),
    "Job": ((_NAME, ("Completions", "string", 0), _AGE), _job),
    "PersistentVolumeClaim": (
        (
            _NAME,
            ("Status", "string", 0),
            ("Volume", "string", 0),
            ("Capacity", "string", 0),
            ("Access Modes", "string", 0),
            ("StorageClass", "string", 0),
            _AGE,
        ),
        _claim,
    ),
    "PriorityClass": (
        (_NAME, ("Value", "integer", 0), ("Global-Default", "boolean", 0), _AGE),
        _priority_class,
    ),
    "Lease": ((_NAME, ("Holder", "string", 0), _AGE), _lease),
}
