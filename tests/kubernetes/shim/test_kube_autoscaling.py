"""The condition that a cluster autoscaler reads: only pods have it that more nodes would help."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from remuda.si.pb import si_pb2 as si
from remuda_kubernetes.objects.outcomes import Outcome, Result
from remuda_kubernetes.shim.effects import BindPod, Effect
from tests.kubernetes.shim.world import World

KEY = "uid-0001"
QUEUE = (
    f"Request '{KEY}' does not fit in queue 'root.a' "
    "(requested map[vcore:2000], available map[vcore:1000])"
)
USER = (
    f"Request '{KEY}' exceeds the available user quota "
    "(requested map[vcore:2000], available map[vcore:1000])"
)
USER_AGAIN = f"Request '{KEY}' fits in the available user quota"


@pytest.fixture
def world() -> Iterator[World]:
    """A pod that fits on no node; the scheduler's own words about it are given by the tests."""
    made = World()
    made.node("n1", cpu="1")
    made.start()
    made.pod("p", cpu="2")
    made.run()
    yield made
    made.close()


def finds(world: World, text: str) -> None:
    record = si.EventRecord(
        type=si.EventRecord.REQUEST,
        eventChangeType=si.EventRecord.NONE,
        objectID=KEY,
        referenceID="app",
        message=text,
    )
    world.shim.events([record])


def waits_for_nodes(world: World) -> None:
    world.shim.waits(
        si.UpdateContainerSchedulingStateRequest(
            applicartionID="app", allocationKey=KEY, reason="too large"
        )
    )


def reason(world: World) -> str:
    return world.conditions["p"].reason if "p" in world.conditions else ""


@pytest.mark.remuda_rule("EXT-142")
def test_a_pod_that_more_nodes_would_help_is_unschedulable_at_once(world: World) -> None:
    waits_for_nodes(world)
    world.run(seconds=1)
    assert reason(world) == "Unschedulable"
    assert world.conditions["p"].message.startswith("0/1 nodes are available: 1 Insufficient cpu")
    assert len(world.told("PodUnschedulable")) == 1


@pytest.mark.remuda_rule("EXT-142")
def test_a_pod_that_its_queue_holds_back_is_skipped(world: World) -> None:
    finds(world, QUEUE)
    world.run(seconds=1)
    # The scheduler may still say that more nodes would help.
    assert reason(world) == ""
    world.run(seconds=2)
    assert reason(world) == "SchedulingSkipped"
    assert "queue root.a lacks cpu: 2 wanted, 1 left" in world.conditions["p"].message
    assert world.told("PodUnschedulable") == []
    assert len(world.told("FailedScheduling")) == 1


@pytest.mark.remuda_rule("EXT-142")
def test_the_autoscaler_does_not_wait_for_the_pause_between_conditions(world: World) -> None:
    finds(world, QUEUE)
    for _ in range(3):
        world.run(seconds=1)
    assert reason(world) == "SchedulingSkipped"
    waits_for_nodes(world)
    world.run(seconds=1)
    assert reason(world) == "Unschedulable"


@pytest.mark.remuda_rule("EXT-142")
def test_the_quota_of_a_user_holds_a_pod_back_until_it_is_gone(world: World) -> None:
    waits_for_nodes(world)
    world.run(seconds=1)
    assert reason(world) == "Unschedulable"
    finds(world, USER)
    for _ in range(3):
        world.run(seconds=1)
    assert reason(world) == "SchedulingSkipped"
    finds(world, USER_AGAIN)
    world.run(seconds=1)
    assert reason(world) == "Unschedulable"


def test_what_was_found_about_an_ask_is_forgotten_with_it(world: World) -> None:
    def fail(call: Effect) -> Outcome | None:
        return Outcome(Result.REFUSED, "a webhook says no") if isinstance(call, BindPod) else None

    waits_for_nodes(world)
    world.run(seconds=1)
    assert reason(world) == "Unschedulable"
    world.fail = fail
    world.conditions.clear()
    world.node("n2", cpu="2")
    world.run()
    assert world.told("Scheduled")
    # It was not bound, asks again, and its new ask was not found too large for the cluster.
    finds(world, QUEUE)
    for _ in range(4):
        world.run(seconds=1)
    assert reason(world) != "Unschedulable"
