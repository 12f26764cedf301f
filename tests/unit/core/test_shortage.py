"""What is refused, and what is taken, while the process runs short of memory (rule EXT-39)."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from remuda.config.schema import Configuration
from remuda.core.messages import commands as c
from remuda.core.messages import effects as e
from remuda.core.messages import events
from remuda.core.messages.effects import Effect, Rejection
from remuda.core.messages.measures import TotalsQuery, TotalsView
from tests.unit.core.door import Caller, leaf, partition

pytestmark = pytest.mark.remuda_rule("EXT-39")

CORE = {"vcore": 1}
WHY = "the scheduler uses 450 MiB of 512 MiB"
FORCED = {"application.create.force": "true"}


def rejections(effects: Sequence[Effect]) -> list[Rejection]:
    """All refused asks, applications and nodes."""
    found: list[Rejection] = []
    for effect in effects:
        if isinstance(
            effect,
            e.ApplicationsAnswered | e.NodesAnswered | e.AsksRejected | e.AllocationsRejected,
        ):
            found += effect.rejected
    return found


def records(effects: Sequence[Effect]) -> list[tuple[str, int, str, str]]:
    """Partition, kind, object and message of event records."""
    return [
        (each.partition, each.kind, each.object_id, each.message)
        for each in effects
        if isinstance(each, e.EventRecord)
    ]


class Short(Caller):
    """A scheduler with a node, an application, a running and a waiting ask, that lacks memory."""

    def __init__(self) -> None:
        super().__init__(leaf("a"))
        self.node("n1", {"vcore": 10})
        self.app("app")
        self.ask("app", "k1", CORE)
        self.step()
        self.ask("app", "k2", {"vcore": 20}, tags={"k": "12"})
        self.began = self.send(c.LimitGrowth(WHY))

    def hits(self) -> int:
        """How many elements were refused for it."""
        found = self.scheduler.view(TotalsQuery())
        assert isinstance(found, TotalsView)
        return found.limit_hits["memory"]


def test_new_asks_and_applications_are_refused_until_there_is_memory() -> None:
    caller = Short()
    refused = [*rejections(caller.ask("app", "k3", CORE)), *rejections(caller.app("new"))]
    assert refused == [
        Rejection("k3", f"ask 'k3' cannot be added: {WHY}", "EXT-39", "app"),
        Rejection("new", f"application new cannot be added: {WHY}", "EXT-39"),
    ]
    assert list(caller.apps()) == ["app"]
    assert caller.hits() == 2
    caller.scheduler.check()
    caller.send(c.LimitGrowth())
    assert rejections(caller.ask("app", "k3", CORE)) == []
    assert rejections(caller.app("new")) == []
    assert caller.hits() == 2
    caller.scheduler.check()


def test_an_element_that_is_bad_in_itself_is_refused_for_that() -> None:
    caller = Short()
    (refused,) = rejections(caller.ask("none", "k3", CORE))
    assert refused.rule == "SI-31"
    (refused,) = rejections(caller.app("app"))
    assert refused.rule == "SI-20"
    assert caller.hits() == 0


def test_what_runs_or_waits_or_ends_or_gives_room_is_taken() -> None:
    caller = Short()
    assert rejections(caller.existing("app", "r1", "n1", CORE)) == []
    assert rejections(caller.node("n2", {"vcore": 1})) == []
    assert rejections(caller.node("n1", {"vcore": 11}, c.UPDATE)) == []
    # The ask that waits may change; its tags may not grow.
    assert rejections(caller.ask("app", "k2", {"vcore": 1}, tags={"k": "1"})) == []
    assert [each.subject for each in rejections(caller.ask("app", "k2", CORE, tags={"k": "123"}))]
    placed = [each for each in caller.step() if isinstance(each, e.AllocationNew)]
    assert [each.ask.allocation_key for each in placed] == ["k2"]
    # One whose allocation was made has nothing more to wait for, unless more are asked for.
    assert rejections(caller.ask("app", "k1", CORE)) == []
    assert [each.subject for each in rejections(caller.ask("app", "k1", CORE, count=2))] == ["k1"]
    caller.remove("app")
    assert list(caller.apps()) == []
    caller.scheduler.check()


def test_a_manager_that_recovers_gets_its_applications_back() -> None:
    caller = Short()
    caller.send(c.RegisterResourceManager(caller.rm, Configuration((partition(leaf("a")),))))
    caller.node("n1", {"vcore": 10})
    assert rejections(caller.app("app")) == []
    assert rejections(caller.existing("app", "r1", "n1", CORE)) == []
    assert rejections(caller.app("later")) == []
    assert [each.subject for each in rejections(caller.ask("app", "k3", CORE))] == ["k3"]
    # It asks for new work now.
    assert [each.subject for each in rejections(caller.app("new"))] == ["new"]
    assert rejections(caller.app("forced", tags=FORCED)) == []
    caller.scheduler.check()


def test_each_partition_is_told_once_when_it_begins_and_when_it_ends() -> None:
    caller = Short()
    told = f"New asks and applications are refused: {WHY}"
    assert records(caller.began) == [("default", events.QUEUE, "root", told)]
    # Only the amount has changed: later reasons have it.
    assert caller.send(c.LimitGrowth("more")) == []
    (refused,) = rejections(caller.ask("app", "k3", CORE))
    assert refused.reason.endswith(": more")
    told = "New asks and applications are accepted again"
    assert records(caller.send(c.LimitGrowth())) == [("default", events.QUEUE, "root", told)]
    assert caller.send(c.LimitGrowth()) == []
