"""The edge against the server of remuda_kubernetes.testing: whole behaviours, with faults."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

from remuda_kubernetes.api.attempts import CallSettings
from remuda_kubernetes.api.calls import Calls
from remuda_kubernetes.api.connection import Connection
from remuda_kubernetes.api.discovery import Served, discover
from remuda_kubernetes.api.election import Election, ElectionSettings, LeadershipLostError
from remuda_kubernetes.api.events import Events, EventSettings
from remuda_kubernetes.api.known import key_of
from remuda_kubernetes.api.leadership import Leadership, NoFence
from remuda_kubernetes.api.reflector import ReflectorSettings
from remuda_kubernetes.api.reflectors import Reflectors
from remuda_kubernetes.objects.changes import Change
from remuda_kubernetes.objects.kinds import NODE, POD, WATCHED
from remuda_kubernetes.objects.metadata import KubernetesObject
from remuda_kubernetes.objects.outcomes import Result
from remuda_kubernetes.objects.pods import Pod, PodCondition
from remuda_kubernetes.testing.server import ApiServer
from remuda_kubernetes.testing.settings import Settings
from remuda_kubernetes.translation.events import reference
from tests.kubernetes.api.scripted import eventually, run

PODS = "/api/v1/namespaces/default/pods"
QUICK = ReflectorSettings(page=7, first_wait=0.01, longest_wait=0.05, idle_seconds=60.0)


@pytest.fixture(params=[20, 32], ids=["1.20", "1.32"])
def server(request: pytest.FixtureRequest) -> Iterator[ApiServer]:
    with ApiServer(Settings(minor=request.param, token="t0k3n")) as found:
        yield found


@pytest.fixture
def config(server: ApiServer, tmp_path: Path) -> Path:
    return server.write_kubeconfig(tmp_path / "kubeconfig")


def body(name: str, **spec: Any) -> dict[str, Any]:
    container = {"name": "c", "image": "pause", "resources": {"requests": {"cpu": "1"}}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": {"app": "guarded"}},
        "spec": {"schedulerName": "remuda", "containers": [container], **spec},
    }


async def call(connection: Connection, method: str, path: str, content: object = None) -> Any:
    """Do something to the server as another client would."""
    sent = None if content is None else msgspec.json.encode(content)
    return msgspec.json.decode((await connection.request(method, path, body=sent)).body)


async def created(connection: Connection, name: str) -> Pod:
    return msgspec.convert(await call(connection, "POST", PODS, body(name)), Pod)


class Mirror:
    """Applies changes, and checks that each follows on the one before."""

    def __init__(self) -> None:
        self.objects: dict[tuple[str, str], KubernetesObject] = {}
        self.changes = 0

    def deliver(self, changes: Sequence[Change]) -> None:
        for kind, old, new in changes:
            self.changes += 1
            either = new or old
            assert either is not None
            assert old is not new
            key = (kind.name, key_of(either))
            assert self.objects.pop(key, None) is old
            if new is not None:
                assert old is None or old.uid == new.uid
                self.objects[key] = new

    def versions(self, kind: str) -> dict[str, str]:
        return {
            name: each.metadata.resource_version
            for (found, name), each in self.objects.items()
            if found == kind
        }


@asynccontextmanager
async def mirroring(
    connection: Connection, **more: Any
) -> AsyncIterator[tuple[Mirror, Reflectors]]:
    mirror = Mirror()
    served = await discover(connection)
    more.setdefault("kinds", (NODE, POD))
    reflectors = Reflectors(
        connection, served, mirror.deliver, namespace="default", settings=QUICK, **more
    )
    reflectors.start()
    try:
        yield mirror, reflectors
        reflectors.check()
    finally:
        await reflectors.aclose()


def there(server: ApiServer, *, ended: bool = False) -> dict[str, str]:
    """Return the versions of the server's pods that have not ended, by key."""
    return {
        f"{each['metadata']['namespace']}/{each['metadata']['name']}": each["metadata"][
            "resourceVersion"
        ]
        for each in server.objects("pods")
        if ended or each["status"]["phase"] not in {"Succeeded", "Failed"}
    }


def test_discovery_says_what_the_release_has(server: ApiServer, config: Path) -> None:
    async def test() -> None:
        async with Connection.from_kubeconfig(config) as connection:
            served = await discover(connection)
            old = server.settings.minor == 20
            assert served.eviction == ("v1beta1" if old else "v1")
            assert served.checks_uid is not old
            assert served.events == "v1"
            assert served.has(POD)

    run(test())


def test_all_kinds_are_synced(config: Path) -> None:
    async def test() -> None:
        async with (
            Connection.from_kubeconfig(config) as connection,
            mirroring(connection, kinds=WATCHED) as (_, reflectors),
        ):
            await reflectors.wait_synced()
            assert reflectors.problems == {}

    run(test())


async def churn(server: ApiServer, connection: Connection, chance: random.Random) -> None:
    """Create, delete or change one of thirty pods."""
    name = f"p{chance.randrange(30)}"
    if f"default/{name}" not in there(server, ended=True):
        await call(connection, "POST", PODS, body(name))
    elif chance.random() < 0.3:
        await call(connection, "DELETE", f"{PODS}/{name}", {"gracePeriodSeconds": 0})
    else:
        phase = chance.choice(["Pending", "Running", "Running", "Succeeded"])
        await connection.request(
            "PATCH",
            f"{PODS}/{name}/status",
            body=msgspec.json.encode({"status": {"phase": phase}}),
            content_type="application/merge-patch+json",
        )


async def restart(server: ApiServer) -> None:
    server.stop()
    await asyncio.sleep(0.02)
    server.start()
    server.faults.compact()


async def fault(server: ApiServer, number: int) -> None:
    """Do something bad to the server; about every second time nothing."""
    faults = server.faults
    if number in {0, 2}:
        faults.cut_watches()
    if number in {1, 2}:
        faults.compact()
    if number == 3:
        faults.fail(lambda call: call.verb in {"list", "watch"}, times=2, status=500)
    if number == 4:
        faults.fail(lambda call: call.verb == "watch", times=1, status=0)
    if number == 5:
        await restart(server)


def test_a_churning_server_with_faults_is_mirrored(server: ApiServer, config: Path) -> None:
    """Pods come, change, end and go while watches are cut, history is lost, the server is away."""
    chance = random.Random(22)

    async def test() -> None:
        async with (
            Connection.from_kubeconfig(config) as connection,
            mirroring(connection) as (mirror, reflectors),
        ):
            await reflectors.wait_synced()
            for _ in range(60):
                for _ in range(4):
                    await churn(server, connection, chance)
                await fault(server, chance.randrange(12))
            server.faults.failures.clear()
            await eventually(lambda: mirror.versions("Pod") == there(server))
            assert mirror.changes > 50

    run(test())


def test_a_stale_watch_is_found_out(server: ApiServer, config: Path) -> None:
    async def test() -> None:
        async with Connection.from_kubeconfig(config) as connection:
            mirror = Mirror()
            settings = ReflectorSettings(first_wait=0.01, idle_seconds=0.3)
            reflectors = Reflectors(
                connection,
                await discover(connection),
                mirror.deliver,
                namespace="default",
                kinds=(POD,),
                settings=settings,
            )
            reflectors.start()
            await reflectors.wait_synced()
            server.faults.hold_watches()
            await created(connection, "p")
            pods = reflectors.by_kind[POD]
            # Three stale watches in a row end in a list, which shows what they kept back.
            await eventually(lambda: mirror.versions("Pod") == there(server))
            assert pods.figures.failures >= 3
            server.faults.release_watches()
            await reflectors.aclose()

    run(test())


@asynccontextmanager
async def calling(config: Path, **more: Any) -> AsyncIterator[tuple[Connection, Calls, Served]]:
    async with Connection.from_kubeconfig(config) as connection:
        served = await discover(connection)
        settings = CallSettings(deadline=20.0, first_wait=0.01, longest_wait=0.1)
        more.setdefault("fence", NoFence())
        yield connection, Calls(connection, served, settings=settings, **more), served


def test_bindings_and_what_stands_against_them(config: Path) -> None:
    async def test() -> None:
        async with calling(config) as (connection, calls, _):
            pod = await created(connection, "p")
            assert (await calls.bind(pod, "m1")).done
            found = await call(connection, "GET", f"{PODS}/p")
            assert found["spec"]["nodeName"] == "m1"
            again = await calls.bind(pod, "m2")
            assert again.result is Result.CONFLICT
            assert "m1" in again.message
            await call(connection, "DELETE", f"{PODS}/p", {"gracePeriodSeconds": 0})
            assert (await calls.bind(pod, "m1")).result is Result.GONE
            await created(connection, "p")
            anew = await calls.bind(pod, "m1")
            assert anew.result is Result.CONFLICT
            found = await call(connection, "GET", f"{PODS}/p")
            assert "nodeName" not in found["spec"]

    run(test())


def test_calls_whose_answers_are_lost_are_done_once(server: ApiServer, config: Path) -> None:
    async def test() -> None:
        async with calling(config) as (_, calls, _):
            lost = {"status": 0, "performed": True}
            server.faults.fail(lambda call: call.verb == "create" and not call.subresource, **lost)
            outcome = await calls.create_pod("default", body("p"))
            assert outcome.done
            assert outcome.pod is not None
            server.faults.fail(lambda call: call.subresource == "binding", **lost)
            assert (await calls.bind(outcome.pod, "m1")).done
            server.faults.fail(lambda call: call.verb == "delete", **lost)
            gone = await calls.delete_pod(outcome.pod, grace_seconds=0)
            assert gone.result in {Result.DONE, Result.GONE}
            assert there(server, ended=True) == {}

    run(test())


def test_a_server_that_is_away_for_a_while_holds_calls_up_and_loses_none(
    server: ApiServer, config: Path
) -> None:
    async def test() -> None:
        async with calling(config) as (connection, calls, _):
            pods = [await created(connection, f"p{number}") for number in range(20)]
            server.stop()
            binds = [asyncio.create_task(calls.bind(pod, "m1")) for pod in pods]
            await eventually(lambda: calls.figures.retries >= 20)
            server.start()
            assert all([(await each).done for each in binds])
            assert {each["spec"]["nodeName"] for each in server.objects("pods")} == {"m1"}

    run(test())


def test_a_busy_server_is_asked_again_later(server: ApiServer, config: Path) -> None:
    async def test() -> None:
        async with calling(config) as (connection, calls, _):
            pod = await created(connection, "p")
            busy = server.faults.fail(
                lambda call: call.subresource == "binding",
                status=429,
                reason="TooManyRequests",
                retry_after=0,
                times=3,
            )
            outcome = await calls.bind(pod, "m1")
            assert (outcome.result, outcome.attempts) == (Result.DONE, 4)
            assert busy.seen == 3

    run(test())


def test_evictions_wait_for_budgets(config: Path) -> None:
    async def test() -> None:
        async with calling(config) as (connection, calls, served):
            pod = await created(connection, "p")
            assert (await calls.bind(pod, "m1")).done
            budget = {
                "apiVersion": f"policy/{served.eviction}",
                "kind": "PodDisruptionBudget",
                "metadata": {"name": "b"},
                "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "guarded"}}},
            }
            path = f"/apis/policy/{served.eviction}/namespaces/default/poddisruptionbudgets"
            await call(connection, "POST", path, budget)
            await connection.request(
                "PATCH",
                f"{PODS}/p/status",
                body=b'{"status":{"phase":"Running","conditions":[{"type":"Ready","status":"True"}]}}',
                content_type="application/strategic-merge-patch+json",
            )
            outcome = await calls.evict(pod)
            assert (outcome.result, outcome.attempts) == (Result.BLOCKED, 1)
            assert "budget" in outcome.message
            await call(connection, "DELETE", f"{path}/b")
            assert (await calls.evict(pod)).done
            found = await call(connection, "GET", f"{PODS}/p")
            assert "deletionTimestamp" in found["metadata"]

    run(test())


def test_conditions_join_those_that_are_there_and_spare_other_pods(config: Path) -> None:
    async def test() -> None:
        async with calling(config) as (connection, calls, _):
            pod = await created(connection, "p")
            condition = PodCondition(
                type="PodScheduled", status="False", reason="Unschedulable", message="0/12 nodes"
            )
            assert (await calls.patch_pod_conditions(pod, (condition,))).done
            other = PodCondition(type="Other", status="True")
            assert (await calls.patch_pod_conditions(pod, (other,))).done
            found = await call(connection, "GET", f"{PODS}/p")
            by_type = {each["type"]: each for each in found["status"]["conditions"]}
            assert by_type["PodScheduled"]["message"] == "0/12 nodes"
            assert set(by_type) == {"PodScheduled", "Other"}
            stranger = msgspec.structs.replace(
                pod, metadata=msgspec.structs.replace(pod.metadata, uid="another")
            )
            wrong = await calls.patch_pod_conditions(stranger, (condition,))
            assert wrong.result in {Result.CONFLICT, Result.REFUSED}
            assert (await calls.fail_pod(pod, "ApplicationRejected", "no queue")).done
            found = await call(connection, "GET", f"{PODS}/p")
            assert (found["status"]["phase"], found["status"]["reason"]) == (
                "Failed",
                "ApplicationRejected",
            )

    run(test())


def test_events_are_taken_and_counted(server: ApiServer, config: Path) -> None:
    async def test() -> None:
        async with calling(config) as (connection, _, served):
            pod = await created(connection, "p")
            settings = EventSettings(instance="remuda-0", again=0.0)
            events = Events(connection, served.events, settings)
            writing = asyncio.create_task(events.run())
            events.post(reference(pod, "Pod"), "FailedScheduling", "no room", type="Warning")
            await eventually(lambda: events.figures.written == 1)
            for _ in range(4):
                events.post(reference(pod, "Pod"), "FailedScheduling", "no room", type="Warning")
            await eventually(lambda: events.figures.written == 2)
            writing.cancel()
            path = f"/apis/events.k8s.io/{served.events}/namespaces/default/events"
            (event,) = (await call(connection, "GET", path))["items"]
            assert (event["reason"], event["note"]) == ("FailedScheduling", "no room")
            assert event["series"]["count"] == 5
            assert event["regarding"]["uid"] == pod.uid

    run(test())


def test_of_two_replicas_one_binds_and_the_other_follows(server: ApiServer, config: Path) -> None:
    """In real time with a short lease; the exact times are shown in turned time elsewhere."""
    settings = {"namespace": "kube-system", "duration": 2, "margin": 0.5, "renew": 0.1}

    async def test() -> None:
        async with (
            Connection.from_kubeconfig(config) as one,
            Connection.from_kubeconfig(config) as two,
        ):
            elections = [
                Election(each, ElectionSettings(identity=name, retry=0.1, **settings))  # type: ignore[arg-type]
                for name, each in (("a", one), ("b", two))
            ]
            fences: list[Leadership] = [each.leadership for each in elections]

            async def work() -> None:
                await asyncio.Event().wait()

            tasks = []
            for each in elections:
                tasks.append(asyncio.create_task(each.lead(work)))
                await eventually(lambda: any(fence.leads for fence in fences))
            assert [fence.leads for fence in fences] == [True, False]
            served = await discover(two)
            calls = Calls(two, served, fence=fences[1])
            pod = await created(two, "p")
            assert (await calls.bind(pod, "m1")).result is Result.FENCED
            server.faults.fail(
                lambda call: call.verb == "update" and b'"a"' in call.body, times=None, status=503
            )
            await eventually(lambda: fences[1].leads)
            assert not fences[0].leads
            assert (await calls.bind(pod, "m1")).done
            with pytest.raises(LeadershipLostError):
                await tasks[0]
            tasks[1].cancel()
            await asyncio.gather(tasks[1], return_exceptions=True)
            (lease,) = server.objects("leases", "coordination.k8s.io")
            assert not lease["spec"].get("holderIdentity")

    run(test())
