"""A shadow decides what a scheduler would that ran with its configuration."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from remuda.core.messages import commands as c
from remuda.insight.shadow.twin import Trial
from tests.property.shadow_views import allocations, replacing, reserved, state_of, waiting
from tests.property.shadowed import LEAVES, RM, Life, Primary, configuration
from tests.unit.core.door import SECOND

ACTS = 250


@pytest.mark.remuda_rule("EXT-128")
@pytest.mark.remuda_rule("EXT-133")
@pytest.mark.parametrize("least", [1_000, pytest.param(10_000, marks=pytest.mark.long)])
def test_the_same_configuration_gives_no_difference(least: int) -> None:
    config = configuration()
    decisions, seed = 0, 0
    seen: Counter[str] = Counter()
    while decisions < least:
        primary = Primary(config, Trial(config))
        life = Life(seed, primary)
        for turn in range(ACTS):
            if turn % 100 == 99:
                life.restart()
            life.act()
            if turn % 10 == 0:
                seen["reserved"] += reserved(primary.scheduler)
        assert primary.told == []
        assert primary.twin is not None
        primary.twin.scheduler.check()
        assert state_of(primary.twin.scheduler) == state_of(primary.scheduler)
        decisions += primary.result().decisions
        seen.update(primary.ordered)
        seed += 1
    kinds = ("reserved", c.TIMEOUT, c.PREEMPTED_BY_SCHEDULER, c.PLACEHOLDER_REPLACED)
    # Gangs whose places time out or are filled, victims, reservations.
    assert all(seen[str(kind)] >= 3 for kind in kinds), seen


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.remuda_rule("EXT-129")
def test_work_exists_in_the_shadow_as_long_as_in_the_primary(seed: int) -> None:
    primary = Primary(configuration(), Trial(configuration(7)))
    life = Life(seed, primary)
    twin = primary.twin
    assert twin is not None
    for turn in range(ACTS):
        if turn % 100 == 99:
            life.restart()
        life.act()
        if turn % 5:
            continue
        twin.scheduler.check()
        wanted = {(a.application_id, a.allocation_key) for a in allocations(primary.scheduler)}
        wanted |= waiting(primary.scheduler) | replacing(primary.scheduler)
        for each in allocations(twin.scheduler):
            key = (each.application_id, each.allocation_key)
            assert each.placeholder or each.placeholder_used or key in wanted
    assert primary.result().differences > 0


def story(primary: Primary, seed: int) -> None:
    """A fixed course of asks that come and of work that ends, whatever the scheduler decides."""
    dice = random.Random(seed)
    for number in range(4):
        size = {"vcore": dice.randint(8, 14)}
        primary.send(c.UpdateNodes(RM, (c.NodeUpdate(f"n{number}", c.CREATE, size),)))
    for number, queue in enumerate(LEAVES * 2):
        new = c.NewApplication(f"app{number}", queue, user="ann", groups=("staff",))
        primary.send(c.UpdateApplications(RM, (new,)))
    asked: list[tuple[str, str]] = []
    for number in range(120):
        primary.go_to(primary.now + dice.choice((1, 1, 5)) * SECOND)
        if asked and dice.random() < 0.4:
            end(primary, *asked.pop(dice.randrange(len(asked))))
        else:
            app, key = f"app{dice.randrange(6)}", f"k{number}"
            asked.append((app, key))
            ask = c.Ask(app, key, {"vcore": dice.choice((1, 2, 3))}, priority=dice.randint(0, 2))
            primary.send(c.UpdateAllocations(RM, asks=(ask,)))
        primary.rest()


def end(primary: Primary, app: str, key: str) -> None:
    """The work of an ask ends, whether it runs or waits."""
    running = {(a.application_id, a.allocation_key) for a in allocations(primary.scheduler)}
    if (app, key) in running:
        release = c.AllocationRelease(app, allocation_key=key)
        primary.send(c.UpdateAllocations(RM, releases=(release,)))
    else:
        drop = c.AskRelease(app, key)
        primary.send(c.UpdateAllocations(RM, ask_releases=(drop,)))


@pytest.mark.parametrize("block", range(11))
@pytest.mark.remuda_rule("EXT-129")
@pytest.mark.remuda_rule("EXT-131")
@pytest.mark.remuda_rule("EXT-132")
def test_a_lower_maximum_names_exactly_the_asks_whose_outcome_changes(block: int) -> None:
    # In a few stories the maximum stops nobody.
    changes = [outcomes_that_changed(seed) for seed in range(4 * block, 4 * block + 4)]
    assert sum(count > 0 for count in changes) >= 2


def outcomes_that_changed(seed: int) -> int:
    """How many asks end otherwise under a lower maximum; the shadow must name just these."""
    old, new = configuration(30, preempting=False), configuration(6, preempting=False)
    primary = Primary(old, Trial(new))
    story(primary, seed)
    runs = [Primary(old), Primary(new)]
    for run in runs:
        story(run, seed)
    before, after = [run.made for run in runs]
    changed = {key for key in {**before, **after} if before.get(key) != after.get(key)}
    result = primary.result()
    assert {(each.application_id, each.allocation_key) for each in result.named} == changed
    assert primary.made == before
    for each in result.named:
        key = (each.application_id, each.allocation_key)
        assert each.primary == tuple([node for node, _ in before.get(key, [])])
        assert each.cause == expected(before.get(key, []), after.get(key, []))
    assert sum(each.count for each in result.counts) == result.differences == len(changed)
    return len(changed)


def expected(before: list[tuple[str, int]], after: list[tuple[str, int]]) -> str:
    """The cause of a difference of an ask for one allocation."""
    if not before or not after:
        return "not placed" if before else "placed there only"
    (node, at), (other, then) = before[0], after[0]
    if at == then:
        return "elsewhere"
    assert node or other
    return "later" if then > at else "earlier"
