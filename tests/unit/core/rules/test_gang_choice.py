"""Which ask gets the place of which placeholder, and where (chapter 80 section 3, SI-39)."""

from __future__ import annotations

import pytest

from remuda.core.messages import commands as c
from tests.unit.core.door import REQUIRED_NODE, SECOND, leaf
from tests.unit.core.rules.crowd import Reluctant
from tests.unit.core.rules.gang import ONE, TEN, TWO, Gang, heard, pair


def refusing(*keys: str, nodes: tuple[str, ...]) -> Reluctant:
    """An RM that takes these asks on none of these nodes."""
    return Reluctant(
        {(k, node, how): "no" for k in keys for node in nodes for how in (True, False)}
    )


def reserved(judge: Reluctant, *sizes: int, **cores: int) -> Gang:
    """A complete gang, its placeholders p0-0, p1-0, ... of these sizes, each one node further."""
    gang = Gang(predicates=judge)
    gang.nodes(**cores)
    gang.submit("app", {"vcore": sum(sizes)})
    for number, size in enumerate(sizes):
        gang.hold(f"p{number}", size={"vcore": size})
        gang.run()
        gang.now += SECOND
    assert gang.state("app") == "Starting"
    return gang


@pytest.mark.remuda_rule("GANG-10", "QUE-44")
def test_what_is_refused_lets_the_next_in_ask_order_go_first() -> None:
    gang = reserved(refusing("top", nodes=("n1",)), 1, n1=1)
    gang.want("low", size=ONE)
    gang.want("middle", size={"vcore": 1, "memory": 0}, priority=5)
    gang.want("top", priority=9)
    assert gang.run() == ["released[p0-0 REPLACED]"]
    assert gang.confirm("p0-0") == ["new[middle-0 n1]"]


@pytest.mark.remuda_rule("GANG-16", "GANG-10")
def test_the_first_pair_is_the_one_that_moves_to_another_node() -> None:
    judge = refusing("r1", "r2", nodes=("n1",))
    gang = reserved(judge, 1, 1, n1=2)
    gang.node("n2", {"vcore": 1})
    gang.want("r2", size={"vcore": 1, "memory": 0})
    gang.want("r1", priority=1)
    # r1 is first, and p0 the oldest; n2 has room for one only.
    assert gang.run() == ["released[p0-0 REPLACED]"]
    assert gang.confirm("p0-0") == ["new[r1-0 n2]"]
    assert gang.run() == []
    assert (gang.pending(), gang.holds()) == ({"r2": 1}, ["p1-0"])


@pytest.mark.remuda_rule("GANG-16", "NOD-15")
def test_the_other_node_is_the_first_in_node_order_that_the_rm_takes() -> None:
    judge = refusing("r1", nodes=("n1", "n3"))
    gang = reserved(judge, 1, n1=10)
    gang.nodes(n2=10, n3=10, n4=10)
    gang.submit("other")
    gang.existing("other", "x", "n2", {"vcore": 5})
    judge.asked.clear()
    gang.want("r1")
    assert gang.run() == ["released[p0-0 REPLACED]"]
    # Fair: n3 and n4 are empty and come before n2, which is half full.
    assert gang.on("n4") == ONE
    assert gang.confirm("p0-0") == ["new[r1-0 n4]"]


@pytest.mark.remuda_rule("GANG-13", "GANG-16", "SI-80")
def test_the_rm_is_asked_about_another_node_as_for_an_allocation() -> None:
    judge = Reluctant({("r1", "n1", False): "not here"})
    gang = reserved(judge, 1, n1=1)
    gang.nodes(n2=1)
    judge.asked.clear()
    gang.want("r1")
    assert gang.run() == ["released[p0-0 REPLACED]"]
    assert judge.asked == [("r1", "n1", False), ("r1", "n2", True)]
    assert gang.confirm("p0-0") == ["new[r1-0 n2]"]


@pytest.mark.remuda_rule("GANG-15", "GANG-10")
def test_a_small_placeholder_behind_the_one_that_is_replaced_stays() -> None:
    gang = reserved(Reluctant(), 2, 1, n1=10)
    gang.want("r1", size=TWO)
    assert gang.run() == ["released[p0-0 REPLACED]"]
    gang.want("r2")
    assert gang.run() == ["released[p1-0 REPLACED]"]
    assert gang.confirm("p0-0", "p1-0") == [
        "new[r1-0 n1]",
        "updated[app Running]",
        "new[r2-0 n1]",
    ]
    assert gang.data() == (2, 2, 0)


@pytest.mark.remuda_rule("GANG-15", "GANG-16")
def test_a_placeholder_that_was_given_up_is_not_moved_in_the_same_breath() -> None:
    gang = reserved(refusing("r1", nodes=("n1",)), 1, n1=10)
    gang.nodes(n2=10)
    gang.want("r1", priority=1)
    gang.want("r2", size=TWO)
    # r1 would fit p0 and go to n2; r2 is too large for p0, which is ordered out once.
    assert gang.run() == ["released[p0-0 TIMEOUT]"]
    assert gang.on("n2") == {}
    gang.timed_out("p0-0")
    assert gang.data() == (1, 0, 1)
    lines = gang.run()
    assert [line.split()[0] for line in lines if line.startswith("new")] == ["new[r1-0", "new[r2-0"]


@pytest.mark.remuda_rule("SI-39", "GANG-16")
def test_a_required_node_without_room_is_waited_for() -> None:
    gang = pair()
    gang.nodes(n3=10)
    gang.submit("other")
    gang.existing("other", "x", "n3", TEN)
    gang.want("r1", tags={REQUIRED_NODE: "n3"})
    assert gang.run() == []
    assert gang.on("n3") == TEN
    assert heard(gang.release("other", "x"))[-1] == "released[x STOPPED]"
    assert gang.run() == ["released[p1-0 REPLACED]"]
    assert gang.on("n3") == ONE
    assert gang.confirm("p1-0") == ["new[r1-0 n3]"]


@pytest.mark.remuda_rule("SI-39", "GANG-16")
def test_an_ask_that_requires_a_node_moves_there_when_no_placeholder_is_left_on_it() -> None:
    gang = pair()
    gang.want("r1", tags={REQUIRED_NODE: "n2"})
    assert gang.run() == ["released[p2-0 REPLACED]"]
    assert gang.confirm("p2-0") == ["new[r1-0 n2]"]
    gang.want("r2", tags={REQUIRED_NODE: "n2"})
    assert gang.run() == ["released[p1-0 REPLACED]"]
    assert gang.on("n2") == TWO
    assert gang.confirm("p1-0") == ["updated[app Running]", "new[r2-0 n2]"]


@pytest.mark.remuda_rule("GANG-10", "SI-43", "CYC-28")
def test_a_placeholder_that_was_ordered_out_is_not_free_again_when_it_is_resized() -> None:
    gang = pair()
    gang.want("r1")
    assert gang.run() == ["released[p1-0 REPLACED]"]
    grown = c.Ask("app", "p1", TWO, task_group="g", placeholder=True)
    gang.recover(c.ExistingAllocation(grown, "p1-0", "n1"))
    assert gang.on("n1") == TWO
    gang.want("r2", "r3")
    assert gang.run() == ["released[p2-0 REPLACED]"]
    assert gang.confirm("p1-0") == ["new[r1-0 n1]"]
    assert gang.on("n1") == ONE


@pytest.mark.remuda_rule("GANG-10", "GANG-16")
def test_a_long_search_that_was_left_off_begins_anew_with_a_new_placeholder() -> None:
    # 66 asks of different sizes, each refused on the nodes of 64 placeholders: more than one
    # decision may ask about. What comes meanwhile is for the first of them.
    names = [f"n{number}" for number in range(64)]
    keys = [f"r{number:02}" for number in range(66)]
    gang = reserved(refusing(*keys, nodes=tuple(names)), *[100] * 64, **dict.fromkeys(names, 100))
    for number, key in enumerate(keys):
        gang.want(key, size={"vcore": 100 - number}, priority=100 - number)
    heard_first = heard(gang.step(1))
    assert heard_first == []
    gang.node("late", {"vcore": 100})
    gang.recover(
        c.ExistingAllocation(
            c.Ask("app", "late", {"vcore": 100}, task_group="g", placeholder=True), "late-0", "late"
        )
    )
    assert gang.run() == ["released[late-0 REPLACED]"]
    assert gang.confirm("late-0") == ["new[r00-0 late]"]


@pytest.mark.remuda_rule("GANG-12", "SI-41", "QUE-8")
def test_a_queue_whose_maximum_sank_below_what_is_held_still_swaps() -> None:
    gang = pair(leaf("a", TWO))
    gang.reload(leaf("a", ONE))
    gang.want("r1", "r2")
    assert gang.run() == ["released[p1-0 REPLACED]", "released[p2-0 REPLACED]"]
    gang.confirm("p1-0", "p2-0")
    assert (gang.runs(), gang.in_queue()) == (["r1-0", "r2-0"], TWO)


@pytest.mark.remuda_rule("CYC-24", "SI-80", "GANG-13")
def test_why_the_node_of_a_placeholder_is_refused_is_in_the_log_of_the_ask() -> None:
    # Decision 67: else nobody would see what keeps a complete gang from running.
    gang = reserved(Reluctant({("r1", "n1", False): "disk full"}), 1, n1=1)
    gang.want("r1")
    assert gang.run() == []
    (waiting,) = [r for r in gang.application().requests if r.allocation_key == "r1"]
    assert [(each.message, each.count) for each in waiting.log] == [("disk full", 1)]


@pytest.mark.remuda_rule("GANG-10", "GANG-16")
def test_a_search_longer_than_one_decision_goes_on_behind_what_was_looked_at() -> None:
    # One ask alone looks at more placeholders than a decision may; the next ask is looked at in the
    # decision after it, and there the search ends.
    judge = refusing("r1", "r2", nodes=("n1",))
    gang = Gang(predicates=judge)
    gang.nodes(n1=5000)
    gang.submit("app", {"vcore": 4097})
    gang.hold(*[f"p{number}" for number in range(4097)])
    gang.step(5000)
    assert len(gang.holds()) == 4097
    gang.want("r1", priority=1)
    gang.want("r2", size={"vcore": 1, "memory": 0})
    judge.asked.clear()
    for _ in range(2):
        assert heard(gang.scheduler.step(gang.now, 1)) == []
    in_place = [key for key, _, elsewhere in judge.asked if not elsewhere]
    assert in_place == ["r1", "r2"]
    gang.scheduler.step(gang.now, 10)
    assert not gang.scheduler.has_work()
