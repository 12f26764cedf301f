"""How much a partition may keep, and what is said when it is too much (rule SI-14)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import pytest

from remuda.config.process_limits import (
    APPLICATION_ASKS,
    APPLICATIONS,
    ASKS,
    DEFAULT_LIMITS,
    LIMITS,
    MANAGERS,
    MEMORY,
    NODES,
    QUEUES,
    TAG_CHARACTERS,
    Limit,
)
from remuda.config.schema import Configuration, PlacementRuleConfig
from remuda.core.messages import commands as c
from remuda.core.messages import effects as e
from remuda.core.messages.effects import Effect, Rejection
from remuda.core.messages.measures import TotalsQuery, TotalsView
from remuda.core.model.deadlines import COMPLETING_TIMEOUT_NS, QUEUE_CLEANUP_NS
from tests.unit.core.door import Caller, leaf, partition

CORE = {"vcore": 1}
MAKES = (PlacementRuleConfig("provided", create=True),)


class Limited(Caller):
    """A scheduler with small limits; queues are made by placement."""

    def __init__(self, **limits: int) -> None:
        chosen = {**DEFAULT_LIMITS, **limits}
        super().__init__(leaf("a"), placement_rules=MAKES, limits=chosen)

    def hits(self) -> dict[str, int]:
        """How often each limit refused something."""
        found = self.scheduler.view(TotalsQuery())
        assert isinstance(found, TotalsView)
        return dict(found.limit_hits)


def rejections(effects: Sequence[Effect]) -> list[Rejection]:
    """All refused elements, of any kind."""
    found: list[Rejection] = []
    for effect in effects:
        if isinstance(effect, e.ApplicationsAnswered | e.NodesAnswered | e.AsksRejected):
            found += effect.rejected
        if isinstance(effect, e.RegistrationAnswered) and effect.reason:
            found.append(Rejection(effect.rm_id, effect.reason, effect.rule))
    return found


class Case(NamedTuple):
    """``most``: the limit; ``add`` sends the element of a number, ``end`` makes room for one."""

    most: int
    add: Callable[[Caller, int], list[Effect]]
    end: Callable[[Caller], list[Effect]]
    begin: Callable[[Caller], object] = lambda caller: None


def _end_queue(caller: Caller) -> list[Effect]:
    caller.remove("app0")
    return caller.wait(QUEUE_CLEANUP_NS)


def _two_apps(caller: Caller) -> None:
    caller.app("one")
    caller.app("two")


def _register(caller: Caller, number: int) -> list[Effect]:
    config = Configuration((partition(leaf("a")),))
    return caller.send(c.RegisterResourceManager(f"rm{number}", config))


# The first case has one RM from the start. The queues of the fourth case: root, root.a and two
# dynamic ones. A tag "k" of "12" has three characters.
CASES = {
    MANAGERS.name: Case(3, _register, lambda s: s.send(c.UnregisterResourceManager("rm0"))),
    APPLICATIONS.name: Case(2, lambda s, n: s.app(f"app{n}"), lambda s: s.remove("app0")),
    NODES.name: Case(
        2,
        lambda s, n: s.node(f"n{n}", CORE),
        lambda s: s.node("n0", action=c.DECOMISSION),
    ),
    QUEUES.name: Case(4, lambda s, n: s.app(f"app{n}", f"root.q{n}"), _end_queue),
    APPLICATION_ASKS.name: Case(
        2,
        lambda s, n: s.ask("one", f"k{n}", CORE, count=5),
        lambda s: s.release_ask("one", "k0"),
        _two_apps,
    ),
    ASKS.name: Case(
        2,
        lambda s, n: s.ask(("one", "two")[n % 2], f"k{n}", CORE, count=5),
        lambda s: s.release_ask("one", "k0"),
        _two_apps,
    ),
    TAG_CHARACTERS.name: Case(
        7,
        lambda s, n: s.ask("one", f"k{n}", CORE, tags={"k": "12"}),
        lambda s: s.release_ask("one", "k0"),
        _two_apps,
    ),
}
NAMES = [limit.name for limit in LIMITS]


def test_every_limit_of_the_table_has_a_case() -> None:
    assert list(CASES) == NAMES


@pytest.mark.remuda_rule("SI-14", "SI-4", "MET-51")
@pytest.mark.parametrize("limit", LIMITS, ids=NAMES)
def test_one_more_than_a_limit_is_refused_until_something_ended(limit: Limit) -> None:
    case = CASES[limit.name]
    caller = Limited(**{limit.name: case.most})
    case.begin(caller)
    for number in range(2):
        assert rejections(case.add(caller, number)) == []
    caller.scheduler.check()
    for times in (1, 2):
        (refused,) = rejections(case.add(caller, 2))
        text = f"the limit '{limit.name}' is reached, at most {case.most} {limit.bounds}; "
        assert text + limit.remedy in refused.reason
        assert refused.rule == "SI-14"
        assert caller.hits() == {**dict.fromkeys([*NAMES, MEMORY], 0), limit.name: times}
        caller.scheduler.check()
    case.end(caller)
    assert rejections(case.add(caller, 2)) == []
    assert len(rejections(case.add(caller, 3))) == 1
    caller.scheduler.check()


@pytest.mark.remuda_rule("SI-14", "RM-9")
def test_a_manager_that_is_registered_may_register_again() -> None:
    caller = Limited(**{MANAGERS.name: 1})
    assert len(rejections(_register(caller, 0))) == 1
    again = c.RegisterResourceManager(caller.rm, Configuration((partition(leaf("a")),)))
    assert rejections(caller.send(again)) == []


@pytest.mark.remuda_rule("SI-14", "SI-4")
def test_neighbours_of_a_refused_element_are_not_affected() -> None:
    caller = Limited(applications=1, asks=1)
    new = tuple(c.NewApplication(name, "root.a", user="ann") for name in ("one", "two"))
    effects = caller.send(c.UpdateApplications(caller.rm, new))
    assert [each.subject for each in rejections(effects)] == ["two"]
    assert list(caller.apps()) == ["one"]
    asks = tuple(c.Ask("one", key, CORE) for key in ("k1", "k2", "k1"))
    effects = caller.send(c.UpdateAllocations(caller.rm, asks=asks))
    assert [each.subject for each in rejections(effects)] == ["k2"]
    caller.scheduler.check()


def characters(caller: Caller, most: int) -> int:
    """How many characters of tags are kept, up to ``most``, the limit; asks of ``spare`` tell."""
    caller.scheduler.check()
    for room in range(most, -1, -1):
        refused = rejections(caller.ask("spare", "k", CORE, tags={"": "x" * room}))
        caller.release_ask("spare", "k")
        if not refused:
            return most - room
    return most + 1


@pytest.mark.remuda_rule("SI-14")
def test_what_runs_or_is_known_is_never_refused() -> None:
    caller = Limited(nodes=1, asks=1, **{"application-asks": 1, "tag-characters": 4})
    caller.node("n1", {"vcore": 9})
    caller.app("app")
    caller.ask("app", "k1", {"vcore": 20}, tags={"k": "123"})
    for number in range(3):
        identity = f"r{number}"
        assert not rejections(caller.existing("app", identity, "n1", CORE, tags={"k": "99"}))
    assert len(caller.node_view("n1").allocations) == 3
    # The ask that waits may change, an ask of what runs has nothing pending, a node may change.
    assert not rejections(caller.ask("app", "k1", {"vcore": 21}, tags={"k": "12"}))
    assert not rejections(caller.ask("app", "r1", CORE, tags={"k": "99"}))
    assert not rejections(caller.node("n1", {"vcore": 8}, c.UPDATE))
    assert [each.subject for each in rejections(caller.ask("app", "k2", CORE))] == ["k2"]
    caller.release_ask("app", "k1")
    # Running allocations count, so new tags are refused until they end.
    assert len(rejections(caller.ask("app", "k2", CORE, tags={"k": "1"}))) == 1
    assert not rejections(caller.ask("app", "k2", CORE))
    caller.scheduler.check()


@pytest.mark.remuda_rule("SI-14")
def test_tags_count_as_long_as_something_keeps_them() -> None:
    caller = Limited(**{"tag-characters": 40})
    caller.node("n1", {"vcore": 9})
    caller.app("spare")
    caller.app("app", tags={"ab": "cd"})
    assert characters(caller, 40) == 4
    caller.ask("app", "k", CORE, count=2, tags={"k": "1234"})
    assert characters(caller, 40) == 9
    assert caller.place(1) == [("k-0", "n1")]
    assert characters(caller, 40) == 9
    # An allocation keeps the tags with which it was made.
    caller.ask("app", "k", CORE, count=2, tags={"k": "12"})
    assert characters(caller, 40) == 12
    caller.existing("app", "k-1", "n1", CORE, key="k", tags={"k": "1"})
    assert characters(caller, 40) == 14
    caller.release_ask("app", "k")
    assert characters(caller, 40) == 11
    caller.release("app", "k-0")
    assert characters(caller, 40) == 6
    caller.release("app", "k-1")
    assert characters(caller, 40) == 4
    caller.ask("app", "k", CORE, tags={"k": "1234"})
    caller.place(1)
    caller.release_ask("app", "k")
    assert characters(caller, 40) == 9
    caller.remove("app")
    assert characters(caller, 40) == 0


@pytest.mark.remuda_rule("SI-14")
def test_an_application_that_ended_keeps_no_tags() -> None:
    caller = Limited(**{"tag-characters": 40})
    caller.node("n1", {"vcore": 9})
    caller.app("spare")
    caller.app("app", tags={"ab": "cd"})
    caller.ask("app", "k", CORE, tags={"k": "1234"})
    caller.place(1)
    caller.release("app", "k-0")
    assert characters(caller, 40) == 4
    caller.ask("spare", "stays", {"vcore": 10})
    caller.wait(COMPLETING_TIMEOUT_NS)
    assert list(caller.apps()) == ["spare"]
    assert characters(caller, 40) == 0
    assert rejections(caller.app("more", tags={"": "x" * 41}))
    assert characters(caller, 40) == 0


@pytest.mark.remuda_rule("SI-14")
def test_a_replaced_placeholder_keeps_no_tags() -> None:
    caller = Limited(**{"tag-characters": 40})
    caller.node("n1", {"vcore": 9})
    caller.app("spare")
    caller.app("app")
    caller.ask("app", "p", CORE, placeholder=True, task_group="g", tags={"k": "1234"})
    caller.place(1)
    caller.release_ask("app", "p")
    assert characters(caller, 40) == 5
    caller.ask("app", "r", CORE, task_group="g")
    caller.step()
    caller.release("app", "p-0", kind=c.PLACEHOLDER_REPLACED)
    assert [each.allocation_id for each in caller.node_view("n1").allocations] == ["r-0"]
    assert characters(caller, 40) == 0


@pytest.mark.remuda_rule("SI-14", "PLC-71")
def test_the_recovery_queue_is_made_beyond_the_limit() -> None:
    caller = Limited(queues=2)
    forced = {"application.create.force": "true"}
    assert not rejections(caller.app("app", "root.new", tags=forced))
    assert caller.apps()["app"].queue == "root.@recovery@"
    assert caller.hits()["queues"] == 1
    caller.scheduler.check()
