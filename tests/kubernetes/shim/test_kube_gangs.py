from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from remuda.si.pb import si_pb2 as si
from remuda_kubernetes.objects.kinds import NODE, POD
from remuda_kubernetes.objects.outcomes import Outcome, Result
from remuda_kubernetes.objects.pods import Pod
from remuda_kubernetes.objects.values import convert, plain
from remuda_kubernetes.shim.effects import BindPod, CreatePod, DeletePod
from tests.kubernetes.shim.world import World, until
from tests.kubernetes.work import lines

GROUPS = "yunikorn.apache.org/task-groups"
GROUP = "yunikorn.apache.org/task-group-name"
POLICY = "yunikorn.apache.org/schedulingPolicyParameters"


@pytest.fixture
def world() -> Iterator[World]:
    made = World()
    yield made
    made.close()


def groups(members: int, cpu: str = "1", name: str = "workers") -> dict[str, str]:
    group = {"name": name, "minMember": members, "minResource": {"cpu": cpu, "memory": "0"}}
    return {GROUPS: json.dumps([group])}


def placeholders(world: World) -> list[Pod]:
    return [pod for pod in world.pods() if pod.name.startswith("tg-")]


def member(world: World, name: str, **more: Any) -> Pod:
    return world.pod(name, annotations={GROUP: "workers"}, **more)


def test_placeholders_keep_the_room_until_the_members_take_it(world: World) -> None:
    world.node("n1", cpu="4")
    world.start()
    world.pod("driver", cpu="1", annotations=groups(3))
    world.run()
    # The placeholders have their nodes, and the originator runs with what is left.
    assert [pod.spec.node_name for pod in placeholders(world)] == ["n1"] * 3
    assert world.where("driver") == "n1"
    for name in ("w1", "w2", "w3"):
        member(world, name)
    until(world, lambda: all(world.where(name) == "n1" for name in ("w1", "w2", "w3")))
    assert placeholders(world) == []


def test_members_wait_while_the_gang_has_not_its_room(world: World) -> None:
    world.node("n1", cpu="2")
    world.start()
    world.pod("driver", cpu="1", annotations=groups(3))
    member(world, "w1")
    world.run()
    assert world.where("driver") == world.where("w1") == ""
    world.node("n2", cpu="3")
    until(world, lambda: world.where("driver") != "" and world.where("w1") != "")


def test_a_soft_gang_starts_without_its_room_when_the_time_is_over(world: World) -> None:
    world.node("n1", cpu="2")
    world.start()
    annotations = groups(3) | {POLICY: "placeholderTimeoutInSeconds=1 gangSchedulingStyle=Soft"}
    world.pod("driver", cpu="1", annotations=annotations)
    until(world, lambda: world.where("driver") == "n1")
    assert placeholders(world) == []


def test_a_hard_gang_fails_when_the_time_is_over(world: World) -> None:
    world.node("n1", cpu="2")
    world.start()
    annotations = groups(3) | {POLICY: "placeholderTimeoutInSeconds=1 gangSchedulingStyle=Hard"}
    world.pod("driver", cpu="1", annotations=annotations)

    def failed() -> bool:
        pod = world.current("driver")
        return pod is not None and pod.status.phase == "Failed"

    until(world, failed)
    until(world, lambda: placeholders(world) == [])
    assert world.told("TaskFailed")


def test_after_a_restart_only_the_missing_placeholders_are_made(world: World) -> None:
    world.node("n1", cpu="4")
    world.start()
    world.pod("driver", cpu="1", annotations=groups(3))
    world.run()
    made = {pod.name for pod in placeholders(world)}
    world.calls.clear()
    gone = min(made)
    world.shim.lost()
    world.drop(POD, gone, "default")
    world.shim.register_again()
    world.run()
    (created,) = [call for call in world.calls if isinstance(call, CreatePod)]
    assert created.manifest["metadata"]["name"] == gone
    assert {pod.name for pod in placeholders(world)} == made
    assert world.where("driver") == "n1"


def test_a_gang_whose_originator_is_a_member_goes_on_after_a_restart(world: World) -> None:
    world.node("n1", cpu="4")
    world.start()
    world.pod("w0", cpu="1", annotations=groups(3) | {GROUP: "workers"})
    until(world, lambda: world.where("w0") == "n1")
    world.run()
    assert len(placeholders(world)) == 2
    world.shim.lost()
    world.shim.register_again()
    world.run()
    member(world, "w1")
    member(world, "w2")
    until(world, lambda: world.where("w1") == world.where("w2") == "n1")
    assert placeholders(world) == []


def test_a_gang_that_has_begun_goes_on_after_a_restart_without_the_node_of_its_member(
    world: World,
) -> None:
    world.node("n1", cpu="1")
    world.start()
    world.pod("driver", cpu="20", annotations=groups(3))
    world.run()
    world.node("n2", cpu="2")
    world.run()
    member(world, "w1")
    until(world, lambda: world.where("w1") != "")
    gone = world.where("w1")
    world.shim.lost()
    world.drop(NODE, gone)
    for pod in placeholders(world):
        if pod.spec.node_name == gone:
            world.drop(POD, pod.name, "default")
    # Else the scheduler would not hold the members back.
    assert placeholders(world)
    world.shim.register_again()
    world.run()
    member(world, "w2")
    until(world, lambda: world.where("w2") not in ("", gone))


def test_members_begin_anew_when_the_originator_goes_before_the_gang_began(world: World) -> None:
    world.node("n1", cpu="4")
    world.start()
    no = Outcome(Result.REFUSED, "exceeded quota")
    world.fail = lambda call: no if isinstance(call, CreatePod) else None
    for name in ("w1", "w2"):
        world.pod(name, annotations=groups(2) | {GROUP: "workers"})
    world.run()
    world.drop(POD, "w1", "default")
    world.run()
    world.fail = lambda _call: None
    world.pod("w3", annotations=groups(2) | {GROUP: "workers"})
    world.run(seconds=6)
    until(world, lambda: world.where("w2") == world.where("w3") == "n1")
    (application,) = world.shim.dump()["applications"]
    assert application["originator"] == "default/w2"
    assert application["gang"]


def test_placeholders_of_a_gang_that_never_began_are_not_reported_again(world: World) -> None:
    world.node("n1", cpu="2")
    world.start()
    world.pod("w1", cpu="1", annotations=groups(3) | {GROUP: "workers"})
    world.pod("w2", cpu="1", annotations={GROUP: "workers"})
    world.run()
    held = {pod.uid for pod in placeholders(world) if pod.spec.node_name}
    assert len(held) == 2
    sent: list[Any] = []
    send = world._send

    def record(request: Any) -> None:
        sent.append(request)
        send(request)

    world._send = record  # type: ignore[method-assign]
    away = Outcome(Result.FAILED, "no answer")
    world.fail = lambda call: away if isinstance(call, DeletePod) else None
    world.drop(POD, "w1", "default")
    world.run()
    assert any(isinstance(each, si.ApplicationRequest) and each.remove for each in sent)
    reported = [
        each.allocationKey
        for request in sent
        if isinstance(request, si.AllocationRequest)
        for each in request.allocations
    ]
    assert held & set(reported) == set()
    world.fail = lambda _call: None
    world.run(seconds=6)
    until(world, lambda: world.where("w2") == "n1")
    assert placeholders(world) == []


def test_a_placeholder_that_nobody_saw_is_created_again(world: World) -> None:
    world.node("n1", cpu="4")
    world.start()
    # It was deleted while the watch was interrupted, which then tells nothing of it.
    unseen = iter([Outcome(Result.DONE)])
    world.fail = lambda call: next(unseen, None) if isinstance(call, CreatePod) else None
    world.pod("driver", annotations=groups(2))
    world.run()
    assert len(placeholders(world)) == 1
    world.run(seconds=31)
    until(world, lambda: world.where("driver") == "n1")


def test_placeholders_go_when_the_originator_is_deleted(world: World) -> None:
    world.node("n1", cpu="2")
    world.start()
    world.pod("driver", cpu="1", annotations=groups(3))
    world.run()
    assert placeholders(world)
    world.drop(POD, "driver", "default")
    world.run()
    assert placeholders(world) == []


def test_a_placeholder_that_cannot_be_deleted_is_tried_again(world: World) -> None:
    world.node("n1", cpu="2")
    world.start()
    world.pod("driver", cpu="1", annotations=groups(2))
    failures = iter([Outcome(Result.FAILED, "no answer")] * 2)
    world.fail = lambda call: next(failures, None) if isinstance(call, DeletePod) else None
    world.run()
    world.drop(POD, "driver", "default")
    world.run()
    world.run(seconds=6)
    world.run(seconds=6)
    assert placeholders(world) == []


def test_task_groups_that_cannot_be_read_are_told_and_the_pod_runs_alone(world: World) -> None:
    world.node("n1", cpu="2")
    world.start()
    world.pod("driver", cpu="1", annotations={GROUPS: "[{"})
    world.run()
    assert world.where("driver") == "n1"
    (text,) = world.told("GangScheduling")
    assert "task-groups" in text


def test_a_placeholder_that_is_made_after_its_gang_has_given_up_goes_at_once(world: World) -> None:
    world.node("n1", cpu="8")
    world.start()
    late: list[CreatePod] = []

    def hold(call: Any) -> Outcome | None:
        if not isinstance(call, CreatePod):
            return None
        late.append(call)
        return Outcome(Result.DONE)

    world.fail = hold
    world.pod("driver", cpu="1", annotations=groups(2))
    world.run()
    world.drop(POD, "driver", "default")
    world.run()
    world.fail = lambda _call: None
    for call in late:
        world._create(call)
    world.run()
    assert len(late) == 2
    assert placeholders(world) == []


def test_the_owner_of_placeholders_speaks_for_the_gang_after_a_restart(world: World) -> None:
    world.node("n1", cpu="2")
    world.start()
    world.pod("zebra", cpu="1", annotations=groups(3))
    member(world, "ant")
    world.run()
    created = placeholders(world)[0].metadata.creation_timestamp
    for pod in world.pods():
        # All are of one second, so their names would decide.
        world.change(pod, metadata={"creationTimestamp": created})
    world.shim.lost()
    world.shim.register_again()
    world.run()
    (application,) = world.shim.dump()["applications"]
    assert application["originator"] == "default/zebra"


def test_a_placeholder_that_its_node_refused_is_made_again_under_another_name(world: World) -> None:
    world.node("n1", cpu="4")
    world.start()
    world.pod("driver", cpu="1", annotations=groups(3))
    member(world, "w1")
    world.fail = lambda call: Outcome(Result.FAILED, "away") if isinstance(call, BindPod) else None
    world.run()
    refused = placeholders(world)[0]
    # The watch is one of pods that have not ended, so the pod is gone for it; the server has it.
    failed = convert(Pod, {**plain(refused), "status": {"phase": "Failed"}})
    world.objects["Pod", "default", refused.name] = failed
    world.shim.changed(POD, refused, None)
    world.fail = lambda _call: None
    until(world, lambda: world.where("w1") == "n1")


def test_the_work_for_refused_placeholders_grows_with_their_number_and_not_its_square() -> None:
    def work(members: int) -> int:
        world = World()
        try:
            world.start()
            no = Outcome(Result.REFUSED, "exceeded quota")
            world.fail = lambda call: no if isinstance(call, CreatePod) else None
            world.pod("driver", annotations=groups(members))
            world.run()
            return lines(lambda: world.run(seconds=6))
        finally:
            world.close()

    assert work(80) < 6 * work(20)


def test_the_work_for_a_placeholder_with_a_node_does_not_grow_with_the_gang() -> None:
    def work(members: int) -> int:
        world = World()
        try:
            world.start()
            world.pod("driver", annotations=groups(members))
            world.run()
            first = placeholders(world)[0]
            return lines(lambda: world.change(first, spec={"nodeName": "n1"}))
        finally:
            world.close()

    assert work(80) < 1.2 * work(20)
