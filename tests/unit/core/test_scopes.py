"""Applications and nodes that come from an RM with a scope (EXT-33)."""

from __future__ import annotations

import pytest

from remuda.base.scopes import Scope
from remuda.core.messages import commands as c
from remuda.core.messages import effects as e
from tests.unit.core.door import Caller, leaf, of, parent, partition
from tests.unit.core.placing import FORCE, RECOVERY, rule

pytestmark = pytest.mark.remuda_rule("EXT-33")

OURS = Scope(queues=("root.ours",))
QUEUES = (parent("ours", leaf("a"), leaf("b")), leaf("theirs"), leaf("ours2"))


def verdict(effects: list[e.Effect]) -> str:
    """Why one application or node was rejected, with the rule; "" if it was accepted."""
    rejected = [each for answer in of(effects, e.ApplicationsAnswered) for each in answer.rejected]
    rejected += [each for answer in of(effects, e.NodesAnswered) for each in answer.rejected]
    return "".join([f"{each.rule}: {each.reason}" for each in rejected])


@pytest.mark.parametrize("queue", ["root.ours.a", "ROOT.Ours.B"])
def test_an_application_comes_into_a_queue_of_the_scope(queue: str) -> None:
    assert verdict(Caller(*QUEUES).app("x", queue, within=OURS)) == ""


@pytest.mark.parametrize("queue", ["root.theirs", "root.ours2"])
def test_no_other_queue_takes_it_and_the_reason_names_queue_and_scope(queue: str) -> None:
    door = Caller(*QUEUES)
    assert verdict(door.app("x", queue, within=OURS)) == (
        f"EXT-33: application x: queue {queue} of partition default is beyond the scope of its RM "
        "(queues root.ours)"
    )
    assert "x" not in door.apps()
    assert verdict(door.app("x", queue)) == ""


@pytest.mark.parametrize(
    "scope, home, taken",
    [
        (Scope(("p",)), "p", True),
        (Scope(("p",)), "[rm]p", True),
        (Scope(("p",)), "q", False),
        (Scope(("p",), ("root.a",)), "p", True),
        (Scope(("q",), ("root.a",)), "p", False),
        (Scope(("default",)), "p", False),
        (Scope(), "q", True),
    ],
)
def test_partitions_count_for_applications_and_new_nodes(
    scope: Scope, home: str, taken: bool
) -> None:
    door = Caller(partitions=[partition(leaf("a"), name=name) for name in ("p", "q")])
    application = verdict(door.app("x", "root.a", partition=home, within=scope))
    node = verdict(door.node("n", {"vcore": 1}, home=home, within=scope))
    assert (application == "", node == "") == (taken, taken)
    if not taken:
        plain = home.removeprefix("[rm]")
        beyond = f"partition {plain} is beyond the scope of its RM ({scope.text()})"
        assert node == f"EXT-33: node 'n': {beyond}"


def test_a_scope_of_queues_lets_nodes_in() -> None:
    assert verdict(Caller(*QUEUES).node("n", {"vcore": 1}, within=OURS)) == ""


def test_a_node_that_is_there_goes_on_whatever_the_scope() -> None:
    door = Caller(*QUEUES)
    door.node("n", {"vcore": 1})
    door.node("n", {"vcore": 5}, c.UPDATE, within=Scope(("other",)))
    assert door.node_view("n").capacity == {"vcore": 5}


def test_the_queue_counts_that_placement_finds_and_none_is_made_beyond() -> None:
    by_user = rule("user", create=True, above=rule("fixed", "root.teams", create=True))
    door = Caller(leaf("a"), placement_rules=(by_user,))
    beyond = "queue root.teams.ann of partition default is beyond the scope of its RM"
    scope = Scope(queues=("root.a",))
    assert beyond in verdict(door.app("x", "root.a", within=scope))
    assert [child.path for child in door.queue("root").children] == ["root.a"]
    assert verdict(door.app("x", "root.a", within=Scope(queues=("root.teams",)))) == ""
    assert door.apps()["x"].queue == "root.teams.ann"


@pytest.mark.parametrize("queue", ["root.theirs", "root.nowhere", RECOVERY])
def test_one_that_must_be_accepted_is_refused_all_the_same(queue: str) -> None:
    door = Caller(*QUEUES)
    door.node("n", {"vcore": 2})
    refused = verdict(door.app("x", queue, tags=FORCE, within=OURS))
    assert refused
    assert refused.startswith("EXT-33") == (queue == "root.theirs")
    assert "x" not in door.apps()
    # So what it is said to run is refused, too.
    (answer,) = of(door.existing("x", "i", "n", {"vcore": 1}), e.AllocationsRejected)
    assert len(answer.rejected) == 1
    assert door.node_view("n").allocated.get("vcore", 0) == 0


@pytest.mark.parametrize("queue", ["root.ours.a", "root.nowhere"])
def test_one_that_must_be_accepted_may_recover_if_that_queue_is_in_the_scope(queue: str) -> None:
    door = Caller(*QUEUES)
    scope = Scope(queues=("root.ours", RECOVERY))
    assert verdict(door.app("x", queue, tags=FORCE, within=scope)) == ""
    assert door.apps()["x"].queue == (RECOVERY if queue == "root.nowhere" else queue)


def test_a_long_scope_is_cut_in_a_reason() -> None:
    scope = Scope(queues=tuple([f"root.q{number}" for number in range(1_000)]))
    refused = verdict(Caller(*QUEUES).app("x", "root.theirs", within=scope))
    assert len(refused) < 500
    assert refused.endswith("...)")
