"""What a reservation keeps from others (RSV-7, NOD-20)."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from remuda.core.messages import commands as c
from tests.unit.core.door import DAY, leaf
from tests.unit.core.rules.crowd import Crowd, reserved, reserved_node, went

BIG = {"vcore": 8}
ONE = {"vcore": 1}


@pytest.fixture
def crowd() -> Crowd:
    """``big`` has reserved n1, of which 4 cores are free."""
    return reserved_node()


@pytest.mark.remuda_rule("RSV-7", "CYC-15", "NOD-20")
@pytest.mark.parametrize("app, queue", [("app", "root.a"), ("near", "root.a"), ("far", "root.b")])
def test_only_the_ask_itself_may_use_a_reserved_node(crowd: Crowd, app: str, queue: str) -> None:
    if app != "app":
        crowd.app(app, queue)
    crowd.ask(app, "small", ONE, priority=9)
    assert went(crowd.run() + crowd.run(DAY)) == []
    crowd.node("n2", ONE)
    assert went(crowd.run()) == [("small-0", "n2")]
    assert crowd.held() == {"n1": ["app|big"]}


@pytest.mark.remuda_rule("RSV-7", "NOD-20")
def test_a_reserved_node_is_passed_over_and_the_next_in_order_is_taken(crowd: Crowd) -> None:
    # n1 is used least, so it would be first.
    crowd.full(n2=3, n3=2)
    crowd.ask("app", "small", ONE)
    assert went(crowd.run()) == [("small-0", "n2")]


def reorder(crowd: Crowd) -> None:
    """The nodes are sorted by another policy."""
    crowd.reload(leaf("a"), leaf("b"), leaf("old"), node_sort_policy="binpacking")


def weigh(crowd: Crowd) -> None:
    """The nodes are scored by other types."""
    crowd.reload(leaf("a"), leaf("b"), leaf("old"), node_sort_weights={"memory": 1.0})


def tell_attributes(crowd: Crowd) -> None:
    """The node gets a label."""
    crowd.node("n1", action=c.UPDATE, attributes={"label": "new"})


def change_what_runs_there(crowd: Crowd) -> None:
    """Something goes and less comes."""
    crowd.clear("n1")
    crowd.existing("old", "less", "n1", {"vcore": 3})


def change_the_capacity(crowd: Crowd) -> None:
    """The node gets a little larger."""
    crowd.node("n1", {"vcore": 11}, c.UPDATE)


def change_what_others_use(crowd: Crowd) -> None:
    """Others use something of the node."""
    crowd.node("n1", action=c.UPDATE, occupied=ONE)


def drain_for_a_moment(crowd: Crowd) -> None:
    """The node drains and comes back."""
    crowd.node("n1", action=c.DRAIN_NODE)
    crowd.node("n1", action=c.DRAIN_TO_SCHEDULABLE)


@pytest.mark.remuda_rule("RSV-7", "NOD-14", "NOD-20", "NOD-21", "NOD-23")
@pytest.mark.parametrize(
    "change",
    [
        reorder,
        weigh,
        tell_attributes,
        change_what_runs_there,
        change_the_capacity,
        change_what_others_use,
        drain_for_a_moment,
    ],
)
def test_whatever_happens_to_a_reserved_node_it_stays_closed(
    crowd: Crowd, change: Callable[[Crowd], None]
) -> None:
    for policy in ("", "fair", "binpacking"):
        crowd.app(f"sorts {policy}", "root.b", tags={"node.sort.policy": policy})
        crowd.ask(f"sorts {policy}", policy or "plain", ONE)
    change(crowd)
    crowd.app("new", "root.b", tags={"node.sort.policy": "binpacking"})
    crowd.ask("new", "new", ONE)
    found = crowd.run()
    assert (went(found), reserved(found)) == ([], [])
    assert crowd.held() == {"n1": ["app|big"]}
