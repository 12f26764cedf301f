"""Measures a served scheduler over gRPC, from an ask sent to its allocation received.

The scheduler is `remuda serve` in a process of its own, each resource manager another process with
nodes and applications of its own. Asks come as fast as the wire takes them, where the time they
wait is mostly that of those before them, or at a steady pace, where it is that of their own way.
A run that does not place each ask exactly once is an error, not a result.
"""

from __future__ import annotations

from contextlib import ExitStack
from multiprocessing.connection import Connection
from typing import Final

from remuda.base.errors import RemudaError
from remuda.base.message import message
from remuda.bench.clusters.shapes import Shape
from remuda.bench.services.companion import companion, heard
from remuda.bench.services.served import Served
from remuda.bench.services.wire_client import WARM, Report, Work, run_client
from remuda.bench.throughput.idle import Reaction, reaction
from remuda.bench.throughput.run import build

_QUEUES: Final = 10
_APPLICATIONS: Final = 10


@message
class GrpcShape:
    """The load: the number of clients, of all asks, and of asks in a message.

    ``nodes``: of all clients together. ``rate``: asks a second of all clients together; 0: as fast
    as the wire takes them.
    """

    name: str
    nodes: int
    clients: int
    asks: int
    per_message: int
    rate: float = 0.0


GRPC: Final = (
    GrpcShape("G1", 1_000, clients=1, asks=20_000, per_message=1),
    GrpcShape("G2", 1_000, clients=1, asks=50_000, per_message=10),
    GrpcShape("G3", 1_000, clients=1, asks=100_000, per_message=100),
    GrpcShape("G4", 1_000, clients=4, asks=20_000, per_message=1),
    GrpcShape("G5", 1_000, clients=4, asks=100_000, per_message=100),
    GrpcShape("G6", 1_000, clients=1, asks=25_000, per_message=1, rate=5_000.0),
)


@message
class GrpcResult:
    """A measured shape.

    ``milliseconds``: from an ask to its allocation. ``server_microseconds`` and
    ``client_microseconds``: CPU time per allocation of the scheduler and of all clients.
    ``resident_bytes``: of the scheduler.
    """

    shape: str
    clients: int
    per_message: int
    rate: float
    allocations_per_second: float
    milliseconds: Reaction
    server_microseconds: float
    client_microseconds: float
    resident_bytes: int
    build: str


def measure_grpc(shape: GrpcShape, *options: str) -> GrpcResult:
    """Run a shape once, with further options of `remuda serve`.

    Raises: RemudaError if an ask was not placed once.
    """
    with Served(*options) as served, ExitStack() as clients:
        pipes = [
            clients.enter_context(companion(run_client, served.grpc, work))
            for work in _works(shape)
        ]
        for pipe in pipes:
            heard(pipe, "a client", shape.name)
        used = served.cpu_seconds()
        for pipe in pipes:
            pipe.send(None)
        reports = [_report(pipe, shape) for pipe in pipes]
        used = served.cpu_seconds() - used
        resident = served.resident_bytes()
        _judge(shape, served)
    return _result(shape, reports, used, resident)


def _works(shape: GrpcShape) -> list[Work]:
    """Return the work of each client; all do the same."""
    asks = shape.asks // shape.clients + WARM
    cluster = Shape(shape.name, shape.nodes // shape.clients, _QUEUES, _APPLICATIONS, asks)
    rate = shape.rate / shape.clients
    return [
        Work(f"bench-{number}", cluster, shape.per_message, rate) for number in range(shape.clients)
    ]


def _report(pipe: Connection, shape: GrpcShape) -> Report:
    report = heard(pipe, "a client", shape.name)
    assert isinstance(report, Report)
    return report


def _judge(shape: GrpcShape, served: Served) -> None:
    """Refuse a run after which the scheduler has other allocations. Raises: RemudaError."""
    served.judge()
    wanted = (shape.asks // shape.clients + WARM) * shape.clients
    if (found := served.containers()) != wanted:
        raise RemudaError(f"{shape.name}: the scheduler has {found} allocations, not {wanted}")


def _result(shape: GrpcShape, reports: list[Report], used: float, resident: int) -> GrpcResult:
    waits = [wait / 1e6 for report in reports for wait in report.waits_ns]
    began_ns = min(report.began_ns for report in reports)
    ended_ns = max(report.ended_ns for report in reports)
    return GrpcResult(
        shape=shape.name,
        clients=shape.clients,
        per_message=shape.per_message,
        rate=shape.rate,
        allocations_per_second=round(len(waits) * 1e9 / (ended_ns - began_ns), 1),
        milliseconds=reaction(waits),
        server_microseconds=round(used * 1e6 / len(waits), 2),
        client_microseconds=round(sum(each.cpu_seconds for each in reports) * 1e6 / len(waits), 2),
        resident_bytes=resident,
        build=build(),
    )
