"""Finds out what the server has: versions of kinds, of evictions and events, and what it checks.

Servers differ by ten years of versions. The shim does without what a server lacks, and logs that
once. It guesses nothing from a version number if the server can say it.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final, TypeVar

import msgspec

from remuda_kubernetes.api.connection import Requests
from remuda_kubernetes.api.errors import NOT_FOUND, ApiError
from remuda_kubernetes.api.pace import Backoff, Chance, Clock, SystemClock, system_chance
from remuda_kubernetes.objects.kinds import LEASE, WATCHED, Kind
from remuda_kubernetes.objects.values import UNDECODABLE, Value

_LOG: Final = logging.getLogger("remuda.kubernetes")
_EVENTS_GROUP: Final = "events.k8s.io"
_VERSION: Final = re.compile(r"v?(\d+)\.(\d+)")
# Servers honour the uid in a binding since 1.24, 1.25 and 1.26 did not in their first releases.
# Source: kubernetes/kubernetes, pull requests 105913 and 116550.
_CHECKS_UID: Final = (1, 27)
# This group's v1 came with 1.29; tells the age of servers whose build states no version.
_FLOW_CONTROL: Final = ("flowcontrol.apiserver.k8s.io", "v1")
_UNAUTHORIZED: Final = 401
_LONGEST_WAIT: Final = 10.0


class _Resource(Value, frozen=True):
    name: str = ""
    version: str = ""


class _Resources(Value, frozen=True):
    resources: tuple[_Resource, ...] | None = None


class _GroupVersion(Value, frozen=True):
    version: str = ""


class _Group(Value, frozen=True):
    name: str = ""
    versions: tuple[_GroupVersion, ...] | None = None


class _Groups(Value, frozen=True):
    groups: tuple[_Group, ...] | None = None


class _Version(Value, frozen=True):
    git_version: str = ""


T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Served:
    """What a server has.

    ``versions``: the version of each kind that there is; ``absent``: the other kinds. ``eviction``:
    the version of policy to evict with, "" if the server cannot evict. ``events``: the version of
    events.k8s.io, "" if only the core group has events. ``checks_uid``: whether a binding with a
    wrong uid is refused.
    """

    version: str
    versions: Mapping[Kind, str]
    absent: tuple[Kind, ...] = ()
    eviction: str = ""
    events: str = ""
    checks_uid: bool = False

    def has(self, kind: Kind) -> bool:
        """Whether there are objects of this kind."""
        return kind in self.versions

    def path(self, kind: Kind, namespace: str = "", name: str = "") -> str:
        """Return the path of all objects, those of a namespace, or one object."""
        return kind.path(self.versions[kind], namespace, name)


async def discover(requests: Requests, kinds: Iterable[Kind] = (*WATCHED, LEASE)) -> Served:
    """Ask the server what it has. Raises: ApiError."""
    wanted = tuple(dict.fromkeys(kinds))
    version, groups = await asyncio.gather(
        _get(requests, "/version", _Version), _get(requests, "/apis", _Groups)
    )
    known = {
        (group.name, each.version) for group in groups.groups or () for each in group.versions or ()
    }
    needed = {("", "v1")}
    needed |= {(k.group, v) for k in wanted for v in k.versions if (k.group, v) in known}
    roots = sorted(needed)
    lists = await asyncio.gather(*(_resources(requests, *root) for root in roots))
    resources = {
        (*root, resource.name): resource
        for root, found in zip(roots, lists, strict=True)
        for resource in found
    }
    versions = {kind: found for kind in wanted if (found := _version_of(kind, resources))}
    absent = tuple(kind for kind in wanted if kind not in versions)
    if absent:
        names = ", ".join(kind.name for kind in absent)
        _LOG.warning(
            "the server, %s, has no %s: what depends on them is left out",
            version.git_version,
            names,
        )
    eviction = resources.get(("", "v1", "pods/eviction"))
    return Served(
        version=version.git_version,
        versions=versions,
        absent=absent,
        eviction=(eviction.version or "v1beta1") if eviction is not None else "",
        events=next((v for v in ("v1", "v1beta1") if (_EVENTS_GROUP, v) in known), ""),
        checks_uid=_checks_uid(version.git_version, known),
    )


async def discover_patiently(
    requests: Requests,
    kinds: Iterable[Kind] = (*WATCHED, LEASE),
    *,
    clock: Clock | None = None,
    chance: Chance | None = None,
) -> Served:
    """Ask the server what it has, as often as needed while it is away or busy.

    A process that ended instead would be started again later and later, and miss the server's
    return. Each new problem is logged.
    Raises: ApiError if the server refuses to answer us, which time does not cure.
    """
    wanted = tuple(kinds)
    waits = Backoff(chance or system_chance(), longest=_LONGEST_WAIT)
    told = ""
    while True:
        try:
            return await discover(requests, wanted)
        except ApiError as error:
            if not error.transient or error.status == _UNAUTHORIZED:
                raise
            if str(error) != told:
                told = str(error)
                _LOG.warning("waiting for the API server: %s", told)
            wait = max(waits.next(), error.retry_after or 0.0)
        await (clock or SystemClock()).sleep(wait)


def _version_of(kind: Kind, resources: Mapping[tuple[str, str, str], _Resource]) -> str:
    for version in kind.versions:
        if (kind.group, version, kind.plural) in resources:
            return version
    return ""


def _checks_uid(version: str, known: set[tuple[str, str]]) -> bool:
    found = _VERSION.match(version)
    numbers = (int(found[1]), int(found[2])) if found else (0, 0)
    return numbers >= _CHECKS_UID or (numbers == (0, 0) and _FLOW_CONTROL in known)


async def _resources(requests: Requests, group: str, version: str) -> tuple[_Resource, ...]:
    path = f"/apis/{group}/{version}" if group else f"/api/{version}"
    try:
        return (await _get(requests, path, _Resources)).resources or ()
    except ApiError as error:
        # The group was taken away since it was listed.
        if error.status == NOT_FOUND:
            return ()
        raise


async def _get(requests: Requests, path: str, kind: type[T]) -> T:
    answer = await requests.request("GET", path, paced=False)
    try:
        return msgspec.json.decode(answer.body, type=kind)
    except UNDECODABLE as error:
        raise ApiError(f"GET {path}: not what an API server answers: {error}") from None
