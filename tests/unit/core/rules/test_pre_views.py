"""What is known of preemptions afterwards: records, and their traces on asks and allocations."""

from __future__ import annotations

import pytest

from remuda.core.messages import commands as c
from remuda.core.messages import preemption_queries as pq
from remuda.core.messages import queries as q
from remuda.core.model.preemption.live import KEPT, QUOTA, Preemption
from tests.unit.core.door import MINUTE, REQUIRED_NODE, SECOND, START, Caller, leaf, parent
from tests.unit.core.rules.preempting import MILLISECOND, ONE, Evictor


def numbers(views: list[pq.PreemptionView]) -> list[int]:
    return [view.number for view in views]


def victim(application: str, key: str, identity: str, **other: bool) -> pq.VictimView:
    """A victim of a core in ``root.b`` on the only node."""
    flags = {"originator": False, "opted_out": False, "for_queue": False, "confirmed": False}
    return pq.VictimView(
        application_id=application,
        allocation_key=key,
        allocation_id=identity,
        queue="root.b",
        node_id="n1",
        resource=ONE,
        priority=0,
        **(flags | other),
    )


@pytest.mark.remuda_rule("PRE-91")
def test_a_preemption_is_told_with_whom_it_is_for_and_what_it_took() -> None:
    crowd = Evictor(size=2)
    one, other = crowd.run("batch", "t1"), crowd.run("night", "t2")
    crowd.want(2)
    (view,) = crowd.preemptions()
    assert view == pq.PreemptionView(
        number=view.number,
        kind="queue",
        created_ns=START + MILLISECOND,
        application_id="owed",
        allocation_key="k",
        queue="root.a",
        node_id="n1",
        requested={"vcore": 2},
        reasons=view.reasons,
        victims=(victim("batch", "t1", one), victim("night", "t2", other)),
        freed={"vcore": 2},
        outcome="waiting",
        cause="",
        ended_ns=0,
    )
    assert view.number > 0
    (reason,) = view.reasons
    assert "root.a" in reason
    assert "vcore:1000" in reason


@pytest.mark.remuda_rule("PRE-91", "PRE-35")
def test_a_victim_is_confirmed_once_it_ended_and_the_record_stays() -> None:
    crowd = Evictor(size=2)
    one, other = crowd.run("batch"), crowd.run("night")
    crowd.want(2)
    crowd.confirm(one)
    assert [each.confirmed for each in crowd.preemptions()[0].victims] == [True, False]
    assert crowd.preemptions()[0].outcome == "waiting"
    crowd.now += SECOND
    crowd.remove("night")
    crowd.step()
    (view,) = crowd.preemptions("night")
    assert [each.confirmed for each in view.victims] == [True, True]
    assert (view.outcome, view.cause) == ("placed", "")
    assert view.ended_ns == START + MILLISECOND + SECOND
    assert view.victims[1].allocation_id == other


@pytest.mark.remuda_rule("PRE-91", "PRE-6")
def test_a_preemption_that_was_lost_says_why() -> None:
    crowd = Evictor()
    crowd.run("batch")
    crowd.want(1)
    crowd.now += SECOND
    crowd.node("n1", action=c.DECOMISSION)
    (view,) = crowd.preemptions()
    assert (view.outcome, view.cause) == ("lost", "the node is gone")
    assert view.ended_ns == START + MILLISECOND + SECOND
    assert [each.confirmed for each in view.victims] == [True]


@pytest.mark.remuda_rule("PRE-91", "PRE-88")
def test_a_victim_that_makes_room_below_a_maximum_only_is_marked() -> None:
    delay = {"preemption.delay": "1ms"}
    queues = (leaf("a", None, {"vcore": 1}, delay), leaf("b"))
    door = Caller(parent("p", *queues, maximum={"vcore": 2}))
    door.node("n1", {"vcore": 9})
    door.app("owed", "root.p.a")
    door.app("batch", "root.p.b")
    for identity in ("t1", "t2"):
        door.existing("batch", identity, "n1", ONE)
    door.ask("owed", "k", ONE, allow_preempt_other=True)
    door.step()
    door.now += MILLISECOND
    door.step()
    (view,) = preemptions(door)
    assert [each.for_queue for each in view.victims] == [True]


def preemptions(door: Caller) -> list[pq.PreemptionView]:
    """All preemptions of the default partition."""
    found = door.scheduler.view(pq.PreemptionsQuery("default"))
    assert isinstance(found, tuple)
    return [each for each in found if isinstance(each, pq.PreemptionView)]


@pytest.mark.remuda_rule("PRE-91", "PRE-40")
def test_room_on_a_required_node_is_a_kind_of_its_own() -> None:
    door = Caller(leaf("a"), leaf("b"))
    door.node("n1", {"vcore": 2})
    door.node("n2", {"vcore": 2})
    door.app("batch", "root.b")
    for identity in ("t1", "t2"):
        door.existing("batch", identity, "n1", ONE)
    door.app("agent")
    door.ask("agent", "daemon", ONE, tags={REQUIRED_NODE: "n1"})
    door.step()
    (view,) = preemptions(door)
    assert (view.kind, view.node_id, len(view.victims)) == ("required node", "n1", 1)
    assert (view.application_id, view.allocation_key) == ("agent", "daemon")


@pytest.mark.remuda_rule("PRE-91", "PRE-72")
def test_a_quota_that_is_enforced_is_for_nobody() -> None:
    crowd = Evictor()
    crowd.ask("owed", "k", ONE)
    (home,) = crowd.scheduler._cluster.partitions()
    excess = home.applications["owed"].requests["k"].amounts
    home.preempting.made[99] = Preemption(
        99, kind=QUOTA, created_ns=START, queue_path="root.b", amounts=excess, reasons=()
    )
    (view,) = crowd.preemptions()
    assert (view.kind, view.queue, view.requested) == ("quota", "root.b", ONE)
    assert (view.application_id, view.allocation_key, view.node_id) == ("", "", "")


@pytest.mark.remuda_rule("PRE-91")
def test_preemptions_are_found_by_application_and_by_number_and_the_latest_alone() -> None:
    crowd = Evictor()
    crowd.app("other", "root.b")
    for application in ("batch", "night", "batch"):
        crowd.evict((application, "t"))
    made = numbers(crowd.preemptions())
    assert made == sorted(made)
    assert numbers(crowd.preemptions("owed")) == made
    assert numbers(crowd.preemptions("batch")) == [made[0], made[2]]
    assert numbers(crowd.preemptions("batch", last=1)) == [made[2]]
    assert numbers(crowd.preemptions(last=2)) == made[1:]
    assert crowd.preemptions("other") == crowd.preemptions("nobody") == []
    assert numbers(crowd.preemptions(number=made[1])) == [made[1]]
    assert crowd.preemptions("batch", number=made[1]) == []
    assert crowd.preemptions(number=10**6) == []
    assert crowd.scheduler.view(pq.PreemptionsQuery("nowhere")) is None
    assert crowd.scheduler.view(pq.EvictionsQuery("nowhere", START)) is None


@pytest.mark.remuda_rule("PRE-91")
def test_the_last_thousand_are_known() -> None:
    crowd = Evictor()
    for number in range(KEPT + 3):
        crowd.evict(("batch", f"t{number}"))
    found = [view.victims[0].allocation_key for view in crowd.preemptions()]
    assert found == [f"t{number}" for number in range(3, 1_003)]


@pytest.mark.remuda_rule("PRE-34", "PRE-91", "REST-80")
def test_an_allocation_says_who_evicts_it() -> None:
    crowd = Evictor(size=2)
    gone, stays = crowd.run("batch", "t1"), crowd.run("batch", "t2")
    crowd.want(1)
    (made,) = crowd.preemptions()
    found = {each.allocation_id: each for each in crowd.apps()["batch"].allocations}
    assert (found[stays].preemption, found[stays].preempted_by) == (0, None)
    assert found[gone].preemption == made.number
    assert found[gone].preempted_by == pq.PreemptorView(made.number, "queue", "owed", "k", "root.a")
    assert found[gone].release_type == c.PREEMPTED_BY_SCHEDULER
    on_node = {each.allocation_id: each for each in crowd.node_view("n1").allocations}
    assert on_node == found


@pytest.mark.remuda_rule("PRE-6", "PRE-91", "REST-79")
def test_an_ask_says_which_preemption_stands_for_it() -> None:
    crowd = Evictor()
    crowd.run("batch")
    crowd.ask("owed", "calm", {"vcore": 7})
    crowd.want(1)
    (made,) = crowd.preemptions()
    found = {each.allocation_key: each.preemption for each in crowd.apps()["owed"].requests}
    assert found == {"calm": 0, "k": made.number}
    crowd.node("n1", action=c.DECOMISSION)
    assert [each.preemption for each in crowd.apps()["owed"].requests] == [0, 0]


@pytest.mark.remuda_rule("PRE-91")
def test_applications_know_the_preemptions_they_caused_and_suffered() -> None:
    crowd = Evictor(size=2)
    crowd.app("calm")
    crowd.evict(("batch", "t1"), ("batch", "t2"))
    crowd.evict(("batch", "t3"), ("night", "t4"))
    first, second = numbers(crowd.preemptions())
    crowd.run("batch")
    apps = crowd.apps()
    assert (apps["owed"].preemptions, apps["owed"].evictions) == ((first, second), ())
    assert (apps["calm"].preemptions, apps["calm"].evictions) == ((), ())
    assert (apps["batch"].preemptions, apps["batch"].evictions) == ((), (first, second))
    assert (apps["night"].preemptions, apps["night"].evictions) == ((), (second,))


@pytest.mark.remuda_rule("PRE-91")
def test_an_application_that_comes_again_under_its_id_was_not_evicted() -> None:
    crowd = Evictor()
    crowd.evict(("batch", "t"))
    crowd.remove("batch")
    crowd.app("batch", "root.b")
    assert crowd.apps()["batch"].evictions == ()
    assert len(crowd.preemptions("batch")) == 1


@pytest.mark.remuda_rule("PRE-58", "PRE-85", "PRE-91")
def test_a_finding_says_why_nothing_was_taken_from_others() -> None:
    crowd = Evictor()
    crowd.app("batch", "root.b")
    crowd.existing("owed", "runs", "n1", ONE)
    crowd.ask("batch", "calm", ONE)
    crowd.ask("batch", "eager", ONE, allow_preempt_other=True)
    crowd.step()
    crowd.now += MINUTE
    crowd.step()
    found = {each.allocation_key: each.finding for each in crowd.apps()["batch"].requests}
    assert found["calm"] is not None
    assert found["eager"] is not None
    assert found["calm"].preemption == ""
    assert found["eager"].preemption == "Preemption queue guarantees check failed"


@pytest.mark.remuda_rule("PRE-74", "REST-71")
def test_partitions_and_queues_tell_how_preemption_is_set() -> None:
    slow = leaf(
        "slow",
        properties={
            "preemption.policy": "fence",
            "preemption.delay": "90s",
            "quota.preemption.delay": "10m",
        },
    )
    off = parent("off", leaf("below"), properties={"preemption.policy": "disabled"})
    door = Caller(slow, off, leaf("plain"), preemption=False, quota_preemption=True)
    found = {path: door.queue(path) for path in ("root.slow", "root.off.below", "root.plain")}
    assert {path: view.preemption_policy for path, view in found.items()} == {
        "root.slow": "fence",
        "root.off.below": "disabled",
        "root.plain": "default",
    }
    assert found["root.slow"].preemption_delay_ns == 90 * SECOND
    assert found["root.slow"].quota_preemption_delay_ns == 600 * SECOND
    assert found["root.plain"].preemption_delay_ns == 30 * SECOND
    assert found["root.plain"].quota_preemption_delay_ns == 0
    partitions = door.scheduler.view(q.PartitionsQuery())
    assert isinstance(partitions, tuple)
    (partition,) = partitions
    assert isinstance(partition, q.PartitionView)
    assert (partition.preemption, partition.quota_preemption) == (False, True)
