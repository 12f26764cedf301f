"""Which pods have to leave for others, how they leave, and what is told."""

from __future__ import annotations

from typing import Any

import pytest

from remuda.si.pb import si_pb2 as si
from remuda_kubernetes.objects.cluster import PodDisruptionBudget, PriorityClass
from remuda_kubernetes.objects.kinds import BUDGET, POD, PRIORITY_CLASS
from remuda_kubernetes.objects.outcomes import Outcome, Result
from remuda_kubernetes.objects.values import convert
from remuda_kubernetes.shim.effects import BindPod, DeletePod, Effect, EvictPod
from tests.kubernetes.shim.queue_worlds import fill, parent, placed, queue, running, victims
from tests.kubernetes.shim.world import World, until

ALLOW = "yunikorn.apache.org/allow-preemption"


def two_come(world: World, queue_name: str = "root.high") -> None:
    """Let two pods come to a queue, and wait until both have their nodes."""
    for name in ("h1", "h2"):
        world.pod(name, app="high", queue=queue_name)
    until(world, placed(world, "h1", "h2"))


def test_a_queue_below_its_guarantee_gets_room_from_one_above() -> None:
    with running(queue("low"), queue("high", 2), nodes={"n1": 4}) as world:
        fill(world, "low", 4)
        two_come(world)
        gone = victims(world)
        assert len(gone) == 2
        assert set(gone) <= {f"low-{number}" for number in range(4)}


def test_no_queue_is_pushed_below_its_guarantee() -> None:
    with running(queue("safe", 2), queue("greedy"), queue("high", 2), nodes={"n1": 4}) as world:
        fill(world, "greedy", 2)
        # The younger pods would be the first choice, but for the guarantee.
        fill(world, "safe", 2)
        two_come(world)
        assert sorted(victims(world)) == ["greedy-0", "greedy-1"]


def test_an_ask_beyond_its_guarantee_preempts_nothing() -> None:
    with running(queue("low"), queue("high", 1), nodes={"n1": 4}) as world:
        fill(world, "low", 4)
        world.pod("large", app="large", cpu="2", queue="root.high")
        world.pod("small", app="small", cpu="1", queue="root.high")
        until(world, placed(world, "small"))
        assert len(victims(world)) == 1
        assert world.where("large") == ""


def test_no_pod_beyond_a_fence_has_to_leave() -> None:
    fenced = parent(
        "fenced",
        [queue("low"), queue("high", 2)],
        properties={"preemption.policy": "fence"},
    )
    with running(fenced, queue("outside"), nodes={"n1": 4}) as world:
        fill(world, "low", 2, queue="root.fenced.low")
        fill(world, "outside", 2)
        two_come(world, "root.fenced.high")
        assert sorted(victims(world)) == ["low-0", "low-1"]


def test_no_pod_of_a_queue_of_higher_priority_has_to_leave() -> None:
    important = queue("important", properties={"priority.offset": "100"})
    high = queue("high", 2, properties={"priority.offset": "10"})
    with running(important, queue("normal"), high, nodes={"n1": 4}) as world:
        fill(world, "normal", 2)
        fill(world, "important", 2)
        two_come(world)
        assert sorted(victims(world)) == ["normal-0", "normal-1"]


def test_a_queue_without_preemption_gives_no_room() -> None:
    shielded = queue("shielded", properties={"preemption.policy": "disabled"})
    with running(shielded, queue("low"), queue("high", 2), nodes={"n1": 4}) as world:
        fill(world, "low", 2)
        fill(world, "shielded", 2)
        two_come(world)
        assert sorted(victims(world)) == ["low-0", "low-1"]


@pytest.mark.parametrize("by_class", [False, True])
def test_a_pod_that_opted_out_leaves_only_if_nothing_else_suffices(*, by_class: bool) -> None:
    with running(queue("low"), queue("high", 4), nodes={"n1": 4}) as world:
        opted_out: dict[str, Any] = {"annotations": {ALLOW: "false"}}
        if by_class:
            meta = {"name": "stays", "uid": "class", "annotations": {ALLOW: "false"}}
            world.put(PRIORITY_CLASS, convert(PriorityClass, {"metadata": meta, "value": 0}))
            opted_out = {"spec": {"priorityClassName": "stays"}}
        fill(world, "low", 2)
        fill(world, "kept", 2, queue="root.low", **opted_out)
        two_come(world)
        assert sorted(victims(world)) == ["low-0", "low-1"]
        world.pod("h3", app="high", queue="root.high")
        until(world, placed(world, "h3"))
        assert victims(world)[2].startswith("kept-")


def test_a_pod_that_never_preempts_waits() -> None:
    with running(queue("low"), queue("high", 2), nodes={"n1": 2}) as world:
        fill(world, "low", 2)
        modest = {"preemptionPolicy": "Never"}
        world.pod("modest", app="modest", queue="root.high", spec=modest)
        world.pod("usual", app="usual", queue="root.high")
        until(world, placed(world, "usual"))
        assert len(victims(world)) == 1
        assert world.where("modest") == ""


def daemon(node: str, uid: str = "daemon-set") -> dict[str, Any]:
    """What makes a pod one of a DaemonSet for one node."""
    field = {"key": "metadata.name", "operator": "In", "values": [node]}
    required = {"nodeSelectorTerms": [{"matchFields": [field]}]}
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}
    owner = {"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "d", "uid": uid}
    return {"spec": {"affinity": affinity}, "metadata": {"ownerReferences": [owner]}}


def make_daemon(world: World, name: str, node: str, **more: Any) -> None:
    """Create the pod of a DaemonSet for a node."""
    given = daemon(node)
    pod = world.pod(name, app=name, spec={**given["spec"], "schedulingGates": [{"name": "g"}]})
    spec = {"schedulingGates": None, **more}
    world.change(pod, metadata=given["metadata"], spec=spec)


def test_a_pod_of_a_daemon_set_gets_room_on_its_node_without_any_guarantee() -> None:
    with running(queue("a"), nodes={"n1": 2, "n2": 2}, preemption={"enabled": False}) as world:
        fill(world, "a", 4)
        on_n2 = {pod.name for pod in world.pods() if pod.spec.node_name == "n2"}
        # The queues have room (CYC-20), only this node has not.
        world.node("n3", cpu="2")
        make_daemon(world, "d2", "n2")
        until(world, placed(world, "d2"))
        assert world.where("d2") == "n2"
        (victim,) = victims(world)
        assert victim in on_n2


def test_a_pod_of_a_daemon_set_takes_the_room_of_pods_of_lower_priority() -> None:
    with running(queue("a"), nodes={"n1": 3}) as world:
        fill(world, "a", 2, spec={"priority": 1})
        fill(world, "above", 1, queue="root.a", spec={"priority": 100})
        world.node("n2", cpu="2")
        containers = [{"name": "c", "resources": {"requests": {"cpu": "2"}}}]
        make_daemon(world, "d", "n1", priority=10, containers=containers)
        until(world, placed(world, "d"))
        assert sorted(victims(world)) == ["a-0", "a-1"]
        assert world.where("above-0") == "n1"


def test_no_pod_of_higher_priority_leaves_for_one_of_a_daemon_set() -> None:
    with running(queue("a"), nodes={"n1": 1, "n2": 1}) as world:
        fill(world, "above", 1, queue="root.a", spec={"priority": 100})
        fill(world, "below", 1, queue="root.a", spec={"priority": 1})
        world.node("n3", cpu="2")
        make_daemon(world, "waits", world.where("above-0"), priority=10)
        make_daemon(world, "d", world.where("below-0"), priority=10)
        until(world, placed(world, "d"))
        assert victims(world) == ["below-0"]
        assert world.where("waits") == ""


def test_no_pod_of_a_daemon_set_leaves_for_another_one() -> None:
    with running(queue("a"), nodes={"n1": 2}) as world:
        make_daemon(world, "d1", "n1")
        world.run()
        fill(world, "a", 1)
        world.node("n2", cpu="1")
        make_daemon(world, "d2", "n1")
        until(world, placed(world, "d2"))
        assert victims(world) == ["a-0"]
        assert placed(world, "d1", "d2")()


def test_victim_and_preemptor_are_told_of_each_other() -> None:
    with running(queue("low"), queue("high", 1), nodes={"n1": 1}) as world:
        fill(world, "low", 1)
        world.pod("h", app="high", queue="root.high")
        until(world, placed(world, "h"))
        (told,) = world.told("Preempted")
        assert told == "Pod default/low-0 has to leave node n1 for pod default/h"
        (told,) = world.told("Preempting")
        assert "default/low-0" in told
        about = {each.reason: each.about.name for each in world.events}
        assert about["Preempted"] == "low-0"
        assert about["Preempting"] == "h"


def test_the_room_is_used_when_the_time_of_grace_is_over_and_not_before() -> None:
    with running(queue("low"), queue("high", 1), nodes={"n1": 1}) as world:
        fill(world, "low", 1)
        world.grace = {"low-0"}
        world.pod("h", app="high", queue="root.high")
        until(world, lambda: victims(world) == ["low-0"])
        # The server has the deletion; a minute of the shim's time passes.
        for _ in range(12):
            world.run(seconds=5)
        assert world.where("h") == ""
        assert victims(world) == ["low-0"]
        assert not [call for call in world.calls if isinstance(call, DeletePod)]
        world.drop(POD, "low-0", "default")
        world.run()
        assert world.where("h") == "n1"


def budget(allowed: int, labels: dict[str, str]) -> PodDisruptionBudget:
    return convert(
        PodDisruptionBudget,
        {
            "metadata": {"name": "b", "namespace": "default", "uid": "budget"},
            "spec": {"selector": {"matchLabels": labels}, "minAvailable": 1},
            "status": {"disruptionsAllowed": allowed},
        },
    )


def test_a_budget_is_respected_when_another_choice_exists() -> None:
    with running(queue("low"), queue("high", 1), nodes={"n1": 1, "n2": 1}) as world:
        world.put(BUDGET, budget(0, {"role": "guarded"}))
        fill(world, "low", 1)
        # The younger one would be the first choice, but for the budget.
        fill(world, "guarded", 1, queue="root.low", labels={"role": "guarded"})
        world.pod("h", app="high", queue="root.high")
        until(world, placed(world, "h"))
        assert victims(world) == ["low-0"]


def test_choices_that_break_a_budget_are_refused_at_first_and_then_let_pass() -> None:
    with running(queue("low"), queue("poor"), nodes={"n1": 1}) as world:
        world.put(BUDGET, budget(0, {"role": "guarded"}))
        fill(world, "guarded", 1, queue="root.low", labels={"role": "guarded"})
        guarded = world.current("guarded-0")
        assert guarded is not None
        waiting = world.pod("h", app="poor", queue="root.poor")
        question = si.PreemptionPredicatesArgs(
            allocationKey=waiting.uid, nodeID="n1", preemptAllocationKeys=[guarded.uid]
        )
        assert not world.shim.victims(question).success
        world.run(seconds=6)
        assert world.shim.victims(question).success
        # A minute later budgets count again, should the pod still wait.
        world.run(seconds=70)
        assert not world.shim.victims(question).success
        world.put(BUDGET, budget(1, {"role": "guarded"}))
        assert world.shim.victims(question).success


def test_a_victim_that_a_budget_holds_up_is_deleted_after_a_minute() -> None:
    with running(queue("low"), queue("high", 1), nodes={"n1": 1}) as world:
        fill(world, "low", 1)
        blocked = Outcome(Result.BLOCKED, "needs 1 healthy pods and has 1 currently")
        world.fail = lambda call: blocked if isinstance(call, EvictPod) else None
        world.pod("h", app="high", queue="root.high")
        until(world, lambda: victims(world) != [])
        assert "needs 1 healthy pods" in world.told("PreemptionBlocked")[0]
        for _ in range(11):
            world.run(seconds=5)
        assert world.where("h") == ""
        world.run(seconds=6)
        until(world, placed(world, "h"))
        assert any(isinstance(call, DeletePod) for call in world.calls)


def test_a_victim_is_deleted_at_once_when_the_server_has_no_evictions() -> None:
    with running(queue("low"), queue("high", 1), nodes={"n1": 1}) as world:
        fill(world, "low", 1)
        none = Outcome(Result.REFUSED, "the server has no evictions: delete the pod")
        world.fail = lambda call: none if isinstance(call, EvictPod) else None
        world.pod("h", app="high", queue="root.high")
        until(world, lambda: victims(world) != [])
        assert any(isinstance(call, DeletePod) for call in world.calls)
        until(world, placed(world, "h"))


def test_a_deletion_that_is_refused_is_tried_again_after_a_pause() -> None:
    with running(queue("low"), queue("high", 1), nodes={"n1": 1}) as world:
        fill(world, "low", 1)
        refused = Outcome(Result.REFUSED, "no")

        def answer(call: Effect) -> Outcome | None:
            return refused if isinstance(call, EvictPod | DeletePod) else None

        world.fail = answer
        world.pod("h", app="high", queue="root.high")
        until(world, lambda: victims(world) != [])
        world.fail = lambda _call: None
        world.run(seconds=6)
        until(world, placed(world, "h"))


def test_a_victim_whose_binding_is_still_under_way_leaves_as_well() -> None:
    with running(queue("low"), queue("high", 1), nodes={"n1": 1}) as world:
        held: list[BindPod] = []
        answered = world.shim.ended

        def hold(call: Effect) -> Outcome | None:
            if isinstance(call, BindPod) and call.pod.name == "low-0":
                held.append(call)
            return None

        def ended(number: int, outcome: Outcome) -> None:
            if number not in {each.number for each in held}:
                answered(number, outcome)

        world.fail = hold
        world.shim.ended = ended  # type: ignore[method-assign]
        world.pod("low-0", app="low", queue="root.low")
        world.run()
        world.pod("h", app="high", queue="root.high")
        until(world, placed(world, "h"))
        assert victims(world) == ["low-0"]
        (binding,) = held
        answered(binding.number, Outcome(Result.GONE, "not found"))
        world.run(seconds=120)
        assert world.where("h") == "n1"
