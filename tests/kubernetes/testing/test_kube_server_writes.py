"""Creating, changing and deleting objects: what is not in the recordings."""

from __future__ import annotations

import json
from typing import Any

import pytest

from remuda_kubernetes.objects.kinds import WATCHED
from remuda_kubernetes.testing.resources import RESOURCES
from remuda_kubernetes.testing.server import ApiServer
from tests.kubernetes.testing.calls import NODES, PODS, Calls, pod

MAPS = "/api/v1/namespaces/default/configmaps"
LEASES = "/apis/coordination.k8s.io/v1/namespaces/default/leases"


def test_every_kind_that_the_shim_watches_is_served(calls: Calls) -> None:
    served = {(each.group, each.plural, each.namespaced) for each in RESOURCES}
    assert {(each.group, each.plural, each.namespaced) for each in WATCHED} <= served
    for kind in WATCHED:
        answers = [calls.get(kind.path(version)) for version in kind.versions]
        found = [listed["kind"] for code, listed in answers if code == 200]
        assert f"{kind.name}List" in found


def test_an_object_needs_its_namespace(calls: Calls) -> None:
    code, refused = calls.post("/api/v1/namespaces/none/configmaps", {"metadata": {"name": "a"}})
    assert (code, refused["reason"]) == (404, "NotFound")
    assert refused["details"] == {"name": "none", "kind": "namespaces"}


def test_the_namespace_of_an_object_is_that_of_the_path(calls: Calls) -> None:
    body = {"metadata": {"name": "a", "namespace": "kube-system"}}
    assert calls.post(MAPS, body)[0] == 400


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"[]",
        b"nonsense",
        b'{"metadata": []}',
        b'{"kind": "Secret", "metadata": {"name": "a"}}',
        b'{"apiVersion": "v2", "metadata": {"name": "a"}}',
    ],
)
def test_a_body_that_is_no_such_object_is_refused(calls: Calls, body: bytes) -> None:
    answer = calls.http.post(MAPS, content=body)
    assert answer.status_code == 400
    assert answer.json()["reason"] == "BadRequest"


@pytest.mark.parametrize("spec", [[], "x", {"containers": "x"}, {"containers": [1]}])
def test_a_pod_whose_fields_have_other_types_is_refused(calls: Calls, spec: Any) -> None:
    code, refused = calls.post(PODS, {"metadata": {"name": "a"}, "spec": spec})
    assert code in {400, 422}
    assert refused["kind"] == "Status"


def test_status_is_written_through_its_own_path_only(calls: Calls) -> None:
    calls.made(PODS, pod("a"))
    _, after = calls.patch(f"{PODS}/a", {"status": {"phase": "Running"}})
    assert after["status"]["phase"] == "Pending"
    change = {"spec": {"nodeName": "n1"}, "status": {"phase": "Running"}}
    code, after = calls.patch(f"{PODS}/a/status", change)
    assert code == 200
    assert after["status"]["phase"] == "Running"
    assert "nodeName" not in after["spec"]


def test_a_lease_is_replaced_only_with_its_version(calls: Calls) -> None:
    made = calls.made(LEASES, {"metadata": {"name": "a"}, "spec": {"holderIdentity": "x"}})
    body = {"metadata": {"name": "a"}, "spec": {"holderIdentity": "y"}}
    code, refused = calls.put(f"{LEASES}/a", body)
    assert (code, refused["reason"]) == (422, "Invalid")
    made["spec"]["holderIdentity"] = "y"
    assert calls.put(f"{LEASES}/a", made)[0] == 200
    code, refused = calls.put(f"{LEASES}/a", made)
    assert (code, refused["reason"]) == (409, "Conflict")


def test_a_patch_may_name_the_version_and_identity_that_it_is_for(calls: Calls) -> None:
    made = calls.made(MAPS, {"metadata": {"name": "a"}})
    old = {"metadata": {"resourceVersion": made["metadata"]["resourceVersion"]}, "data": {"x": "1"}}
    assert calls.patch(f"{MAPS}/a", old)[0] == 200
    assert calls.patch(f"{MAPS}/a", {**old, "data": {"x": "2"}})[0] == 409
    assert calls.patch(f"{MAPS}/a", {"metadata": {"uid": "other"}})[0] == 422
    assert calls.put(f"{MAPS}/a", {"metadata": {"name": "a", "uid": "other"}})[0] == 409


def test_generation_counts_changes_of_the_spec(calls: Calls) -> None:
    path = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"
    made = calls.made(path, {"metadata": {"name": "b"}, "spec": {"minAvailable": 1}})
    assert made["metadata"]["generation"] == 1
    _, labelled = calls.patch(f"{path}/b", {"metadata": {**_version(made), "labels": {"a": "b"}}})
    assert labelled["metadata"]["generation"] == 1
    change = {"metadata": _version(labelled), "spec": {"minAvailable": 2}}
    _, changed = calls.patch(f"{path}/b", change)
    assert changed["metadata"]["generation"] == 2


def _version(item: dict[str, Any]) -> dict[str, str]:
    return {"resourceVersion": item["metadata"]["resourceVersion"]}


def test_generated_names_do_not_meet(calls: Calls) -> None:
    made = [calls.made(MAPS, {"metadata": {"generateName": "g-"}}) for _ in range(20)]
    names = {each["metadata"]["name"] for each in made}
    assert len(names) == 20
    assert all(len(name) == len("g-") + 5 for name in names)


def test_uncordoning_takes_the_field_away(calls: Calls) -> None:
    calls.made(NODES, {"metadata": {"name": "n"}})
    assert calls.patch(f"{NODES}/n", {"spec": {"unschedulable": True}})[1]["spec"]["unschedulable"]
    _, node = calls.patch(f"{NODES}/n", {"spec": {"unschedulable": False}})
    assert "unschedulable" not in node["spec"]


def test_a_default_priority_class_is_taken(calls: Calls) -> None:
    path = "/apis/scheduling.k8s.io/v1/priorityclasses"
    calls.made(path, {"metadata": {"name": "usual"}, "value": 7, "globalDefault": True})
    made = calls.made(PODS, pod("a"))
    assert made["spec"]["priority"] == 7
    assert made["spec"]["priorityClassName"] == "usual"
    system = calls.made(PODS, pod("b", priorityClassName="system-node-critical"))
    assert system["spec"]["priority"] == 2_000_001_000


def apply(calls: Calls, manager: str, data: dict[str, str], **query: str) -> tuple[int, Any]:
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": data}
    answer = calls.http.patch(
        f"{MAPS}/a",
        content=json.dumps(body),
        params={"fieldManager": manager, **query},
        headers={"content-type": "application/apply-patch+yaml"},
    )
    return answer.status_code, answer.json()


def test_apply_creates_shares_and_gives_up_fields(calls: Calls) -> None:
    assert apply(calls, "one", {"x": "1", "y": "1"})[0] == 201
    code, shared = apply(calls, "two", {"z": "2"})
    assert (code, shared["data"]) == (200, {"x": "1", "y": "1", "z": "2"})
    code, refused = apply(calls, "two", {"z": "2", "x": "2"})
    assert code == 409
    assert [each["field"] for each in refused["details"]["causes"]] == [".data.x"]
    code, forced = apply(calls, "two", {"z": "2", "x": "2"}, force="true")
    assert (code, forced["data"]["x"]) == (200, "2")
    code, less = apply(calls, "two", {"x": "2"})
    assert (code, less["data"]) == (200, {"x": "2", "y": "1"})


def test_a_collection_is_deleted_by_selector(calls: Calls) -> None:
    for number in range(4):
        calls.made(MAPS, {"metadata": {"name": f"m{number}", "labels": {"odd": str(number % 2)}}})
    code, _ = calls.delete(MAPS, labelSelector="odd=1")
    assert code == 200
    _, left = calls.get(MAPS)
    assert [each["metadata"]["name"] for each in left["items"]] == ["m0", "m2"]


def test_deleting_a_map_answers_which_one_it_was(calls: Calls) -> None:
    made = calls.made(MAPS, {"metadata": {"name": "a"}})
    code, answer = calls.delete(f"{MAPS}/a")
    assert (code, answer["status"]) == (200, "Success")
    assert answer["details"]["uid"] == made["metadata"]["uid"]
    assert calls.get(f"{MAPS}/a")[0] == 404


def test_deletion_in_the_foreground_waits_for_a_controller(calls: Calls) -> None:
    calls.made(MAPS, {"metadata": {"name": "a"}})
    _, held = calls.delete(f"{MAPS}/a", propagationPolicy="Foreground")
    assert held["metadata"]["finalizers"] == ["foregroundDeletion"]
    calls.patch(f"{MAPS}/a", {"metadata": {"finalizers": None}})
    assert calls.get(f"{MAPS}/a")[0] == 404


def test_the_pods_of_a_job_stay_if_nobody_says_otherwise(calls: Calls) -> None:
    jobs = "/apis/batch/v1/namespaces/default/jobs"
    spec = {"template": {"spec": {**pod("x")["spec"], "restartPolicy": "Never"}}}
    calls.made(jobs, {"metadata": {"name": "j"}, "spec": spec})
    assert calls.delete(f"{jobs}/j")[1]["metadata"]["finalizers"] == ["orphan"]


def test_volumes_and_claims_wait_for_a_controller_to_go(calls: Calls) -> None:
    spec = {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"]}
    volume = calls.made("/api/v1/persistentvolumes", {"metadata": {"name": "v"}, "spec": spec})
    assert volume["metadata"]["finalizers"] == ["kubernetes.io/pv-protection"]
    assert calls.delete("/api/v1/persistentvolumes/v")[1]["metadata"]["deletionTimestamp"]
    assert calls.get("/api/v1/persistentvolumes/v")[0] == 200


def test_tolerations_that_every_pod_has_come_back(calls: Calls) -> None:
    calls.made(PODS, pod("a"))
    one = {"key": "x", "operator": "Exists"}
    code, after = calls.patch(f"{PODS}/a", {"spec": {"tolerations": [one]}})
    assert code == 200
    keys = [each["key"] for each in after["spec"]["tolerations"]]
    assert keys == ["x", "node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"]


def test_a_namespace_goes_when_it_is_finalized(calls: Calls) -> None:
    calls.made("/api/v1/namespaces", {"metadata": {"name": "x"}})
    _, ending = calls.delete("/api/v1/namespaces/x")
    assert ending["status"]["phase"] == "Terminating"
    code, refused = calls.post("/api/v1/namespaces/x/configmaps", {"metadata": {"name": "a"}})
    assert code == 403
    assert refused["details"]["causes"][0]["reason"] == "NamespaceTerminating"
    ending["spec"]["finalizers"] = []
    assert calls.put("/api/v1/namespaces/x/finalize", ending)[0] == 200
    assert calls.get("/api/v1/namespaces/x")[0] == 404


def test_a_table_shows_pods_and_nodes_as_people_know_them(server: ApiServer, calls: Calls) -> None:
    server.load([{"kind": "Node", "metadata": {"name": "n"}, "spec": {"unschedulable": True}}])
    calls.made(PODS, pod("a"))
    headers = {"accept": "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"}
    nodes = calls.http.get(NODES, headers=headers).json()
    assert nodes["kind"] == "Table"
    assert nodes["rows"][0]["cells"][:3] == ["n", "Unknown,SchedulingDisabled", "<none>"]
    pods = calls.http.get(PODS, headers=headers).json()
    assert pods["rows"][0]["cells"][:3] == ["a", "0/1", "Pending"]
