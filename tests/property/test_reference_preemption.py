"""The reference decides the worked examples of chapter 60 as its text says.

An oracle has to be right before anything is compared with it. Each example runs in the modes it is
meant for: ours (part F), and the one of 1.5 without its defects (part A as PRE-84 has it).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.reference import preemption, preemption_parity, preemption_required
from tests.reference.preemption_facts import (
    ORDERED,
    PREEMPTING,
    Ask,
    Check,
    Choice,
    Node,
    Queue,
    Reservation,
    Running,
    Scene,
    fits_headroom,
)
from tests.reference.preemption_reach import candidates, priorities, score

both_modes = pytest.mark.parametrize("parity", [False, True], ids=["ours", "parity"])


def queues(*found: Queue) -> dict[str, Queue]:
    """Root and these."""
    return {queue.path: queue for queue in (Queue("root"), *found)}


def run(
    identity: str, size: dict[str, int], queue: str = "root.b", node: str = "n", **more: Any
) -> Running:
    """An allocation of the application that its queue is named after."""
    fields: dict[str, Any] = {"priority": 0, "created": 0, "key": identity, **more}
    return Running(identity, f"app {queue}", queue, node, size, **fields)


def runs(count: int, size: int, queue: str = "root.b", node: str = "n") -> tuple[Running, ...]:
    """Equal allocations of one core type, the first one the newest."""
    return tuple(
        run(f"{queue}-{i}", {"vcore": size}, queue, node, created=count - i) for i in range(count)
    )


def ask(size: dict[str, int], queue: str = "root.a", priority: int = 0, required: str = "") -> Ask:
    """The ask of an application of its own."""
    return Ask("app", "ask", queue, size, priority, required)


def decide(scene: Scene) -> Choice:
    """In the mode of a scene."""
    return preemption_parity.choose(scene) if scene.parity else preemption.choose(scene)


def victims(choice: Choice) -> list[str]:
    """Who goes, in order."""
    return [one.identity for one in choice.victims]


# --------------------------------------------------------------------- fence and priorities


@pytest.mark.remuda_rule("PRE-7")
def test_priorities_are_summed_up_to_the_fence() -> None:
    tree = queues(
        Queue("root.p", offset=7),
        Queue("root.p.f", policy="fence", fenced=True, offset=3),
        Queue("root.p.f.a", offset=-20),
    )
    scene = Scene(tree, (), (), ask({"vcore": 1}, "root.p.f.a", 10))
    assert priorities(scene) == {"root.p.f.a": -10, "root.p.f": 3}


def of_priority(offset: int, wanted: int, victim: int, *, fenced: bool, parity: bool) -> int:
    """How many candidates the example of PRE-10 has."""
    tree = queues(
        Queue("root.p", offset=offset, fenced=fenced),
        Queue("root.p.a", {"vcore": 9}),
        Queue("root.p.b"),
    )
    running = tuple(run(f"v{i}", {"vcore": 1}, "root.p.b", priority=victim) for i in range(4))
    node = (Node("n", {"vcore": 4}),)
    wants = ask({"vcore": 1}, "root.p.a", wanted)
    return len(candidates(Scene(tree, node, running, wants, parity=parity)))


@both_modes
@pytest.mark.remuda_rule("PRE-8", "PRE-9", "PRE-10")
def test_the_offset_of_a_common_ancestor_changes_nothing(parity: bool) -> None:
    for offset in (0, 100, -100):
        for fenced in (False, True):
            assert of_priority(offset, 0, 50, fenced=fenced, parity=parity) == 0
            assert of_priority(offset, 50, 50, fenced=fenced, parity=parity) == 4
            assert of_priority(offset, 10, 0, fenced=fenced, parity=parity) == 4


@both_modes
@pytest.mark.remuda_rule("PRE-8")
def test_a_priority_fence_hides_or_exposes_all_below_it(parity: bool) -> None:
    for offset, count in ((4, 1), (5, 1), (6, 0)):
        tree = queues(
            Queue("root.a"),
            Queue("root.f", fenced=True, offset=offset),
            Queue("root.f.b", offset=100),
        )
        running = (run("v", {"vcore": 1}, "root.f.b", priority=1000),)
        wants = ask({"vcore": 1}, priority=5)
        node = (Node("n", {"vcore": 2}),)
        assert len(candidates(Scene(tree, node, running, wants, parity=parity))) == count


@both_modes
@pytest.mark.remuda_rule("PRE-7", "PRE-12")
def test_fences_and_disabled_queues_limit_who_is_in_reach(parity: bool) -> None:
    def reach(own: str = "", above: str = "", other: str = "") -> str:
        tree = queues(
            Queue("root.p", policy=above),
            Queue("root.p.a", policy=own),
            Queue("root.p.b", policy=other),
            Queue("root.b"),
        )
        where = {"near": "root.p.b", "far": "root.b", "own": "root.p.a"}
        running = tuple(run(name, {"vcore": 1}, queue) for name, queue in where.items())
        wants = ask({"vcore": 1}, "root.p.a")
        scene = Scene(tree, (Node("n", {"vcore": 9}),), running, wants, parity=parity)
        return " ".join(one.running.identity for one in candidates(scene))

    assert reach() == "far near"
    assert reach(own="fence") == ""
    assert reach(above="fence") == "near"
    assert reach(other="fence") == "far near"
    assert reach(own="disabled") == "far near"
    assert reach(other="disabled") == "far"
    assert reach(above="disabled") == "far"
    assert reach(above="disabled", other="default") == "far"
    assert reach(above="disabled", other="fence") == "far"


@pytest.mark.remuda_rule("PRE-13", "PRE-51")
def test_what_is_going_or_pinned_or_of_other_types_is_no_candidate() -> None:
    running = (
        run("v1", {"vcore": 1}),
        run("v2", {"vcore": 1}, state=ORDERED),
        run("v3", {"vcore": 1}, state=PREEMPTING),
        run("v4", {"vcore": 1}, required=True),
        run("v5", {"memory": 1}),
        run("v6", {"memory": 1, "vcore": 0}),
    )
    tree = queues(Queue("root.a"), Queue("root.b"))
    scene = Scene(tree, (Node("n", {"vcore": 9}),), running, ask({"vcore": 1, "memory": 0}))
    assert [one.running.identity for one in candidates(scene)] == ["v1"]


# ---------------------------------------------------------------------- guarantees, both modes


@both_modes
@pytest.mark.remuda_rule("PRE-14")
def test_a_leaf_without_any_guarantee_gives_all_it_uses(parity: bool) -> None:
    tree = queues(Queue("root.a", {"vcore": 2}), Queue("root.b"))
    scene = Scene(tree, (Node("n", {"vcore": 4}),), runs(4, 1), ask({"vcore": 2}), parity=parity)
    assert victims(decide(scene)) == ["root.b-0", "root.b-1"]


@pytest.mark.remuda_rule("PRE-16")
@pytest.mark.parametrize(
    "own,above,wanted,feasible",
    [(0, 0, 5, False), (0, 10, 5, True), (5, 0, 5, True), (5, 10, 5, True), (5, 10, 25, False)],
)
def test_only_a_queue_below_its_guarantee_may_preempt(
    own: int, above: int, wanted: int, feasible: bool
) -> None:
    size = {"first": 10}
    tree = queues(
        Queue("root.p", {"first": above} if above else None, {"first": 20}),
        Queue("root.p.a", {"first": own} if own else None, size),
        Queue("root.p.b", {"first": 5}, size),
    )
    node = Node("n", {"first": 20}, {"first": 10})
    running = (run("v", {"first": 5}, "root.p.b"), run("w", {"first": 5}, "root.p.b"))
    wants = ask({"first": wanted}, "root.p.a")
    found = decide(Scene(tree, (node,), running, wants, parity=True))
    assert (found.reason != "guarantees") == feasible
    assert victims(found) == (["v"] if own and feasible else victims(found))


@both_modes
@pytest.mark.remuda_rule("PRE-17", "PRE-86")
def test_a_guarantee_protects_type_by_type(parity: bool) -> None:
    tree = queues(
        Queue("root.a", {"memory": 9, "vcore": 9}), Queue("root.b", {"memory": 10, "vcore": 10})
    )
    sizes = [{"memory": 5}, {"vcore": 2}, {"vcore": 2}, {"vcore": 8}]
    running = tuple(run(f"v{i}", size, created=i) for i, size in enumerate(sizes))
    node = Node("n", {"memory": 5, "vcore": 12})
    wants = ask({"memory": 1, "vcore": 2})
    assert victims(decide(Scene(tree, (node,), running, wants, parity=parity))) == []
    more = Node("n", {"memory": 6, "vcore": 12})
    assert victims(decide(Scene(tree, (more,), running, wants, parity=parity))) == ["v2"]


@both_modes
@pytest.mark.remuda_rule("PRE-53")
def test_the_names_of_queues_are_compared_as_a_whole(parity: bool) -> None:
    for name in ("root.ab", "root.zb"):
        tree = queues(Queue("root.a", {"vcore": 20}), Queue(name, {"vcore": 20}))
        wants = ask({"vcore": 5}, name)
        scene = Scene(tree, (Node("n", {"vcore": 20}),), runs(4, 5, "root.a"), wants, parity=parity)
        assert victims(decide(scene)) == []


# ------------------------------------------------------------------------------- node side


def example(*, parity: bool = False) -> Scene:
    """The example of PRE-23; the ask wants memory, too, so that v2 shares a type with it."""
    tree = queues(Queue("root.a", {"vcore": 9000}), Queue("root.b", {"vcore": 1000}))
    running = (
        run("v1", {"vcore": 2000}, created=-1),
        run("v2", {"memory": 5}, created=-2),
        run("v3", {"vcore": 3000}, created=-3),
        run("v4", {"vcore": 2000}, originator=True),
        run("v5", {"vcore": 2000}, opted_out=True),
    )
    node = Node("n", {"memory": 20, "vcore": 10_000})
    return Scene(tree, (node,), running, ask({"memory": 1, "vcore": 4000}), parity=parity)


@pytest.mark.remuda_rule("PRE-19", "PRE-20", "PRE-21", "PRE-22", "PRE-23", "PRE-84")
def test_victims_that_help_come_first_and_those_kept_last_are_left_out() -> None:
    found = decide(example(parity=True))
    assert found.batches == [[Check("n", ("v1", "v3", "v2", "v4"), 1)]]
    assert victims(found) == ["v1", "v3"]


@pytest.mark.remuda_rule("PRE-87")
def test_in_our_mode_a_victim_that_turns_out_to_be_superfluous_moves_back() -> None:
    found = decide(example())
    assert found.batches == [[Check("n", ("v3", "v1", "v2", "v4"), 0)]]
    assert victims(found) == ["v3"]


@both_modes
@pytest.mark.remuda_rule("PRE-22", "PRE-57")
def test_every_type_of_the_ask_has_to_become_free(parity: bool) -> None:
    tree = queues(Queue("root.a", {"vcore": 5000, "gpu": 1}), Queue("root.b"))
    wants = ask({"vcore": 5000, "gpu": 1})
    lacking = (Node("n", {"vcore": 5000}),)
    cores = run("v1", {"vcore": 5000}, created=2)
    assert victims(decide(Scene(tree, lacking, (cores,), wants, parity=parity))) == []
    node = (Node("n", {"vcore": 5000, "gpu": 1}),)
    both = (cores, run("v2", {"gpu": 1}, created=1))
    assert victims(decide(Scene(tree, node, both, wants, parity=parity))) == ["v1", "v2"]


@both_modes
@pytest.mark.remuda_rule("PRE-18", "PRE-84", "PRE-87")
def test_nodes_that_drain_or_are_reserved_for_others_are_not_used(parity: bool) -> None:
    tree = queues(Queue("root.a", {"vcore": 2}), Queue("root.b"))
    wants = ask({"vcore": 2}, priority=5)

    def chosen(schedulable: bool = True, *reservations: Reservation) -> list[str]:
        node = Node("n", {"vcore": 2}, {}, schedulable, reservations)
        return victims(decide(Scene(tree, (node,), runs(2, 1), wants, parity=parity)))

    either = ["root.b-0", "root.b-1"]
    assert chosen() == either
    assert chosen(False) == []
    assert chosen(True, Reservation("app", "ask", 5)) == either
    assert chosen(True, Reservation("app", "other", 4, age=3_601)) == ([] if parity else either)
    for reservation in (
        Reservation("app", "other", 4, age=3_600),
        Reservation("app", "other", 5, age=3_601),
        Reservation("app", "other", 4, required=True, age=3_601),
        Reservation("app", "other", 4, preempting=True, age=3_601),
    ):
        assert chosen(True, reservation) == []


# ------------------------------------------------------------------------------- protocol


@pytest.mark.remuda_rule("PRE-29")
def test_scores_are_those_of_the_examples() -> None:
    plain, first = run("v", {}), run("v", {}, originator=True)
    out, worst = run("v", {}, opted_out=True), run("v", {}, originator=True, opted_out=True)
    assert score(-1, []) == 0
    assert score(0, [plain]) == 1
    assert score(0, [first]) == 8_589_934_593
    assert score(0, [out]) == 17_179_869_185
    assert score(1, [worst, plain]) == 25_769_803_778
    assert score(1, [plain, plain, plain, first]) == 2
    assert score(3, [plain, plain, plain, first]) == 8_589_934_596


def judged(scene: Scene, **verdicts: tuple[bool, int]) -> Scene:
    """The same with an RM that says this of its nodes."""
    return replace(scene, judge=lambda check: verdicts[check.node])


@both_modes
@pytest.mark.remuda_rule("PRE-25", "PRE-27", "PRE-29", "PRE-30")
def test_the_answers_decide_which_node_and_how_many_victims(parity: bool) -> None:
    tree = queues(Queue("root.a", {"vcore": 6}), Queue("root.b"))
    nodes = (Node("n1", {"vcore": 3}), Node("n2", {"vcore": 3}))
    running = (*runs(3, 1, node="n1"), *(run(f"w{i}", {"vcore": 1}, node="n2") for i in range(3)))
    scene = Scene(tree, nodes, running, ask({"vcore": 1}), parity=parity)
    first = ["root.b-0", "root.b-1", "root.b-2"]
    assert victims(decide(judged(scene, n1=(True, 0), n2=(True, 0)))) == first[:1]
    assert victims(decide(judged(scene, n1=(True, 2), n2=(True, 2)))) == first
    assert victims(decide(judged(scene, n1=(True, 2), n2=(True, 1)))) == ["w0", "w1"]
    assert victims(decide(judged(scene, n1=(True, 3), n2=(True, 2)))) == ["w0", "w1", "w2"]
    assert victims(decide(judged(scene, n1=(False, 0), n2=(False, 0)))) == []


@both_modes
@pytest.mark.remuda_rule("PRE-25", "PRE-29")
def test_the_second_ten_nodes_are_asked_about_when_the_first_are_not_good(parity: bool) -> None:
    tree = queues(Queue("root.a", {"vcore": 99}), Queue("root.b"))
    names = [f"n{i:02}" for i in range(11)]
    nodes = tuple(Node(name, {"vcore": 1}) for name in names)
    running = tuple(
        run(f"v{name}", {"vcore": 1}, node=name, opted_out=name != "n10") for name in names
    )
    plain = Scene(tree, nodes, running, ask({"vcore": 1}), parity=parity)
    scene = judged(plain, **dict.fromkeys(names, (True, 0)))
    found = decide(scene)
    assert [len(batch) for batch in found.batches] == ([10, 1] if parity else [10])
    assert victims(found) == ["vn10"]


# ------------------------------------------------------------------------------ queue side


@both_modes
@pytest.mark.remuda_rule("PRE-24", "PRE-26", "PRE-28", "PRE-31", "PRE-33", "PRE-88")
def test_victims_may_be_needed_for_the_queue_alone(parity: bool) -> None:
    tree = queues(
        Queue("root.p", None, {"vcore": 10}),
        Queue("root.p.a", {"vcore": 5}),
        Queue("root.p.b", {"vcore": 5}),
    )
    nodes = (Node("n1", {"vcore": 10}), Node("n2", {"vcore": 10}))
    running = runs(10, 1, "root.p.b", "n1")
    scene = Scene(tree, nodes, running, ask({"vcore": 2}, "root.p.a"), parity=parity)
    assert not fits_headroom(scene)
    found = decide(scene)
    assert found.node == "n2"
    assert victims(found) == ["root.p.b-0", "root.p.b-1"]
    assert found.for_queue == found.victims
    checks = [Check("n2", (), -1), Check("n1", tuple(one.key for one in running[:5]), 1)]
    assert found.batches == [checks[:1] if parity else checks]
    tried = decide(replace(scene, tried=True))
    assert tried.node == "n1"


@both_modes
@pytest.mark.remuda_rule("PRE-33")
def test_a_free_node_and_no_quota_problem_need_no_victims(parity: bool) -> None:
    tree = queues(Queue("root.a", {"vcore": 2}), Queue("root.b"))
    nodes = (Node("n1", {"vcore": 4}), Node("n2", {"vcore": 4}))
    scene = Scene(tree, nodes, runs(4, 1, node="n1"), ask({"vcore": 2}), parity=parity)
    found = decide(scene)
    assert (found.reason, found.victims) == ("no victims", [])


# -------------------------------------------------------------------------------- part F


@pytest.mark.remuda_rule("PRE-85")
def test_a_guarantee_that_both_sides_share_decides_nothing_between_them() -> None:
    tree = queues(Queue("root.p", {"vcore": 8}), Queue("root.p.a"), Queue("root.p.b"))
    tree |= queues(Queue("root.q"))
    node = (Node("n", {"vcore": 4}),)
    wants = ask({"vcore": 1}, "root.p.a")
    mine = Scene(tree, node, runs(4, 1, "root.p.b"), wants)
    assert victims(decide(mine)) == []
    theirs = Scene(tree, node, runs(4, 1, "root.q"), wants)
    assert victims(decide(theirs)) == ["root.q-0"]


@pytest.mark.remuda_rule("PRE-85", "PRE-89")
def test_what_is_promised_counts_as_used() -> None:
    tree = queues(Queue("root.a", {"vcore": 2}), Queue("root.b"))
    node = (Node("n", {"vcore": 5}, {"vcore": 1}),)
    for promised, count in ((0, 1), (1, 1), (2, 0)):
        promises = (("root.a", {"vcore": promised}),)
        scene = Scene(tree, node, runs(4, 1), ask({"vcore": 1}), promises)
        assert len(decide(scene).victims) == count


@pytest.mark.remuda_rule("PRE-86")
def test_no_more_is_taken_of_any_type_than_the_guarantee_lacks() -> None:
    tree = queues(Queue("root.a", {"vcore": 2, "memory": 3}), Queue("root.b"))
    node = (Node("n", {"vcore": 4, "memory": 99}),)
    large = run("large", {"vcore": 1, "memory": 4}, created=2)
    small = run("small", {"vcore": 1, "memory": 3}, created=1)
    rest = run("rest", {"vcore": 2}, opted_out=True)
    scene = Scene(tree, node, (large, small, rest), ask({"vcore": 1}))
    assert victims(decide(scene)) == ["small"]


@pytest.mark.remuda_rule("PRE-87")
def test_of_equal_kinds_the_lower_effective_priority_goes_first() -> None:
    tree = queues(Queue("root.a", {"vcore": 9}), Queue("root.b", offset=5), Queue("root.c"))
    tree |= queues(Queue("root.f", fenced=True, offset=3))
    running = (
        run("b", {"vcore": 1}, "root.b", priority=-4),
        run("c", {"vcore": 1}, "root.c", priority=2),
        run("f", {"vcore": 1}, "root.f", priority=99),
    )
    wants = ask({"vcore": 3}, priority=9)
    found = decide(Scene(tree, (Node("n", {"vcore": 3}),), running, wants))
    assert found.batches[0][0].victims == ("b", "c", "f")


@pytest.mark.remuda_rule("PRE-88")
def test_victims_for_the_queue_that_turn_out_to_be_superfluous_stay() -> None:
    tree = queues(
        Queue("root.p", None, {"vcore": 10}), Queue("root.p.a", {"vcore": 9}), Queue("root.p.b")
    )
    nodes = (Node("n1", {"vcore": 10}), Node("n2", {"vcore": 10}))
    running = (
        run("small", {"vcore": 1}, "root.p.b", "n1", created=3),
        run("large", {"vcore": 4}, "root.p.b", "n1", created=2),
        run("rest", {"vcore": 5}, "root.p.b", "n1", created=1),
    )
    found = decide(Scene(tree, nodes, running, ask({"vcore": 4}, "root.p.a")))
    assert (found.node, victims(found)) == ("n2", ["large"])


@pytest.mark.remuda_rule("PRE-51")
def test_a_queue_at_its_maximum_is_a_fence() -> None:
    tree = queues(
        Queue("root.p", None, {"vcore": 4}),
        Queue("root.p.a", {"vcore": 4}),
        Queue("root.p.b"),
        Queue("root.q"),
    )
    node = (Node("n", {"vcore": 8}),)
    inside, outside = runs(4, 1, "root.p.b"), runs(4, 1, "root.q")
    wants = ask({"vcore": 1}, "root.p.a")
    scene = Scene(tree, node, (*inside, *outside), wants)
    assert list(priorities(scene)) == ["root.p.a", "root.p"]
    assert {one.running.queue for one in candidates(scene)} == {"root.p.b"}


# --------------------------------------------------------------------------- required node


@pytest.mark.remuda_rule("PRE-41", "PRE-42")
def test_for_a_required_node_victims_go_in_the_order_of_the_example() -> None:
    def one(number: int, priority: int, size: int = 5, *, new: bool = False) -> Running:
        kind: Any = {"opted_out": number in (6, 7, 8), "originator": number in (9, 10)}
        created = int(new)
        return run(f"ask{number}", {"vcore": size}, priority=priority, created=created, **kind)

    running = (
        one(1, 10, new=True),
        one(2, 10, 8),
        one(3, 15),
        one(4, 10, 5),
        one(5, 5),
        one(6, 10, new=True),
        one(7, 10),
        one(8, 15),
        one(9, 10),
        one(10, 5),
    )
    node = Node("n", {"vcore": 53})
    scene = Scene(queues(Queue("root.b")), (node,), running, ask({"vcore": 53}, required="n"))
    assert victims(preemption_required.choose(scene)) == []
    scene = Scene(scene.queues, scene.nodes, running, ask({"vcore": 53}, "root.b", 15, "n"))
    order = [one.identity for one in preemption_required.order(scene, node)]
    assert order == [f"ask{i}" for i in (5, 1, 4, 2, 3, 6, 7, 8, 10, 9)]
    assert victims(preemption_required.choose(scene)) == order


@pytest.mark.remuda_rule("PRE-41")
def test_for_a_required_node_some_never_go() -> None:
    running = (
        run("v1", {"vcore": 1}, priority=6),
        run("v2", {"vcore": 1}, required=True),
        run("v3", {"vcore": 1}, state=PREEMPTING),
        run("v4", {"memory": 1}),
        run("v5", {"vcore": 1}, node="other"),
        run("v6", {"vcore": 1}, priority=5),
    )
    nodes = (Node("n", {"vcore": 4, "memory": 1}), Node("other", {"vcore": 1}))
    scene = Scene(queues(), nodes, running, ask({"vcore": 1}, "root.b", 5, "n"))
    assert victims(preemption_required.choose(scene)) == ["v6"]


@pytest.mark.remuda_rule("PRE-42")
def test_for_a_required_node_the_smaller_of_two_equal_shares_goes_first() -> None:
    running = (run("a", {"gpu": 5, "memory": 2}), run("b", {"gpu": 5, "memory": 1}))
    node = (Node("n", {"gpu": 10, "memory": 10}),)
    scene = Scene(queues(), node, running, ask({"gpu": 5}, "root.b", 0, "n"))
    assert victims(preemption_required.choose(scene)) == ["b"]


@pytest.mark.remuda_rule("PRE-43")
def test_for_a_required_node_free_room_counts() -> None:
    node = (Node("n", {"vcore": 20}),)
    scene = Scene(queues(), node, runs(6, 2), ask({"vcore": 10}, "root.b", 0, "n"))
    assert victims(preemption_required.choose(scene)) == ["root.b-0"]


@pytest.mark.remuda_rule("PRE-43")
def test_for_a_required_node_superfluous_victims_stay() -> None:
    running = (run("small", {"vcore": 1}, created=2), run("large", {"vcore": 5}, created=1))
    node = (Node("n", {"vcore": 6}),)
    scene = Scene(queues(), node, running, ask({"vcore": 4}, "root.b", 0, "n"))
    assert victims(preemption_required.choose(scene)) == ["large"]
