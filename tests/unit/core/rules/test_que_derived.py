"""What follows from the limits along a path (chapter 50 section A.3)."""

from __future__ import annotations

import pytest

from remuda.core.messages import commands as c
from remuda.core.messages.effects import ApplicationsAnswered, ContainerStateUpdated
from tests.unit.config.verdicts import broken, root_text
from tests.unit.core.door import SECOND, Caller, leaf, of, parent

EXAMPLE_MAX = {"vcore": 10000, "memory": 50, "gpu": 2}


def example() -> Caller:
    """The tree of QUE-13; a.b holds what it says there."""
    inner = leaf("b", maximum={"memory": 50, "gpu": 2})
    door = Caller(parent("a", inner, maximum={"vcore": 10000}), leaf("c"))
    door.node("n1", {"vcore": 20000, "memory": 100})
    door.app("app", "root.a.b")
    door.existing("app", "k", "n1", {"vcore": 4000, "memory": 10, "gpu": 1, "pods": 3})
    return door


# -------------------------------------------------------------------------------- headroom


@pytest.mark.remuda_rule("QUE-13")
@pytest.mark.parametrize(
    "outer, inner, used, expected",
    [
        # (max of p, max of p.a, what p.a uses) in a cluster of 10 cores and 10 bytes
        (None, None, {"v": 4}, {"v": 6, "m": 10}),
        ({"v": 5}, None, {"v": 4}, {"v": 1, "m": 10}),
        ({"v": 5}, {"v": 9}, {"v": 4}, {"v": 1, "m": 10}),
        ({"v": 9}, {"v": 5}, {"v": 4}, {"v": 1, "m": 10}),
        ({"v": 3}, {"m": 20}, {"v": 4, "m": 1}, {"v": -1, "m": 9}),
        ({"g": 7}, {"g": 9}, {"g": 2, "v": 1}, {"g": 5, "v": 9, "m": 10}),
        (None, {"v": 0}, {}, {"v": 0, "m": 10}),
        ({"v": 2}, {"v": 1}, {"v": 3}, {"v": -2, "m": 10}),
    ],
)
def test_headroom_of_a_path(
    outer: dict[str, int] | None,
    inner: dict[str, int] | None,
    used: dict[str, int],
    expected: dict[str, int],
) -> None:
    door = Caller(parent("p", leaf("a", inner), maximum=outer))
    door.node("n1", {"v": 10, "m": 10})
    door.app("app", "root.p.a")
    if used:
        door.existing("app", "k", "n1", used)
    assert door.queue("root.p.a").headroom == expected


@pytest.mark.remuda_rule("QUE-13")
def test_without_nodes_only_the_own_limits_of_a_path_count() -> None:
    door = Caller(parent("p", leaf("a"), leaf("b", {"m": 3}), maximum={"v": 5}), leaf("c"))
    for path, expected in (
        ("root", None),
        ("root.p", {"v": 5}),
        ("root.p.a", {"v": 5}),
        ("root.p.b", {"v": 5, "m": 3}),
        ("root.c", None),
    ):
        assert door.queue(path).headroom == expected


@pytest.mark.remuda_rule("QUE-13")
def test_siblings_share_what_is_left_above_them() -> None:
    door = Caller(parent("p", leaf("a", {"v": 6}), leaf("b", {"v": 6}), maximum={"v": 8}))
    door.node("n1", {"v": 100})
    door.app("app", "root.p.a")
    door.existing("app", "k", "n1", {"v": 5})
    rooms = {path: door.queue(f"root.p.{path}").headroom for path in "ab"}
    assert rooms == {"a": {"v": 1}, "b": {"v": 3}}


@pytest.mark.remuda_rule("QUE-13")
def test_exactly_the_headroom_of_the_example_can_be_placed() -> None:
    # gpu is left out: the cluster has none.
    for key, size, fits in (
        ("cores", {"vcore": 6000}, True),
        ("bytes", {"memory": 40}, True),
        ("core too many", {"vcore": 6001}, False),
        ("byte too many", {"memory": 41}, False),
        ("both", {"vcore": 6000, "memory": 40, "pods": 0}, True),
    ):
        door = example()
        door.ask("app", key, size)
        assert bool(door.place()) is fits, key


# ------------------------------------------------------------------------ maximum headroom


def told(door: Caller) -> list[str]:
    """The asks that are told to wait for a larger cluster."""
    found: list[str] = []
    for _ in range(3):
        door.now += SECOND
        found += [each.allocation_key for each in of(door.step(), ContainerStateUpdated)]
    return found


@pytest.mark.remuda_rule("QUE-14", "CYC-30")
@pytest.mark.parametrize(
    "size, fits",
    [
        ({"gpu": 1, "memory": 40, "vcore": 6000}, True),
        ({"gpu": 2, "memory": 1}, False),
        ({"memory": 41}, False),
        ({"vcore": 6001, "disk": 1}, False),
        ({"vcore": 6000, "disk": 10**9}, True),  # limited nowhere
    ],
)
def test_the_maximum_headroom_of_the_example(size: dict[str, int], *, fits: bool) -> None:
    # The cluster, which has neither gpu nor disk, has no room for any of them.
    door = example()
    door.app("other", "root.c")
    door.existing("other", "full", "n1", {"vcore": 16000, "memory": 90})
    door.ask("app", "wanted", size)
    assert door.order() == []
    assert told(door) == (["wanted"] if fits else [])


# ---------------------------------------------------------------------- effective maximum


def too_large(door: Caller, placeholders: dict[str, int], queue: str) -> bool:
    """Whether a gang of this size is refused because the queue could never hold it."""
    door.send(c.UpdateApplications(door.rm, remove=(c.ApplicationRemoval("gang"),)))
    gang = c.NewApplication("gang", queue, user="ann", placeholder_ask=placeholders)
    (answer,) = of(door.send(c.UpdateApplications(door.rm, (gang,))), ApplicationsAnswered)
    return any("larger than max queue allocation" in bad.reason for bad in answer.rejected)


@pytest.mark.remuda_rule("QUE-15", "GANG-3")
@pytest.mark.parametrize(
    "placeholders, refused",
    [
        (EXAMPLE_MAX, False),
        ({"vcore": 10001}, True),
        ({"memory": 51}, True),
        ({"gpu": 3}, True),
        ({"gpu": 2, "pods": 10**9}, False),  # limited nowhere
    ],
)
def test_the_effective_maximum_of_the_example(
    placeholders: dict[str, int], *, refused: bool
) -> None:
    # Usage does not count, nor does the size of the cluster, which has no gpu.
    assert too_large(example(), placeholders, "root.a.b") is refused


@pytest.mark.remuda_rule("QUE-15", "GANG-3")
def test_the_size_of_the_cluster_is_no_maximum() -> None:
    door = Caller(leaf("a"), leaf("b", {"memory": 5}))
    door.node("n1", {"vcore": 2, "memory": 2})
    assert not too_large(door, {"vcore": 100, "gpu": 1}, "root.a")
    assert not too_large(door, {"vcore": 100, "memory": 5}, "root.b")


@pytest.mark.remuda_rule("QUE-15", "GANG-3")
@pytest.mark.parametrize("levels", [("p", "p.q"), ("p.q", "p.q.a"), ("p", "p.q.a")])
def test_the_smaller_of_two_levels_is_effective(levels: tuple[str, str]) -> None:
    for first, second in ((4, 9), (9, 4)):
        amounts = {levels[0]: {"v": first}, levels[1]: {"v": second}}
        inner = parent("q", leaf("a", amounts.get("p.q.a")), maximum=amounts.get("p.q"))
        door = Caller(parent("p", inner, maximum=amounts.get("p")))
        assert not too_large(door, {"v": 4}, "root.p.q.a")
        assert too_large(door, {"v": 5}, "root.p.q.a")


# -------------------------------------------------------------------------- configuration


FIVE = "resources: {guaranteed: {memory: 5}}"


def tree(outer: str, *children: str) -> str:
    """A configuration of root.p with these settings and children a, b, ..."""
    named = zip("ab", children, strict=False)
    below = ", ".join(f"{{name: {name}, {text}}}" for name, text in named)
    return root_text(f"queues: [{{name: p, {outer}, queues: [{below}]}}]")


@pytest.mark.remuda_rule("QUE-17")
@pytest.mark.parametrize(
    "text, rules",
    [
        (tree("resources: {max: {memory: 9}, guaranteed: {memory: 9, vcore: 5}}"), []),
        (tree("resources: {max: {memory: 9}, guaranteed: {memory: 10}}"), ["CFG-71"]),
        (tree("resources: {max: {memory: 9}}", "resources: {max: {memory: 10}}"), ["CFG-72"]),
        (tree("resources: {max: {memory: 9}}", "resources: {max: {vcore: 10}}"), []),
        (
            tree("resources: {guaranteed: {memory: 9}}", FIVE, FIVE),
            ["CFG-73"],
        ),
        (
            tree("resources: {guaranteed: {memory: 10}}", FIVE, FIVE),
            [],
        ),
        (
            tree("resources: {max: {memory: 9}}", FIVE, FIVE),
            ["CFG-74"],
        ),
        (tree("maxapplications: 2", "maxapplications: 2"), []),
        (tree("maxapplications: 2", "maxapplications: 3"), ["CFG-92"]),
        (tree("maxapplications: 2", "submitacl: '*'"), ["CFG-92"]),
        (tree("submitacl: '*'", "maxapplications: 3"), []),
    ],
)  # fmt: skip
def test_a_tree_whose_limits_contradict_each_other_is_refused(text: str, rules: list[str]) -> None:
    assert broken(text) == rules


@pytest.mark.remuda_rule("QUE-17")
def test_a_child_without_guarantee_counts_with_the_sum_below_it() -> None:
    def grown(amount: int) -> str:
        leaf_text = f"{{name: x, resources: {{guaranteed: {{memory: {amount}}}}}}}"
        middle = f"{{name: m, queues: [{leaf_text}]}}"
        other = "{name: o, resources: {guaranteed: {memory: 4}}}"
        amounts = "resources: {guaranteed: {memory: 10}}"
        return root_text(f"queues: [{{name: p, {amounts}, queues: [{middle}, {other}]}}]")

    assert broken(grown(6)) == []
    assert broken(grown(7)) == ["CFG-73"]
