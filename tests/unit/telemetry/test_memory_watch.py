"""When the process refuses what is new for want of memory, and when no more (EXT-39)."""

from __future__ import annotations

import logging

import pytest

from remuda.telemetry.memory_limits import ADDRESSES, PRIVATE, RESIDENT, Bound, Use
from remuda.telemetry.memory_watch import MemoryWatch, Process, this_process
from remuda.telemetry.metrics.families import Families

pytestmark = pytest.mark.remuda_rule("EXT-39")

MIB = 1 << 20
BOUNDS = {
    RESIDENT: Bound(RESIDENT, "control group", 1_000 * MIB),
    ADDRESSES: Bound(ADDRESSES, "RLIMIT_AS", 1_000 * MIB),
    PRIVATE: Bound(PRIVATE, "RLIMIT_DATA", 1_000 * MIB),
}


class Machine:
    """A process that uses the same of each kind, in MiB; ``free`` of it can be given back."""

    def __init__(self, *bounds: Bound) -> None:
        self.bounds = list(bounds)
        self.used = 100
        self.free = 0
        self.reusable = 0
        self.objects = 1_000_000
        self.now = 0.0
        self.given_back = 0
        self.told: list[str] = []
        process = Process(
            lambda: self.bounds,
            lambda: Use(*[(self.used + self.free) * MIB] * 3),
            lambda: self.objects,
            lambda: self.reusable * MIB,
            self._give_back,
        )
        self.watch = MemoryWatch(self.told.append, process, lambda: self.now)

    def _give_back(self) -> None:
        self.free = 0
        self.given_back += 1

    def refuses(self, used: int | None = None) -> bool:
        """Whether new work is refused after a look, a while later."""
        if used is not None:
            self.used = used
        self.now += 1.0
        self.watch.look()
        assert bool(self.told and self.told[-1]) == bool(self.watch.reason)
        return bool(self.watch.reason)


@pytest.mark.parametrize("kind", BOUNDS)
def test_it_refuses_from_85_percent_on_and_admits_below_75(kind: str) -> None:
    machine = Machine(BOUNDS[kind])
    assert not machine.refuses(849)
    assert machine.refuses(850)
    assert machine.refuses(750)
    assert not machine.refuses(749)
    assert not machine.refuses(849)
    first, ended = machine.told
    name = BOUNDS[kind].name
    assert first.startswith(f"the scheduler uses 850 MiB of the 1000 MiB that it may ({name}); ")
    assert ended == ""


def test_the_limit_that_is_closest_counts() -> None:
    machine = Machine(*BOUNDS.values())
    machine.bounds[1] = Bound(ADDRESSES, "RLIMIT_AS", 500 * MIB)
    assert not machine.refuses(424)
    assert machine.refuses(425)
    assert machine.told[-1].endswith(
        "(RLIMIT_AS); release what is not needed, or send it again later"
    )
    # It may be raised while the process runs.
    machine.bounds[1] = Bound(ADDRESSES, "RLIMIT_AS", 600 * MIB)
    assert not machine.refuses()
    assert not Machine().refuses(1_000_000)


def test_what_the_allocator_can_give_back_does_not_count() -> None:
    machine = Machine(BOUNDS[RESIDENT])
    machine.free = 500
    assert not machine.refuses(500)
    assert machine.given_back == 1
    machine.free = 500
    machine.watch.look()
    # It is asked once a second at most.
    assert machine.given_back == 1
    assert machine.watch.reason


def test_freed_addresses_are_used_again() -> None:
    machine = Machine(BOUNDS[ADDRESSES])
    machine.reusable = 500
    assert not machine.refuses(1_000)
    machine.reusable = 100
    assert machine.refuses()


def test_small_objects_that_ended_do_not_count_though_their_memory_stays() -> None:
    machine = Machine(BOUNDS[RESIDENT])
    machine.objects = 10_000_000
    assert machine.refuses(890)
    # Of each object that ended, 80 bytes count: 381 MiB are those of five millions.
    machine.objects = 8_500_000
    assert machine.refuses()
    machine.objects = 5_000_000
    assert not machine.refuses()
    # A little more of something else.
    assert not machine.refuses(891)
    # The same memory is used again.
    machine.objects = 9_000_000
    assert not machine.refuses()
    machine.objects = 9_990_000
    assert machine.refuses()


def test_near_the_limit_all_counts() -> None:
    machine = Machine(BOUNDS[RESIDENT])
    machine.objects = 10_000_000
    assert machine.refuses(950)
    machine.objects = 0
    assert machine.refuses(900)
    assert not machine.refuses(899)
    assert not machine.refuses(949)
    assert machine.refuses(950)


@pytest.mark.remuda_rule("HLT-20", "MET-60")
def test_a_shortage_is_logged_shown_and_measured(caplog: pytest.LogCaptureFixture) -> None:
    machine = Machine(BOUNDS[RESIDENT])
    caplog.set_level(logging.WARNING)

    def figures() -> dict[str, float]:
        families = Families("yunikorn")
        machine.watch.add(families)
        return {each.name: each.value for one in families.all() for each in one.samples}

    share, shortage = "yunikorn_scheduler_memory_share", "yunikorn_scheduler_memory_shortage"
    machine.refuses(400)
    assert figures() == {share: 0.4, shortage: 0}
    assert machine.watch.findings() == []
    for _ in range(61):
        assert machine.refuses(900)
    assert figures() == {share: 0.9, shortage: 1}
    (finding,) = machine.watch.findings()
    assert not finding.succeeded
    assert finding.diagnosis == f"new asks and applications are refused: {machine.told[0]}"
    # At once, and after a minute.
    assert [each.getMessage() for each in caplog.records] == [finding.diagnosis] * 2
    machine.refuses(100)
    assert (
        caplog.records[-1].getMessage().startswith("new asks and applications are accepted again")
    )
    assert machine.watch.findings() == []
    assert figures() == {share: 0.1, shortage: 0}


def test_a_limit_of_0_means_none() -> None:
    assert list(this_process(0).bounds()) == []
    assert Bound(RESIDENT, "--memory-limit", 7) in this_process(7).bounds()


def test_it_looks_more_often_above_half_of_a_limit_until_it_refuses() -> None:
    machine = Machine(BOUNDS[RESIDENT])
    pauses = {}
    for used in (499, 500, 849, 850):
        machine.refuses(used)
        pauses[used] = machine.watch.pause()
    assert pauses == {499: 0.25, 500: 0.05, 849: 0.05, 850: 0.25}
