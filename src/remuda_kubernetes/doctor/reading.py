"""Reads all that the findings need, within bounds; what cannot be read is remembered, not raised.

Only a server that does not answer at all is an error, since nothing can be said then.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Final, TypeVar
from urllib.parse import quote

import msgspec

from remuda_kubernetes.api.connection import Requests
from remuda_kubernetes.api.discovery import discover
from remuda_kubernetes.api.errors import FORBIDDEN, NOT_FOUND, ApiError
from remuda_kubernetes.api.reading import Reader, ReadingError, Unreadable
from remuda_kubernetes.doctor.asking import asked, needs
from remuda_kubernetes.doctor.installed import Part, installed, of_part
from remuda_kubernetes.doctor.objects import (
    DEPLOYMENTS,
    REGISTRATION,
    Deployment,
    Registration,
    WebhookConfiguration,
)
from remuda_kubernetes.doctor.sight import Need, Sight
from remuda_kubernetes.objects.cluster import ConfigMap, Lease, Namespace, PriorityClass
from remuda_kubernetes.objects.kinds import LEASE, WATCHED
from remuda_kubernetes.objects.metadata import KubernetesObject
from remuda_kubernetes.objects.pods import Pod
from remuda_kubernetes.objects.values import UNDECODABLE
from remuda_kubernetes.translation import names
from remuda_kubernetes.translation.configuration import first_configuration

T = TypeVar("T", bound=KubernetesObject)

PAGE: Final = 500
# Objects of any kind but pods that are looked at.
_OBJECTS: Final = 20_000
_SERVICES: Final = 50
_UNREADABLE: Final = 50
_LEASE_NAME: Final = "remuda-kubernetes"
_MAPS: Final = (names.DEFAULTS_MAP, names.CONFIGS_MAP)
_LIVE: Final = {"fieldSelector": "status.phase!=Succeeded,status.phase!=Failed"}


async def look(
    requests: Requests, namespace: str, *, now_s: int, pods: int, account: str = ""
) -> Sight:
    """Return what there is to see.

    ``now_s``: Unix seconds. ``pods``: how many are looked at, at most. ``account``: NAMESPACE/NAME
    of the service account whose rights count; "": those of what is installed, else the caller's.
    Raises: ApiError if the server does not answer. Implements: EXT-156.
    """
    sight = Sight(namespace, now_s, await discover(requests, (*WATCHED, LEASE)))
    seen = _Looking(requests, sight)
    await asyncio.gather(
        seen.configuration(), seen.installation(), seen.classes(), seen.namespaces()
    )
    await asyncio.gather(seen.services(), seen.pods(pods), seen.rights(account))
    return sight


class _Looking:
    """Fills a sight."""

    def __init__(self, requests: Requests, sight: Sight) -> None:
        self._requests = requests
        self._sight = sight

    async def configuration(self) -> None:
        """Read the ConfigMaps."""
        root = f"/api/v1/namespaces/{self._sight.namespace}/configmaps"
        found = {}
        for name in _MAPS:
            what = f"ConfigMap {self._sight.namespace}/{name}"
            if (one := await self._one(f"{root}/{name}", ConfigMap, what)) is not None:
                found[name] = one
        self._sight.config_maps = found
        self._sight.settings = first_configuration(*map(found.get, _MAPS)).settings

    async def installation(self) -> None:
        """Read deployments, webhook configurations and the lease."""
        sight = self._sight
        sight.deployments = await self._many(DEPLOYMENTS, Deployment, "Deployments")
        sight.mutating = await self._hooks("mutatingwebhookconfigurations")
        sight.validating = await self._hooks("validatingwebhookconfigurations")
        path = f"/apis/{LEASE.group}/v1/namespaces/{sight.namespace}/leases/{_LEASE_NAME}"
        sight.lease = await self._one(path, Lease, f"Lease {sight.namespace}/{_LEASE_NAME}")

    async def _hooks(self, plural: str) -> list[WebhookConfiguration]:
        return await self._many(f"{REGISTRATION}/{plural}", WebhookConfiguration, plural)

    async def classes(self) -> None:
        """Read the priority classes."""
        path = "/apis/scheduling.k8s.io/v1/priorityclasses"
        found = await self._many(path, PriorityClass, "PriorityClasses")
        self._sight.priority_classes = {each.name: each for each in found}

    async def namespaces(self) -> None:
        """Read the namespaces."""
        found = await self._many("/api/v1/namespaces", Namespace, "Namespaces")
        self._sight.namespaces = {each.name: each for each in found}

    async def services(self) -> None:
        """See whether the services that our webhooks call are there."""
        sight = self._sight
        wanted = {
            (hook.client_config.service.namespace, hook.client_config.service.name)
            for each in (*sight.mutating, *sight.validating)
            if installed(each, sight)
            for hook in each.webhooks or ()
            if hook.client_config.service is not None
        }
        for namespace, name in sorted(wanted)[:_SERVICES]:
            key = f"{namespace}/{name}"
            path = f"/api/v1/namespaces/{quote(namespace, '')}/services/{quote(name, '')}"
            found = await self._one(path, Registration, f"Service {key}")
            if found is not None or f"Service {key}" not in sight.unread:
                sight.services[key] = found is not None

    async def pods(self, most: int) -> None:
        """Read pods that have not ended."""
        found = await self._many("/api/v1/pods", Pod, "Pods", most=most + 1, query=_LIVE)
        self._sight.cut = len(found) > most
        self._sight.pods = found[:most]

    async def rights(self, account: str) -> None:
        """Ask about the rights of the accounts that count."""
        sight = self._sight
        ours, theirs = (of_part(sight, part) for part in (Part.SCHEDULER, Part.ADMISSION))
        default = f"{sight.namespace}/default"
        asking: list[tuple[str, str]] = []
        if account or not ours:
            asking.append(("scheduler", account))
        for part, found in (("scheduler", ours), ("admission", theirs)):
            for each in found if not (account and part == "scheduler") else ():
                name = each.spec.template.spec.service_account_name
                asking.append((part, f"{each.namespace}/{name}" if name else default))
        for part, whose in dict.fromkeys(asking):
            wanted = needs(part, sight.namespace)
            if part == "scheduler" and sight.settings.workloads:
                wanted += needs("workloads", sight.namespace)
            served = [each for each in wanted if _is_served(each, sight)]
            sight.rights.append(await asked(self._requests, part, whose, served))

    async def _one(self, path: str, record: type[T], what: str) -> T | None:
        """Return an object, None if there is none or it cannot be read."""
        try:
            answer = await self._requests.request("GET", path)
            return msgspec.json.decode(answer.body, type=record)
        except ApiError as error:
            if error.status != NOT_FOUND:
                self._sight.unread[what] = _reason(error)
        except UNDECODABLE as error:
            self._sight.unreadable[what] = str(error)
        return None

    async def _many(
        self,
        path: str,
        record: type[T],
        what: str,
        *,
        most: int = _OBJECTS,
        query: Mapping[str, str] | None = None,
    ) -> list[T]:
        """Return the objects of a collection, page by page, ``most`` of them at most."""
        found: list[T] = []
        reader = Reader(record)
        token = ""
        # A server may send pages with nothing on them for ever.
        for _ in range(2 + 2 * most // PAGE):
            asks = {**(query or {}), "limit": str(min(PAGE, most - len(found)))}
            if token:
                asks["continue"] = token
            try:
                answer = await self._requests.request("GET", path, query=asks)
                page = reader.page(answer.body)
            except (ApiError, ReadingError) as error:
                self._sight.unread[what] = _reason(error)
                return found
            found += page.items
            self._tell_unreadable(record.__name__, page.unreadable)
            token = page.next
            if not token or len(found) >= most:
                return found[:most]
        self._sight.unread[what] = "the server sends pages without end"
        return found

    def _tell_unreadable(self, kind: str, found: Sequence[Unreadable]) -> None:
        """Remember objects whose form is wrong, so many of them in all."""
        known = self._sight.unreadable
        room = max(_UNREADABLE - len(known), 0)
        for each in found[:room]:
            known[f"{kind} {_key(each.object)}"] = each.reason
        if len(found) > room:
            known["further objects"] = f"there are more than {_UNREADABLE}, which are not named"


def _is_served(need: Need, sight: Sight) -> bool:
    """Whether the server has the kind at all; a right about another one is not needed."""
    absent = {(kind.group, kind.plural) for kind in sight.served.absent}
    return (need.group, need.resource.partition("/")[0]) not in absent


def _key(each: KubernetesObject) -> str:
    return f"{each.namespace}/{each.name}" if each.namespace else each.name


def _reason(error: Exception) -> str:
    if isinstance(error, ApiError) and error.status == FORBIDDEN:
        return "you are not allowed to read them"
    return str(error)
