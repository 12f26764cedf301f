"""The queue into the core thread is ordered, bounded and never loses an entry."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable

import pytest

from remuda.core.messages.commands import NewApplication, UpdateApplications
from remuda.runtime.errors import LoopStoppedError
from remuda.runtime.inbox import Inbox
from remuda.runtime.requests import effort, joined, parts_of


class Word(str):
    """An entry, of the RM that is its first word if it has two."""

    __slots__ = ()

    @property
    def rm_id(self) -> str:
        """The RM in whose queue it waits."""
        return self.partition(" ")[0] if " " in self else "rm"


class Errand(Word):
    """An entry of no RM."""

    __slots__ = ()

    @property
    def rm_id(self) -> str:
        """None."""
        return ""


def test_entries_come_out_in_the_order_they_went_in() -> None:
    inbox: Inbox[Word] = Inbox()
    for letter in "abcde":
        inbox.put(Word(letter))
    assert list(inbox.take(100, 0)) == ["a", "b", "c", "d", "e"]
    assert inbox.empty()


def test_one_take_is_bounded_by_weight_but_never_empty_handed() -> None:
    inbox: Inbox[Word] = Inbox()
    inbox.put(Word("heavy"), 1_000)
    inbox.put(Word("light"), 1)
    inbox.put(Word("last"), 1)
    assert list(inbox.take(10, 0)) == ["heavy"]
    assert list(inbox.take(2, 0)) == ["light", "last"]
    assert list(inbox.take(10, 0)) == []


@pytest.mark.remuda_rule("SI-6", "CYC-2")
def test_a_full_inbox_blocks_the_sender_until_there_is_room() -> None:
    inbox: Inbox[Word] = Inbox(capacity=2)
    inbox.put(Word("first"), 2)
    passed = threading.Event()

    def send() -> None:
        inbox.put(Word("second"))
        passed.set()

    sender = threading.Thread(target=send)
    sender.start()
    assert not passed.wait(0.05)
    assert list(inbox.take(10, 0)) == ["first"]
    sender.join(10)
    assert passed.is_set()
    assert list(inbox.take(10, 0)) == ["second"]


def test_offer_says_no_instead_of_waiting() -> None:
    inbox: Inbox[Word] = Inbox(capacity=1)
    assert inbox.offer(Word("first"))
    assert not inbox.offer(Word("second"))
    inbox.put_now(Word("beyond the bound"))
    assert list(inbox.take(10, 0)) == ["first", "beyond the bound"]


def test_an_entry_larger_than_the_inbox_still_gets_through() -> None:
    inbox: Inbox[Word] = Inbox(capacity=2)
    assert inbox.offer(Word("huge"), 100)
    assert list(inbox.take(1, 0)) == ["huge"]
    assert inbox.offer(Word("next"))


def test_take_waits_for_an_entry() -> None:
    inbox: Inbox[Word] = Inbox()
    timer = threading.Timer(0.02, inbox.put, (Word("late"),))
    timer.start()
    assert list(inbox.take(1, 10)) == ["late"]
    timer.join()


def test_closing_wakes_whoever_waits_and_refuses_the_rest() -> None:
    inbox: Inbox[Word] = Inbox(capacity=1)
    inbox.put(Word("kept"))
    errors: list[str] = []

    def send() -> None:
        try:
            inbox.put(Word("refused"))
        except LoopStoppedError as error:
            errors.append(str(error))

    sender = threading.Thread(target=send)
    sender.start()
    inbox.close("over")
    sender.join(10)
    assert errors == ["over"]
    with pytest.raises(LoopStoppedError, match="over"):
        inbox.offer(Word("refused too"))
    assert inbox.leftovers() == ["kept"]


def test_what_is_offered_gathers_while_the_receiver_rests() -> None:
    inbox: Inbox[Word] = Inbox()
    rested = threading.Event()

    def receive() -> None:
        inbox.rest(60, enough=3)
        rested.set()

    receiver = threading.Thread(target=receive)
    receiver.start()
    inbox.offer(Word("one"))
    inbox.offer(Word("two"))
    assert not rested.wait(0.05)
    inbox.offer(Word("three"))
    receiver.join(10)
    assert list(inbox.take(10, 0)) == ["one", "two", "three"]


@pytest.mark.parametrize("end", [Inbox.put, Inbox.put_now, Inbox.close])
def test_a_rest_ends_with_what_is_in_a_hurry(end: Callable[[Inbox[Word], Word], None]) -> None:
    inbox: Inbox[Word] = Inbox()
    receiver = threading.Thread(target=inbox.rest, args=(60, 1_000))
    receiver.start()
    inbox.offer(Word("patient"))
    end(inbox, Word("urgent"))
    receiver.join(10)
    assert not receiver.is_alive()
    assert inbox.take(1, 0)[0] == "patient"


def test_there_is_no_rest_while_something_urgent_waits() -> None:
    inbox: Inbox[Word] = Inbox()
    inbox.put(Word("urgent"))
    inbox.rest(60, enough=1_000)
    assert list(inbox.take(10, 0)) == ["urgent"]


def test_a_rest_is_over_when_its_time_is() -> None:
    inbox: Inbox[Word] = Inbox()
    inbox.offer(Word("patient"))
    inbox.rest(0.001, enough=1_000)
    assert list(inbox.take(10, 0)) == ["patient"]


def fill(inbox: Inbox[Word], rm_id: str, count: int, weight: int = 1) -> None:
    """Hand over so many entries of an RM."""
    for number in range(count):
        inbox.put_now(Word(f"{rm_id} {number}"), weight)


@pytest.mark.remuda_rule("SI-2")
def test_who_sends_little_does_not_wait_for_who_sends_much() -> None:
    inbox: Inbox[Word] = Inbox()
    fill(inbox, "noisy", 10_000)
    fill(inbox, "calm", 2)
    first = list(inbox.take(1_024, 0))
    assert [each for each in first if each.rm_id == "calm"] == ["calm 0", "calm 1"]
    noisy = [each for each in first if each.rm_id == "noisy"]
    while not inbox.empty():
        noisy += inbox.take(1_024, 0)
    assert noisy == [f"noisy {number}" for number in range(10_000)]


def test_rms_are_served_alike_however_large_their_entries_are() -> None:
    inbox: Inbox[Word] = Inbox()
    fill(inbox, "small", 40_000)
    fill(inbox, "large", 400, weight=100)
    served = {"small": 0, "large": 0}
    for _ in range(20):
        for entry in inbox.take(1_024, 0):
            served[entry.rm_id] += 100 if entry.rm_id == "large" else 1
    assert served["small"] == pytest.approx(served["large"], rel=0.1)


@pytest.mark.remuda_rule("SI-6")
def test_the_queue_of_an_rm_may_be_full_while_another_has_room() -> None:
    inbox: Inbox[Word] = Inbox(capacity=400)
    fill(inbox, "noisy", 100)
    assert not inbox.offer(Word("noisy more"))
    waiter = inbox.room("noisy")
    assert waiter is not None
    assert inbox.room("calm") is None
    assert inbox.offer(Word("calm 0"))
    inbox.take(1, 0)
    assert waiter.done()
    assert inbox.offer(Word("noisy more"))


def test_an_entry_of_no_rm_comes_after_all_that_was_there_before_it() -> None:
    inbox: Inbox[Word] = Inbox()
    fill(inbox, "a", 300)
    fill(inbox, "b", 300)
    inbox.put(Errand("question"))
    fill(inbox, "a", 1_000)
    fill(inbox, "b", 1_000)
    taken: list[Word] = []
    while not inbox.empty():
        taken += inbox.take(50, 0)
    assert len(taken) == 2_601
    before = taken[: taken.index(Errand("question"))]
    assert {f"{rm} {number}" for rm in "ab" for number in range(300)} <= set(before)
    # What came after it did not wait for it without end.
    assert len(before) < 1_500


def test_a_large_entry_is_paid_for_by_later_turns() -> None:
    inbox: Inbox[Word] = Inbox()
    for number in range(3):
        inbox.put_now(Word(f"noisy {number}"), 5_000)
    fill(inbox, "calm", 2_000)
    taken: list[Word] = []
    while not inbox.empty():
        taken += inbox.take(1, 0)
    at = [taken.index(Word(f"noisy {number}")) for number in range(3)]
    assert at[0] < 300
    assert 2_000 <= at[1] < at[2]


@pytest.mark.remuda_rule("SI-2", "SI-6")
def test_a_turn_counts_effort_and_the_capacity_elements() -> None:
    def cut(entry: Word, weight: int) -> list[tuple[Word, int, int]]:
        return [(Word(f"{entry}{part}"), 2, 100) for part in range(weight // 2)]

    inbox: Inbox[Word] = Inbox(200, cut)
    inbox.put(Word("hard "), 20)
    # 1,000 of effort are 20 elements, so others have room.
    assert inbox.room("easy") is None
    assert inbox.offer(Word("easy "), 2)
    assert inbox.take(300, 0) == deque(["hard 0", "hard 1", "hard 2"])
    assert inbox.taken == 300
    assert "easy 0" in inbox.take(300, 0)


@pytest.mark.remuda_rule("SI-2")
@pytest.mark.parametrize("groups", [0, 3, 200])
def test_applications_of_users_in_many_groups_are_handled_a_few_at_a_time(groups: int) -> None:
    """A placement filter looks at the user and at each group of an application."""
    names = tuple([f"g{number}" for number in range(groups)])
    new = tuple([NewApplication(f"a{number}", groups=names) for number in range(400)])
    request = UpdateApplications("rm", new)
    parts = parts_of(request)
    assert joined(parts) == request
    seen = [len(part.new) * (1 + groups) for part in parts]
    assert max(seen) <= max(16, 1 + groups)
    assert sum(seen) == 400 * (1 + groups)
    assert {effort(part) for part in parts[:-1]} == {1 + 16 * seen[0]}
