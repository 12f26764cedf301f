"""Parts of lists, and answers that the client has already."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from starlette.testclient import TestClient

from remuda.core.messages.queries import ConfigurationView
from remuda.edges.rest.requests.conditional import has_tag
from tests.unit.core.door import Caller, leaf
from tests.unit.edges.rest.conftest import partition_view, queue_view
from tests.unit.edges.rest.schema import openapi
from tests.unit.edges.rest.serving import BASE, error, serve

Fake = Any  # FakeViews of conftest.py; tests are not a package


def five_nodes() -> TestClient:
    """A scheduler with the nodes n0 to n4."""
    caller = Caller()
    for number in range(5):
        caller.node(f"n{number}", {"vcore": 1})
    return serve(caller.scheduler)


@pytest.mark.remuda_rule("REST-122")
@pytest.mark.parametrize(
    "query, expected",
    [
        ("", ["n0", "n1", "n2", "n3", "n4"]),
        ("?limit=2", ["n0", "n1"]),
        ("?limit=2&offset=3", ["n3", "n4"]),
        ("?offset=4", ["n4"]),
        ("?offset=5", []),
        ("?limit=18446744073709551615&offset=0", ["n0", "n1", "n2", "n3", "n4"]),
        ("?offset=18446744073709551615", []),
    ],
)
def test_a_page_of_a_list_tells_how_long_the_list_is(query: str, expected: list[str]) -> None:
    client = five_nodes()
    whole = {each["nodeID"]: each for each in client.get(f"{BASE}/nodes").json()}
    answer = client.get(f"{BASE}/nodes{query}")
    assert answer.status_code == 200
    assert answer.headers["x-total-count"] == "5"
    assert answer.json() == [whole[name] for name in expected]


@pytest.mark.remuda_rule("REST-122")
def test_only_the_keys_that_are_wanted_are_shown() -> None:
    client = five_nodes()
    some = client.get(f"{BASE}/nodes?fields=nodeID, schedulable,hostName&limit=1")
    assert some.json() == [{"nodeID": "n0", "schedulable": True}]
    none = client.get(f"{BASE}/nodes?fields=nonsense&limit=1")
    assert none.content == b"[{}]\n"
    everything = client.get(f"{BASE}/nodes")
    assert client.get(f"{BASE}/nodes?fields=").content == everything.content
    assert client.get(f"{BASE}/nodes?fields=,").content == everything.content


@pytest.mark.remuda_rule("REST-122", "REST-14", "REST-13")
@pytest.mark.parametrize(
    "name, text",
    [("limit", "0"), ("limit", "-1"), ("limit", "x"), ("offset", "-1"), ("offset", "1e3")],
)
def test_what_is_no_number_is_refused_after_an_unknown_partition(name: str, text: str) -> None:
    client = five_nodes()
    refused = client.get(f"{BASE}/nodes?{name}={text}")
    assert refused.json() == error(400, f'{text} is not a valid value for "{name}"')
    nowhere = client.get(f"/ws/v1/partition/gpu/nodes?{name}={text}")
    assert nowhere.json() == error(404, "Partition not found")


@pytest.mark.remuda_rule("REST-122")
def test_every_list_has_pages_and_says_so() -> None:
    caller = Caller()
    caller.node("n1", {"vcore": 1})
    caller.app("app")
    client = serve(caller.scheduler)
    paths = [path for path, item in openapi()["paths"].items() if is_list(item)]
    # They are served beside these routes: test_cluster_routes.py, test_fair_shares.py.
    paths.remove("/ws/v1/clusters")
    paths.remove("/ws/v1/partition/{partition}/fairshare")
    assert len(paths) >= 9
    for path in paths:
        filled = path.format(partition="default", queue="root.a", state="active")
        answer = client.get(filled)
        assert answer.headers["x-total-count"] == str(len(answer.json())), path
        assert client.get(f"{filled}?offset=1").json() == answer.json()[1:], path


def is_list(item: dict[str, Any]) -> bool:
    """Whether a path of the document answers a list that has pages."""
    success = item.get("get", {"responses": {}})["responses"].get("200", {})
    return "X-Total-Count" in success.get("headers", {})


@pytest.mark.remuda_rule("REST-124")
@pytest.mark.parametrize("path", [f"{BASE}/queues", f"{BASE}/queue/root.a", "/ws/v1/config"])
def test_an_answer_is_not_sent_again_while_it_stays_the_same(path: str) -> None:
    caller = Caller()
    client = serve(caller.scheduler)
    first = client.get(path)
    tag = first.headers["etag"]
    again = client.get(path, headers={"If-None-Match": tag})
    assert (again.status_code, again.content) == (304, b"")
    assert again.headers["etag"] == tag
    assert ("access-control-allow-origin" in again.headers) == path.endswith("/queues")
    assert serve(caller.scheduler).get(path).headers["etag"] == tag
    caller.reload(leaf("a", {"vcore": 5}))
    changed = client.get(path, headers={"If-None-Match": tag})
    assert changed.status_code == 200
    assert changed.content != first.content
    assert changed.headers["etag"] != tag


@pytest.mark.remuda_rule("REST-124", "REST-57")
def test_the_forms_of_the_configuration_have_tags_of_their_own(
    client: TestClient, views: Fake
) -> None:
    views.configurations = [ConfigurationView("rm-a", "queues", "partitions: []\n", "A" * 64, {})]
    yaml = client.get("/ws/v1/config")
    json = client.get("/ws/v1/config", headers={"Accept": "application/json"})
    raw = client.get("/ws/v1/config?raw=true")
    assert len({answer.headers["etag"] for answer in (yaml, json, raw)}) == 3
    tags = {"If-None-Match": f'"other", {yaml.headers["etag"]}'}
    assert client.get("/ws/v1/config", headers=tags).status_code == 304
    assert client.get("/ws/v1/config?raw=true", headers=tags).status_code == 200


@pytest.mark.remuda_rule("REST-124")
@pytest.mark.parametrize(
    "known, expected",
    [
        ('W/"a"', True),
        ('"a"', True),
        ('"b" , W/"a"', True),
        ("*", True),
        ('W/"b"', False),
        ("a", False),
        ("", False),
    ],
)
def test_tags_are_compared_weakly(known: str, expected: bool) -> None:
    assert has_tag(known, 'W/"a"') is expected


@pytest.mark.remuda_rule("REST-124", "REST-14")
def test_refusals_have_no_tag(client: TestClient) -> None:
    for path in ("/ws/v1/partition/gpu/queues", f"{BASE}/queue/root.none"):
        answer = client.get(path, headers={"If-None-Match": "*"})
        assert answer.status_code == 404
        assert "etag" not in answer.headers


@pytest.mark.remuda_rule("REST-124", "REST-6")
def test_a_compressed_answer_has_the_same_tag(client: TestClient, views: Fake) -> None:
    views.partitions = [partition_view()]
    children = [replace(queue_view(f"root.q{number}")) for number in range(20)]
    views.roots["rm-a", "default"] = queue_view("root", *children)
    plain = client.get(f"{BASE}/queues", headers={"Accept-Encoding": "identity"})
    small = client.get(f"{BASE}/queues", headers={"Accept-Encoding": "gzip"})
    assert small.headers["content-encoding"] == "gzip"
    assert small.headers["etag"] == plain.headers["etag"]
