"""The disruption controller: how many pods of a budget may be evicted now.

Source: the documentation of Kubernetes, "Specifying a Disruption Budget for your Application".
"""

from __future__ import annotations

import math
from datetime import UTC, datetime
from typing import Any, ClassVar, Final

from remuda_kubernetes.objects.metadata import LabelSelector
from remuda_kubernetes.objects.selectors import matches
from remuda_kubernetes.objects.values import convert
from remuda_kubernetes.testing.mirrors import key_of
from remuda_kubernetes.testing.reconciling import Controller, owner_of
from remuda_kubernetes.testing.statuses import Json
from remuda_kubernetes.testing.workloads import is_ready

# An eviction that was granted and is not seen after so long is forgotten.
_GRANTED_SECONDS: Final = 120.0


class Budgets(Controller):
    """Keeps the status of every budget."""

    watched: ClassVar[tuple[str, ...]] = ("poddisruptionbudgets", "pods", "replicasets")

    def changed(self, plural: str, kind: str, item: Json) -> None:
        """Look at the budget, or at those that a pod may count for."""
        if plural == "poddisruptionbudgets":
            self.loop.add(key_of(item))
            return
        for key, budget in self.mirrors["poddisruptionbudgets"].items.items():
            if budget["metadata"]["namespace"] == item["metadata"]["namespace"]:
                self.loop.add(key)

    async def reconcile(self, key: str) -> None:
        """Count the pods of a budget and write its status."""
        budget = self.mirrors["poddisruptionbudgets"].items.get(key)
        if budget is None:
            return
        status = self._status(budget)
        current = budget.get("status") or {}
        if all(current.get(name) == value for name, value in status.items()):
            return
        # The version lets a granted eviction that came in between win.
        metadata = {"resourceVersion": budget["metadata"]["resourceVersion"]}
        path = f"{self.mirrors.path('poddisruptionbudgets', budget)}/status"
        body = {"metadata": metadata, "status": _replacing(status, current)}
        changed = await self.api.patch(path, body)
        self.mirrors["poddisruptionbudgets"].put(changed)

    def _status(self, budget: Json) -> Json:
        pods = self._pods(budget)
        granted = self._granted(budget, pods)
        healthy = sum(1 for pod in pods if is_ready(pod) and not _is_going(pod, granted))
        expected = self._expected(pods)
        desired = _desired(budget["spec"], expected)
        return {
            "currentHealthy": healthy,
            "desiredHealthy": desired,
            "expectedPods": expected,
            "disruptionsAllowed": max(0, healthy - desired) if expected else 0,
            "disruptedPods": granted,
            "observedGeneration": budget["metadata"].get("generation", 1),
        }

    def _pods(self, budget: Json) -> list[Json]:
        selector = budget["spec"].get("selector")
        wanted = convert(LabelSelector, selector) if selector is not None else None
        namespace = budget["metadata"]["namespace"]
        return [
            pod
            for pod in self.mirrors["pods"].items.values()
            if pod["metadata"]["namespace"] == namespace
            and pod["status"].get("phase") not in {"Succeeded", "Failed"}
            and matches(wanted, pod["metadata"].get("labels") or {})
        ]

    def _expected(self, pods: list[Json]) -> int:
        """Return how many pods there should be: those that owners want, and those without."""
        owners: dict[str, int] = {}
        alone = 0
        for pod in pods:
            owner = owner_of(pod)
            key = f"{pod['metadata']['namespace']}/{owner['name']}" if owner else ""
            found = self.mirrors["replicasets"].items.get(key)
            if found is None:
                alone += 1
            else:
                owners[key] = found["spec"].get("replicas", 1)
        return alone + sum(owners.values())

    def _granted(self, budget: Json, pods: list[Json]) -> dict[str, str]:
        """Return the evictions that were granted and are not seen yet."""
        there = {pod["metadata"]["name"]: pod for pod in pods}
        granted = (budget.get("status") or {}).get("disruptedPods") or {}
        return {
            name: since
            for name, since in granted.items()
            if name in there
            and not there[name]["metadata"].get("deletionTimestamp")
            and _seconds_since(since) < _GRANTED_SECONDS
        }


def _is_going(pod: Json, granted: dict[str, str]) -> bool:
    return bool(pod["metadata"].get("deletionTimestamp")) or pod["metadata"]["name"] in granted


def _desired(spec: Json, expected: int) -> int:
    """Return how many pods have to stay healthy."""
    if "maxUnavailable" in spec:
        return max(0, expected - _count(spec["maxUnavailable"], expected))
    return _count(spec.get("minAvailable", 1), expected)


def _count(value: Any, expected: int) -> int:
    """Return a number of pods; a percentage of them is rounded up."""
    if isinstance(value, str) and value.endswith("%"):
        return math.ceil(int(value[:-1]) * expected / 100)
    return int(value)


def _replacing(status: Json, current: Json) -> Json:
    """Return a status for a merge patch, which keeps entries that are not set to null."""
    granted = status["disruptedPods"]
    gone = dict.fromkeys((current.get("disruptedPods") or {}).keys() - granted.keys())
    return {**status, "disruptedPods": {**gone, **granted}}


def _seconds_since(moment: str) -> float:
    return (datetime.now(UTC) - datetime.fromisoformat(moment)).total_seconds()
