"""What is kept of changed maximums is corrupted, one thing at a time, and must be noticed.

One queue is due in ten minutes, in one a run is on, and below that one waits for its end.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from remuda.base.errors import InvariantViolation
from remuda.core.model import deadlines
from remuda.core.model.partition import Partition
from remuda.core.model.preemption.live import DONE, QUEUE, Preemption
from remuda.core.model.queues.queue import Queue
from tests.unit.core.door import MINUTE
from tests.unit.core.rules.quota import Quotas, above, queue


class World:
    """The scheduler and short ways to its parts."""

    def __init__(self) -> None:
        self.door = door = Quotas(above("p", queue("a", 100), maximum=100), queue("b", 100))
        door.fill("root.p.a", 5)
        door.fill("root.b", 5)
        door.change(above("p", queue("a", 20), maximum=60), queue("b", 100))
        assert len(door.evicted(10 * MINUTE)) == 2
        door.change(above("p", queue("a", 20), maximum=60), queue("b", 60))
        door.scheduler.check()
        assert sorted(self.partition.preempting.quotas.armed) == ["root.b", "root.p.a"]

    @property
    def partition(self) -> Partition:
        (partition,) = self.door.scheduler._cluster.partitions()
        return partition

    def queue(self, path: str) -> Queue:
        found = self.partition.queue(path)
        assert found is not None
        return found

    @property
    def run(self) -> Preemption:
        found = self.queue("root.p").quota_run
        assert found is not None
        return found


Corruption = Callable[[World], None]


def a_time_is_not_listed(world: World) -> None:
    del world.partition.preempting.quotas.armed["root.b"]


def a_time_is_listed_and_gone(world: World) -> None:
    world.queue("root.b").quota_due_ns = 0


def a_queue_has_a_time_and_no_maximum(world: World) -> None:
    world.queue("root.b").maximum = None


def a_queue_has_a_time_and_no_delay(world: World) -> None:
    world.queue("root.b").settings.quota_preemption_delay_ns = 0


def a_dynamic_queue_has_a_time(world: World) -> None:
    world.queue("root.b").managed = False


def root_has_a_time(world: World) -> None:
    world.partition.preempting.quotas.arm(world.partition.root, world.door.now + MINUTE)


def nobody_will_look(world: World) -> None:
    world.partition.preempting.quotas.tick_ns = 0


def somebody_looks_too_early(world: World) -> None:
    world.queue("root.b").quota_due_ns += MINUTE


def somebody_looks_at_a_fraction_of_a_second(world: World) -> None:
    world.partition.preempting.quotas.tick_ns += 1


def the_timer_is_gone(world: World) -> None:
    for each in world.door.scheduler._cluster.deadlines.running():
        if each.what == deadlines.QUOTA:
            each.at_ns += 1


def the_wait_for_a_run_has_a_timer(world: World) -> None:
    world.partition.preempting.quotas.disarm(world.queue("root.b"))


def a_run_is_not_listed(world: World) -> None:
    world.partition.preempting.quotas.running.clear()


def a_run_is_listed_and_not_on(world: World) -> None:
    world.queue("root.p").quota_run = None


def a_run_is_over_and_did_not_end(world: World) -> None:
    world.partition.preempting.quotas.ended.append(world.run)


def a_run_is_on_and_ended(world: World) -> None:
    world.run.outcome = DONE


def a_run_is_no_run(world: World) -> None:
    world.run.kind = QUEUE


def a_run_is_that_of_another_queue(world: World) -> None:
    world.run.queue_path = "root.b"


def a_run_is_forgotten(world: World) -> None:
    world.partition.preempting.made.clear()


def a_run_awaits_one_victim_more(world: World) -> None:
    world.run.left += 1


CORRUPTIONS: tuple[Corruption, ...] = (
    a_time_is_not_listed,
    a_time_is_listed_and_gone,
    a_queue_has_a_time_and_no_maximum,
    a_queue_has_a_time_and_no_delay,
    a_dynamic_queue_has_a_time,
    root_has_a_time,
    nobody_will_look,
    somebody_looks_too_early,
    somebody_looks_at_a_fraction_of_a_second,
    the_timer_is_gone,
    the_wait_for_a_run_has_a_timer,
    a_run_is_not_listed,
    a_run_is_listed_and_not_on,
    a_run_is_over_and_did_not_end,
    a_run_is_on_and_ended,
    a_run_is_no_run,
    a_run_is_that_of_another_queue,
    a_run_is_forgotten,
    a_run_awaits_one_victim_more,
)


@pytest.mark.remuda_rule("PRE-64", "PRE-65")
@pytest.mark.parametrize("corrupt", CORRUPTIONS, ids=lambda corrupt: corrupt.__name__)
def test_what_is_corrupted_is_noticed(corrupt: Corruption) -> None:
    world = World()
    corrupt(world)
    with pytest.raises(InvariantViolation):
        world.door.scheduler.check()
