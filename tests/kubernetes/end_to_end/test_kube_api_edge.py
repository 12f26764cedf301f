"""The edge to the API server on every server that there is: reading, writing, leading."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence
from typing import Any, TypeVar

import msgspec

from remuda_kubernetes.api.calls import Calls
from remuda_kubernetes.api.connection import Connection
from remuda_kubernetes.api.discovery import discover
from remuda_kubernetes.api.election import Election, ElectionSettings
from remuda_kubernetes.api.events import Events, EventSettings
from remuda_kubernetes.api.leadership import NoFence
from remuda_kubernetes.api.reflector import ReflectorSettings
from remuda_kubernetes.api.reflectors import Reflectors
from remuda_kubernetes.objects.changes import Change
from remuda_kubernetes.objects.kinds import NODE, POD
from remuda_kubernetes.objects.outcomes import Result
from remuda_kubernetes.objects.pods import Pod, PodCondition
from remuda_kubernetes.translation.events import reference
from tests.kubernetes.end_to_end.calls import Api
from tests.kubernetes.end_to_end.objects import EVENTS, NODES, PODS, node, pod
from tests.kubernetes.end_to_end.servers import Server

SECONDS = 120.0
T = TypeVar("T")


def run(test: Coroutine[Any, Any, T]) -> T:
    async def bounded() -> T:
        async with asyncio.timeout(SECONDS):
            return await test

    return asyncio.run(bounded())


async def eventually(condition: Any) -> None:
    while not condition():  # noqa: ASYNC110 - what is waited for is another program's
        await asyncio.sleep(0.01)


def test_lists_in_pages_and_watches_show_what_others_do(server: Server, api: Api) -> None:
    for number in range(12):
        api.create(NODES, node(f"m{number}"))
    seen: dict[str, list[str]] = {}

    def deliver(changes: Sequence[Change]) -> None:
        for kind, old, new in changes:
            name = (new or old).name  # type: ignore[union-attr]
            word = "gone" if new is None else "new" if old is None else "changed"
            seen.setdefault(f"{kind.name} {name}", []).append(word)

    async def test() -> None:
        async with Connection.from_kubeconfig(server.kubeconfig) as connection:
            served = await discover(connection)
            reflectors = Reflectors(
                connection,
                served,
                deliver,
                namespace="default",
                settings=ReflectorSettings(page=5),
            )
            reflectors.start()
            await reflectors.wait_synced()
            assert all(seen[f"Node m{number}"] == ["new"] for number in range(12))
            api.create(PODS, pod("p"))
            await eventually(lambda: seen.get("Pod p") == ["new"])
            found = reflectors.by_kind[POD].objects["default/p"]
            assert isinstance(found, Pod)
            assert found.spec.scheduler_name == "remuda"
            calls = Calls(connection, served, fence=NoFence())
            assert (await calls.bind(found, "m1")).done
            await eventually(lambda: seen["Pod p"] == ["new", "changed"])
            assert (await calls.delete_pod(found, grace_seconds=0)).done
            await eventually(lambda: seen["Pod p"][-1] == "gone")
            assert reflectors.problems == {}
            await reflectors.aclose()

    run(test())


def test_calls_and_what_the_server_says_to_them(server: Server, api: Api) -> None:
    api.create(NODES, node("m1"))
    first = msgspec.convert(api.create(PODS, pod("p")), Pod)

    async def test() -> None:
        async with Connection.from_kubeconfig(server.kubeconfig) as connection:
            calls = Calls(connection, await discover(connection), fence=NoFence())
            waits = PodCondition(
                type="PodScheduled",
                status="False",
                reason="Unschedulable",
                message="0/1 nodes",
                last_transition_time="2026-11-21T03:30:22Z",
            )
            assert (await calls.patch_pod_conditions(first, (waits,))).done
            (condition,) = api.get(f"{PODS}/p")["status"]["conditions"]
            assert condition["message"] == "0/1 nodes"
            assert (await calls.bind(first, "m1")).done
            # It is where it was to go, whoever asked for that: nothing is left to do.
            assert (await calls.bind(first, "m1")).done
            again = await calls.bind(first, "m2")
            assert again.result is Result.CONFLICT
            assert "already assigned" in again.message
            assert (await calls.delete_pod(first, grace_seconds=0)).done
            assert (await calls.delete_pod(first)).result is Result.GONE
            assert (await calls.bind(first, "m1")).result is Result.GONE
            api.create(PODS, pod("p"))
            anew = await calls.bind(first, "m1")
            assert anew.result is Result.CONFLICT
            assert "nodeName" not in api.get(f"{PODS}/p")["spec"]
            assert (await calls.delete_pod(first)).result is Result.GONE
            assert (await calls.evict(first)).result is Result.GONE
            made = await calls.create_pod("default", pod("q", {"a": "1"}))
            assert made.done
            assert made.pod is not None
            taken = await calls.create_pod("default", pod("q", {"a": "1"}))
            assert taken.result is Result.CONFLICT
            assert (await calls.fail_pod(made.pod, "ApplicationRejected", "no queue")).done
            assert api.get(f"{PODS}/q")["status"]["phase"] == "Failed"
            refused = await calls.create_pod("default", pod("Bad_Name"))
            assert refused.result is Result.REFUSED
            assert "Bad_Name" in refused.message

    run(test())


def test_events_are_shown_with_their_count(server: Server, api: Api) -> None:
    found = msgspec.convert(api.create(PODS, pod("p")), Pod)

    async def test() -> None:
        async with Connection.from_kubeconfig(server.kubeconfig) as connection:
            served = await discover(connection)
            events = Events(connection, served.events, EventSettings(instance="r-0", again=0.0))
            writing = asyncio.create_task(events.run())
            events.post(reference(found, "Pod"), "FailedScheduling", "n" * 3000, type="Warning")
            await eventually(lambda: events.figures.written == 1)
            events.post(reference(found, "Pod"), "FailedScheduling", "n" * 3000, type="Warning")
            await eventually(lambda: events.figures.written == 2)
            assert events.figures.failed == 0
            writing.cancel()

    run(test())
    (event,) = [each for each in api.get(EVENTS)["items"] if each["involvedObject"]["name"] == "p"]
    assert event["reason"] == "FailedScheduling"
    assert event["series"]["count"] == 2
    assert len(event["message"].encode()) <= 1024


def test_a_replica_leads_and_gives_the_lease_back(server: Server, api: Api) -> None:
    async def test() -> None:
        async with Connection.from_kubeconfig(server.kubeconfig) as connection:
            settings = ElectionSettings(namespace="default", identity="a", renew=0.05)
            first = Election(connection, settings)

            async def work() -> None:
                assert first.leadership.leads
                await asyncio.sleep(0.3)
                assert first.leadership.leads

            await first.lead(work)
            assert not first.leadership.leads
            second = Election(connection, ElectionSettings(namespace="default", identity="b"))
            await second.acquire()
            assert second.leader == "b"

    run(test())
    lease = api.get("/apis/coordination.k8s.io/v1/namespaces/default/leases/remuda-kubernetes")
    assert lease["spec"]["holderIdentity"] == "b"
    assert lease["spec"]["leaseTransitions"] == 2


def test_the_nodes_of_a_pod_are_known_by_their_names(server: Server, api: Api) -> None:
    api.create(NODES, node("m1"))

    async def test() -> None:
        async with Connection.from_kubeconfig(server.kubeconfig) as connection:
            served = await discover(connection)
            assert served.path(NODE, name="m1") == f"{NODES}/m1"
            assert served.version

    run(test())
