"""Gangs of workloads: pods of a controller, without any annotation, start together."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from remuda_kubernetes.objects.kinds import CONFIG_MAP, NAMESPACE, NODE, POD
from remuda_kubernetes.objects.outcomes import Outcome, Result
from remuda_kubernetes.objects.pods import Pod
from remuda_kubernetes.shim.effects import CreatePod, Effect, ReadObject
from remuda_kubernetes.shim.shim import Shim
from remuda_kubernetes.translation.settings import Settings
from tests.kubernetes.shim.world import World, until

PATH = "/apis/batch/v1/namespaces/default/jobs/train"
OWNER = {"apiVersion": "batch/v1", "kind": "Job", "name": "train", "uid": "job-1"}
TASK_GROUPS = "yunikorn.apache.org/task-groups"
KINDS = (CONFIG_MAP, NAMESPACE, NODE, POD)


@pytest.fixture
def world() -> Iterator[World]:
    made = World(extra={"service.workloads": "all"})
    yield made
    made.close()


def job(count: int, uid: str = "job-1") -> dict[str, Any]:
    requests = {"resources": {"requests": {"cpu": "1"}}}
    template = {"spec": {"containers": [{"name": "c", **requests}]}}
    return {"metadata": {"uid": uid}, "spec": {"parallelism": count, "template": template}}


def member(world: World, name: str, app: str = "", **more: Any) -> Pod:
    """Put a pod as the controller of Jobs makes it: it names no application."""
    return world.pod(name, app=app, owners=[{**OWNER, "controller": True}], **more)


def placeholders(world: World) -> list[Pod]:
    return [pod for pod in world.pods() if pod.name.startswith("tg-")]


def looks(world: World) -> list[str]:
    return [each.path for each in world.calls if isinstance(each, ReadObject)]


def run_on(world: World, names: list[str]) -> bool:
    return all(world.where(name) for name in names)


@pytest.mark.remuda_rule("EXT-139", "EXT-141")
def test_the_pods_of_a_job_start_together_or_not_at_all(world: World) -> None:
    world.node("n1", cpu="2")
    world.start()
    world.others[PATH] = job(3)
    names = ["a", "b", "c"]
    for name in names:
        member(world, name)
    world.run()
    assert not any(world.where(name) for name in names)
    assert looks(world) == [PATH]
    assert len(placeholders(world)) == 3
    world.node("n2", cpu="1")
    until(world, lambda: run_on(world, names))
    until(world, lambda: not placeholders(world))
    assert world.told("GangScheduling")


def test_without_the_setting_nothing_is_derived() -> None:
    world = World()
    world.node("n1", cpu="2")
    world.start()
    world.others[PATH] = job(3)
    member(world, "a")
    until(world, lambda: world.where("a") == "n1")
    assert looks(world) == []
    world.close()


@pytest.mark.remuda_rule("EXT-140")
@pytest.mark.parametrize(
    "more",
    [{"app": "mine"}, {"annotations": {"remuda/gang": "false"}}],
    ids=["named", "declined"],
)
def test_a_pod_that_says_otherwise_waits_for_nobody(world: World, more: dict[str, Any]) -> None:
    world.node("n1", cpu="2")
    world.start()
    world.others[PATH] = job(3)
    member(world, "a", **more)
    until(world, lambda: world.where("a") == "n1")
    assert looks(world) == []
    assert placeholders(world) == []


@pytest.mark.remuda_rule("EXT-141")
@pytest.mark.parametrize(
    "outcome,content,told",
    [
        (None, None, "see whether it was deleted"),
        (None, job(3, uid="another"), "was deleted and made anew"),
        (None, {"metadata": {"uid": "job-1"}}, "cannot be read"),
        (Outcome(Result.REFUSED, "forbidden"), None, "grant the scheduler the right"),
        (Outcome(Result.FAILED, "no answer"), None, "see whether the API server answers"),
        (Outcome(Result.DONE, content=b"{"), None, "cannot be read"),
    ],
)
def test_pods_of_an_object_that_cannot_be_read_are_scheduled_one_by_one(
    world: World, outcome: Outcome | None, content: dict[str, Any] | None, told: str
) -> None:
    def fail(call: Effect) -> Outcome | None:
        return outcome if isinstance(call, ReadObject) else None

    world.fail = fail
    world.node("n1", cpu="2")
    world.start()
    if content is not None:
        world.others[PATH] = content
    member(world, "a")
    until(world, lambda: world.where("a") == "n1")
    (text,) = world.told("GangScheduling")
    assert "Job default/train" in text
    assert told in text
    assert text.endswith("so its pods are scheduled one by one")


def test_a_workload_whose_pods_went_meanwhile_is_forgotten(world: World) -> None:
    world.node("n1")
    world.start()
    member(world, "a")
    # Its pod is gone before the answer comes.
    world.drop(POD, "a", "default")
    world.others[PATH] = job(3)
    world.run()
    assert world.shim.dump()["applications"] == []
    assert placeholders(world) == []


def restart(world: World) -> None:
    """Let another process take over: it knows nothing but the objects."""
    before, world.shim = world.objects, Shim(Settings(), "rm", "yunikorn")
    world.objects = {}
    world.calls.clear()
    for (kind, _, _), found in before.items():
        world.put(next(each for each in KINDS if each.name == kind), found)
    world.start()


@pytest.mark.remuda_rule("EXT-141")
def test_after_a_restart_a_gang_that_reserves_goes_on(world: World) -> None:
    world.node("n1", cpu="2")
    world.start()
    world.others[PATH] = job(3)
    for name in ("a", "b", "c"):
        member(world, name)
    until(world, lambda: sum(bool(each.spec.node_name) for each in placeholders(world)) == 2)
    restart(world)
    # What it is follows from the placeholders, of which none is made again.
    assert looks(world) == []
    assert not any(isinstance(each, CreatePod) for each in world.calls)
    assert not world.where("a")
    world.node("n2", cpu="1")
    until(world, lambda: run_on(world, ["a", "b", "c"]))


@pytest.mark.remuda_rule("EXT-141")
def test_after_a_restart_what_runs_is_told_at_once(world: World) -> None:
    world.node("n1", cpu="4")
    world.start()
    world.others[PATH] = job(3)
    for name in ("a", "b", "c"):
        member(world, name)
    until(world, lambda: run_on(world, ["a", "b", "c"]) and not placeholders(world))
    restart(world)
    assert looks(world) == []
    assert placeholders(world) == []
    # A pod that follows is one of an application that has begun.
    member(world, "d")
    until(world, lambda: world.where("d") == "n1")
    (application,) = world.shim.dump()["applications"]
    assert application["state"] == "Running"


@pytest.mark.remuda_rule("EXT-140")
def test_groups_that_a_pod_names_count_before_its_job(world: World) -> None:
    world.node("n1", cpu="4")
    world.start()
    world.others[PATH] = job(3)
    text = '[{"name": "mine", "minMember": 2, "minResource": {"cpu": "1"}}]'
    member(world, "a", annotations={TASK_GROUPS: text})
    until(world, lambda: len(placeholders(world)) == 2)
    assert looks(world) == []
