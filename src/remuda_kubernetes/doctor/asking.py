"""Whether accounts may do what the scheduler and the admission controller need.

The needs are read from the roles that an installation gets, so both cannot differ.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any, Final

import msgspec

from remuda_kubernetes.api.connection import Requests
from remuda_kubernetes.api.errors import ApiError
from remuda_kubernetes.doctor.objects import AUTHORIZATION
from remuda_kubernetes.doctor.sight import Asked, Need
from remuda_kubernetes.objects.values import UNDECODABLE, Value
from remuda_kubernetes.packaging import rights

_AT_ONCE: Final = 8


class _Status(Value, frozen=True):
    allowed: bool = False


class _Review(Value, frozen=True):
    status: _Status = _Status()


def needs(part: str, namespace: str) -> list[Need]:
    """Return what a part needs: scheduler, workloads or admission. Implements: EXT-152."""
    roles = getattr(rights, part)(namespace)
    return sorted(
        {
            Need(group, resource, verb, each["metadata"].get("namespace", ""), name)
            for each in roles
            for rule in each.get("rules", ())
            for group in rule["apiGroups"]
            for resource in rule["resources"]
            for verb in rule["verbs"]
            for name in rule.get("resourceNames", ("",))
        }
    )


async def asked(requests: Requests, part: str, account: str, wanted: Iterable[Need]) -> Asked:
    """Return which of these needs an account does not have; NAMESPACE/NAME, "" for the caller."""
    todo = asyncio.Semaphore(_AT_ONCE)
    kind = "subjectaccessreviews" if account else "selfsubjectaccessreviews"
    path = f"{AUTHORIZATION}/{kind}"

    async def allowed(need: Need) -> bool:
        body = msgspec.json.encode({"spec": {"resourceAttributes": _form(need), **_user(account)}})
        async with todo:
            answer = await requests.request("POST", path, body=body, limit=1 << 20)
        try:
            return msgspec.json.decode(answer.body, type=_Review).status.allowed
        except UNDECODABLE as error:
            raise ApiError(f"POST {path}: not what an API server answers: {error}") from None

    every = list(wanted)
    tasks = [asyncio.ensure_future(allowed(each)) for each in every]
    try:
        found = await asyncio.gather(*tasks)
    except ApiError as error:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        return Asked(account, part, failure=str(error))
    missing = (need for need, may in zip(every, found, strict=True) if not may)
    return Asked(account, part, tuple(missing))


def _form(need: Need) -> dict[str, str]:
    resource, _, part = need.resource.partition("/")
    found = {
        "group": need.group,
        "resource": resource,
        "subresource": part,
        "verb": need.verb,
        "namespace": need.namespace,
        "name": need.name,
    }
    return {key: value for key, value in found.items() if value}


def _user(account: str) -> dict[str, Any]:
    if not account:
        return {}
    namespace, _, name = account.partition("/")
    groups = ["system:serviceaccounts", f"system:serviceaccounts:{namespace}"]
    return {
        "user": f"system:serviceaccount:{namespace}:{name}",
        "groups": [*groups, "system:authenticated"],
    }
