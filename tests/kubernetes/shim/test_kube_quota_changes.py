"""What happens to pods when the maximum of their queue is lowered."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from tests.kubernetes.shim.queue_worlds import document, fill, parent, queue, running, victims
from tests.kubernetes.shim.world import World, until

SOON = {"quota.preemption.delay": "10ms"}
LATE = {"quota.preemption.delay": "1h"}
ON = {"preemption": {"quotapreemptionenabled": True}}
# Queues of tests are looked at every second; so long a wait has seen the queue several times.
SECONDS = 1.5


@contextmanager
def full(properties: dict[str, str], **partition: Any) -> Iterator[World]:
    """A world whose queue root.a has a maximum of 4 cores and uses them."""
    a = queue("a", maximum=4, properties=properties)
    with running(a, control(4), nodes={"n1": 8}, **(partition or ON)) as world:
        fill(world, "a", 4)
        fill(world, "control", 4)
        yield world


def control(maximum: int) -> dict[str, Any]:
    """Another queue; when its pods have to leave, those of all queues were looked at."""
    return queue("control", maximum=maximum, properties=SOON)


def change(world: World, maximum: int, properties: dict[str, str], **partition: Any) -> None:
    """Set another maximum of root.a."""
    a = queue("a", maximum=maximum, properties=properties)
    text = document(a, control(4), **(partition or ON))
    world.config({"queues.yaml": text})
    world.run()


def of_a(world: World) -> list[str]:
    return [name for name in victims(world) if name.startswith("a-")]


def nobody_leaves(world: World, maximum: int, properties: dict[str, str]) -> None:
    """See that pods of another queue leave by the same change, and none of root.a."""
    text = document(queue("a", maximum=maximum, properties=properties), control(2), **ON)
    world.config({"queues.yaml": text})
    until(world, lambda: len(victims(world)) == 2)
    assert of_a(world) == []


def test_pods_above_a_lowered_maximum_leave_and_are_told_why() -> None:
    with full(SOON) as world:
        change(world, 2, SOON)
        until(world, lambda: len(of_a(world)) == 2)
        texts = world.told("Preempted")
        assert len(texts) == 2
        assert all("quota" in text and "root.a" in text for text in texts)
        assert world.told("Preempting") == []
        # What is left fits: nothing more leaves, and nothing more comes.
        world.pod("more", app="a", queue="root.a")
        nobody_leaves_now = len(of_a(world))
        world.run(seconds=30)
        assert world.where("more") == ""
        assert len(of_a(world)) == nobody_leaves_now


def test_nobody_leaves_when_the_maximum_is_raised() -> None:
    with full(SOON) as world:
        nobody_leaves(world, 6, SOON)


def test_nobody_leaves_before_the_delay_is_over() -> None:
    with full(LATE) as world:
        nobody_leaves(world, 2, LATE)


def test_nobody_leaves_with_a_delay_of_zero() -> None:
    with full({"quota.preemption.delay": "0s"}) as world:
        nobody_leaves(world, 2, {"quota.preemption.delay": "0s"})


def test_nobody_leaves_while_the_partition_does_not_allow_it() -> None:
    off = {"preemption": {"quotapreemptionenabled": False}}
    with full(SOON, **off) as world:
        change(world, 2, SOON, **off)
        deadline = time.monotonic() + SECONDS
        until(world, lambda: time.monotonic() > deadline)
        assert victims(world) == []


def test_a_queue_has_the_delay_of_its_parent() -> None:
    def queues(maximum: int) -> dict[str, Any]:
        return parent("p", [queue("a", maximum=maximum)], properties=SOON)

    with running(queues(3), nodes={"n1": 8}, **ON) as world:
        fill(world, "a", 3, queue="root.p.a")
        world.config({"queues.yaml": document(queues(1), **ON)})
        until(world, lambda: len(victims(world)) == 2)


def test_nobody_leaves_when_the_new_maximum_is_above_the_use() -> None:
    a = queue("a", maximum=8, properties=SOON)
    with running(a, control(4), nodes={"n1": 16}, **ON) as world:
        fill(world, "a", 4)
        fill(world, "control", 4)
        nobody_leaves(world, 5, SOON)


def test_a_shorter_delay_moves_the_time_forward() -> None:
    with full(LATE) as world:
        change(world, 2, LATE)
        assert of_a(world) == []
        change(world, 2, SOON)
        until(world, lambda: len(of_a(world)) == 2)


def test_a_further_reduction_keeps_the_time_and_counts_whole() -> None:
    # The first reduction is an hour away; the second comes with the shorter delay.
    with full(LATE) as world:
        change(world, 3, LATE)
        change(world, 1, SOON)
        until(world, lambda: len(of_a(world)) == 3)


@pytest.mark.parametrize("kept", ["a-0", "a-3"])
def test_a_pod_that_opted_out_stays_as_long_as_others_suffice(kept: str) -> None:
    a = queue("a", maximum=4, properties=SOON)
    with running(a, control(4), nodes={"n1": 8}, **ON) as world:
        for number in range(4):
            name = f"a-{number}"
            notes = {"yunikorn.apache.org/allow-preemption": str(name != kept).lower()}
            world.pod(name, app="a", queue="root.a", annotations=notes)
        world.run()
        change(world, 1, SOON)
        until(world, lambda: len(of_a(world)) == 3)
        assert kept not in of_a(world)
