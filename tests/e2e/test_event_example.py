"""The golden example of the events, over the wire: gRPC in, REST out (chapter 90, section 9)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import grpc
import pytest

from remuda.si.pb import si_pb2 as si
from remuda.si.wire import resource
from tests.e2e.serving import FREE_PORTS, Served
from tests.e2e.session_stream import SessionStream
from tests.waiting import wait

CHAPTER: Final = Path(__file__).resolve().parents[2] / "docs/spec/90-events.md"
CONFIG: Final = """
partitions:
  - name: default
    queues:
      - name: root
        queues:
          - name: etl
            submitacl: "*"
            limits:
              - limit: analysts
                groups: [bi]
                maxresources: {memory: 90}
"""


def golden() -> list[list[tuple[str, object]]]:
    """The lines of the chapter, each as its keys in order, without the time."""
    section = CHAPTER.read_text().partition("## 9. Golden example")[2]
    lines = section.split("```")[1].strip().splitlines()
    return [timeless(json.loads(line)) for line in lines]


def timeless(record: dict[str, object]) -> list[tuple[str, object]]:
    return [(key, value) for key, value in record.items() if key != "timestampNano"]


def ask(key: str, memory: int) -> si.AllocationRequest:
    size = resource({"memory": memory, "vcore": 1_000})
    wanted = si.AllocationAsk(
        applicationID="job-1", allocationKey=key, resourceAsk=size, maxAllocations=1
    )
    return si.AllocationRequest(asks=[wanted])


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    """A scheduler in which the example has happened."""
    with Served(*FREE_PORTS) as running, grpc.insecure_channel(running.grpc) as channel:
        stream = SessionStream(channel)
        stream.register(config=CONFIG)
        size = resource({"memory": 200, "vcore": 20_000})
        node = si.NodeInfo(nodeID="n1", action=si.NodeInfo.CREATE, schedulableResource=size)
        stream.send(node=si.NodeRequest(nodes=[node]))
        stream.until("node")
        job = si.AddApplicationRequest(
            applicationID="job-1",
            queueName="root.etl",
            ugi=si.UserGroupInformation(user="ann", groups=["bi"]),
        )
        stream.send(application=si.ApplicationRequest(new=[job]))
        stream.until("application")
        stream.send(allocation=ask("t-1", 10))
        assert stream.allocations(1) == [("t-1-0", "n1")]
        stream.send(allocation=ask("t-2", 95))
        wait(lambda: batch(running)["HighestID"] >= len(golden()) + 1)
        yield running
        stream.cut()


def batch(served: Served, query: str = "") -> Any:
    return served.client.get(f"/ws/v1/events/batch?{query}").json()


@pytest.mark.remuda_rule("EVT-134", "EVT-9", "EVT-57", "EVT-73", "EVT-84", "EVT-86")
def test_the_records_of_the_example_are_those_of_the_chapter(served: Served) -> None:
    lines = golden()
    assert len(lines) == 16
    found = batch(served, f"start=0&count={len(lines)}")["EventRecords"]
    assert [timeless(record) for record in found] == lines
    times = [record["timestampNano"] for record in found]
    assert times == sorted(times)
    assert all(isinstance(moment, int) and moment > 10**18 for moment in times)


@pytest.mark.remuda_rule("EVT-84", "EVT-90")
def test_one_allocation_gives_three_records_of_node_user_and_application(
    served: Served,
) -> None:
    found = batch(served)["EventRecords"]
    three = [each for each in found if each.get("eventChangeDetail") in (303, 603, 200)]
    size = {"resources": {"memory": {"value": 10}, "vcore": {"value": 1_000}}}
    shape = [
        (each["type"], each["objectID"], each["eventChangeType"], each["referenceID"])
        for each in three
    ]
    assert shape == [(3, "n1", 2, "t-1-0"), (5, "ann", 2, "root.etl"), (2, "job-1", 2, "t-1-0")]
    assert [each["resource"] for each in three] == [size, size, size]


@pytest.mark.remuda_rule("EVT-135", "EVT-93")
def test_a_second_ask_is_too_large_for_the_limit_of_the_group(served: Served) -> None:
    (told,) = [each for each in batch(served)["EventRecords"] if each["type"] == 1]
    assert told["message"] == (
        "Request 't-2' exceeds the available user quota "
        "(requested map[memory:95 vcore:1000], available map[memory:80])"
    )
    assert (told["objectID"], told["referenceID"]) == ("t-2", "job-1")
