"""Applications: who speaks for them, tags, and pods that contradict each other."""

from __future__ import annotations

import json
from typing import Any

import pytest

from remuda_kubernetes.objects.pods import Pod
from remuda_kubernetes.objects.values import ObjectError, convert
from remuda_kubernetes.translation.applications import (
    Application,
    application_of,
    disagreements,
)
from remuda_kubernetes.translation.metadata import User
from remuda_kubernetes.translation.namespaces import NamespaceLimits
from remuda_kubernetes.translation.task_groups import Policy

DOMAIN = "yunikorn.apache.org/"
GROUPS = json.dumps([{"name": "workers", "minMember": 2, "minResource": {"cpu": "1"}}])
USER = '{"user":"alice","groups":["dev"]}'


def pod(
    name: str = "driver",
    annotations: dict[str, str] | None = None,
    *,
    labels: dict[str, str] | None = None,
    created: str = "2026-11-25T20:15:58Z",
    owners: list[dict[str, str]] | None = None,
    namespace: str = "ns",
    **spec: Any,
) -> Pod:
    metadata = {
        "name": name,
        "namespace": namespace,
        "uid": f"uid-{name}",
        "creationTimestamp": created,
        "annotations": {DOMAIN + key: text for key, text in (annotations or {}).items()},
        "labels": labels,
        "ownerReferences": owners,
    }
    return convert(Pod, {"metadata": metadata, "spec": {"schedulerName": "yunikorn", **spec}})


def driver() -> Application:
    annotations = {
        "task-groups": GROUPS,
        "task-group-name": "workers",
        "schedulingPolicyParameters": "gangSchedulingStyle=Hard placeholderTimeoutInSeconds=30",
        "user.info": USER,
        "queue": "root.a",
    }
    given = pod(
        annotations=annotations,
        imagePullSecrets=[{"name": "one"}, {"name": "two"}],
        priorityClassName="high",
    )
    return application_of(given, "app-1").within(NamespaceLimits(parent_queue="root.teams"))


def test_an_application_says_what_its_originator_says() -> None:
    found = driver()
    assert found.application_id == "app-1"
    assert found.origin == "ns/driver"
    assert found.queue == "root.a"
    assert found.user == User("alice", ("dev",))
    assert found.policy == Policy(30, "Hard")
    assert found.placeholder_ask == {"vcore": 2000, "pods": 2}
    assert found.priority_class == "high"
    assert found.findings == ()
    assert found.tags == {
        "namespace": "ns",
        "namespace.parentqueue": "root.teams",
        "application.create.force": "false",
        "imagePullSecrets": "one,two",
        "yunikorn.apache.org/creationTime": "1795637758",
        "yunikorn.apache.org/task-groups": GROUPS,
        "yunikorn.apache.org/schedulingPolicyParameters": (
            "gangSchedulingStyle=Hard placeholderTimeoutInSeconds=30"
        ),
    }


def test_an_application_that_runs_already_must_be_accepted() -> None:
    assert application_of(pod(nodeName="n1"), "a").tags["application.create.force"] == "true"


def test_an_application_may_choose_its_order_of_nodes() -> None:
    given = convert(Pod, {"metadata": {"annotations": {"remuda/node-sort-policy": "binpacking"}}})
    assert application_of(given, "a").tags["node.sort.policy"] == "binpacking"


def test_task_groups_that_cannot_be_read_leave_an_application_without_gang() -> None:
    found = application_of(pod(annotations={"task-groups": '[{"name": "w"}]'}), "a")
    assert found.groups == ()
    assert found.placeholder_ask == {}
    (finding,) = found.findings
    assert finding.error
    assert "ns/driver" in str(finding)
    assert "[0].minMember: is missing" in str(finding)
    assert "submit the application again" in str(finding)


def test_a_pod_of_a_group_that_is_not_defined_is_told_the_groups_there_are() -> None:
    found = application_of(pod(annotations={"task-groups": GROUPS, "task-group-name": "x"}), "a")
    assert "no group 'x'" in str(found.findings[0])
    assert "'workers'" in str(found.findings[0])


def test_without_gangs_an_application_has_no_groups() -> None:
    found = application_of(pod(annotations={"task-groups": GROUPS}), "a", gangs=False)
    assert (found.groups, found.placeholder_ask) == ((), {})


def test_a_queue_that_the_scheduler_cannot_take_is_an_error() -> None:
    with pytest.raises(ObjectError, match=r"yunikorn\.apache\.org/queue"):
        application_of(pod(annotations={"queue": "q" * 300}), "a")


def placeholder(owner: str) -> Pod:
    given = pod("tg-1", owners=[{"kind": "Pod", "name": owner, "uid": f"uid-{owner}"}])
    annotations = {"internal.yunikorn.apache.org/placeholder": "true"}
    return convert(
        Pod,
        {
            "metadata": {
                "name": given.name,
                "uid": given.uid,
                "annotations": annotations,
                "ownerReferences": [{"kind": "Pod", "name": owner, "uid": f"uid-{owner}"}],
            }
        },
    )


@pytest.mark.parametrize(
    "other, words",
    [
        ({"annotations": {"queue": "root.b"}}, ("queue 'root.b'", "has queue 'root.a'")),
        ({"annotations": {"user.info": '{"user":"bob"}'}}, ("user 'bob'", "'alice'")),
        ({"namespace": "other"}, ("namespace 'other'", "'ns'")),
        ({"annotations": {"task-groups": "[]"}}, ("task-groups '[]'", "workers")),
        (
            {"annotations": {"schedulingPolicyParameters": "gangSchedulingStyle=Soft"}},
            ("gangSchedulingStyle=Soft", "gangSchedulingStyle=Hard"),
        ),
    ],
)
def test_a_pod_that_contradicts_its_application_is_told_with_both_pods(
    other: dict[str, Any], words: tuple[str, str]
) -> None:
    late = pod("executor", **other)
    (finding,) = disagreements(driver(), late)
    told = str(finding)
    assert f"pod {late.key}" in told
    assert "as pod ns/driver says" in told
    assert "application 'app-1'" in told
    assert all(word in told for word in words)
    assert not finding.error


def test_a_pod_that_says_nothing_or_the_same_contradicts_nothing() -> None:
    application = driver()
    assert disagreements(application, pod("executor")) == ()
    same = {"queue": "root.a", "user.info": USER, "task-groups": GROUPS}
    assert disagreements(application, pod("executor", same)) == ()


def test_a_member_of_no_group_is_told() -> None:
    (finding,) = disagreements(driver(), pod("executor", {"task-group-name": "nobody"}))
    assert "no group 'nobody'" in str(finding)
