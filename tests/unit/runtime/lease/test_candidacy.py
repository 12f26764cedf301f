"""One process on its way from standby to active to its end, in virtual time."""

from __future__ import annotations

import pytest

from remuda.base.duration import MILLISECOND, SECOND
from remuda.runtime.lease.candidacy import (
    POLL_NS,
    RETRY_NS,
    Candidacy,
    Held,
    Holder,
    Look,
    Renew,
    Renewed,
    Seen,
    State,
    Take,
    Taken,
)
from remuda.runtime.lease.fence import Fence

TTL = 3 * SECOND
HELD = Held(lease_id=77, token=5)
OTHER = Holder("other", "10.0.0.2:9079", Held(1, 4))


class Process:
    """A candidate with a clock of its own, and the requests that it makes."""

    def __init__(self) -> None:
        self.now_ns = 1_000 * SECOND
        self.fence = Fence(lambda: self.now_ns)
        self.candidacy = Candidacy("me", self.fence)

    def ask(self) -> object:
        return self.candidacy.request(self.now_ns)

    def answer(self, answer: Seen | Taken | Renewed, after_ns: int = 0) -> None:
        self.now_ns += after_ns
        self.candidacy.answered(answer, self.now_ns)

    def fail(self, after_ns: int = 0) -> None:
        self.now_ns += after_ns
        self.candidacy.failed("no answer", self.now_ns)

    def until_due(self) -> object:
        self.now_ns += self.candidacy.rest_ns(self.now_ns)
        return self.ask()

    def is_(self, state: State) -> bool:
        return self.candidacy.state is state


def active() -> Process:
    process = Process()
    process.ask()
    process.answer(Seen(None))
    assert process.ask() == Take()
    process.answer(Taken(HELD, TTL))
    assert process.is_(State.ACTIVE)
    return process


@pytest.mark.remuda_rule("EXT-34")
def test_a_standby_looks_until_the_lease_is_free_and_takes_it() -> None:
    process = Process()
    assert process.ask() == Look()
    process.answer(Seen(OTHER))
    assert process.fence.active_at == "10.0.0.2:9079"
    assert process.ask() is None
    assert process.candidacy.rest_ns(process.now_ns) == POLL_NS == SECOND // 5
    assert process.until_due() == Look()
    process.answer(Seen(None))
    assert process.ask() == Take()
    assert process.fence.remaining_ns() == 0
    process.answer(Taken(HELD, TTL))
    assert process.is_(State.ACTIVE)
    assert process.fence.open
    assert process.fence.token == 5


@pytest.mark.remuda_rule("EXT-34")
def test_somebody_was_faster() -> None:
    process = Process()
    process.ask()
    process.answer(Seen(None))
    assert process.ask() == Take()
    process.answer(Seen(OTHER))
    assert process.is_(State.STANDBY)
    assert process.ask() is None
    assert process.until_due() == Look()


@pytest.mark.remuda_rule("EXT-34")
def test_the_time_counts_from_the_question_and_ends_a_sixth_early() -> None:
    process = Process()
    process.ask()
    process.answer(Seen(None))
    process.ask()
    process.answer(Taken(HELD, TTL), after_ns=SECOND)
    assert process.fence.remaining_ns() == TTL - TTL // 6 - SECOND
    process.now_ns += process.fence.remaining_ns() - 1
    assert (process.fence.open, process.fence.closed) == (True, False)
    process.now_ns += 1
    assert (process.fence.open, process.fence.closed) == (False, True)


@pytest.mark.remuda_rule("EXT-34")
def test_it_renews_three_times_within_the_time_and_goes_on() -> None:
    process = active()
    for _ in range(100):
        before = process.now_ns
        assert process.until_due() == Renew(HELD)
        assert process.now_ns - before <= TTL // 3
        process.answer(Renewed(TTL), after_ns=10 * MILLISECOND)
        assert process.fence.open
    assert process.is_(State.ACTIVE)


@pytest.mark.remuda_rule("EXT-34")
def test_a_failed_renewal_is_tried_again_and_the_time_runs_on() -> None:
    process = active()
    taken_at = process.now_ns
    assert process.until_due() == Renew(HELD)
    tries = 0
    while process.is_(State.ACTIVE):
        process.fail(after_ns=RETRY_NS)
        tries += 1
        process.until_due()
    assert tries >= 5
    assert process.now_ns - taken_at <= TTL - TTL // 6 + 2 * RETRY_NS
    assert process.is_(State.OVER)
    assert process.candidacy.over_because == "not renewed in time: no answer"
    assert process.candidacy.failures == tries


@pytest.mark.remuda_rule("EXT-34")
def test_a_renewal_after_some_failures_is_enough() -> None:
    process = active()
    for _ in range(5):
        assert process.until_due() == Renew(HELD)
        process.fail()
    process.until_due()
    process.answer(Renewed(TTL))
    assert process.is_(State.ACTIVE)
    assert process.fence.remaining_ns() == TTL - TTL // 6
    assert process.candidacy.problem == ""


@pytest.mark.remuda_rule("EXT-34")
def test_a_process_that_stood_still_ends_whatever_it_is_told_then() -> None:
    process = active()
    process.until_due()
    process.answer(Renewed(TTL), after_ns=10 * TTL)
    assert process.is_(State.OVER)
    assert not process.fence.open
    assert process.ask() is None
    process.answer(Renewed(TTL))
    assert process.is_(State.OVER)
    assert not process.fence.open


@pytest.mark.remuda_rule("EXT-34")
def test_a_lease_that_the_store_ended_or_whose_key_is_gone_ends_it_at_once() -> None:
    process = active()
    process.until_due()
    process.answer(Renewed(0))
    assert process.is_(State.OVER)
    assert not process.fence.open
    assert process.candidacy.held is None


@pytest.mark.remuda_rule("EXT-34")
def test_a_try_whose_answer_was_lost_is_found_and_renewed_before_it_counts() -> None:
    process = Process()
    process.ask()
    process.answer(Seen(None))
    assert process.ask() == Take()
    process.fail(after_ns=SECOND)
    assert process.until_due() == Look()
    process.answer(Seen(Holder("me", "here", HELD)))
    assert process.is_(State.STANDBY)
    assert process.ask() == Renew(HELD)
    process.answer(Renewed(TTL))
    assert process.is_(State.ACTIVE)
    assert process.fence.token == HELD.token


@pytest.mark.remuda_rule("EXT-34")
def test_a_try_whose_answer_came_too_late_counts_only_after_a_renewal() -> None:
    process = Process()
    process.ask()
    process.answer(Seen(None))
    process.ask()
    process.answer(Taken(HELD, TTL), after_ns=TTL)
    assert process.is_(State.STANDBY)
    assert not process.fence.open
    assert process.ask() == Renew(HELD)
    process.answer(Renewed(0))
    assert process.is_(State.STANDBY)
    assert process.until_due() == Look()


@pytest.mark.remuda_rule("EXT-34")
def test_two_processes_are_never_active_at_once_if_clocks_differ_by_less_than_the_margin() -> None:
    """The clocks of the store and of the second process run a tenth faster than the first's."""
    first, second = active(), Process()
    ends_ns = second.now_ns + TTL
    second.ask()
    while not second.fence.open:
        first.now_ns += 10 * MILLISECOND
        second.now_ns += 11 * MILLISECOND
        if second.ask() is not None:
            second.answer(Seen(OTHER if second.now_ns < ends_ns else None))
            if second.ask() == Take():
                assert first.fence.closed
                second.answer(Taken(Held(2, 6), TTL))
    assert first.fence.closed


def test_a_fence_that_was_shut_never_opens_again() -> None:
    fence = Fence(lambda: 100)
    assert fence.extend(1, 200)
    fence.shut()
    assert fence.closed
    assert not fence.extend(2, 300)
    assert (fence.open, fence.token, fence.remaining_ns()) == (False, 1, 0)


def test_a_fence_that_was_never_opened_is_not_closed() -> None:
    fence = Fence(lambda: 100)
    assert not fence.open
    assert not fence.closed
    assert not fence.extend(1, 100)
    assert not fence.closed
