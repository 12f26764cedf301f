"""Changed maximums are enforced as far as guarantees permit, and that comes to an end (PRE-63)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remuda.base.resources import Resource
from remuda.config.schema import QueueConfig
from remuda.core.messages import commands as c
from remuda.core.messages import effects as e
from tests.unit.core.door import DAY, MINUTE, leaf, of, parent
from tests.unit.core.rules.quota import BOUND, ON, Quotas, summaries

LEAVES = ("root.p.x.a", "root.p.x.b", "root.p.y.c", "root.p.d")
QUEUES = ("root.p", "root.p.x", "root.p.y", *LEAVES)
TYPES = ("memory", "vcore")

Limits = Mapping[str, Resource | None]
Held = tuple[str, dict[str, Any]]
Situation = tuple[Limits, Limits, list[Held]]

amounts = st.fixed_dictionaries(
    {"memory": st.integers(1, 30)}, optional={"vcore": st.integers(0, 9)}
) | st.fixed_dictionaries({"vcore": st.integers(1, 9)})
# A limit as parts of a hundred of what is used.
parts = st.none() | st.integers(0, 110)


kinds: st.SearchStrategy[dict[str, Any]] = st.fixed_dictionaries(
    {"size": amounts},
    optional={
        "originator": st.booleans(),
        "allow_preempt_self": st.booleans(),
        "priority": st.integers(-2, 2),
        "tags": st.sampled_from(({}, {}, BOUND)),
    },
)


def tree(guaranteed: Limits, maximum: Limits) -> QueueConfig:
    """The queues with these limits."""

    def limits(path: str) -> dict[str, Any]:
        return {"guaranteed": guaranteed.get(path), "maximum": maximum.get(path)}

    def end(path: str) -> QueueConfig:
        return leaf(path.rpartition(".")[2], **limits(path))

    a, b, c_, d = [end(path) for path in LEAVES]
    x = parent("x", a, b, **limits("root.p.x"))
    y = parent("y", c_, **limits("root.p.y"))
    return parent("p", x, y, d, properties=ON, **limits("root.p"))


def sizes(door: Quotas) -> dict[str, dict[str, Resource]]:
    """What runs: by leaf, by key."""
    return {
        path: {each.allocation_id: each.resource for each in view.allocations}
        for path, view in door.apps().items()
    }


def use(door: Quotas) -> dict[str, dict[str, int]]:
    """What is allocated in each queue, by type."""
    return {
        path: {name: door.queue(path).allocated.get(name, 0) for name in TYPES} for path in QUEUES
    }


def path_of(queue: str) -> list[str]:
    """The queue and those above it that have limits."""
    return [each for each in QUEUES if f"{queue}.".startswith(f"{each}.")]


def permitted(
    guaranteed: Limits, held: dict[str, dict[str, int]], own: str, size: Resource
) -> bool:
    """Whether an allocation may go without a queue on its path falling below its guarantee."""
    return all(
        amount <= 0 or held[queue][name] - amount >= (guaranteed.get(queue) or {})[name]
        for queue in path_of(own)
        for name, amount in size.items()
        if name in (guaranteed.get(queue) or {})
    )


def too_much(maximum: Resource | None, held: dict[str, int]) -> dict[str, int]:
    """By how much use is above a maximum, by type."""
    over = {name: held.get(name, 0) - most for name, most in (maximum or {}).items()}
    return {name: amount for name, amount in over.items() if amount > 0}


@st.composite
def situations(draw: st.DrawFn) -> Situation:
    """Guarantees, new maximums, and what runs in which leaf; limits are about what is used."""
    held = draw(st.lists(st.tuples(st.sampled_from(LEAVES), kinds), min_size=4, max_size=16))

    def limit(path: str) -> Resource | None:
        below: list[dict[str, int]] = [kind["size"] for own, kind in held if path in path_of(own)]
        found = {
            name: part * sum([size.get(name, 0) for size in below]) // 100
            for name in TYPES
            if (part := draw(parts)) is not None
        }
        return found or None

    return {path: limit(path) for path in QUEUES}, {path: limit(path) for path in QUEUES}, held


def change(guaranteed: Limits, maximum: Limits, held: list[Held]) -> Quotas:
    """All that runs, and then the new maximums."""
    door = Quotas(tree(guaranteed, {}))
    for number, (path, kind) in enumerate(held):
        door.run(path, f"k{number:02}", **kind)
    door.change(tree(guaranteed, maximum))
    return door


@pytest.mark.remuda_rule("PRE-65", "PRE-68", "PRE-69", "PRE-71")
@given(situation=situations(), order=st.randoms(use_true_random=False))
def test_queues_end_within_their_maximum_or_guarantees_keep_what_is_left(
    situation: Situation, order: Any
) -> None:
    guaranteed, maximum, held = situation
    door = change(guaranteed, maximum, held)
    before = use(door)
    kept = {f"k{number:02}" for number, (_, kind) in enumerate(held) if kind.get("tags")}
    turns = 0
    victims = door.evicted(10 * MINUTE)
    while victims:
        turns += 1
        order.shuffle(victims)
        for key in victims:
            door.confirm(key)
        victims = door.evicted()
    assert turns <= 3  # at most one run a level
    assert door.evicted(DAY) == []
    partition = door.scheduler._cluster.partition("rm", "default")
    assert partition is not None
    assert {each.outcome for each in partition.preempting.made.values()} <= {"done"}
    after = use(door)
    for queue in QUEUES:
        for name, least in (guaranteed.get(queue) or {}).items():
            assert after[queue][name] >= min(before[queue][name], least)
        over = too_much(maximum.get(queue), after[queue])
        for own, running in sizes(door).items():
            if queue in path_of(own):
                for key, size in running.items():
                    useful = key not in kept and any(size.get(name, 0) > 0 for name in over)
                    assert not (useful and permitted(guaranteed, after, own, size))


@pytest.mark.remuda_rule("PRE-71")
@given(situation=situations(), changed=st.sampled_from(QUEUES))
def test_nobody_goes_for_nothing(situation: Situation, changed: str) -> None:
    guaranteed, every, held = situation
    maximum = {changed: every[changed]}
    door = change(guaranteed, maximum, held)
    over = too_much(maximum[changed], use(door)[changed])
    running = {key: size for own in sizes(door).values() for key, size in own.items()}
    victims = door.evicted(10 * MINUTE)
    assert bool(summaries(door.last)) == bool(over)
    gone = {name: sum([running[key].get(name, 0) for key in victims]) for name in over}
    for key in victims:
        part = {name: running[key].get(name, 0) for name in over}
        assert any(part[name] > 0 and gone[name] - part[name] < over[name] for name in over)


@pytest.mark.remuda_rule("PRE-70", "PRE-71")
@given(situation=situations())
def test_the_same_situation_has_the_same_victims(
    situation: Situation,
) -> None:
    first, second = change(*situation), change(*situation)
    for door in (first, second):
        door.evicted(10 * MINUTE)
    assert first.orders == second.orders
    answers = [of(door.last, e.AllocationsReleased) for door in (first, second)]
    assert answers[0] == answers[1]
    types = {gone.termination_type for answer in answers[0] for gone in answer.released}
    assert types <= {c.PREEMPTED_BY_SCHEDULER}
