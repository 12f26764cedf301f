"""Taking a server back to what it was at its start, so that tests can share one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from tests.kubernetes.end_to_end.calls import Api, Refused

Objects = dict[str, str]


def objects(api: Api) -> Objects:
    """Return all objects that can be listed and deleted: uid -> path. Namespaces come last."""
    found: Objects = {}
    for base in sorted(_collections(api), key=lambda path: path.endswith("/namespaces")):
        prefix, _, plural = base.rpartition("/")
        for each in api.get(base)["items"]:
            metadata = each["metadata"]
            space = metadata.get("namespace")
            place = f"{prefix}/namespaces/{space}" if space else prefix
            found[metadata["uid"]] = f"{place}/{plural}/{metadata['name']}"
    return found


def clear(api: Api, kept: Objects) -> None:
    """Delete everything but the objects that were there before."""
    for uid, path in objects(api).items():
        if uid not in kept:
            with suppress(Refused):
                _delete(api, path)
    # An object may be served by two groups, and a controller may have made another meanwhile.
    left = {path for uid, path in objects(api).items() if uid not in kept}
    left = {path for path in left if "/events/" not in path}
    assert not left, f"cannot be deleted: {sorted(left)}"


def _delete(api: Api, path: str) -> None:
    """Delete an object at once, whoever wanted to finish something before."""
    api.merge(path, {"metadata": {"finalizers": None}})
    api.delete(path, gracePeriodSeconds=0, propagationPolicy="Background")
    prefix, _, name = path.rpartition("/")
    if prefix == "/api/v1/namespaces":
        space = api.get(path)
        space["spec"]["finalizers"] = []
        api.replace(f"/api/v1/namespaces/{name}/finalize", space)


def _collections(api: Api) -> Iterator[str]:
    """Yield the paths of all collections that can be listed and deleted from."""
    yield from _of_version(api, "/api/v1")
    for group in api.get("/apis")["groups"]:
        yield from _of_version(api, f"/apis/{group['preferredVersion']['groupVersion']}")


def _of_version(api: Api, base: str) -> Iterator[str]:
    listed: dict[str, Any] = api.get(base)
    for resource in listed["resources"]:
        if {"list", "delete"} <= set(resource["verbs"]) and "/" not in resource["name"]:
            yield f"{base}/{resource['name']}"
