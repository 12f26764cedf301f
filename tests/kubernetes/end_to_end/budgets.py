"""Disruption budgets, and what their controller would do."""

from __future__ import annotations

from collections.abc import Callable

from tests.kubernetes.end_to_end.calls import Api


def budget(api: Api, labels: dict[str, str]) -> Callable[[int], None]:
    """Make a budget; return what sets the disruptions it allows, which a controller would do."""
    groups = {each["name"]: each["preferredVersion"] for each in api.get("/apis")["groups"]}
    version = groups["policy"]["groupVersion"]
    budgets = f"/apis/{version}/namespaces/default/poddisruptionbudgets"
    spec = {"minAvailable": 1, "selector": {"matchLabels": labels}}
    made = {"apiVersion": version, "kind": "PodDisruptionBudget", "metadata": {"name": "b"}}
    api.create(budgets, {**made, "spec": spec})

    def allow(count: int) -> None:
        now = api.get(f"{budgets}/b")
        now["status"] = {
            "observedGeneration": now["metadata"]["generation"],
            "disruptionsAllowed": count,
            "currentHealthy": 1 + count,
            "desiredHealthy": 1,
            "expectedPods": 1 + count,
        }
        api.replace(f"{budgets}/b/status", now)

    return allow
