"""What waits, in the order in which it is served, and for what."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from remuda.core.messages import commands as c
from remuda.core.messages.ask_views import LogEntryView
from remuda.edges.rest.text import pending
from tests.unit.core.door import SECOND, START, Caller, leaf, parent, users
from tests.unit.edges.rest.conftest import FakeViews
from tests.unit.edges.rest.golden import APPLICATION, REQUEST
from tests.unit.edges.rest.schema import assert_valid
from tests.unit.edges.rest.serving import BASE, error, serve


def crowded(**leaf_settings: Any) -> Caller:
    """Three applications, of which the quota of root.a lets one have its only allocation."""
    caller = Caller(leaf("a", {"vcore": 1}, **leaf_settings), parent("p", leaf("b")))
    caller.node("n1", {"vcore": 10})
    for name in ("first", "second", "third"):
        caller.app(name)
        caller.now += SECOND
    caller.ask("first", "runs", {"vcore": 1})
    caller.step()
    return caller


@pytest.mark.remuda_rule("REST-121", "QUE-40")
def test_applications_wait_in_the_order_in_which_they_are_served() -> None:
    caller = crowded()
    caller.ask("third", "t", {"vcore": 1})
    caller.ask("second", "s", {"vcore": 1})
    caller.step()
    answer = serve(caller.scheduler).get(f"{BASE}/queue/root.a/pending")
    assert answer.headers["x-total-count"] == "2"
    for each in answer.json():
        assert_valid("PendingApplication", each)
    shown = [(each["position"], each["applicationID"]) for each in answer.json()]
    assert shown == [(1, "second"), (2, "third")]
    assert answer.json()[0] == {
        "position": 1,
        "applicationID": "second",
        "applicationState": "Accepted",
        "user": "ann",
        "submissionTime": START + SECOND,
        "pendingResource": {"vcore": 1},
        "pendingRequests": 1,
        "allocationKey": "s",
        "reason": "queue quota",
        "subject": "root.a",
        "since": START + 3 * SECOND,
    }


@pytest.mark.remuda_rule("REST-121", "QUE-40")
def test_the_order_is_the_one_in_which_the_applications_are_placed() -> None:
    caller = Caller(leaf("a"))
    asked = {"old": 0, "new": 0, "urgent": 7, "late": 3}
    for name, priority in asked.items():
        caller.app(name)
        caller.now += SECOND
        caller.ask(name, name, {"vcore": 1}, priority=priority)
    answer = serve(caller.scheduler).get(f"{BASE}/queue/root.a/pending?fields=applicationID")
    shown = [each["applicationID"] for each in answer.json()]
    assert shown == ["urgent", "late", "old", "new"]
    caller.node("n1", {"vcore": 10})
    assert caller.order() == shown


@pytest.mark.remuda_rule("REST-121", "REST-122")
def test_pages_of_what_waits_keep_their_positions() -> None:
    caller = Caller(leaf("a"))
    for number in range(105):
        caller.app(f"app-{number:03}")
        caller.ask(f"app-{number:03}", "k", {"vcore": 1})
    client = serve(caller.scheduler)
    usual = client.get(f"{BASE}/queue/root.a/pending")
    assert len(usual.json()) == 100
    assert usual.headers["x-total-count"] == "105"
    page = client.get(f"{BASE}/queue/root.a/pending?limit=2&offset=103")
    shown = [(each["position"], each["applicationID"]) for each in page.json()]
    assert shown == [(104, "app-103"), (105, "app-104")]
    assert len(client.get(f"{BASE}/queue/root.a/pending?limit=5000").json()) == 105
    refused = client.get(f"{BASE}/queue/root.a/pending?limit=0")
    assert refused.json() == error(400, '0 is not a valid value for "limit"')


@pytest.mark.remuda_rule("REST-121", "REST-76", "REST-14")
def test_a_parent_queue_has_nothing_of_its_own_that_waits() -> None:
    caller = crowded()
    caller.app("below", "root.p.b")
    caller.ask("below", "k", {"vcore": 100})
    client = serve(caller.scheduler)
    assert client.get(f"{BASE}/queue/root.p/pending").content == b"[]\n"
    assert len(client.get(f"{BASE}/queue/Root.P.B/pending").json()) == 1
    refused = client.get(f"{BASE}/queue/root..p/pending")
    assert refused.status_code == 400
    assert client.get(f"{BASE}/queue/root.x/pending").json() == error(404, "Queue not found")
    for queue in ("root.x", "root..p"):
        nowhere = client.get(f"/ws/v1/partition/gpu/queue/{queue}/pending")
        assert nowhere.json() == error(404, "Partition not found")


@pytest.mark.remuda_rule("REST-120")
def test_the_asks_of_an_application_tell_what_they_wait_for() -> None:
    caller = crowded(limits=(users("bob", {"vcore": 1}),))
    caller.ask("second", "s", {"vcore": 1})
    caller.ask("third", "low", {"vcore": 1})
    caller.now += SECOND
    caller.ask("third", "high", {"vcore": 2}, priority=-1)
    caller.ask("third", "pinned", {"vcore": 1}, priority=-2)
    caller.step()
    found = serve(caller.scheduler).get(f"{BASE}/application/third/pending").json()
    assert_valid("PendingRequests", found)
    requests = found.pop("requests")
    assert found == {
        "applicationID": "third",
        "partition": "default",
        "queueName": "root.a",
        "position": 2,
        "of": 2,
    }
    shown = [(each["position"], each["allocationKey"]) for each in requests]
    assert shown == [(1, "low"), (2, "high"), (3, "pinned")]
    assert {(each["reason"], each["subject"]) for each in requests} == {("queue quota", "root.a")}
    # When it was first found that they must wait.
    assert {each["since"] for each in requests} == {START + 4 * SECOND}
    assert requests[1]["finding"]["available"] == {"vcore": 0}
    assert all(each["attempts"] >= 1 for each in requests)


@pytest.mark.remuda_rule("REST-120")
def test_the_last_event_of_an_ask_is_what_was_noted_last() -> None:
    log = (LogEntryView("early", 5, 9), LogEntryView("late", 8, 2), LogEntryView("middle", 6, 1))
    view = replace(APPLICATION, requests=(replace(REQUEST, log=log),))
    asks = pending.served_asks(view, ["t-2"], FakeViews())
    text = b"".join(pending.pending_text(view, asks, pending.no_event, (1, 1)))
    (request,) = json.loads(text)["requests"]
    assert request["lastEvent"] == {"message": "late", "lastOccurrence": 8, "count": 2}


@pytest.mark.remuda_rule("REST-120", "REST-14")
def test_an_application_that_waits_for_nothing_has_no_position() -> None:
    caller = crowded()
    client = serve(caller.scheduler)
    assert client.get(f"{BASE}/application/first/pending").json() == {
        "applicationID": "first",
        "partition": "default",
        "queueName": "root.a",
        "requests": [],
    }
    missing = client.get(f"{BASE}/application/none/pending")
    assert missing.json() == error(404, "Application not found")
    nowhere = client.get("/ws/v1/partition/gpu/application/none/pending")
    assert nowhere.json() == error(404, "Partition not found")


@pytest.mark.remuda_rule("REST-120", "REST-121")
def test_an_ask_nobody_looked_at_has_no_reason_yet() -> None:
    caller = Caller(leaf("a"))
    caller.node("n1", {"vcore": 1}, c.CREATE_DRAIN)
    caller.app("app")
    caller.ask("app", "k", {"vcore": 1})
    client = serve(caller.scheduler)
    (request,) = client.get(f"{BASE}/application/app/pending").json()["requests"]
    assert request == {"allocationKey": "k", "position": 1, "since": START}
    (application,) = client.get(f"{BASE}/queue/root.a/pending").json()
    assert "reason" not in application
    assert application["since"] == START
