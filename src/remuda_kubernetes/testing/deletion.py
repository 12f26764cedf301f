"""Deleting objects: grace periods of pods, finalizers, preconditions, what waits for a controller.

Source: recordings of a real server, release 1.20, and the documentation of finalizers, of the
termination of pods, and of the propagation of deletion.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from remuda_kubernetes.testing.identity import timestamp
from remuda_kubernetes.testing.resources import Resource
from remuda_kubernetes.testing.statuses import Json, Refusal, bad_request, details_of
from remuda_kubernetes.testing.store import Record

if TYPE_CHECKING:
    from remuda_kubernetes.testing.cluster import Cluster

_DEFAULT_GRACE: Final = 30
_FINALIZERS: Final = {"Foreground": "foregroundDeletion", "Orphan": "orphan"}
# What happens to dependents if nobody says it; for all others they go, too.
_USUAL: Final = {"Job": "Orphan"}
# A delete answers with the object itself for these; for the others it says which one was meant.
_ANSWERED_WHOLE: Final = frozenset(
    {
        "Pod",
        "PersistentVolume",
        "PersistentVolumeClaim",
        "ServiceAccount",
        "StorageClass",
        "CSINode",
        "CSIDriver",
        "VolumeAttachment",
        "ResourceClaim",
        "ResourceSlice",
        "DeviceClass",
    }
)


@dataclass(frozen=True, kw_only=True)
class Options:
    """How to delete. ``grace``: seconds; None: as the pod says."""

    grace: int | None = None
    uid: str = ""
    version: str = ""
    propagation: str = ""
    dry_run: bool = False


def options(body: Json, query: Json) -> Options:
    """Return the options of a request; those of the body win. Raises: Refusal 400."""
    preconditions = body.get("preconditions") or {}
    grace = body.get("gracePeriodSeconds", query.get("gracePeriodSeconds"))
    try:
        grace = None if grace is None else max(0, int(grace))
    except (TypeError, ValueError):
        raise bad_request(f"gracePeriodSeconds: {grace!r} is no number of seconds") from None
    return Options(
        grace=grace,
        uid=preconditions.get("uid") or "",
        version=preconditions.get("resourceVersion") or "",
        propagation=body.get("propagationPolicy") or query.get("propagationPolicy") or "",
        dry_run="All" in (body.get("dryRun") or query.get("dryRun") or ()),
    )


def is_due(resource: Resource, item: Json) -> bool:
    """Whether an object that is being deleted can go, as nothing holds it any more."""
    metadata = item["metadata"]
    if not metadata.get("deletionTimestamp") or metadata.get("finalizers"):
        return False
    if resource.kind == "Namespace":
        return not (item.get("spec") or {}).get("finalizers")
    return not metadata.get("deletionGracePeriodSeconds")


def delete(
    cluster: Cluster, resource: Resource, record: Record, how: Options
) -> tuple[Record, bool]:
    """Delete an object, or begin to. Returns it, and whether it is gone. Raises: Refusal 409."""
    _check_preconditions(resource, record.item, how)
    if how.dry_run:
        return record, True
    metadata = record.item["metadata"]
    grace = _grace(record.item, how) if resource.kind == "Pod" else 0
    held = _finalizers(resource.kind, record.item, how)
    if metadata.get("deletionTimestamp"):
        left = metadata.get("deletionGracePeriodSeconds") or 0
        if how.grace is None or how.grace >= left:
            return record, False
    if resource.kind not in {"Pod", "Namespace"} and not held:
        return cluster.store.delete(resource.storage, record.key), True
    marked = cluster.modify(resource, record, lambda item: _marked(item, grace, held))
    if is_due(resource, marked.item):
        cluster.store.delete(resource.storage, record.key)
        return marked, True
    return marked, False


def answer(resource: Resource, record: Record, *, gone: bool) -> Json | None:
    """Return the Status that tells of a deletion; None: the object itself does."""
    if not gone or resource.kind in _ANSWERED_WHOLE:
        return None
    metadata = record.item["metadata"]
    details = details_of(metadata["name"], resource.group, resource.plural)
    return {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Success",
        "details": {**details, "uid": metadata["uid"]},
    }


def _grace(item: Json, how: Options) -> int:
    """Return the seconds that a pod has to end; one that does not run needs none."""
    if not item["spec"].get("nodeName") or item["status"].get("phase") in {"Succeeded", "Failed"}:
        return 0
    if how.grace is not None:
        return how.grace
    return int(item["spec"].get("terminationGracePeriodSeconds", _DEFAULT_GRACE))


def _finalizers(kind: str, item: Json, how: Options) -> list[str]:
    found = list(item["metadata"].get("finalizers") or ())
    wanted = _FINALIZERS.get(how.propagation or _USUAL.get(kind, ""))
    return found if wanted is None or wanted in found else [*found, wanted]


def _marked(item: Json, grace: int, finalizers: list[str]) -> Json:
    """Return an object that says when it has to be gone."""
    metadata = {
        **item["metadata"],
        "deletionTimestamp": timestamp(grace),
        "deletionGracePeriodSeconds": grace,
    }
    if finalizers:
        metadata["finalizers"] = finalizers
    marked = {**item, "metadata": metadata}
    if "finalizers" in (item.get("spec") or {}):
        # A namespace has no grace period; its content goes first.
        del metadata["deletionGracePeriodSeconds"]
        marked["status"] = {**item["status"], "phase": "Terminating"}
    return marked


def _check_preconditions(resource: Resource, item: Json, how: Options) -> None:
    metadata = item["metadata"]
    pairs = (
        ("UID", how.uid, metadata["uid"]),
        ("ResourceVersion", how.version, metadata["resourceVersion"]),
    )
    for word, given, found in pairs:
        if given and given != found:
            raise Refusal(
                409,
                f'Operation cannot be fulfilled on {resource.kind} "{metadata["name"]}": '
                f"the {word} in the precondition ({given}) does not match the {word} in record "
                f"({found}). The object might have been deleted and then recreated",
                details=details_of(metadata["name"], resource.group, resource.kind),
            )
