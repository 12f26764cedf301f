"""What gangs that began still lack is kept from those that did not begin (GANG-4)."""

from __future__ import annotations

import pytest

from remuda.base.resources import Resource
from remuda.config.schema import QueueConfig
from tests.unit.core.door import leaf, parent
from tests.unit.core.rules.gang import GREEDY, TEN, TIMEOUT, Gang, existing

QUOTA: Resource = {"vcore": 100}
SIXTY: Resource = {"vcore": 60}


def keys(app: str, count: int = 6) -> list[str]:
    """The keys of an application's placeholders."""
    return [f"{app}{number}" for number in range(1, count + 1)]


def whole(app: str, count: int = 6) -> list[str]:
    """What an application holds that has all its placeholders."""
    return [f"{key}-0" for key in keys(app, count)]


def submit(
    gang: Gang,
    app: str,
    path: str,
    *,
    count: int = 6,
    size: Resource = TEN,
    total: Resource | None = None,
    style: str = "",
) -> None:
    """A gang of so many placeholders of one size."""
    announced = total or {kind: count * amount for kind, amount in size.items()}
    gang.submit(app, announced, style, queue=path)
    gang.hold(*keys(app, count), app=app, size=size)


def family(**other: object) -> QueueConfig:
    """Two leaves below a parent that may use 100 cores."""
    return parent("p", leaf("a"), leaf("b"), maximum=QUOTA, **other)  # type: ignore[arg-type]


def pair(*queues: QueueConfig, cores: int = 1000, style: str = "", **other: object) -> Gang:
    """Gangs ``a`` and ``b`` of 60 in the two leaves of the family."""
    gang = Gang(*(queues or (family(),)))
    gang.nodes(n1=cores)
    for app in "ab":
        submit(gang, app, f"root.p.{app}", style=style, **other)  # type: ignore[arg-type]
    return gang


# The quota is on the parent, on that of the parent, or on both.
DEEP = [
    (family(), "root.p.a", "root.p.b"),
    (
        parent("p", parent("x", leaf("a")), parent("y", leaf("b")), maximum=QUOTA),
        "root.p.x.a",
        "root.p.y.b",
    ),
    (
        parent(
            "p",
            parent("x", leaf("a"), leaf("b"), maximum=QUOTA),
            leaf("c"),
            maximum={"vcore": 110},
        ),
        "root.p.x.a",
        "root.p.x.b",
    ),
    (parent("p", leaf("a", QUOTA), leaf("b", QUOTA), maximum=QUOTA), "root.p.a", "root.p.b"),
]


@pytest.mark.remuda_rule("GANG-4", "GANG-5")
@pytest.mark.parametrize("queue, first, second", DEEP)
def test_of_two_gangs_in_different_leaves_one_starts_whole_and_one_waits_whole(
    queue: QueueConfig, first: str, second: str
) -> None:
    gang = Gang(queue)
    gang.nodes(n1=1000)
    submit(gang, "a", first)
    submit(gang, "b", second)
    gang.run()
    assert gang.holds("a") == whole("a")
    assert (gang.state("a"), gang.holds("b"), gang.state("b")) == ("Starting", [], "Accepted")
    # The other starts whole as soon as the first is gone.
    gang.remove("a")
    gang.run()
    assert gang.holds("b") == whole("b")


@pytest.mark.remuda_rule("GANG-4")
def test_two_gangs_of_one_leaf_are_let_in_one_after_the_other_too() -> None:
    gang = Gang(leaf("a", QUOTA, properties={"application.sort.policy": "fifo"}))
    gang.nodes(n1=1000)
    submit(gang, "x", "root.a", count=7)
    submit(gang, "y", "root.a", count=7)
    gang.run()
    assert (gang.holds("x"), gang.holds("y")) == (whole("x", 7), [])


@pytest.mark.remuda_rule("GANG-4", "REST-120", "REST-121")
def test_the_finding_tells_what_is_left_without_what_others_lack() -> None:
    gang = pair(cores=30)  # of a three places fit the node, three more are lacking
    gang.run()
    assert gang.holds("a") == ["a1-0", "a2-0", "a3-0"]
    (finding, *more) = [each.finding for each in gang.application("b").requests]
    assert finding is not None
    assert (finding.gate, finding.subject) == ("gang", "root.p")
    assert (finding.requested, finding.available) == (SIXTY, {"vcore": 40})
    assert all(each is not None and each.gate == "gang" for each in more)


@pytest.mark.remuda_rule("GANG-4", "GANG-22", "GANG-23", "GANG-25")
@pytest.mark.parametrize("style", ["Soft", "Hard"])
def test_when_one_gives_up_the_other_may_begin(style: str) -> None:
    gang = pair(cores=50, style=style)
    gang.run()
    assert (len(gang.holds("a")), gang.holds("b")) == (5, [])
    gang.run(TIMEOUT + 1)
    assert gang.state("a") == {"Soft": "Resuming", "Hard": "Failing"}[style]
    gang.nodes(n2=10)
    gang.run()
    assert gang.holds("b") == []  # a uses 50 until that is confirmed
    gang.timed_out(*whole("a", 5), app="a")
    gang.run()
    assert gang.holds("b") == whole("b")


@pytest.mark.remuda_rule("GANG-4", "GANG-33")
def test_a_gang_that_lost_its_last_placeholder_did_not_begin() -> None:
    gang = pair(cores=10)
    gang.run()
    assert (gang.holds("a"), gang.holds("b")) == (["a1-0"], [])
    gang.release("a", "a1-0")
    gang.nodes(n2=50)
    gang.run()
    # Either begins anew, but only one of them.
    held = [gang.holds("a"), gang.holds("b")]
    assert sorted(len(each) for each in held) == [0, 5 if held[0] else 6]


@pytest.mark.remuda_rule("GANG-4")
def test_only_types_that_both_need_are_kept() -> None:
    size = {"vcore": 100, "memory": 100}
    gang = Gang(parent("p", leaf("a"), leaf("b"), leaf("d"), maximum=size))
    gang.node("n1", {"vcore": 1000, "memory": 30})
    submit(gang, "a", "root.p.a", size={"memory": 10})
    gang.run()
    assert len(gang.holds("a")) == 3  # it lacks 30 bytes
    submit(gang, "b", "root.p.b", size={"vcore": 10})
    submit(gang, "d", "root.p.d", size={"vcore": 1, "memory": 10}, count=5)
    gang.run()
    assert (gang.holds("b"), gang.holds("d")) == (whole("b"), [])


@pytest.mark.remuda_rule("GANG-4")
def test_what_is_lacked_elsewhere_is_kept_from_nobody() -> None:
    gang = Gang(family(), parent("q", leaf("c"), maximum=QUOTA))
    gang.nodes(n1=10)
    submit(gang, "a", "root.p.a")
    gang.run()
    assert len(gang.holds("a")) == 1
    submit(gang, "c", "root.q.c")
    gang.nodes(n2=55)
    gang.run()
    assert len(gang.holds("a")) + len(gang.holds("c")) == 6
    assert gang.holds("c")


@pytest.mark.remuda_rule("GANG-4", "CYC-12")
def test_single_asks_pass_by_as_before() -> None:
    gang = pair(cores=20)
    gang.run()
    assert (len(gang.holds("a")), gang.holds("b")) == (2, [])
    gang.submit("single", queue="root.p.b")
    gang.ask("single", "k", {"vcore": 70})
    gang.nodes(n2=70)
    assert "new[k-0 n2]" in gang.run()


@pytest.mark.remuda_rule("GANG-4", "RLD-21")
def test_a_quota_that_grows_lets_the_other_begin_and_one_that_shrinks_does_not() -> None:
    gang = pair(cores=10)
    gang.run()
    assert (gang.holds("a"), gang.holds("b")) == (["a1-0"], [])
    gang.nodes(n2=60)
    gang.reload(parent("p", leaf("a"), leaf("b"), maximum={"vcore": 50}))
    gang.run()
    assert gang.holds("b") == []
    gang.reload(parent("p", leaf("a"), leaf("b"), maximum={"vcore": 120}))
    gang.run()
    assert gang.holds("b") != []


@pytest.mark.remuda_rule("GANG-4", "GANG-40", "GANG-41")
def test_a_gang_that_is_recovered_in_part_has_begun() -> None:
    gang = Gang(family())
    gang.nodes(n1=1000)
    gang.submit("a", SIXTY, queue="root.p.a")
    gang.recover(existing("a", "a1-0", "n1", "g", TEN, placeholder=True))
    submit(gang, "b", "root.p.b")
    gang.run()
    assert (gang.holds("a"), gang.holds("b")) == (["a1-0"], [])
    gang.hold(*keys("a")[1:], app="a", size=TEN)
    gang.run()
    assert (gang.holds("a"), gang.holds("b")) == (whole("a"), [])


@pytest.mark.remuda_rule("GANG-4", "CYC-28")
@pytest.mark.parametrize("count, begins", [(4, True), (5, False)])
def test_what_a_resized_placeholder_has_more_its_gang_lacks_less(count: int, begins: bool) -> None:
    gang = Gang(family())
    gang.nodes(n1=1000)
    gang.submit("a", SIXTY, queue="root.p.a")
    for size in (TEN, {"vcore": 30}, {"vcore": 20}):
        gang.recover(existing("a", "a1-0", "n1", "g", size, placeholder=True))
    submit(gang, "b", "root.p.b", count=count)  # of 100 are 40 left: 20 are used, 40 lacking
    gang.run()
    assert gang.holds("b") == (whole("b", count) if begins else [])


@pytest.mark.remuda_rule("GANG-4")
def test_greedy_gangs_that_began_are_waited_for_too() -> None:
    gang = pair(
        parent("p", leaf("a", properties=GREEDY), leaf("b"), maximum=QUOTA),
        cores=30,
    )
    gang.run()
    assert (len(gang.holds("a")), gang.holds("b")) == (3, [])


@pytest.mark.remuda_rule("GANG-4")
def test_many_gangs_start_whole_one_after_the_other_without_a_timeout() -> None:
    names = [f"g{number}" for number in range(8)]
    gang = Gang(parent("p", *(leaf(name) for name in names), maximum=QUOTA))
    gang.nodes(**{f"n{number}": 25 for number in range(8)})
    for name in names:
        submit(gang, name, f"root.p.{name}", count=4)
    ended: list[str] = []
    for _ in range(len(names)):
        gang.run()
        held = {name: gang.holds(name) for name in names if name not in ended}
        full = [name for name, each in held.items() if len(each) == 4]
        assert full
        assert all(len(each) in (0, 4) for each in held.values())
        gang.remove(full[0])
        ended.append(full[0])
    assert sorted(ended) == names
