"""Compare two partitions in one scheduler process with one process for each, behind one door.

    python -m tools.two_processes
    PYTHONPATH=build/compiled python -m tools.two_processes --asks 100000

A prototype, for docs/explanation/partitions-in-processes.md. Each partition has a resource manager
in a process of its own, which sends nodes, applications and asks over gRPC and waits until all are
placed. The door answers `/ws/v1/partitions` with what all schedulers answer, and hands requests for
`/ws/v1/partition/NAME/...` on to the scheduler that has the partition.
"""

from __future__ import annotations

import argparse
import http.client
import json
import sys
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from multiprocessing import get_context
from typing import TYPE_CHECKING, Any, Final

from remuda.base.errors import RemudaError
from remuda.bench.services.served import Served, answer_of
from remuda.bench.services.wire import Wire, encoded
from remuda.bench.throughput.run import build
from remuda.si.pb import si_pb2 as si
from tools.largest import Manager

if TYPE_CHECKING:
    from collections.abc import Iterator

PARTITIONS: Final = ("east", "west")
_MESSAGE: Final = 1_000
_QUEUES: Final = 100
_APPLICATIONS: Final = 1_000
_PATH: Final = "/ws/v1/partitions"


def fill(address: str, partition: str, nodes: int, asks: int) -> float:
    """Be a resource manager: fill a partition; return the seconds from the first ask to the end."""
    children = ", ".join(f"{{name: q{number}}}" for number in range(_QUEUES))
    root = f"{{name: root, submitacl: '*', queues: [{children}]}}"
    with Wire(address, partition) as wire:
        wire.register(f"partitions: [{{name: {partition}, queues: [{root}]}}]")
        wire.add_nodes([_nodes(partition, nodes, -(-asks // nodes))], nodes)
        wire.add_applications([_applications(partition)], _APPLICATIONS)
        requests = [_asks(partition, start, asks) for start in range(0, asks, _MESSAGE)]
        began = time.perf_counter()
        manager = Manager(wire)
        manager.send(requests)
        manager.await_placed(asks)
        took = time.perf_counter() - began
        manager.end()
        return took


def _nodes(partition: str, nodes: int, each: int) -> bytes:
    request = si.NodeRequest()
    for number in range(nodes):
        node = request.nodes.add(nodeID=f"node-{number:05}", action=si.NodeInfo.CREATE)
        node.attributes["si/node-partition"] = partition
        node.schedulableResource.resources["vcore"].value = each
    return encoded(request)


def _applications(partition: str) -> bytes:
    request = si.ApplicationRequest()
    for number in range(_APPLICATIONS):
        request.new.add(
            applicationID=f"app-{number:04}",
            queueName=f"root.q{number % _QUEUES}",
            partitionName=partition,
        ).ugi.user = "user"
    return encoded(request)


def _asks(partition: str, start: int, asks: int) -> bytes:
    request = si.AllocationRequest()
    for number in range(start, min(start + _MESSAGE, asks)):
        ask = request.asks.add(
            allocationKey=f"k-{number}",
            applicationID=f"app-{number % _APPLICATIONS:04}",
            partitionName=partition,
            maxAllocations=1,
        )
        ask.resourceAsk.resources["vcore"].value = 1
    return encoded(request)


def partitions(address: str) -> list[dict[str, Any]]:
    """Return the partitions that a scheduler or the door tells."""
    status, body = answer_of(address, _PATH)
    if status != http.client.OK:
        raise RemudaError(f"{address}{_PATH}: {status}")
    found: list[dict[str, Any]] = json.loads(body)
    return found


@contextmanager
def door(schedulers: Sequence[str]) -> Iterator[str]:
    """Serve what several schedulers answer at one address, and yield that address."""

    class Door(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if self.path == _PATH:
                each = [partitions(address) for address in schedulers]
                self._answer(200, json.dumps([one for some in each for one in some]).encode())
                return
            parts = self.path.split("/")
            name = parts[4] if parts[3:4] == ["partition"] and len(parts) > 4 else ""
            for address in schedulers:
                if name in [one["name"] for one in partitions(address)]:
                    self._answer(*answer_of(address, self.path))
                    return
            self._answer(404, b"no scheduler has this partition")

        def _answer(self, status: int, body: bytes) -> None:
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the library's
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Door)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()


def measure(processes: int, nodes: int, asks: int) -> None:
    """Fill both partitions at once, in so many scheduler processes, and print the figures."""
    with ExitStack() as stack:
        served = [stack.enter_context(Served()) for _ in range(processes)]
        own = [served[place % processes] for place in range(len(PARTITIONS))]
        pool = stack.enter_context(
            ProcessPoolExecutor(len(PARTITIONS), mp_context=get_context("spawn"))
        )
        filling = [
            pool.submit(fill, scheduler.grpc, name, nodes, asks)
            for scheduler, name in zip(own, PARTITIONS, strict=True)
        ]
        took = max(each.result() for each in filling)
        used = sum(each.cpu_seconds() for each in served)
        address = stack.enter_context(door([each.rest for each in served]))
        told = {one["name"]: one["totalContainers"] for one in partitions(address)}
        if told != dict.fromkeys(PARTITIONS, asks):
            raise RemudaError(f"the door tells {told}")
        for name in PARTITIONS:
            status, _ = answer_of(address, f"/ws/v1/partition/{name}/queues")
            if status != http.client.OK:
                raise RemudaError(f"the door answers {status} for the queues of {name}")
        held = sum(each.resident_bytes() for each in served) / 1e6
        total = len(PARTITIONS) * asks
        print(
            f"{processes} scheduler process{'es' * (processes > 1)}: {total / took:,.0f}"
            f" allocations/s, {used / total * 1e6:.1f} us of processor time each, {held:,.0f} MB"
        )


def main() -> int:
    """Measure one process, then two."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--nodes", type=int, default=2_000, help="of each partition")
    parser.add_argument("--asks", type=int, default=50_000, help="of each partition")
    given = parser.parse_args()
    print(build())
    for processes in (1, 2):
        measure(processes, given.nodes, given.asks)
    return 0


if __name__ == "__main__":
    sys.exit(main())
