"""The bodies of calls as pure functions of what is asked: JSON texts in the names of Kubernetes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from remuda_kubernetes.objects.pods import PodCondition
from remuda_kubernetes.objects.storage import PersistentVolume, PersistentVolumeClaim
from remuda_kubernetes.objects.values import plain

STRATEGIC: Final = "application/strategic-merge-patch+json"
MERGE: Final = "application/merge-patch+json"
SELECTED_NODE: Final = "volume.kubernetes.io/selected-node"
BOUND_BY_CONTROLLER: Final = "pv.kubernetes.io/bound-by-controller"
# The server refuses longer messages of a status.
_MESSAGE_BYTES: Final = 32768


def cut(text: str, limit: int) -> str:
    """Return a text of at most so many bytes of UTF-8; an ellipsis stands for the rest."""
    encoded = text.encode("utf-8", "replace")
    if len(encoded) <= limit:
        return encoded.decode("utf-8")
    mark = "…" if limit >= 3 else ""
    return encoded[: limit - len(mark.encode())].decode("utf-8", "ignore") + mark


def binding(namespace: str, name: str, uid: str, node: str) -> bytes:
    """Return what binds a pod to a node."""
    metadata = {"name": name, "namespace": namespace, "uid": uid}
    target = {"apiVersion": "v1", "kind": "Node", "name": node}
    return _json({"apiVersion": "v1", "kind": "Binding", "metadata": metadata, "target": target})


def deletion(uid: str, grace_seconds: int | None) -> bytes:
    """Return how an object with this uid is deleted; None leaves the time of grace to the pod."""
    return _json(_delete_options(uid, grace_seconds))


def eviction(version: str, namespace: str, name: str, uid: str) -> bytes:
    """Return what evicts a pod; it has its own time of grace."""
    return _json(
        {
            "apiVersion": f"policy/{version}",
            "kind": "Eviction",
            "metadata": {"name": name, "namespace": namespace},
            "deleteOptions": _delete_options(uid, None),
        }
    )


def _delete_options(uid: str, grace_seconds: int | None) -> dict[str, Any]:
    options: dict[str, Any] = {"apiVersion": "v1", "kind": "DeleteOptions"}
    if uid:
        options["preconditions"] = {"uid": uid}
    if grace_seconds is not None:
        options["gracePeriodSeconds"] = grace_seconds
    return options


def conditions(uid: str, found: tuple[PodCondition, ...]) -> bytes:
    """Return the strategic merge patch of a pod's status with these conditions.

    The uid in it makes the server refuse it for another pod with the same name.
    """
    texts = [{**plain(each), "message": cut(each.message, _MESSAGE_BYTES)} for each in found]
    return _json({"metadata": {"uid": uid}, "status": {"conditions": texts}})


def failed(uid: str, reason: str, message: str) -> bytes:
    """Return the patch of a status that ends a pod as failed."""
    status = {"phase": "Failed", "reason": reason, "message": cut(message, _MESSAGE_BYTES)}
    return _json({"metadata": {"uid": uid}, "status": status})


def annotated(uid: str, found: Mapping[str, str]) -> bytes:
    """Return the patch that adds annotations to an object."""
    return _json({"metadata": {"uid": uid, "annotations": dict(found)}})


def claim_ref(volume: PersistentVolume, claim: PersistentVolumeClaim) -> bytes:
    """Return the patch that gives a volume to a claim, if nobody has changed the volume since.

    The annotation says that the claim did not name the volume itself, so that the volume controller
    may take it back.
    """
    reference = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "namespace": claim.namespace,
        "name": claim.name,
        "uid": claim.uid,
        "resourceVersion": claim.metadata.resource_version,
    }
    metadata = {**_as_seen(volume), "annotations": {BOUND_BY_CONTROLLER: "yes"}}
    return _json({"metadata": metadata, "spec": {"claimRef": reference}})


def selected_node(claim: PersistentVolumeClaim, node: str) -> bytes:
    """Return the patch that says where a claim's volume is needed."""
    return _json({"metadata": {**_as_seen(claim), "annotations": {SELECTED_NODE: node}}})


def _as_seen(seen: PersistentVolume | PersistentVolumeClaim) -> dict[str, Any]:
    return {"uid": seen.uid, "resourceVersion": seen.metadata.resource_version}


def _json(value: object) -> bytes:
    return msgspec.json.encode(value)
