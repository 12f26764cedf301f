"""ReplicaSets and Jobs: as many pods as they want.

Source: the documentation of Kubernetes, "ReplicaSet" and "Jobs".
"""

from __future__ import annotations

from typing import ClassVar, Final

from remuda_kubernetes.testing.client import ApiFailure
from remuda_kubernetes.testing.identity import timestamp
from remuda_kubernetes.testing.mirrors import key_of
from remuda_kubernetes.testing.reconciling import Controller, Mirrors, gather, owner_of
from remuda_kubernetes.testing.statuses import Json

_BATCH: Final = 64
_INDEX: Final = "batch.kubernetes.io/job-completion-index"


class _Workload(Controller):
    """What makes pods from a template."""

    kind: ClassVar[str]
    plural: ClassVar[str]
    api_version: ClassVar[str]

    def __init__(self, mirrors: Mirrors) -> None:
        super().__init__(mirrors)
        # The pods of each owner, by its identity.
        self._pods: dict[str, dict[str, Json]] = {}

    def changed(self, plural: str, kind: str, item: Json) -> None:
        """Look at the workload, or at that of the pod."""
        if plural == self.plural:
            self.loop.add(key_of(item))
            return
        owner = owner_of(item)
        if owner is None or owner["kind"] != self.kind:
            return
        pods = self._pods.setdefault(owner["uid"], {})
        if kind == "DELETED":
            pods.pop(item["metadata"]["uid"], None)
        else:
            pods[item["metadata"]["uid"]] = item
        self.loop.add(f"{item['metadata']['namespace']}/{owner['name']}")

    def pods(self, owner: Json) -> list[Json]:
        """Return the pods of a workload, the oldest first."""
        found = self._pods.get(owner["metadata"]["uid"], {})
        return sorted(found.values(), key=lambda pod: int(pod["metadata"]["resourceVersion"]))

    async def create(self, owner: Json, count: int, annotations: list[Json] | None = None) -> None:
        """Create so many pods, not too many at a time."""
        for first in range(0, count, _BATCH):
            numbers = range(first, min(count, first + _BATCH))
            given = annotations or [{}] * count
            await gather([self._create(owner, given[number]) for number in numbers])

    async def _create(self, owner: Json, annotations: Json) -> None:
        template, metadata = owner["spec"]["template"], owner["metadata"]
        own = template.get("metadata") or {}
        reference = {
            "apiVersion": self.api_version,
            "kind": self.kind,
            "name": metadata["name"],
            "uid": metadata["uid"],
            "controller": True,
            "blockOwnerDeletion": True,
        }
        body = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {
                "generateName": f"{metadata['name']}-",
                "labels": own.get("labels") or {},
                "annotations": {**(own.get("annotations") or {}), **annotations},
                "ownerReferences": [reference],
                "finalizers": own.get("finalizers") or [],
            },
            "spec": template["spec"],
        }
        made = await self.api.create(f"/api/v1/namespaces/{metadata['namespace']}/pods", body)
        self.mirrors["pods"].put(made)
        # If it is gone already, the watch has said so and will not say it again.
        if key_of(made) in self.mirrors["pods"].items:
            self._pods.setdefault(metadata["uid"], {}).setdefault(made["metadata"]["uid"], made)

    async def delete(self, pods: list[Json]) -> None:
        """Delete pods; those that are gone are gone."""
        await gather([self._delete(pod) for pod in pods])

    async def _delete(self, pod: Json) -> None:
        try:
            deleted = await self.api.delete(
                self.mirrors.path("pods", pod), uid=pod["metadata"]["uid"]
            )
        except ApiFailure as failure:
            if failure.code not in {404, 409}:
                raise
            return
        owner = owner_of(pod)
        if owner is not None and deleted.get("kind") == "Pod":
            self._pods[owner["uid"]][pod["metadata"]["uid"]] = deleted

    async def report(self, owner: Json, status: Json) -> None:
        """Write the status if it says something new."""
        current = owner.get("status") or {}
        if any(current.get(name) != value for name, value in status.items()):
            path = f"{self.mirrors.path(self.plural, owner)}/status"
            self.mirrors[self.plural].put(await self.api.patch(path, {"status": status}))


class ReplicaSets(_Workload):
    """Keeps so many pods of each ReplicaSet."""

    watched: ClassVar[tuple[str, ...]] = ("replicasets", "pods")
    kind = "ReplicaSet"
    plural = "replicasets"
    api_version = "apps/v1"

    async def reconcile(self, key: str) -> None:
        """Create or delete pods until there are as many as wanted."""
        owner = self.mirrors["replicasets"].items.get(key)
        if owner is None or owner["metadata"].get("deletionTimestamp"):
            return
        active = [pod for pod in self.pods(owner) if _is_active(pod)]
        wanted = owner["spec"].get("replicas", 1)
        if len(active) < wanted:
            await self.create(owner, wanted - len(active))
        elif len(active) > wanted:
            # Those without a node go first, then those that run for the shortest time.
            unbound = [pod for pod in active if not pod["spec"].get("nodeName")]
            bound = [pod for pod in active if pod["spec"].get("nodeName")]
            await self.delete([*reversed(unbound), *reversed(bound)][: len(active) - wanted])
        active = [pod for pod in self.pods(owner) if _is_active(pod)]
        ready = sum(map(is_ready, active))
        generation = owner["metadata"].get("generation", 1)
        status = {"replicas": len(active), "observedGeneration": generation}
        await self.report(owner, {**status, "readyReplicas": ready, "availableReplicas": ready})


class Jobs(_Workload):
    """Runs pods of each Job until so many have succeeded."""

    watched: ClassVar[tuple[str, ...]] = ("jobs", "pods")
    kind = "Job"
    plural = "jobs"
    api_version = "batch/v1"

    def __init__(self, mirrors: Mirrors) -> None:
        super().__init__(mirrors)
        # Ended pods count even when they are gone: job -> pod -> whether it succeeded.
        self._ended: dict[str, dict[str, bool]] = {}

    async def reconcile(self, key: str) -> None:
        """Create pods, or say that the job is over."""
        job = self.mirrors["jobs"].items.get(key)
        if job is None or job["metadata"].get("deletionTimestamp") or _is_over(job):
            return
        pods = self.pods(job)
        ended = self._ended.setdefault(job["metadata"]["uid"], {})
        for pod in pods:
            if pod["status"].get("phase") in {"Succeeded", "Failed"}:
                ended[pod["metadata"]["uid"]] = pod["status"]["phase"] == "Succeeded"
        active = [pod for pod in pods if _is_active(pod)]
        succeeded, failed = sum(ended.values()), len(ended) - sum(ended.values())
        status: Json = {"active": len(active), "succeeded": succeeded, "failed": failed}
        if failed > job["spec"].get("backoffLimit", 6):
            await self.delete(active)
            status |= {"active": 0, "conditions": [_over("Failed", "BackoffLimitExceeded")]}
        elif succeeded >= job["spec"].get("completions", 1):
            done = timestamp()
            status |= {"completionTime": done, "conditions": [_over("Complete", "")]}
        elif job["spec"].get("suspend"):
            await self.delete(active)
        else:
            missing = _missing(job, len(active), succeeded)
            await self.create(job, missing, _indexes(job, pods, missing))
            status["active"] += missing
            status["startTime"] = (job.get("status") or {}).get("startTime") or timestamp()
        await self.report(job, status)


def _missing(job: Json, active: int, succeeded: int) -> int:
    """Return how many more pods a job can run now."""
    left = int(job["spec"].get("completions", 1)) - succeeded
    return max(0, min(int(job["spec"].get("parallelism", 1)), left) - active)


def _indexes(job: Json, pods: list[Json], count: int) -> list[Json] | None:
    """Return the annotations of the next pods of a job whose pods are numbered."""
    if job["spec"].get("completionMode") != "Indexed":
        return None
    taken = {
        pod["metadata"].get("annotations", {}).get(_INDEX)
        for pod in pods
        if pod["status"].get("phase") != "Failed"
    }
    free = [str(n) for n in range(job["spec"].get("completions", 1)) if str(n) not in taken]
    return [{_INDEX: number} for number in free[:count]]


def _is_active(pod: Json) -> bool:
    ended = pod["status"].get("phase") in {"Succeeded", "Failed"}
    return not ended and not pod["metadata"].get("deletionTimestamp")


def is_ready(pod: Json) -> bool:
    """Whether a pod says that it is ready."""
    return any(
        each["type"] == "Ready" and each["status"] == "True"
        for each in pod["status"].get("conditions") or ()
    )


def _is_over(job: Json) -> bool:
    conditions = (job.get("status") or {}).get("conditions") or ()
    return any(
        each["type"] in {"Complete", "Failed"} and each["status"] == "True" for each in conditions
    )


def _over(kind: str, reason: str) -> Json:
    more = {"reason": reason} if reason else {}
    return {"type": kind, "status": "True", "lastTransitionTime": timestamp(), **more}
