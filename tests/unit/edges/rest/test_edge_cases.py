"""Edge cases of chapter 95, section 15, over a scheduler."""

from __future__ import annotations

import pytest
from starlette.testclient import TestClient

from remuda.config.schema import Configuration
from remuda.core.messages import commands as c
from remuda.core.scheduler import Scheduler
from tests.unit.core.door import PROVIDED, SECOND, Caller, leaf, parent, partition
from tests.unit.edges.rest.schema import assert_valid
from tests.unit.edges.rest.serving import BASE, error, serve


@pytest.mark.remuda_rule("REST-22", "REST-14", "REST-12")
def test_before_registration_lists_are_empty_and_partitions_unknown() -> None:
    client = serve(Scheduler())
    for path in ("partitions", "scheduler/node-utilizations"):
        answer = client.get(f"/ws/v1/{path}")
        assert (answer.status_code, answer.content) == (200, b"[]\n")
    for path in (
        "queues",
        "queue/root",
        "queue/root..a",
        "nodes",
        "node/n1",
        "placementrules",
        "queue/root.a/applications",
        "queue/root.a/applications/active",
        "queue/root.a/application/a",
        "queue/root.a/pending",
        "application/a",
        "application/a/pending",
        "applications/active",
        "applications/nonsense",
        "applications/rejected?limit=0",
        "usage/users",
        "usage/user/ann",
        "usage/groups",
        "usage/group/staff",
        "preemptions",
        "preemption/1",
    ):
        answer = client.get(f"{BASE}/{path}")
        assert (answer.status_code, answer.json()) == (404, error(404, "Partition not found")), path


@pytest.mark.remuda_rule("REST-54")
def test_the_routes_that_were_published_early_answer() -> None:
    client = serve(Caller(placement_rules=(PROVIDED,)).scheduler)
    rules = client.get(f"{BASE}/placementrules")
    assert [each["name"] for each in rules.json()] == ["provided", "recovery"]
    assert client.get(f"{BASE}/queue/root.a/applications/active").content == b"[]\n"


@pytest.mark.remuda_rule("REST-13", "REST-75")
def test_queue_names_of_every_kind() -> None:
    long = "q" * 64
    client = serve(Caller(leaf("mixed"), leaf(long)).scheduler)
    for name in ("mixed", "MIXED", long):
        assert client.get(f"{BASE}/queue/root.{name}").status_code == 200
        assert client.get(f"{BASE}/queue/root.{name}/pending").content == b"[]\n"
    for name, part in ((f"root.{long}q", f"{long}q"), ("root..a", ""), ("root.a b", "a b")):
        for tail in ("", "/pending", "/application/x"):
            refused = client.get(f"{BASE}/queue/{name}{tail}")
            assert refused.status_code == 400
            assert f"invalid queue name {part}. " in refused.json()["message"]
    for tail in ("", "/pending", "/application/x"):
        other = client.get(f"{BASE}/queue/a.root{tail}")
        assert other.json() == error(404, "Queue not found")


@pytest.mark.remuda_rule("REST-19", "REST-70", "REST-77", "REST-79")
def test_what_is_zero_is_left_out_but_for_priorities() -> None:
    caller = Caller()
    caller.app("app")
    caller.ask("app", "k", {"vcore": 0, "memory": 1})
    client = serve(caller.scheduler)
    queue = client.get(f"{BASE}/queue/root.a").json()
    assert_valid("Queue", queue)
    assert queue["currentPriority"] == 0
    for key in ("allocatedResource", "maxRunningApps", "runningApps", "priorityOffset"):
        assert not queue.get(key)
    found = client.get(f"{BASE}/application/app").json()
    assert_valid("Application", found)
    assert "maxRequestPriority" not in found
    assert found["requests"][0]["priority"] == "0"
    assert found["requests"][0]["resource"] == {"memory": 1, "vcore": 0}
    for key in ("finishedTime", "startTime", "allocations", "resourceHistory", "hasReserved"):
        assert key not in found


@pytest.mark.remuda_rule("REST-21", "REST-34", "REST-35", "REST-36", "REST-32", "REST-121")
def test_two_resource_managers_with_partitions_of_one_name() -> None:
    caller = Caller()
    caller.node("mine", {"vcore": 1})
    caller.app("app")
    caller.send(c.RegisterResourceManager("other", Configuration((partition(leaf("b")),))))
    client = serve(caller.scheduler)
    for path in ("node/mine", "application/app", "queue/root.a/application/app"):
        assert client.get(f"{BASE}/{path}").status_code == 404  # "other" comes first
        assert client.get(f"{BASE}/{path}?rm=rm").status_code == 200
        nobody = client.get(f"{BASE}/{path}?rm=nobody")
        assert nobody.json() == error(404, "Partition not found")
    assert client.get(f"{BASE}/applications/active").json() == []
    assert len(client.get(f"{BASE}/applications/active?rm=rm").json()) == 1
    assert client.get(f"{BASE}/queue/root.a/pending").json() == error(404, "Queue not found")
    assert client.get(f"{BASE}/queue/root.a/pending?rm=rm").json() == []


def running() -> tuple[Caller, TestClient]:
    """A scheduler with one node and one application, and its client."""
    caller = Caller(leaf("a"), parent("p", leaf("b")))
    caller.node("n1", {"vcore": 10})
    caller.app("app")
    return caller, serve(caller.scheduler)


@pytest.mark.remuda_rule("REST-80", "REST-35")
def test_an_allocation_without_delay_does_not_show_one() -> None:
    caller, client = running()
    caller.ask("app", "now", {"vcore": 1})
    caller.step()
    caller.ask("app", "late", {"vcore": 1})
    caller.now += 5 * SECOND
    caller.step()
    late, now = client.get(f"{BASE}/application/app").json()["allocations"]
    assert "allocationDelay" not in now
    assert now["requestTime"] == now["allocationTime"]
    assert late["allocationDelay"] == 5 * SECOND
    assert late["uuid"] == late["allocationID"] == "late-0"


@pytest.mark.remuda_rule("REST-78", "REST-35")
def test_the_start_is_shown_in_milliseconds_and_what_it_used_by_instance_type() -> None:
    caller, client = running()
    started = caller.now
    caller.ask("app", "k", {"vcore": 2})
    caller.step()
    caller.now += 3 * SECOND
    caller.release("app")
    found = client.get(f"{BASE}/application/app").json()
    assert_valid("Application", found)
    assert found["startTime"] == started // 1_000_000
    assert found["resourceHistory"] == {"resourceUsage": {"UNKNOWN": {"vcore": 6}}}
