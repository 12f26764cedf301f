"""The usage of users and groups: its JSON, and the routes that show it."""

from __future__ import annotations

from typing import Any

import pytest
from starlette.testclient import TestClient

from remuda.core.messages.queries import QueueUsageView, UsageView
from remuda.edges.rest.shapes import usage
from tests.unit.edges.rest.conftest import usage_view
from tests.unit.edges.rest.schema import assert_valid, shown

Fake = Any  # FakeViews of conftest.py

BASE = "/ws/v1/partition/default/usage"

ETL = QueueUsageView(
    path="root.etl",
    used={"memory": 10, "vcore": 1000},
    applications=("job-1",),
    maximum={"memory": 90},
    max_applications=5,
    children=(),
)
ROOT = QueueUsageView(
    path="root",
    used={"memory": 10, "vcore": 1000},
    applications=("job-1",),
    maximum=None,
    max_applications=0,
    children=(ETL,),
)

# The object of REST-138.
QUEUES = {
    "queuePath": "root",
    "resourceUsage": {"memory": 10, "vcore": 1000},
    "runningApplications": ["job-1"],
    "children": [
        {
            "queuePath": "root.etl",
            "resourceUsage": {"memory": 10, "vcore": 1000},
            "runningApplications": ["job-1"],
            "maxResources": {"memory": 90},
            "maxApplications": 5,
        }
    ],
}


@pytest.mark.remuda_rule("REST-63", "REST-138", "LIM-39")
def test_user_is_the_golden_example() -> None:
    user = shown(usage.user(UsageView("ann", {"job-1": "bi"}, ROOT)))
    assert user == {"userName": "ann", "groups": {"job-1": "bi"}, "queues": QUEUES}
    assert_valid("UserUsage", user)


@pytest.mark.remuda_rule("REST-63", "LIM-39")
def test_group_lists_its_applications() -> None:
    group = shown(usage.group(UsageView("bi", {"job-2": "bi", "job-1": "bi"}, ROOT)))
    assert group == {"groupName": "bi", "applications": ["job-1", "job-2"], "queues": QUEUES}
    assert_valid("GroupUsage", group)


@pytest.mark.remuda_rule("REST-63", "REST-65", "REST-66")
def test_what_is_empty_is_left_out() -> None:
    nothing = QueueUsageView("root", None, (), None, 0, ())
    assert shown(usage.user(UsageView("bob", {}, nothing))) == {
        "userName": "bob",
        "queues": {"queuePath": "root"},
    }
    assert shown(usage.group(UsageView("dev", {}, nothing))) == {
        "groupName": "dev",
        "queues": {"queuePath": "root"},
    }


@pytest.mark.remuda_rule("REST-63", "LIM-2")
def test_amounts_of_zero_are_shown() -> None:
    idle = QueueUsageView("root", {"memory": 0}, (), {"gpu": 0}, 0, ())
    assert shown(usage.user(UsageView("bob", {}, idle)))["queues"] == {
        "queuePath": "root",
        "resourceUsage": {"memory": 0},
        "maxResources": {"gpu": 0},
    }


@pytest.fixture(autouse=True)
def _somebody(views: Fake) -> None:
    """Users and groups of rm-a; the partition of rm-b has others."""
    names = ("ann", "svc@x.org", "system:sa/one", "ann$")
    views.users["rm-a", "default"] = tuple(usage_view(name, {"job-1": "bi"}) for name in names)
    views.groups["rm-a", "default"] = (usage_view("*", {"job-3": "*"}), usage_view("bi", {}))
    views.users["rm-b", "default"] = (usage_view("zoe", {}),)


@pytest.mark.remuda_rule("REST-37", "REST-39", "REST-64", "REST-21", "REST-22")
def test_lists_are_those_of_the_partition(client: TestClient) -> None:
    def names(path: str, key: str) -> list[str]:
        return [each[key] for each in client.get(path).json()]

    assert names(f"{BASE}/users", "userName") == ["ann", "svc@x.org", "system:sa/one", "ann$"]
    assert names(f"{BASE}/users?rm=rm-b", "userName") == ["zoe"]
    assert names(f"{BASE}/groups", "groupName") == ["*", "bi"]
    assert client.get(f"{BASE}/groups?rm=rm-b").content == b"[]\n"


@pytest.mark.remuda_rule("REST-38", "REST-9")
@pytest.mark.parametrize(
    "segment, name",
    [
        ("ann", "ann"),
        ("svc@x.org", "svc@x.org"),
        ("svc%40x.org", "svc@x.org"),
        ("system:sa%2Fone", "system:sa/one"),
        ("ann$", "ann$"),
    ],
)
def test_one_user(client: TestClient, segment: str, name: str) -> None:
    answer = client.get(f"{BASE}/user/{segment}")
    assert answer.status_code == 200
    assert answer.json()["userName"] == name
    assert answer.json()["groups"] == {"job-1": "bi"}


@pytest.mark.remuda_rule("REST-40", "LIM-67")
@pytest.mark.parametrize("segment, name", [("bi", "bi"), ("*", "*"), ("%2A", "*")])
def test_one_group(client: TestClient, segment: str, name: str) -> None:
    assert client.get(f"{BASE}/group/{segment}").json()["groupName"] == name


@pytest.mark.remuda_rule("REST-12", "REST-13", "REST-14", "REST-64")
@pytest.mark.parametrize(
    "path, status, text",
    [
        ("default/usage/user/bob", 404, "User not found"),
        ("default/usage/user/Ann", 404, "User not found"),
        ("default/usage/group/qa", 404, "Group not found"),
        ("default/usage/group/ann", 404, "Group not found"),
        ("default/usage/user/9lives", 400, "Invalid user name"),
        ("default/usage/user/a+b", 400, "Invalid user name"),
        ("default/usage/user/a%20b", 400, "Invalid user name"),
        ("default/usage/group/a@b", 400, "Invalid group name"),
        ("nope/usage/user/9lives", 404, "Partition not found"),
        ("nope/usage/users", 404, "Partition not found"),
        ("nope/usage/groups", 404, "Partition not found"),
        ("nope/usage/group/bi", 404, "Partition not found"),
    ],
)
def test_what_is_not_there(client: TestClient, path: str, status: int, text: str) -> None:
    answer = client.get(f"/ws/v1/partition/{path}")
    assert (answer.status_code, answer.json()["message"]) == (status, text)
    assert_valid("Error", answer.json())


@pytest.mark.remuda_rule("REST-40", "REST-13")
def test_the_wildcard_group_without_a_tracker_is_not_found(client: TestClient) -> None:
    answer = client.get(f"{BASE}/group/*?rm=rm-b")
    assert (answer.status_code, answer.json()["message"]) == (404, "Group not found")
