"""Whether the API server is of a supported release, and serves what the shim reads."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from remuda_kubernetes.doctor.findings import Finding, Severity
from remuda_kubernetes.doctor.releases import NEWEST, OLDEST, TESTED
from remuda_kubernetes.doctor.sight import Sight
from remuda_kubernetes.objects.kinds import CONFIG_MAP, LEASE, NAMESPACE, NODE, POD, PRIORITY_CLASS

_AREA: Final = "versions"
_VERSION: Final = re.compile(r"v?1\.([0-9]{1,4})(?:\.|$|[-+])", re.ASCII)
# Without these kinds nothing works.
NEEDED: Final = frozenset({CONFIG_MAP, LEASE, NAMESPACE, NODE, POD, PRIORITY_CLASS})


def findings(sight: Sight) -> Iterator[Finding]:
    """Yield what is to be said about the version of the server and the kinds that it has."""
    served = sight.served
    yield from _release(served.version)
    for kind in served.absent:
        group = f"{kind.group}/{kind.versions[0]}" if kind.group else kind.versions[0]
        needed = kind in NEEDED
        yield Finding(
            Severity.ERROR if needed else Severity.NOTE,
            _AREA,
            f"{kind.name} ({group})",
            "the API server does not serve this kind",
            "use a supported release, or enable the API group; Remuda cannot run without it"
            if needed
            else "nothing, unless pods depend on it: what needs this kind is left out",
        )
    if not served.eviction:
        yield Finding(
            Severity.WARNING,
            _AREA,
            "pods/eviction",
            "the API server has no evictions, so preempted pods are deleted against their budgets",
            "use a supported release",
        )


def _release(version: str) -> Iterator[Finding]:
    where = f"API server {version}"
    found = _VERSION.match(version)
    if found is None:
        yield Finding(
            Severity.NOTE,
            _AREA,
            where,
            "the version does not say which release it is",
            f"make sure that it is 1.{OLDEST} or newer",
        )
        return
    minor = int(found[1])
    if minor < OLDEST:
        yield Finding(
            Severity.ERROR,
            _AREA,
            where,
            f"the release is older than 1.{OLDEST}, the oldest supported one",
            f"upgrade Kubernetes to 1.{OLDEST} or newer",
        )
    elif minor > NEWEST:
        yield Finding(
            Severity.WARNING,
            _AREA,
            where,
            f"the release is newer than 1.{NEWEST}, the newest one that Remuda knows",
            "try it on a cluster that does not matter, or look for a newer version of Remuda",
        )
    elif minor not in TESTED:
        tested = ", ".join(f"1.{each}" for each in sorted(TESTED))
        yield Finding(
            Severity.NOTE,
            _AREA,
            where,
            f"the release is expected to work; tests run on a real API server of {tested} only",
            "nothing",
        )
