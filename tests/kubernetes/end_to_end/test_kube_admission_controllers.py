"""Kubernetes' own controllers behind the admission controller: users go from templates to pods.

A real API server with real controllers. They run as its administrator, who is made a system user.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from remuda_kubernetes.testing import binaries, credentials
from remuda_kubernetes.testing.real import RealServer
from tests.kubernetes.end_to_end.admitting import (
    NAMESPACE,
    USER_INFO,
    Controller,
    Object,
    pod,
    record,
    user_of,
)
from tests.kubernetes.end_to_end.calls import Api, Refused

CONTROLLERS = ("deployment", "replicaset", "job", "statefulset", "replicationcontroller")
CONFIG_MAPS = f"/api/v1/namespaces/{NAMESPACE}/configmaps"
SYSTEM_USERS = "admissionController.accessControl.systemUsers"
TRUST = "admissionController.accessControl.trustControllers"
PODS = "/api/v1/namespaces/team/pods"
PATHS = {
    "Deployment": "/apis/apps/v1/namespaces/team/deployments",
    "ReplicaSet": "/apis/apps/v1/namespaces/team/replicasets",
    "StatefulSet": "/apis/apps/v1/namespaces/team/statefulsets",
    "Job": "/apis/batch/v1/namespaces/team/jobs",
    "ReplicationController": "/api/v1/namespaces/team/replicationcontrollers",
}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealServer]:
    if reason := binaries.missing():
        pytest.skip(f"no real API server: {reason}")
    with RealServer(tmp_path_factory.mktemp("controllers"), controllers=CONTROLLERS) as found:
        yield found


def workload(kind: str, name: str) -> Object:
    """An object of this kind with one pod, which has a label of the same name."""
    labels = {"app": name}
    spec: Object = {"template": {"metadata": {"labels": labels}, "spec": pod("t")["spec"]}}
    if kind == "Job":
        spec["template"]["spec"]["restartPolicy"] = "Never"
    elif kind == "ReplicationController":
        spec["selector"] = labels
    else:
        spec["selector"] = {"matchLabels": labels}
    return {"metadata": {"name": name}, "spec": spec}


def pods_of(api: Api, name: str) -> list[Any]:
    found: list[Any] = api.get(PODS, labelSelector=f"app={name}")["items"]
    return found


@pytest.mark.kubernetes
def test_users_go_from_templates_to_pods_through_the_controllers(
    server: RealServer, tmp_path: Path
) -> None:
    alice_groups = ["dev", "system:authenticated"]
    with (
        Api(server.kubeconfig) as api,
        Api(server.kubeconfig, user=("alice", alice_groups)) as alice,
        Controller(server.kubeconfig, tmp_path / "log") as controller,
    ):
        for name in (NAMESPACE, "team"):
            api.create("/api/v1/namespaces", {"metadata": {"name": name}})
        data = {SYSTEM_USERS: f"^{credentials.ADMINISTRATOR}$"}
        api.create(CONFIG_MAPS, {"metadata": {"name": "yunikorn-configs"}, "data": data})
        controller.start()
        numbers = iter(range(1_000))
        controller.until(
            "the server asks", lambda: user_of(alice.create(PODS, pod(f"p{next(numbers)}")))
        )
        for kind, path in PATHS.items():
            name = kind.lower()
            alice.create(path, workload(kind, name))

            def has_pod(name: str = name) -> bool:
                return bool(pods_of(api, name))

            controller.until(f"a {kind} has a pod", has_pod)
            (made,) = pods_of(api, name)
            assert user_of(made) == "alice", kind
            assert made["spec"]["schedulerName"] == "yunikorn", kind
        # The controller of Deployments finds its template in its ReplicaSet, and makes no other.
        sets = api.get(PATHS["ReplicaSet"], labelSelector="app=deployment")["items"]
        assert len(sets) == 1
        assert user_of(sets[0]["spec"]["template"]) == "alice"
        # Nobody gets to be somebody else on the way over a controller.
        for kind, path in PATHS.items():
            bobs = {"spec": {"template": {"metadata": {"annotations": {USER_INFO: record("bob")}}}}}
            with pytest.raises(Refused, match="may not write the annotation"):
                alice.merge(f"{path}/{kind.lower()}", bobs)
        # A controller that is not believed is refused, and its ReplicaSet says so.
        data = {**data, TRUST: "false"}
        api.merge(f"{CONFIG_MAPS}/yunikorn-configs", {"data": data})
        path = PATHS["Deployment"]
        tried = iter(range(1_000))

        def told() -> bool:
            name = f"untrusted-{next(tried)}"
            alice.create(path, workload("Deployment", name))
            controller.until(
                "the Deployment says what happened",
                lambda: pods_of(api, name) or "may not write" in conditions(api, f"{path}/{name}"),
            )
            return not pods_of(api, name)

        controller.until("the change counts", told)


def conditions(api: Api, path: str) -> str:
    found = api.get(path).get("status", {}).get("conditions") or []
    return " ".join(each.get("message", "") for each in found)
