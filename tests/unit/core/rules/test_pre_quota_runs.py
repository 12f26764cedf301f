"""When runs begin and end, and what is told of them (PRE-65, PRE-72, PRE-73; edge case 53)."""

from __future__ import annotations

import pytest

from remuda.core.messages import commands as c
from remuda.core.messages import effects as e
from remuda.core.messages import events as ev
from remuda.core.preempt.quota_victims import decide_quota
from tests.unit.core.door import DAY, MINUTE, SECOND, START, leaf, of, parent
from tests.unit.core.rules.quota import (
    OFF,
    ON,
    Quotas,
    above,
    bytes_of,
    planned,
    queue,
    summaries,
)

ORDER = "preempting allocations to enforce new max quota for queue : "
TOLD = "Preempted by Quota change enforcement process in "


def in_one_second(*, apart_ns: int) -> Quotas:
    """A parent that uses 200 of 120, and so much earlier a child that uses 100 of 60.

    The child is due ten minutes and 0.1 seconds after the start.
    """
    home = above("p", queue("a", 100), queue("b", 100), maximum=200)
    door = Quotas(home)
    door.fill("root.p.a", 5)
    door.fill("root.p.b", 5)
    door.now += SECOND // 10
    door.change(above("p", queue("a", 60), queue("b", 100), maximum=200))
    door.now += apart_ns
    door.change(above("p", queue("a", 60), queue("b", 100), maximum=120))
    return door


@pytest.mark.remuda_rule("PRE-65")
def test_a_run_begins_at_a_whole_second() -> None:
    door = Quotas(queue("a", 100))
    door.fill("root.a", 5)
    door.now += SECOND // 3
    door.change(queue("a", 60))
    assert door.begins_at(10 * MINUTE + SECOND)


@pytest.mark.remuda_rule("PRE-65")
def test_in_the_same_second_the_parent_begins_and_shields_the_child() -> None:
    """Edge case 53: of 80 that are too much in the parent, 40 are the child's."""
    door = in_one_second(apart_ns=SECOND // 2)
    assert door.at(10 * MINUTE) == []
    assert door.at(10 * MINUTE + SECOND) == ["a01", "a02", "b01", "b02"]
    assert [record.object_id for record in summaries(door.last)] == ["root.p"]
    assert door.at(15 * MINUTE) == []
    door.confirm()
    assert door.at(60 * MINUTE) == []
    assert door.used("root.p.a") == bytes_of(60)


@pytest.mark.remuda_rule("PRE-65")
def test_a_child_that_was_shielded_is_looked_at_when_the_run_is_over() -> None:
    home = above("p", queue("a", 100), queue("b", 100), maximum=200)
    door = Quotas(home)
    door.fill("root.p.a", 5)
    door.fill("root.p.b", 5)
    door.change(above("p", queue("a", 20), queue("b", 100), maximum=160))
    assert door.at(10 * MINUTE) == ["a01", "b01"]
    door.confirm("a01")
    assert door.at(20 * MINUTE) == []
    door.confirm("b01")
    assert door.evicted() == ["a02", "a03", "a04"]


@pytest.mark.remuda_rule("PRE-65")
def test_a_child_that_begins_first_does_not_keep_its_parent_from_it() -> None:
    """What is about to go counts as gone: of the parent's 80 only 40 are left."""
    door = in_one_second(apart_ns=SECOND)
    assert door.at(10 * MINUTE + SECOND) == ["a01", "a02"]
    evicted = door.at(10 * MINUTE + 2 * SECOND)
    assert len(evicted) == 2
    assert planned(door.last) == "map[memory:40]"


@pytest.mark.remuda_rule("PRE-65")
def test_a_parent_that_can_take_nothing_shields_nobody() -> None:
    """The guarantee of the parent keeps all; that of the child's is not concerned."""
    old = above("p", leaf("a", {"memory": 100, "vcore": 5}, None, ON), maximum=200, guaranteed=100)
    new = above("p", leaf("a", {"memory": 100, "vcore": 3}, None, ON), maximum=80, guaranteed=100)
    door = Quotas(old)
    door.fill("root.p.a", 5, {"memory": 20, "vcore": 1})
    door.run("root.p.a", "bare1", "bare2", "bare3", size={"vcore": 1})
    door.change(new)
    assert door.at(10 * MINUTE) == ["bare1", "bare2", "bare3"]
    assert [record.object_id for record in summaries(door.last)] == ["root.p", "root.p.a"]


@pytest.mark.remuda_rule("PRE-65")
def test_a_queue_that_is_within_its_maximum_when_it_is_due_is_left_alone() -> None:
    door = Quotas(queue("a", 100))
    door.fill("root.a", 5)
    door.change(queue("a", 60))
    for key in ("a01", "a02"):
        door.release("root.a", key)
    assert door.at(10 * MINUTE) == []
    assert summaries(door.last) == []
    door.run("root.a", "new", size=20)
    assert door.begins_at(20 * MINUTE)


@pytest.mark.remuda_rule("PRE-65")
def test_nothing_is_looked_at_while_nothing_is_due() -> None:
    """No timer is set but for what was changed, and none afterwards."""
    door = Quotas(queue("a", 100))
    door.fill("root.a", 5)
    assert door.at(DAY) == []
    assert door.scheduler.next_deadline() is None
    door.change(queue("a", 60))
    assert door.scheduler.next_deadline() == START + DAY + 10 * MINUTE
    assert len(door.at(DAY + 10 * MINUTE)) == 2
    door.confirm()
    door.at(2 * DAY)
    assert door.scheduler.next_deadline() is None


@pytest.mark.remuda_rule("PRE-72", "PRE-34", "EVT-77")
def test_what_the_rm_and_observers_are_told() -> None:
    door = Quotas(queue("a", 100))
    door.run("root.a", "k1", "k2", app="one")
    door.run("root.a", "k3", "k4", "k5", app="two")
    door.change(queue("a", 40))
    assert door.at(10 * MINUTE) == ["k1", "k2", "k3"]
    answers = of(door.last, e.AllocationsReleased)
    assert [[(g.application_id, g.allocation_id) for g in a.released] for a in answers] == [
        [("one", "k1"), ("one", "k2")],
        [("two", "k3")],
    ]
    for gone in [gone for answer in answers for gone in answer.released]:
        assert gone.termination_type == c.PREEMPTED_BY_SCHEDULER
        assert gone.message == f"{ORDER}root.a"
    told = [record for record in of(door.last, e.EventRecord) if record.kind == ev.REQUEST]
    assert [(r.object_id, r.reference_id, r.message, r.resource) for r in told] == [
        ("k1", "one", f"{TOLD}root.a", bytes_of(20)),
        ("k2", "one", f"{TOLD}root.a", bytes_of(20)),
        ("k3", "two", f"{TOLD}root.a", bytes_of(20)),
    ]
    (summary,) = summaries(door.last)
    assert (summary.kind, summary.object_id, summary.change) == (ev.QUEUE, "root.a", ev.SET)
    assert (summary.detail, summary.resource) == (407, bytes_of(40))
    assert summary.message == (
        "Quota Preemption results summary: preemptable resources: map[memory:60], "
        "claimed resources: map[memory:60], selected victims: 5, preempted victims: 3"
    )


@pytest.mark.remuda_rule("PRE-72", "EVT-77")
def test_an_attempt_in_vain_is_told_too() -> None:
    door = Quotas(queue("a", 100, 100))
    door.fill("root.a", 5)
    door.change(queue("a", 40, 100))
    assert door.at(10 * MINUTE) == []
    (summary,) = summaries(door.last)
    assert summary.message == (
        "Quota Preemption results summary: preemptable resources: map[], "
        "claimed resources: map[], selected victims: 0, preempted victims: 0"
    )


@pytest.mark.remuda_rule("PRE-35", "PRE-72", "QUE-2")
def test_victims_count_until_their_end_is_confirmed() -> None:
    door = Quotas(above("p", queue("a", 100)))
    door.fill("root.p.a", 5)
    door.change(above("p", queue("a", 60)))
    door.at(10 * MINUTE)
    for path in ("root.p.a", "root.p", "root"):
        view = door.queue(path)
        assert (view.allocated, view.preempting) == (bytes_of(100), bytes_of(40))
    door.resize("root.p.a", "a01", 30)
    assert door.queue("root").preempting == bytes_of(50)
    door.confirm("a01")
    assert door.queue("root.p").preempting == bytes_of(20)
    door.remove("root.p.a")
    assert door.queue("root.p").preempting == bytes_of(0)


@pytest.mark.remuda_rule("PRE-65")
@pytest.mark.parametrize("end", ["confirmed", "node gone", "application gone", "released"])
def test_a_run_is_over_when_all_its_victims_are_gone_however_they_went(end: str) -> None:
    door = Quotas(queue("a", 100))
    door.fill("root.a", 5)
    door.change(queue("a", 60))
    door.at(10 * MINUTE)
    if end == "confirmed":
        door.confirm()
    elif end == "node gone":
        door.node("n1", action=c.DECOMISSION)
    elif end == "application gone":
        door.remove("root.a")
    else:
        door.release("root.a", "a01")
        door.release("root.a", "a02")
    partition = door.scheduler._cluster.partition("rm", "default")
    assert partition is not None
    (preemption,) = partition.preempting.made.values()
    assert (preemption.kind, preemption.outcome) == ("quota", "done")
    assert preemption.ended_ns == door.now
    assert [victim.confirmed for victim in preemption.victims.values()] == [True, True]


@pytest.mark.remuda_rule("PRE-91")
def test_a_run_is_kept_with_its_reason() -> None:
    door = Quotas(above("p", queue("a", 100), guaranteed=80))
    door.fill("root.p.a", 5)
    door.change(above("p", queue("a", 60), guaranteed=80))
    door.at(10 * MINUTE)
    partition = door.scheduler._cluster.partition("rm", "default")
    assert partition is not None
    (preemption,) = partition.preempting.made.values()
    assert (preemption.kind, preemption.queue_path) == ("quota", "root.p.a")
    assert (preemption.outcome, preemption.created_ns) == ("waiting", door.now)
    assert preemption.amounts.resource == bytes_of(40)
    assert preemption.reasons == (
        "root.p.a uses map[memory:100] and may use map[memory:60]",
        "guarantees let go map[memory:20] of it",
    )
    (victim,) = preemption.victims.values()
    assert (victim.key, victim.queue_path, victim.node_id) == ("a01", "root.p.a", "n1")


@pytest.mark.remuda_rule("PRE-73")
def test_no_fence_no_policy_no_switch_of_preemption_protects_from_it() -> None:
    own = {**ON, "preemption.policy": "disabled", "priority.policy": "fence"}
    door = Quotas(queue("a", 100, properties=own), preemption=False)
    door.run("root.a", "k1", "k2", "k3", priority=100, allow_preempt_other=True)
    door.change(queue("a", 40, properties=own), preemption=False)
    assert len(door.at(10 * MINUTE)) == 1


@pytest.mark.remuda_rule("PRE-65", "PRE-66")
def test_each_queue_has_its_own_time() -> None:
    five = {"quota.preemption.delay": "5m"}
    door = Quotas(parent("p", queue("a", 100), queue("b", 100, properties=five), properties=OFF))
    door.fill("root.p.a", 5)
    door.fill("root.p.b", 5)
    door.change(parent("p", queue("a", 80), queue("b", 80, properties=five), properties=OFF))
    assert door.begins_at(5 * MINUTE)
    assert door.queue("root.p.b").preempting == bytes_of(20)
    assert door.begins_at(10 * MINUTE)
    assert door.queue("root.p.a").preempting == bytes_of(20)


@pytest.mark.remuda_rule("PRE-65", "PRE-73")
def test_the_next_run_is_decided_before_anything_changes() -> None:
    """A decision only reads: made twice it is the same, and the queue is due as before."""
    door = in_one_second(apart_ns=SECOND // 2)
    partition = door.scheduler._cluster.partition(door.rm, "default")
    assert partition is not None
    due_ns = START + 10 * MINUTE + SECOND
    assert decide_quota(partition, due_ns - SECOND) is None
    for _ in range(2):
        choice = decide_quota(partition, due_ns)
        assert choice is not None
        assert choice.queue.path == "root.p"
        assert sorted(each.allocation_id for each in choice.victims) == ["a01", "a02", "b01", "b02"]
    door.scheduler.check()
    assert door.orders == []
    assert door.at(10 * MINUTE + SECOND) == ["a01", "a02", "b01", "b02"]
