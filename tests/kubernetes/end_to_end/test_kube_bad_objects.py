"""Bad input: an event says what is wrong and what to do, and nothing else suffers."""

from __future__ import annotations

from tests.kubernetes.end_to_end.cluster import CONFIG, QUEUES
from tests.kubernetes.end_to_end.manifests import GROUPS, POLICY
from tests.kubernetes.end_to_end.objects import NODES
from tests.kubernetes.end_to_end.spaces import Space


def test_broken_annotations_of_a_pod_are_told(space: Space) -> None:
    space.node("n1")
    broken = {
        "yunikorn.apache.org/user.info": "{",
        "yunikorn.apache.org/allow-preemption": "perhaps",
        POLICY: "gangSchedulingStyle=Sometimes",
        GROUPS: "[{",
    }
    space.pod("broken", app="broken", annotations=broken)
    space.pod("well", app="well")
    space.running("broken", "well")
    assert "task-groups" in space.told("broken", "GangScheduling")
    assert "user.info" in space.told("broken", "InvalidMetadata")
    assert "true" in space.told("broken", "InvalidMetadata", "allow-preemption")


def test_a_pod_whose_names_are_too_long_is_not_scheduled_and_told(space: Space) -> None:
    space.node("n1")
    space.pod("long", annotations={"yunikorn.apache.org/app-id": "x"}, labels={"queue": "root.q"})
    name = "yunikorn.apache.org/queue"
    space.pod("worse", annotations={name: "root." + "x" * 5000}, labels={"queue": "root.q"})
    space.pod("well", app="well")
    space.running("well", "long")
    assert "queue" in space.told("worse", "FailedScheduling")
    assert space.node_of("worse") == ""


def test_an_application_of_an_unknown_queue_fails_and_is_told_what_to_do(space: Space) -> None:
    space.cluster.configure(
        """
partitions:
  - name: default
    queues: [{name: root, submitacl: '*', queues: [{name: known}]}]
"""
    )
    space.node("n1")
    space.pod("lost", app="lost", labels={"queue": "root.unknown"})
    space.pod("well", app="well", labels={"queue": "root.known"})
    space.running("well")
    space.reach("Failed", ["lost"])
    assert "root.unknown" in space.told("lost", "ApplicationRejected")
    space.cluster.configure(QUEUES)


def test_a_huge_or_broken_config_map_is_refused_and_what_counted_counts(space: Space) -> None:
    space.node("n1")
    cluster = space.cluster
    # As large as a server takes an object.
    cluster.write_config({"queues.yaml": "partitions: [" + "{}, " * 200_000 + "]"})
    told = cluster.events_of
    space.until(
        "it is refused",
        lambda: any(reason == "ConfigurationRefused" for reason, _ in told("ConfigMap", CONFIG)),
    )
    space.pod("well", app="well")
    space.running("well")
    cluster.configure(QUEUES)


def test_a_node_without_allocatable_is_told(space: Space) -> None:
    space.node("n1")
    space.create(NODES, {"metadata": {"name": "empty"}, "spec": {}})
    space.until("an event on the node", lambda: _told(space, "empty"))
    assert "status.allocatable" in _told(space, "empty")
    space.pod("well", app="well")
    space.running("well")
    assert space.node_of("well") == "n1"


def _told(space: Space, node: str) -> str:
    events = space.cluster.events_of("Node", node)
    return " ".join(message for reason, message in events if reason == "NodeRejected")
