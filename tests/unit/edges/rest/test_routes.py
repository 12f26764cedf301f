"""Routes, order of checks, spelling of paths, headers and errors."""

from __future__ import annotations

import gzip
import logging
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from starlette.testclient import TestClient

from remuda.core.messages.application_views import ApplicationView
from remuda.edges.rest.transport.bodies import BODY_LIMIT
from remuda.runtime.errors import LoopStoppedError

Fake = Any  # FakeViews of conftest.py; tests are not a package

BASE = "/ws/v1/partition/default"
BAD_NAME = (
    "problem in queue query parameter parsing as queue param {} contains invalid queue name {}. "
    "Queue name must only have alphanumeric characters, - or _, and be no longer than 64 characters"
)


def error(status: int, text: str) -> dict[str, object]:
    return {"status_code": status, "message": text, "description": text}


@pytest.mark.remuda_rule("REST-28", "REST-20", "REST-21", "REST-22")
def test_partitions_are_listed_by_name_and_resource_manager(
    client: TestClient, views: Fake
) -> None:
    answer = client.get("/ws/v1/partitions")
    assert answer.status_code == 200
    assert [(p["name"], p["clusterId"]) for p in answer.json()] == [
        ("default", "rm-a"),
        ("default", "rm-b"),
    ]
    views.partitions = []
    assert client.get("/ws/v1/partitions").content == b"[]\n"


@pytest.mark.remuda_rule("REST-29", "REST-72", "REST-21", "REST-10")
def test_queues_answers_the_root_of_the_chosen_resource_manager(client: TestClient) -> None:
    assert client.get(f"{BASE}/queues").json()["queuename"] == "root"
    names = {
        "": ["root.@recovery@", "root.a", "root.etl", "root.x/y"],
        "?rm=rm-a": ["root.@recovery@", "root.a", "root.etl", "root.x/y"],
        "?rm=rm-b": ["root.other"],
        "?rm=rm-b&rm=rm-a&more=1": ["root.other"],
    }
    for query, expected in names.items():
        assert client.get(f"{BASE}/queues{query}").json()["childrenNames"] == expected
    assert client.get(f"{BASE}/queues?rm=rm-c").json() == error(404, "Partition not found")


@pytest.mark.remuda_rule("ACL-15")
@pytest.mark.parametrize(
    "path", ["queues", "nodes", "usage/users", "placementrules", "preemptions"]
)
def test_nobody_is_asked_who_he_is(client: TestClient, path: str) -> None:
    anybody = client.get(f"{BASE}/{path}")
    somebody = client.get(f"{BASE}/{path}", headers={"Authorization": "Bearer x", "User": "eve"})
    assert (anybody.status_code, somebody.status_code) == (200, 200)
    assert anybody.content == somebody.content


@pytest.mark.remuda_rule("REST-30", "REST-73", "REST-75")
@pytest.mark.parametrize("query", ["?subtree", "?subtree=", "?subtree=false"])
def test_one_queue_shows_its_children_on_demand(client: TestClient, query: str) -> None:
    plain = client.get(f"{BASE}/queue/Root.A").json()
    assert plain["queuename"] == "root.a"
    assert plain["childrenNames"] == ["root.a.b", "root.a.b2"]
    assert "children" not in plain
    wide = client.get(f"{BASE}/queue/root.a{query}").json()
    assert [child["queuename"] for child in wide["children"]] == ["root.a.b", "root.a.b2"]


@pytest.mark.remuda_rule("REST-9", "REST-15")
@pytest.mark.parametrize(
    "segment, path",
    [
        ("root.a.b2", "root.a.b2"),
        ("root.x%2Fy", "root.x/y"),
        ("root.x%2fy", "root.x/y"),
        ("root.@recovery@", "root.@recovery@"),
        ("root.%40recovery%40", "root.@recovery@"),
        ("%72oot", "root"),
    ],
)
def test_path_parameters_are_decoded_once(client: TestClient, segment: str, path: str) -> None:
    assert client.get(f"{BASE}/queue/{segment}").json()["queuename"] == path


@pytest.mark.remuda_rule("REST-9")
def test_decoding_leaves_plus_signs_and_second_escapes_alone(client: TestClient) -> None:
    answer = client.get(f"{BASE}/queue/root.x%252Fy")
    assert answer.json() == error(400, BAD_NAME.format("root.x%2Fy", "x%2Fy"))
    answer = client.get(f"{BASE}/queue/root.a+b")
    assert answer.json() == error(400, BAD_NAME.format("root.a+b", "a+b"))
    for segment in ("root.%zz", "root.%ff"):
        answer = client.get(f"{BASE}/queue/{segment}")
        assert answer.status_code == 400
        assert segment in answer.json()["message"]


@pytest.mark.remuda_rule("REST-12", "REST-13", "REST-14", "REST-140")
@pytest.mark.parametrize("tail", ["", "/applications"])
@pytest.mark.parametrize("query", ["", "?rm=rm-a"])
def test_partition_is_checked_before_queue_syntax_before_queue(
    client: TestClient, tail: str, query: str
) -> None:
    matrix = {
        "nope/queue/root.$": error(404, "Partition not found"),
        "nope/queue/root.none": error(404, "Partition not found"),
        "nope/queue/root.etl": error(404, "Partition not found"),
        "default/queue/root.$": error(400, BAD_NAME.format("root.$", "$")),
        "default/queue/root..a": error(400, BAD_NAME.format("root..a", "")),
        "default/queue/" + "x" * 65: error(400, BAD_NAME.format("x" * 65, "x" * 65)),
        "default/queue/root." + "x" * 64: error(404, "Queue not found"),
        "default/queue/root.none": error(404, "Queue not found"),
        "default/queue/a.root": error(404, "Queue not found"),
        "default/queue/etl": error(404, "Queue not found"),
    }
    for path, expected in matrix.items():
        answer = client.get(f"/ws/v1/partition/{path}{tail}{query}")
        assert (path, answer.json()) == (path, expected)
        assert answer.status_code == expected["status_code"]


@pytest.mark.remuda_rule("REST-31", "REST-33", "REST-76", "REST-22")
def test_lists_without_elements_are_empty_lists(client: TestClient) -> None:
    assert client.get(f"{BASE}/nodes").content == b"[]\n"
    assert client.get(f"{BASE}/queue/root/applications").content == b"[]\n"
    assert client.get(f"{BASE}/queue/root.ETL/applications").content == b"[]\n"
    assert client.get("/ws/v1/partition/nope/nodes").json() == error(404, "Partition not found")


@pytest.mark.remuda_rule("REST-4", "REST-12")
@pytest.mark.parametrize("path", [f"{BASE}/queues", "/ws/v1/partition/nope/queues"])
def test_headers_of_handler_answers(client: TestClient, path: str) -> None:
    headers = client.get(path).headers
    assert headers["content-type"] == "application/json; charset=UTF-8"
    assert headers["access-control-allow-origin"] == "*"
    assert headers["access-control-allow-methods"] == "GET, OPTIONS"
    assert headers["access-control-allow-headers"] == "X-Requested-With,Content-Type,Accept,Origin"
    assert headers["access-control-expose-headers"] == "ETag, X-Total-Count"
    assert "access-control-allow-credentials" not in headers


@pytest.mark.remuda_rule("REST-4", "REST-8")
def test_options_answers_a_preflight_unless_cors_is_off(
    views: Fake, make_client: Callable[[Fake, bool], TestClient]
) -> None:
    answer = make_client(views, True).options(f"{BASE}/queues")
    assert (answer.status_code, answer.content) == (200, b"")
    assert answer.headers["allow"] == "GET, OPTIONS"
    assert answer.headers["access-control-allow-origin"] == "*"
    assert answer.headers["access-control-allow-methods"] == "GET, OPTIONS"
    quiet = make_client(views, False)
    for answer in (quiet.options(f"{BASE}/queues"), quiet.get(f"{BASE}/queues")):
        assert answer.status_code == 200
        assert not [name for name in answer.headers if name.startswith("access-control")]


@pytest.mark.remuda_rule("REST-53")
@pytest.mark.parametrize(
    "method, path",
    [
        ("GET", "/ws/v1/loglevel"),
        ("PUT", "/ws/v1/loglevel/debug"),
        ("GET", "/ws/v1/loglevel/debug"),
        ("PUT", "/ws/v1/config"),
        ("POST", "/ws/v1/config"),
        ("PUT", "/ws/v1/periodicstatedump/enable/60"),
        ("PUT", "/ws/v1/periodicstatedump/disable"),
    ],
)
def test_routes_that_older_releases_had_are_gone(
    client: TestClient, method: str, path: str
) -> None:
    answer = client.request(method, path)
    assert (answer.status_code, answer.text) == (404, "404 page not found\n")


@pytest.mark.remuda_rule("REST-5", "REST-7", "REST-53")
@pytest.mark.parametrize("path", ["/nope", "/ws/v1/nope", "/ws/v1/loglevel", f"{BASE}", "/ws/v1"])
def test_unknown_paths(client: TestClient, path: str) -> None:
    answer = client.get(path)
    assert (answer.status_code, answer.text) == (404, "404 page not found\n")
    assert answer.headers["content-type"].startswith("text/plain")
    assert "access-control-allow-origin" not in answer.headers


@pytest.mark.remuda_rule("REST-7")
@pytest.mark.parametrize(
    "path, right",
    [
        ("/ws/v1/partitions/", "/ws/v1/partitions"),
        ("/WS/V1/Partitions", "/ws/v1/partitions"),
        ("//ws/v1/partitions", "/ws/v1/partitions"),
        ("/ws/v1/partition/Default//Queues", "/ws/v1/partition/Default/queues"),
        ("/ws/v1/partition/a%2Fb/queues/?rm=x", "/ws/v1/partition/a%2Fb/queues?rm=x"),
    ],
)
def test_misspelled_paths_are_redirected(client: TestClient, path: str, right: str) -> None:
    url = "http://remuda" + path
    for method, status in {"GET": 301, "HEAD": 301, "POST": 307, "OPTIONS": 307}.items():
        answer = client.request(method, url)
        assert (method, answer.status_code) == (method, status)
        assert answer.headers["location"] == right


@pytest.mark.remuda_rule("REST-7")
@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH"])
def test_wrong_method(client: TestClient, method: str) -> None:
    answer = client.request(method, "/ws/v1/partitions")
    assert (answer.status_code, answer.text) == (405, "Method Not Allowed\n")
    assert answer.headers["allow"] == "GET, OPTIONS"
    assert answer.headers["content-type"].startswith("text/plain")


@pytest.mark.remuda_rule("REST-7")
def test_head_has_the_headers_of_get(client: TestClient) -> None:
    got, head = client.get("/ws/v1/partitions"), client.head("/ws/v1/partitions")
    assert head.status_code == 200
    assert head.headers["content-length"] == got.headers["content-length"]
    assert head.headers["content-type"] == got.headers["content-type"]


@pytest.mark.remuda_rule("REST-6")
def test_large_answers_are_compressed_for_who_asks(client: TestClient, views: Fake) -> None:
    template = views.partitions[0]
    views.partitions = [replace(template, rm_id=f"rm-{n}") for n in range(40)]
    path = "/ws/v1/partitions"
    with client.stream("GET", path, headers={"Accept-Encoding": "br, gzip"}) as answer:
        packed = b"".join(answer.iter_raw())
        assert answer.headers["content-encoding"] == "gzip"
        assert "accept-encoding" in answer.headers["vary"].lower()
    plain = client.get(path, headers={"Accept-Encoding": "identity"})
    assert "content-encoding" not in plain.headers
    assert gzip.decompress(packed) == plain.content
    refused = client.get(path, headers={"Accept-Encoding": "gzip;q=0"})
    assert "content-encoding" not in refused.headers


@pytest.mark.remuda_rule("REST-6")
def test_answers_from_1400_bytes_on_are_compressed(client: TestClient, views: Fake) -> None:
    headers = {"Accept-Encoding": "gzip"}
    views.partitions = views.partitions[:1]
    name = len(client.get("/ws/v1/partitions", headers=headers).content)
    for size, coding in ((1399, None), (1400, "gzip")):
        short = views.partitions[0]
        views.partitions = [replace(short, name="default" + "x" * (size - name))]
        answer = client.get("/ws/v1/partitions", headers=headers)
        assert len(answer.content) == size
        assert answer.headers.get("content-encoding") == coding
        views.partitions = [short]


@pytest.mark.remuda_rule("REST-17")
def test_failures_are_told_without_detail(
    client: TestClient, views: Fake, caplog: pytest.LogCaptureFixture
) -> None:
    views.failure = ValueError("secret detail")
    with caplog.at_level(logging.ERROR, "remuda.rest"):
        answer = client.get("/ws/v1/partitions")
    assert answer.json() == error(500, "Internal server error")
    assert answer.headers["access-control-allow-origin"] == "*"
    assert "secret detail" in caplog.text
    views.failure = LoopStoppedError("stopped")
    assert client.get("/ws/v1/partitions").json() == error(500, "Scheduler is not running")


def test_large_bodies_are_refused(client: TestClient) -> None:
    answer = client.request("GET", "/ws/v1/partitions", content=b"x" * (BODY_LIMIT + 1))
    assert answer.json() == error(413, "Request body is too large")
    assert answer.headers["connection"] == "close"
    assert client.request("GET", "/ws/v1/partitions", content=b"{}").status_code == 200


def application_view(application_id: str, state: str) -> ApplicationView:
    return ApplicationView(
        application_id=application_id,
        partition="default",
        queue="root.etl",
        user="ann",
        groups=(),
        state=state,
        submission_time_ns=1,
        finished_time_ns=0,
        start_time_ns=0,
        used={},
        max_used={},
        pending={},
        rejected_message="",
        max_request_priority=0,
        state_log=(),
        backoff_deadline_ns=0,
        requests=(),
        allocations=(),
    )


@pytest.mark.remuda_rule("REST-51", "REST-84", "REST-82")
def test_applications_of_a_queue_by_state(client: TestClient, views: Fake) -> None:
    found = tuple(application_view(f"job-{state}", state) for state in ("Accepted", "Running"))
    views.applications["rm-a", "default"]["root.etl"] = found

    def shown(tail: str) -> list[str]:
        answer = client.get(f"{BASE}/queue/root.etl/applications/{tail}")
        assert answer.status_code == 200
        return [each["applicationID"] for each in answer.json()]

    assert shown("active") == ["job-Accepted", "job-Running"]
    assert shown("Active?status=RUNNING") == ["job-Running"]
    assert shown("active?status=resuming") == []
    assert client.get(f"{BASE}/queue/root.a/applications/active").content == b"[]\n"


@pytest.mark.remuda_rule("REST-84", "REST-13", "REST-14")
@pytest.mark.parametrize(
    "path, expected",
    [
        (
            "default/queue/root.etl/applications/completed",
            error(400, "Only following application states are allowed: active"),
        ),
        (
            "default/queue/root.etl/applications/active?status=done",
            error(
                400,
                "Only following active statuses are allowed: accepted, completing, failing, new, "
                "resuming, running, starting",
            ),
        ),
        ("default/queue/root.none/applications/active", error(404, "Queue not found")),
        ("nope/queue/root.etl/applications/active", error(404, "Partition not found")),
    ],
)
def test_states_that_are_not_there(
    client: TestClient, path: str, expected: dict[str, object]
) -> None:
    answer = client.get(f"/ws/v1/partition/{path}")
    assert (answer.status_code, answer.json()) == (expected["status_code"], expected)
