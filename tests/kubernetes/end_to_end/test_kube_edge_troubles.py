"""The shim's edge to the API server when servers go away, replicas die and budgets forbid."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from remuda_kubernetes.api.calls import Calls
from remuda_kubernetes.api.connection import Connection
from remuda_kubernetes.api.discovery import Served, discover
from remuda_kubernetes.api.election import Election, ElectionSettings
from remuda_kubernetes.api.leadership import NoFence
from remuda_kubernetes.api.reflector import ReflectorSettings
from remuda_kubernetes.api.reflectors import Reflectors
from remuda_kubernetes.objects.changes import Change
from remuda_kubernetes.objects.kinds import NODE, POD
from remuda_kubernetes.objects.metadata import KubernetesObject
from remuda_kubernetes.objects.nodes import Node
from remuda_kubernetes.objects.outcomes import Result
from remuda_kubernetes.objects.pods import Pod
from tests.kubernetes.api.scripted import eventually, run
from tests.kubernetes.end_to_end.budgets import budget
from tests.kubernetes.end_to_end.calls import Api
from tests.kubernetes.end_to_end.objects import NODES, PODS, binding, node, pod
from tests.kubernetes.end_to_end.servers import Server

QUICK = ReflectorSettings(page=2, first_wait=0.05, longest_wait=0.5, idle_seconds=5.0)


class Edge:
    """A connection, what the server has, and the objects as the deliveries tell them."""

    def __init__(self, connection: Connection, served: Served) -> None:
        self.connection = connection
        self.served = served
        self.calls = Calls(connection, served, fence=NoFence())
        self.told: dict[tuple[str, str], KubernetesObject] = {}
        self.reflectors = Reflectors(
            connection, served, self.deliver, namespace="default", settings=QUICK
        )

    def deliver(self, changes: Sequence[Change]) -> None:
        """Take changes; each must begin where the one before it ended."""
        for kind, old, new in changes:
            one = new if new is not None else old
            assert one is not None
            key = (kind.name, f"{one.metadata.namespace}/{one.metadata.name}")
            assert self.told.get(key) is old
            if new is None:
                del self.told[key]
            else:
                self.told[key] = new

    def pods(self) -> dict[str, Pod]:
        """The pods that were told, by name."""
        found = (each for each in self.told.values() if isinstance(each, Pod))
        return {each.metadata.name: each for each in found}

    async def pod(self, name: str) -> Pod:
        """Wait for a pod."""
        await eventually(lambda: name in self.pods())
        return self.pods()[name]


@asynccontextmanager
async def edge(server: Server) -> AsyncIterator[Edge]:
    """An edge whose reflectors have read everything."""
    async with Connection.from_kubeconfig(server.kubeconfig) as connection:
        found = Edge(connection, await discover(connection))
        found.reflectors.start()
        try:
            await found.reflectors.wait_synced()
            yield found
            found.reflectors.check()
        finally:
            await found.reflectors.aclose()


def test_what_the_server_has_is_discovered(server: Server, api: Api) -> None:
    async def body() -> None:
        async with Connection.from_kubeconfig(server.kubeconfig) as connection:
            served = await discover(connection)
        resources = {each["name"]: each for each in api.get("/api/v1")["resources"]}
        assert served.eviction == resources["pods/eviction"]["version"]
        assert served.version == api.get("/version")["gitVersion"]
        groups = {each["name"] for each in api.get("/apis")["groups"]}
        for kind in served.absent:
            assert kind.group not in groups or kind.group in {"storage.k8s.io", "resource.k8s.io"}
        assert {POD, NODE} <= served.versions.keys()

    run(body())


def test_reflectors_tell_what_was_there_and_what_happens(server: Server, api: Api) -> None:
    api.create(NODES, node("n1"))
    for name in ("p1", "p2", "p3", "p4", "p5"):
        api.create(PODS, pod(name))

    async def body() -> None:
        async with edge(server) as found:
            assert sorted(found.pods()) == ["p1", "p2", "p3", "p4", "p5"]
            assert ("Node", "/n1") in found.told
            api.create(f"{PODS}/p1/binding", binding("p1", "n1"))
            await eventually(lambda: found.pods()["p1"].spec.node_name == "n1")
            api.merge(f"{PODS}/p2/status", {"status": {"phase": "Succeeded"}})
            api.delete(f"{PODS}/p3", gracePeriodSeconds=0)
            await eventually(lambda: sorted(found.pods()) == ["p1", "p4", "p5"])
            api.merge(f"{NODES}/n1", {"spec": {"unschedulable": True}})
            await eventually(lambda: cordoned(found.told["Node", "/n1"]))

    run(body())


def test_reflectors_outlast_a_server_that_goes_away(server: Server, api: Api) -> None:
    for name in ("p1", "p2", "p3"):
        api.create(PODS, pod(name))

    async def body() -> None:
        async with edge(server) as found:
            with server.away():
                await eventually(lambda: found.reflectors.by_kind[POD].problem != "")
            api.delete(f"{PODS}/p1", gracePeriodSeconds=0)
            api.delete(f"{PODS}/p2", gracePeriodSeconds=0)
            # Another pod with the name of one that was known.
            anew = api.create(PODS, pod("p2"))["metadata"]["uid"]
            api.create(PODS, pod("p4"))
            await eventually(lambda: sorted(found.pods()) == ["p2", "p3", "p4"])
            await eventually(lambda: found.pods()["p2"].uid == anew)
            await eventually(lambda: not found.reflectors.problems)

    run(body())


def test_reflectors_notice_a_server_that_fell_silent(server: Server, api: Api) -> None:
    async def body() -> None:
        async with edge(server) as found:
            # Its watch has begun, so that it is the watch that falls silent.
            api.create(PODS, pod("p0"))
            await found.pod("p0")
            watches = found.reflectors.by_kind[POD].figures.watches
            with server.silent():
                await eventually(lambda: found.reflectors.by_kind[POD].problem != "")
            api.create(PODS, pod("p1"))
            await found.pod("p1")
            assert found.reflectors.by_kind[POD].figures.watches > watches

    run(body())


def test_a_hundred_pods_are_bound_at_once(server: Server, api: Api) -> None:
    api.create(NODES, node("n1"))
    names = [f"p{number}" for number in range(100)]
    for name in names:
        api.create(PODS, pod(name))

    async def body() -> None:
        async with edge(server) as found:
            calls = [found.calls.bind(each, "n1") for each in found.pods().values()]
            assert [each.done for each in await asyncio.gather(*calls)] == [True] * 100
            await eventually(
                lambda: all(each.spec.node_name == "n1" for each in found.pods().values())
            )

    run(body())


def test_an_eviction_waits_for_the_budget(server: Server, api: Api) -> None:
    api.create(NODES, node("n1"))
    api.create(PODS, pod("p1", {"app": "a"}))
    api.create(f"{PODS}/p1/binding", binding("p1", "n1"))
    ready = {"type": "Ready", "status": "True"}
    api.merge(f"{PODS}/p1/status", {"status": {"phase": "Running", "conditions": [ready]}})
    allow = budget(api, {"app": "a"})
    allow(0)

    async def body() -> None:
        async with edge(server) as found:
            victim = await found.pod("p1")
            outcome = await found.calls.evict(victim)
            assert outcome.result is Result.BLOCKED, outcome
            assert "deletionTimestamp" not in api.get(f"{PODS}/p1")["metadata"]
            allow(1)
            assert (await found.calls.evict(victim)).done
            await eventually(lambda: found.pods()["p1"].metadata.deletion_timestamp is not None)
            assert (await found.calls.delete_pod(victim, grace_seconds=0)).done
            await eventually(lambda: "p1" not in found.pods())
            assert (await found.calls.delete_pod(victim)).result is Result.GONE

    run(body())


def test_the_next_replica_leads_when_the_first_ends_or_dies(server: Server) -> None:
    async def body() -> None:
        async with (
            Connection.from_kubeconfig(server.kubeconfig) as one,
            Connection.from_kubeconfig(server.kubeconfig) as two,
            Connection.from_kubeconfig(server.kubeconfig) as three,
        ):
            first = Election(one, replica("first", duration=3600))
            second = Election(two, replica("second", duration=4))
            third = Election(three, replica("third", duration=4))
            await first.acquire()
            waiting = asyncio.create_task(second.acquire())
            await eventually(lambda: second.leader == "first")
            assert not waiting.done()
            # The lease would hold for an hour: the second leads because the first gave it back.
            await first.release()
            await waiting
            assert (first.leadership.leads, second.leadership.leads) == (False, True)
            # The second dies: it neither renews the lease nor gives it back.
            await third.acquire()
            assert (second.leadership.leads, third.leadership.leads) == (False, True)
            await third.release()

    run(body())


def cordoned(found: KubernetesObject) -> bool:
    return isinstance(found, Node) and bool(found.spec.unschedulable)


def replica(identity: str, *, duration: int) -> ElectionSettings:
    return ElectionSettings("default", identity=identity, duration=duration, margin=1.0, retry=0.2)
