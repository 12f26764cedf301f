"""The impact of a configuration is what two schedulers do, one with the old and one with the new.

The test runs both itself, each from a snapshot, and asks each application's queue on a scheduler of
its own.
"""

from __future__ import annotations

import random
import sys
from collections import Counter
from dataclasses import replace
from functools import partial

import msgspec
import pytest

from remuda.base.errors import ConfigError
from remuda.config.schema import Configuration, PlacementRuleConfig, QueueConfig
from remuda.core.messages import commands as c
from remuda.core.messages.application_queries import (
    ApplicationQuery,
    Submissions,
    SubmissionsQuery,
)
from remuda.core.messages.application_views import ApplicationView
from remuda.core.messages.effects import (
    AllocationNew,
    AllocationsReleased,
    ConfigurationAnswered,
    Effect,
)
from remuda.core.messages.queries import QueuesQuery, QueueView
from remuda.core.messages.rows import Rows
from remuda.core.messages.trace_queries import ConfigurationInForceQuery
from remuda.core.scheduler import Scheduler
from remuda.insight.impact import ImpactAnswer, ImpactQuestion
from remuda.insight.impact_result import ConfigImpact
from remuda.runtime.forks.fork import fork
from remuda.runtime.forks.impact import answer_impact
from tests.long_runs import usual
from tests.property.test_findings import Story
from tests.unit.core.door import SECOND

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="copies take /proc")

RM = "rm"
STEPS = 60
NEVER_ENDED = (c.STOPPED_BY_RM, c.UNKNOWN_TERMINATION_TYPE)
Made = dict[tuple[str, str], list[str]]


def copied(story: Story) -> Scheduler:
    """Another scheduler with the same state."""
    copy = Scheduler()
    copy.restore(story.door.scheduler.snapshot())
    return copy


def confirmations(order: AllocationsReleased) -> tuple[c.AllocationRelease, ...]:
    """What the resource manager says once it has ended what it was told to."""
    return tuple(
        [
            c.AllocationRelease(
                each.application_id,
                each.allocation_id,
                each.allocation_key,
                each.partition,
                each.termination_type,
            )
            for each in order.released
            if each.termination_type not in NEVER_ENDED
        ]
    )


def follow(scheduler: Scheduler, now_ns: int, within_ns: int) -> list[Effect]:
    """All that happens until then, one decision at a time."""
    effects: list[Effect] = []
    heard, until_ns = 0, now_ns + within_ns
    for _ in range(20_000):
        due = scheduler.next_deadline()
        if scheduler.has_work() or (due is not None and due <= now_ns):
            effects += scheduler.step(now_ns, 1)
            continue
        orders = [each for each in effects[heard:] if isinstance(each, AllocationsReleased)]
        heard = len(effects)
        for order in orders:
            for each in confirmations(order):
                effects += scheduler.handle(c.UpdateAllocations(RM, releases=(each,)), now_ns)
        if not orders:
            if due is None or due > until_ns:
                return effects
            now_ns = due
    raise AssertionError("it does not come to rest")


def outcome(effects: list[Effect]) -> tuple[Made, set[str]]:
    """Where each ask got allocations, and which allocations were ended."""
    made: Made = {}
    ended: set[str] = set()
    for effect in effects:
        if isinstance(effect, AllocationNew):
            key = (effect.ask.application_id, effect.ask.allocation_key)
            made.setdefault(key, []).append(effect.node_id)
        elif isinstance(effect, AllocationsReleased):
            ended |= {f"{each.application_id}/{each.allocation_id}" for each in effect.released}
    return {key: sorted(nodes) for key, nodes in made.items()}, ended


def queue_of(scheduler: Scheduler, name: str) -> str:
    """The queue of an application, "" if it is not live."""
    found = scheduler.view(ApplicationQuery("default", name))
    assert isinstance(found, Rows)
    return next((each.queue for each in found if isinstance(each, ApplicationView)), "")


def placed_again(story: Story, record: c.NewApplication, command: c.Command | None) -> str:
    """The queue of an application that comes again under another name."""
    scheduler = copied(story)
    if command is not None:
        scheduler.handle(command, story.door.now)
    again = replace(record, application_id="again")
    scheduler.handle(c.UpdateApplications(RM, (again,)), story.door.now)
    return queue_of(scheduler, "again")


def queues(scheduler: Scheduler) -> dict[str, QueueView]:
    """All queues by path."""
    root = scheduler.view(QueuesQuery("default"))
    assert isinstance(root, QueueView)
    found, left = {}, [root]
    while left:
        view = left.pop()
        found[view.path] = view
        left += view.children
    return found


def in_force(scheduler: Scheduler) -> Configuration:
    """The configuration in force."""
    found = scheduler.view(ConfigurationInForceQuery(RM))
    assert isinstance(found, Configuration)
    return found


def changed(story: Story) -> Configuration:
    """Another configuration: other settings, perhaps a queue less or another placement."""
    old = in_force(story.door.scheduler).partitions[0]
    dice = story.dice
    above, *others = [guarded(each, dice) for each in story.queues()]
    if dice.random() < 0.4:
        del others[dice.randrange(len(others))]
    elif dice.random() < 0.2:  # refused if applications are in it
        others[0] = replace(others[0], queues=(QueueConfig("new"),))
    if dice.random() < 0.3:
        above = replace(above, queues=above.queues[:1])
    rules = old.placement_rules
    if dice.random() < 0.3:
        rules = (PlacementRuleConfig("fixed", value=dice.choice(("root.c", "root.p.a"))),)
    root = replace(old.root, queues=(above, *others), limits=story.limits["root"])
    preempts = dice.random() < 0.7
    new = replace(old, root=root, placement_rules=rules, quota_preemption=preempts)
    return Configuration((new,), checksum="F" * 64, text="# new")


def guarded(queue: QueueConfig, dice: random.Random) -> QueueConfig:
    """A queue with a guarantee now and then, and one that takes back what is above its maximum."""
    children = tuple([guarded(each, dice) for each in queue.queues])
    if dice.random() < 0.7:
        queue = replace(queue, properties={**queue.properties, "quota.preemption.delay": "10s"})
    if queue.queues or dice.random() < 0.5:
        return replace(queue, queues=children)
    return replace(queue, guaranteed={"vcore": dice.choice((1, 3, 8, 60))})


def told(story: Story, configuration: Configuration, within_ns: int) -> ImpactAnswer:
    """What we say."""
    question = ImpactQuestion(RM, configuration, within_ns)
    work = partial(answer_impact, question, story.door.scheduler, story.door.now)
    return msgspec.json.decode(fork(work).result(), type=ImpactAnswer)


def judge(story: Story, configuration: Configuration, within_ns: int, seen: Counter[str]) -> None:
    """Compare what we say with what two schedulers do."""
    door = story.door
    command = c.UpdateConfiguration(RM, configuration)
    before = door.scheduler.snapshot()
    answer = told(story, configuration, within_ns)
    assert door.scheduler.snapshot() == before
    old, new = copied(story), copied(story)
    verdict = new.handle(command, door.now)
    refused = [each for each in verdict if isinstance(each, ConfigurationAnswered) and each.reason]
    if refused:
        assert [reason for reason, _ in answer.refusals] == list(refused[0].problems)
        with pytest.raises(ConfigError):
            answer.unless_refused("new")
        seen["refused"] += 1
        return
    impact = answer.unless_refused("new")
    judge_queues(impact, queues(old), queues(new), seen)
    runs = {
        f"{each.application_id}/{allocation.allocation_id}"
        for each in door.apps().values()
        for allocation in each.allocations
    }
    made, ended = outcome(follow(old, door.now, within_ns))
    made_new, ended_new = outcome(verdict + follow(new, door.now, within_ns))
    assert {
        (each.application_id, each.allocation_key): (list(each.before), list(each.after))
        for each in impact.asks
    } == {
        key: (made.get(key, []), made_new.get(key, []))
        for key in {*made, *made_new}
        if made.get(key) != made_new.get(key)
    }
    assert list(impact.ended) == sorted((ended_new - ended) & runs)
    assert list(impact.kept) == sorted((ended - ended_new) & runs)
    seen["asks"] += bool(impact.asks)
    seen["ended"] += bool(impact.ended)
    found = door.scheduler.view(SubmissionsQuery("default"))
    assert isinstance(found, Submissions)
    assert {each.application_id for each in found.records} == set(door.apps())
    moves = {}
    for record in found.records:
        was, will = placed_again(story, record, None), placed_again(story, record, command)
        if was != will:
            moves[record.application_id] = (was, will)
    assert {each.application_id: (each.before, each.after) for each in impact.moved} == moves
    seen["moved"] += bool(moves)


def judge_queues(
    impact: ConfigImpact,
    old: dict[str, QueueView],
    new: dict[str, QueueView],
    seen: Counter[str],
) -> None:
    """Compare what we say about queues with their views."""
    gone = [
        path
        for path, was in sorted(old.items())
        if was.status != "Draining" and (path not in new or new[path].status == "Draining")
    ]
    assert [each.queue for each in impact.queues_gone] == gone
    quotas, exposed, unmet = [], [], []
    capacity = new["root"].maximum or {}
    for path, will in sorted(new.items()):
        was = old.get(path)
        used = will.allocated.get("vcore", 0)
        most = (will.maximum or {}).get("vcore")
        most_before = None if was is None else (was.maximum or {}).get("vcore")
        if most is not None and most < used and most != most_before:
            quotas.append((path, most_before, most, used))
        least = (will.guaranteed or {}).get("vcore", 0)
        least_before = 0 if was is None else (was.guaranteed or {}).get("vcore", 0)
        if will.leaf and will.preemption_policy != "disabled":
            more = max(0, used - least), max(0, used - least_before)
            if more[0] > more[1]:
                exposed.append((path, more[1], more[0], used))
        if will.leaf and least > capacity.get("vcore", 0) and least != least_before:
            unmet.append(path)
    assert [
        (each.queue, each.before, each.after, each.against)
        for each in impact.quotas_below_usage
        if each.resource_type == "vcore"
    ] == quotas
    assert [
        (each.queue, each.before, each.after, each.against)
        for each in impact.preemptible
        if each.resource_type == "vcore"
    ] == exposed
    assert {*unmet} <= {each.queue for each in impact.guarantees_unmet}
    seen["gone"] += bool(gone)
    seen["quotas"] += bool(quotas)
    seen["exposed"] += bool(exposed)
    seen["unmet"] += bool(unmet)


def judge_stories(seeds: range) -> Counter[str]:
    """Compare for many clusters, and for each with no change as well."""
    seen: Counter[str] = Counter()
    for seed in seeds:
        story = Story(seed)
        for _ in range(STEPS):
            story.act()
        if story.dice.random() < 0.7:
            first = replace(changed(story), checksum="D" * 64)
            story.door.send(c.UpdateConfiguration(RM, first))
            for _ in range(STEPS):
                story.act()
            story.rest()
        within_ns = story.dice.choice((0, 45)) * SECOND
        same = replace(in_force(story.door.scheduler), checksum="E" * 64)
        answer = told(story, same, within_ns)
        assert answer.impact is not None
        empty = ConfigImpact(story.door.now, within_ns / SECOND)
        assert answer.impact == empty
        assert str(empty) == "no differences"
        judge(story, changed(story), within_ns, seen)
    return seen


KINDS = ("asks", "moved", "gone", "quotas", "exposed", "unmet", "ended", "refused")


@pytest.mark.remuda_rule("EXT-67", "EXT-68", "EXT-69", "EXT-42")
def test_an_impact_is_what_two_schedulers_do() -> None:
    seeds = range(78, 90)
    played = usual(seeds)
    seen = judge_stories(played)
    for kind in KINDS if played == seeds else ("asks",):
        assert seen[kind], seen


@pytest.mark.long
@pytest.mark.remuda_rule("EXT-67", "EXT-68", "EXT-69", "EXT-42")
def test_an_impact_is_what_two_schedulers_do_a_thousand_times() -> None:
    seen = judge_stories(range(1_000))
    for kind in KINDS:
        assert seen[kind] >= 3, seen
