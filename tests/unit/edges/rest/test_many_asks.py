"""What is shown of an application with very many asks (REST-144)."""

from __future__ import annotations

from typing import Any

import pytest
from starlette.testclient import TestClient

from tests.unit.core.door import Caller
from tests.unit.core.test_many_asks import MANY, crowd
from tests.unit.edges.rest.serving import BASE, serve

KEYS = [f"k-{number:05}" for number in range(1, MANY + 1)]


@pytest.fixture(scope="module")
def caller() -> Caller:
    return crowd()


@pytest.fixture(scope="module")
def client(caller: Caller) -> TestClient:
    return serve(caller.scheduler)


def keys(shape: dict[str, Any]) -> list[str]:
    """The keys of an application's asks, as they are listed."""
    return [each["allocationKey"] for each in shape["requests"]]


@pytest.mark.remuda_rule(
    "REST-144", "REST-20", "REST-35", "REST-34", "REST-33", "REST-36", "REST-51"
)
@pytest.mark.parametrize(
    "path",
    [
        "application/app",
        "queue/root.a/application/app",
        "queue/root.a/applications",
        "queue/root.a/applications/active",
        "applications/active",
    ],
)
def test_all_asks_are_listed_by_key(client: TestClient, path: str) -> None:
    found = client.get(f"{BASE}/{path}").json()
    shape = found[0] if isinstance(found, list) else found
    assert keys(shape) == KEYS
    assert shape["pendingResource"] == {"vcore": 2 * MANY}
    assert {each["resource"]["vcore"] for each in shape["requests"]} == {2}
    assert "allocations" not in shape


@pytest.mark.remuda_rule("REST-144", "REST-122")
def test_keys_that_are_not_wanted_are_not_made(client: TestClient) -> None:
    found = client.get(f"{BASE}/queue/root.a/applications?fields=applicationID,user").json()
    assert found == [{"applicationID": "app", "user": "ann"}]
    found = client.get(f"{BASE}/applications/active?fields=requests").json()
    assert list(found[0]) == ["requests"]
    assert keys(found[0]) == KEYS


@pytest.mark.remuda_rule("REST-144", "REST-120", "QUE-44")
def test_all_asks_wait_in_the_order_in_which_they_are_served(client: TestClient) -> None:
    found = client.get(f"{BASE}/application/app/pending").json()
    assert (found["position"], found["of"], found["queueName"]) == (1, 1, "root.a")
    assert keys(found) == KEYS[::-1]  # they came last key first
    assert [each["position"] for each in found["requests"]] == list(range(1, MANY + 1))


@pytest.mark.remuda_rule("REST-144")
def test_an_ask_that_ended_while_the_list_is_read_is_left_out() -> None:
    caller = crowd()
    served = serve(caller.scheduler)
    with served.stream("GET", f"{BASE}/application/app") as answer:
        caller.release_ask("app", KEYS[-1])
        text = b"".join(answer.iter_bytes())
    assert text.endswith(b"]}\n")
    assert served.get(f"{BASE}/application/app").json()["requests"][-1]["allocationKey"] == KEYS[-2]
