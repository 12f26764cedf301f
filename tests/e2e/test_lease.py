"""Two processes and a real etcd: one is active, the other takes over."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from contextlib import contextmanager
from signal import SIGCONT, SIGKILL, SIGSTOP, SIGTERM

import grpc
import pytest

from remuda.client import Admin, Client, ClientError
from remuda.si.pb import si_pb2 as si
from remuda.si.pb.si_pb2_grpc import SchedulerStub
from tests.e2e.etcd_server import Etcd, needs_etcd
from tests.e2e.grpc_service import Stream
from tests.e2e.lease_load import LoadedManager
from tests.e2e.serving import FREE_PORTS, Served
from tests.e2e.test_grpc_streams import node
from tests.waiting import wait

pytestmark = needs_etcd

# The shortest that etcd gives.
TTL = ("--lease-ttl", "2s")


@pytest.fixture(scope="module")
def etcd() -> Iterator[Etcd]:
    with Etcd() as running:
        yield running


@contextmanager
def serving(lease: str, *options: str) -> Iterator[Served]:
    with Served(*FREE_PORTS, "--lease", lease, *(options or TTL)) as served:
        yield served


def probe(served: Served) -> str:
    return served.client.get("/readyz").text.strip()


def refused(served: Served) -> str:
    """Why a standby does not register a client."""
    with Client(served.grpc, "rm") as client, pytest.raises(ClientError) as caught:
        client.register()
    return str(caught.value)


def is_active(served: Served) -> bool:
    return probe(served) == "ok"


def token(served: Served) -> int:
    return round(metric(served, "yunikorn_scheduler_lease_fencing_token"))


def metric(served: Served, name: str) -> float:
    lines = served.client.get("/ws/v1/metrics").text.splitlines()
    return next(float(line.split()[-1]) for line in lines if line.startswith(f"{name} "))


@pytest.mark.remuda_rule("EXT-34", "EXT-35", "EXT-38", "MET-59")
def test_a_standby_takes_over_on_sigterm_without_waiting_for_the_end_of_the_lease(
    etcd: Etcd,
) -> None:
    lease = f"{etcd.lease}/terminated"
    with serving(lease, "--lease-ttl", "60s") as first:
        wait(lambda: is_active(first))
        with serving(lease, "--lease-ttl", "60s") as second:
            assert probe(second) == "standby"
            assert metric(second, "yunikorn_scheduler_lease_active") == 0
            assert metric(first, "yunikorn_scheduler_lease_active") == 1
            assert metric(first, "yunikorn_scheduler_lease_remaining_seconds") > 20
            before = token(first)
            named = f"the active one is at {first.grpc}"
            wait(lambda: named in refused(second))
            stub = SchedulerStub(grpc.insecure_channel(first.grpc))
            stub.RegisterResourceManager(si.RegisterResourceManagerRequest(rmID="rm"), timeout=60)
            stream: Stream[si.NodeResponse] = Stream(stub.UpdateNode, "rm", seconds=60)
            stream.send(node("n"))
            stream.receive()
            with Admin(f"{second.grpc},{first.grpc}") as admin:
                assert [each.rm_id for each in admin.resource_managers()] == ["rm"]
                assert json.loads(admin.state_dump())["partitions"]
            code, _, log = first.end(SIGTERM)
            assert code == 0
            assert "given back" in log
            assert stream.refusal()[0] is grpc.StatusCode.UNAVAILABLE
            wait(lambda: is_active(second))
            assert token(second) > before


@pytest.mark.remuda_rule("EXT-34", "EXT-37")
def test_nothing_is_lost_or_doubled_when_the_active_process_is_killed_under_load(
    etcd: Etcd,
) -> None:
    lease = f"{etcd.lease}/killed"
    with serving(lease) as first:
        wait(lambda: is_active(first))
        with serving(lease) as second, LoadedManager(f"{first.grpc},{second.grpc}") as manager:
            wait(lambda: len(manager.running) > 50)
            before = token(first)
            first.end(SIGKILL)
            wait(lambda: is_active(second))
            assert token(second) > before
            wait(lambda: manager.lives == 2)
            came = manager.asked
            wait(lambda: manager.asked > came + 50)
            manager.asking = False
            wait(manager.settled)
            assert manager.doubled == []
            assert manager.problems == []
            (partition,) = second.client.get("/ws/v1/partitions").json()
            assert partition["totalContainers"] == len(manager.running)


@pytest.mark.remuda_rule("EXT-34", "EXT-35")
def test_a_process_that_was_stopped_sends_nothing_when_it_goes_on(etcd: Etcd) -> None:
    lease = f"{etcd.lease}/stopped"
    with serving(lease) as first:
        wait(lambda: is_active(first))
        with serving(lease) as second:
            stub = SchedulerStub(grpc.insecure_channel(first.grpc))
            stub.RegisterResourceManager(si.RegisterResourceManagerRequest(rmID="rm"), timeout=60)
            stream: Stream[si.NodeResponse] = Stream(stub.UpdateNode, "rm", seconds=300)
            stream.send(node("n"))
            stream.receive()
            first.process.send_signal(SIGSTOP)
            # What is in its socket when it wakes it would answer at once.
            stream.send(node("late"))
            wait(lambda: is_active(second))
            first.process.send_signal(SIGCONT)
            answers: list[object] = []
            with pytest.raises(grpc.RpcError):
                answers.extend(stream.receive() for _ in range(3))
            assert answers == []
            code, _, log = first.end()
            assert code == 1
            assert "lease remuda/stopped is lost, so this process ends" in log
            assert is_active(second)


@pytest.mark.remuda_rule("EXT-34", "EXT-36")
def test_the_active_process_ends_when_somebody_deletes_its_key(etcd: Etcd) -> None:
    lease = f"{etcd.lease}/deleted"
    with serving(lease) as first:
        wait(lambda: is_active(first))
        with serving(lease) as second:
            before = token(first)
            key = base64.b64encode(b"remuda/deleted").decode()
            etcd.post("/kv/deleterange", {"key": key})
            code, _, log = first.end()
            assert code == 1
            assert "the store has ended it, or its key was deleted" in log
            wait(lambda: is_active(second))
            assert token(second) > before


@pytest.mark.remuda_rule("EXT-34")
def test_without_etcd_the_active_process_ends_and_the_standby_waits_for_it() -> None:
    with Etcd() as etcd, serving(etcd.lease) as first:
        wait(lambda: is_active(first))
        with serving(etcd.lease) as second:
            before = token(first)
            etcd.end()
            code, _, log = first.end()
            assert code == 1
            assert "not renewed in time: etcd at 127.0.0.1:" in log
            wait(lambda: metric(second, "yunikorn_scheduler_lease_failures_total") > 2)
            assert probe(second) == "standby"
            etcd.start()
            wait(lambda: is_active(second))
            assert token(second) > before
