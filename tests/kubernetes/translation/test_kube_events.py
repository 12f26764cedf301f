"""Events: reasons that people search for, and texts that say what to do."""

from __future__ import annotations

from typing import Any

import pytest

from remuda_kubernetes.objects.cluster import ConfigMap, Namespace
from remuda_kubernetes.objects.nodes import Node
from remuda_kubernetes.objects.pods import Pod
from remuda_kubernetes.objects.values import convert
from remuda_kubernetes.translation import events, object_events
from remuda_kubernetes.translation.findings import Finding, shown

META = {"name": "p", "namespace": "ns", "uid": "u1", "resourceVersion": "7"}
POD = convert(Pod, {"metadata": META})
NODE = convert(Node, {"metadata": {"name": "n1", "uid": "u2"}})
CONFIG = convert(ConfigMap, {"metadata": {"name": "yunikorn-configs", "namespace": "yk"}})
NAMESPACE = convert(Namespace, {"metadata": {"name": "ns"}})
FAULT = Finding("annotation a", "is wrong", "correct it")
ERROR = Finding("annotation b", "is very wrong", "correct it at once", error=True)


@pytest.mark.parametrize(
    "event, reason, kind, about, words",
    [
        (events.scheduling(POD, "a", "root.q"), "Scheduling", "Normal", "Pod", ("a", "root.q")),
        (events.scheduled(POD, "n1"), "Scheduled", "Normal", "Pod", ("ns/p", "n1")),
        (events.bound(POD, "n1"), "PodBindSuccessful", "Normal", "Pod", ("ns/p", "n1")),
        (
            events.failed_scheduling(POD, "0/3 nodes"),
            "FailedScheduling",
            "Warning",
            "Pod",
            ("0/3",),
        ),
        (events.unschedulable(POD, "no gpu"), "PodUnschedulable", "Warning", "Pod", ("no gpu",)),
        (events.task_failed(POD, "no bind"), "TaskFailed", "Warning", "Pod", ("create the pod",)),
        (
            events.application_rejected(POD, "a", "no queue", "root.x"),
            "ApplicationRejected",
            "Warning",
            "Pod",
            ("no queue", "'root.x'", "submit it again"),
        ),
        (events.gang_begins(POD, "a", 4), "GangScheduling", "Normal", "Pod", ("4 placeholder",)),
        (
            events.gang_timed_out(POD, "a", hard=True),
            "GangScheduling",
            "Warning",
            "Pod",
            ("fails", "placeholderTimeoutInSeconds"),
        ),
        (
            events.gang_timed_out(POD, "a", hard=False),
            "GangScheduling",
            "Warning",
            "Pod",
            ("one by one",),
        ),
        (
            events.placeholder_failed(POD, "tg-1", "quota"),
            "GangScheduling",
            "Warning",
            "Pod",
            ("tg-1", "quota", "correct"),
        ),
        (
            events.preempted(POD, "for pod ns/q", "n1"),
            "Preempted",
            "Warning",
            "Pod",
            ("ns/q", "n1"),
        ),
        (events.preempting(POD, ["ns/a", "ns/b"]), "Preempting", "Normal", "Pod", ("ns/a", "ns/b")),
        (
            events.pod_refused(POD, "label x: wrong; write y"),
            "FailedScheduling",
            "Warning",
            "Pod",
            ("write y",),
        ),
        (object_events.node_accepted(NODE), "NodeAccepted", "Normal", "Node", ("n1",)),
        (
            object_events.node_rejected(NODE, "why"),
            "NodeRejected",
            "Warning",
            "Node",
            ("n1", "why"),
        ),
        (
            object_events.configuration_changed(CONFIG),
            "ConfigurationChanged",
            "Normal",
            "ConfigMap",
            (),
        ),
        (
            object_events.configuration_refused(CONFIG, "why"),
            "ConfigurationRefused",
            "Warning",
            "ConfigMap",
            ("why", "before it stays"),
        ),
        (
            object_events.restart_needed(CONFIG, ["a.b", "c.d"]),
            "RestartNeeded",
            "Warning",
            "ConfigMap",
            ("a.b, c.d",),
        ),
    ],
)
def test_each_event_has_its_reason_its_object_and_a_text(
    event: events.Event, reason: str, kind: str, about: str, words: tuple[str, ...]
) -> None:
    assert (event.reason, event.type) == (reason, kind)
    assert (event.about.kind, event.about.api_version) == (about, "v1")
    assert event.action
    assert all(word in event.message for word in words)
    assert "\n" not in event.message


def test_an_event_points_to_its_object() -> None:
    about = events.scheduled(POD, "n1").about
    assert (about.namespace, about.name, about.uid) == ("ns", "p", "u1")


def test_a_long_text_is_cut_to_what_the_server_takes() -> None:
    message = events.failed_scheduling(POD, "x" * 5_000).message
    assert len(message) == 1024
    assert message.endswith("...")


def test_faults_of_a_pod_are_one_event_and_unreadable_groups_their_own() -> None:
    assert events.metadata_faults(POD, ()) == ()
    gang, rest = events.metadata_faults(POD, (FAULT, ERROR, FAULT))
    assert (gang.reason, rest.reason) == ("GangScheduling", "InvalidMetadata")
    assert gang.message == "annotation b: is very wrong; correct it at once"
    assert rest.message == " | ".join(["annotation a: is wrong; correct it"] * 2)


def test_faults_of_a_namespace_are_one_event_about_it() -> None:
    assert object_events.namespace_faults(NAMESPACE, ()) == ()
    (event,) = object_events.namespace_faults(NAMESPACE, (FAULT,))
    assert (event.reason, event.about.kind) == ("InvalidMetadata", "Namespace")


@pytest.mark.parametrize(
    "value, expected",
    [
        ("a", "'a'"),
        (1, "1"),
        (True, "true"),
        ({"a": [None, "b\n"]}, '{"a":[null,"b\\n"]}'),
        ("a\nb", "'a\\nb'"),
        ("x" * 100, "'" + "x" * 77 + "...'"),
    ],
)
def test_values_from_outside_are_shown_on_one_short_line(value: Any, expected: str) -> None:
    assert shown(value) == expected
