"""The roles of the admission controller are enough for the controller, and no more."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from remuda_kubernetes.admission.known import KINDS
from remuda_kubernetes.admission.program import names_of
from remuda_kubernetes.admission.webhooks import NAME
from remuda_kubernetes.api.connection import Connection
from remuda_kubernetes.api.errors import ApiError
from remuda_kubernetes.objects.kinds import CONFIG_MAP
from remuda_kubernetes.packaging import objects
from remuda_kubernetes.packaging.values import Values
from remuda_kubernetes.testing import binaries
from remuda_kubernetes.testing.real import RealServer
from remuda_kubernetes.translation.settings import Settings
from tests.kubernetes.end_to_end.admitting import CONFIGURATIONS, NAMESPACE, PLURALS, Controller
from tests.kubernetes.end_to_end.auditing import (
    audit_options,
    create_roles,
    granted_rights,
    served_rights,
    used_rights,
)
from tests.kubernetes.end_to_end.calls import Api

ACCOUNT = "system:serviceaccount:yunikorn:remuda-admission"


def manifests() -> list[dict[str, Any]]:
    found = objects.parts(Values(), NAMESPACE, "", {})["admission"]
    return [each for each in found if each["kind"] not in ("Deployment", "PodDisruptionBudget")]


def rules(kind: str) -> list[dict[str, Any]]:
    return [rule for each in manifests() if each["kind"] == kind for rule in each["rules"]]


def test_what_may_be_watched_is_what_is_watched() -> None:
    watched = {
        (group, resource)
        for rule in rules("ClusterRole")
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        if "watch" in rule["verbs"]
    }
    assert watched == {(kind.group, kind.plural) for kind in KINDS if kind is not CONFIG_MAP}


def test_nothing_can_be_changed_that_is_not_named() -> None:
    for rule in rules("ClusterRole") + rules("Role"):
        assert not {"delete", "patch", "*"} & set(rule["verbs"])
        if "update" in rule["verbs"]:
            assert rule["resourceNames"] == [NAME]


def test_the_service_is_the_one_that_is_registered() -> None:
    (service,) = [each for each in manifests() if each["kind"] == "Service"]
    metadata = service["metadata"]
    name = names_of(Settings().admission.service, NAMESPACE)[0]
    assert name == f"{metadata['name']}.{metadata['namespace']}.svc"
    assert [each["port"] for each in service["spec"]["ports"]] == [443]


# What it does at other times: it asks for a namespace that it has not heard of yet, and it writes
# new certificates before the old ones end (tests/kubernetes/admission).
RARE = {("", "namespaces", "get"), ("", "secrets", "update")}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealServer]:
    if reason := binaries.missing():
        pytest.skip(f"no real API server, and roles count on no other: {reason}")
    accounts = ["system:serviceaccounts", "system:authenticated"]
    folder = tmp_path_factory.mktemp("rights")
    options = audit_options(folder)
    with RealServer(folder, users={ACCOUNT: accounts}, options=options) as found:
        with Api(found.kubeconfig) as api:
            api.create("/api/v1/namespaces", {"metadata": {"name": NAMESPACE}})
            create_roles(api, manifests())
        yield found


@pytest.mark.kubernetes
def test_the_roles_allow_all_that_the_controller_does_and_not_more(
    server: RealServer, tmp_path: Path
) -> None:
    kubeconfig = server.kubeconfig_of(ACCOUNT)
    with Controller(kubeconfig, tmp_path / "log") as controller, Api(server.kubeconfig) as api:
        controller.start()
        # It mends what somebody changed, which needs the rights to write again.
        for plural in PLURALS:
            path = f"{CONFIGURATIONS}/{plural}/{NAME}"
            spoilt = api.get(path)
            spoilt["webhooks"][0]["timeoutSeconds"] = 30
            api.replace(path, spoilt)

            def mended(path: str = path) -> bool:
                return bool(api.get(path)["webhooks"][0]["timeoutSeconds"] != 30)

            controller.until("it is mended", mended)
        # Identifiers may have these digits in them.
        assert not re.search(r"\b403\b", controller.words())
        wanted = served_rights(api, granted_rights(manifests()))
    assert wanted - used_rights(server.directory, ACCOUNT) == RARE

    async def refused() -> None:
        async with Connection.from_kubeconfig(kubeconfig) as connection:
            for method, path in (
                ("GET", "/api/v1/secrets"),
                ("GET", f"/api/v1/namespaces/{NAMESPACE}/secrets"),
                ("GET", f"/api/v1/namespaces/{NAMESPACE}/secrets/other"),
                ("GET", "/api/v1/configmaps"),
                ("GET", "/api/v1/pods"),
                ("GET", f"{CONFIGURATIONS}/{PLURALS[0]}"),
                ("GET", f"{CONFIGURATIONS}/{PLURALS[0]}/other"),
                ("DELETE", f"{CONFIGURATIONS}/{PLURALS[0]}/{NAME}"),
                ("DELETE", f"/api/v1/namespaces/{NAMESPACE}/secrets/{NAME}"),
            ):
                with pytest.raises(ApiError, match="403 Forbidden"):
                    await connection.request(method, path)

    asyncio.run(refused())
