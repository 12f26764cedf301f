"""The open questions of the core to an RM over a session.

Every call has a time budget; a later answer is ignored (EXT-17). A call belongs to one stream: when
that breaks, all its calls end (EXT-10).
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from typing import Final, Generic, TypeVar

from remuda.base.message import message

T = TypeVar("T")

# Overdue calls in a row after which an RM counts as not answering (EXT-17).
OVERDUE_LIMIT: Final = 10

_NEVER_NS: Final = 2**63 - 1


@message
class Call(Generic[T]):
    """An open question. ``number``: of the frame that asks. ``due_ns``: when its budget ends.

    ``what``: the owner's data about the question.
    """

    call_id: int
    number: int
    due_ns: int
    what: T


class CallLoad:
    """The load of an RM by open calls, in all tables that share this.

    ``limit``: calls in flight, ``in_flight``: how many there are. ``overdue_in_a_row``: calls
    without answer since the last answer. Rules: EXT-6, EXT-17.
    """

    __slots__ = ("in_flight", "limit", "overdue_in_a_row")

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.in_flight = 0
        self.overdue_in_a_row = 0

    def full(self) -> bool:
        """Whether another call has to wait for its turn. Rules: EXT-6."""
        return self.in_flight >= self.limit

    def deaf(self) -> bool:
        """Whether the RM left so many calls in a row unanswered that it must be paused. EXT-17."""
        return self.overdue_in_a_row >= OVERDUE_LIMIT


class CallTable(Generic[T]):
    """The calls of one kind in flight of one session, by ID.

    ``load``: what they count for, maybe with those of other kinds. ``ids``: where IDs come from.
    All kinds of calls of a session share it, because a cancellation names nothing else; they rise
    and are never used again.
    Rules: EXT-5, EXT-6, EXT-10, EXT-17.
    """

    def __init__(self, load: CallLoad, ids: Iterator[int] | None = None) -> None:
        self.load = load
        self._calls: dict[int, Call[T]] = {}
        self._ids = count(1) if ids is None else ids

    def __len__(self) -> int:
        return len(self._calls)

    def __iter__(self) -> Iterator[Call[T]]:
        return iter(self._calls.values())

    def next_id(self) -> int:
        """Return the ID of the next call."""
        return next(self._ids)

    def put(self, call: Call[T]) -> None:
        """Add a call that was sent."""
        self._calls[call.call_id] = call
        self.load.in_flight += 1

    def answered(self, call_id: int) -> Call[T] | None:
        """End and return the call of an answer; None if it ended already.

        Rules: EXT-5, EXT-17.
        """
        call = self._calls.pop(call_id, None)
        if call is not None:
            self.load.in_flight -= 1
            self.load.overdue_in_a_row = 0
        return call

    def arrived(self, call_id: int) -> None:
        """Note that the answer arrived and waits for its turn, so the call is not overdue."""
        call = self._calls.get(call_id)
        if call is not None:
            self._calls[call_id] = Call(call.call_id, call.number, _NEVER_NS, call.what)

    def peek(self, call_id: int) -> Call[T] | None:
        """Return a call in flight and leave it there; an answer may come in pieces."""
        return self._calls.get(call_id)

    def overdue(self, now_ns: int) -> list[Call[T]]:
        """End and return the calls whose budget has run out, oldest first. Implements: EXT-17."""
        late = [call for call in self._calls.values() if call.due_ns <= now_ns]
        for call in late:
            del self._calls[call.call_id]
        self.load.in_flight -= len(late)
        self.load.overdue_in_a_row += len(late)
        return late

    def drop(self) -> list[Call[T]]:
        """End and return all calls: their stream is over. Rules: EXT-10."""
        calls = list(self._calls.values())
        self._calls.clear()
        self.load.in_flight -= len(calls)
        self.load.overdue_in_a_row = 0
        return calls

    def due_ns(self) -> int | None:
        """Return when the next call is overdue, None if there is none."""
        return min((call.due_ns for call in self._calls.values()), default=None)
