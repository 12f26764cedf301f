"""States of resource managers (70, "RM states")."""

from __future__ import annotations

import pytest

from remuda.runtime.roster import IN_PROCESS, SESSION, STOPPED_LIMIT, STREAMS, RmState, Roster
from tests.unit.runtime.fakes import registration


def running(roster: Roster, rm_id: str = "rm", now_ns: int = 10) -> None:
    roster.announce(rm_id, STREAMS, now_ns)
    roster.run(registration(rm_id), STREAMS, now_ns)
    roster.settle(rm_id)


def state(roster: Roster, rm_id: str = "rm") -> tuple[RmState, int]:
    status = roster.find(rm_id)
    assert status is not None
    return status.state, status.since_ns


@pytest.mark.remuda_rule("RM-2", "SI-1")
def test_requests_are_refused_while_a_registration_is_on_its_way() -> None:
    roster = Roster()
    roster.announce("rm", IN_PROCESS, 1)
    assert not roster.registered("rm")
    roster.run(registration(), IN_PROCESS, 1)
    roster.settle("rm")
    assert roster.registered("rm")

    roster.announce("rm", IN_PROCESS, 2)
    roster.announce("rm", IN_PROCESS, 3)
    assert not roster.registered("rm")
    roster.settle("rm")
    assert not roster.registered("rm")
    roster.settle("rm")
    assert roster.registered("rm")
    roster.stop("rm", "", 4)
    assert not roster.registered("rm")


@pytest.mark.remuda_rule("RM-2", "RM-9")
def test_one_that_registers_is_in_state_init_until_it_is_answered() -> None:
    roster = Roster()
    roster.announce("rm", STREAMS, 5)
    assert state(roster) == (RmState.INIT, 5)
    roster.run(registration(), STREAMS, 6)
    roster.settle("rm")
    assert state(roster) == (RmState.RUNNING, 6)
    roster.pause("rm", "gone", 7)
    roster.announce("rm", SESSION, 8)
    assert state(roster) == (RmState.INIT, 8)


@pytest.mark.remuda_rule("RM-13")
def test_one_whose_registration_fails_is_forgotten_or_was_stopped() -> None:
    roster = Roster()
    roster.announce("rm", STREAMS, 5)
    assert not roster.stop("rm", "bad", 6)
    roster.settle("rm")
    assert roster.find("rm") is None
    running(roster)
    roster.announce("rm", STREAMS, 15)
    assert roster.stop("rm", "bad", 16)
    roster.settle("rm")
    assert state(roster) == (RmState.STOPPED, 16)


@pytest.mark.remuda_rule("RM-14", "RM-15")
def test_only_a_running_one_is_paused_and_only_a_paused_one_goes_on() -> None:
    roster = Roster()
    assert not roster.pause("rm", "gone", 1)
    running(roster)
    assert not roster.resume("rm", 11)
    assert roster.pause("rm", "gone", 12)
    assert not roster.pause("rm", "again", 13)
    status = roster.find("rm")
    assert status is not None
    assert (status.state, status.since_ns, status.cause) == (RmState.PAUSED, 12, "gone")
    assert roster.registered("rm")
    assert roster.resume("rm", 14)
    assert state(roster) == (RmState.RUNNING, 14)


@pytest.mark.remuda_rule("RM-17")
def test_those_that_stopped_stay_visible_up_to_a_number() -> None:
    roster = Roster()
    running(roster, "alive")
    for number in range(STOPPED_LIMIT + 2):
        running(roster, f"rm{number:03}")
        roster.stop(f"rm{number:03}", "unregistered", 20 + number)
    assert roster.find("rm000") is None
    assert roster.find("rm001") is None
    assert state(roster, "rm002") == (RmState.STOPPED, 22)
    assert len(roster.all()) == STOPPED_LIMIT + 1
    assert [each.rm_id for each in roster.all()] == sorted(each.rm_id for each in roster.all())
