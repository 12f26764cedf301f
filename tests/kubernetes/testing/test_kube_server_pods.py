"""Binding, eviction, deletion, gates and resizing, on old and new releases.

Expected behaviour is from Kubernetes' documentation: "API-initiated Eviction", "Specifying a
Disruption Budget", "Pod Scheduling Readiness", "Resize CPU and Memory Resources", and from the
recordings of release 1.20.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from remuda_kubernetes.testing.server import ApiServer
from remuda_kubernetes.testing.settings import Settings
from tests.kubernetes.testing.calls import PODS, Calls, pod

OTHER = "00000000-0000-0000-0000-000000000001"
BUDGETS = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"


@contextmanager
def release(minor: int, **more: Any) -> Iterator[Calls]:
    with ApiServer(Settings(minor=minor, **more)) as server, Calls(server.address) as calls:
        yield calls


@pytest.mark.parametrize(
    "settings, code",
    [
        (Settings(minor=20), 201),
        (Settings(minor=32), 409),
        (Settings(minor=20, binding_uid_checked=True), 409),
        (Settings(minor=32, binding_uid_checked=False), 201),
    ],
)
def test_a_binding_with_a_wrong_uid_is_refused_by_newer_releases(
    settings: Settings, code: int
) -> None:
    with ApiServer(settings) as server, Calls(server.address) as calls:
        calls.made(PODS, pod("a"))
        found, answer = calls.bound("a", "n1", uid=OTHER)
        assert found == code, answer
        _, after = calls.get(f"{PODS}/a")
        assert after["spec"].get("nodeName") == ("n1" if code == 201 else None)


def test_a_binding_with_the_right_uid_is_carried_out(calls: Calls) -> None:
    made = calls.made(PODS, pod("a"))
    assert calls.bound("a", "n1", uid=made["metadata"]["uid"])[0] == 201


def test_a_pod_that_is_being_deleted_is_not_bound(calls: Calls) -> None:
    held = pod("a")
    held["metadata"]["finalizers"] = ["test/hold"]
    calls.made(PODS, held)
    calls.delete(f"{PODS}/a")
    code, refused = calls.bound("a", "n1")
    assert (code, refused["reason"]) == (409, "Conflict")


def test_a_gated_pod_is_bound_when_its_gates_are_gone(calls: Calls) -> None:
    made = calls.made(PODS, pod("a", schedulingGates=[{"name": "one"}, {"name": "two"}]))
    assert made["status"]["conditions"][0]["reason"] == "SchedulingGated"
    assert calls.bound("a", "n1")[0] == 409
    gates = {"spec": {"schedulingGates": [{"name": "one"}, {"name": "three"}]}}
    assert calls.patch(f"{PODS}/a", gates)[0] == 422
    assert calls.patch(f"{PODS}/a", {"spec": {"schedulingGates": [{"name": "two"}]}})[0] == 200
    assert calls.patch(f"{PODS}/a", {"spec": {"nodeSelector": {"x": "y"}}})[0] == 200
    assert calls.patch(f"{PODS}/a", {"spec": {"schedulingGates": []}})[0] == 200
    assert calls.patch(f"{PODS}/a", {"spec": {"nodeSelector": {"x": "z"}}})[0] == 422
    assert calls.bound("a", "n1")[0] == 201


def test_an_old_release_knows_no_gates() -> None:
    with release(20) as calls:
        made = calls.made(PODS, pod("a", schedulingGates=[{"name": "one"}]))
        assert "schedulingGates" not in made["spec"]
        assert calls.bound("a", "n1")[0] == 201


def running(calls: Calls, name: str, **labels: str) -> None:
    calls.made(PODS, pod(name, node="n1", labels=labels))
    ready = [{"type": "Ready", "status": "True"}]
    calls.patch(f"{PODS}/{name}/status", {"status": {"phase": "Running", "conditions": ready}})


def evicted(calls: Calls, name: str, version: str = "policy/v1") -> tuple[int, Any]:
    body = {"apiVersion": version, "kind": "Eviction", "metadata": {"name": name}}
    return calls.post(f"{PODS}/{name}/eviction", body)


def budget(calls: Calls, name: str = "b", **status: int) -> None:
    spec = {"minAvailable": 1, "selector": {"matchLabels": {"app": "x"}}}
    made = calls.made(BUDGETS, {"metadata": {"name": name}, "spec": spec})
    if status:
        made["status"] = {**made["status"], "observedGeneration": 1, **status}
        assert calls.put(f"{BUDGETS}/{name}/status", made)[0] == 200


def test_a_budget_counts_evictions(calls: Calls) -> None:
    for name in ("a", "c"):
        running(calls, name, app="x")
    budget(calls, disruptionsAllowed=1, currentHealthy=2, desiredHealthy=1, expectedPods=2)
    assert evicted(calls, "a")[0] == 201
    _, after = calls.get(f"{BUDGETS}/b")
    assert after["status"]["disruptionsAllowed"] == 0
    assert list(after["status"]["disruptedPods"]) == ["a"]
    code, refused = evicted(calls, "c")
    assert (code, refused["reason"]) == (429, "TooManyRequests")
    assert refused["details"]["causes"][0]["reason"] == "DisruptionBudget"
    # A pod that is being deleted already needs no budget.
    assert evicted(calls, "a")[0] == 201
    _, pod_after = calls.get(f"{PODS}/a")
    assert pod_after["metadata"]["deletionGracePeriodSeconds"] == 30


def test_a_budget_without_status_stops_evictions_for_a_while(calls: Calls) -> None:
    running(calls, "a", app="x")
    budget(calls)
    body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "a"}}
    answer = calls.http.post(f"{PODS}/a/eviction", json=body)
    assert answer.status_code == 429
    assert answer.headers["retry-after"] == "10"


def test_two_budgets_of_a_pod_are_an_error(calls: Calls) -> None:
    running(calls, "a", app="x")
    budget(calls, "b", disruptionsAllowed=1)
    budget(calls, "c", disruptionsAllowed=1)
    assert evicted(calls, "a")[0] == 500


def test_pods_without_a_budget_and_waiting_pods_are_evicted(calls: Calls) -> None:
    budget(calls, disruptionsAllowed=0)
    running(calls, "free", app="y")
    calls.made(PODS, pod("waiting", labels={"app": "x"}))
    assert evicted(calls, "free")[0] == 201
    assert evicted(calls, "waiting")[0] == 201
    assert calls.get(f"{PODS}/waiting")[0] == 404


def test_a_pod_that_is_not_ready_may_go_if_the_others_are_enough(calls: Calls) -> None:
    running(calls, "a", app="x")
    calls.made(PODS, pod("sick", node="n1", labels={"app": "x"}))
    calls.patch(f"{PODS}/sick/status", {"status": {"phase": "Running"}})
    budget(calls, disruptionsAllowed=0, currentHealthy=1, desiredHealthy=1, expectedPods=2)
    assert evicted(calls, "a")[0] == 429
    assert evicted(calls, "sick")[0] == 201


def test_new_releases_take_both_versions_of_evictions() -> None:
    with release(22) as calls:
        for number, version in enumerate(("policy/v1", "policy/v1beta1")):
            running(calls, f"p{number}")
            assert evicted(calls, f"p{number}", version)[0] == 201


def test_a_shorter_grace_period_wins_and_a_longer_one_does_not(calls: Calls) -> None:
    running(calls, "a")
    _, first = calls.delete(f"{PODS}/a", gracePeriodSeconds="20")
    assert first["metadata"]["deletionGracePeriodSeconds"] == 20
    _, second = calls.delete(f"{PODS}/a", {"gracePeriodSeconds": 60})
    assert second["metadata"]["deletionGracePeriodSeconds"] == 20
    _, third = calls.delete(f"{PODS}/a", {"gracePeriodSeconds": 5})
    assert third["metadata"]["deletionGracePeriodSeconds"] == 5
    calls.delete(f"{PODS}/a", {"gracePeriodSeconds": 0})
    assert calls.get(f"{PODS}/a")[0] == 404


def test_an_ended_pod_goes_at_once(calls: Calls) -> None:
    running(calls, "a")
    calls.patch(f"{PODS}/a/status", {"status": {"phase": "Succeeded"}})
    calls.delete(f"{PODS}/a")
    assert calls.get(f"{PODS}/a")[0] == 404


def resources(cpu: str) -> dict[str, Any]:
    return {"spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": cpu}}}]}}


STRATEGIC = "strategic-merge-patch+json"


def test_a_running_pod_is_resized_through_its_own_path(calls: Calls) -> None:
    running(calls, "a")
    assert calls.patch(f"{PODS}/a", resources("1"), STRATEGIC)[0] == 422
    code, after = calls.patch(f"{PODS}/a/resize", resources("1"), STRATEGIC)
    assert code == 200
    assert after["spec"]["containers"][0]["resources"]["requests"] == {
        "cpu": "1",
        "memory": "128Mi",
    }
    assert after["status"]["resize"] == "Proposed"
    other = {"spec": {"containers": [{"name": "c", "image": "other"}]}}
    assert calls.patch(f"{PODS}/a/resize", other, STRATEGIC)[0] == 422


def test_a_resize_may_not_change_the_quality_class(calls: Calls) -> None:
    running(calls, "a")
    full = {"cpu": "1", "memory": "1Gi"}
    change = {"name": "c", "resources": {"requests": full, "limits": full}}
    code, refused = calls.patch(f"{PODS}/a/resize", {"spec": {"containers": [change]}}, STRATEGIC)
    assert (code, refused["reason"]) == (422, "Invalid")


def test_an_old_release_has_no_resize() -> None:
    with release(27) as calls:
        calls.made(PODS, pod("a"))
        assert calls.patch(f"{PODS}/a/resize", resources("1"), STRATEGIC)[0] == 404


def test_a_request_above_its_limit_is_refused(calls: Calls) -> None:
    body = pod("a")
    body["spec"]["containers"][0]["resources"]["limits"] = {"cpu": "100m"}
    code, refused = calls.post(PODS, body)
    assert code == 422
    assert refused["details"]["causes"][0]["field"] == "spec.containers[0].resources.requests"
