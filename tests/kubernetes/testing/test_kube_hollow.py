"""Hollow kubelets and controllers around the server, over HTTP only."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from remuda_kubernetes.testing.hollow import HollowCluster
from remuda_kubernetes.testing.kubelet import EXIT_CODE, RUN_SECONDS, Habits, hollow_node
from remuda_kubernetes.testing.server import ApiServer
from remuda_kubernetes.testing.settings import Settings
from tests.kubernetes.testing.calls import NODES, PODS, Calls, Json, names, pod
from tests.waiting import wait

SETS = "/apis/apps/v1/namespaces/default/replicasets"
JOBS = "/apis/batch/v1/namespaces/default/jobs"
BUDGETS = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"
MAPS = "/api/v1/namespaces/default/configmaps"
CLAIMS = "/api/v1/namespaces/default/persistentvolumeclaims"
VOLUMES = "/api/v1/persistentvolumes"
CLASSES = "/apis/storage.k8s.io/v1/storageclasses"


@pytest.fixture(name="hollow")
def _hollow(server: ApiServer) -> Iterator[HollowCluster]:
    with HollowCluster(server.address, nodes=[hollow_node("n1", cpu="4")]) as hollow:
        yield hollow


def phase(calls: Calls, name: str) -> str | None:
    code, found = calls.get(f"{PODS}/{name}")
    return found["status"]["phase"] if code == 200 else None


def annotated(name: str, **annotations: str) -> Json:
    body = pod(name, node="n1")
    body["metadata"]["annotations"] = annotations
    return body


def test_a_node_becomes_ready_and_loses_its_taint(hollow: HollowCluster, calls: Calls) -> None:
    def untainted() -> bool:
        code, node = calls.get(f"{NODES}/n1")
        return code == 200 and "taints" not in node["spec"]

    wait(untainted)
    _, node = calls.get(f"{NODES}/n1")
    assert node["status"]["allocatable"]["cpu"] == "4"
    assert [each["type"] for each in node["status"]["conditions"]] == ["Ready"]
    calls.patch(f"{NODES}/n1", {"spec": {"unschedulable": True}})
    wait(lambda: "taints" in calls.get(f"{NODES}/n1")[1]["spec"])
    taint = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}
    assert calls.get(f"{NODES}/n1")[1]["spec"]["taints"] == [taint]
    calls.patch(f"{NODES}/n1", {"spec": {"unschedulable": False}})
    wait(untainted)


def test_a_pod_without_room_fails_on_kubelets_that_reject_it(
    server: ApiServer, calls: Calls
) -> None:
    node = hollow_node("n1", cpu="1")
    with HollowCluster(server.address, nodes=[node], habits=Habits(rejects=True)):
        for name in ("first", "second", "third"):
            calls.post(PODS, pod(name, node="n1"))
        wait(lambda: phase(calls, "third") == "Failed")
        _, third = calls.get(f"{PODS}/third")
        assert third["status"]["reason"] == "OutOfcpu"
        wait(lambda: (phase(calls, "first"), phase(calls, "second")) == ("Running", "Running"))
        calls.delete(f"{PODS}/first", gracePeriodSeconds="0")
        calls.post(PODS, pod("fourth", node="n1"))
        wait(lambda: phase(calls, "fourth") == "Running")


def test_a_bound_pod_runs_until_it_is_ended(hollow: HollowCluster, calls: Calls) -> None:
    calls.made(PODS, pod("a"))
    calls.bound("a", "n1")
    wait(lambda: phase(calls, "a") == "Running")
    _, running = calls.get(f"{PODS}/a")
    assert running["status"]["startTime"]
    conditions = {each["type"]: each["status"] for each in running["status"]["conditions"]}
    assert conditions == dict.fromkeys(
        ("Initialized", "Ready", "ContainersReady", "PodScheduled"), "True"
    )
    hollow.end("default", "a")
    assert phase(calls, "a") == "Succeeded"


def test_a_pod_on_another_node_is_left_alone(hollow: HollowCluster, calls: Calls) -> None:
    calls.made(PODS, pod("elsewhere", node="n2"))
    calls.made(PODS, pod("a", node="n1"))
    wait(lambda: phase(calls, "a") == "Running")
    assert phase(calls, "elsewhere") == "Pending"


@pytest.mark.parametrize("code, ended", [("0", "Succeeded"), ("3", "Failed")])
def test_a_pod_ends_when_and_how_it_says(
    hollow: HollowCluster, calls: Calls, code: str, ended: str
) -> None:
    calls.made(PODS, annotated("a", **{RUN_SECONDS: "0.05", EXIT_CODE: code}))
    wait(lambda: phase(calls, "a") == ended)
    _, found = calls.get(f"{PODS}/a")
    state = found["status"]["containerStatuses"][0]["state"]
    assert state["terminated"]["exitCode"] == int(code)


def test_a_deleted_pod_goes(hollow: HollowCluster, calls: Calls) -> None:
    calls.made(PODS, pod("a", node="n1"))
    wait(lambda: phase(calls, "a") == "Running")
    code, deleted = calls.delete(f"{PODS}/a")
    assert (code, deleted["metadata"]["deletionGracePeriodSeconds"]) == (200, 30)
    wait(lambda: phase(calls, "a") is None)


def test_a_resize_that_fits_is_carried_out(hollow: HollowCluster, calls: Calls) -> None:
    calls.made(PODS, pod("a", node="n1"))
    wait(lambda: phase(calls, "a") == "Running")

    def resized(cpu: str) -> None:
        container = {"name": "c", "resources": {"requests": {"cpu": cpu}}}
        change = {"spec": {"containers": [container]}}
        assert calls.patch(f"{PODS}/a/resize", change, "strategic-merge-patch+json")[0] == 200

    def given() -> Any:
        _, found = calls.get(f"{PODS}/a")
        return found["status"]["containerStatuses"][0]["resources"]["requests"]["cpu"]

    resized("2")
    wait(lambda: given() == "2")
    wait(lambda: "resize" not in calls.get(f"{PODS}/a")[1]["status"])
    resized("64")
    wait(lambda: calls.get(f"{PODS}/a")[1]["status"].get("resize") == "Infeasible")
    assert given() == "2"


def workload(name: str, **spec: Any) -> Json:
    template = {"metadata": {"labels": {"app": name}}, "spec": pod("x", node="n1")["spec"]}
    selector = {"matchLabels": {"app": name}}
    return {
        "metadata": {"name": name},
        "spec": {"selector": selector, "template": template, **spec},
    }


def test_a_replica_set_has_as_many_pods_as_it_wants(hollow: HollowCluster, calls: Calls) -> None:
    calls.made(SETS, workload("r", replicas=3))

    def count() -> int:
        return len(calls.get(PODS, labelSelector="app=r")[1]["items"])

    def ready() -> int:
        return int(calls.get(f"{SETS}/r")[1]["status"].get("readyReplicas", 0))

    wait(lambda: ready() == 3)
    assert count() == 3
    _, listed = calls.get(PODS)
    assert {each["metadata"]["ownerReferences"][0]["name"] for each in listed["items"]} == {"r"}
    calls.delete(f"{PODS}/{names(listed)[0]}")
    wait(lambda: names(listed)[0] not in names(calls.get(PODS)[1]))
    wait(lambda: ready() == 3)
    calls.patch(f"{SETS}/r", {"spec": {"replicas": 1}})
    wait(lambda: count() == 1)
    calls.delete(f"{SETS}/r")
    wait(lambda: count() == 0)


def test_a_job_runs_its_pods_and_is_complete(hollow: HollowCluster, calls: Calls) -> None:
    body = workload("j", completions=3, parallelism=2)
    del body["spec"]["selector"]
    body["spec"]["template"]["metadata"]["annotations"] = {RUN_SECONDS: "0.02"}
    calls.made(JOBS, body)

    def status() -> Json:
        found: Json = calls.get(f"{JOBS}/j")[1]["status"]
        return found

    wait(lambda: bool(status().get("conditions")))
    assert status()["conditions"][0]["type"] == "Complete"
    assert (status()["succeeded"], status()["failed"]) == (3, 0)


def test_a_job_whose_pods_fail_is_given_up(hollow: HollowCluster, calls: Calls) -> None:
    body = workload("j", completions=1, backoffLimit=1)
    annotations = {RUN_SECONDS: "0.02", EXIT_CODE: "1"}
    body["spec"]["template"]["metadata"]["annotations"] = annotations
    calls.made(JOBS, body)
    wait(lambda: bool(calls.get(f"{JOBS}/j")[1]["status"].get("conditions")))
    _, job = calls.get(f"{JOBS}/j")
    assert job["status"]["conditions"][0]["type"] == "Failed"
    assert job["status"]["failed"] == 2


def test_what_belongs_to_a_pod_goes_with_it(hollow: HollowCluster, calls: Calls) -> None:
    owner = calls.made(PODS, pod("owner"))
    other = calls.made(PODS, pod("other"))

    def reference(to: Json) -> Json:
        metadata = to["metadata"]
        return {"apiVersion": "v1", "kind": "Pod", "name": metadata["name"], "uid": metadata["uid"]}

    for name, owners in (("one", [owner]), ("both", [owner, other]), ("none", [])):
        body = pod(name)
        body["metadata"]["ownerReferences"] = [reference(each) for each in owners]
        calls.made(PODS, body)
    stranger = pod("stranger")
    stranger["metadata"]["ownerReferences"] = [{**reference(owner), "uid": "of-no-pod"}]
    calls.made(PODS, stranger)
    wait(lambda: phase(calls, "stranger") is None)
    calls.delete(f"{PODS}/owner")
    wait(lambda: phase(calls, "one") is None)
    calls.delete(f"{PODS}/other")
    wait(lambda: phase(calls, "both") is None)
    assert names(calls.get(PODS)[1]) == ["none"]


def test_an_owner_deleted_in_the_foreground_goes_last(hollow: HollowCluster, calls: Calls) -> None:
    calls.made(SETS, workload("r", replicas=2))
    wait(lambda: len(calls.get(PODS)[1]["items"]) == 2)
    calls.delete(f"{SETS}/r", propagationPolicy="Foreground")
    wait(lambda: calls.get(f"{SETS}/r")[0] == 404)
    assert calls.get(PODS)[1]["items"] == []


def test_orphans_stay(hollow: HollowCluster, calls: Calls) -> None:
    calls.made(SETS, workload("r", replicas=2))
    wait(lambda: len(calls.get(PODS)[1]["items"]) == 2)
    calls.delete(f"{SETS}/r", propagationPolicy="Orphan")
    wait(lambda: calls.get(f"{SETS}/r")[0] == 404)
    _, left = calls.get(PODS)
    assert [each["metadata"].get("ownerReferences") for each in left["items"]] == [None, None]


@pytest.mark.parametrize(
    "spec, allowed",
    [
        ({"minAvailable": 2}, 2),
        ({"minAvailable": "50%"}, 2),
        ({"minAvailable": "70%"}, 1),
        ({"maxUnavailable": 1}, 1),
        ({"maxUnavailable": "30%"}, 2),
        ({"minAvailable": 4}, 0),
        ({"minAvailable": 9}, 0),
    ],
)
def test_a_budget_says_how_many_pods_may_go(
    hollow: HollowCluster, calls: Calls, spec: Json, allowed: int
) -> None:
    calls.made(SETS, workload("r", replicas=4))
    body = {"metadata": {"name": "b"}, "spec": {"selector": {"matchLabels": {"app": "r"}}, **spec}}
    calls.made(BUDGETS, body)

    def status() -> Json:
        found: Json = calls.get(f"{BUDGETS}/b")[1]["status"]
        return found

    wait(lambda: status()["currentHealthy"] == 4)
    assert status()["disruptionsAllowed"] == allowed
    assert status()["expectedPods"] == 4


def test_evictions_go_on_when_other_pods_are_ready(hollow: HollowCluster, calls: Calls) -> None:
    calls.made(SETS, workload("r", replicas=2))
    spec = {"minAvailable": 1, "selector": {"matchLabels": {"app": "r"}}}
    calls.made(BUDGETS, {"metadata": {"name": "b"}, "spec": spec})
    first = set[str]()

    def evicted() -> bool:
        for name in names(calls.get(PODS)[1]):
            body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name}}
            code, _ = calls.post(f"{PODS}/{name}/eviction", body)
            if code == 201:
                first.add(name)
        return len(first) >= 3

    wait(evicted)
    wait(lambda: calls.get(f"{SETS}/r")[1]["status"].get("readyReplicas") == 2)


def test_a_deleted_namespace_is_emptied(hollow: HollowCluster, calls: Calls) -> None:
    calls.made("/api/v1/namespaces", {"metadata": {"name": "x"}})
    calls.made("/api/v1/namespaces/x/configmaps", {"metadata": {"name": "a"}})
    body = pod("p", node="n1")
    body["metadata"]["namespace"] = "x"
    calls.made("/api/v1/namespaces/x/pods", body)
    calls.delete("/api/v1/namespaces/x")
    wait(lambda: calls.get("/api/v1/namespaces/x")[0] == 404)
    assert calls.get("/api/v1/namespaces/x/pods")[1]["items"] == []


def claim(name: str, cls: str) -> Json:
    spec = {
        "storageClassName": cls,
        "accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": "5Gi"}},
    }
    return {"metadata": {"name": name}, "spec": spec}


def test_a_claim_gets_the_smallest_volume_that_is_large_enough(
    hollow: HollowCluster, calls: Calls
) -> None:
    for size in ("1Gi", "20Gi", "10Gi"):
        spec = {
            "capacity": {"storage": size},
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": "static",
        }
        calls.made(VOLUMES, {"metadata": {"name": f"v{size.lower()}"}, "spec": spec})
    calls.made(CLAIMS, claim("c", "static"))
    wait(lambda: calls.get(f"{CLAIMS}/c")[1]["status"]["phase"] == "Bound")
    _, found = calls.get(f"{CLAIMS}/c")
    assert found["spec"]["volumeName"] == "v10gi"
    assert found["status"]["capacity"] == {"storage": "10Gi"}
    _, volume = calls.get(f"{VOLUMES}/v10gi")
    assert volume["spec"]["claimRef"]["uid"] == found["metadata"]["uid"]
    assert volume["status"]["phase"] == "Bound"
    # Nobody claims this one, so it can be had.
    wait(lambda: calls.get(f"{VOLUMES}/v1gi")[1]["status"].get("phase") == "Available")
    calls.delete(f"{CLAIMS}/c")
    wait(lambda: calls.get(f"{CLAIMS}/c")[0] == 404)
    wait(lambda: calls.get(f"{VOLUMES}/v10gi")[1]["status"]["phase"] == "Released")
    calls.delete(f"{VOLUMES}/v10gi")
    wait(lambda: calls.get(f"{VOLUMES}/v10gi")[0] == 404)


def test_a_volume_is_made_when_the_scheduler_has_chosen_a_node(
    hollow: HollowCluster, calls: Calls
) -> None:
    late = {"provisioner": "test.csi", "volumeBindingMode": "WaitForFirstConsumer"}
    calls.made(CLASSES, {"metadata": {"name": "late"}, **late})
    calls.made(CLASSES, {"metadata": {"name": "now"}, "provisioner": "test.csi"})
    calls.made(CLAIMS, claim("waits", "late"))
    calls.made(CLAIMS, claim("at-once", "now"))
    wait(lambda: calls.get(f"{CLAIMS}/at-once")[1]["status"]["phase"] == "Bound")
    assert calls.get(f"{CLAIMS}/waits")[1]["status"]["phase"] == "Pending"
    chosen = {"metadata": {"annotations": {"volume.kubernetes.io/selected-node": "n1"}}}
    calls.patch(f"{CLAIMS}/waits", chosen)
    wait(lambda: calls.get(f"{CLAIMS}/waits")[1]["status"]["phase"] == "Bound")
    name = calls.get(f"{CLAIMS}/waits")[1]["spec"]["volumeName"]
    _, volume = calls.get(f"{VOLUMES}/{name}")
    terms = volume["spec"]["nodeAffinity"]["required"]["nodeSelectorTerms"]
    assert terms[0]["matchExpressions"][0]["values"] == ["n1"]
    claimed = [{"name": "v", "persistentVolumeClaim": {"claimName": "waits"}}]
    calls.made(PODS, pod("user", node="n1", volumes=claimed))
    calls.delete(f"{CLAIMS}/waits")
    calls.delete(f"{PODS}/user")
    wait(lambda: calls.get(f"{CLAIMS}/waits")[0] == 404)
    wait(lambda: calls.get(f"{VOLUMES}/{name}")[0] == 404)


def test_cut_and_forgotten_watches_are_begun_again(
    server: ApiServer, hollow: HollowCluster, calls: Calls
) -> None:
    calls.made(PODS, pod("a", node="n1"))
    wait(lambda: phase(calls, "a") == "Running")
    server.faults.hold_watches()
    calls.made(PODS, pod("b", node="n1"))
    server.faults.compact()
    server.faults.cut_watches()
    server.faults.release_watches()
    wait(lambda: phase(calls, "b") == "Running")
    with server.away():
        pass
    with Calls(server.address) as again:
        again.made(PODS, pod("c", node="n1"))
        wait(lambda: phase(again, "c") == "Running")


def test_pods_of_all_nodes_run_if_none_is_named(tmp_path: Any) -> None:
    settings = Settings(token="of-a-test")
    with ApiServer(settings) as server, Calls(server.address, "of-a-test") as calls:
        kubeconfig = server.write_kubeconfig(tmp_path / "kubeconfig")
        with HollowCluster(kubeconfig, habits=Habits(run_seconds=0.01), controllers=()):
            calls.made(PODS, pod("a", node="anywhere"))
            wait(lambda: phase(calls, "a") == "Succeeded")


def test_an_old_release_is_good_enough() -> None:
    with (
        ApiServer(Settings(minor=20)) as server,
        Calls(server.address) as calls,
        HollowCluster(server.address),
    ):
        calls.made(SETS, workload("r", replicas=1))
        path = BUDGETS.replace("/v1/", "/v1beta1/")
        spec = {"minAvailable": 0, "selector": {"matchLabels": {"app": "r"}}}
        calls.made(path, {"metadata": {"name": "b"}, "spec": spec})
        wait(lambda: calls.get(f"{path}/b")[1]["status"]["disruptionsAllowed"] == 1)
