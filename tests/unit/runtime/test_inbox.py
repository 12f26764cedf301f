"""The queue into the core thread is ordered, bounded and never loses an entry."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

from remuda.runtime.errors import LoopStoppedError
from remuda.runtime.inbox import Inbox


def test_entries_come_out_in_the_order_they_went_in() -> None:
    inbox: Inbox[int] = Inbox()
    for number in range(5):
        inbox.put(number)
    assert list(inbox.take(100, 0)) == [0, 1, 2, 3, 4]
    assert inbox.empty()


def test_one_take_is_bounded_by_weight_but_never_empty_handed() -> None:
    inbox: Inbox[str] = Inbox()
    inbox.put("heavy", 1_000)
    inbox.put("light", 1)
    inbox.put("last", 1)
    assert list(inbox.take(10, 0)) == ["heavy"]
    assert list(inbox.take(2, 0)) == ["light", "last"]
    assert list(inbox.take(10, 0)) == []


@pytest.mark.remuda_rule("SI-6", "CYC-2")
def test_a_full_inbox_blocks_the_sender_until_there_is_room() -> None:
    inbox: Inbox[str] = Inbox(capacity=2)
    inbox.put("first", 2)
    passed = threading.Event()

    def send() -> None:
        inbox.put("second")
        passed.set()

    sender = threading.Thread(target=send)
    sender.start()
    assert not passed.wait(0.05)
    assert list(inbox.take(10, 0)) == ["first"]
    sender.join(10)
    assert passed.is_set()
    assert list(inbox.take(10, 0)) == ["second"]


def test_offer_says_no_instead_of_waiting() -> None:
    inbox: Inbox[str] = Inbox(capacity=1)
    assert inbox.offer("first")
    assert not inbox.offer("second")
    inbox.put_now("beyond the bound")
    assert list(inbox.take(10, 0)) == ["first", "beyond the bound"]


def test_an_entry_larger_than_the_inbox_still_gets_through() -> None:
    inbox: Inbox[str] = Inbox(capacity=2)
    assert inbox.offer("huge", 100)
    assert list(inbox.take(1, 0)) == ["huge"]
    assert inbox.offer("next")


def test_take_waits_for_an_entry() -> None:
    inbox: Inbox[str] = Inbox()
    timer = threading.Timer(0.02, inbox.put, ("late",))
    timer.start()
    assert list(inbox.take(1, 10)) == ["late"]
    timer.join()


def test_closing_wakes_whoever_waits_and_refuses_the_rest() -> None:
    inbox: Inbox[str] = Inbox(capacity=1)
    inbox.put("kept")
    errors: list[str] = []

    def send() -> None:
        try:
            inbox.put("refused")
        except LoopStoppedError as error:
            errors.append(str(error))

    sender = threading.Thread(target=send)
    sender.start()
    inbox.close("over")
    sender.join(10)
    assert errors == ["over"]
    with pytest.raises(LoopStoppedError, match="over"):
        inbox.offer("refused too")
    assert inbox.leftovers() == ["kept"]


def test_what_is_offered_gathers_while_the_receiver_rests() -> None:
    inbox: Inbox[str] = Inbox()
    rested = threading.Event()

    def receive() -> None:
        inbox.rest(60, enough=3)
        rested.set()

    receiver = threading.Thread(target=receive)
    receiver.start()
    inbox.offer("one")
    inbox.offer("two")
    assert not rested.wait(0.05)
    inbox.offer("three")
    receiver.join(10)
    assert list(inbox.take(10, 0)) == ["one", "two", "three"]


@pytest.mark.parametrize("end", [Inbox.put, Inbox.put_now, Inbox.close])
def test_a_rest_ends_with_what_is_in_a_hurry(end: Callable[[Inbox[str], str], None]) -> None:
    inbox: Inbox[str] = Inbox()
    receiver = threading.Thread(target=inbox.rest, args=(60, 1_000))
    receiver.start()
    inbox.offer("patient")
    end(inbox, "urgent")
    receiver.join(10)
    assert not receiver.is_alive()
    assert inbox.take(1, 0)[0] == "patient"


def test_there_is_no_rest_while_something_urgent_waits() -> None:
    inbox: Inbox[str] = Inbox()
    inbox.put("urgent")
    inbox.rest(60, enough=1_000)
    assert list(inbox.take(10, 0)) == ["urgent"]


def test_a_rest_is_over_when_its_time_is() -> None:
    inbox: Inbox[str] = Inbox()
    inbox.offer("patient")
    inbox.rest(0.001, enough=1_000)
    assert list(inbox.take(10, 0)) == ["patient"]
