"""Event records of a served scheduler that outlive it (EVT-132)."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from signal import SIGKILL
from typing import Any

import grpc
import pytest

from remuda.si.pb import si_pb2 as si
from remuda.si.pb.si_pb2_grpc import SchedulerStub
from tests.e2e.serving import FREE_PORTS, Served
from tests.waiting import wait


def batch(served: Served, query: str = "start=oldest") -> Any:
    return served.client.get(f"/ws/v1/events/batch?{query}").json()


def register(served: Served, extra: dict[str, str]) -> None:
    with grpc.insecure_channel(served.grpc) as channel:
        request = si.RegisterResourceManagerRequest(rmID="rm", extraConfig=extra)
        SchedulerStub(channel).RegisterResourceManager(request, timeout=60)
    wait(lambda: batch(served)["EventRecords"])


def on_disk(kind: str, folder: Path) -> int:
    """How many records the files have, read by other programs."""
    if kind == "ndjson":
        texts = [each.read_text() for each in folder.iterdir() if each.is_file()]
        return sum(line.startswith('{"id":') for text in texts for line in text.splitlines())
    with closing(sqlite3.connect(f"file:{folder}/events?mode=ro", uri=True)) as database:
        (count,) = database.execute("SELECT count(*) FROM records").fetchone()
        return int(count)


@pytest.mark.remuda_rule("EVT-132")
@pytest.mark.parametrize("kind", ["sqlite", "ndjson"])
def test_batches_reach_back_to_what_happened_before_the_process_was_killed(
    kind: str, tmp_path: Path
) -> None:
    arguments = (*FREE_PORTS, "--event-dir", str(tmp_path))
    extra = {"event.store": f"{kind}:events", "event.ringBufferCapacity": "1"}
    with Served(*arguments) as served:
        register(served, extra)
        before = batch(served)
        assert before["LowestID"] == 0
        assert len(before["EventRecords"]) == before["HighestID"] + 1
        wait(lambda: on_disk(kind, tmp_path) >= len(before["EventRecords"]))  # nobody asks for it
        served.end(SIGKILL)
    with Served(*arguments) as served:
        register(served, extra)
        after = batch(served)
    assert after["InstanceUUID"] == before["InstanceUUID"]
    assert after["LowestID"] == 0
    count = len(before["EventRecords"])
    assert after["EventRecords"][:count] == before["EventRecords"]
    assert after["HighestID"] == len(after["EventRecords"]) - 1 > before["HighestID"]


@pytest.mark.remuda_rule("EVT-132", "EXT-23")
def test_files_that_nobody_allowed_are_a_health_finding_and_all_goes_on(tmp_path: Path) -> None:
    with Served(*FREE_PORTS) as served:
        register(served, {"event.store": f"sqlite:{tmp_path}/e", "health.checkInterval": "50ms"})
        wait(lambda: "Event store" in served.client.get("/ws/v1/scheduler/healthcheck").text)
        told = served.client.get("/ws/v1/scheduler/healthcheck").text
        assert "--event-dir" in told
        assert str(tmp_path) not in told + served.log
        assert list(tmp_path.iterdir()) == []
