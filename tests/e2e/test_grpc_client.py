"""The client library against a served process, and a second process as its user."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from remuda.client import Client, ClientError
from remuda.si.pb import si_pb2 as si
from remuda.si.wire import resource
from tests.e2e.grpc_service import Service
from tests.e2e.serving import FREE_PORTS, Served, environment
from tests.waiting import wait

QUEUES = """
partitions:
  - name: default
    placementrules:
      - name: provided
    queues:
      - name: root
        submitacl: "*"
        queues:
          - name: a
"""

PROGRAM = """
import sys
from remuda.client import Client
from remuda.si.pb import si_pb2 as si
from remuda.si.wire import resource

with Client(sys.argv[1], "another-process") as client:
    client.register(sys.argv[2])
    client.add_nodes({f"n{i}": {"vcore": 10_000, "memory": 2**33} for i in range(20)})
    client.add_application("app", queue="root.a", user="ann", groups=["bi"])
    size = resource({"vcore": 100, "memory": 2**26})
    client.ask_many(
        si.AllocationAsk(
            applicationID="app", allocationKey=f"k{i}", resourceAsk=size, maxAllocations=1
        )
        for i in range(1500)
    )
    for allocation in client.allocations(1500, timeout=30):
        print(allocation.allocationID, allocation.nodeID)
    more = [r for r in client.responses(timeout=0.2) if r.DESCRIPTOR.name == "AllocationResponse"]
    print(len(more), "more")
"""


@pytest.fixture
def service() -> Iterator[Service]:
    with Service() as running:
        yield running


def ask(key: str) -> si.AllocationAsk:
    size = resource({"vcore": 1})
    return si.AllocationAsk(
        applicationID="app", allocationKey=key, resourceAsk=size, maxAllocations=1
    )


@pytest.mark.remuda_rule("SEED-10", "SI-21", "SI-76", "NODE-1")
def test_a_client_in_another_process_receives_every_allocation_once() -> None:
    with Served(*FREE_PORTS) as served:
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM, served.grpc, QUEUES],
            env=environment(),
            capture_output=True,
            text=True,
            timeout=90,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        lines = done.stdout.splitlines()
        assert lines[-1] == "0 more"
        placed = [line.split() for line in lines[:-1]]
        assert sorted(identity for identity, _ in placed) == sorted(f"k{i}-0" for i in range(1500))
        assert {node for _, node in placed} == {f"n{i}" for i in range(20)}
        nodes = served.client.get("/ws/v1/partition/default/nodes").json()
        assert sum(node["allocated"]["vcore"] for node in nodes) == 150_000


def test_a_served_run_with_a_client_can_be_repeated_from_its_recording(tmp_path: Path) -> None:
    recording = tmp_path / "run.jsonl"
    with Served(*FREE_PORTS, "--record", str(recording)) as served:
        with Client(served.grpc, "rm") as client:
            client.register(QUEUES)
            client.add_nodes({"n": {"vcore": 100}})
            client.add_application("app", queue="root.a")
            client.ask_many([ask(f"k{i}") for i in range(10)])
            assert len(client.allocations(10)) == 10
        served.process.kill()
        served.process.wait()
    done = subprocess.run(
        [sys.executable, "-m", "remuda", "replay", recording],
        env=environment(),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "all effects the same" in done.stdout


@pytest.mark.remuda_rule("SI-60", "SI-77")
def test_the_client_asks_and_releases(service: Service) -> None:
    with Client(service.address, "rm") as client:
        client.register()
        client.add_nodes({"n": {"vcore": 10}})
        client.add_application("app", queue="root.a", user="ann", groups=["bi"])
        client.ask("app", "k", {"vcore": 2}, count=2, priority=3, tags={"x": "y"})
        first, second = client.allocations(2)
        assert (first.allocationID, second.allocationID) == ("k-0", "k-1")
        assert (first.nodeID, first.priority, dict(first.allocationTags)) == ("n", 3, {"x": "y"})
        client.release("app", "k-0")
        released = released_of(client, 1)
        assert [entry.allocationID for entry in released] == ["k-0"]
        assert released[0].terminationType == si.STOPPED_BY_RM
        client.remove_application("app")
        assert [entry.allocationID for entry in released_of(client, 1)] == ["k-1"]


def released_of(client: Client, count: int) -> list[si.AllocationRelease]:
    found: list[si.AllocationRelease] = []
    for response in client.responses():
        if isinstance(response, si.AllocationResponse):
            found.extend(response.released)
        if len(found) >= count:
            break
    return found


@pytest.mark.remuda_rule("SI-20", "NODE-1")
def test_the_client_says_why_something_was_rejected(service: Service) -> None:
    with Client(service.address, "rm", timeout=5) as client:
        client.register()
        client.add_nodes({"n": {"vcore": 10}})
        with pytest.raises(ClientError, match=r"^node n rejected: "):
            client.add_nodes({"n": {"vcore": 10}})
        with pytest.raises(ClientError, match=r"^application app rejected: "):
            client.add_application("app", queue="root.missing")
        client.ask("app", "k", {"vcore": 1})
        with pytest.raises(ClientError, match=r"^ask k: "):
            client.allocations(1)


def test_the_client_says_in_one_line_that_nobody_answers() -> None:
    with (
        Client("127.0.0.1:1", "rm", timeout=0.5) as client,
        pytest.raises(ClientError, match=r"^no scheduler answers at 127.0.0.1:1"),
    ):
        client.register()


@pytest.mark.remuda_rule("SI-100", "SI-101")
def test_the_client_passes_a_refused_registration_on(service: Service) -> None:
    with Client(service.address, "a]b") as client:
        with pytest.raises(ClientError, match=r"^INVALID_ARGUMENT: rmID must not contain"):
            client.register()
        with pytest.raises(ClientError, match="not registered; call register first"):
            client.ask("app", "k", {"vcore": 1})
    with (
        Client(service.address, "rm") as client,
        pytest.raises(ClientError, match=r"^INVALID_ARGUMENT: policyGroup is longer than 256"),
    ):
        client.register(policy_group="g" * 257)


def test_a_broken_stream_is_told_to_whoever_reads(service: Service) -> None:
    with Client(service.address, "rm") as client, Client(service.address, "rm") as newer:
        client.register()
        newer.register()
        with pytest.raises(ClientError, match=r"^connection lost: ABORTED: "):
            for _ in client.responses():
                pass


def test_a_client_can_be_called_back(service: Service) -> None:
    seen: list[str] = []
    with Client(
        service.address, "rm", on_response=lambda response: seen.append(response.DESCRIPTOR.name)
    ) as client:
        client.register()
        client.add_nodes({"n": {"vcore": 10}})
        client.add_application("app", queue="root.a")
        client.ask_many([ask("k")])
        wait(lambda: set(seen) == {"NodeResponse", "ApplicationResponse", "AllocationResponse"})


@pytest.mark.remuda_rule("RM-9")
def test_a_client_may_register_again_and_start_anew(service: Service) -> None:
    with Client(service.address, "rm") as client:
        for _ in range(2):
            client.register()
            client.add_nodes({"n": {"vcore": 10}})
            client.add_application("app", queue="root.a")
            client.ask_many([ask("k")])
            assert [entry.allocationID for entry in client.allocations(1)] == ["k-0"]
