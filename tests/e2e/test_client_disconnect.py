"""The client library tells when its scheduler goes, and starts anew with the next one."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterable
from queue import Queue
from signal import SIGKILL, SIGTERM

import pytest

from remuda.client import Client, ClientError
from remuda.si.pb import si_pb2 as si
from remuda.si.wire import Response, resource
from tests.e2e.serving import FREE_PORTS, Served
from tests.waiting import wait

QUEUES = """
partitions:
  - name: default
    queues:
      - name: root
        submitacl: "*"
        queues: [{name: a}]
"""


class Cluster:
    """A resource manager that keeps what waits and what runs, and starts anew after a break."""

    def __init__(self, grpc: str) -> None:
        self.waiting = {f"k{number}": ask(f"k{number}") for number in range(100)}
        self.running: dict[str, si.Allocation] = {}
        self.twice: list[str] = []
        self.lock = threading.Lock()
        self.lost: Queue[ClientError] = Queue()
        self.client = Client(
            grpc, "rm", on_response=self.note, on_disconnect=self.lost.put, timeout=30
        )

    def note(self, response: Response) -> None:
        """Take over what was allocated."""
        if isinstance(response, si.AllocationResponse):
            with self.lock:
                for new in response.new:
                    waited = self.waiting.pop(new.allocationKey, None) is not None
                    if not waited and new.allocationID not in self.running:
                        self.twice.append(new.allocationKey)
                    self.running[new.allocationID] = new

    def start(self) -> None:
        """Register and report everything there is."""
        self.client.register(QUEUES)
        self.client.add_nodes({"n1": {"vcore": 100_000}})
        self.client.add_application("app", queue="root.a")
        with self.lock:
            running = list(self.running.values())
        if running:
            self.client.send(si.AllocationRequest(allocations=running))


def ask(key: str) -> si.AllocationAsk:
    size = resource({"vcore": 1000})
    return si.AllocationAsk(
        applicationID="app", allocationKey=key, resourceAsk=size, maxAllocations=1
    )


def refused(client: Client, asks: Iterable[si.AllocationAsk]) -> int:
    """Send asks one by one; how many were refused because the connection is lost."""
    count = 0
    for each in asks:
        try:
            client.ask_many([each])
        except ClientError as error:
            count += "register again and send everything anew" in str(error)
    return count


@pytest.mark.remuda_rule("REC-2", "REC-12")
@pytest.mark.parametrize("signal", [SIGKILL, SIGTERM], ids=["killed", "stopped"])
def test_a_client_that_is_called_back_hears_of_the_end_and_nothing_is_lost(signal: int) -> None:
    with Served(*FREE_PORTS) as first:
        cluster = Cluster(first.grpc)
        cluster.start()
        keys = list(cluster.waiting)
        assert refused(cluster.client, [ask(key) for key in keys[:20]]) == 0
        wait(lambda: len(cluster.running) == 20)
        first.end(signal)
        # Some may be taken before the end is noticed; then they are among what waits.
        refused(cluster.client, [ask(key) for key in keys[20:30]])
        reason = str(cluster.lost.get(timeout=60))
        assert reason.startswith("connection lost: ")
        assert refused(cluster.client, [ask(key) for key in keys[30:80]]) == 50
        with pytest.raises(ClientError, match="connection lost"):
            cluster.client.add_nodes({"n2": {"vcore": 1}})
        with pytest.raises(ClientError, match="connection lost"):
            cluster.client.release("app", key="k0")
    with Served("--grpc-address", first.grpc, "--rest-address", "127.0.0.1:0") as second:
        cluster.start()
        with cluster.lock:
            waiting = list(cluster.waiting.values())
        assert len(waiting) == 80
        cluster.client.ask_many(waiting)
        wait(lambda: len(cluster.running) == 100)
        assert (cluster.waiting, cluster.twice) == ({}, [])
        (node,) = second.client.get("/ws/v1/partition/default/nodes").json()
        assert node["allocated"]["vcore"] == 100_000
        assert cluster.lost.empty()
        cluster.client.close()
        assert cluster.lost.empty()


def test_a_client_may_start_anew_while_it_is_told_of_the_end() -> None:
    done = threading.Event()
    started: Queue[str] = Queue()

    def note(response: Response) -> None:
        for new in getattr(response, "new", ()):
            started.put(new.allocationKey)

    def again(_: ClientError) -> None:
        begin(client)
        client.ask_many([ask("second")])
        done.set()

    with Served(*FREE_PORTS) as first:
        client = Client(first.grpc, "rm", on_response=note, on_disconnect=again, timeout=60)
        begin(client)
        client.ask_many([ask("first")])
        assert started.get(timeout=60) == "first"
        first.end(SIGKILL)
    with Served("--grpc-address", first.grpc, "--rest-address", "127.0.0.1:0"):
        assert done.wait(60)
        assert started.get(timeout=60) == "second"
        client.close()


def begin(client: Client) -> None:
    client.register(QUEUES)
    client.add_nodes({"n1": {"vcore": 100_000}})
    client.add_application("app", queue="root.a")


def test_without_a_callback_for_it_the_end_is_in_the_log_and_raised(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with Served(*FREE_PORTS) as served, caplog.at_level(logging.ERROR, "remuda.client"):
        client = Client(served.grpc, "rm", on_response=lambda _: None)
        begin(client)
        served.end(SIGKILL)
        wait(lambda: bool(caplog.records))
        (record,) = caplog.records
        assert record.getMessage().startswith("connection lost: no scheduler answers at ")
        assert refused(client, [ask(str(number)) for number in range(50)]) == 50
        client.close()


def test_whoever_waits_for_a_verdict_hears_of_the_end() -> None:
    with Served(*FREE_PORTS) as served, Client(served.grpc, "rm") as client:
        begin(client)
        client.responses()
        served.end(SIGKILL)
        with pytest.raises(ClientError, match="connection lost"):
            client.add_application("late", queue="root.a")
        for _ in range(2):
            with pytest.raises(ClientError, match="connection lost"):
                list(client.responses(0.1))
