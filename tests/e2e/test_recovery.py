"""A scheduler that was killed, and one whose RM was, are as before once the RM replayed (REC).

The RM here is a minimal one: it knows what runs where, because it was told, and tells it again.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from signal import SIGKILL
from typing import Any

import pytest

from remuda.client import Client
from remuda.si.pb import si_pb2 as si
from remuda.si.wire import Response, resource
from tests.e2e.serving import FREE_PORTS, PARTITION, Served

CONFIG = """
partitions:
  - name: default
    queues:
      - name: root
        submitacl: "*"
        queues:
          - name: a
            resources: {max: {vcore: 900000}}
          - name: b
"""
PER_MESSAGE = 5_000


class Shim:
    """An RM with its own truth: nodes, applications and what runs."""

    def __init__(self, nodes: int, applications: int, per_application: int) -> None:
        self.nodes = [f"node-{number}" for number in range(nodes)]
        self.applications = [f"app-{number}" for number in range(applications)]
        self.per_application = per_application
        self.running: dict[tuple[str, str], si.Allocation] = {}
        self.said: list[tuple[str, str]] = []

    def hear(self, response: Response) -> None:
        """Keep the truth up to date."""
        if isinstance(response, si.AllocationResponse):
            for new in response.new:
                self.running[new.applicationID, new.allocationID] = new
        if isinstance(response, si.ApplicationResponse):
            self.said += [(each.applicationID, "accepted") for each in response.accepted]
            self.said += [(each.applicationID, "rejected") for each in response.rejected]
        if isinstance(response, si.NodeResponse):
            self.said += [(each.nodeID, "accepted") for each in response.accepted]
            self.said += [(each.nodeID, "rejected") for each in response.rejected]

    def connect(self, address: str) -> Client:
        """Register, which wipes an earlier life."""
        self.said = []
        client = Client(address, "shim", on_response=self.hear, timeout=60)
        client.register(CONFIG)
        return client

    def add_applications(self, client: Client) -> None:
        """Send them in their order, and wait for all verdicts."""
        for some in portions(self.applications):
            client.send(
                si.ApplicationRequest(
                    new=[
                        si.AddApplicationRequest(
                            applicationID=name,
                            queueName="root.a" if hash_free(name) else "root.b",
                            ugi=si.UserGroupInformation(user="ann", groups=["dev"]),
                        )
                        for name in some
                    ]
                )
            )
        self.await_verdicts(self.applications)

    def add_nodes(self, client: Client, *, existing: bool) -> None:
        """Create the nodes, with what runs on them or draining and without it (REC-3)."""
        by_node: dict[str, list[si.Allocation]] = {}
        for allocation in self.running.values() if existing else ():
            by_node.setdefault(allocation.nodeID, []).append(allocation)
        create = si.NodeInfo.CREATE if existing or not self.running else si.NodeInfo.CREATE_DRAIN
        for some in portions(self.nodes):
            client.send(
                si.NodeRequest(
                    nodes=[
                        si.NodeInfo(
                            nodeID=name,
                            action=create,
                            schedulableResource=resource({"vcore": 100, "memory": 1000}),
                            existingAllocations=by_node.get(name, ()),
                        )
                        for name in some
                    ]
                )
            )
        self.await_verdicts(self.nodes)

    def ask(self, client: Client) -> None:
        """Ask for everything, running or not; what runs already is no second allocation (REC-6)."""
        asks = [
            si.AllocationAsk(
                applicationID=name,
                allocationKey=f"{name}-task-{number}",
                resourceAsk=resource({"vcore": 1, "memory": 1 + number % 3}),
                maxAllocations=1,
            )
            for name in self.applications
            for number in range(self.per_application)
        ]
        for some in portions(asks):
            client.send(si.AllocationRequest(asks=some))

    def replay(self, client: Client, *, bulk: bool) -> None:
        """Tell the scheduler everything again, in either of the two ways (REC-2, REC-3)."""
        if not bulk:
            self.add_applications(client)
            self.add_nodes(client, existing=True)
            return
        self.add_nodes(client, existing=False)
        self.add_applications(client)
        for some in portions(list(self.running.values())):
            client.send(si.AllocationRequest(allocations=some))
        undrain = si.NodeInfo.DRAIN_TO_SCHEDULABLE
        for names in portions(self.nodes):
            client.send(
                si.NodeRequest(nodes=[si.NodeInfo(nodeID=name, action=undrain) for name in names])
            )

    def await_verdicts(self, names: list[str]) -> None:
        """Wait until all of them were accepted."""
        deadline = time.monotonic() + 60
        while len(self.said) < len(names) and time.monotonic() < deadline:
            time.sleep(0.002)
        assert sorted(self.said) == sorted((name, "accepted") for name in names)
        self.said = []


def portions(items: list[Any]) -> Iterator[list[Any]]:
    """Lists of a size that fits a message."""
    for start in range(0, len(items), PER_MESSAGE):
        yield items[start : start + PER_MESSAGE]


def hash_free(name: str) -> bool:
    """Whether the number in a name is even."""
    return int(name.rpartition("-")[2]) % 2 == 0


def await_containers(served: Served, count: int, seconds: float = 120) -> None:
    """Wait until so many allocations run."""
    deadline = time.monotonic() + seconds
    running = -1
    while running != count and time.monotonic() < deadline:
        time.sleep(0.02)
        (partition,) = served.client.get("/ws/v1/partitions").json()
        running = partition["totalContainers"]
    assert running == count


def views(served: Served) -> dict[str, Any]:
    """Everything that must be as before, view by view; times and states apart (REC-7, REC-9)."""
    found: dict[str, Any] = {}
    paths = ("queues", "nodes", "usage/users", "usage/groups")
    leaves = ("queue/root.a/applications", "queue/root.b/applications")
    for path in (*paths, *leaves):
        answer = served.client.get(f"{PARTITION}/{path}")
        assert answer.status_code == 200, path
        found[path] = timeless(answer.json())
    found["partitions"] = timeless(served.client.get("/ws/v1/partitions").json())
    return found


TIMES = {
    "requestTime",
    "allocationTime",
    "allocationDelay",
    "submissionTime",
    "startTime",
    "stateLog",
    "lastStateTransitionTime",
}


def timeless(value: Any) -> Any:
    """The same without times."""
    if isinstance(value, dict):
        return {name: timeless(each) for name, each in value.items() if name not in TIMES}
    if isinstance(value, list):
        return [timeless(each) for each in value]
    return value


def started(shim: Shim, served: Served) -> None:
    """Let the shim's work start."""
    with shim.connect(served.grpc) as client:
        shim.add_nodes(client, existing=False)
        shim.add_applications(client)
        shim.ask(client)
        await_containers(served, len(shim.applications) * shim.per_application)


@pytest.mark.remuda_rule("REC-1", "REC-3", "REC-6", "REC-8", "REC-12")
@pytest.mark.parametrize("bulk", [True, False])
def test_a_killed_scheduler_is_as_before_after_the_replay(*, bulk: bool) -> None:
    shim = Shim(nodes=20, applications=6, per_application=30)
    with Served(*FREE_PORTS) as served:
        started(shim, served)
        before = views(served)
        served.end(SIGKILL)
    with Served(*FREE_PORTS) as served, shim.connect(served.grpc) as client:
        shim.replay(client, bulk=bulk)
        shim.ask(client)
        await_containers(served, 180)
        assert views(served) == before


@pytest.mark.remuda_rule("REC-12", "REC-13", "RM-9", "SI-34")
def test_an_rm_that_was_killed_finds_everything_as_before_after_its_replay() -> None:
    shim = Shim(nodes=20, applications=6, per_application=30)
    with Served(*FREE_PORTS) as served:
        started(shim, served)
        before = views(served)
        with shim.connect(served.grpc) as client:
            shim.replay(client, bulk=True)
            shim.ask(client)
            await_containers(served, 180)
            assert views(served) == before


@pytest.mark.timed
@pytest.mark.remuda_rule("REC-15")
@pytest.mark.parametrize("bulk", [True, False])
def test_ten_thousand_nodes_recover_in_time(*, bulk: bool) -> None:
    shim = Shim(nodes=10_000, applications=1_000, per_application=0)
    shim.running = {
        (name, f"{name}-task-{number}-0"): si.Allocation(
            allocationKey=f"{name}-task-{number}",
            UUID=f"{name}-task-{number}-0",
            allocationID=f"{name}-task-{number}-0",
            nodeID=shim.nodes[(place * 100 + number) % 10_000],
            applicationID=name,
            resourcePerAlloc=resource({"vcore": 1, "memory": 1 + number % 3}),
        )
        for place, name in enumerate(shim.applications)
        for number in range(100)
    }
    with Served(*FREE_PORTS) as served, shim.connect(served.grpc) as client:
        began = time.monotonic()
        shim.replay(client, bulk=bulk)
        await_containers(served, 100_000)
        seconds = time.monotonic() - began
        print(f"recovered in {seconds:.1f} s")
        assert seconds < 30
