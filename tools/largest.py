"""Fill a served scheduler as far as it goes, and time what is asked of it then.

    python -m tools.largest
    PYTHONPATH=build/compiled python -m tools.largest --running 100000 --waiting 100000

The scheduler is `remuda serve` in a process of its own, and all requests come over its network
doors. It gets queues, nodes and applications, asks that fill the cluster, and as many that wait.
Then allocations end, the configuration changes, lists are read over REST. At last the scheduler is
started anew and is told everything again. Each step is a line: what, how many, seconds by the
clock, the scheduler's processor time, and the memory that it holds afterwards.
"""

from __future__ import annotations

import argparse
import http.client
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from queue import SimpleQueue
from typing import Final

from remuda.base.errors import RemudaError
from remuda.bench.services.served import Served
from remuda.bench.services.wire import Wire, encoded
from remuda.bench.throughput.run import TIMEOUT_S, add_release, build
from remuda.si.pb import si_pb2 as si

# Elements in a message, as many as a resource manager would send at once.
_MESSAGE: Final = 1_000
_PARENTS: Final = 100
_LIMITS: Final = ("nodes", "applications", "queues", "asks", "application-asks")
_READ_S: Final = 300.0


class Sizes:
    """How large the cluster is. An ask wants one unit; nodes have room for all that is to run."""

    def __init__(self, given: argparse.Namespace) -> None:
        self.nodes: int = given.nodes
        self.leaves: int = given.queues
        self.applications: int = given.applications
        self.running: int = given.running
        self.waiting: int = given.waiting
        self.each = -(-self.running // self.nodes)

    def configuration(self, maximum: int) -> str:
        """Return the queues in 100 parents, each of which may have so many units."""
        share = -(-self.leaves // _PARENTS)
        lines = ["partitions: [{name: default, queues: [{name: root, submitacl: '*', queues: ["]
        for parent in range(_PARENTS):
            numbers = range(parent * share, min((parent + 1) * share, self.leaves))
            leaves = [f"{{name: q{number}}}" for number in numbers]
            if leaves:
                room = f"{{max: {{vcore: {maximum}m}}}}"
                children = ", ".join(leaves)
                lines.append(f"{{name: p{parent}, resources: {room}, queues: [{children}]}},")
        return "\n".join([*lines, "]}]}]"])

    def application(self, number: int) -> str:
        """Return the name of an application."""
        return f"app-{number % self.applications:05}"

    def leaf(self, application: int) -> str:
        """Return the queue of an application."""
        leaf = application % self.leaves
        return f"root.p{leaf // -(-self.leaves // _PARENTS)}.q{leaf}"


def _pieces(count: int, start: int = 0) -> Iterator[range]:
    for first in range(start, start + count, _MESSAGE):
        yield range(first, min(first + _MESSAGE, start + count))


def _nodes(sizes: Sizes, action: str) -> list[bytes]:
    requests = []
    for piece in _pieces(sizes.nodes):
        request = si.NodeRequest()
        for number in piece:
            node = request.nodes.add(
                nodeID=f"node-{number:06}", action=si.NodeInfo.ActionFromRM.Value(action)
            )
            node.schedulableResource.resources["vcore"].value = sizes.each
        requests.append(encoded(request))
    return requests


def _applications(sizes: Sizes) -> list[bytes]:
    requests = []
    for piece in _pieces(sizes.applications):
        request = si.ApplicationRequest()
        for number in piece:
            each = request.new.add(
                applicationID=sizes.application(number), queueName=sizes.leaf(number)
            )
            each.ugi.user = f"user-{number % 10}"
        requests.append(encoded(request))
    return requests


def _asks(sizes: Sizes, start: int, count: int) -> Iterator[bytes]:
    for piece in _pieces(count, start):
        request = si.AllocationRequest()
        for number in piece:
            ask = request.asks.add(
                allocationKey=f"k-{number}",
                applicationID=sizes.application(number),
                maxAllocations=1,
            )
            ask.resourceAsk.resources["vcore"].value = 1
        yield encoded(request)


def _reported(sizes: Sizes, placed: list[tuple[str, str, str]]) -> Iterator[bytes]:
    """Say what runs, as a resource manager does when the scheduler was started anew."""
    for start in range(0, len(placed), _MESSAGE):
        request = si.AllocationRequest()
        for application_id, identity, node_id in placed[start : start + _MESSAGE]:
            each = request.allocations.add(
                allocationKey=identity.rpartition("-")[0],
                applicationID=application_id,
                nodeID=node_id,
            )
            each.UUID = each.allocationID = identity
            each.resourcePerAlloc.resources["vcore"].value = 1
        yield encoded(request)


def _releases(placed: list[tuple[str, str, str]]) -> bytes:
    request = si.AllocationRequest()
    for application_id, identity, _ in placed:
        add_release(request, application_id, identity)
    return encoded(request)


class Manager:
    """The resource manager's stream of asks: what is put in is sent; what runs is noted."""

    def __init__(self, wire: Wire) -> None:
        self._requests: SimpleQueue[bytes | None] = SimpleQueue()
        self._answers = wire.allocations(iter(self._requests.get, None))
        self.placed: list[tuple[str, str, str]] = []

    def send(self, requests: Iterable[bytes]) -> None:
        """Send requests."""
        for request in requests:
            self._requests.put(request)

    def await_placed(self, count: int) -> None:
        """Take answers until so many allocations were made in all."""
        while len(self.placed) < count:
            response = si.AllocationResponse.FromString(next(self._answers))
            for refused in response.rejected:
                raise RemudaError(f"an ask was refused: {refused.reason}")
            self.placed += [
                (new.applicationID, new.allocationID, new.nodeID) for new in response.new
            ]

    def end(self) -> None:
        """End the stream."""
        self._requests.put(None)


class Steps:
    """Prints a line for each step."""

    def __init__(self, served: Served) -> None:
        self._served = served

    @contextmanager
    def step(self, what: str, count: int) -> Iterator[None]:
        """Time a step."""
        used, began = self._served.cpu_seconds(), time.perf_counter()
        yield
        took = time.perf_counter() - began
        used = self._served.cpu_seconds() - used
        held = self._served.resident_bytes() / 1e6
        print(f"{what:42} {count:>9,} {took:8.2f} s {used:8.2f} s {held:8,.0f} MB", flush=True)


def _waits(served: Served, count: int) -> None:
    """Wait until so many asks are pending at root. Raises: RemudaError if they never are."""
    end = time.monotonic() + TIMEOUT_S
    while time.monotonic() < end:
        root = served.get("/ws/v1/partition/default/queue/root?subtree=false")
        if (root.get("pendingResource") or {}).get("vcore", 0) >= count:
            return
        time.sleep(0.2)
    raise RemudaError(f"after {TIMEOUT_S:.0f} s not all of {count} asks wait")


def _lists(served: Served, sizes: Sizes) -> None:
    leaf = sizes.leaf(0)
    paths = {
        "the queues as a tree, bytes": "/ws/v1/partition/default/queues",
        "one queue, bytes": f"/ws/v1/partition/default/queue/{leaf}",
        "all nodes, bytes": "/ws/v1/partition/default/nodes",
        "all applications, bytes": "/ws/v1/partition/default/applications/active",
        "the applications of a queue, bytes": f"/ws/v1/partition/default/queue/{leaf}/applications",
        "the state dump, bytes": "/ws/v1/fullstatedump",
    }
    for what, path in paths.items():
        size = 0
        began = time.perf_counter()
        try:
            size = len(served.read(path, _READ_S))
        except (RemudaError, OSError, http.client.HTTPException) as fault:
            print(f"{what:42} failed after {time.perf_counter() - began:.1f} s: {fault}")
            continue
        took = time.perf_counter() - began
        print(f"{what:42} {size:>9,} {took:8.2f} s", flush=True)


def _begin(steps: Steps, wire: Wire, sizes: Sizes, action: str) -> None:
    with steps.step("queues", sizes.leaves):
        wire.register(sizes.configuration(sizes.running))
    requests = _nodes(sizes, action)
    with steps.step("nodes", sizes.nodes):
        wire.add_nodes(requests, sizes.nodes)
    requests = _applications(sizes)
    with steps.step("applications", sizes.applications):
        wire.add_applications(requests, sizes.applications)


def _fill(served: Served, sizes: Sizes) -> list[tuple[str, str, str]]:
    """Fill the scheduler, ask of it what there is to ask, and return what runs."""
    steps = Steps(served)
    with Wire(served.grpc, "largest") as wire:
        _begin(steps, wire, sizes, "CREATE")
        manager = Manager(wire)
        with steps.step("asks that are placed", sizes.running):
            manager.send(_asks(sizes, 0, sizes.running))
            manager.await_placed(sizes.running)
        with steps.step("asks that wait", sizes.waiting):
            manager.send(_asks(sizes, sizes.running, sizes.waiting))
            _waits(served, sizes.waiting)
        _end_some(steps, manager, sizes)
        _lists(served, sizes)
        with steps.step("a configuration with other maximums", sizes.leaves):
            wire.configure(sizes.configuration(sizes.running + 1))
        with steps.step("the same again", sizes.leaves):
            wire.configure(sizes.configuration(sizes.running + 1))
        _end_some(steps, manager, sizes)
        manager.end()
        served.judge()
        return manager.placed


def _end_some(steps: Steps, manager: Manager, sizes: Sizes) -> None:
    # This is done twice, and those that wait have to suffice for it.
    for count in (1, min(1_000, sizes.waiting // 4)):
        ended, manager.placed = manager.placed[:count], manager.placed[count:]
        with steps.step("allocations end, others take their place", count):
            manager.send([_releases(ended)])
            manager.await_placed(sizes.running)


def _recover(served: Served, sizes: Sizes, placed: list[tuple[str, str, str]]) -> None:
    """Tell a scheduler that was started anew all that there is."""
    steps = Steps(served)
    with Wire(served.grpc, "largest") as wire:
        _begin(steps, wire, sizes, "CREATE_DRAIN")
        with steps.step("allocations that run already", len(placed)):
            wire.add_allocations(list(_reported(sizes, placed)), len(placed))
        with steps.step("nodes are opened", sizes.nodes):
            wire.add_nodes(_nodes(sizes, "DRAIN_TO_SCHEDULABLE"), 0)
        manager = Manager(wire)
        with steps.step("asks that wait", sizes.waiting):
            manager.send(_asks(sizes, 2 * sizes.running, sizes.waiting))
            _waits(served, sizes.waiting)
        manager.placed = placed
        _end_some(steps, manager, sizes)
        manager.end()
        served.judge()


def main(arguments: list[str] | None = None) -> int:
    """Fill a scheduler, and a second one with the same."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    for name, default in (
        ("nodes", 100_000),
        ("queues", 10_000),
        ("applications", 20_000),
        ("running", 1_000_000),
        ("waiting", 1_000_000),
    ):
        parser.add_argument(f"--{name}", type=int, default=default)
    sizes = Sizes(parser.parse_args(arguments))
    limits = [f"--limit={name}={10_000_000}" for name in _LIMITS]
    print(f"{build()}: {'step':30} {'how many':>9} {'clock':>10} {'processor':>10} {'memory':>11}")
    with Served(*limits) as served:
        placed = _fill(served, sizes)
    print("started anew")
    with Served(*limits) as served:
        _recover(served, sizes, placed)
    return 0


if __name__ == "__main__":
    sys.exit(main())
