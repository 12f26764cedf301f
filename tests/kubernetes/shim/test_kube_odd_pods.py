"""Odd pods: unreadable, placed by others, ending, or of an application that has ended."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from remuda.core.messages.queries import NodesQuery
from remuda.si.pb import si_pb2 as si
from remuda_kubernetes.objects.kinds import NODE, POD
from remuda_kubernetes.objects.outcomes import Outcome, Result
from remuda_kubernetes.objects.pods import Pod
from remuda_kubernetes.shim.effects import BindPod
from tests.kubernetes.shim.world import World


@pytest.fixture
def world() -> Iterator[World]:
    made = World()
    yield made
    made.close()


def many_resources(cpu: str, **more: Any) -> dict[str, Any]:
    """A spec with more kinds of resources than the scheduler takes."""
    amounts = {"cpu": cpu, **{f"example.com/r{number}": "1" for number in range(300)}}
    return {"containers": [{"name": "c", "resources": {"requests": amounts}}], **more}


def end_application(world: World, name: str) -> None:
    """Let the scheduler end an application at once, as it does some time after the last pod."""
    gone = si.RemoveApplicationRequest(applicationID=name, partitionName="default")
    world.scheduler.update_application(si.ApplicationRequest(rmID="rm", remove=[gone]))
    world.scheduler.wait_idle()
    ended = si.UpdatedApplication(applicationID=name, state="Completed")
    world.shim.answered([si.ApplicationResponse(updated=[ended])])
    world.run()


def counted(world: World) -> dict[str, int]:
    """How much of each node's processors the scheduler counts as used, in thousandths."""
    world.scheduler.wait_idle()
    nodes: Any = world.scheduler.core.query(NodesQuery("default", "rm")).result(30.0)
    return {each.node_id: each.allocated.get("vcore", 0) for each in nodes}


def decided(world: World, pod: Pod) -> str:
    """Let the scheduler decide about a pod; return the node. The shim hears of it later."""
    late: list[Any] = []
    take_in = world.shim.answered

    def hear(responses: Any) -> None:
        found = list(responses)
        late.extend(each for each in found if getattr(each, "new", None))
        take_in([each for each in found if not getattr(each, "new", None)])

    world.shim.answered = hear  # type: ignore[method-assign]
    world.run()
    world.shim.answered = take_in  # type: ignore[method-assign]
    world.inbox = late + world.inbox
    (node,) = [new.nodeID for each in late for new in each.new if new.allocationKey == pod.uid]
    return str(node)


@pytest.mark.parametrize("before", [True, False])
def test_a_pod_of_others_that_the_scheduler_cannot_take_stops_nobody(
    world: World, before: bool
) -> None:
    world.node("n1", cpu="2")
    if not before:
        world.start()
    world.pod("odd", spec=many_resources("1", schedulerName="other", nodeName="n1"))
    if before:
        world.start()
    world.run()
    (told,) = world.told("InvalidMetadata")
    assert "takes room of its node that no figure shows: 301 resources are too many" in told
    # The filters count it all the same.
    world.pod("p", cpu="1")
    world.pod("q", cpu="1")
    world.run()
    assert sorted([world.where("p"), world.where("q")]) == ["", "n1"]


def test_a_running_pod_that_becomes_unreadable_is_counted_as_before(world: World) -> None:
    world.node("n1", cpu="2")
    world.start()
    pod = world.pod("p", cpu="1")
    world.run()
    current = world.current("p")
    assert current is not None
    world.change(current, spec=many_resources("1"))
    world.pod("q", cpu="1")
    world.run()
    assert world.where("q") == "n1"
    world.drop(POD, "p", pod.namespace)
    world.pod("r", cpu="1")
    world.run()
    assert world.where("r") == "n1"


@pytest.mark.parametrize("before", [True, False])
def test_a_running_pod_with_a_name_that_cannot_be_taken_keeps_its_room(
    world: World, before: bool
) -> None:
    world.node("n1", cpu="2")
    if not before:
        world.start()
    world.pod("odd", cpu="2", app="x" * 300, spec={"nodeName": "n1"})
    if before:
        world.start()
    world.pod("p", cpu="1")
    world.run()
    assert world.where("p") == ""
    world.drop(POD, "odd", "default")
    world.run()
    assert world.where("p") == "n1"


def test_a_waiting_pod_that_a_finalizer_keeps_is_not_bound_any_more(world: World) -> None:
    world.start()
    pod = world.pod("p")
    world.run()
    world.fail = lambda call: (
        Outcome(Result.CONFLICT, "is being deleted") if isinstance(call, BindPod) else None
    )
    ends = {"deletionTimestamp": "2026-01-01T02:00:00Z"}
    world.change(pod, metadata={**ends, "finalizers": ["example.com/hold"]})
    world.node("n1")
    world.run(seconds=10)
    assert not [call for call in world.calls if isinstance(call, BindPod)]
    world.drop(POD, "p", "default")
    world.run()
    assert world.shim.task_counts()["Waiting"] == 0


def test_a_pod_that_ends_does_not_begin_an_application_anew(world: World) -> None:
    world.node("n1", cpu="1")
    world.start()
    world.pod("runs")
    pod = world.pod("waits")
    world.run()
    world.change(pod, metadata={"deletionTimestamp": "2026-01-01T02:00:00Z"})
    world.drop(POD, "runs", "default")
    world.run()
    end_application(world, "app")
    (application,) = world.shim.dump()["applications"]
    assert application["state"] == "Completed"
    world.drop(POD, "waits", "default")
    world.run()
    assert world.shim.dump()["applications"] == []


def test_a_pod_with_a_node_in_a_namespace_that_comes_later_is_counted(world: World) -> None:
    world.node("n1", cpu="2")
    world.start()
    world.pod("p", namespace="new", known=False, spec={"nodeName": "n1"})
    world.run()
    world.namespace("new", {})
    world.run(seconds=3)
    world.run()
    (application,) = world.shim.dump()["applications"]
    (task,) = application["tasks"]
    assert (task["state"], task["allocationID"]) == ("Bound", task["uid"])


def test_an_application_is_forced_only_while_it_runs_over_a_restart(world: World) -> None:
    world.config({"queues.yaml": ONLY_A})
    world.node("n1")
    world.pod("old", app="x", spec={"nodeName": "n1"})
    world.start()
    world.drop(POD, "old", "default")
    world.run()
    end_application(world, "x")
    assert world.shim.dump()["applications"] == []
    world.pod("new", app="x", queue="root.nowhere")
    world.run()
    assert world.where("new") == ""
    assert len(world.told("ApplicationRejected")) == 1


ONLY_A = """
partitions:
  - name: default
    queues:
      - name: root
        submitacl: '*'
        queues:
          - name: a
"""


def test_a_waiting_pod_that_becomes_unreadable_is_told_and_stays_as_it_was(world: World) -> None:
    world.start()
    pod = world.pod("p")
    world.run()
    world.change(pod, spec=many_resources("1"))
    world.run()
    (told,) = world.told("InvalidMetadata")
    assert "counts as it was before: 301 resources are too many" in told
    world.node("n1")
    world.run()
    assert world.where("p") == "n1"


def test_a_pod_that_somebody_binds_while_a_decision_is_under_way_is_counted(world: World) -> None:
    world.node("n1")
    world.node("n2")
    world.start()
    pod = world.pod("p", cpu="3")
    chosen = decided(world, pod)
    other = "n2" if chosen == "n1" else "n1"
    world.change(pod, spec={"nodeName": other})
    world.run()
    assert counted(world) == {chosen: 0, other: 3000}


@pytest.mark.parametrize("bound", [False, True])
@pytest.mark.parametrize("answer", [Result.FAILED, Result.DONE])
def test_a_pod_that_is_resized_while_it_is_being_bound_is_counted_with_its_new_size(
    world: World, answer: Result, *, bound: bool
) -> None:
    """Also if the API server has answered, and the watch has not told its node yet."""
    world.node("n1")
    world.start()
    world.fail = lambda call: Outcome(answer, "away") if isinstance(call, BindPod) else None
    pod = world.pod("p", cpu="1")
    world.run()
    larger = [{"name": "c", "resources": {"requests": {"cpu": "2"}}}]
    world.change(pod, spec={"containers": larger, "nodeName": "n1" if bound else ""})
    world.run()
    assert counted(world) == {"n1": 2000}


def test_a_pod_that_is_resized_while_a_decision_is_under_way_is_counted_so(world: World) -> None:
    world.node("n1")
    world.start()
    pod = world.pod("p", cpu="1")
    assert decided(world, pod) == "n1"
    larger = [{"name": "c", "resources": {"requests": {"cpu": "2"}}}]
    world.change(pod, spec={"containers": larger})
    world.run()
    assert world.where("p") == "n1"
    assert counted(world) == {"n1": 2000}


def test_a_pod_is_counted_again_although_its_node_was_away_until_its_application_ended(
    world: World,
) -> None:
    node = world.node("n1")
    world.start()
    world.pod("p", cpu="1")
    world.run()
    world.drop(NODE, "n1")
    world.run()
    end_application(world, "app")
    world.put(NODE, node)
    world.run()
    assert counted(world) == {"n1": 1000}


def test_a_pod_whose_node_was_made_anew_while_a_decision_is_under_way_is_counted(
    world: World,
) -> None:
    node = world.node("n1")
    world.start()
    pod = world.pod("p", cpu="3")
    assert decided(world, pod) == "n1"
    world.drop(NODE, "n1")
    world.put(NODE, node)
    world.run()
    assert world.where("p") == "n1"
    assert counted(world) == {"n1": 3000}
