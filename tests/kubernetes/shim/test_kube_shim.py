from __future__ import annotations

from collections.abc import Iterator

import pytest

from remuda.si.pb import si_pb2 as si
from remuda_kubernetes.objects.kinds import NODE, POD
from remuda_kubernetes.objects.outcomes import Outcome, Result
from remuda_kubernetes.shim import recovery
from remuda_kubernetes.shim.effects import BindPod, EvictPod, FailPod, ToScheduler
from remuda_kubernetes.shim.shim import Shim
from tests.kubernetes.shim.world import World, until


@pytest.fixture
def world() -> Iterator[World]:
    made = World()
    yield made
    made.close()


def test_a_pod_is_bound_to_a_node_with_room(world: World) -> None:
    world.node("n1", cpu="1")
    world.node("n2", cpu="4")
    world.start()
    world.pod("p", cpu="2")
    world.run()
    assert world.where("p") == "n2"
    assert world.told("PodBindSuccessful")


def test_pods_that_came_before_the_start_are_placed_and_what_runs_is_counted(world: World) -> None:
    world.node("n1", cpu="2")
    world.pod("runs", cpu="1", spec={"nodeName": "n1"})
    world.pod("waits", cpu="1")
    world.pod("other", cpu="1")
    world.start()
    # One core is left, and the older of the two that wait gets it.
    assert [world.where(name) for name in ("runs", "waits", "other")] == ["n1", "n1", ""]
    world.drop(POD, "runs", "default")
    world.run()
    assert world.where("other") == "n1"


def test_pods_of_other_schedulers_take_room(world: World) -> None:
    world.node("n1", cpu="2")
    world.pod("foreign", cpu="2", spec={"nodeName": "n1", "schedulerName": "default-scheduler"})
    world.start()
    world.pod("p", cpu="1")
    world.run()
    assert world.where("p") == ""
    world.drop(POD, "foreign", "default")
    world.run()
    assert world.where("p") == "n1"


def test_a_pod_on_a_node_that_comes_later_is_counted_with_it(world: World) -> None:
    world.pod("runs", cpu="2", spec={"nodeName": "late"})
    world.start()
    world.pod("p", cpu="1")
    world.run()
    world.node("late", cpu="2")
    world.run()
    assert world.where("p") == ""
    world.drop(POD, "runs", "default")
    world.run()
    assert world.where("p") == "late"


def test_a_binding_that_is_refused_gives_the_room_back_and_is_tried_again(world: World) -> None:
    world.node("n1", cpu="1")
    world.start()
    refused = iter([Outcome(Result.REFUSED, "a webhook says no")])
    world.fail = lambda call: (
        next(refused, None) if isinstance(call, BindPod) and call.pod.name == "p" else None
    )
    world.pod("p", cpu="1")
    world.pod("q", cpu="1")
    world.run()
    assert world.where("p") == ""
    assert world.where("q") == "n1"
    assert "a webhook says no" in world.told("FailedScheduling")[0]
    world.drop(POD, "q", "default")
    world.run(seconds=2)
    assert world.where("p") == "n1"


def test_a_binding_without_an_answer_keeps_the_room_and_is_tried_again(world: World) -> None:
    world.node("n1", cpu="1")
    world.start()
    silent = iter([Outcome(Result.FAILED, "no answer")] * 3)
    world.fail = lambda call: next(silent, None) if isinstance(call, BindPod) else None
    world.pod("p", cpu="1")
    world.pod("q", cpu="1")
    for _ in range(3):
        world.run(seconds=4)
    assert "no answer" in world.told("FailedScheduling")[0]
    # Whoever it was given to, it was given to one.
    assert [world.where("p"), world.where("q")] == ["n1", ""]


def test_a_binding_without_an_answer_is_given_up_when_the_node_is_gone(world: World) -> None:
    world.node("n1", cpu="1")
    world.start()
    silent = iter([Outcome(Result.FAILED, "no answer")])
    world.fail = lambda call: next(silent, None) if isinstance(call, BindPod) else None
    world.pod("p", cpu="1")
    world.run()
    world.node("n2", cpu="1")
    world.drop(NODE, "n1")
    world.run(seconds=2)
    assert world.where("p") == "n2"


def test_a_gated_pod_is_left_alone_until_its_gates_are_gone(world: World) -> None:
    world.node("n1")
    world.start()
    pod = world.pod("p", spec={"schedulingGates": [{"name": "quota"}]})
    world.run()
    assert world.where("p") == ""
    world.change(pod, spec={"schedulingGates": None})
    world.run()
    assert world.where("p") == "n1"


def test_a_taint_that_goes_lets_the_pod_that_waits_for_it_in(world: World) -> None:
    tainted = {"taints": [{"key": "dedicated", "value": "gpu", "effect": "NoSchedule"}]}
    world.node("n1", spec=tainted)
    world.start()
    world.pod("p")
    world.run()
    assert world.where("p") == ""
    world.node("n1")
    world.run()
    assert world.where("p") == "n1"


def test_a_cordoned_node_gets_no_pods_until_it_is_open_again(world: World) -> None:
    world.node("n1", spec={"unschedulable": True})
    world.start()
    world.pod("p")
    world.run()
    assert world.where("p") == ""
    world.node("n1")
    world.run()
    assert world.where("p") == "n1"


def test_of_two_pods_that_exclude_each_other_each_gets_a_node_of_its_own(world: World) -> None:
    for name in ("n1", "n2"):
        world.node(name, labels={"kubernetes.io/hostname": name})
    world.start()
    apart = {
        "affinity": {
            "podAntiAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": [
                    {
                        "labelSelector": {"matchLabels": {"app": "web"}},
                        "topologyKey": "kubernetes.io/hostname",
                    }
                ]
            }
        }
    }
    for name in ("a", "b", "c"):
        world.pod(name, labels={"app": "web"}, spec=apart)
    world.run()
    assert sorted(filter(None, [world.where(name) for name in ("a", "b", "c")])) == ["n1", "n2"]
    bound = next(name for name in ("a", "b", "c") if world.where(name))
    world.drop(POD, bound, "default")
    world.run()
    left = [name for name in ("a", "b", "c") if name != bound]
    assert sorted(world.where(name) for name in left) == ["n1", "n2"]


def test_an_application_that_the_scheduler_refuses_fails_its_pods() -> None:
    world = World(PREEMPTION)
    try:
        world.node("n1")
        world.start()
        world.pod("p", queue="root.nowhere")
        world.run()
        pod = world.current("p")
        assert pod is not None
        assert pod.status.phase == "Failed"
        assert pod.status.reason == "ApplicationRejected"
        assert "root.nowhere" in world.told("ApplicationRejected")[0]
    finally:
        world.close()


def test_a_pod_that_could_not_be_marked_as_failed_is_marked_later() -> None:
    world = World(PREEMPTION)
    try:
        world.node("n1")
        world.start()
        away = iter([Outcome(Result.FAILED, "no answer")])
        world.fail = lambda call: next(away, None) if isinstance(call, FailPod) else None
        world.pod("p", queue="root.nowhere")
        world.run()
        world.run(seconds=31)
        pod = world.current("p")
        assert pod is not None
        assert pod.status.phase == "Failed"
    finally:
        world.close()


def test_a_node_that_goes_and_comes_back_keeps_its_pods(world: World) -> None:
    node = world.node("n1", cpu="1")
    world.start()
    world.pod("p", cpu="1")
    world.run()
    world.drop(NODE, "n1")
    world.run()
    world.put(NODE, node)
    world.run()
    world.pod("q", cpu="1")
    world.run()
    assert world.where("p") == "n1"
    assert world.where("q") == ""


def test_nothing_is_doubled_when_the_scheduler_is_lost_during_a_binding(world: World) -> None:
    world.node("n1", cpu="1")
    world.node("n2", cpu="1")
    world.start()
    held: list[BindPod] = []
    carry_out = world._carry_out

    def hold(call: object) -> Outcome:
        if isinstance(call, BindPod) and not held:
            held.append(call)
            raise HeldError
        return carry_out(call)

    class HeldError(Exception):
        pass

    world._carry_out = hold  # type: ignore[method-assign]
    world.pod("p", cpu="1")
    with pytest.raises(HeldError):
        world.run()
    world.shim.lost()
    world.shim.register_again()
    world.run()
    # The pod is on its way to a node; it asks for no other one.
    assert world.where("p") == ""
    outcome = carry_out(held[0])
    world.shim.ended(held[0].number, outcome)
    world.run()
    assert world.where("p") == held[0].node
    bound = [each for each in world.calls if isinstance(each, BindPod)]
    assert len(bound) == 1
    world.pod("q", cpu="1")
    world.run()
    assert world.where("q") not in {"", world.where("p")}


def test_a_victim_is_evicted_and_its_room_given_away_when_it_is_gone() -> None:
    world = World(PREEMPTION)
    try:
        world.node("n1", cpu="2")
        world.start()
        world.pod("low-1", cpu="1", app="low", queue="root.low")
        world.pod("low-2", cpu="1", app="low", queue="root.low")
        world.run()
        assert world.where("low-1") == world.where("low-2") == "n1"
        world.grace = {"low-1", "low-2"}
        world.pod("high", cpu="1", app="high", queue="root.high")
        until(world, lambda: any(isinstance(each, EvictPod) for each in world.calls))
        (eviction,) = [each for each in world.calls if isinstance(each, EvictPod)]
        victim = eviction.pod.name
        assert victim in {"low-1", "low-2"}
        assert world.where("high") == ""
        world.drop(POD, victim, "default")
        world.run()
        assert world.where("high") == "n1"
    finally:
        world.close()


PREEMPTION = """
partitions:
  - name: default
    queues:
      - name: root
        submitacl: '*'
        queues:
          - name: low
          - name: high
            properties:
              preemption.delay: 1s
            resources:
              guaranteed: {vcore: 1}
"""


def reported(shim: Shim) -> list[str]:
    """Return which pods the next effects tell the scheduler of, and whether nodes are opened."""
    found = []
    for effect in shim.take():
        if isinstance(effect, ToScheduler) and isinstance(effect.request, si.AllocationRequest):
            found += [each.allocationKey for each in effect.request.allocations]
        elif isinstance(effect, ToScheduler) and isinstance(effect.request, si.NodeRequest):
            actions = {each.action for each in effect.request.nodes}
            found += ["open"] if si.NodeInfo.DRAIN_TO_SCHEDULABLE in actions else []
    return found


def test_many_pods_are_told_in_several_steps_and_nodes_are_opened_after_the_last(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recovery, "_STEP", 2)
    world.node("n1", cpu="9")
    keys = [world.pod(f"p{n}", spec={"nodeName": "n1"}).uid for n in range(5)]
    shim = world.shim
    shim.synced()
    shim.registered()
    assert reported(shim) == keys[:2]
    # One that comes now is told after those that are older.
    late = world.pod("late", spec={"nodeName": "n1"}).uid
    told = []
    for _ in range(2):
        due = shim.due_ns()
        assert due is not None
        shim.tick(due)
        told.append(reported(shim))
    assert told == [keys[2:4], [keys[4], late, "open"]]
    assert shim.due_ns() is None


def test_in_a_large_cluster_only_nodes_that_come_later_are_told_as_accepted(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recovery, "_FEW_NODES", 2)
    for number in range(3):
        world.node(f"n{number}")
    world.start()
    assert not world.told("NodeAccepted")
    world.node("later")
    world.run()
    told = [each.about.name for each in world.events if each.reason == "NodeAccepted"]
    assert told == ["later"]
