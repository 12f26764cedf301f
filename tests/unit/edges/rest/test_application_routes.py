"""Single applications, and lists of those that are active or ended."""

from __future__ import annotations

from typing import Any

import pytest

from remuda.edges.rest.routes.applications import in_order
from tests.unit.core.door import DAY, SECOND, Caller, leaf, parent
from tests.unit.edges.rest.schema import assert_valid
from tests.unit.edges.rest.serving import BASE, error, serve

STATES = "Only following application states are allowed: active, rejected, completed"
STATUSES = (
    "Only following active statuses are allowed: "
    "accepted, completing, failing, new, resuming, running, starting"
)
ACTIVE = "Only following application states are allowed: active"


def end(caller: Caller, name: str) -> None:
    """Let an application come, run, and complete."""
    caller.app(name)
    caller.ask(name, "k", {"vcore": 1})
    caller.step()
    caller.release(name)
    caller.wait(31 * SECOND)  # APP-16: completing takes 30 seconds


def reject(caller: Caller, name: str) -> None:
    """Let an application come that no rule places."""
    caller.app(name, "root.nowhere", user="ann", groups=("bi",))


def busy() -> Caller:
    """One completed, one rejected, one running, one accepted application."""
    caller = Caller(leaf("a"), parent("p", leaf("b")))
    caller.node("n1", {"vcore": 10})
    end(caller, "done")
    reject(caller, "job-x")
    caller.app("runs", "root.p.b")
    caller.ask("runs", "k", {"vcore": 1})
    caller.step()
    caller.app("fresh")
    caller.ask("fresh", "k", {"vcore": 1})
    return caller


def listed(answer: Any) -> list[str]:
    """Return the IDs of a valid list of applications."""
    assert answer.status_code == 200
    found = answer.json()
    for each in found:
        assert_valid("Application", each)
    return [each["applicationID"] for each in found]


@pytest.mark.remuda_rule("REST-34", "REST-35", "REST-75")
def test_an_application_is_found_with_or_without_its_queue() -> None:
    client = serve(busy().scheduler)
    found = client.get(f"{BASE}/application/runs").json()
    assert_valid("Application", found)
    assert (found["applicationID"], found["queueName"]) == ("runs", "root.p.b")
    assert client.get(f"{BASE}/queue/ROOT.p.b/application/runs").json() == found
    elsewhere = client.get(f"{BASE}/queue/root.a/application/runs")
    assert (elsewhere.status_code, elsewhere.json()) == (404, error(404, "Application not found"))


@pytest.mark.remuda_rule("REST-14", "REST-13")
@pytest.mark.parametrize("place", ["default", "gpu"])
@pytest.mark.parametrize("queue", ["root.a", "root.none", "root..a", "root.a b"])
@pytest.mark.parametrize("name", ["runs", "none"])
def test_partition_then_syntax_then_queue_then_application(
    place: str, queue: str, name: str
) -> None:
    client = serve(busy().scheduler)
    answer = client.get(f"/ws/v1/partition/{place}/queue/{queue}/application/{name}?include=no")
    if place != "default":
        assert answer.json() == error(404, "Partition not found")
    elif queue in ("root..a", "root.a b"):
        assert answer.json()["status_code"] == answer.status_code == 400
        assert f"queue param {queue} contains invalid queue name" in answer.json()["message"]
    else:
        assert answer.json() == error(400, 'no is not a valid value for "include"')
        answer = client.get(f"/ws/v1/partition/{place}/queue/{queue}/application/{name}")
        missing = "Queue not found" if queue == "root.none" else "Application not found"
        assert answer.json() == error(404, missing)


@pytest.mark.remuda_rule("REST-83")
def test_ended_applications_are_found_only_if_they_are_included() -> None:
    client = serve(busy().scheduler)
    for name, own, other in (("done", "completed", "rejected"), ("job-x", "rejected", "completed")):
        for include in ("", other):
            answer = client.get(f"{BASE}/application/{name}", params={"include": include})
            assert answer.json() == error(404, "Application not found")
        for include in (own, own.upper(), "completed,rejected", f" {other}, {own}"):
            answer = client.get(f"{BASE}/application/{name}", params={"include": include})
            assert_valid("Application", answer.json())
            assert answer.json()["applicationState"] == own.capitalize()
    in_queue = client.get(f"{BASE}/queue/root.a/application/done?include=completed")
    assert in_queue.json()["applicationID"] == "done"
    assert (
        client.get(f"{BASE}/queue/root.p.b/application/done?include=completed").status_code == 404
    )


@pytest.mark.remuda_rule("REST-83")
def test_the_live_application_of_an_id_comes_before_the_last_that_ended() -> None:
    caller = Caller()
    caller.node("n1", {"vcore": 10})
    end(caller, "twice")
    end(caller, "twice")
    client = serve(caller.scheduler)
    path = f"{BASE}/application/twice?include=completed,rejected"
    times = [each["finishedTime"] for each in client.get(f"{BASE}/applications/completed").json()]
    assert client.get(path).json()["finishedTime"] == max(times)
    caller.app("twice")
    assert "finishedTime" not in client.get(path).json()


@pytest.mark.remuda_rule("REST-36", "REST-82")
@pytest.mark.parametrize(
    "path, expected",
    [
        ("active", ["fresh", "runs"]),
        ("ACTIVE?status=", ["fresh", "runs"]),
        ("active?status=Accepted", ["fresh"]),
        ("active?status=starting", ["runs"]),
        ("active?status=failing", []),
        ("Completed", ["done"]),
        ("completed?status=nonsense", ["done"]),
        ("rejected", ["job-x"]),
    ],
)
def test_applications_are_listed_by_state(path: str, expected: list[str]) -> None:
    assert listed(serve(busy().scheduler).get(f"{BASE}/applications/{path}")) == expected


@pytest.mark.remuda_rule("REST-82", "REST-13", "REST-14")
def test_an_unknown_state_or_status_is_refused_after_an_unknown_partition() -> None:
    client = serve(busy().scheduler)
    asked = {
        "default/applications/ended": error(400, STATES),
        "default/applications/active?status=done": error(400, STATUSES),
        "default/applications/active?limit=no": error(400, 'no is not a valid value for "limit"'),
        "gpu/applications/ended": error(404, "Partition not found"),
        "gpu/applications/active?status=done": error(404, "Partition not found"),
        "gpu/applications/completed": error(404, "Partition not found"),
        "default/queue/root.a/applications/completed": error(400, ACTIVE),
    }
    for path, expected in asked.items():
        answer = client.get(f"/ws/v1/partition/{path}")
        assert (answer.status_code, answer.json()) == (expected["status_code"], expected)


@pytest.mark.remuda_rule("REST-82", "REST-20", "APP-15")
def test_one_id_may_have_completed_several_times() -> None:
    caller = Caller()
    caller.node("n1", {"vcore": 10})
    for name in ("b", "a", "b"):
        end(caller, name)
    answer = serve(caller.scheduler).get(f"{BASE}/applications/completed")
    assert listed(answer) == ["a", "b", "b"]
    first, second = [each["finishedTime"] for each in answer.json()[1:]]
    assert first < second


@pytest.mark.remuda_rule("REST-82", "APP-18")
def test_what_ended_is_listed_for_three_days() -> None:
    caller = busy()
    client = serve(caller.scheduler)
    caller.wait(3 * DAY - 60 * SECOND)
    assert listed(client.get(f"{BASE}/applications/completed")) == ["done"]
    assert listed(client.get(f"{BASE}/applications/rejected")) == ["job-x"]
    caller.wait(DAY)
    assert client.get(f"{BASE}/applications/completed").content == b"[]\n"
    assert client.get(f"{BASE}/applications/rejected").content == b"[]\n"
    gone = client.get(f"{BASE}/application/done?include=completed,rejected")
    assert gone.json() == error(404, "Application not found")


@pytest.mark.remuda_rule("REST-136", "REST-77")
def test_a_rejected_application_says_why_and_has_no_requests() -> None:
    (found,) = serve(busy().scheduler).get(f"{BASE}/applications/rejected").json()
    times = {"submissionTime", "finishedTime"}
    assert all(found[name] > 0 for name in times)
    assert [each["applicationState"] for each in found["stateLog"]] == ["Rejected"]
    rest = {key: found[key] for key in found if key not in times | {"stateLog"}}
    message = rest.pop("rejectedMessage")
    assert message == (
        "failed to place application job-x: application rejected: no placement rule matched"
    )
    assert rest == {
        "applicationID": "job-x",
        "partition": "default",
        "queueName": "",
        "applicationState": "Rejected",
        "user": "ann",
        "groups": ["bi"],
        "maxRequestPriority": -2147483648,
    }


@pytest.mark.remuda_rule("REST-36", "REST-11", "REST-20", "REST-122")
def test_a_long_list_is_the_same_in_pieces() -> None:
    caller = Caller()
    for number in range(150):
        reject(caller, f"job-{number:03}")
    client = serve(caller.scheduler)
    answer = client.get(f"{BASE}/applications/rejected")
    assert answer.headers["content-type"] == "application/json; charset=UTF-8"
    assert answer.headers["x-total-count"] == "150"
    assert answer.content.startswith(b"[{")
    assert answer.content.endswith(b"}]\n")
    assert listed(answer) == [f"job-{number:03}" for number in range(150)]
    part = client.get(f"{BASE}/applications/rejected?offset=70&limit=80&fields=applicationID")
    assert part.json() == [{"applicationID": f"job-{number:03}"} for number in range(70, 150)]
    assert part.headers["x-total-count"] == "150"


@pytest.mark.remuda_rule("REST-20")
@pytest.mark.parametrize("count", [0, 1, 2048, 2049, 10_000])
def test_keys_are_sorted_however_many_there_are(count: int) -> None:
    keys: list[Any] = [((), f"job-{number * 7919 % 5000}", number) for number in range(count)]
    assert in_order(tuple(keys)) == sorted(keys)


@pytest.mark.remuda_rule("REST-36", "REST-34", "REST-35")
def test_before_registration_there_is_no_partition() -> None:
    caller = Caller()
    caller.scheduler = type(caller.scheduler)()
    client = serve(caller.scheduler)
    for path in ("application/a", "queue/root.a/application/a", "applications/active"):
        assert client.get(f"{BASE}/{path}").json() == error(404, "Partition not found")
