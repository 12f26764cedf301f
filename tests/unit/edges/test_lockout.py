"""Addresses from which too many wrong tokens come are refused for a while (EXT-29)."""

from __future__ import annotations

import pytest

from remuda.edges import lockout
from remuda.edges.lockout import LockedOutError, Lockout
from remuda.telemetry.audit.records import Record

TOKEN, OTHER = b"a token", b"another"


class Clock:
    """A time that a test sets."""

    def __init__(self) -> None:
        self.seconds = 1_000.0

    def __call__(self) -> float:
        return self.seconds


def left(lock: Lockout, address: str = "10.0.0.1", mark: bytes = TOKEN) -> float:
    """For how long an address is refused."""
    try:
        lock.check(address, mark)
    except LockedOutError as error:
        return error.seconds
    return 0.0


@pytest.mark.remuda_rule("EXT-29")
def test_each_wrong_token_from_the_fifth_on_doubles_the_time_up_to_a_minute() -> None:
    records: list[Record] = []
    clock = Clock()
    lock = Lockout(records.append, clock)
    times = []
    for _ in range(12):
        lock.failed("10.0.0.1")
        times.append(left(lock))
        clock.seconds += times[-1]
        assert left(lock) == 0.0
    assert times == [0, 0, 0, 0, 1, 2, 4, 8, 16, 32, 60, 60]
    assert [each.what for each in records] == ["lock-out"] * 8
    assert records[0].reason == "5 wrong tokens; refused for 1 s"
    assert {each.origin for each in records} == {"10.0.0.1"}
    assert left(lock, "10.0.0.2") == 0.0


@pytest.mark.remuda_rule("EXT-29")
def test_wrong_tokens_are_forgotten_a_minute_after_the_last() -> None:
    clock = Clock()
    lock = Lockout(now=clock)
    for _ in range(9):
        lock.failed("10.0.0.1")
        clock.seconds += 1
    clock.seconds += 16 + 61
    for _ in range(4):
        lock.failed("10.0.0.1")
    assert left(lock) == 0.0
    lock.failed("10.0.0.1")
    assert left(lock) == 1.0


@pytest.mark.remuda_rule("EXT-29")
def test_a_token_that_the_address_showed_before_is_let_in_and_no_other() -> None:
    lock = Lockout(now=Clock())
    lock.succeeded("10.0.0.1", TOKEN)
    lock.succeeded("10.0.0.2", OTHER)
    for _ in range(5):
        lock.failed("10.0.0.1")
    assert left(lock, mark=TOKEN) == 0.0
    assert left(lock, mark=OTHER) == 1.0


@pytest.mark.remuda_rule("EXT-29")
def test_what_is_remembered_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lockout, "ADDRESSES", 3)
    monkeypatch.setattr(lockout, "SHOWN", 2)
    lock = Lockout(now=Clock())
    for address in ("a", "b", "c", "d"):
        lock.succeeded(address, TOKEN)
        for _ in range(5):
            lock.failed(address)
    # The oldest address and the oldest tokens were forgotten.
    assert [left(lock, each, OTHER) for each in "abcd"] == [0.0, 1.0, 1.0, 1.0]
    assert [left(lock, each) for each in "bcd"] == [1.0, 0.0, 0.0]
