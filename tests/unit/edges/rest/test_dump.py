"""The state dump: what is in it, who gets it, and what does not stop it (chapter 97 section 7)."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import aclosing, suppress
from dataclasses import replace
from typing import Any

import pytest
from starlette.testclient import TestClient

import remuda
from remuda.config.load import load_configuration
from remuda.core.messages.application_views import ApplicationView
from remuda.core.messages.queries import PartitionsQuery, PartitionView
from remuda.edges.inproc import InProcessScheduler
from remuda.edges.rest.requests.errors import ApiError
from remuda.edges.rest.routes import dump as dump_module
from remuda.edges.rest.routes.dump import DumpParts, StateDump, dump_routes
from remuda.edges.rest.transport.app import build_app
from tests.unit.edges.cluster import Rm, application, asks, nodes, registering
from tests.unit.edges.rest.golden import APPLICATION
from tests.unit.edges.rest.schema import assert_valid
from tests.unit.edges.rest.test_large_answers import fetched, served

SECONDS = 60.0
CONFIG = """
partitions:
- name: default
  placementrules:
  - {name: provided, create: false}
  - {name: fixed, value: root.a}
  queues:
  - name: root
    submitacl: "*"
    queues:
    - {name: a}
    - {name: b}
"""


class Talkative(Rm):
    """An RM that tells about itself."""

    def __init__(self, answer: object) -> None:
        super().__init__()
        self.answer = answer

    def get_state_dump(self) -> object:
        return self.answer


@pytest.fixture
def scheduler() -> Iterator[InProcessScheduler]:
    with InProcessScheduler(load=load_configuration) as scheduler:
        yield scheduler


def run(scheduler: InProcessScheduler, rm: Rm | None = None, count: int = 40) -> None:
    """Two nodes and an application with so many allocations of 100m and an ask that waits."""
    scheduler.register_resource_manager(registering(config=CONFIG), rm or Rm())
    scheduler.update_node(nodes("n2", "n1", vcore=100 * count))
    scheduler.update_application(application())
    scheduler.update_allocation(asks(*(f"k{number}" for number in range(count)), vcore=100))
    scheduler.update_allocation(asks("large", vcore=1_000_000))
    scheduler.wait_idle(SECONDS)


def dumped(dump: StateDump, budget: float | None = None) -> dict[str, Any]:
    """A whole dump."""

    async def read() -> bytes:
        return b"".join([piece async for piece in dump.pieces(budget)])

    found = json.loads(asyncio.run(read()))
    assert isinstance(found, dict)
    return found


def client_of(dump: StateDump, core: Any) -> TestClient:
    return TestClient(build_app(core, more=dump_routes(dump)), "http://remuda")


@pytest.mark.remuda_rule("DMP-1", "DMP-2", "DMP-14", "REST-48", "REST-52", "REST-54", "REST-94")
@pytest.mark.parametrize("path", ["/ws/v1/fullstatedump", "/debug/fullstatedump"])
def test_both_routes_answer_with_a_dump_in_lines(scheduler: InProcessScheduler, path: str) -> None:
    run(scheduler)
    before_ns = time.time_ns()
    with client_of(StateDump(scheduler.core), scheduler.core) as client:
        answer = client.get(path, follow_redirects=False)
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "application/json; charset=UTF-8"
    found = json.loads(answer.content)
    assert answer.text == json.dumps(found, indent=2, ensure_ascii=False) + "\n"
    assert before_ns <= found["timestamp"] <= time.time_ns()
    assert found["version"] == remuda.__version__
    assert_valid("StateDump", {k: v for k, v in found.items() if k != "config"})


@pytest.mark.remuda_rule("DMP-1", "DMP-3", "DMP-4", "DMP-6", "DMP-8", "DMP-10", "DMP-13", "DMP-14")
def test_the_parts_are_what_the_routes_show(scheduler: InProcessScheduler) -> None:
    run(scheduler)
    dump = StateDump(scheduler.core)
    home = "/ws/v1/partition/default"
    with client_of(dump, scheduler.core) as client:
        found = client.get("/ws/v1/fullstatedump").json()
        shown = {
            path: client.get(path, headers={"accept": "application/json"}).json()
            for path in (
                *("/ws/v1/partitions", "/ws/v1/config", f"{home}/nodes", f"{home}/queues"),
                *(f"{home}/queue/root.a/applications", f"{home}/placementrules"),
                f"{home}/usage/users",
            )
        }
    assert found["partitions"] == shown["/ws/v1/partitions"]
    assert found["config"] == shown["/ws/v1/config"]
    assert found["nodes"] == [{"partitionName": "default", "nodesInfo": shown[f"{home}/nodes"]}]
    assert found["queues"] == [shown[f"{home}/queues"]]
    assert found["applications"] == shown[f"{home}/queue/root.a/applications"]
    assert len(found["applications"][0]["allocations"]) == 40
    assert [each["allocationKey"] for each in found["applications"][0]["requests"]] == ["large"]
    rules = shown[f"{home}/placementrules"]
    assert found["placementRules"] == [{"partition": "default", "rules": rules}]
    assert found["users"] == shown[f"{home}/usage/users"]


@pytest.mark.remuda_rule("DMP-1", "DMP-10")
def test_before_registration_only_what_is_there_is_shown(scheduler: InProcessScheduler) -> None:
    found = dumped(StateDump(scheduler.core), 1.0)
    assert list(found) == ["timestamp", "config", "rmDiagnostics", "version"]
    assert sorted(found["config"]) == ["DeadlockDetectionEnabled", "DeadlockTimeoutSeconds"]


@pytest.mark.remuda_rule("DMP-10", "EXT-23")
def test_values_of_the_extra_map_are_not_passed_on(scheduler: InProcessScheduler) -> None:
    request = registering()
    request.extraConfig["token"] = "s3cret"
    scheduler.register_resource_manager(request, Rm())
    found = dumped(StateDump(scheduler.core))
    assert found["config"]["Extra"] == {"token": "(not shown)"}
    assert "s3cret" not in json.dumps(found)


@pytest.mark.remuda_rule("DMP-5", "DMP-7", "DMP-9", "DMP-12", "DMP-14")
def test_other_parts_stand_where_they_belong(scheduler: InProcessScheduler) -> None:
    async def clusters() -> object:
        return [{"partition": "default"}]

    run(scheduler)
    parts = DumpParts(
        application_history=lambda: [{"timestamp": 1, "totalApplications": "2"}],
        container_history=lambda: [{"timestamp": 1, "totalContainers": "3"}],
        clusters=clusters,
        log_level=lambda: "debug",
        event_streams=lambda: [{"Name": "x", "CreatedAt": "2026-01-01T00:00:00Z"}],
        health=lambda: {"Healthy": True},
        event_range=lambda: {"lowest": 0, "highest": 7},
    )
    found = dumped(StateDump(scheduler.core, parts), 1.0)
    assert list(found) == [
        *("timestamp", "partitions", "applications", "appHistory", "containerHistory", "nodes"),
        *("clusterInfo", "queues", "logLevel", "config", "rmDiagnostics", "eventStreams"),
        *("placementRules", "users", "health", "eventRange", "version"),
    ]
    assert found["appHistory"] == [{"timestamp": 1, "totalApplications": "2"}]
    assert found["containerHistory"] == [{"timestamp": 1, "totalContainers": "3"}]
    assert found["clusterInfo"] == [{"partition": "default"}]
    assert found["logLevel"] == "debug"
    assert found["eventStreams"] == [{"Name": "x", "CreatedAt": "2026-01-01T00:00:00Z"}]
    assert (found["health"], found["eventRange"]["highest"]) == ({"Healthy": True}, 7)


@pytest.mark.remuda_rule("DMP-1", "DMP-16")
def test_a_part_that_is_empty_off_or_broken_is_left_out(
    scheduler: InProcessScheduler, caplog: pytest.LogCaptureFixture
) -> None:
    def off() -> object:
        raise ApiError(500, "Internal metrics collection is not enabled.")

    def broken() -> object:
        raise ValueError("no streams")

    parts = DumpParts(
        application_history=off, container_history=off, clusters=list, event_streams=broken
    )
    found = dumped(StateDump(scheduler.core, parts))
    assert list(found) == ["timestamp", "config", "version"]
    assert [each.getMessage() for each in caplog.records] == [
        "the dump has no eventStreams: its source failed"
    ]


@pytest.mark.remuda_rule("DMP-4")
def test_ended_applications_follow_those_that_run(scheduler: InProcessScheduler) -> None:
    async def ended(partition: PartitionView) -> Sequence[ApplicationView]:
        assert (partition.rm_id, partition.name) == ("rm", "default")
        return [
            replace(APPLICATION, application_id="done", state="Completed"),
            replace(APPLICATION, application_id="no", state="Rejected"),
        ]

    run(scheduler)
    found = dumped(StateDump(scheduler.core, DumpParts(ended=ended)))
    assert [each["applicationID"] for each in found["applications"]] == ["a", "done", "no"]


@pytest.mark.remuda_rule("DMP-11")
@pytest.mark.parametrize(
    "answer, shown",
    [
        ('{"pods": 3}', {"pods": 3}),
        ("[]", {"Error": "the dump is no JSON object"}),
        ("{", None),
    ],
)
def test_the_route_has_what_the_rm_says(
    scheduler: InProcessScheduler, answer: str, shown: object
) -> None:
    """Chapter 97, edge case 10."""
    scheduler.register_resource_manager(registering(), Talkative(answer))
    with client_of(StateDump(scheduler.core), scheduler.core) as client:
        found = client.get("/ws/v1/fullstatedump").json()["rmDiagnostics"]
    assert found == shown if shown else list(found) == ["Error"]


@pytest.mark.remuda_rule("DMP-11", "SI-84")
def test_an_rm_that_hangs_delays_a_dump_by_its_budget(scheduler: InProcessScheduler) -> None:
    leave = threading.Event()

    class Hanging(Rm):
        def get_state_dump(self) -> str:
            leave.wait(SECONDS)
            return "{}"

    scheduler.register_resource_manager(registering(), Hanging())
    found = dumped(StateDump(scheduler.core), 0.05)
    leave.set()
    assert found["rmDiagnostics"] == {"Error": "no answer in time"}
    assert found["version"] == remuda.__version__


@pytest.mark.remuda_rule("DMP-1")
def test_dumps_are_made_one_at_a_time(scheduler: InProcessScheduler) -> None:
    """Chapter 97, edge case 10."""

    async def two() -> tuple[bool, bytes]:
        dump = StateDump(scheduler.core)
        first, second = dump.pieces(None), dump.pieces(None)
        async with aclosing(first), aclosing(second):
            await anext(first)
            waiting = asyncio.ensure_future(anext(second))
            await asyncio.wait({waiting}, timeout=0.1)
            waited = not waiting.done()
            async for _ in first:
                pass
            return waited, await asyncio.wait_for(waiting, SECONDS)

    run(scheduler)
    waited, begun = asyncio.run(two())
    assert waited
    assert begun.startswith(b'{\n  "timestamp": ')


@pytest.mark.remuda_rule("DMP-1")
def test_who_goes_away_frees_the_turn_and_ends_the_work(
    scheduler: InProcessScheduler, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A client over a socket that reads a little of a large dump and closes."""
    made: list[int] = []
    ended = asyncio.Event()

    async def endless(_units: Iterator[bytes], _core: object) -> AsyncIterator[bytes]:
        try:
            while True:
                made.append(1)
                yield b" " * 65_536
                await asyncio.sleep(0.001)
        finally:
            ended.set()

    async def leave() -> None:
        dump = StateDump(scheduler.core)
        async with served(scheduler.core, dump_routes(dump)) as port:
            with monkeypatch.context() as patch:
                patch.setattr(dump_module, "written", endless)
                reader, writer = await asyncio.open_connection("127.0.0.1", port)
                writer.write(b"GET /ws/v1/fullstatedump HTTP/1.1\r\nHost: x\r\n\r\n")
                await reader.readexactly(200_000)
                writer.transport.abort()
                with suppress(OSError):
                    await writer.wait_closed()
                await asyncio.wait_for(ended.wait(), SECONDS)
            count = len(made)
            pieces = [piece async for piece in dump.pieces(None)]
            assert pieces[-1] == b"\n}\n"
            assert len(made) == count

    asyncio.run(leave())


@pytest.mark.remuda_rule("DMP-15", "DMP-17")
def test_sums_agree_and_scheduling_goes_on_while_a_dump_is_written(
    scheduler: InProcessScheduler,
) -> None:
    run(scheduler, count=400)
    stop = threading.Event()

    def keep_busy() -> None:
        number = 0
        while not stop.is_set():
            scheduler.update_allocation(asks(f"b{number}", vcore=1))
            number += 1
            time.sleep(0.001)

    async def placed_meanwhile() -> tuple[bytes, int]:
        """The dump, and what was allocated between its first piece and its last."""
        text = b""
        before = -1
        async for piece in StateDump(scheduler.core).pieces(None):
            text += piece
            if before < 0:
                before = await _allocations(scheduler)
            await asyncio.sleep(0.01)
        return text, await _allocations(scheduler) - before

    thread = threading.Thread(target=keep_busy)
    thread.start()
    try:
        made = [asyncio.run(placed_meanwhile()) for _ in range(3)]
    finally:
        stop.set()
        thread.join()
    for text, placed in made:
        assert placed > 0
        found = json.loads(text)
        of_nodes = [each for node in found["nodes"][0]["nodesInfo"] for each in node["allocations"]]
        of_applications = [each for app in found["applications"] for each in app["allocations"]]
        total = sum(each["resource"]["vcore"] for each in of_nodes)
        assert total == sum(each["resource"]["vcore"] for each in of_applications)
        assert total == found["queues"][0]["allocatedResource"]["vcore"]
        assert total == sum(
            node["allocated"].get("vcore", 0) for node in found["nodes"][0]["nodesInfo"]
        )
        assert total == sum(app["usedResource"]["vcore"] for app in found["applications"])
        assert len(of_nodes) == found["partitions"][0]["totalContainers"]


@pytest.mark.remuda_rule("REST-29", "DMP-15")
def test_two_hundred_readers_of_the_tree_see_sums_that_agree(
    scheduler: InProcessScheduler,
) -> None:
    """Chapter 95, edge case 15."""
    run(scheduler)
    stop = threading.Event()

    def keep_busy() -> None:
        number = 0
        while not stop.is_set():
            scheduler.update_allocation(asks(f"b{number}", vcore=1))
            number += 1
            time.sleep(0.001)

    async def read() -> list[bytes]:
        path = "/ws/v1/partition/default/queues"
        async with served(scheduler.core) as port:
            return await asyncio.gather(*[fetched(port, path) for _ in range(200)])

    thread = threading.Thread(target=keep_busy)
    thread.start()
    answers: list[bytes] = []
    try:
        # Again if all were answered before the thread had its first turn.
        while len({answer.partition(b"\r\n\r\n")[2] for answer in answers}) < 2:
            assert len(answers) < 2_000, "nothing was scheduled meanwhile"
            answers += asyncio.run(read())
    finally:
        stop.set()
        thread.join()
    for answer in answers:
        root = json.loads(answer.partition(b"\r\n\r\n")[2])
        used = [each.get("allocatedResource", {}).get("vcore", 0) for each in root["children"]]
        assert sum(used) == root["allocatedResource"]["vcore"]


async def _allocations(scheduler: InProcessScheduler) -> int:
    found = await asyncio.wrap_future(scheduler.core.query(PartitionsQuery()))
    assert isinstance(found, tuple)
    return sum(each.total_containers for each in found if isinstance(each, PartitionView))
