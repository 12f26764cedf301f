"""The event records of a served scheduler over HTTP."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.e2e.serving import FREE_PORTS, Served
from tests.waiting import wait

BATCH = "/ws/v1/events/batch"
STREAM = "/ws/v1/events/stream"


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    with Served(*FREE_PORTS, "--demo") as running:
        wait(lambda: batch(running)["HighestID"] > 50)
        yield running


def batch(served: Served, query: str = "") -> Any:
    return served.client.get(f"{BATCH}?{query}").json()


@pytest.mark.remuda_rule("REST-41", "EVT-111", "EVT-113")
def test_a_batch_tells_what_happened_from_the_beginning(served: Served) -> None:
    found = batch(served, "count=3")
    assert found["LowestID"] == 0
    assert len(found["EventRecords"]) == 3
    assert found["EventRecords"][0]["objectID"] == "root"
    again = batch(served, "start=1&count=2")
    assert again["EventRecords"] == found["EventRecords"][1:]
    assert again["InstanceUUID"] == found["InstanceUUID"]


@pytest.mark.remuda_rule("REST-42", "EVT-114", "EVT-115", "EVT-116", "EVT-130", "EVT-131")
def test_a_stream_goes_on_where_its_history_ends(served: Served) -> None:
    with served.client.stream("GET", f"{STREAM}?count=20&format=v2") as stream:
        lines = stream.iter_lines()
        assert json.loads(next(lines)) == {"InstanceUUID": batch(served)["InstanceUUID"]}
        found = [json.loads(next(lines)) for _ in range(60)]
    first = found[0]["id"]
    assert [each["id"] for each in found] == list(range(first, first + 60))
    assert {each["partition"] for each in found} == {"default"}
    shown = batch(served, f"start={first}&count=60")
    assert shown["EventRecords"] == [each["record"] for each in found]


@pytest.mark.remuda_rule("EVT-130", "EVT-131")
def test_a_stream_of_asks_tells_the_queue_of_each(served: Served) -> None:
    query = "start=oldest&type=APP&detail=201&format=v2"
    with served.client.stream("GET", f"{STREAM}?{query}") as stream:
        lines = stream.iter_lines()
        next(lines)
        asked = [json.loads(next(lines)) for _ in range(10)]
    assert {each["record"]["eventChangeDetail"] for each in asked} == {201}
    assert all(each["queue"].startswith("root.") for each in asked)


@pytest.mark.remuda_rule("REST-13", "REST-90")
def test_a_count_that_is_none_is_refused(served: Served) -> None:
    answer = served.client.get(f"{BATCH}?count=0")
    assert answer.status_code == 400
    assert answer.json()["message"] == '0 is not a valid value for "count"'


@pytest.mark.remuda_rule("REST-2", "EVT-120")
def test_streams_do_not_keep_the_service_from_stopping() -> None:
    with Served(*FREE_PORTS) as served:
        with served.client.stream("GET", STREAM) as stream:
            lines = stream.iter_lines()
            next(lines)
            served.process.terminate()
            assert list(lines) == []
        assert served.end() == (0, "", "")
