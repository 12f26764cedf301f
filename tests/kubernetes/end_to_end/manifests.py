"""Nodes and pods of tests of whole clusters: what a test does not name is usual."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from tests.kubernetes.end_to_end.objects import Object

GROUPS: Final = "yunikorn.apache.org/task-groups"
GROUP: Final = "yunikorn.apache.org/task-group-name"
POLICY: Final = "yunikorn.apache.org/schedulingPolicyParameters"
# What a node of a name is found by.
HOST: Final = "kubernetes.io/hostname"


def node_manifest(
    name: str,
    *,
    cpu: str = "4",
    memory: str = "8Gi",
    labels: Mapping[str, str] | None = None,
    taints: Sequence[Mapping[str, str]] = (),
    unschedulable: bool = False,
    amounts: Mapping[str, str] | None = None,
) -> Object:
    """A node that is ready."""
    room = {"cpu": cpu, "memory": memory, "pods": "110", **(amounts or {})}
    spec: Object = {"taints": list(taints)} if taints else {}
    if unschedulable:
        spec["unschedulable"] = True
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {HOST: name, **(labels or {})}},
        "spec": spec,
        "status": {
            "capacity": room,
            "allocatable": room,
            "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady"}],
        },
    }


def pod_manifest(
    name: str,
    *,
    queue: str,
    app: str,
    cpu: str = "100m",
    memory: str = "64Mi",
    labels: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
    spec: Mapping[str, Any] | None = None,
    metadata: Mapping[str, Any] | None = None,
    seconds: float | None = None,
    exit_code: int = 0,
    scheduler: str = "yunikorn",
    amounts: Mapping[str, str] | None = None,
) -> Object:
    """A pod of an application.

    ``seconds``: how long it runs; for ever without. ``amounts``: more resources that it asks for;
    an empty ``cpu`` or ``memory`` is not asked for.
    """
    asked = {"cpu": cpu, "memory": memory, **(amounts or {})}
    asked = {key: value for key, value in asked.items() if value}
    own = {"applicationId": app, "queue": queue}
    notes = dict(annotations or {})
    if seconds is not None:
        notes |= {"testing.remuda/run-seconds": str(seconds)}
        notes |= {"testing.remuda/exit-code": str(exit_code)}
    container = {"name": "main", "image": "pause", "resources": {"requests": asked}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "labels": {**own, **(labels or {})},
            "annotations": notes,
            **(metadata or {}),
        },
        "spec": {"schedulerName": scheduler, "containers": [container], **(spec or {})},
    }


def task_group(
    name: str, members: int, cpu: str = "100m", memory: str = "64Mi", **more: Any
) -> Object:
    """A group of a gang; ``more``: nodeSelector, tolerations, affinity and so on."""
    resources = {"cpu": cpu, "memory": memory, **more.pop("amounts", {})}
    return {"name": name, "minMember": members, "minResource": resources, **more}


def gang(
    *groups: Object, group: str = "", style: str = "", timeout: int | None = None
) -> dict[str, str]:
    """The annotations of a pod that speaks for a gang, or that is a member of a ``group``."""
    notes = {GROUPS: json.dumps(groups)} if groups else {}
    if group:
        notes[GROUP] = group
    parts = [f"gangSchedulingStyle={style}"] if style else []
    parts += [f"placeholderTimeoutInSeconds={timeout}"] if timeout is not None else []
    if parts:
        notes[POLICY] = " ".join(parts)
    return notes
