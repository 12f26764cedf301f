"""The roles of an installation are enough for the shim's edge, and no more than it needs."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from remuda_kubernetes.api.calls import Calls
from remuda_kubernetes.api.connection import Connection
from remuda_kubernetes.api.discovery import discover
from remuda_kubernetes.api.election import Election, ElectionSettings
from remuda_kubernetes.api.errors import ApiError
from remuda_kubernetes.api.events import Events, EventSettings
from remuda_kubernetes.api.leadership import NoFence
from remuda_kubernetes.api.reflectors import Reflectors
from remuda_kubernetes.objects.kinds import CONFIG_MAP, LEASE, WATCHED
from remuda_kubernetes.objects.pods import Pod, PodCondition
from remuda_kubernetes.objects.storage import PersistentVolume, PersistentVolumeClaim
from remuda_kubernetes.packaging import rights
from remuda_kubernetes.testing import binaries
from remuda_kubernetes.testing.real import RealServer
from remuda_kubernetes.translation.events import reference
from tests.kubernetes.end_to_end.auditing import (
    Right,
    audit_options,
    create_roles,
    granted_rights,
    served_rights,
    used_rights,
)
from tests.kubernetes.end_to_end.calls import Api
from tests.kubernetes.end_to_end.objects import NODES, PODS, node, pod

ACCOUNT = "system:serviceaccount:yunikorn:remuda"
SECONDS = 120.0


def manifests() -> list[dict[str, Any]]:
    return rights.scheduler("yunikorn")


def granted(kind: str) -> set[Right]:
    """The rights of all roles of a kind."""
    return granted_rights([each for each in manifests() if each["kind"] == kind])


def test_what_may_be_watched_is_what_is_watched() -> None:
    watched = {(kind.group, kind.plural) for kind in WATCHED if kind is not CONFIG_MAP}
    for verb in ("list", "watch"):
        everywhere = {(g, r) for g, r, found in granted("ClusterRole") if found == verb}
        assert everywhere == watched
    own = {(group, resource) for group, resource, _ in granted("Role")}
    assert own == {("", CONFIG_MAP.plural), (LEASE.group, LEASE.plural)}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealServer]:
    if reason := binaries.missing():
        pytest.skip(f"no real API server, and roles count on no other: {reason}")
    accounts = ["system:serviceaccounts", "system:authenticated"]
    folder = tmp_path_factory.mktemp("rights")
    with RealServer(folder, users={ACCOUNT: accounts}, options=audit_options(folder)) as found:
        with Api(found.kubeconfig) as api:
            api.create("/api/v1/namespaces", {"metadata": {"name": "yunikorn"}})
            create_roles(api, manifests())
        yield found


async def until_allowed(connection: Connection) -> None:
    """Wait until the server has learned the roles, which takes a moment."""
    while True:
        try:
            await connection.request("GET", NODES)
        except ApiError as error:
            if error.status != 403:
                raise
            await asyncio.sleep(0.05)
        else:
            return


async def everything(connection: Connection, first: Pod, volumes: Any) -> dict[str, str]:
    """Do all that the edge does; return what was refused."""
    served = await discover(connection)
    reflectors = Reflectors(connection, served, lambda _: None, namespace="yunikorn")
    reflectors.start()
    await reflectors.wait_synced()
    await reflectors.aclose()
    calls = Calls(connection, served, fence=NoFence())
    made = await calls.create_pod("default", pod("q"))
    volume, claim = volumes
    outcomes = {
        "create": made,
        "condition": await calls.patch_pod_conditions(
            first, (PodCondition(type="PodScheduled", status="False"),)
        ),
        "annotate": await calls.annotate_pod(first, {"example/a": "b"}),
        "bind": await calls.bind(first, "m1"),
        "evict": await calls.evict(first),
        "fail": await calls.fail_pod(made.pod or first, "Failed", "by a test"),
        "delete": await calls.delete_pod(made.pod or first),
        "volume": await calls.give_volume(volume, claim),
        "node": await calls.select_node(claim, "m1"),
    }
    election = Election(connection, ElectionSettings(namespace="yunikorn", identity="a"))
    await election.acquire()
    await election.release()
    for version in (served.events, ""):
        events = Events(connection, version, EventSettings(instance="r", again=0.0))
        writing = asyncio.create_task(events.run())
        # The second time it is counted in the event of the first.
        for times in (1, 2):
            events.post(reference(first, "Pod"), "Scheduled", f"by version {version}")
            while events.figures.written + events.figures.failed < times:  # noqa: ASYNC110 - bounded above
                await asyncio.sleep(0.02)
        writing.cancel()
        assert events.figures.failed == 0
    return {name: str(each) for name, each in outcomes.items() if not each.done}


@pytest.mark.kubernetes
def test_the_roles_allow_all_that_the_shim_does_and_not_more(server: RealServer) -> None:
    with Api(server.kubeconfig) as api:
        api.create(NODES, node("m1"))
        first = msgspec.convert(api.create(PODS, pod("p")), Pod)
        spec = {
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": "1Gi"}},
            "storageClassName": "none",
        }
        claims = "/api/v1/namespaces/default/persistentvolumeclaims"
        claim = api.create(claims, {"metadata": {"name": "c"}, "spec": spec})
        disk = {
            "accessModes": ["ReadWriteOnce"],
            "capacity": {"storage": "1Gi"},
            "hostPath": {"path": "/nowhere"},
            "storageClassName": "none",
        }
        volume = api.create("/api/v1/persistentvolumes", {"metadata": {"name": "v"}, "spec": disk})
    volumes = (
        msgspec.convert(volume, PersistentVolume),
        msgspec.convert(claim, PersistentVolumeClaim),
    )

    async def test() -> None:
        async with (
            asyncio.timeout(SECONDS),
            Connection.from_kubeconfig(server.kubeconfig_of(ACCOUNT)) as connection,
        ):
            await until_allowed(connection)
            assert await everything(connection, first, volumes) == {}
            with Api(server.kubeconfig) as api:
                assert used_rights(server.directory, ACCOUNT) == served_rights(
                    api, granted_rights(manifests())
                )
            for path in (
                "/api/v1/secrets",
                "/api/v1/configmaps",
                "/api/v1/namespaces/yunikorn/secrets",
                "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/x",
            ):
                with pytest.raises(ApiError, match="403 Forbidden"):
                    await connection.request("GET", path)
            with pytest.raises(ApiError, match="403 Forbidden"):
                await connection.request("DELETE", f"{NODES}/m1")

    asyncio.run(test())
