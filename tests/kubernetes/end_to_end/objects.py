"""Objects of tests, with what they need and no more."""

from __future__ import annotations

from typing import Any

Object = dict[str, Any]

PODS = "/api/v1/namespaces/default/pods"
NODES = "/api/v1/nodes"
EVENTS = "/api/v1/namespaces/default/events"


def node(name: str) -> Object:
    """A node with 4 cores and 8 GiB."""
    amounts = {"cpu": "4", "memory": "8Gi", "pods": "110"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name},
        "status": {"capacity": amounts, "allocatable": amounts},
    }


def pod(name: str, labels: dict[str, str] | None = None) -> Object:
    """A pod for our scheduler that asks for a tenth of a core and 64 MiB."""
    container = {
        "name": "main",
        "image": "pause",
        "resources": {"requests": {"cpu": "100m", "memory": "64Mi"}},
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": labels or {}},
        "spec": {"schedulerName": "remuda", "containers": [container]},
    }


def binding(name: str, target: str) -> Object:
    """The binding of a pod to a node."""
    return {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {"name": name},
        "target": {"apiVersion": "v1", "kind": "Node", "name": target},
    }


def event(about: Object, reason: str, message: str) -> Object:
    """A warning about a pod."""
    name = about["metadata"]["name"]
    subject = {
        "apiVersion": "v1",
        "kind": "Pod",
        "name": name,
        "namespace": "default",
        "uid": about["metadata"]["uid"],
    }
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": f"{name}.1"},
        "involvedObject": subject,
        "reason": reason,
        "message": message,
        "type": "Warning",
        "source": {"component": "remuda"},
        "count": 3,
        "firstTimestamp": "2026-01-01T00:00:00Z",
        "lastTimestamp": "2026-01-01T00:05:00Z",
    }
