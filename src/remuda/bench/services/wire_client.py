"""One resource manager of a measurement over gRPC, in a process of its own.

While the clock runs it only sends bytes that were encoded before, counts the answers, and notes
when each came. It reads the contents of the answers afterwards.
"""

from __future__ import annotations

import gc
import sys
import threading
import time
from array import array
from collections.abc import Iterator
from contextlib import suppress
from multiprocessing.connection import Connection
from typing import Final

import grpc

from remuda.base.errors import RemudaError
from remuda.base.message import message
from remuda.bench.clusters.shapes import Shape
from remuda.bench.services.wire import Wire, encoded
from remuda.bench.throughput.run import MEMORY, applications_of, configuration, nodes_of, request_of
from remuda.si.pb import si_pb2 as si

# Nodes in one message.
_NODES: Final = 1_000

# Asks that are placed before the clock starts, one a message.
WARM: Final = 500

# With the default of 5 ms the thread that sends would keep the one that receives from its turn.
_SWITCH_INTERVAL_S: Final = 0.0002


@message
class Work:
    """The work of one client.

    ``cluster``: its own nodes and applications, with room for all asks. WARM asks are placed
    beforehand. The client sends the others ``per_message`` at once, ``rate`` a second; 0: as fast
    as the wire takes them.
    """

    rm_id: str
    cluster: Shape
    per_message: int
    rate: float

    def asks(self) -> int:
        """Return how many asks are measured."""
        return self.cluster.asks - WARM


@message
class Report:
    """What a client saw; times are nanoseconds of the system's clock that only goes forward.

    ``waits_ns``: from each ask to its allocation, counted from when it was due, even if it was sent
    later. ``cpu_seconds``: of this process, between the two times.
    """

    began_ns: int
    ended_ns: int
    waits_ns: list[int]
    cpu_seconds: float


def run_client(address: str, work: Work, pipe: Connection) -> None:
    """Prepare, report readiness, work on request, and send a report or the error."""
    sys.setswitchinterval(_SWITCH_INTERVAL_S)
    # After the failure of another client no process reads this.
    with suppress(EOFError, BrokenPipeError):
        try:
            with Wire(address, work.rm_id) as wire:
                _prepare(wire, work.cluster)
                pipe.send(_Asking(work, pipe).done_over(wire))
        except (RemudaError, grpc.RpcError) as error:
            pipe.send(str(error))


def _prepare(wire: Wire, cluster: Shape) -> None:
    wire.register(configuration(cluster))
    parts = range(0, cluster.nodes, _NODES)
    requests = [
        nodes_of(cluster, range(start, min(start + _NODES, cluster.nodes))) for start in parts
    ]
    wire.add_nodes([encoded(each) for each in requests], cluster.nodes)
    added = applications_of(cluster)
    wire.add_applications([encoded(added)], len(added.new))


class _Asking:
    """Asks on a stream: a thread of the gRPC library sends, the main one receives."""

    def __init__(self, work: Work, pipe: Connection) -> None:
        self._work = work
        self._pipe = pipe
        self._warm = self._messages("w", WARM, 1)
        self._measured = self._messages("k", work.asks(), work.per_message)
        self._gap_ns = 1e9 * work.per_message / work.rate if work.rate else 0.0
        self._due_ns = array("q")
        self._started = threading.Event()
        self._over = threading.Event()

    def done_over(self, wire: Wire) -> Report:
        """Return what came of it. Raises: RemudaError, grpc.RpcError."""
        answers = wire.allocations(self._sent())
        try:
            self._received(answers, WARM)
            gc.collect()
            gc.freeze()
            gc.disable()
            self._pipe.send(None)
            self._pipe.recv()
            used = time.process_time()
            self._started.set()
            received = self._received(answers, self._work.asks())
            used = time.process_time() - used
        finally:
            self._started.set()
            self._over.set()
        return Report(
            began_ns=self._due_ns[0],
            ended_ns=received[-1][0],
            waits_ns=self._waits(received),
            cpu_seconds=used,
        )

    def _messages(self, prefix: str, count: int, per_message: int) -> list[bytes]:
        return [
            encoded(
                request_of(
                    self._work.cluster,
                    prefix,
                    range(start, min(start + per_message, count)),
                    MEMORY,
                )
            )
            for start in range(0, count, per_message)
        ]

    def _sent(self) -> Iterator[bytes]:
        """Yield the messages when they are due; the stream ends when all answers came."""
        yield from self._warm
        self._started.wait()
        began_ns = time.monotonic_ns()
        for place, each in enumerate(self._measured):
            due_ns = time.monotonic_ns()
            if self._gap_ns:
                now_ns, due_ns = due_ns, began_ns + int(place * self._gap_ns)
                if due_ns > now_ns:
                    time.sleep((due_ns - now_ns) / 1e9)
            self._due_ns.append(due_ns)
            yield each
        self._over.wait()

    def _received(
        self, answers: Iterator[bytes], awaited: int
    ) -> list[tuple[int, si.AllocationResponse]]:
        """Return answers with so many allocations, and when each came. Raises: RemudaError."""
        received: list[tuple[int, si.AllocationResponse]] = []
        for data in answers:
            now_ns = time.monotonic_ns()
            response = si.AllocationResponse.FromString(data)
            for refused in response.rejected:
                raise RemudaError(
                    f"{self._work.cluster.name}: an ask was rejected: {refused.reason}"
                )
            if response.new:
                received.append((now_ns, response))
                awaited -= len(response.new)
                if awaited <= 0:
                    return received
        raise RemudaError(f"{self._work.cluster.name}: {awaited} asks were not placed")

    def _waits(self, received: list[tuple[int, si.AllocationResponse]]) -> list[int]:
        """Return how long each ask waited. Raises: RemudaError unless each was placed once."""
        came_ns: dict[str, int] = {}
        for at_ns, response in received:
            for new in response.new:
                if new.allocationKey in came_ns:
                    raise RemudaError(f"{self._work.cluster.name}: placed twice")
                came_ns[new.allocationKey] = at_ns
        if came_ns.keys() != {f"k-{number}" for number in range(self._work.asks())}:
            raise RemudaError(f"{self._work.cluster.name}: others than what was asked for came")
        return [
            at_ns - self._due_ns[int(key[2:]) // self._work.per_message]
            for key, at_ns in came_ns.items()
        ]
