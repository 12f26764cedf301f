"""The benchmarks of a served scheduler, with small numbers."""

from __future__ import annotations

from dataclasses import replace

import pytest

from remuda.base.errors import RemudaError
from remuda.bench.clusters.shapes import Shape
from remuda.bench.services.over_grpc import GRPC, GrpcResult, GrpcShape, measure_grpc
from remuda.bench.services.recovery import RECOVERY, RecoveryResult, RecoveryShape, measure_recovery
from remuda.bench.services.served import Served
from remuda.bench.services.wire import Wire, encoded
from remuda.bench.suites.catalogue import chosen
from remuda.bench.throughput.idle import Reaction
from remuda.bench.throughput.run import configuration, nodes_of
from tests.unit.bench.sessions import session_of, shown

FLAT_OUT = GrpcShape("g1", 20, clients=2, asks=600, per_message=7)
PACED = GrpcShape("g2", 20, clients=1, asks=200, per_message=1, rate=1_000.0)
CLUSTER = Shape("small", 20, 2, 3, 90)


def test_two_clients_get_all_they_ask_for() -> None:
    result = measure_grpc(FLAT_OUT)
    assert (result.shape, result.clients, result.per_message) == ("g1", 2, 7)
    assert result.allocations_per_second > 100
    times = result.milliseconds
    assert 0 < times.p50 <= times.p99 <= times.max < 30_000
    assert result.server_microseconds >= 0
    assert result.client_microseconds > 0


def test_asks_come_at_their_pace() -> None:
    result = measure_grpc(PACED)
    # The last ask is due after 199 milliseconds, so no run is quicker, however quick the machine.
    assert 20 < result.allocations_per_second <= 200 / 0.199
    assert 0 < result.milliseconds.p50 <= result.milliseconds.p99 < 10_000


@pytest.mark.remuda_rule("REC-2", "REC-3")
@pytest.mark.parametrize("bulk", [True, False])
def test_a_scheduler_is_told_what_runs(*, bulk: bool) -> None:
    result = measure_recovery(RecoveryShape("small", CLUSTER, bulk))
    assert (result.bulk, result.nodes, result.allocations) == (bulk, 20, 90)
    assert 0 < result.seconds < 60


def test_what_is_refused_is_no_result() -> None:
    nodes = [encoded(nodes_of(CLUSTER, range(2)))]
    with Served() as served, Wire(served.grpc, "rm") as wire:
        wire.register(configuration(CLUSTER))
        wire.add_nodes(nodes, 2)
        with pytest.raises(RemudaError, match=r"UpdateNode: .*node-00000"):
            wire.add_nodes(nodes, 2)
        assert served.containers() == 0


def test_a_scheduler_that_does_not_start_is_told(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(RemudaError, match="did not start"), Served("--no-such-option"):
        pass
    assert "--no-such-option" in capfd.readouterr().err


def test_the_shapes_are_those_of_the_targets() -> None:
    assert [(each.clients, each.per_message, each.rate) for each in GRPC] == [
        *((1, 1, 0), (1, 10, 0), (1, 100, 0), (4, 1, 0), (4, 100, 0), (1, 1, 5_000)),
    ]
    assert [each.bulk for each in RECOVERY] == [True, False]
    for each in RECOVERY:
        cluster = each.cluster
        assert (cluster.nodes, cluster.asks) == (10_000, 100_000)
        assert cluster.queues * cluster.applications == 1_000
    assert [name for _, name in chosen(["grpc", "v1"])] == [*(each.name for each in GRPC), "V1"]


SENT = GrpcResult(
    *("G1", 4, 100, 0.0, 25_000.0),
    *(Reaction(0.5, 2.25, 9.0), 34.5, 2.9, 2**20, "interpreted"),
)


def test_what_was_asked_over_grpc_has_a_table() -> None:
    recovered = RecoveryResult("V1", True, 10_000, 100_000, 2.5, 2.34, 2**21, "interpreted")
    session = session_of(SENT, replace(SENT, rate=5_000.0), recovered)
    head, row, paced, _, recovery, build = shown(session)
    assert "placed/s" in head
    assert row.split() == [
        *("G1", "4", "100", "all", "25,000", "0.50", "2.25", "34.5", "2.9", "1"),
    ]
    assert paced.split()[3] == "5,000"
    assert recovery.split() == ["V1", "in", "bulk", "10,000", "100,000", "2.50", "2.34", "2"]
    assert build == "build: interpreted"
