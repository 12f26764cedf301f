"""Which change gives a queue a start time (PRE-63, PRE-64, PRE-66; edge cases 47, 52, 54, 55)."""

from __future__ import annotations

import pytest

from remuda.base.resources import Resource
from remuda.config.schema import Configuration, QueueConfig, TemplateConfig
from remuda.core.messages import commands as c
from tests.unit.core.door import (
    CREATING,
    MINUTE,
    SECOND,
    START,
    Properties,
    leaf,
    parent,
    partition,
)
from tests.unit.core.rules.quota import (
    DELAY,
    OFF,
    ON,
    Quotas,
    above,
    bytes_of,
    queue,
    summaries,
)

FIVE = {"quota.preemption.delay": "5m"}
FIFTEEN = {"quota.preemption.delay": "15m"}
OLD_NAME = {"preemption.quota.delay": "10m"}
PAUSE, RESUME = c.PauseResourceManager("rm"), c.ResumeResourceManager("rm")


def used(*queues: QueueConfig, **other: object) -> Quotas:
    """A leaf that may use 100 unless said otherwise, and uses five times 20."""
    door = Quotas(*(queues or (queue("a", 100),)), **other)
    door.fill("root.a", 5)
    return door


@pytest.mark.remuda_rule("PRE-64", "PRE-65")
def test_a_lowered_maximum_is_enforced_after_the_delay() -> None:
    door = used()
    door.change(queue("a", 60))
    assert door.begins_at(10 * MINUTE)
    door.confirm()
    assert door.used("root.a") == bytes_of(60)


@pytest.mark.remuda_rule("PRE-64")
def test_a_second_change_keeps_the_time_and_a_longer_delay_moves_it() -> None:
    """The example of PRE-64: due at 10 m, still 10 m, then 15 m."""
    door = used()
    door.change(queue("a", 80))
    assert door.at(4 * MINUTE) == []
    door.change(queue("a", 60))
    assert door.at(6 * MINUTE) == []
    door.change(queue("a", 60, properties=FIFTEEN))
    assert door.begins_at(15 * MINUTE)


@pytest.mark.remuda_rule("PRE-64")
def test_without_the_longer_delay_it_is_due_ten_minutes_after_the_first_change() -> None:
    door = used()
    door.change(queue("a", 80))
    assert door.at(4 * MINUTE) == []
    door.change(queue("a", 60))
    assert door.begins_at(10 * MINUTE)


@pytest.mark.remuda_rule("PRE-64")
def test_a_shorter_delay_may_make_it_due_at_once() -> None:
    door = used()
    door.change(queue("a", 60))
    assert door.at(6 * MINUTE) == []
    door.change(queue("a", 60, properties=FIVE))
    assert door.evicted() == ["a01", "a02"]
    assert door.queue("root.a").preempting == bytes_of(40)


@pytest.mark.remuda_rule("PRE-64")
def test_a_lower_maximum_and_another_delay_at_once_move_the_time() -> None:
    door = used()
    door.change(queue("a", 80))
    assert door.at(2 * MINUTE) == []
    door.change(queue("a", 60, properties=FIFTEEN))
    assert door.begins_at(15 * MINUTE)


@pytest.mark.remuda_rule("PRE-64")
def test_a_delay_that_was_off_counts_from_when_it_is_on() -> None:
    door = used(queue("a", 100, properties=OFF))
    door.change(queue("a", 60, properties=OFF))
    assert door.at(3 * MINUTE) == []
    door.change(queue("a", 60))
    assert door.begins_at(13 * MINUTE)


@pytest.mark.remuda_rule("PRE-64")
def test_a_delay_that_is_switched_off_ends_it() -> None:
    door = used()
    door.change(queue("a", 60))
    assert door.at(9 * MINUTE) == []
    door.change(queue("a", 60, properties=OFF))
    assert door.at(60 * MINUTE) == []
    assert door.queue("root.a").preempting == {}


@pytest.mark.remuda_rule("PRE-63", "PRE-64")
@pytest.mark.parametrize("on, delay", [(False, ON), (True, {}), (True, OFF)])
def test_off_unless_the_partition_and_the_queue_want_it(*, on: bool, delay: Properties) -> None:
    door = used(queue("a", 100, properties=delay), quota_preemption=on)
    door.change(queue("a", 60, properties=delay), quota_preemption=on)
    assert door.at(60 * MINUTE) == []


@pytest.mark.remuda_rule("PRE-63", "PRE-64")
def test_the_switch_of_the_partition_counts_like_that_of_the_delay() -> None:
    door = used(quota_preemption=False)
    door.change(queue("a", 60), quota_preemption=False)
    assert door.at(30 * MINUTE) == []
    door.change(queue("a", 60))
    assert door.at(39 * MINUTE) == []
    door.change(queue("a", 60), quota_preemption=False)
    assert door.at(50 * MINUTE) == []
    door.change(queue("a", 60))
    assert door.begins_at(60 * MINUTE)


@pytest.mark.remuda_rule("PRE-63")
def test_the_older_name_of_the_delay_is_understood() -> None:
    door = used(queue("a", 100, properties=OLD_NAME))
    door.change(queue("a", 60, properties=OLD_NAME))
    assert door.begins_at(10 * MINUTE)


@pytest.mark.remuda_rule("PRE-64")
@pytest.mark.parametrize("raised_to", [100, 0])
def test_a_maximum_that_use_is_within_again_ends_it(raised_to: int) -> None:
    """Edge case 54: lowered, then raised or taken away before it is due."""
    door = used()
    door.change(queue("a", 60))
    assert door.at(9 * MINUTE) == []
    door.change(queue("a", raised_to))
    assert door.at(9 * MINUTE) == []
    door.change(queue("a", 60))
    assert door.begins_at(19 * MINUTE)


@pytest.mark.remuda_rule("PRE-64")
def test_a_maximum_that_is_raised_and_still_below_use_keeps_the_time() -> None:
    door = used()
    door.change(queue("a", 40))
    assert door.at(4 * MINUTE) == []
    door.change(queue("a", 80))
    assert door.at(10 * MINUTE - 1) == []
    assert len(door.at(10 * MINUTE)) == 1


@pytest.mark.remuda_rule("PRE-64")
@pytest.mark.parametrize(
    "old, new",
    [
        (None, {"memory": 50}),
        ({"vcore": 200}, {"vcore": 200, "memory": 50}),
        ({"memory": 100, "vcore": 100}, {"memory": 50, "vcore": 500}),
        ({"memory": 100}, {"memory": 0}),
    ],
    ids=["a first limit", "a newly limited type", "one lower, one higher", "nothing at all"],
)
def test_any_change_that_leaves_use_above_it_counts(old: Resource | None, new: Resource) -> None:
    door = Quotas(leaf("a", old, None, ON))
    door.fill("root.a", 5, {"memory": 20, "vcore": 20})
    door.change(leaf("a", new, None, ON))
    assert door.begins_at(10 * MINUTE)


@pytest.mark.remuda_rule("PRE-64")
def test_a_change_that_leaves_use_within_it_does_not_count() -> None:
    door = used(queue("a", 200))
    door.change(queue("a", 100))
    assert door.at(60 * MINUTE) == []


@pytest.mark.remuda_rule("PRE-64", "PRE-66")
def test_there_is_one_attempt_for_each_change() -> None:
    """The second run finds what the first one could not take, once it may."""
    door = Quotas(queue("a", 100, 80))
    door.fill("root.a", 5)
    door.change(queue("a", 40, 80))
    assert door.at(10 * MINUTE) == ["a01"]
    door.confirm()
    door.change(queue("a", 40))
    assert door.at(60 * MINUTE) == []
    door.change(queue("a", 60))
    assert door.at(70 * MINUTE) == ["a02"]


@pytest.mark.remuda_rule("PRE-64", "PRE-65")
def test_a_change_while_a_run_is_on_is_enforced_after_it() -> None:
    door = used()
    door.change(queue("a", 80))
    assert door.at(10 * MINUTE) == ["a01"]
    door.change(queue("a", 40))
    assert door.at(25 * MINUTE) == []
    door.confirm()
    assert door.evicted() == ["a02", "a03"]


@pytest.mark.remuda_rule("PRE-64", "PRE-65")
def test_a_change_while_a_run_is_on_waits_for_its_own_delay() -> None:
    door = used()
    door.change(queue("a", 80))
    assert door.at(10 * MINUTE) == ["a01"]
    door.change(queue("a", 40))
    door.confirm()
    assert door.begins_at(20 * MINUTE)


@pytest.mark.remuda_rule("PRE-64", "PRE-65")
def test_a_change_while_a_run_is_on_that_the_run_will_do_is_none() -> None:
    """What is about to go does not count as used."""
    door = used()
    door.change(queue("a", 60))
    assert door.at(10 * MINUTE) == ["a01", "a02"]
    door.change(queue("a", 65))
    door.confirm()
    assert door.at(60 * MINUTE) == []


@pytest.mark.remuda_rule("PRE-63")
def test_a_dynamic_queue_is_never_cut_down() -> None:
    def home(maximum: int) -> QueueConfig:
        template = TemplateConfig(0, ON, bytes_of(maximum))
        return parent("p", template=template, properties=ON)

    tags = {"namespace.resourcequota": '{"resources": {"memory": {"value": 60}}}'}
    door = Quotas(home(100), placement_rules=(CREATING,))
    door.fill("root.p.a", 5)
    door.change(home(60), placement_rules=(CREATING,))
    door.app("tagged", "root.p.a", tags=tags)
    assert door.queue("root.p.a").maximum == bytes_of(60)
    assert door.at(60 * MINUTE) == []


@pytest.mark.remuda_rule("PRE-63", "PRE-64")
def test_a_dynamic_queue_that_becomes_configured_is_one_like_any_other() -> None:
    door = Quotas(parent("p"), placement_rules=(CREATING,))
    door.fill("root.p.a", 5)
    door.change(parent("p", queue("a", 60)), placement_rules=(CREATING,))
    assert door.begins_at(10 * MINUTE)


@pytest.mark.remuda_rule("PRE-63")
def test_root_is_never_cut_down_to_the_size_of_the_cluster() -> None:
    door = Quotas(leaf("a"), properties=ON)
    door.fill("root.a", 5)
    door.node("n1", bytes_of(50), c.UPDATE)
    door.node("n2", bytes_of(10), c.UPDATE)
    door.change(leaf("a"), properties=ON, root={"max_applications": 7})
    assert door.queue("root").maximum == bytes_of(60)
    assert door.at(60 * MINUTE) == []


@pytest.mark.remuda_rule("PRE-63", "PRE-64")
def test_a_queue_that_is_configured_no_more_is_left_alone_until_it_comes_back() -> None:
    door = used(queue("a", 100), leaf("b"))
    door.change(queue("a", 60), leaf("b"))
    assert door.at(9 * MINUTE) == []
    door.change(leaf("b"))
    assert door.at(30 * MINUTE) == []
    door.change(queue("a", 60), leaf("b"))
    assert door.begins_at(40 * MINUTE)


@pytest.mark.remuda_rule("PRE-63", "PRE-64")
def test_parents_inherit_nothing_of_the_maximum_below_them() -> None:
    """Only the queue whose maximum is exceeded is cut down; the delay is inherited."""
    home = above("p", leaf("a"), leaf("b", bytes_of(100)), maximum=300)
    lower = above("p", leaf("a"), leaf("b", bytes_of(60)), maximum=300)
    door = Quotas(home)
    for name in ("a", "b"):
        door.fill(f"root.p.{name}", 5)
    door.change(lower)
    assert door.at(10 * MINUTE) == ["b01", "b02"]


@pytest.mark.remuda_rule("PRE-65")
def test_a_queue_without_pending_work_is_cut_down_like_one_with() -> None:
    """Edge case 52."""
    door = used()
    door.fill("root.a", 0)
    assert door.queue("root.a").pending == {}
    door.change(queue("a", 60))
    assert not door.scheduler.has_work()
    assert door.at(10 * MINUTE) == ["a01", "a02"]


@pytest.mark.remuda_rule("PRE-66")
def test_after_a_restart_use_that_is_reported_counts_from_then() -> None:
    """Edge case 55: what was to be due is forgotten, what is above the maximum is not."""
    door = used()
    door.change(queue("a", 60))
    assert door.at(9 * MINUTE) == []
    config = Configuration((partition(queue("a", 60), quota_preemption=True),))
    door.send(c.RegisterResourceManager("rm", config))
    door.node("n1", bytes_of(1000))
    assert door.at(20 * MINUTE) == []
    door.fill("root.a", 3)
    assert door.at(25 * MINUTE) == []
    door.run("root.a", "late1")
    assert door.at(30 * MINUTE) == []
    door.run("root.a", "late2")
    assert door.begins_at(35 * MINUTE)


@pytest.mark.remuda_rule("PRE-66")
def test_after_a_restart_within_the_maximum_nothing_is_due() -> None:
    door = used()
    door.change(queue("a", 60))
    config = Configuration((partition(queue("a", 60), quota_preemption=True),))
    door.send(c.RegisterResourceManager("rm", config))
    door.node("n1", bytes_of(1000))
    door.fill("root.a", 3)
    assert door.at(60 * MINUTE) == []


@pytest.mark.remuda_rule("PRE-66")
def test_an_allocation_that_grows_beyond_the_maximum_counts() -> None:
    door = used()
    assert door.at(2 * MINUTE) == []
    door.resize("root.a", "a01", 30)
    assert door.at(5 * MINUTE) == []
    door.resize("root.a", "a02", 30)
    assert door.begins_at(12 * MINUTE)


@pytest.mark.remuda_rule("PRE-66")
def test_use_that_was_within_the_maximum_again_counts_from_anew() -> None:
    door = used()
    door.change(queue("a", 90))
    assert door.at(4 * MINUTE) == []
    door.resize("root.a", "a01", 10)
    door.resize("root.a", "a01", 20)
    assert door.begins_at(14 * MINUTE)


@pytest.mark.remuda_rule("PRE-66")
def test_an_allocation_that_shrinks_arms_nothing() -> None:
    door = Quotas(queue("a", 100, 100))
    door.fill("root.a", 5)
    door.change(queue("a", 50, 100))
    assert door.at(10 * MINUTE) == []
    door.resize("root.a", "a01", 15)
    door.change(queue("a", 50))
    assert door.at(60 * MINUTE) == []


@pytest.mark.remuda_rule("PRE-66")
def test_what_grows_beyond_the_maximum_after_a_vain_attempt_counts() -> None:
    door = Quotas(queue("a", 100, 100))
    door.fill("root.a", 5)
    door.change(queue("a", 50, 100))
    assert door.at(10 * MINUTE) == []
    door.change(queue("a", 50))
    assert door.at(20 * MINUTE) == []
    door.run("root.a", "more", size=1)
    assert door.begins_at(30 * MINUTE)


@pytest.mark.remuda_rule("PRE-66")
def test_what_is_reported_counts_in_every_queue_above() -> None:
    home = above("p", leaf("a", properties=OFF), maximum=50)
    door = Quotas(home)
    door.fill("root.p.a", 5)
    assert door.begins_at(10 * MINUTE)
    door.confirm()
    assert door.used("root.p") == bytes_of(40)


@pytest.mark.remuda_rule("PRE-64", "RM-15")
def test_while_its_rm_is_away_the_time_stands_still() -> None:
    door = used(queue("a", 100), queue("b", 100))
    door.fill("root.b", 5)
    door.change(queue("a", 60), queue("b", 100))
    assert door.at(2 * MINUTE) == []
    door.send(PAUSE)
    door.now += 30 * SECOND
    door.change(queue("a", 60), queue("b", 60))
    assert door.at(6 * MINUTE) == []
    door.send(RESUME)
    assert door.at(14 * MINUTE - 1) == []
    assert door.at(14 * MINUTE) == ["a01", "a02"]
    assert door.at(16 * MINUTE - 1) == []
    assert door.at(16 * MINUTE) == ["b01", "b02"]


@pytest.mark.remuda_rule("PRE-65", "RM-15")
def test_after_a_pause_it_is_due_at_a_whole_second() -> None:
    door = used()
    door.change(queue("a", 60))
    assert door.at(MINUTE) == []
    door.send(PAUSE)
    door.now += SECOND // 3
    door.send(RESUME)
    assert door.begins_at(10 * MINUTE + SECOND)


@pytest.mark.remuda_rule("PRE-64")
def test_a_partition_that_goes_enforces_nothing_any_more() -> None:
    door = used()
    door.change(queue("a", 60))
    door.reload(partitions=(partition(leaf("a"), name="other"),))
    assert summaries(door.last) == []
    assert door.at(60 * MINUTE) == []
    assert door.now == START + 6 * DELAY
