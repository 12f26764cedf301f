"""Storms: two groups that evict each other for ever, as users of other schedulers report them.

Each group fills what it may use and wants more; what is evicted is asked for again at once. Time
jumps over hours. However guarantees, priorities and sizes are chosen, preemptions have to end, and
there may not have been more than it takes to give each queue what it is guaranteed (PRE-93).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

import pytest

from remuda.base.resources import Resource
from remuda.config.schema import QueueConfig
from remuda.core.model.preemption.live import LOST, PLACED
from tests.long_runs import usual
from tests.simulation.preemption.cluster import HOUR, NEW_KEY, SAME_KEY, Cluster
from tests.unit.core.door import leaf, parent

NODES = {f"n{number}": {"vcore": 10, "memory": 20} for number in range(8)}
ALL: Resource = {"vcore": 80, "memory": 160}
FIFO = {"application.sort.policy": "fifo"}

# Sizes of the asks of both groups; some divide a node and a guarantee, some do not.
SIZES: Mapping[str, tuple[Resource, Resource]] = {
    "equal": ({"vcore": 2, "memory": 4}, {"vcore": 2, "memory": 4}),
    "uneven": ({"vcore": 3, "memory": 4}, {"vcore": 7, "memory": 9}),
    "wide and tall": ({"vcore": 5, "memory": 2}, {"vcore": 1, "memory": 9}),
}
PRIORITIES: Mapping[str, tuple[tuple[int, ...], tuple[int, ...]]] = {
    "equal": ((0,), (0,)),
    "a higher": ((5,), (0,)),
    "b higher": ((0,), (5,)),
    "mixed": ((0, 5, 9), (9, 0, 5)),
}


def two(a: Resource | None, b: Resource | None, **above: Any) -> QueueConfig:
    """Two leaves below a parent."""
    both = (leaf("a", guaranteed=a, properties=FIFO), leaf("b", guaranteed=b, properties=FIFO))
    return parent("p", *both, **above)


def half(share: int = 2) -> Resource:
    return {name: amount // share for name, amount in ALL.items()}


TREES: Mapping[str, QueueConfig] = {
    "on the parent only": two(None, None, maximum=ALL, guaranteed=ALL),
    "half each": two(half(), half(), maximum=ALL),
    "half each, all on the parent": two(half(), half(), maximum=ALL, guaranteed=ALL),
    "one type each": two({"vcore": 40}, {"memory": 80}, maximum=ALL),
    "all of one type each": two({"vcore": 80}, {"memory": 160}, maximum=ALL),
    "one type each, the other on the parent": two(
        {"vcore": 40}, {"memory": 80}, maximum=ALL, guaranteed=ALL
    ),
    "one of them only": two(half(), None, maximum=ALL),
    "all for one of them": two(dict(ALL), None, maximum=ALL),
    "more than there is": two({"vcore": 60, "memory": 120}, {"vcore": 60, "memory": 120}),
    "nothing, by name": two({"vcore": 0}, half(), maximum=ALL),
    "limits": parent(
        "p",
        leaf("a", {"vcore": 60}, half(), FIFO),
        leaf("b", {"memory": 100}, half(), FIFO),
        maximum=ALL,
    ),
    "deeper": parent(
        "p",
        parent("x", leaf("a", guaranteed={"vcore": 30}, properties=FIFO), guaranteed=half()),
        parent("y", leaf("b", guaranteed={"vcore": 50}, properties=FIFO), guaranteed=half()),
        maximum=ALL,
    ),
}


def leaves(tree: QueueConfig) -> tuple[str, str]:
    """The paths of the two leaves."""
    if tree.queues[0].queues:
        return "root.p.x.a", "root.p.y.b"
    return "root.p.a", "root.p.b"


def begin(
    tree: QueueConfig,
    sizes: tuple[Resource, Resource],
    priorities: tuple[Sequence[int], Sequence[int]],
    *,
    anew: str = SAME_KEY,
    delays: tuple[float, ...] = (1,),
    reserves: bool = True,
) -> Cluster:
    """The first group fills the cluster, then the second comes; both want all of it."""
    cluster = Cluster(tree, nodes=NODES, anew=anew, delays=delays, reserves=reserves)
    for number, path in enumerate(leaves(tree)):
        size = sizes[number]
        wanted = min(ALL[name] // amount for name, amount in size.items())
        for app in range(2):
            cluster.app(f"app-{number}-{app}", path)
        for count in range(wanted + 4):
            priority = priorities[number][count % len(priorities[number])]
            cluster.ask(f"app-{number}-{count % 2}", f"t{number}-{count}", size, priority=priority)
        cluster.run(HOUR // 2)
    return cluster


def rests(cluster: Cluster) -> None:
    """Nothing is preempted in the next hours, nor after that."""
    cluster.run(HOUR)
    before = len(cluster.evictions)
    cluster.run(5 * HOUR)
    assert len(cluster.evictions) == before, "preemptions did not end"
    cluster.settled()


def bound(tree: QueueConfig, sizes: tuple[Resource, Resource]) -> int:
    """How many asks it takes to use what is guaranteed, on every level; each may preempt once."""
    total = 0
    queues = [tree]
    for queue in queues:
        queues += queue.queues
        due = queue.guaranteed or {}
        for size in sizes:
            total += max((-(-due[n] // size[n]) for n in size if n in due), default=0)
    return total


@pytest.mark.remuda_rule("PRE-93")
@pytest.mark.parametrize("anew", [SAME_KEY, NEW_KEY])
@pytest.mark.parametrize("reserves", [True, False])
@pytest.mark.parametrize("name", usual(list(TREES)))
def test_two_groups_that_ask_again_come_to_rest(name: str, reserves: bool, anew: str) -> None:
    tree = TREES[name]
    for sizes, priorities in product(SIZES, PRIORITIES):
        cluster = begin(
            tree,
            SIZES[sizes],
            PRIORITIES[priorities],
            anew=anew,
            delays=(0, 1, 30),
            reserves=reserves,
        )
        rests(cluster)
        most = bound(tree, SIZES[sizes])
        assert len(cluster.evictions) <= most, f"{sizes}, {priorities}: {len(cluster.evictions)}"
        assert {each.outcome for each in cluster.records()} <= {PLACED}


@pytest.mark.remuda_rule("PRE-85")
@pytest.mark.parametrize("sizes", SIZES)
def test_a_guarantee_that_both_share_decides_nothing_between_them(sizes: str) -> None:
    cluster = begin(TREES["on the parent only"], SIZES[sizes], PRIORITIES["b higher"])
    assert cluster.evictions == []


@pytest.mark.remuda_rule("PRE-85", "PRE-86", "PRE-89")
def test_each_gets_its_half_and_not_more() -> None:
    cluster = begin(TREES["half each"], SIZES["equal"], PRIORITIES["equal"])
    rests(cluster)
    assert cluster.use("root.p.a") == cluster.use("root.p.b") == half()
    victims = [name for each in cluster.evictions for name in each.victims]
    assert len(victims) == 20, "40 vcore of asks of 2, each moved once"
    assert len(set(victims)) == 20


@pytest.mark.remuda_rule("PRE-86")
def test_what_one_side_is_guaranteed_of_one_type_ends_it() -> None:
    """24 asks of a use 72 and 96 of 80 and 160; of memory it may lose four times 4, down to 80.

    An ask of b, 7 and 9, takes the place of two of them: so there are two.
    """
    cluster = begin(TREES["half each"], SIZES["uneven"], PRIORITIES["equal"])
    rests(cluster)
    assert cluster.use("root.p.a") == {"vcore": 60, "memory": 80}
    assert cluster.use("root.p.b") == {"vcore": 14, "memory": 18}


@pytest.mark.remuda_rule("PRE-85")
def test_what_does_not_divide_its_guarantee_stays_below_it() -> None:
    """Of 40 cores five asks of 7 use 35; a sixth would be more than b is owed."""
    tree = two({"vcore": 40}, {"vcore": 40}, maximum=ALL)
    cluster = begin(tree, SIZES["uneven"], PRIORITIES["equal"], reserves=False)
    rests(cluster)
    assert cluster.use("root.p.b") == {"vcore": 35, "memory": 45}
    assert cluster.use("root.p.a")["vcore"] >= 40


@pytest.mark.remuda_rule("PRE-9", "PRE-93")
def test_those_with_a_higher_priority_are_never_evicted_by_lower_ones() -> None:
    cluster = begin(TREES["half each"], SIZES["equal"], PRIORITIES["a higher"])
    rests(cluster)
    assert cluster.evictions == []


@pytest.mark.remuda_rule("PRE-38", "PRE-93", "GANG-7", "GANG-19")
@pytest.mark.parametrize("style", ["Soft", "Hard"])
@pytest.mark.parametrize("swaps", [True, False])
@pytest.mark.parametrize("name", ["more than there is", "half each", "one type each", "deeper"])
def test_gangs_among_them_come_to_rest(name: str, swaps: bool, style: str) -> None:
    """Placeholders are evicted like anything else; each is asked for again under another key.

    ``swaps``: the real asks come, too, so that replacements go on meanwhile.
    """
    tree = TREES[name]
    cluster = Cluster(tree, nodes=NODES, delays=(0, 1, 30), seed=7)
    size: Resource = {"vcore": 2, "memory": 4}
    for number, path in enumerate(leaves(tree)):
        for gang in range(12):
            app = f"gang-{number}-{gang}"
            whole = {kind: 4 * amount for kind, amount in size.items()}
            cluster.app(app, path, placeholder_ask=whole, gang_scheduling_style=style)
            for member in range(8 if swaps else 4):
                kind = "placeholder" if member < 4 else "real"
                cluster.ask(
                    app,
                    f"{kind}-{number}-{gang}-{member}",
                    size,
                    task_group="g",
                    placeholder=member < 4,
                )
        cluster.run(HOUR // 12)  # placeholders time out after a quarter
    rests(cluster)
    assert {each.outcome for each in cluster.records()} <= {PLACED, LOST}
    assert len(cluster.evictions) <= 2 * bound(tree, (size, size))
    if name == "more than there is":
        assert cluster.evictions
