"""A scheduler that is watched decides as one that is not."""

from __future__ import annotations

import signal
import time
from pathlib import Path

import grpc

from remuda.si.pb import extension_pb2 as ext
from remuda.si.pb.extension_pb2_grpc import MetricsStub
from tests.e2e.serving import FREE_PORTS, PARTITION, Served, run_remuda

LOOKED_AT = (
    "/ws/v1/metrics",
    "/ws/v1/events/batch",
    "/ws/v1/scheduler/healthcheck",
    "/ws/v1/history/apps",
    f"{PARTITION}/queues",
    f"{PARTITION}/nodes",
    f"{PARTITION}/usage/users",
)


def test_what_was_decided_under_observation_is_decided_again_without_it(tmp_path: Path) -> None:
    """The recording is made with all telemetry busy; the replay is the bare core."""
    journal = tmp_path / "run.journal"
    tracing = ("--tracing", "otel")
    with Served(
        *FREE_PORTS, "--demo", "--record", str(journal), *tracing, OTEL_TRACES_EXPORTER="none"
    ) as served:
        with grpc.insecure_channel(served.grpc) as channel:
            metrics = MetricsStub(channel)
            events = metrics.WatchEvents(ext.WatchEventsRequest(history=100))
            samples = metrics.WatchSamples(ext.WatchSamplesRequest(changes_only=True))
            until = time.monotonic() + 2.5
            while time.monotonic() < until:
                for path in LOOKED_AT:
                    assert served.client.get(path).status_code == 200, path
                for kind in (ext.UsageRequest.QUEUE, ext.UsageRequest.APPLICATION):
                    metrics.GetUsage(ext.UsageRequest(kind=kind), timeout=60)
            assert len(next(iter(events)).records) > 0
            assert len(next(iter(samples)).samples) > 0
            events.cancel()
            samples.cancel()
        assert served.end(signal.SIGTERM)[0] == 0
    replayed = run_remuda("replay", str(journal))
    assert (replayed.returncode, replayed.stderr) == (0, "")
