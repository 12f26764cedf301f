"""The order in which sibling queues are served (chapter 50 section A.7, KV-5)."""

from __future__ import annotations

import itertools
import random

import pytest

from remuda.config.schema import QueueConfig
from remuda.core.messages import commands as c
from tests.unit.core.door import Caller, leaf, parent

PRIORITY = "application.sort.priority"
PARITY = {"scheduler.parity": "1.5"}
ONE = {"vcore": 1}
LARGE = {"vcore": 1000, "memory": 1000}


def furnished(
    *queues: QueueConfig, capacity: dict[str, int] | None = None, **other: object
) -> Caller:
    """These queues and one node."""
    door = Caller(*queues, **other)  # type: ignore[arg-type]
    door.node("n1", capacity or LARGE)
    return door


def fill(
    door: Caller,
    path: str,
    used: dict[str, int] | None = None,
    wanted: dict[str, int] | None = None,
    count: int = 1,
    *,
    priority: int = 0,
) -> None:
    """An application, named like its queue, that uses and wants this."""
    name = path.removeprefix("root.")
    door.app(name, path)
    if used:
        door.existing(name, f"old-{name}", "n1", used)
    if wanted is not None:
        door.ask(name, name, wanted, count, priority=priority)


# ----------------------------------------------------------------------------- candidates


@pytest.mark.remuda_rule("QUE-32")
def test_a_queue_is_a_candidate_as_long_as_it_wants_more_than_nothing() -> None:
    door = furnished(leaf("a"), leaf("b"), leaf("c"))
    fill(door, "root.a", wanted={"vcore": 1, "memory": 0})
    fill(door, "root.b", used=ONE)
    fill(door, "root.c", wanted=ONE)
    assert door.order() == ["a", "c"]
    door.ask("b", "b", ONE)
    door.release_ask("b", "b")
    assert not door.scheduler.has_work()
    door.ask("b", "b", ONE)
    assert door.order() == ["b"]


@pytest.mark.remuda_rule("QUE-34")
def test_freed_usage_and_explicit_zeros_hide_no_queue() -> None:
    # Every way in which a counter of one type could sink below that of the others.
    door = furnished(parent("p", leaf("a")), leaf("b"))
    fill(door, "root.p.a", used={"vcore": 2}, wanted={"vcore": 2, "memory": 0}, count=3)
    fill(door, "root.b", wanted=ONE)
    door.ask("p.a", "p.a", {"memory": 1, "vcore": 0}, 2)
    door.release("p.a")
    door.existing("p.a", "back", "n1", {"vcore": 2, "memory": 9}, key="p.a")
    pending = door.queue("root.p").pending
    assert {kind: amount for kind, amount in pending.items() if amount} == {"memory": 1}
    assert sorted(door.order()) == ["b", "p.a"]
    door.scheduler.check()


# ---------------------------------------------------------------------------- comparators


@pytest.mark.remuda_rule("QUE-33")
@pytest.mark.parametrize(
    "mode, order",
    [
        ("enabled", "e c b d a"),
        ("disabled", "e c d a b"),
    ],
)
def test_priority_share_and_pending_decide_in_this_order(mode: str, order: str) -> None:
    # Priority, used of 100 guaranteed cores, cores wanted.
    queues = {"a": (1, 50, 1), "b": (2, 90, 1), "c": (2, 10, 1), "d": (1, 50, 2), "e": (3, 10, 1)}
    door = furnished(
        *(leaf(name, guaranteed={"vcore": 100}) for name in queues), properties={PRIORITY: mode}
    )
    for name, (priority, used, wanted) in queues.items():
        fill(door, f"root.{name}", {"vcore": used}, {"vcore": wanted}, priority=priority)
    assert door.order() == order.split()


@pytest.mark.remuda_rule("QUE-33", "QUE-18")
def test_each_parent_sorts_its_children_by_its_own_property() -> None:
    # Below p priority decides, below q usage; among p and q (root) usage: p uses more.
    def pair(name: str, mode: str) -> QueueConfig:
        return parent(name, leaf("high"), leaf("low"), properties={PRIORITY: mode})

    door = furnished(pair("p", "enabled"), pair("q", "disabled"), properties={PRIORITY: "disabled"})
    for above, more in (("p", 50), ("q", 1)):
        fill(door, f"root.{above}.high", {"vcore": 9 * more}, ONE, priority=5)
        fill(door, f"root.{above}.low", {"vcore": more}, ONE, priority=1)
    assert door.order() == ["q.low", "q.high", "p.high", "p.low"]


@pytest.mark.remuda_rule("QUE-33", "RLD-23", "QUE-21")
def test_each_level_changes_its_order_for_itself_and_at_once() -> None:
    # In p, and among p and q, the urgent one uses more.
    def tree(above: str, inside: str) -> tuple[QueueConfig, ...]:
        return parent("p", leaf("x"), leaf("y"), properties={PRIORITY: inside}), leaf("q")

    on, off = "enabled", "disabled"
    door = furnished(*tree(on, on), properties={PRIORITY: on})
    for path, used, priority in (("p.x", 200, 5), ("p.y", 100, 1), ("q", 10, 3)):
        fill(door, f"root.{path}", {"vcore": used}, {"memory": 1}, 50, priority=priority)
    for above, inside, served in (
        (on, on, "p.x"),
        (on, off, "p.y"),
        (off, off, "q"),
        (off, on, "q"),
        (on, off, "p.y"),
        (on, on, "p.x"),
    ):
        door.reload(*tree(above, inside), properties={PRIORITY: above})
        placed = {identity.rpartition("-")[0] for identity, _ in door.place(4)}
        assert placed == {served}
    door.scheduler.check()


@pytest.mark.remuda_rule("QUE-33")
def test_the_own_guarantee_counts_and_not_the_effective_one() -> None:
    # The effective guarantee of p.a would be 10 (QUE-16): 10 used of it would be 1.0, of its own
    # 100 it is 0.1; p.b has used 2 of its own 10.
    door = furnished(
        parent(
            "p",
            leaf("a", guaranteed={"vcore": 100}),
            leaf("b", guaranteed={"vcore": 10}),
            guaranteed={"vcore": 10},
        )
    )
    fill(door, "root.p.a", {"vcore": 10}, ONE)
    fill(door, "root.p.b", {"vcore": 2}, ONE)
    assert door.order() == ["p.a", "p.b"]


@pytest.mark.remuda_rule("QUE-33", "CYC-10")
def test_the_order_is_worked_out_anew_after_each_allocation() -> None:
    # Shares of 10 and 20 guaranteed cores: a 0, .1, .2, .3; b 0, .05, .1, .15, .2, ...
    # A tie is broken by pending: first 4 against 7, then by what is left.
    door = furnished(leaf("a", guaranteed={"vcore": 10}), leaf("b", guaranteed={"vcore": 20}))
    fill(door, "root.a", wanted=ONE, count=4)
    fill(door, "root.b", wanted=ONE, count=7)
    # 0/0: b (7 > 4); a 0 < .05: a; b .05: b; .1/.1, left 3 and 5: b; a .1 < .15: a; b .15: b;
    # .2/.2, left 2 and 3: b; a .2 < .25: a; b .25: b; .3/.3, left 1 and 1, by name: a; b.
    assert "".join(door.order()) == "babbabbabab"


@pytest.mark.remuda_rule("QUE-35")
@pytest.mark.parametrize(
    "first, second, order",
    [
        ({"vcore": 1}, {"vcore": 1, "memory": 1}, "ba"),  # at least as much, and more of one
        ({"vcore": 1}, {"vcore": 1, "memory": 0}, "ab"),  # an explicit zero is nothing
        ({"vcore": 2}, {"vcore": 1, "memory": 5}, "ba"),  # 2 and 6 thousandths of the cluster
        ({"vcore": 1, "memory": 5}, {"vcore": 2}, "ab"),
        ({"vcore": 3}, {"vcore": 1, "memory": 2}, "ab"),  # 3 thousandths each
        ({"vcore": 1}, {"vcore": 2}, "ba"),
        ({"vcore": 2}, {"vcore": 1}, "ab"),
        ({"vcore": 1}, {"vcore": 1}, "ab"),
    ],
)
def test_among_equals_the_one_that_wants_more_is_first(
    first: dict[str, int], second: dict[str, int], order: str
) -> None:
    door = furnished(leaf("a"), leaf("b"))
    fill(door, "root.a", wanted=first)
    fill(door, "root.b", wanted=second)
    assert "".join(door.order()) == order


@pytest.mark.remuda_rule("QUE-35")
def test_pending_counts_with_all_allocations_that_are_still_to_come() -> None:
    door = furnished(leaf("a"), leaf("b"))
    fill(door, "root.a", wanted={"vcore": 3})
    fill(door, "root.b", wanted={"vcore": 2}, count=2)
    assert door.order()[0] == "b"


@pytest.mark.remuda_rule("QUE-35", "QUE-36")
def test_the_sum_of_the_parts_of_the_cluster_decides_in_any_order_of_arrival() -> None:
    # The cluster has 1000 cores and 4000 bytes: a wants 3/1000, b 2/1000, c 2.25/1000, d 2/1000.
    wanted = {"a": {"vcore": 3}, "b": {"memory": 8}, "c": {"memory": 9}, "d": {"vcore": 2}}
    for names in itertools.permutations("abcd"):
        door = furnished(*(leaf(name) for name in names), capacity={"vcore": 1000, "memory": 4000})
        for name in names:
            fill(door, f"root.{name}", wanted=wanted[name])
        assert "".join(door.order()) == "acbd"


@pytest.mark.remuda_rule("QUE-35")
def test_what_queues_want_is_measured_by_the_cluster_of_that_moment() -> None:
    # a and c want 9 cores, b and d 9 bytes. Of what there is less, 9 are more.
    door = furnished(*(leaf(name) for name in "abcd"), capacity={"vcore": 50, "memory": 40})
    for name in "abcd":
        fill(door, f"root.{name}", wanted={"vcore": 9} if name in "ac" else {"memory": 9})
    assert door.place(1) == [("b-0", "n1")]
    door.node("n2", {"memory": 20})
    assert door.place(1)[0][0] == "a-0"
    door.node("n3", {"vcore": 20})
    assert door.order() == ["d", "c"]


@pytest.mark.remuda_rule("QUE-35")
def test_what_the_cluster_has_nothing_of_decides_only_among_equal_sums() -> None:
    # All want one core more; b and c also devices, of which there are none, c more of them.
    door = furnished(leaf("a"), leaf("b"), leaf("c"), leaf("d"))
    for name, cores, devices in (("a", 1, 0), ("b", 1, 8), ("c", 1, 9), ("d", 2, 0)):
        fill(door, f"root.{name}", wanted={"vcore": cores})
        if devices:
            door.ask(name, f"device-{name}", {"device": devices}, priority=-1)
    assert "".join(door.order()) == "dcba"


@pytest.mark.remuda_rule("QUE-35")
@pytest.mark.parametrize("levels", [1, 2, 3])
def test_on_each_level_what_is_wanted_below_decides(levels: int) -> None:
    def nested(name: str) -> QueueConfig:
        found = leaf("x")
        for _ in range(levels - 1):
            found = parent("y", found)
        return parent(name, found)

    door = furnished(nested("a"), nested("b"))
    path = ".y" * (levels - 1) + ".x"
    for name, size in (("a", {"vcore": 4}), ("b", {"vcore": 1, "memory": 6})):
        door.app(name, f"root.{name}{path}")
        door.ask(name, name, size)
    assert "".join(door.order()) == "ba"


@pytest.mark.remuda_rule("QUE-36", "KV-5")
def test_with_parity_the_first_by_name_that_no_other_exceeds_is_next_however_they_came() -> None:
    # d exceeds a; c exceeds b; a, b and c, d cannot be compared. First of those that nobody
    # exceeds: c (before d). Then b is free: b. Then d, then a.
    wanted = {"a": {"vcore": 1}, "b": {"memory": 1}, "c": {"memory": 2}, "d": {"vcore": 2}}
    for names in itertools.permutations("abcd"):
        door = furnished(*(leaf(name) for name in names), extra_config=PARITY)
        for name in names:
            fill(door, f"root.{name}", wanted=wanted[name])
        assert "".join(door.order()) == "cbda"


@pytest.mark.remuda_rule("QUE-36", "KV-5")
@pytest.mark.parametrize(
    "wanted, order",
    [
        # b before a, which c exceeds, although c itself can never be placed.
        ({"a": {"memory": 1}, "b": {"vcore": 1}, "c": {"memory": 2000}}, "ba"),
        # c is first, then nothing exceeds b any more, which comes before d.
        ({"b": {"memory": 1}, "c": {"memory": 2000}, "d": {"vcore": 1}}, "bd"),
        ({"a": {"vcore": 1}, "b": {"vcore": 2000}, "c": {"vcore": 2, "memory": 2000}}, "a"),
    ],
)
def test_with_parity_a_queue_in_which_nothing_fits_counts_in_the_order_of_the_others(
    wanted: dict[str, dict[str, int]], order: str
) -> None:
    door = furnished(*(leaf(name) for name in wanted), extra_config=PARITY)
    for name, size in wanted.items():
        fill(door, f"root.{name}", wanted=size)
    for _ in range(2):
        assert "".join(door.order()) == order
        for name in order:
            door.release(name)
            door.ask(name, name, wanted[name], 2)


@pytest.mark.remuda_rule("QUE-36", "QUE-37")
def test_equal_states_give_equal_decisions_a_thousand_times() -> None:
    shuffle = random.Random(7)
    decisions = set()
    for _ in range(1000):
        names = list("dacb")
        shuffle.shuffle(names)
        door = furnished(*(leaf(name, guaranteed={"vcore": 5}) for name in names))
        asks = [c.Ask(name, name, ONE, max_allocations=2) for name in names]
        for name in names:
            door.app(name, f"root.{name}")
        shuffle.shuffle(asks)
        door.send(c.UpdateAllocations(door.rm, asks=tuple(asks)))
        decisions.add(tuple(door.place()))
    ((first, *rest),) = decisions
    assert first == ("a-0", "n1")
    assert [identity for identity, _ in rest] == [
        "b-0", "c-0", "d-0", "a-1", "b-1", "c-1", "d-1"
    ]  # fmt: skip


# ---------------------------------------------------------------------------------- shares


@pytest.mark.remuda_rule("QUE-38", "RES-52")
def test_the_fair_maximum_is_overlaid_type_by_type_from_root_down() -> None:
    # F(root) = 1000 of each; F(p) = 100 cores, 1000 bytes; F(p.a) = 100 cores, 10 bytes.
    # a: max(30/100, 4/10) = 0.4; b: max(50/100, 4/1000) = 0.5; c, 2000 cores of its own although
    # its parent has 100: 600/2000 = 0.3.
    door = furnished(
        parent(
            "p",
            leaf("a", maximum={"memory": 10}),
            leaf("b"),
            leaf("c", maximum={"vcore": 2000}),
            maximum={"vcore": 100},
        ),
        capacity={"vcore": 1000, "memory": 1000},
    )
    for name, used in (
        ("a", {"vcore": 30, "memory": 4}),
        ("b", {"vcore": 50, "memory": 4}),
        ("c", {"vcore": 600}),
    ):
        fill(door, f"root.p.{name}", used, {"memory": 1})
    door.node("n2", {"disk": 1})
    # p itself is over its 100 cores, which does not concern asks for bytes.
    assert door.order() == ["p.c", "p.a", "p.b"]


@pytest.mark.remuda_rule("QUE-38")
def test_shares_follow_the_size_of_the_cluster() -> None:
    # a has used 6 cores of 10 guaranteed ones; b 50 of as many as there are.
    door = furnished(leaf("a", guaranteed={"vcore": 10}), leaf("b"), capacity={"vcore": 70})
    door.node("n2", {"vcore": 30})
    fill(door, "root.a", {"vcore": 6}, ONE, 2)
    fill(door, "root.b", {"vcore": 50}, ONE, 2)
    assert [identity for identity, _ in door.place(1)] == ["b-0"]  # 50/100 < 6/10
    door.node("n2", {"vcore": 10}, c.UPDATE)
    assert [identity for identity, _ in door.place(1)] == ["a-0"]  # 51/80 > 6/10
    door.node("n2", {"vcore": 30}, c.UPDATE)
    assert [identity for identity, _ in door.place(1)] == ["b-1"]  # 51/100 < 7/10


@pytest.mark.remuda_rule("QUE-38", "RES-52", "RES-50")
@pytest.mark.parametrize(
    "guaranteed, used, share",
    [
        ({"vcore": 200}, {"vcore": 100}, 0.5),
        (None, {"vcore": 100}, 0.1),
        ({"vcore": 0, "memory": 1}, {"vcore": 1}, 1.0),
        (None, {"licence": 900}, 0.0),  # limited nowhere: no part
        ({"vcore": 1000}, {"vcore": 100, "memory": 300}, 0.3),
        ({"vcore": 1000, "memory": 0}, {"vcore": 100, "memory": 0}, 0.1),
    ],
)
def test_the_share_of_a_queue(
    guaranteed: dict[str, int] | None, used: dict[str, int], share: float
) -> None:
    # The ruler has used a bit less or a bit more of 1000 guaranteed cores.
    for cores, order in ((int(share * 1000) - 1, ["r", "q"]), (int(share * 1000) + 1, ["q", "r"])):
        if cores < 0:
            continue
        door = furnished(leaf("q", guaranteed=guaranteed), leaf("r", guaranteed={"vcore": 1000}))
        fill(door, "root.q", used, {"memory": 1})
        fill(door, "root.r", {"vcore": cores} if cores else None, {"memory": 1})
        assert door.order() == order


# --------------------------------------------------------------------------------- parity


def turns(door: Caller) -> str:
    """The first letters of what is placed, in order."""
    return "".join(key[0] for key in door.order())


def bytes_and_cores() -> Caller:
    """10 cores, 100 bytes; b wants 10 bytes and c one core, three times each."""
    door = furnished(leaf("b"), leaf("c"), capacity={"vcore": 10, "memory": 100})
    fill(door, "root.b", wanted={"memory": 10}, count=3)
    fill(door, "root.c", wanted=ONE, count=3)
    return door


@pytest.mark.remuda_rule("KV-5", "RES-50", "RES-52")
def test_a_run_with_and_without_parity() -> None:
    # Without: both use a tenth of the cluster per allocation, so they take turns. With parity
    # nobody guarantees anything: 10 (bytes) is more than 0, 1 and 2 (cores).
    assert turns(bytes_and_cores()) == "bcbcbc"
    door = bytes_and_cores()
    door.reload(leaf("b"), leaf("c"), extra_config=PARITY)
    assert turns(door) == "bcccbb"


@pytest.mark.remuda_rule("KV-5", "RES-49")
def test_parity_compares_the_lists_of_shares_from_their_largest() -> None:
    # RES-49: shares (0.2, 0.6) come before (0.667), in both modes; (0.2, 0.6) come before
    # (0.5, 0.6) with parity only, else they are equal and the name decides.
    half = {"memory": 500, "vcore": 500}
    cases = [
        ({"memory": 200}, {"memory": 300}, "zy", "zy"),
        ({"memory": 250, "vcore": 300}, half, "yz", "zy"),
    ]
    for used, guaranteed, plain, parity in cases:
        for extra, expected in (({}, plain), (PARITY, parity)):
            queues = (leaf("y", guaranteed=guaranteed), leaf("z", guaranteed=half))
            door = furnished(*queues)
            fill(door, "root.y", used, ONE)
            fill(door, "root.z", {"memory": 300, "vcore": 100}, ONE)
            door.reload(*queues, extra_config=extra)
            assert turns(door) == expected


@pytest.mark.remuda_rule("KV-5", "QUE-33")
def test_parity_changes_the_shares_and_not_the_place_of_priorities() -> None:
    for extra, by_share in (({}, "bc"), (PARITY, "cb")):
        for priority in (0, 1):
            queues = (leaf("b"), leaf("c"))
            door = furnished(*queues, capacity={"vcore": 10, "memory": 100})
            fill(door, "root.b", {"memory": 2}, {"memory": 1})  # 0.02, raw 2
            fill(door, "root.c", {"vcore": 1}, ONE, priority=priority)  # 0.1, raw 1
            door.reload(*queues, extra_config=extra)
            assert turns(door) == ("cb" if priority else by_share)


@pytest.mark.remuda_rule("KV-5")
def test_parity_can_be_switched_in_the_middle_of_a_run() -> None:
    door = bytes_and_cores()
    assert [identity for identity, _ in door.place(2)] == ["b-0", "c-0"]
    for extra, served in ((PARITY, "c-1"), ({}, "b-1"), (PARITY, "c-2")):
        door.reload(leaf("b"), leaf("c"), extra_config=extra)
        assert [identity for identity, _ in door.place(1)] == [served]
    door.scheduler.check()
