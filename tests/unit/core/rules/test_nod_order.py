"""Which node comes first: policies, weights, changes of both, and orders of applications."""

from __future__ import annotations

from typing import Any

import pytest

from remuda.core.messages import commands as c
from remuda.core.messages import effects as e
from remuda.core.messages import queries as q
from tests.unit.core.door import Caller, leaf, of
from tests.unit.core.rules.crowd import LATE, Crowd, reserved, went

ONE = {"vcore": 1}
FAIR, PACKING = "fair", "binpacking"


def cluster(policy: str = "", weights: dict[str, float] | None = None) -> Caller:
    """Nodes used by 60 %, 20 % and 40 % of their cores."""
    door = Caller(leaf("a"), node_sort_policy=policy, node_sort_weights=weights or {})
    for node_id, used in (("n1", 6), ("n2", 2), ("n3", 4)):
        door.node(node_id, {"vcore": 10, "memory": 10}, occupied={"vcore": used})
    return door


def order(door: Caller, app: str = "app") -> list[str]:
    """The nodes as an application walks them: large asks fill one after the other."""
    if app not in door.apps():
        door.app(app)
    found: list[str] = []
    for number in range(3):
        key = f"{app}:{number}"
        # Memory does not change the order of these nodes: it fills them at once.
        door.ask(app, key, {"memory": 10})
        found += [node for _, node in door.place()]
    door.release(app)
    return found


@pytest.mark.remuda_rule("NOD-15", "NOD-16", "NOD-17")
@pytest.mark.parametrize(
    "policy, wanted",
    [("", ["n2", "n3", "n1"]), (FAIR, ["n2", "n3", "n1"]), (PACKING, ["n1", "n3", "n2"])],
)
def test_the_policy_orders_the_nodes(policy: str, wanted: list[str]) -> None:
    assert order(cluster(policy)) == wanted


@pytest.mark.remuda_rule("NOD-17", "NOD-16")
def test_weights_of_zero_and_of_types_nodes_lack_are_left_out() -> None:
    weights = {"vcore": 0.0, "gpu": 4.0, "memory": 1.0}
    assert order(cluster(FAIR, weights)) == ["n1", "n2", "n3"]  # equal, so by name


@pytest.mark.remuda_rule("NOD-16", "NOD-17")
@pytest.mark.parametrize("policy, wanted", [(FAIR, "gpus"), (PACKING, "plain")])
def test_only_the_weights_of_a_nodes_own_types_count(policy: str, wanted: str) -> None:
    # Without GPUs 50 % are used; with them (1 * 0 % + 3 * 60 %) / 4 = 45 %.
    door = Caller(leaf("a"), node_sort_policy=policy, node_sort_weights={"vcore": 1.0, "gpu": 3.0})
    door.node("plain", {"vcore": 10, "pods": 1}, occupied={"vcore": 5})
    door.node("gpus", {"vcore": 10, "gpu": 10, "pods": 1}, occupied={"gpu": 6})
    door.app("app")
    door.ask("app", "k", {"pods": 1})
    assert door.place() == [("k-0", wanted)]


@pytest.mark.remuda_rule("NOD-21", "RLD-23")
def test_a_changed_policy_orders_the_nodes_at_once() -> None:
    door = cluster(FAIR)
    door.app("app")
    door.existing("app", "x", "n2", ONE)
    before = door.node_views()
    door.reload(leaf("a"), node_sort_policy=PACKING)
    assert door.node_views() == before
    assert order(door, "one") == ["n1", "n3", "n2"]
    door.reload(leaf("a"))
    assert order(door, "two") == ["n2", "n3", "n1"]
    door.reload(leaf("a"), node_sort_weights={"memory": 1.0})
    assert order(door, "three") == ["n1", "n2", "n3"]
    (view,) = door.scheduler.view(q.PartitionsQuery())  # type: ignore[misc]
    assert isinstance(view, q.PartitionView)
    assert (view.node_sort_policy, view.node_sort_weights) == (FAIR, {"memory": 1.0})


@pytest.mark.remuda_rule("NOD-21", "NOD-15")
@pytest.mark.parametrize("count", [1, 10_000])
def test_a_changed_policy_orders_any_number_of_nodes(count: int) -> None:
    door = Caller(leaf("a"))
    # Every node is used differently; the numbers run through them in steps.
    nodes = [
        c.NodeUpdate(
            f"n{number:05}",
            c.CREATE,
            {"vcore": 10_000, "pods": 1},
            occupied={"vcore": (number * 1231) % count},
        )
        for number in range(count)
    ]
    door.send(c.UpdateNodes(door.rm, tuple(nodes)))
    by_use = sorted(range(count), key=lambda number: (number * 1231) % count)
    door.app("app")
    door.reload(leaf("a"), node_sort_policy=PACKING)
    some = min(count, 100)
    door.ask("app", "k", {"pods": 1}, some)
    least_used = [f"n{number:05}" for number in by_use]
    assert [node for _, node in went(door.step())] == least_used[::-1][:some]
    door.release("app")
    door.reload(leaf("a"), node_sort_policy=FAIR)
    door.ask("app", "again", {"pods": 1}, some)
    assert [node for _, node in went(door.step())] == least_used[:some]
    door.scheduler.check()


@pytest.mark.remuda_rule("NOD-14", "NOD-15")
def test_a_reservation_does_not_move_a_node() -> None:
    crowd = Crowd()
    crowd.full(n1=6, n2=5, n3=4)
    crowd.ask("app", "big", {"vcore": 8})
    assert reserved(crowd.run(LATE)) == [("+", "n1", "big")]
    crowd.release_ask("app", "big")
    crowd.ask("app", "k", ONE)
    assert went(crowd.run()) == [("k-0", "n1")]


# ------------------------------------------------------------- an order per application


@pytest.mark.remuda_rule("NOD-23", "SI-20", "SI-26")
@pytest.mark.parametrize("policy", [FAIR, PACKING])
@pytest.mark.parametrize(
    "tags, own",
    [
        ({}, None),
        ({"node.sort.policy": ""}, None),
        ({"node.sort.policy": FAIR}, FAIR),
        ({"node.sort.policy": PACKING}, PACKING),
        ({"Node.Sort.POLICY": PACKING}, PACKING),
    ],
)
def test_an_application_may_have_an_order_of_its_own(
    policy: str, tags: dict[str, str], own: str | None
) -> None:
    door = cluster(policy)
    door.app("app", tags=tags)
    wanted = {FAIR: ["n2", "n3", "n1"], PACKING: ["n1", "n3", "n2"]}
    assert order(door) == wanted[own or policy]
    assert order(door, "plain") == wanted[policy]


@pytest.mark.remuda_rule("NOD-23", "SI-20", "SI-22")
@pytest.mark.parametrize("value", ["Fair", "BINPACKING", "bin-packing", " fair", "random", "0"])
def test_any_other_value_is_refused(value: str) -> None:
    door = cluster()
    found = door.app("app", tags={"node.sort.policy": value})
    (answer,) = of(found, e.ApplicationsAnswered)
    assert answer.accepted == ()
    ((subject, reason),) = [(bad.subject, bad.reason) for bad in answer.rejected]
    assert subject == "app"
    assert "node.sort.policy" in reason
    assert repr(value) in reason
    assert door.apps() == {}
    (view,) = door.scheduler.view(q.PartitionsQuery())  # type: ignore[misc]
    assert isinstance(view, q.PartitionView)
    assert view.applications["Rejected"] == 1  # and it is recorded


@pytest.mark.remuda_rule("NOD-23", "NOD-17", "NOD-21")
@pytest.mark.parametrize("later", [False, True])
def test_the_weights_are_those_of_the_partition(later: bool) -> None:
    door = Caller(leaf("a"), node_sort_weights={"vcore" if later else "memory": 1.0})
    door.node("n1", {"vcore": 10, "memory": 10, "pods": 1}, occupied={"vcore": 9, "memory": 1})
    door.node("n2", {"vcore": 10, "memory": 10, "pods": 1}, occupied={"vcore": 1, "memory": 9})
    door.app("app", tags={"node.sort.policy": PACKING})
    if later:
        door.reload(leaf("a"), node_sort_weights={"memory": 1.0})
    door.ask("app", "k", {"pods": 1})
    assert door.place() == [("k-0", "n2")]


@pytest.mark.remuda_rule("NOD-23", "NOD-14", "NOD-15")
def test_both_orders_follow_every_change() -> None:
    door = Caller(leaf("a"))
    for node_id in ("n1", "n2", "n3"):
        door.node(node_id, {"vcore": 10})
    door.app("spread", tags={"node.sort.policy": FAIR})
    door.app("pack", tags={"node.sort.policy": PACKING})

    def put(app: str, key: str, cores: int = 2) -> str:
        door.ask(app, key, {"vcore": cores})
        ((_, node_id),) = door.place()
        return node_id

    assert [put("pack", f"p{n}") for n in range(2)] == ["n1", "n1"]  # 4 0 0
    assert [put("spread", f"s{n}") for n in range(2)] == ["n2", "n3"]  # 4 2 2
    assert put("pack", "p2") == "n1"  # 6 2 2
    door.node("n1", action=c.DRAIN_NODE)
    assert put("pack", "p3") == "n2"  # - 4 2
    assert put("spread", "s2", 1) == "n3"  # - 4 3
    door.node("n1", action=c.DRAIN_TO_SCHEDULABLE)
    door.release("pack", "p0-0")
    door.release("pack", "p1-0")
    assert put("spread", "s3", 1) == "n1"  # 3 4 3
    door.node("n3", {"vcore": 4}, c.UPDATE)  # 30 %, 40 %, 75 %
    assert put("pack", "p4", 1) == "n3"
    door.node("n2", action=c.DECOMISSION)
    door.node("n0", {"vcore": 10}, occupied={"vcore": 9})
    assert put("pack", "p5", 1) == "n0"
    door.scheduler.check()


def waiting(**tags: str) -> Crowd:
    """``big`` of an application with these tags waits for 8 cores."""
    crowd = Crowd()
    crowd.app("own", tags={name.replace("_", "."): value for name, value in tags.items()})
    crowd.full(n1=4)
    crowd.ask("own", "big", {"vcore": 8})
    return crowd


CHOICES: list[tuple[dict[str, Any], str]] = [({}, "n2"), ({"node_sort_policy": PACKING}, "n3")]


@pytest.mark.remuda_rule("NOD-23", "CYC-21")
@pytest.mark.parametrize("tags, wanted", CHOICES)
def test_the_own_order_counts_for_asks_with_a_reservation(
    tags: dict[str, str], wanted: str
) -> None:
    crowd = waiting(**tags)
    assert reserved(crowd.run(LATE)) == [("+", "n1", "big")]
    crowd.full(n2=10, n3=9)
    assert went(crowd.run()) == [("big-0", wanted)]


@pytest.mark.remuda_rule("NOD-23", "RSV-4", "CYC-15")
@pytest.mark.parametrize("tags, wanted", CHOICES)
def test_the_own_order_decides_which_of_equal_nodes_is_reserved(
    tags: dict[str, str], wanted: str
) -> None:
    crowd = waiting(**tags)
    crowd.node("n1", action=c.DECOMISSION)
    # Both lack half of the ask: 4 cores are free on each.
    crowd.node("n2", {"vcore": 10}, occupied={"vcore": 6})
    crowd.node("n3", {"vcore": 20}, occupied={"vcore": 16})
    assert reserved(crowd.run(LATE)) == [("+", wanted, "big")]
