"""The controllers that a cluster of tests needs, run together in one event loop.

They work with any API server and stand in for kube-controller-manager: workloads, garbage
collection, budgets, nodes, namespaces and volumes, each with what tests of a scheduler ask for.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping
from typing import Final

from remuda_kubernetes.testing.budgets import Budgets
from remuda_kubernetes.testing.client import Api, ApiFailure
from remuda_kubernetes.testing.collector import Collector, Namespaces
from remuda_kubernetes.testing.lifecycle import NodeLifecycle
from remuda_kubernetes.testing.reconciling import Controller, Mirrors
from remuda_kubernetes.testing.volumes import Volumes
from remuda_kubernetes.testing.workloads import Jobs, ReplicaSets

ALL: Final[Mapping[str, Callable[[Mirrors], Controller]]] = {
    "replicasets": ReplicaSets,
    "jobs": Jobs,
    "garbage": Collector,
    "namespaces": Namespaces,
    "budgets": Budgets,
    "nodes": NodeLifecycle,
    "volumes": Volumes,
}


class Controllers:
    """Some controllers, or all. ``names``: those of ALL."""

    def __init__(self, api: Api, names: Iterable[str] = tuple(ALL)) -> None:
        self._api = api
        self._names = tuple(names)

    async def run(self) -> None:
        """Work until cancelled. Raises: ApiFailure, httpx2.HTTPError if there is no server."""
        version = next(iter(await self._api.versions("policy")), "")
        if not version:
            raise ApiFailure(404, "NotFound", "the server has no group policy")
        mirrors = Mirrors(self._api, budget_version=version)
        controllers = [ALL[name](mirrors) for name in self._names]
        async with asyncio.TaskGroup() as group:
            for mirror in mirrors.used():
                group.create_task(mirror.run())
            for controller in controllers:
                group.create_task(controller.run())
