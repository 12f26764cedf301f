"""The least that a shim needs of any API server: nodes, pods, a binding, a watch."""

from __future__ import annotations

import httpx2
import pytest

from tests.kubernetes.end_to_end.calls import Api, Refused
from tests.kubernetes.end_to_end.objects import NODES, PODS, binding, node, pod
from tests.kubernetes.end_to_end.servers import Server


def test_a_pod_is_bound_to_a_node_once(api: Api) -> None:
    api.create(NODES, node("n1"))
    made = api.create(PODS, pod("p1"))
    assert made["status"] == {"phase": "Pending", "qosClass": "Burstable"}
    assert "nodeName" not in made["spec"]
    assert api.create(f"{PODS}/p1/binding", binding("p1", "n1"))["status"] == "Success"
    bound = api.get(f"{PODS}/p1")
    assert bound["spec"]["nodeName"] == "n1"
    conditions = {each["type"]: each["status"] for each in bound["status"]["conditions"]}
    assert conditions == {"PodScheduled": "True"}
    with pytest.raises(Refused) as refusal:
        api.create(f"{PODS}/p1/binding", binding("p1", "n1"))
    assert (refusal.value.code, refusal.value.reason) == (409, "Conflict")


def test_a_watch_tells_what_happens_after_the_list(api: Api) -> None:
    version = api.get(PODS)["metadata"]["resourceVersion"]
    with api.watch(PODS, resourceVersion=version, timeoutSeconds=60) as events:
        api.create(PODS, pod("p1"))
        api.create(f"{PODS}/p1/binding", binding("p1", "n1"))
        api.delete(f"{PODS}/p1", gracePeriodSeconds=0)
        told = [next(events) for _ in range(4)]
    # A deletion first sets the time of the deletion, as a change of its own.
    assert [each["type"] for each in told] == ["ADDED", "MODIFIED", "MODIFIED", "DELETED"]
    assert [each["object"]["spec"].get("nodeName") for each in told] == [None, "n1", "n1", "n1"]
    ending = ["deletionTimestamp" in each["object"]["metadata"] for each in told]
    assert ending == [False, False, True, True]


@pytest.mark.parametrize("turn", ["first", "second"])
def test_a_test_sees_nothing_of_another(api: Api, turn: str) -> None:
    assert api.get(NODES)["items"] == []
    assert api.get("/api/v1/pods")["items"] == []
    names = {each["metadata"]["name"] for each in api.get("/api/v1/namespaces")["items"]}
    assert {"default", "kube-system"} <= names
    assert names <= {"default", "kube-system", "kube-public", "kube-node-lease"}
    api.create(NODES, node("n1"))
    api.create("/api/v1/namespaces", {"metadata": {"name": "of-this-test"}})
    api.create("/api/v1/namespaces/of-this-test/pods", pod("p1"))


def test_a_server_that_was_away_still_has_its_objects(server: Server, api: Api) -> None:
    version = api.get(PODS)["metadata"]["resourceVersion"]
    uid = api.create(PODS, pod("p1"))["metadata"]["uid"]
    with api.watch(PODS, resourceVersion=version) as events:
        assert next(events)["type"] == "ADDED"
        with server.away(), pytest.raises(httpx2.TransportError):
            next(events)
    assert api.get(f"{PODS}/p1")["metadata"]["uid"] == uid


def test_a_silent_server_answers_later(server: Server, api: Api) -> None:
    with (
        Api(server.kubeconfig, seconds=0.5) as hasty,
        server.silent(),
        pytest.raises(httpx2.TimeoutException),
    ):
        hasty.get(PODS)
    assert api.get(PODS)["items"] == []
