"""The course of applications and pods through restarts, changes and ends."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from remuda.core.messages.queries import NodesQuery
from remuda.si.pb import si_pb2 as si
from remuda_kubernetes.objects.kinds import NODE, POD
from remuda_kubernetes.objects.nodes import Node
from remuda_kubernetes.objects.values import convert, plain
from remuda_kubernetes.shim.effects import ToScheduler
from tests.kubernetes.shim.world import World


@pytest.fixture
def world() -> Iterator[World]:
    made = World()
    yield made
    made.close()


def test_a_pod_of_an_application_that_ended_begins_a_new_one(world: World) -> None:
    world.node("n1", cpu="2")
    world.start()
    world.pod("p1")
    world.run()
    world.drop(POD, "p1", "default")
    world.run()
    # The scheduler ends an application some time after its last pod; here it says so at once.
    world.scheduler.update_application(
        si.ApplicationRequest(
            rmID="rm",
            remove=[si.RemoveApplicationRequest(applicationID="app", partitionName="default")],
        )
    )
    world.scheduler.wait_idle()
    world.pod("p2")
    world.shim.answered(
        [
            si.ApplicationResponse(
                updated=[si.UpdatedApplication(applicationID="app", state="Completed")]
            )
        ]
    )
    world.run()
    assert world.where("p2") == "n1"


def test_a_resized_pod_is_counted_with_its_new_size(world: World) -> None:
    world.node("n1", cpu="4")
    world.start()
    pod = world.pod("p", cpu="1")
    world.run()
    bound = world.current("p")
    assert bound is not None
    containers = [{"name": "c", "resources": {"requests": {"cpu": "3"}}}]
    world.change(bound, spec={"containers": containers})
    world.run()
    world.pod("q", cpu="2")
    world.run()
    assert world.where("q") == ""
    smaller = world.current("p")
    assert smaller is not None
    assert smaller.uid == pod.uid
    world.change(smaller, spec={"containers": [{"name": "c"}]})
    world.run()
    assert world.where("q") == "n1"


def test_a_resize_that_is_too_large_for_the_node_counts_for_nothing(world: World) -> None:
    world.node("n1", cpu="4")
    world.start()
    world.pod("p", cpu="1")
    world.run()
    bound = world.current("p")
    assert bound is not None
    has = {"name": "c", "allocatedResources": {"cpu": "1"}}
    has["resources"] = {"requests": {"cpu": "1"}}
    wanted = [{"name": "c", "resources": {"requests": {"cpu": "9"}}}]
    infeasible = {"type": "PodResizePending", "status": "True", "reason": "Infeasible"}
    status = {"phase": "Running", "containerStatuses": [has], "conditions": [infeasible]}
    world.change(bound, spec={"containers": wanted}, status=status)
    world.run()
    world.pod("q", cpu="3")
    world.run()
    assert world.where("q") == "n1"


def test_a_waiting_pod_says_what_the_nodes_lack(world: World) -> None:
    world.node("n1", cpu="1")
    world.node("n2", cpu="8", spec={"taints": [{"key": "dedicated", "effect": "NoSchedule"}]})
    world.start()
    world.pod("p", cpu="2")
    world.run(seconds=2)
    world.shim.waits(
        si.UpdateContainerSchedulingStateRequest(
            applicartionID="app", allocationKey="uid-0001", reason="too large"
        )
    )
    world.run(seconds=2)
    condition = world.conditions["p"]
    assert condition.reason == "Unschedulable"
    assert condition.message.startswith("0/2 nodes are available: ")
    assert "1 Insufficient cpu" in condition.message
    assert "1 node(s) had untolerated taint" in condition.message
    assert world.told("Scheduling") == [
        "Pod default/p waits for a node as part of application app of queue root.a"
    ]
    assert any(condition.message in each for each in world.told("PodUnschedulable"))
    # The same finding is not told again, a hundred times in a row or not.
    world.conditions.clear()
    for _ in range(100):
        world.shim.waits(
            si.UpdateContainerSchedulingStateRequest(
                applicartionID="app", allocationKey="uid-0001", reason="too large"
            )
        )
    world.run(seconds=60)
    assert world.conditions == {}


def test_a_broken_configuration_changes_nothing_and_is_told(world: World) -> None:
    world.node("n1")
    world.start()
    world.config({"queues.yaml": "partitions: ["})
    world.run()
    assert world.told("ConfigurationRefused")
    world.pod("p")
    world.run()
    assert world.where("p") == "n1"


def test_another_configuration_counts_at_once(world: World) -> None:
    world.node("n1")
    world.start()
    limited = """
partitions:
  - name: default
    placementrules: [{name: provided, create: true}]
    queues:
      - name: root
        submitacl: '*'
        queues:
          - name: a
            resources: {max: {vcore: 1}}
"""
    world.config({"queues.yaml": limited})
    world.run()
    assert world.told("ConfigurationChanged")
    for name in ("p", "q"):
        world.pod(name, cpu="1")
    world.run()
    assert sorted([world.where("p"), world.where("q")]) == ["", "n1"]


def test_the_quota_of_a_namespace_limits_its_queue(world: World) -> None:
    world.node("n1")
    world.namespace("team", {"yunikorn.apache.org/namespace.quota": '{"cpu": "1"}'})
    world.start()
    for name in ("p", "q"):
        world.pod(name, namespace="team", queue="root.team")
    world.run()
    placed = [pod for pod in world.pods() if pod.spec.node_name]
    assert len(placed) == 1


def test_the_quota_of_a_namespace_counts_for_a_pod_that_was_seen_before_it(world: World) -> None:
    world.node("n1")
    world.start()
    for name in ("p", "q"):
        world.pod(name, namespace="team", queue="root.team", known=False)
    world.run()
    assert [pod.spec.node_name for pod in world.pods()] == ["", ""]
    world.namespace("team", {"yunikorn.apache.org/namespace.quota": '{"cpu": "1"}'})
    world.run(seconds=3)
    assert sorted(pod.spec.node_name for pod in world.pods()) == ["", "n1"]


def test_a_namespace_that_stays_unknown_does_not_hold_its_pods_for_ever(world: World) -> None:
    world.node("n1")
    world.start()
    world.pod("p", namespace="team", known=False)
    world.run(seconds=3)
    assert [pod.spec.node_name for pod in world.pods()] == ["n1"]


def test_a_broken_quota_is_told_and_nothing_else_suffers(world: World) -> None:
    world.node("n1")
    world.namespace("team", {"yunikorn.apache.org/namespace.quota": "lots"})
    world.start()
    world.pod("p", namespace="team", queue="root.team")
    world.run()
    assert world.told("InvalidMetadata")
    assert any(pod.spec.node_name for pod in world.pods())


def test_the_scheduler_shows_whether_a_node_is_ready_now_and_its_labels(world: World) -> None:
    """A machine that an autoscaler adds registers before its network works."""
    node = world.node("n1")
    world.start()
    world.run()

    def shown() -> tuple[bool, str]:
        world.scheduler.wait_idle()
        nodes: Any = world.scheduler.core.query(NodesQuery("default", "rm")).result(30.0)
        (found,) = nodes
        return found.ready, found.attributes.get("disk", "")

    assert shown() == (False, "")
    for status, disk in (("True", "ssd"), ("False", "none")):
        changed = plain(node)
        changed["status"]["conditions"] = [{"type": "Ready", "status": status}]
        changed["metadata"]["labels"] = {"disk": disk}
        world.put(NODE, convert(Node, changed))
        world.run()
        assert shown() == (status == "True", disk)


def test_a_node_without_amounts_is_told_and_nothing_else_suffers(world: World) -> None:
    world.node("n1")
    world.node("n2", cpu="lots")
    world.start()
    world.pod("p")
    world.run()
    assert world.where("p") == "n1"
    assert any("n2" in text for text in world.told("NodeRejected"))


def test_a_pod_that_contradicts_its_application_is_told(world: World) -> None:
    world.node("n1")
    world.start()
    world.pod("p", queue="root.a")
    world.pod("q", queue="root.b")
    world.run()
    assert [world.where("p"), world.where("q")] == ["n1", "n1"]
    (text,) = world.told("InvalidMetadata")
    assert "root.b" in text
    assert "root.a" in text


def test_a_pod_deleted_while_it_waits_frees_its_place_in_the_queue(world: World) -> None:
    world.node("n1", cpu="1")
    world.start()
    large = world.pod("large", cpu="2")
    world.run()
    world.change(large, metadata={"deletionTimestamp": "2026-01-01T00:10:00Z"})
    world.run()
    world.drop(POD, "large", "default")
    world.run()
    assert world.shim.dump()["applications"][0]["tasks"] == []


def requests(world: World) -> list[Any]:
    sent: list[Any] = []
    send = world._send

    def note(request: Any) -> None:
        sent.append(request)
        send(request)

    world._send = note  # type: ignore[method-assign]
    return sent


def test_a_change_of_one_node_asks_about_that_node_only(world: World) -> None:
    taint = {"taints": [{"key": "dedicated", "effect": "NoSchedule"}]}
    for number in range(5):
        world.node(f"n{number}", spec=taint)
    world.start()
    world.pod("p")
    world.run()
    sent = requests(world)
    world.node("n3", cpu="10")
    world.run()
    assert world.where("p") == "n3"
    about_nodes = [each for each in sent if isinstance(each, si.NodeRequest)]
    named = {info.nodeID for each in about_nodes for info in each.nodes}
    assert named == {"n3"}
    assert all(each.nodes for each in about_nodes)


def test_asks_travel_together() -> None:
    world = World()
    try:
        world.node("n1", cpu="100")
        world.start()
        world.pod("first")
        world.run()
        for number in range(50):
            world.pod(f"p{number}")
        effects = [each for each in world.shim.take() if isinstance(each, ToScheduler)]
        (request,) = [each.request for each in effects]
        assert isinstance(request, si.AllocationRequest)
        assert len(request.allocations) == 50
    finally:
        world.close()


def test_a_change_of_a_pod_that_comes_after_its_end_does_not_bring_it_back(world: World) -> None:
    world.node("n1", cpu="1")
    world.start()
    waiting = world.pod("p", cpu="1")
    world.run()
    bound = world.current("p")
    assert bound is not None
    world.drop(POD, "p", "default")
    world.shim.changed(POD, waiting, bound)
    world.run()
    world.pod("q", cpu="1")
    world.run()
    assert world.where("q") == "n1"
