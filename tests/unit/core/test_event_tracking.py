"""Event records are made only while they are wanted, and nothing depends on them (EVT-12)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from remuda.config.schema import Configuration
from remuda.core.messages import commands as c
from remuda.core.messages import effects as e
from remuda.core.messages import events as ev
from remuda.core.messages.effects import Effect
from remuda.runtime.digest import EffectDigest
from tests.reference.driver import play
from tests.reference.workloads import Input, record
from tests.unit.core.door import Caller, answers, events, leaf, of, partition, refusal

TRACKING = "event.trackingEnabled"
OFF = {TRACKING: "false"}
ON = {TRACKING: "true"}


def untracked(given: Input) -> Input:
    """The same input with a map that switches tracking off."""
    now, what = given
    if isinstance(what, c.RegisterResourceManager):
        return now, replace(what, extra_config={**what.extra_config, **OFF})
    if isinstance(what, c.UpdateConfiguration) and what.extra_config is not None:
        return now, replace(what, extra_config={**what.extra_config, **OFF})
    return given


def digest(effects: Sequence[Effect]) -> str:
    found = EffectDigest()
    found.update(effects)
    return found.hexdigest()


@pytest.mark.remuda_rule("EVT-12")
@pytest.mark.parametrize("seed", range(600, 606))
def test_without_tracking_everything_else_stays_the_same(seed: int) -> None:
    inputs = record(seed).inputs
    tracked = [effect for answer in play(inputs) for effect in answer]
    silent = [effect for answer in play(map(untracked, inputs)) for effect in answer]
    assert of(tracked, e.EventRecord)
    assert not of(silent, e.EventRecord)
    assert digest(silent) == digest(answers(tracked))


@pytest.mark.remuda_rule("EVT-12", "EVT-101")
def test_tracking_is_switched_while_everything_runs() -> None:
    door = Caller(leaf("a"), extra_config=OFF)
    quiet = [*door.first, *door.node("n1", {"vcore": 10}), *door.app("app")]
    quiet += [*door.ask("app", "k", {"vcore": 1}), *door.step()]
    assert events(quiet) == []
    assert len(of(quiet, e.AllocationNew)) == 1
    assert refusal(door.reload(leaf("a"), extra_config=ON)) == ""
    told = [*door.ask("app", "k2", {"vcore": 1}), *door.step()]
    assert (ev.APP, "app", ev.ADD, ev.APP_REQUEST) in events(told)
    assert (ev.NODE, "n1", ev.ADD, ev.NODE_ALLOC) in events(told)
    assert events(door.reload(leaf("a"), leaf("b"), extra_config=OFF)) == []
    assert events(door.release("app")) == []
    door.scheduler.check()


@pytest.mark.remuda_rule("EVT-12", "RM-7", "SI-85")
def test_the_latest_map_counts_for_all_and_a_trial_does_not() -> None:
    door = Caller(leaf("a"), extra_config=ON)
    door.reload(leaf("a"), extra_config=OFF, dry_run=True)
    assert events(door.node("n1", {"vcore": 10})) != []
    config = Configuration((partition(leaf("a")),))
    door.send(c.RegisterResourceManager("other", config, extra_config=OFF))
    assert events(door.node("n2", {"vcore": 10})) == []
    door.reload(leaf("a"), leaf("b"))
    assert events(door.node("n3", {"vcore": 10})) == []
    door.send(c.RegisterResourceManager("third", config, extra_config={}))
    assert events(door.node("n4", {"vcore": 10})) != []


@pytest.mark.remuda_rule("EVT-130")
def test_records_about_an_application_say_its_queue() -> None:
    door = Caller(leaf("a"))
    door.node("n1", {"vcore": 10})
    door.app("app")
    told = [*door.ask("app", "k", {"vcore": 1}), *door.step(), *door.release("app")]
    found = of(told, e.EventRecord)
    assert len(found) > 6
    assert {each.queue for each in found} == {"root.a"}
