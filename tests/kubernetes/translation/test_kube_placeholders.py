"""Placeholder pods: their manifests, and which are missing after a restart."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from remuda_kubernetes.objects.pods import Pod
from remuda_kubernetes.objects.requests import pod_requests
from remuda_kubernetes.objects.values import convert
from remuda_kubernetes.translation.applications import (
    Application,
    application_of,
    disagreements,
)
from remuda_kubernetes.translation.metadata import application_id, task_of
from remuda_kubernetes.translation.placeholders import (
    missing_placeholders,
    placeholder,
    placeholder_name,
)

DOMAIN = "yunikorn.apache.org/"
# Names of pods end up as host names: RFC 1123.
DNS_LABEL = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")
GROUP: dict[str, Any] = {
    "name": "workers",
    "minMember": 3,
    "minResource": {"cpu": "500m", "memory": "1Gi", "nvidia.com/gpu": 1},
    "labels": {"tier": "batch"},
    "annotations": {"note": "x"},
    "nodeSelector": {"disk": "ssd"},
    "tolerations": [{"key": "gpu", "operator": "Exists"}],
    "affinity": {
        "podAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1}]}
    },
    "topologySpreadConstraints": [{"maxSkew": 1, "topologyKey": "zone"}],
}


AMOUNTS = {"cpu": "500m", "memory": "1Gi", "nvidia.com/gpu": "1"}
# Passes the "restricted" Pod Security Standard.
CONTAINER = {
    "name": "pause",
    "image": "registry.example/pause:1",
    "imagePullPolicy": "IfNotPresent",
    "resources": {"requests": AMOUNTS, "limits": AMOUNTS},
    "securityContext": {
        "allowPrivilegeEscalation": False,
        "capabilities": {"drop": ["ALL"]},
        "privileged": False,
        "readOnlyRootFilesystem": True,
        "runAsNonRoot": True,
    },
}


def driver(app: str = "app-1", groups: Any = (GROUP,), uid: str = "uid-1", **more: Any) -> Pod:
    annotations = {
        DOMAIN + "task-groups": json.dumps(groups),
        DOMAIN + "app-id": app,
        DOMAIN + "user.info": '{"user":"alice"}',
        **more.pop("annotations", {}),
    }
    metadata = {"name": "driver", "namespace": "ns", "uid": uid, "annotations": annotations}
    return convert(Pod, {"metadata": metadata, "spec": {"schedulerName": "yunikorn", **more}})


def gang(
    app: str = "app-1", groups: Any = (GROUP,), uid: str = "uid-1", **more: Any
) -> Application:
    return application_of(driver(app, groups, uid, **more), app)


def made(application: Application) -> list[dict[str, Any]]:
    return list(missing_placeholders(application, []))


def test_a_placeholder_is_what_the_group_says_and_nothing_that_may_do_harm() -> None:
    application = gang(
        annotations={DOMAIN + "queue": "root.a"},
        priorityClassName="high",
        imagePullSecrets=[{"name": "pull"}],
    )
    found = placeholder(application, application.groups[0], 0, "registry.example/pause:1")
    assert found == {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": placeholder_name(application, "workers", 0),
            "namespace": "ns",
            "labels": {
                "tier": "batch",
                "yunikorn.apache.org/app-id": "app-1",
                "yunikorn.apache.org/queue": "root.a",
                "remuda/placeholder": "true",
            },
            "annotations": {
                "note": "x",
                "internal.yunikorn.apache.org/placeholder": "true",
                "yunikorn.apache.org/task-group-name": "workers",
                "yunikorn.apache.org/task-groups": json.dumps([GROUP]),
                "yunikorn.apache.org/user.info": '{"user":"alice"}',
            },
            "ownerReferences": [
                {
                    "apiVersion": "v1",
                    "kind": "Pod",
                    "name": "driver",
                    "uid": "uid-1",
                    "controller": False,
                    "blockOwnerDeletion": True,
                }
            ],
        },
        "spec": {
            "schedulerName": "yunikorn",
            "restartPolicy": "Never",
            "terminationGracePeriodSeconds": 0,
            "automountServiceAccountToken": False,
            "enableServiceLinks": False,
            "priorityClassName": "high",
            "imagePullSecrets": [{"name": "pull"}],
            "securityContext": {
                "runAsNonRoot": True,
                "runAsUser": 1000,
                "runAsGroup": 3000,
                "seccompProfile": {"type": "RuntimeDefault"},
            },
            "containers": [CONTAINER],
            "nodeSelector": {"disk": "ssd"},
            "tolerations": GROUP["tolerations"],
            "affinity": GROUP["affinity"],
            "topologySpreadConstraints": GROUP["topologySpreadConstraints"],
        },
    }


def test_a_placeholder_is_read_as_what_it_stands_for() -> None:
    application = gang()
    pod = convert(Pod, made(application)[0])
    task = task_of(pod, {})
    assert (task.application_id, task.task_group, task.placeholder) == ("app-1", "workers", True)
    assert task.findings == ()
    assert pod_requests(pod) == {"cpu": 500, "memory": 1024**3, "nvidia.com/gpu": 1}
    assert disagreements(application, pod) == ()


@pytest.mark.parametrize(
    "app", ["app-1", "A" * 200, "Sämmel/ß_..", "-", "a" * 25 + "-" + "b" * 40, "123"]
)
@pytest.mark.parametrize("group", ["workers", "G" * 200, "...", "x_y z", "日本"])
def test_names_are_valid_different_and_the_same_each_time(app: str, group: str) -> None:
    groups = [{**GROUP, "name": group, "minMember": 20}]
    found = [each["metadata"]["name"] for each in made(gang(app, groups))]
    assert all(DNS_LABEL.fullmatch(name) for name in found), found
    assert len(set(found)) == 20
    assert found == [each["metadata"]["name"] for each in made(gang(app, groups))]
    others = [each["metadata"]["name"] for each in made(gang(app, groups, uid="uid-2"))]
    assert not set(found) & set(others)


@pytest.mark.parametrize("app", ["Sämmel/ß", "a" * 64, "ends-with-"])
def test_an_id_that_cannot_be_a_label_is_an_annotation(app: str) -> None:
    found = made(gang(app))[0]
    assert DOMAIN + "app-id" not in found["metadata"]["labels"]
    assert application_id(convert(Pod, found), unique=False) == app


def test_a_group_cannot_overwrite_what_makes_a_placeholder() -> None:
    group = {
        **GROUP,
        "labels": {
            DOMAIN + "app-id": "other",
            DOMAIN + "queue": "root.other",
            "remuda/placeholder": "false",
        },
        "annotations": {
            DOMAIN + "task-group-name": "other",
            "internal.yunikorn.apache.org/placeholder": "false",
            DOMAIN + "user.info": '{"user":"root"}',
            DOMAIN + "app-id": "other",
        },
    }
    application = gang(groups=[group])
    pod = convert(Pod, made(application)[0])
    task = task_of(pod, {})
    assert (task.application_id, task.task_group, task.placeholder) == ("app-1", "workers", True)
    assert pod.annotations[DOMAIN + "user.info"] == '{"user":"alice"}'


def as_pod(manifest: dict[str, Any], phase: str = "Pending", *, deleted: bool = False) -> Pod:
    metadata = dict(manifest["metadata"], uid=f"uid-of-{manifest['metadata']['name']}")
    if deleted:
        metadata["deletionTimestamp"] = "2026-11-25T20:15:58Z"
    return convert(Pod, {**manifest, "metadata": metadata, "status": {"phase": phase}})


def member(number: int, node: str = "n1", phase: str = "Running") -> Pod:
    metadata = {
        "name": f"worker-{number}",
        "annotations": {DOMAIN + "task-group-name": "workers"},
    }
    return convert(
        Pod, {"metadata": metadata, "spec": {"nodeName": node}, "status": {"phase": phase}}
    )


def test_only_what_is_missing_is_made_again() -> None:
    application = gang()
    every = made(application)
    assert len(every) == 3
    assert list(missing_placeholders(application, [as_pod(each) for each in every])) == []
    again = list(missing_placeholders(application, [as_pod(every[0]), as_pod(every[2])]))
    assert again == [every[1]]


@pytest.mark.parametrize(
    "pods, missing",
    [
        ([member(1), member(2)], 1),
        ([member(1), member(2), member(3), member(4)], 0),
        ([member(1, node="", phase="Pending")], 3),
        ([member(1, phase="Succeeded")], 3),
    ],
)
def test_members_with_a_node_have_taken_a_placeholder(pods: list[Pod], missing: int) -> None:
    assert len(list(missing_placeholders(gang(), pods))) == missing


@pytest.mark.parametrize("phase, deleted", [("Failed", False), ("Running", True)])
def test_the_name_of_a_placeholder_that_goes_is_not_used_again(phase: str, deleted: bool) -> None:
    application = gang()
    every = made(application)
    goes = as_pod(every[1], phase, deleted=deleted)
    found = list(missing_placeholders(application, [as_pod(every[0]), as_pod(every[2]), goes]))
    assert [each["metadata"]["name"] for each in found] == [
        placeholder_name(application, "workers", 3)
    ]


def test_a_gang_of_several_groups_has_placeholders_of_each() -> None:
    groups = [GROUP, {"name": "driver", "minMember": 1, "minResource": {"cpu": 1}}]
    found = made(gang(groups=groups))
    names = [each["metadata"]["annotations"][DOMAIN + "task-group-name"] for each in found]
    assert names == ["workers"] * 3 + ["driver"]


def test_a_gang_whose_reservation_is_over_gets_no_placeholders_again() -> None:
    over = gang(annotations={"remuda/reservation-over": "true"})
    assert made(over) == []
    assert over.placeholder_ask == {}
    assert over.findings == ()
    assert DOMAIN + "task-groups" in over.tags
