"""Preemptions over REST, and what is evicted again and again (REST-125, REST-126)."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import pytest
from starlette.testclient import TestClient

from remuda.core.messages.preemption_queries import (
    EvictionsQuery,
    EvictionView,
    PreemptionsQuery,
    PreemptionView,
    VictimView,
)
from remuda.edges.rest.routes.table import ROUTES
from tests.unit.edges.rest.schema import assert_valid, openapi

Fake = Any  # FakeViews of conftest.py; tests are not a package

BASE = "/ws/v1/partition/default"

VICTIM = VictimView(
    application_id="job-2",
    allocation_key="t-5",
    allocation_id="t-5-0",
    queue="root.adhoc",
    node_id="n1",
    resource={"memory": 40, "vcore": 2000},
    priority=-3,
    originator=False,
    opted_out=False,
    for_queue=False,
    confirmed=False,
)

PREEMPTION = PreemptionView(
    number=7,
    kind="queue",
    created_ns=1767225609000000000,
    application_id="job-1",
    allocation_key="t-2",
    queue="root.etl",
    node_id="n1",
    requested={"memory": 30, "vcore": 1000},
    reasons=("root.etl is owed memory 30, vcore 1000",),
    victims=(VICTIM,),
    freed={"memory": 40, "vcore": 2000},
    outcome="waiting",
    cause="",
    ended_ns=0,
)

SHOWN = {
    "number": 7,
    "kind": "queue",
    "time": 1767225609000000000,
    "applicationId": "job-1",
    "allocationKey": "t-2",
    "queueName": "root.etl",
    "nodeId": "n1",
    "resource": {"memory": 30, "vcore": 1000},
    "reasons": ["root.etl is owed memory 30, vcore 1000"],
    "victims": [
        {
            "applicationId": "job-2",
            "allocationKey": "t-5",
            "allocationID": "t-5-0",
            "queueName": "root.adhoc",
            "nodeId": "n1",
            "resource": {"memory": 40, "vcore": 2000},
            "priority": "-3",
        }
    ],
    "freed": {"memory": 40, "vcore": 2000},
    "outcome": "waiting",
}


def error(status: int, text: str) -> dict[str, object]:
    return {"status_code": status, "message": text, "description": text}


def asked(views: Fake) -> PreemptionsQuery:
    """The last question about preemptions."""
    query = views.asked[-1]
    assert isinstance(query, PreemptionsQuery)
    return query


@pytest.mark.remuda_rule("REST-125", "PRE-91", "REST-21")
def test_preemptions_are_listed_newest_first(client: TestClient, views: Fake) -> None:
    newer = replace(PREEMPTION, number=9)
    views.preemptions["rm-a", "default"] = (PREEMPTION, newer)
    answer = client.get(f"{BASE}/preemptions")
    assert answer.status_code == 200
    assert answer.json() == {"preemptions": [SHOWN | {"number": 9}, SHOWN], "repeated": []}
    assert_valid("Preemptions", answer.json())
    other = client.get(f"{BASE}/preemptions?rm=rm-b").json()
    assert other == {"preemptions": [], "repeated": []}


@pytest.mark.remuda_rule("REST-125", "PRE-92")
def test_what_is_evicted_again_and_again_is_listed_as_of_now(
    client: TestClient, views: Fake
) -> None:
    views.evictions["rm-a", "default"] = (
        EvictionView("job-2", "", 12, 5, 90),
        EvictionView("job-2", "t-5", 3, 6, 80),
    )
    before = time.time_ns()
    answer = client.get(f"{BASE}/preemptions").json()
    assert answer["repeated"] == [
        {"applicationId": "job-2", "count": 12, "firstOccurrence": 5, "lastOccurrence": 90},
        {
            "applicationId": "job-2",
            "allocationKey": "t-5",
            "count": 3,
            "firstOccurrence": 6,
            "lastOccurrence": 80,
        },
    ]
    assert_valid("Preemptions", answer)
    (query,) = [each for each in views.asked if isinstance(each, EvictionsQuery)]
    assert before <= query.now_ns <= time.time_ns()


@pytest.mark.remuda_rule("REST-125", "REST-10")
@pytest.mark.parametrize(
    "options, application, last",
    [
        ("", "", 100),
        ("?limit=", "", 100),
        ("?limit=1", "", 1),
        ("?limit=007", "", 7),
        ("?limit=1000", "", 1000),
        ("?limit=1001", "", 1000),
        ("?limit=18446744073709551615", "", 1000),
        ("?application=job-1&limit=5&limit=6&more=1", "job-1", 5),
    ],
)
def test_whose_and_how_many_may_be_said(
    client: TestClient, views: Fake, options: str, application: str, last: int
) -> None:
    assert client.get(f"{BASE}/preemptions{options}").status_code == 200
    assert asked(views) == PreemptionsQuery("default", application, last=last)


@pytest.mark.remuda_rule("REST-125", "REST-16", "REST-14")
@pytest.mark.parametrize("limit", ["0", "-1", "x", "1.5", "+1", "18446744073709551616", "9" * 5000])
def test_a_limit_that_is_no_number_is_refused_but_the_partition_comes_first(
    client: TestClient, limit: str
) -> None:
    options = {"limit": limit}
    answer = client.get(f"{BASE}/preemptions", params=options)
    assert (answer.status_code, answer.json()) == (
        400,
        error(400, f'{limit} is not a valid value for "limit"'),
    )
    answer = client.get("/ws/v1/partition/nope/preemptions", params=options)
    assert answer.json() == error(404, "Partition not found")


@pytest.mark.remuda_rule("REST-126", "PRE-91")
def test_one_preemption_by_number(client: TestClient, views: Fake) -> None:
    views.preemptions["rm-a", "default"] = (PREEMPTION,)
    answer = client.get(f"{BASE}/preemption/7")
    assert (answer.status_code, answer.json()) == (200, SHOWN)
    assert_valid("Preemption", answer.json())
    assert asked(views) == PreemptionsQuery("default", number=7)


@pytest.mark.remuda_rule("REST-126", "REST-13", "REST-14", "REST-16")
def test_preemptions_that_are_not_there(client: TestClient) -> None:
    wrong = 'x is not a valid value for "number"'
    for path, expected in {
        "default/preemption/8": error(404, "Preemption not found"),
        "default/preemption/0": error(404, "Preemption not found"),
        "default/preemption/x": error(400, wrong),
        "nope/preemption/x": error(404, "Partition not found"),
        "nope/preemption/8": error(404, "Partition not found"),
        "nope/preemptions": error(404, "Partition not found"),
    }.items():
        answer = client.get(f"/ws/v1/partition/{path}")
        assert (path, answer.status_code) == (path, expected["status_code"])
        assert answer.json() == expected


@pytest.mark.remuda_rule("REST-126", "REST-19", "PRE-91")
def test_a_preemption_that_is_over_says_how_it_ended(client: TestClient, views: Fake) -> None:
    victim = replace(VICTIM, originator=True, opted_out=True, for_queue=True, confirmed=True)
    view = replace(
        PREEMPTION,
        kind="quota",
        application_id="",
        allocation_key="",
        node_id="",
        reasons=(),
        victims=(victim,),
        outcome="lost",
        cause="node removed",
        ended_ns=1767225610000000000,
    )
    views.preemptions["rm-a", "default"] = (view,)
    found = client.get(f"{BASE}/preemption/7").json()
    assert not {"applicationId", "allocationKey", "nodeId", "reasons"} & set(found)
    assert (found["outcome"], found["cause"]) == ("lost", "node removed")
    assert found["finishedTime"] == 1767225610000000000
    (gone,) = found["victims"]
    flags = ("originator", "optedOut", "forQueue", "confirmed")
    assert [gone[flag] for flag in flags] == [True] * 4
    assert_valid("Preemption", found)


@pytest.mark.remuda_rule("REST-125", "REST-126")
def test_the_routes_are_those_of_the_document() -> None:
    paths = [path for path in ROUTES if "preemption" in path]
    assert len(paths) == 2
    assert set(paths) <= set(openapi()["paths"])
