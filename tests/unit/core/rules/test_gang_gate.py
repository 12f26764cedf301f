"""A gang begins when the quotas have room for all of it (GANG-4)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from remuda.config.schema import QueueConfig
from remuda.core.messages import commands as c
from remuda.core.messages import effects as e
from remuda.core.messages import events as ev
from tests.unit.core.door import DAY, START, leaf, of, parent, users
from tests.unit.core.rules.gang import GREEDY, ONE, TIMEOUT, TWO, Gang, heard

SIX = [f"p{number}" for number in range(1, 7)]
ALL = [f"p{number}-0" for number in range(1, 7)]


def crowded(*queues: QueueConfig, used: int = 50, cores: int = 1000) -> Gang:
    """``other`` uses so much of a quota of 100; a gang of 60 waits behind it."""
    gang = Gang(*(queues or (leaf("a", {"vcore": 100}),)))
    gang.nodes(n1=cores)
    gang.submit("other", user="olga", groups=("others",))
    if used > 10:
        gang.existing("other", "x", "n1", {"vcore": used - 10})
    gang.existing("other", "y", "n1", {"vcore": 10})
    gang.submit("app", {"vcore": 60})
    gang.hold(*SIX, size={"vcore": 10})
    return gang


@pytest.mark.remuda_rule("GANG-4", "GANG-21")
def test_nothing_is_held_before_the_quota_has_room_for_all() -> None:
    gang = crowded()
    assert gang.run() == []
    assert gang.run(30 * DAY) == []
    assert (gang.state("app"), gang.holds(), gang.deadline()) == ("Accepted", [], 0)
    gang.release("other", "y")
    assert gang.run() == [
        *(f"new[{identity} n1]" for identity in ALL[:5]),
        "updated[app Starting]",
        "new[p6-0 n1]",
    ]
    assert gang.deadline() == START + 30 * DAY + TIMEOUT


@pytest.mark.remuda_rule("GANG-4")
def test_greedy_queues_place_as_far_as_the_quota_goes() -> None:
    gang = crowded(leaf("a", {"vcore": 100}, properties=GREEDY))
    assert gang.run() == [f"new[{identity} n1]" for identity in ALL[:5]]
    assert gang.deadline() == START + TIMEOUT
    assert gang.state("app") == "Accepted"
    gang.release("other", "y")
    assert gang.run() == ["updated[app Starting]", "new[p6-0 n1]"]


@pytest.mark.remuda_rule("GANG-4")
@pytest.mark.parametrize(
    "text, placed", [("greedy", 5), ("GREEDY", 5), ("Greedy", 5), ("quota", 0), ("all", 0)]
)
def test_the_property_is_read_in_any_case_and_nonsense_is_the_default(
    text: str, placed: int
) -> None:
    gang = crowded(leaf("a", {"vcore": 100}, properties={"application.gang.admission": text}))
    gang.run()
    assert len(gang.holds()) == placed


@pytest.mark.remuda_rule("GANG-4")
@pytest.mark.parametrize("used, placed", [(39, 6), (40, 6), (41, 0)])
def test_exactly_enough_is_enough(used: int, placed: int) -> None:
    gang = crowded(used=used)
    gang.run()
    assert len(gang.holds()) == placed


PARENTS: list[tuple[QueueConfig, str]] = [
    (parent("p", leaf("a"), leaf("b"), maximum={"vcore": 100}), "root.p.a"),
    (parent("p", leaf("a", {"vcore": 60}), leaf("b"), maximum={"vcore": 100}), "root.p.a"),
]


@pytest.mark.remuda_rule("GANG-4")
@pytest.mark.parametrize("queue, path", PARENTS)
def test_every_limited_queue_of_the_path_must_have_room(queue: QueueConfig, path: str) -> None:
    gang = Gang(queue)
    gang.nodes(n1=1000)
    gang.submit("other", queue="root.p.b")
    gang.existing("other", "x", "n1", {"vcore": 41})
    gang.submit("app", {"vcore": 60}, queue=path)
    gang.hold(*SIX, size={"vcore": 10})
    assert gang.run() == []
    gang.existing("other", "x", "n1", {"vcore": 40})  # CYC-28: the same one, smaller
    gang.run()
    assert gang.holds() == ALL


@pytest.mark.remuda_rule("GANG-4")
def test_only_the_types_a_queue_limits_are_looked_at() -> None:
    gang = Gang(parent("p", leaf("a", {"gpu": 4}), maximum={"vcore": 100}))
    gang.node("n1", {"vcore": 1000, "gpu": 100, "memory": 1})
    gang.submit("other", queue="root.p.a")
    gang.existing("other", "x", "n1", {"vcore": 40, "gpu": 3, "memory": 1})
    gang.submit("app", {"vcore": 60, "gpu": 2, "memory": 9}, queue="root.p.a")
    gang.hold("p1", "p2", size={"vcore": 30, "gpu": 1})
    assert gang.run() == []
    gang.existing("other", "x", "n1", {"vcore": 40, "gpu": 2, "memory": 1})
    gang.run()
    assert gang.holds() == ["p1-0", "p2-0"]


@pytest.mark.remuda_rule("GANG-4")
@pytest.mark.parametrize("queue", [leaf("a"), leaf("a", {"vcore": 100})])
def test_a_cluster_that_is_too_small_does_not_keep_a_gang_from_beginning(
    queue: QueueConfig,
) -> None:
    gang = Gang(queue)
    gang.nodes(n1=25)
    gang.submit("app", {"vcore": 60})
    gang.hold(*SIX, size={"vcore": 10})
    assert gang.run() == ["new[p1-0 n1]", "new[p2-0 n1]"]
    assert gang.deadline() == START + TIMEOUT


@pytest.mark.remuda_rule("GANG-4", "GANG-7")
def test_limits_of_users_do_not_keep_a_gang_from_beginning() -> None:
    gang = Gang(leaf("a", {"vcore": 100}, limits=(users("ann", {"vcore": 20}),)))
    gang.nodes(n1=1000)
    gang.submit("app", {"vcore": 60})
    gang.hold(*SIX, size={"vcore": 10})
    assert gang.run() == ["new[p1-0 n1]", "new[p2-0 n1]"]


@pytest.mark.remuda_rule("GANG-4")
def test_others_go_on_while_a_gang_waits() -> None:
    gang = crowded()
    gang.submit("behind")
    gang.want("k", app="behind", group="", size={"vcore": 20})
    gang.submit("gang", {"vcore": 30})
    gang.hold("q1", app="gang", size={"vcore": 30})
    assert gang.run() == [
        "updated[behind Starting]",
        "new[k-0 n1]",
        "updated[gang Starting]",
        "new[q1-0 n1]",
    ]
    assert gang.holds() == []


@pytest.mark.remuda_rule("GANG-4", "GANG-6")
def test_its_own_real_asks_wait_with_it() -> None:
    gang = crowded(leaf("a", {"vcore": 101}))
    gang.want("r1")
    gang.want("r2", group="")
    assert gang.run() == []
    gang.release("other", "y")
    assert gang.run()[-4:] == [
        "new[p6-0 n1]",
        "released[p1-0 REPLACED]",
        "updated[app Running]",
        "new[r2-0 n1]",
    ]


@pytest.mark.remuda_rule("GANG-4", "GANG-8", "CYC-12")
def test_what_waits_for_quota_reserves_nothing() -> None:
    gang = crowded(cores=55)  # each placeholder fits the quota, and none the node
    assert gang.run(DAY) == []
    assert gang.home().reservations == 0
    assert gang.node_view("n1").reservations == ()


@pytest.mark.remuda_rule("GANG-4")
def test_a_gang_that_began_goes_on_one_by_one() -> None:
    gang = Gang(leaf("a", {"vcore": 6}))
    gang.nodes(n1=100)
    gang.submit("other")
    gang.submit("app", {"vcore": 6})
    gang.hold(*SIX)
    gang.step(1)
    assert gang.holds() == ["p1-0"]
    gang.existing("other", "x", "n1", TWO)
    assert gang.run() == ["new[p2-0 n1]", "new[p3-0 n1]", "new[p4-0 n1]"]


@pytest.mark.remuda_rule("GANG-4", "GANG-21")
def test_a_gang_that_lost_all_it_held_needs_room_for_all_again() -> None:
    gang = Gang(leaf("a", {"vcore": 6}))
    gang.nodes(n1=1)
    gang.submit("other")
    gang.submit("app", {"vcore": 6})
    gang.hold(*SIX)
    assert gang.run() == ["new[p1-0 n1]"]
    gang.confirm("p1-0", kind=c.STOPPED_BY_RM)
    gang.existing("other", "x", "n1", ONE)
    gang.nodes(n2=100)
    assert gang.run() == []
    assert gang.deadline() == 0
    gang.release("other")
    gang.run()
    assert gang.holds() == ALL[1:]
    assert gang.state("app") == "Accepted"  # five of six


def _raise(gang: Gang) -> None:
    gang.reload(leaf("a", {"vcore": 110}))


def _unlimit(gang: Gang) -> None:
    gang.reload(leaf("a"))


def _be_greedy(gang: Gang) -> None:
    gang.reload(leaf("a", {"vcore": 110}, properties=GREEDY))


def _remove(gang: Gang) -> None:
    gang.remove("other")


def _complete(gang: Gang) -> None:
    gang.release("other")


def _shrink(gang: Gang) -> None:
    gang.existing("other", "y", "n1", ONE)


def _timeout(gang: Gang) -> None:
    gang.release("other", "y", kind=c.TIMEOUT)


@pytest.mark.remuda_rule("GANG-4")
@pytest.mark.parametrize(
    "change", [_raise, _unlimit, _be_greedy, _remove, _complete, _shrink, _timeout]
)
def test_whatever_makes_room_lets_the_gang_begin(change: Callable[[Gang], None]) -> None:
    gang = crowded(used=49)
    assert gang.run() == []
    change(gang)
    lines = gang.run()
    assert gang.holds() == ALL
    assert "updated[app Starting]" in lines


@pytest.mark.remuda_rule("GANG-4")
def test_the_loss_of_a_node_lets_the_gang_begin() -> None:
    gang = Gang(leaf("a", {"vcore": 6}))
    gang.nodes(n1=10, n2=10)
    gang.submit("other")
    gang.existing("other", "x", "n2", ONE)
    gang.submit("app", {"vcore": 6})
    gang.hold(*SIX)
    assert gang.run() == []
    gang.node("n2", action=c.DECOMISSION)
    gang.run()
    assert gang.holds() == ALL


@pytest.mark.remuda_rule("GANG-4", "GANG-5")
def test_a_complete_gang_needs_no_room_for_a_second_one() -> None:
    gang = Gang(leaf("a", {"vcore": 6}))
    gang.nodes(n1=100)
    gang.submit("app", {"vcore": 4})
    gang.hold(*SIX[:4])
    gang.run()
    gang.hold("more")
    assert gang.run() == ["new[more-0 n1]"]
    # All of them used: what comes later is not behind the gate either.
    gang.want("r1", "r2", "r3", "r4", "r5")
    gang.run()
    gang.confirm(*gang.holds())
    assert (gang.state("app"), gang.holds()) == ("Running", [])
    gang.hold("most")
    assert gang.run() == ["new[most-0 n1]"]


@pytest.mark.remuda_rule("GANG-4")
def test_two_gangs_of_one_queue_do_not_begin_on_the_same_room() -> None:
    gang = Gang(leaf("a", {"vcore": 6}))
    gang.nodes(n1=100)
    for app in ("one", "two"):
        gang.submit(app, {"vcore": 4})
        gang.hold(*(f"{app}{number}" for number in range(4)), app=app)
    assert len(gang.run()) == 5
    assert len(gang.holds("one")) == 4
    assert gang.holds("two") == []
    gang.remove("one")
    gang.run()
    assert len(gang.holds("two")) == 4


@pytest.mark.remuda_rule("GANG-4", "EVT-36")
def test_the_users_are_not_told_that_each_placeholder_is_too_large() -> None:
    gang = crowded(used=95)
    found = gang.step()
    assert heard(found) == []
    assert [r.object_id for r in of(found, e.EventRecord) if r.kind == ev.REQUEST] == []


@pytest.mark.remuda_rule("GANG-4", "QUE-22", "LIM-60")
@pytest.mark.parametrize("most", ["queue", "user"])
def test_a_gang_that_may_not_start_yet_is_told_that_and_not_of_the_quota(most: str) -> None:
    settings: dict[str, Any] = {"limits": (users("ann", None, 1),)}
    if most == "queue":
        settings = {"max_applications": 1}
    gang = Gang(leaf("a", {"vcore": 100}, **settings))
    gang.nodes(n1=1000)
    gang.submit("first")
    gang.ask("first", "x", {"vcore": 60})
    gang.run()
    gang.submit("app", {"vcore": 60})
    gang.hold(*SIX, size={"vcore": 10})
    assert gang.run() == []
    # Both are in the way; whether the application may start comes first (decision 61).
    findings = [each.finding for each in gang.application("app").requests]
    assert {each.gate for each in findings if each} == {"max applications"}
