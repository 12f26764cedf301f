"""Neither a wall clock that is set nor a process that stood still makes timers run out early."""

from __future__ import annotations

import time
from pathlib import Path
from signal import SIGCONT, SIGSTOP
from typing import Any

import pytest

from remuda.client import Client
from remuda.runtime.replay import replay
from remuda.si.pb import si_pb2 as si
from remuda.si.wire import Response, resource
from tests.e2e.serving import FREE_PORTS, PARTITION, Served
from tests.package import PACKAGES
from tests.waiting import wait

HOUR = 3_600

# Sets the wall clock of a Python process by as many seconds as a file says, when it begins.
SETS_THE_CLOCK = """
import os, time

def shifted(real, unit):
    def read():
        with open(os.environ["AHEAD"]) as file:
            return real() + int(file.read() or 0) * unit
    return read

time.time_ns = shifted(time.time_ns, 10**9)
time.time = shifted(time.time, 1)
"""


def gang(client: Client, name: str, timeout_ms: int, style: str = "Hard") -> None:
    """Submit an application whose third placeholder finds no room."""
    new = si.AddApplicationRequest(
        applicationID=name,
        queueName="root.a",
        tags={"namespace": "a"},
        ugi=si.UserGroupInformation(user="ann"),
        placeholderAsk=resource({"vcore": 3000}),
        executionTimeoutMilliSeconds=timeout_ms,
        gangSchedulingStyle=style,
    )
    client.send(si.ApplicationRequest(new=[new]))
    wait(lambda: name in client_states(client))
    client.ask_many(
        si.AllocationAsk(
            applicationID=name,
            allocationKey=f"{name}-{number}",
            resourceAsk=resource({"vcore": 1000}),
            maxAllocations=1,
            placeholder=True,
            taskGroupName="group",
        )
        for number in range(3)
    )


SEEN: dict[Client, dict[str, list[str]]] = {}


def client_states(client: Client) -> dict[str, list[str]]:
    """The states that the client was told of, by application."""
    return SEEN[client]


def connect(served: Served) -> Client:
    """A resource manager with one node, that keeps the states it is told of."""
    states: dict[str, list[str]] = {}

    def note(response: Response) -> None:
        if isinstance(response, si.ApplicationResponse):
            for accepted in response.accepted:
                states.setdefault(accepted.applicationID, [])
            for updated in response.updated:
                states.setdefault(updated.applicationID, []).append(updated.state)

    client = Client(served.grpc, "rm", on_response=note)
    SEEN[client] = states
    client.register()
    client.add_nodes({"n1": {"vcore": 2500}})
    return client


def application(served: Served, name: str) -> dict[str, Any]:
    found: dict[str, Any] = served.client.get(f"{PARTITION}/application/{name}").json()
    return found


def held(served: Served, name: str) -> int:
    return len(application(served, name).get("allocations") or ())


def event_times(served: Served, name: str) -> list[int]:
    """When the events about an object happened; a thread of their own stores them."""
    records = served.client.get("/ws/v1/events/batch").json()["EventRecords"]
    return [each["timestampNano"] for each in records if each["objectID"] == name]


@pytest.mark.remuda_rule("CYC-34", "EVT-7", "GANG-20")
def test_a_wall_clock_that_is_set_moves_no_timer_and_is_told(tmp_path: Path) -> None:
    ahead, path = tmp_path / "ahead", tmp_path / "run.jsonl"
    ahead.write_text("0")
    (tmp_path / "sitecustomize.py").write_text(SETS_THE_CLOCK)
    extra = {"PYTHONPATH": f"{tmp_path}:{PACKAGES}", "AHEAD": str(ahead)}
    with Served(*FREE_PORTS, "--record", str(path), **extra) as served:
        client = connect(served)
        gang(client, "early", 0)
        wait(lambda: held(served, "early") == 2)
        before = application(served, "early")

        ahead.write_text(str(HOUR))
        client.add_application("late", tags={"namespace": "b"})
        assert application(served, "early") == before
        late = application(served, "late")
        assert abs(late["submissionTime"] / 1e9 - time.time() - HOUR) < 600
        assert abs(before["submissionTime"] / 1e9 - time.time()) < 600
        wait(lambda: event_times(served, "late") != [])
        assert abs(event_times(served, "late")[0] / 1e9 - time.time() - HOUR) < 600

        ahead.write_text(str(-HOUR))
        client.remove_application("early")
        wait(lambda: served.client.get(f"{PARTITION}/queue/root.a/applications").json() == [])
        assert "Failing" not in client_states(client)["early"]
        gang(client, "short", 1_000)
        wait(lambda: "Failing" in client_states(client)["short"])
        short = application(served, "short")
        assert abs(short["submissionTime"] / 1e9 - time.time() + HOUR) < 600
        client.close()
        served.end(15)
    result = replay(path)
    assert (result.same, [each.torn for each in result.segments]) == (True, [""])
    assert path.read_text().count('"MoveWallClock"') == 2


@pytest.mark.remuda_rule("CYC-34")
def test_what_arrived_while_the_process_stood_still_comes_before_timers() -> None:
    seconds = 8
    with Served(*FREE_PORTS) as served:
        client = connect(served)
        gang(client, "gang", seconds * 1_000)
        wait(lambda: held(served, "gang") == 2)
        served.process.send_signal(SIGSTOP)
        until = time.monotonic() + seconds + 2
        client.remove_application("gang")
        wait(lambda: time.monotonic() > until)
        served.process.send_signal(SIGCONT)
        wait(lambda: served.client.get(f"{PARTITION}/queue/root.a/applications").json() == [])
        assert "Failing" not in client_states(client)["gang"]

        gang(client, "next", 1_000)
        wait(lambda: "Failing" in client_states(client)["next"])
        client.close()
