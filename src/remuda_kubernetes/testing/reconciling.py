"""What controllers share: mirrors of kinds, and a loop that makes things as they should be."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Iterable
from typing import ClassVar, Final

import httpx2

from remuda_kubernetes.testing.client import Api, ApiFailure
from remuda_kubernetes.testing.mirrors import Listener, Loop, Mirror
from remuda_kubernetes.testing.statuses import Json

_PATHS: Final = {
    "pods": "/api/v1/pods",
    "nodes": "/api/v1/nodes",
    "namespaces": "/api/v1/namespaces",
    "configmaps": "/api/v1/configmaps",
    "persistentvolumes": "/api/v1/persistentvolumes",
    "persistentvolumeclaims": "/api/v1/persistentvolumeclaims",
    "replicasets": "/apis/apps/v1/replicasets",
    "jobs": "/apis/batch/v1/jobs",
    "storageclasses": "/apis/storage.k8s.io/v1/storageclasses",
}


class Mirrors:
    """The kinds that controllers look at, each followed once."""

    def __init__(self, api: Api, *, budget_version: str) -> None:
        self.api = api
        self._paths = {
            **_PATHS,
            "poddisruptionbudgets": f"/apis/policy/{budget_version}/poddisruptionbudgets",
        }
        self._mirrors: dict[str, Mirror] = {}

    def __getitem__(self, plural: str) -> Mirror:
        """Return the mirror of a kind; from now on the kind is followed."""
        if plural not in self._mirrors:
            self._mirrors[plural] = Mirror(self.api, self._paths[plural])
        return self._mirrors[plural]

    def used(self) -> list[Mirror]:
        """Return all mirrors that somebody looks at."""
        return list(self._mirrors.values())

    def path(self, plural: str, item: Json) -> str:
        """Return the path of an object."""
        metadata = item["metadata"]
        head, _, name = self._paths[plural].rpartition("/")
        within = f"/namespaces/{metadata['namespace']}" if "namespace" in metadata else ""
        return f"{head}{within}/{name}/{metadata['name']}"


class Controller(ABC):
    """Looks at keys one after the other and changes what is not as it should be.

    ``watched``: the kinds that have to be known before it begins.
    """

    watched: ClassVar[tuple[str, ...]] = ()

    def __init__(self, mirrors: Mirrors) -> None:
        self.mirrors = mirrors
        self.api = mirrors.api
        self.loop = Loop()
        for plural in self.watched:
            mirrors[plural].listeners.append(self._listener(plural))

    @abstractmethod
    def changed(self, plural: str, kind: str, item: Json) -> None:
        """Note which keys a change of an object is about."""

    @abstractmethod
    async def reconcile(self, key: str) -> None:
        """Make what a key names as it should be. Raises: ApiFailure, httpx2.HTTPError."""

    async def run(self) -> None:
        """Work until cancelled."""
        for plural in self.watched:
            await self.mirrors[plural].synced.wait()
        while True:
            key = await self.loop.take()
            try:
                await self.reconcile(key)
            except (ApiFailure, httpx2.HTTPError):
                self.loop.later(key)

    def _listener(self, plural: str) -> Listener:
        return lambda kind, item: self.changed(plural, kind, item)


def owner_of(item: Json) -> Json | None:
    """Return the reference to the controller that an object belongs to."""
    for reference in item["metadata"].get("ownerReferences") or ():
        if reference.get("controller"):
            return dict(reference)
    return None


async def gather(calls: Iterable[Awaitable[object]]) -> None:
    """Make calls at the same time; the first failure is raised when all are done."""
    results = await asyncio.gather(*calls, return_exceptions=True)
    for result in results:
        if isinstance(result, BaseException):
            raise result
