"""A served process that records: over crashes, and when its disk is full."""

from __future__ import annotations

import json
import resource
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from signal import SIGKILL, SIGTERM

import pytest

from remuda.client import Client
from remuda.runtime.replay import replay
from remuda.si.pb import si_pb2 as si
from remuda.si.wire import Request
from tests.e2e.serving import FREE_PORTS, Served, run_remuda
from tests.waiting import wait

NAMES = [f"name-{number}" for number in range(200)]

HEALTH = "/ws/v1/scheduler/healthcheck"


def work(served: Served, rm_id: str) -> None:
    """Register a resource manager and have something placed for it."""
    with Client(served.grpc, rm_id) as client:
        client.register(extra_config={"health.checkInterval": "20ms"})
        client.add_nodes({"n1": {"vcore": 2000}})
        client.add_application("app", tags={"namespace": "a"})
        client.ask("app", "k", {"vcore": 500})
        client.allocations(1)


def metrics(served: Served) -> dict[str, float]:
    """The metrics of the recording by name, without their prefix."""
    lines = served.client.get("/ws/v1/metrics").text.splitlines()
    start = "yunikorn_recording_"
    found = [line.removeprefix(start).split() for line in lines if line.startswith(start)]
    return {name: float(value) for name, value in found}


def test_a_killed_process_that_starts_again_appends_a_segment(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    for number in range(3):
        before = path.read_bytes() if number else b""
        with Served(*FREE_PORTS, "--record", str(path)) as served:
            work(served, f"rm-{number}")
            assert metrics(served) == {"broken": 0, "lost_inputs_total": 0}
            code, _, _ = served.end(SIGKILL if number < 2 else SIGTERM)
        assert code == (-SIGKILL if number < 2 else 0)
        assert path.read_bytes().startswith(before)
        if not number:
            path.write_bytes(path.read_bytes()[:-7])
    result = replay(path)
    assert result.same
    torn, killed, whole = result.segments
    assert torn.torn.startswith("in the middle of line ")
    assert killed.torn.startswith("after line ")
    assert whole.torn == ""
    done = run_remuda("replay", str(path))
    assert (done.returncode, done.stderr) == (0, "")
    told = [line for line in done.stdout.splitlines() if not line.startswith("digest ")]
    assert [line.partition(": ")[2].partition(")")[0] for line in told] == [
        "segment 1 (line 1",
        f"segment 2 (line {killed.line}",
        f"segment 3 (line {whole.line}",
    ]
    assert f"all effects the same; torn {torn.torn}" in told[0]
    assert f"all effects the same; torn {killed.torn}" in told[1]
    assert told[2].endswith("all effects the same")


@pytest.mark.remuda_rule("SI-104")
def test_what_comes_on_three_streams_at_a_time_takes_effect_in_one_order(tmp_path: Path) -> None:
    """It keeps that of each stream, and gives the same effects again when it is replayed."""
    path = tmp_path / "run.jsonl"
    streams: dict[str, list[Request]] = {
        "UpdateNodes": [si.NodeRequest(nodes=[node(name)]) for name in NAMES],
        "UpdateApplications": [si.ApplicationRequest(new=[application(name)]) for name in NAMES],
        "UpdateAllocations": [si.AllocationRequest(asks=[ask(name)]) for name in NAMES],
    }
    with Served(*FREE_PORTS, "--record", str(path)) as served:
        with Client(served.grpc, "rm") as client:
            client.register()
            client.add_application("app", tags={"namespace": "a"})
            with ThreadPoolExecutor(len(streams)) as pool:
                for requests in streams.values():
                    pool.submit(deque, map(client.send, requests), 0)
            placed = client.allocations(len(NAMES))
        assert served.end(SIGTERM)[0] == 0
    assert sorted(each.allocationKey for each in placed) == sorted(NAMES)
    orders = recorded(path)
    assert {kind: orders[kind] for kind in streams} == {key: list(NAMES) for key in streams}
    assert orders["all"] != [name for kind in streams for name in orders[kind]]
    assert replay(path).same


def node(name: str) -> si.NodeInfo:
    amounts = si.Resource(resources={"vcore": si.Quantity(value=1_000)})
    return si.NodeInfo(nodeID=name, action=si.NodeInfo.CREATE, schedulableResource=amounts)


def application(name: str) -> si.AddApplicationRequest:
    ugi = si.UserGroupInformation(user="ann", groups=["staff"])
    return si.AddApplicationRequest(applicationID=name, ugi=ugi, tags={"namespace": "a"})


def ask(name: str) -> si.AllocationAsk:
    amounts = si.Resource(resources={"vcore": si.Quantity(value=1_000)})
    return si.AllocationAsk(
        applicationID="app", allocationKey=name, resourceAsk=amounts, maxAllocations=1
    )


def recorded(path: Path) -> dict[str, list[str]]:
    """The names of what came, in the order of the recording, by kind of request and of all."""
    keys = {"nodes": "node_id", "new": "application_id", "asks": "allocation_key"}
    found: dict[str, list[str]] = {"all": []}
    for line in path.read_text(encoding="utf-8").splitlines()[1:]:
        kind, *more = json.loads(line)
        if kind == "command":
            for field, key in keys.items():
                names = [each[key] for each in more[3].get(field, ())]
                names = [name for name in names if name != "app"]
                found.setdefault(more[2], []).extend(names)
                found["all"] += names
    return found


@pytest.mark.remuda_rule("HLT-20", "MET-42")
def test_a_recording_on_a_full_disk_makes_the_scheduler_unhealthy_and_it_goes_on(
    tmp_path: Path,
) -> None:
    path = tmp_path / "run.jsonl"
    with Served(*FREE_PORTS, "--record", str(path)) as served:
        work(served, "first")
        wait(lambda: served.client.get(f"{HEALTH}?strict=true").status_code == 200)
        size = path.stat().st_size
        resource.prlimit(served.process.pid, resource.RLIMIT_FSIZE, (size + 100, size + 100))
        work(served, "second")
        wait(lambda: served.client.get(f"{HEALTH}?strict=true").status_code == 503)
        last = served.client.get(HEALTH).json()["HealthChecks"][-1]
        assert (last["Name"], last["Succeeded"]) == ("Recording", False)
        assert last["DiagnosisMessage"] == (
            f"recording to {path} failed: File too large; "
            "make room and start the scheduler anew to record again"
        )
        before = metrics(served)
        assert before["broken"] == 1
        assert before["lost_inputs_total"] >= 1
        work(served, "third")
        assert metrics(served)["lost_inputs_total"] > before["lost_inputs_total"]
        code, _, errors = served.end(SIGTERM)
    assert code == 1
    assert f"recording to {path} failed: File too large" in errors
    (segment,) = replay(path).segments
    assert segment.torn.startswith("in the middle of line ")


@pytest.mark.remuda_rule("HLT-20")
def test_a_restart_with_a_full_disk_serves_without_a_recording(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    with Served(*FREE_PORTS, "--record", str(path)) as served:
        served.end(SIGKILL)
    before = path.read_bytes()
    limit = len(before)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, hard))
    try:
        served = Served(*FREE_PORTS, "--record", str(path))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    with served:
        wait(lambda: served.client.get(f"{HEALTH}?strict=true").status_code == 503)
        assert metrics(served)["broken"] == 1
        work(served, "rm")
    assert path.read_bytes() == before
