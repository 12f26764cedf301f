"""What pods say about themselves. Precedence: the design notes of the shim's duties, section 2."""

from __future__ import annotations

from typing import Any

import pytest

from remuda_kubernetes.objects.cluster import PriorityClass
from remuda_kubernetes.objects.pods import Pod
from remuda_kubernetes.objects.values import ObjectError, convert
from remuda_kubernetes.translation.metadata import (
    Task,
    User,
    application_id,
    is_placeholder,
    queue_of,
    task_of,
    user_of,
)

DOMAIN = "yunikorn.apache.org/"
UID = "6fb4a4d2-8a3c-4e3f-9d53-3d0c4f1f9a10"


def pod(
    labels: dict[str, str] | None = None,
    annotations: dict[str, str] | None = None,
    owners: list[dict[str, str]] | None = None,
    **spec: Any,
) -> Pod:
    metadata = {
        "name": "p",
        "namespace": "ns",
        "uid": UID,
        "creationTimestamp": "2026-11-25T20:15:58Z",
        "labels": labels,
        "annotations": annotations,
        "ownerReferences": owners,
    }
    return convert(Pod, {"metadata": metadata, "spec": {"schedulerName": "yunikorn", **spec}})


APPLICATION_SOURCES = [
    ("labels", DOMAIN + "app-id"),
    ("annotations", DOMAIN + "app-id"),
    ("labels", "applicationId"),
    ("labels", "spark-app-selector"),
]
QUEUE_SOURCES = [
    ("labels", DOMAIN + "queue"),
    ("annotations", DOMAIN + "queue"),
    ("labels", "queue"),
]


def saying(sources: list[tuple[str, str]]) -> Pod:
    said: dict[str, dict[str, str]] = {"labels": {}, "annotations": {}}
    for number, (kind, name) in enumerate(sources):
        said[kind][name] = f"value-{number}"
    return pod(said["labels"], said["annotations"])


@pytest.mark.parametrize("first", range(len(APPLICATION_SOURCES)))
def test_the_first_source_of_an_application_id_counts(first: int) -> None:
    assert application_id(saying(APPLICATION_SOURCES[first:]), unique=False) == "value-0"


@pytest.mark.parametrize("first", range(len(QUEUE_SOURCES)))
def test_the_first_source_of_a_queue_counts(first: int) -> None:
    assert queue_of(saying(QUEUE_SOURCES[first:])) == "value-0"


def test_a_pod_without_queue_names_none() -> None:
    assert queue_of(pod()) == ""


@pytest.mark.parametrize(
    "namespace, unique, expected",
    [
        ("ns", False, "yunikorn-ns-autogen"),
        ("n" * 60, False, ("yunikorn-" + "n" * 60)[:63]),
        ("ns", True, f"ns-{UID}"),
        ("n" * 60, True, f"{'n' * 26}-{UID}"),
    ],
)
def test_an_application_id_is_generated_where_none_is_given(
    namespace: str, unique: bool, expected: str
) -> None:
    given = convert(Pod, {"metadata": {"name": "p", "namespace": namespace, "uid": UID}})
    found = application_id(given, unique=unique)
    assert found == expected
    assert len(found) <= 63


def test_an_id_of_the_admission_webhook_stands_for_one_application_a_pod() -> None:
    given = pod({DOMAIN + "app-id": "ns-uniqueautogen"})
    assert application_id(given, unique=False) == f"ns-{UID}"


def test_sources_that_differ_are_told_with_the_one_that_counts() -> None:
    task = task_of(pod({"queue": "root.b"}, {DOMAIN + "queue": "root.a"}), {})
    assert task.queue == "root.a"
    (finding,) = task.findings
    assert "root.b" in str(finding)
    assert "root.a" in str(finding)
    assert "annotation yunikorn.apache.org/queue, which counts" in str(finding)
    assert not finding.error


def test_sources_that_agree_are_not_told() -> None:
    assert task_of(pod({"queue": "root.a"}, {DOMAIN + "queue": "root.a"}), {}).findings == ()


@pytest.mark.parametrize(
    "annotations, labels, expected",
    [
        ({DOMAIN + "user.info": '{"user":"alice","groups":["dev","ops"]}'}, {}, ("alice", 2)),
        ({DOMAIN + "user.info": '{"user":"alice"}'}, {DOMAIN + "username": "bob"}, ("alice", 0)),
        ({DOMAIN + "user.info": '{"user":"alice","groups":null}'}, {}, ("alice", 0)),
        ({}, {DOMAIN + "username": "bob"}, ("bob", 0)),
        ({}, {}, ("nobody", 0)),
    ],
)
def test_the_user_comes_from_the_annotation_else_from_the_label(
    annotations: dict[str, str], labels: dict[str, str], expected: tuple[str, int]
) -> None:
    user, findings = user_of(pod(labels, annotations))
    assert (user.name, len(user.groups)) == expected
    assert findings == ()


@pytest.mark.parametrize(
    "text",
    [
        "alice",
        "{}",
        '{"user": 7}',
        '{"user": "alice", "groups": "dev"}',
        '{"user": "al\\u0000ice"}',
        "[" * 100_000,
        '{"user": "' + "a" * 300 + '"}',
    ],
)
def test_a_user_record_that_means_nothing_is_nobody_and_never_the_label(text: str) -> None:
    user, findings = user_of(pod({DOMAIN + "username": "root"}, {DOMAIN + "user.info": text}))
    assert user == User("nobody")
    (finding,) = findings
    assert 'write JSON such as {"user": "alice", "groups": ["dev"]}' in str(finding)
    assert len(str(finding)) < 500


@pytest.mark.parametrize(
    "annotation, of_class, expected, told",
    [
        (None, None, True, 0),
        ("false", None, False, 0),
        ("true", "false", True, 0),
        (None, "false", False, 0),
        (None, "true", True, 0),
        ("perhaps", "false", False, 1),
        (None, "perhaps", True, 1),
        ("", "false", False, 0),
    ],
)
def test_the_pod_goes_before_its_priority_class_about_being_preempted(
    annotation: str | None, of_class: str | None, expected: bool, told: int
) -> None:
    name = DOMAIN + "allow-preemption"
    chosen = convert(
        PriorityClass,
        {"metadata": {"name": "c", "annotations": None if of_class is None else {name: of_class}}},
    )
    given = pod({}, {} if annotation is None else {name: annotation}, priorityClassName="c")
    task = task_of(given, {"c": chosen})
    assert task.preemptable is expected
    assert len(task.findings) == told


@pytest.mark.parametrize(
    "policy, expected", [(None, True), ("PreemptLowerPriority", True), ("Never", False)]
)
def test_a_pod_may_preempt_unless_its_policy_is_never(policy: str | None, expected: bool) -> None:
    assert task_of(pod(preemptionPolicy=policy), {}).preempting is expected


FOR_NODE = {
    "nodeAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": {
            "nodeSelectorTerms": [
                {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["node-7"]}]}
            ]
        }
    }
}


@pytest.mark.parametrize(
    "kind, affinity, expected",
    [
        ("DaemonSet", FOR_NODE, "node-7"),
        ("ReplicaSet", FOR_NODE, ""),
        ("DaemonSet", None, ""),
        ("DaemonSet", {"nodeAffinity": {}}, ""),
    ],
)
def test_a_pod_of_a_daemon_set_requires_its_node(
    kind: str, affinity: dict[str, Any] | None, expected: str
) -> None:
    given = pod(owners=[{"kind": kind, "name": "d", "uid": "u"}], affinity=affinity)
    assert task_of(given, {}).required_node == expected


@pytest.mark.parametrize(
    "labels, annotations, expected",
    [
        ({}, {"internal.yunikorn.apache.org/placeholder": "true"}, True),
        ({}, {"internal.yunikorn.apache.org/placeholder": "false"}, False),
        ({}, {DOMAIN + "placeholder": "true"}, True),
        ({"placeholder": "true"}, {}, True),
        ({"placeholder": "yes"}, {}, False),
        ({}, {}, False),
    ],
)
def test_placeholders_are_known_by_three_names(
    labels: dict[str, str], annotations: dict[str, str], expected: bool
) -> None:
    assert is_placeholder(pod(labels, annotations)) is expected


def test_a_task_has_all_that_the_scheduler_needs() -> None:
    given = pod(
        {"applicationId": "app-1", "queue": "root.a"},
        {DOMAIN + "task-group-name": "workers"},
        priority=100,
    )
    assert task_of(given, {}) == Task(
        key=UID,
        pod="ns/p",
        application_id="app-1",
        queue="root.a",
        task_group="workers",
        priority=100,
        # date -u -d 2026-11-25T20:15:58Z +%s
        created_s=1795637758,
    )


def test_without_gangs_no_task_group_counts() -> None:
    annotations = {
        DOMAIN + "task-group-name": "workers",
        "internal.yunikorn.apache.org/placeholder": "true",
    }
    task = task_of(pod({}, annotations), {}, gangs=False)
    assert (task.task_group, task.placeholder) == ("", False)


def test_a_placeholder_without_group_is_an_ordinary_pod_and_told() -> None:
    task = task_of(pod({}, {"internal.yunikorn.apache.org/placeholder": "true"}), {})
    assert not task.placeholder
    assert "task-group-name" in str(task.findings[0])


@pytest.mark.parametrize("text", ["a" * 257, "a\nb", "a\x00b"])
def test_a_name_that_the_scheduler_cannot_take_is_an_error_that_names_it(text: str) -> None:
    with pytest.raises(ObjectError, match=r"yunikorn\.apache\.org/app-id") as caught:
        task_of(pod({}, {DOMAIN + "app-id": text}), {})
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 300
