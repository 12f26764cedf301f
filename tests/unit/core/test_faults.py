"""A fault of the core ends the registration of one RM, and nothing else (SI-15)."""

from __future__ import annotations

import gc
from collections.abc import Callable

import pytest

from remuda.config.schema import Configuration
from remuda.core import scheduler
from remuda.core.apply.requests import registration
from remuda.core.cycle.decide import has_work
from remuda.core.messages import commands as c
from remuda.core.messages import effects as e
from remuda.core.messages import queries as q
from remuda.core.messages.effects import Effect
from remuda.core.model.partition import Partition
from remuda.core.scheduler import Scheduler
from tests.package import replaces_functions
from tests.unit.core.door import START, Caller, leaf, of, partition

pytestmark = pytest.mark.remuda_rule("SI-15")

ONE = {"vcore": 1}
CONFIGURATION = Configuration((partition(leaf("a")),))


class OurFaultError(Exception):
    """Any fault."""


def failing_at(count: int) -> Callable[[], None]:
    """A fault point that raises when it is passed for that many times."""
    left = [count]

    def point() -> None:
        left[0] -= 1
        if left[0] == 0:
            raise OurFaultError("ordered")

    return point


class Two:
    """Two RMs with a node and an application each, on one scheduler that contains faults."""

    def __init__(self) -> None:
        self.first = Caller(leaf("a"))
        self.scheduler = self.first.scheduler
        self.told: list[tuple[str, str, int]] = []
        self.scheduler.contain_faults(self.note)
        registration = c.RegisterResourceManager("other", CONFIGURATION)
        self.scheduler.handle(registration, START)
        for rm_id in ("rm", "other"):
            node = c.NodeUpdate("n1", c.CREATE, {"vcore": 10})
            new = c.NewApplication("app", "root.a", user="ann")
            self.scheduler.handle(c.UpdateNodes(rm_id, (node,)), START)
            self.scheduler.handle(c.UpdateApplications(rm_id, (new,)), START)

    def note(self, rm_id: str, fault: Exception) -> None:
        self.told.append((rm_id, str(fault), len(self.owners())))

    def owners(self) -> list[str]:
        views = self.scheduler.view(q.PartitionsQuery())
        assert isinstance(views, tuple)
        return sorted([view.rm_id for view in views if isinstance(view, q.PartitionView)])

    def ask(self, rm_id: str, *keys: str) -> list[Effect]:
        asks = tuple([c.Ask("app", key, ONE) for key in keys])
        return self.scheduler.handle(c.UpdateAllocations(rm_id, asks=asks), START)

    def place(self) -> list[Effect]:
        found = self.scheduler.step(START, 100)
        while self.scheduler.has_work():
            found += self.scheduler.step(START, 100)
        return found


def test_without_a_watch_the_caller_gets_the_fault() -> None:
    door = Caller(leaf("a"))
    door.scheduler.set_fault_point(failing_at(1))
    with pytest.raises(OurFaultError):
        door.app("app")


def test_a_fault_in_a_request_drops_the_rm_and_none_of_its_effects_is_told() -> None:
    two = Two()
    two.scheduler.set_fault_point(failing_at(2))
    found = two.ask("rm", "k1", "k2", "k3", "k4")
    assert [effect for effect in found if effect.rm_id == "rm"] == [
        e.ResourceManagerFailed("rm", "OurFaultError")
    ]
    assert two.told == [("rm", "ordered", 2)]  # it could still look at both
    assert two.owners() == ["other"]
    two.scheduler.set_fault_point(None)
    (refused,) = of(two.ask("rm", "k5"), e.RequestRefused)
    assert refused.rule == "SI-1"
    two.scheduler.check()


def test_a_fault_in_a_decision_ends_the_rm_it_was_for_and_the_others_go_on() -> None:
    two = Two()
    two.ask("rm", "a1", "a2", "a3")
    two.ask("other", "b1", "b2", "b3")
    two.scheduler.set_fault_point(failing_at(5))
    found = two.place()
    (failed,) = of(found, e.ResourceManagerFailed)
    (survivor,) = {"rm", "other"} - {failed.rm_id}
    placed = sorted([new.allocation_id[:2] for new in of(found, e.AllocationNew)])
    assert placed == [f"{'a' if survivor == 'rm' else 'b'}{number}" for number in (1, 2, 3)]
    two.scheduler.check()


def break_has_work(two: Two, rm_id: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """From now on nobody can tell whether a partition of an RM has work."""
    real = has_work

    def failing(partition: Partition) -> bool:
        if partition.rm_id == rm_id:
            raise OurFaultError("no idea")
        return real(partition)

    monkeypatch.setattr(scheduler, "has_work", failing)


@replaces_functions
@pytest.mark.parametrize("rm_id", ["rm", "other"])
def test_only_the_owner_of_the_partition_that_cannot_be_looked_at_is_dropped(
    rm_id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    two = Two()
    two.ask("rm", "a1", "a2")
    two.ask("other", "b1", "b2")
    break_has_work(two, rm_id, monkeypatch)
    assert two.scheduler.has_work()
    found = two.place()
    assert of(found, e.ResourceManagerFailed) == [e.ResourceManagerFailed(rm_id, "OurFaultError")]
    assert len(of(found, e.AllocationNew)) == 2
    assert two.owners() == [*({"rm", "other"} - {rm_id})]


@replaces_functions
def test_a_fault_that_stays_and_belongs_to_nobody_is_raised(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    two = Two()
    two.ask("rm", "a1")
    calls = [0]

    def failing(self: Scheduler, turn: object) -> None:
        calls[0] += 1
        turn.rm_id = "rm"  # type: ignore[attr-defined]
        raise OurFaultError("always")

    monkeypatch.setattr(Scheduler, "_next_partition", failing)
    with pytest.raises(OurFaultError):
        two.scheduler.step(START, 10)
    assert calls[0] == 2


@replaces_functions
@pytest.mark.parametrize("counted", [True, False])
def test_no_garbage_stays_of_what_was_dropped(
    counted: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    two = Two()
    two.ask("rm", *[f"k{number}" for number in range(500)])
    two.place()

    def failing(*_: object) -> None:
        raise OurFaultError("counts")

    if not counted:
        monkeypatch.setattr(registration, "keep_counts_after_fault", failing)
    gc.collect()
    gc.disable()
    try:
        two.scheduler.set_fault_point(failing_at(1))
        two.ask("rm", "more")
        assert gc.collect() < 100  # objects that only the collector could free
    finally:
        gc.enable()


def test_it_may_register_again_and_report_what_runs() -> None:
    two = Two()
    two.scheduler.set_fault_point(failing_at(2))
    two.ask("rm", "k1", "k2")
    two.scheduler.set_fault_point(None)
    again = c.RegisterResourceManager("rm", CONFIGURATION)
    (answer,) = of(two.scheduler.handle(again, START), e.RegistrationAnswered)
    assert answer.reason == ""
    two.first.node("n1", {"vcore": 10})
    two.first.app("app")
    two.first.existing("app", "id-1", "n1", ONE)
    assert two.first.node_view("n1").allocated == ONE
    two.scheduler.check()


@pytest.mark.remuda_rule("MET-27")
@pytest.mark.parametrize("place", range(1, 8))
def test_what_a_queue_counted_adds_up_after_a_fault_in_the_middle_of_a_removal(place: int) -> None:
    two = Two()
    two.ask("rm", "k1", "k2", "k3")
    two.place()
    two.scheduler.set_fault_point(failing_at(place))
    found = two.first.remove("app")
    two.scheduler.set_fault_point(None)
    assert of(found, e.ResourceManagerFailed) != []
    two.scheduler.handle(c.RegisterResourceManager("rm", CONFIGURATION), START)
    two.scheduler.check()


def test_a_fault_in_a_timer_is_held_against_the_owner_of_the_timer() -> None:
    two = Two()
    ask = c.Ask("app", "k1", ONE, execution_timeout_ms=1_000)
    two.scheduler.handle(c.UpdateAllocations("other", asks=(ask,)), START)
    two.place()
    two.scheduler.set_fault_point(failing_at(1))
    found = two.scheduler.step(START + 2_000_000_000, 0)
    assert of(found, e.ResourceManagerFailed) == [e.ResourceManagerFailed("other", "OurFaultError")]


def test_a_registration_that_fails_leaves_nothing() -> None:
    core = Scheduler()
    core.contain_faults(lambda rm_id, fault: None)
    core.set_fault_point(failing_at(1))
    found = core.handle(c.RegisterResourceManager("rm", CONFIGURATION), START)
    assert found == [e.ResourceManagerFailed("rm", "OurFaultError")]
    assert core.view(q.PartitionsQuery()) == ()
    assert core.next_deadline() is None


def test_a_watch_that_raises_is_heard() -> None:
    two = Two()

    def refuse(rm_id: str, fault: Exception) -> None:
        raise fault

    two.scheduler.contain_faults(refuse)
    two.scheduler.set_fault_point(failing_at(1))
    with pytest.raises(OurFaultError):
        two.ask("rm", "k1")
