"""Each decision of a shadow is compared with that of the scheduler in charge, from what was so."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from remuda_kubernetes.objects.kinds import POD
from remuda_kubernetes.shadow.following import adapted
from remuda_kubernetes.shadow.ledger import Kind
from remuda_kubernetes.shim.effects import EvictPod
from remuda_kubernetes.translation.settings import Settings
from tests.kubernetes.shadow.following_world import GRACE, HOLD, FollowingWorld
from tests.kubernetes.shim.queue_worlds import Queue, document, queue
from tests.kubernetes.shim.world import QUEUES, SECOND, World, until

SMALL = queue("a", maximum=2)


@contextmanager
def following(*queues: Queue, nodes: tuple[str, ...] = ("n1", "n2")) -> Iterator[FollowingWorld]:
    """A shadow of a cluster with nodes of ten cores."""
    world = FollowingWorld(document(*queues) if queues else QUEUES)
    try:
        for name in nodes:
            world.node(name, cpu="10")
        world.start()
        yield world
    finally:
        world.close()


def other(node: str) -> str:
    return "n2" if node == "n1" else "n1"


@pytest.mark.remuda_rule("EXT-171")
def test_a_pod_that_both_put_on_one_node_is_the_same() -> None:
    with following() as world:
        world.pod("p")
        world.run()
        world.bind("p", world.decision("p"))
        world.run()
        assert world.kinds() == {"same_node": 1}


@pytest.mark.remuda_rule("EXT-171")
def test_a_pod_on_another_node_is_told_with_both_nodes() -> None:
    with following() as world:
        world.pod("p")
        world.run()
        here = world.decision("p")
        world.bind("p", other(here))
        world.run()
        assert world.kinds() == {"another_node": 1}
        example = world.example(Kind.ANOTHER)
        assert (example.pod, example.there, example.here) == ("default/p", other(here), here)


@pytest.mark.remuda_rule("EXT-170")
def test_a_pod_that_is_bound_at_once_is_decided_from_what_was_before() -> None:
    with following(nodes=("n1",)) as world:
        # The shadow hears of both before it could decide anything.
        world.pod("large", cpu="10")
        world.bind("large", "n1")
        world.run()
        assert world.kinds() == {"same_node": 1}


@pytest.mark.remuda_rule("EXT-171")
def test_a_pod_that_the_shadow_would_let_wait_is_later_with_the_reason_of_its_nodes() -> None:
    with following() as world:
        world.pod("p", cpu="11")
        world.run()
        world.bind("p", "n1")
        world.run()
        assert world.kinds() == {}, "the shadow has a moment to decide"
        world.run(seconds=1)
        assert world.kinds() == {"later": 1}
        example = world.example(Kind.LATER)
        assert (example.there, example.here) == ("n1", "")
        assert "nodes" in example.reason


@pytest.mark.remuda_rule("EXT-170")
def test_a_pod_beyond_its_quota_counts_in_its_queue_when_it_runs_all_the_same() -> None:
    with following(SMALL, nodes=("n1",)) as world:
        for name in ("one", "two"):
            world.pod(name, queue="root.a", cpu="2")
            world.run()
            world.bind(name, "n1")
            world.run(seconds=1)
        assert world.kinds() == {"same_node": 1, "later": 1}
        world.end("one")
        # Two cores still run in a queue of two, so nobody else may begin.
        world.pod("three", queue="root.a")
        world.run(seconds=1)
        assert world.decision("three") == ""
        world.end("two")
        world.run()
        assert world.decision("three")


@pytest.mark.remuda_rule("EXT-171")
def test_a_pod_that_only_the_shadow_would_place_is_earlier_until_it_is_bound() -> None:
    with following() as world:
        world.pod("p")
        world.run(seconds=5)
        assert world.kinds() == {"earlier": 1}
        example = world.example(Kind.EARLIER)
        assert (example.there, example.here) == ("", world.decision("p"))
        assert example.ahead_ns == 5 * 10**9
        world.bind("p", example.here)
        world.run()
        assert world.kinds() == {"same_node": 1}
        assert (world.ledger.ahead.pods, world.ledger.ahead.max_ns) == (1, 5 * 10**9)


def test_a_pod_that_ends_without_a_node_stays_earlier() -> None:
    with following() as world:
        world.pod("p")
        world.run()
        world.end("p")
        world.run()
        assert world.kinds() == {"earlier": 1}


def test_a_pod_that_ends_before_anybody_decided_is_not_compared() -> None:
    with following() as world:
        world.pod("p", cpu="11")
        world.run()
        world.end("p")
        world.run()
        assert (world.kinds(), world.ledger.left.gone) == ({}, 1)


@pytest.mark.remuda_rule("EXT-171", "EXT-174")
def test_a_pod_that_is_not_followed_is_counted_once_however_often_it_changes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("remuda_kubernetes.shadow.ledger.FOLLOWED_LIMIT", 1)
    with following() as world:
        world.pod("first")
        second = world.pod("second")
        for label in ("a", "b", "c"):
            second = world.change(second, metadata={"labels": {"changed": label}})
        assert (world.ledger.seen, world.ledger.left.too_many) == (2, 1)
        world.end("first")
        # There is room again, but it was left out already.
        world.change(second, metadata={"labels": {"changed": "d"}})
        world.bind("second", "n1")
        world.run(seconds=GRACE + 1)
        assert (world.ledger.waiting, world.ledger.left.too_many) == (0, 1)
        assert "later" not in world.kinds()


@pytest.mark.remuda_rule("EXT-168")
@pytest.mark.parametrize("queues,counts", [(None, "theirs"), ("", ""), ("own", "own")])
def test_a_queue_file_takes_the_place_of_the_config_maps_also_if_it_is_empty(
    queues: str | None, counts: str
) -> None:
    read = Settings(queues="theirs")
    assert adapted(read, ("in-charge",), queues, gangs=False).queues == counts


@pytest.mark.remuda_rule("EXT-170")
def test_a_decision_that_is_not_made_gives_its_room_back() -> None:
    with following(nodes=("n1",)) as world:
        world.pod("first", cpu="10")
        world.run()
        assert world.decision("first") == "n1"
        world.pod("second", cpu="10")
        world.run(seconds=1)
        assert world.decision("second") == ""
        # The scheduler in charge gives the node to another pod: that is where the room is.
        world.bind("second", "n1")
        world.run(seconds=HOLD + 1)
        assert world.decision("first") == ""
        world.end("second")
        world.run(seconds=60)
        assert world.decision("first") == "n1"


@pytest.mark.remuda_rule("EXT-170")
def test_the_next_decision_is_made_from_where_pods_really_are() -> None:
    with following() as world:
        world.pod("large", cpu="8")
        world.run()
        there = other(world.decision("large"))
        world.bind("large", there)
        world.run()
        # Only the node that the shadow had chosen has room for it now.
        world.pod("next", cpu="8")
        world.run()
        assert world.decision("next") == other(there)


@pytest.mark.remuda_rule("EXT-171")
def test_a_pod_of_a_queue_that_does_not_exist_is_refused_once() -> None:
    with following(SMALL) as world:
        world.pod("p", queue="root.missing", app="lost")
        world.run()
        assert world.kinds() == {"refused": 1}
        assert "root.missing" in world.example(Kind.REFUSED).reason
        assert world.example(Kind.REFUSED).there == ""
        world.bind("p", "n1")
        world.run(seconds=1)
        assert world.kinds() == {"refused": 1}
        assert world.example(Kind.REFUSED).there == "n1"


@pytest.mark.remuda_rule("EXT-170")
def test_a_pod_of_a_refused_application_takes_its_room_and_gives_it_back() -> None:
    with following(queue("a"), nodes=("n1",)) as world:
        world.pod("refused", cpu="8", queue="root.missing", app="lost")
        world.run()
        world.bind("refused", "n1")
        world.run(seconds=1)
        world.pod("p", cpu="4", queue="root.a")
        world.run(seconds=1)
        assert world.decision("p") == ""
        world.end("refused")
        world.run(seconds=1)
        assert world.decision("p") == "n1"


@pytest.mark.remuda_rule("EXT-170")
@pytest.mark.parametrize("app", ["lost", "a" * 300])
def test_the_scheduler_knows_the_room_of_a_pod_that_was_refused(app: str) -> None:
    """It takes the node that is less used, and has to know what is."""
    with following(queue("a")) as world:
        world.pod("probe", queue="root.a")
        world.run()
        first = world.decision("probe")
        world.end("probe")
        world.pod("refused", queue="root.missing", app=app)
        world.run()
        assert world.kinds() == {"earlier": 1, "refused": 1}
        world.bind("refused", first)
        world.run(seconds=1)
        world.pod("next", queue="root.a")
        world.run()
        assert world.decision("next") == other(first)
        world.end("refused")
        world.end("next")
        world.pod("last", queue="root.a")
        world.run()
        assert world.decision("last") == first


@pytest.mark.remuda_rule("EXT-170", "EXT-172")
def test_a_victim_that_never_ran_on_its_node_leaves_it_when_it_gets_another_one() -> None:
    with following(queue("low"), queue("high", 2), nodes=("n1",)) as world:
        for number in range(10):
            world.pod(f"low-{number}", app="low", queue="root.low")
        world.run()
        world.pod("high", app="high", queue="root.high")
        until(world, lambda: world.kinds().get("would_evict", 0) > 0)
        victim = world.example(Kind.EVICTED).pod.removeprefix("default/")
        assert world.decision(victim) == "n1"
        world.node("n2", cpu="1")
        world.bind(victim, "n2")
        # Long before the other decisions give their room back.
        over_ns = world.now_ns + 5 * SECOND
        until(world, lambda: world.decision("high") == "n1" or world.now_ns > over_ns)
        assert world.decision("high") == "n1"
        assert world.kinds() == {"another_node": 1, "would_evict": 1, "earlier": 10}


@pytest.mark.remuda_rule("EXT-171")
def test_a_victim_is_told_once_and_stays() -> None:
    with following(queue("low"), queue("high", 2), nodes=("n1",)) as world:
        for number in range(10):
            world.pod(f"low-{number}", app="low", queue="root.low")
            world.run()
            world.bind(f"low-{number}", "n1")
            world.run()
        world.pod("h", app="high", queue="root.high")
        until(world, lambda: world.kinds().get("would_evict", 0) > 0)
        world.run(seconds=90)
        assert world.kinds() == {"same_node": 10, "would_evict": 1}
        example = world.example(Kind.EVICTED)
        assert example.there == "n1"
        assert "default/h" in example.reason
        assert len([each for each in world.written if isinstance(each, EvictPod)]) == 1
        assert len([each for each in world.pods() if each.assigned]) == 10
        # Its room is not free: who comes next finds none.
        world.bind("h", "n1")
        world.run(seconds=1)
        assert world.kinds() == {"same_node": 10, "would_evict": 1, "later": 1}


def test_pods_that_ran_before_are_not_compared() -> None:
    world = FollowingWorld()
    try:
        world.node("n1", cpu="10")
        world.pod("old", cpu="8", spec={"nodeName": "n1"})
        world.start()
        world.pod("new", cpu="4")
        world.run(seconds=1)
        assert world.decision("new") == ""
        assert (world.kinds(), world.ledger.left.ran) == ({}, 1)
    finally:
        world.close()


def test_a_pod_that_got_its_node_before_the_shadow_was_ready_is_not_compared() -> None:
    world = FollowingWorld()
    try:
        world.node("n1", cpu="10")
        world.pod("p", cpu="8")
        world.bind("p", "n1")
        world.start()
        assert (world.kinds(), world.ledger.left.not_ready) == ({}, 1)
        world.pod("next", cpu="4")
        world.run(seconds=1)
        assert world.decision("next") == ""
    finally:
        world.close()


@pytest.mark.remuda_rule("EXT-173")
def test_members_of_gangs_are_asks_of_their_own_and_counted() -> None:
    groups = '[{"name": "g", "minMember": 2, "minResource": {"cpu": "1"}}]'
    notes = {
        "yunikorn.apache.org/task-groups": groups,
        "yunikorn.apache.org/task-group-name": "g",
    }
    with following() as world:
        for name in ("m0", "m1"):
            world.pod(name, annotations=notes)
        world.run()
        for name in ("m0", "m1"):
            world.bind(name, world.decision(name))
        world.run()
        assert world.kinds() == {"same_node": 2}
        assert world.ledger.gang_pods == 2
        assert {each.name for each in world.pods()} == {"m0", "m1"}


@pytest.mark.remuda_rule("EXT-175")
def test_a_shadow_of_ourselves_differs_in_nothing() -> None:
    """One pod at a time: what is decided depends on what runs, and both know the same."""
    chance = random.Random(7)
    queues = document(queue("a"), queue("b", maximum=30), nodesortpolicy={"type": "fair"})
    charge, shadow = World(queues), FollowingWorld(queues)
    try:
        for world in (charge, shadow):
            for number in range(6):
                world.node(f"n{number}", cpu=str(8 + number))
            world.start()
        running: list[str] = []
        for number in range(240):
            name = f"p{number}"
            wish = {"cpu": str(chance.randint(1, 4)), "queue": f"root.{chance.choice('ab')}"}
            for world in (charge, shadow):
                world.pod(name, app=wish["queue"], **wish)
                world.run()
            node = charge.where(name)
            if node:
                shadow.bind(name, node)
                shadow.run()
                running.append(name)
            else:
                assert shadow.decision(name) == ""
                charge.drop(POD, name, "default")
                shadow.end(name)
            while len(running) > 12:
                gone = running.pop(chance.randrange(len(running)))
                charge.drop(POD, gone, "default")
                shadow.end(gone)
                charge.run()
                shadow.run()
        assert shadow.kinds() == {"same_node": shadow.kinds()["same_node"]}
        assert shadow.kinds()["same_node"] > 200
    finally:
        charge.close()
        shadow.close()


GROUPS = '[{"name": "g", "minMember": 2, "minResource": {"cpu": "1"}}]'
MEMBER = {"yunikorn.apache.org/task-group-name": "g"}
PLACEHOLDER = {
    **MEMBER,
    "yunikorn.apache.org/task-groups": GROUPS,
    "yunikorn.apache.org/placeholder": "true",
}


@contextmanager
def gang() -> Iterator[FollowingWorld]:
    """A shadow of a scheduler that makes placeholders, and a gang that waits for two."""
    world = FollowingWorld(gangs=True)
    try:
        world.node("n1", cpu="4")
        world.start()
        world.pod("driver", annotations={"yunikorn.apache.org/task-groups": GROUPS})
        world.run()
        yield world
    finally:
        world.close()


@pytest.mark.remuda_rule("EXT-173")
def test_members_wait_for_the_placeholders_of_the_scheduler_in_charge() -> None:
    with gang() as world:
        world.pod("m0", annotations=MEMBER)
        world.run(seconds=20)
        assert world.kinds() == {}, "nobody has made placeholders"
        for name in ("tg-0", "tg-1"):
            world.pod(name, annotations=PLACEHOLDER)
            world.run()
            assert world.decision(name) == "n1"
            assert world.decision("m0") == ""
            world.bind(name, "n1")
            world.run(seconds=1)
        world.end("tg-0")
        world.bind("m0", "n1")
        world.bind("driver", "n1")
        world.run(seconds=1)
        # The two placeholders, the member in the room of one of them, and the driver.
        assert world.kinds() == {"same_node": 4}
        assert world.ledger.gang_pods == 4
        assert {each.name for each in world.pods()} == {"driver", "m0", "tg-1"}


@pytest.mark.remuda_rule("EXT-170", "EXT-173")
def test_a_member_that_is_bound_without_placeholders_is_later() -> None:
    with gang() as world:
        world.pod("m0", annotations=MEMBER)
        world.run()
        world.bind("m0", "n1")
        world.run(seconds=1)
        assert world.kinds() == {"later": 1}
        assert world.example(Kind.LATER).reason == "its application is reserving"


@pytest.mark.remuda_rule("EXT-170")
def test_a_placeholder_too_many_takes_its_room_all_the_same() -> None:
    with gang() as world:
        for name in ("tg-0", "tg-1"):
            world.pod(name, annotations=PLACEHOLDER)
            world.run()
            world.bind(name, "n1")
            world.run(seconds=1)
        # The gang has begun, so the shadow wants no more of them.
        world.pod("tg-2", annotations=PLACEHOLDER)
        world.run()
        world.bind("tg-2", "n1")
        world.bind("driver", "n1")
        world.run(seconds=1)
        # Four cores of four are taken.
        world.pod("next", app="next")
        world.run(seconds=1)
        assert world.decision("next") == ""
        world.end("tg-2")
        world.run(seconds=1)
        assert world.decision("next") == "n1"
