"""Watches of the server: where they begin, what they say, how they end."""

from __future__ import annotations

from itertools import islice
from typing import Any

import pytest

from remuda_kubernetes.testing.server import ApiServer
from remuda_kubernetes.testing.settings import ManualClock, Settings
from tests.kubernetes.testing.calls import PODS, Calls, Json, pod, seen
from tests.waiting import wait


def test_a_watch_from_a_list_sees_everything_after_it(calls: Calls) -> None:
    calls.made(PODS, pod("before"))
    _, listed = calls.get(PODS)
    calls.made(PODS, pod("a"))
    with calls.watch(PODS, resourceVersion=listed["metadata"]["resourceVersion"]) as events:
        assert seen(next(events)) == ("ADDED", "a")
        calls.bound("a", "n1")
        calls.delete(f"{PODS}/before")
        found = [next(events) for _ in range(3)]
    # A pod that does not run is marked and gone at once, as recorded.
    assert [seen(each) for each in found] == [
        ("MODIFIED", "a"),
        ("MODIFIED", "before"),
        ("DELETED", "before"),
    ]
    versions = [int(each["object"]["metadata"]["resourceVersion"]) for each in found]
    assert versions == sorted(set(versions))


def test_a_watch_by_web_socket_is_refused_as_unavailable(calls: Calls) -> None:
    """Clients that try one first (fabric8's, in Spark) go on without it on this answer."""
    headers = {"connection": "Upgrade", "upgrade": "websocket"}
    answer = calls.http.get(PODS, params={"watch": "true"}, headers=headers)
    assert answer.status_code == 503
    assert answer.json()["message"] == "this server has no web sockets: watch without upgrade"


@pytest.mark.parametrize("version", ["", "0"])
def test_a_watch_without_a_version_begins_with_what_there_is(calls: Calls, version: str) -> None:
    calls.made(PODS, pod("a"))
    calls.made(PODS, pod("b"))
    query = {"resourceVersion": version} if version else {}
    with calls.watch(PODS, **query) as events:
        assert [seen(each) for each in islice(events, 2)] == [("ADDED", "a"), ("ADDED", "b")]


def test_a_selected_watch_sees_objects_come_and_go(calls: Calls) -> None:
    with calls.watch(PODS, labelSelector="team=a") as events:
        calls.made(PODS, pod("x", labels={"team": "b"}))
        calls.patch(f"{PODS}/x", {"metadata": {"labels": {"team": "a"}}})
        calls.patch(f"{PODS}/x", {"metadata": {"labels": {"more": "1"}}})
        calls.patch(f"{PODS}/x", {"metadata": {"labels": {"team": "c"}}})
        calls.made(PODS, pod("y", labels={"team": "a"}))
        found = list(islice(events, 4))
    assert [seen(each) for each in found] == [
        ("ADDED", "x"),
        ("MODIFIED", "x"),
        ("DELETED", "x"),
        ("ADDED", "y"),
    ]
    # The last content that matched, at the version of the change.
    assert found[2]["object"]["metadata"]["labels"] == {"team": "a", "more": "1"}
    version = int(found[2]["object"]["metadata"]["resourceVersion"])
    assert version == int(found[1]["object"]["metadata"]["resourceVersion"]) + 1


def test_a_write_that_changes_nothing_is_no_event(calls: Calls) -> None:
    made = calls.made(PODS, pod("a", labels={"x": "1"}))
    _, same = calls.patch(f"{PODS}/a", {"metadata": {"labels": {"x": "1"}}})
    assert same["metadata"]["resourceVersion"] == made["metadata"]["resourceVersion"]


def test_a_forgotten_version_is_an_error_event(server: ApiServer, calls: Calls) -> None:
    calls.made(PODS, pod("a"))
    _, listed = calls.get(PODS)
    calls.made(PODS, pod("b"))
    server.faults.compact()
    with calls.watch(PODS, resourceVersion=listed["metadata"]["resourceVersion"]) as events:
        found = list(events)
    assert [each["type"] for each in found] == ["ERROR"]
    assert found[0]["object"]["code"] == 410
    assert found[0]["object"]["reason"] == "Expired"


def test_a_watch_that_falls_behind_the_history_is_told() -> None:
    with ApiServer(Settings(history=10)) as server, Calls(server.address) as calls:
        server.faults.hold_watches()
        with calls.watch(PODS) as events:
            wait(lambda: bool(server.run(lambda: len(server.faults.watches))))
            for number in range(40):
                calls.made(PODS, pod(f"p{number}"))
            server.faults.release_watches()
            found = list(events)
    assert found[-1]["type"] == "ERROR"
    assert found[-1]["object"]["code"] == 410


def test_bookmarks_come_once_a_minute_and_before_the_end() -> None:
    clock = ManualClock()
    with ApiServer(Settings(clock=clock)) as server, Calls(server.address) as calls:
        made = calls.made(PODS, pod("a"))
        version = made["metadata"]["resourceVersion"]
        query = {"resourceVersion": version, "timeoutSeconds": "90", "allowWatchBookmarks": "1"}
        moments = []
        with calls.watch(PODS, **query) as events:
            server.settle()
            for _ in range(91):
                clock.advance(1.0)
                server.settle()
            moments = [(each["type"], each["object"]["metadata"]) for each in events]
    assert [kind for kind, _ in moments] == ["BOOKMARK", "BOOKMARK"]
    assert all(metadata["resourceVersion"] == version for _, metadata in moments)


def test_initial_events_end_with_a_bookmark_that_says_so(calls: Calls) -> None:
    calls.made(PODS, pod("a"))
    query = {"sendInitialEvents": "true", "allowWatchBookmarks": "true"}
    with calls.watch(PODS, resourceVersionMatch="NotOlderThan", **query) as events:
        first, mark = next(events), next(events)
    assert seen(first) == ("ADDED", "a")
    assert mark["type"] == "BOOKMARK"
    assert mark["object"]["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}


def test_a_watch_of_one_name_sees_nothing_else(calls: Calls) -> None:
    calls.made(PODS, pod("a"))
    calls.made(PODS, pod("b"))
    with calls.watch(PODS, fieldSelector="metadata.name=b") as events:
        assert seen(next(events)) == ("ADDED", "b")
    # A real server reads an object that is named in the path, and watches nothing.
    code, found = calls.get(f"{PODS}/b", watch="1")
    assert (code, found["kind"]) == (200, "Pod")


def test_many_watches_are_told_the_same(calls: Calls) -> None:
    with calls.watch(PODS) as first, calls.watch("/api/v1/pods") as second:
        calls.made(PODS, pod("a"))
        assert next(first) == next(second)


def event(**fields: Any) -> Json:
    """An event of the new API."""
    usual = {
        "metadata": {"name": "e"},
        "eventTime": "2026-01-01T00:00:00.000000Z",
        "reportingController": "test",
        "reportingInstance": "test-0",
        "action": "Testing",
        "reason": "Tested",
        "type": "Normal",
    }
    return {**usual, **fields}


# What a real server of release 1.20 answered.
@pytest.mark.parametrize(
    "change, field",
    [
        ({"reportingController": ""}, "reportingController"),
        ({"reportingInstance": ""}, "reportingInstance"),
        ({"action": ""}, "action"),
        ({"reason": ""}, "reason"),
        ({"type": "Bad"}, "type"),
        ({"note": "x" * 1025}, "message"),
        ({"eventTime": None}, "eventTime"),
    ],
)
def test_an_event_of_the_new_api_has_to_be_complete(calls: Calls, change: Json, field: str) -> None:
    regarding = {"kind": "Pod", "namespace": "default", "name": "p"}
    body = event(regarding=regarding, **change)
    code, refused = calls.post("/apis/events.k8s.io/v1/namespaces/default/events", body)
    assert (code, refused["reason"]) == (422, "Invalid")
    assert refused["details"]["causes"][0]["field"] == field


@pytest.mark.parametrize(
    "minor, space, named, accepted",
    [
        (20, "default", "", False),
        (20, "kube-system", "", True),
        (20, "default", "default", True),
        (20, "default", "other", True),
        (32, "default", "", True),
        (32, "kube-system", "", True),
        (32, "kube-public", "", False),
    ],
)
def test_an_event_is_where_events_of_its_object_belong(
    minor: int, space: str, named: str, accepted: bool
) -> None:
    with ApiServer(Settings(minor=minor)) as server, Calls(server.address) as calls:
        regarding = {"kind": "Node", "name": "n", **({"namespace": named} if named else {})}
        path = f"/apis/events.k8s.io/v1/namespaces/{space}/events"
        code, _ = calls.post(path, event(regarding=regarding))
        assert (code == 201) is accepted


def test_events_are_seen_in_both_apis(calls: Calls) -> None:
    new = "/apis/events.k8s.io/v1/namespaces/default/events"
    regarding = {"kind": "Pod", "namespace": "default", "name": "p"}
    calls.made(new, event(regarding=regarding, note="why", reason="Because"))
    _, listed = calls.get(
        "/api/v1/namespaces/default/events", fieldSelector="involvedObject.name=p,reason=Because"
    )
    assert [each["message"] for each in listed["items"]] == ["why"]
    with calls.watch(new) as events:
        assert next(events)["object"]["note"] == "why"
