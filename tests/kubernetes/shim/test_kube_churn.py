"""What came and went leaves nothing behind in the state machine, and nothing in the scheduler."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from remuda.core.messages.queries import ApplicationsQuery
from remuda.si.pb import si_pb2 as si
from remuda_kubernetes.objects.kinds import POD
from remuda_kubernetes.objects.outcomes import Outcome, Result
from remuda_kubernetes.shim.effects import BindPod, CreatePod
from tests.kubernetes.containers import lengths
from tests.kubernetes.shim.world import World

ROUNDS = 20


@pytest.fixture
def world() -> Iterator[World]:
    made = World()
    made.node("n1")
    made.start()
    yield made
    made.close()


def runs(world: World, number: int) -> None:
    world.pod(f"p{number}", app=f"runs{number}")


def waits(world: World, number: int) -> None:
    world.pod(f"p{number}", app=f"waits{number}", cpu="100")


def is_not_bound(world: World, number: int) -> None:
    world.fail = lambda call: Outcome(Result.REFUSED, "no") if isinstance(call, BindPod) else None
    world.pod(f"p{number}", app=f"unbound{number}")


def is_put_on_another_node_by_others(world: World, number: int) -> None:
    pod = world.pod(f"p{number}", spec={"schedulerName": "other", "nodeName": f"gone{number}"})
    world.change(pod, spec={"nodeName": "n1"})


def goes_before_the_scheduler_knows_it(world: World, number: int) -> None:
    world.pod(f"p{number}", app=f"short{number}")
    world.drop(POD, f"p{number}", "default")


def goes_before_its_namespace_is_known(world: World, number: int) -> None:
    space = f"space{number}"
    world.pod(f"p{number}", app=f"lost{number}", namespace=space, known=False)
    world.run()
    world.drop(POD, f"p{number}", space)


def speaks_for_a_gang(world: World, number: int) -> None:
    group = {"name": "workers", "minMember": 2, "minResource": {"cpu": "1"}}
    notes = {"yunikorn.apache.org/task-groups": json.dumps([group])}
    world.pod(f"p{number}", app=f"gang{number}", annotations=notes)


def speaks_for_a_gang_without_placeholders(world: World, number: int) -> None:
    world.fail = lambda call: Outcome(Result.REFUSED, "no") if isinstance(call, CreatePod) else None
    speaks_for_a_gang(world, number)


@pytest.mark.parametrize(
    "happens",
    [
        runs,
        waits,
        is_not_bound,
        is_put_on_another_node_by_others,
        goes_before_the_scheduler_knows_it,
        goes_before_its_namespace_is_known,
        speaks_for_a_gang,
        speaks_for_a_gang_without_placeholders,
    ],
)
def test_nothing_is_kept_of_pods_that_came_and_went(
    world: World, happens: Callable[[World, int], None]
) -> None:
    kept = []
    for number in range(2 * ROUNDS):
        happens(world, number)
        world.run()
        world.fail = lambda _call: None
        for pod in world.pods():
            # A placeholder goes with the pod that speaks for its gang.
            if world.current(pod.name) is not None:
                world.drop(POD, pod.name, "default")
            world.run()
        if number in {ROUNDS - 1, 2 * ROUNDS - 1}:
            # Longer than every pause of the shim.
            world.run(seconds=400)
            end_all(world)
            world.shim.take_latencies()
            kept.append(lengths(world.shim))
    assert kept[0] == kept[1]
    assert world.shim.dump()["applications"] == []
    # One that never had an ask would be there for ever.
    assert "New" not in states(world).values()


def states(world: World) -> dict[str, str]:
    """The states of all applications that the scheduler has."""
    world.scheduler.wait_idle(30.0)
    found: Any = world.scheduler.core.query(ApplicationsQuery("default", "", "rm")).result(30.0)
    return {each.application_id: each.state for each in found}


def end_all(world: World) -> None:
    """Let the scheduler say what it says some time after the last pod of an application."""
    begun = [name for name, state in states(world).items() if state != "New"]
    ended = [si.UpdatedApplication(applicationID=name, state="Completed") for name in begun]
    world.shim.answered([si.ApplicationResponse(updated=ended)])
    world.run()
