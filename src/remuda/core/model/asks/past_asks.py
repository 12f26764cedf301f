"""Remembers asks that ended: nothing is pending and no allocation is left.

The RM may use the key of such an ask again, and the allocations of a key are counted over its whole
life (SI-34). A long-lived application may have had millions of asks. So each is kept as a row of
five numbers, and only the latest asks of a partition are kept. The rows are in two tables. When the
younger table is full, the older one is dropped with its keys.
"""

from __future__ import annotations

from array import array
from hashlib import blake2b
from typing import Final, final

# An ask is kept until at least so many others ended after it, and at most twice as many.
REMEMBERED: Final = 32_768

# The columns of a row: hash of the key, arrival number, time of creation, count, next identity.
_WIDTH: Final = 5
_MARK: Final = 0
_ARRIVAL: Final = 1
_CREATED: Final = 2
_COUNT: Final = 3
_NEXT: Final = 4

# The count of a row that is not valid any more; other counts hold the allocations made and two
# flags.
_VOID: Final = -1
_ATTEMPTED: Final = 1
_REPORTED: Final = 2
_FLAGS: Final = 2

_FIRST_SLOTS: Final = 64

# Rows are allocated in pieces of so many, so that memory grows with the rows.
_PIECE: Final = 512


@final
class PastAsk:
    """The record of an ask that ended. Rules: SI-33, SI-34, SI-35.

    ``number`` and ``created_ns`` give its age (QUE-44); ``next_identity`` is the least number that
    no allocation of the key had. ``attempted``, ``reported``: see Request.
    """

    __slots__ = ("attempted", "created_ns", "made", "next_identity", "number", "reported")

    def __init__(
        self,
        number: int,
        created_ns: int,
        made: int,
        next_identity: int,
        *,
        attempted: bool,
        reported: bool,
    ) -> None:
        self.number = number
        self.created_ns = created_ns
        self.made = made
        self.next_identity = next_identity
        self.attempted = attempted
        self.reported = reported


@final
class Table:
    """Rows in the order in which they were added, with a hash index.

    ``base``: how many rows were added to earlier tables. ``slots``: the hash index, with the number
    of a row plus 1, 0 for an empty slot. ``highest``: the highest next identity in the table.
    ``newest``: the arrival number of the newest application when the table was closed.
    Rules: SI-34.
    """

    __slots__ = ("base", "count", "highest", "newest", "pieces", "slots")

    def __init__(self, base: int) -> None:
        self.base = base
        self.count: int = 0
        self.highest: int = 0
        self.newest: int = 0
        self.pieces: list[array[int]] = []
        self.slots = array("i", bytes(4 * _FIRST_SLOTS))

    def add(self, mark: int, row: tuple[int, int, int, int]) -> None:
        """Add a row. Cost: O(1) amortised."""
        if 3 * (self.count + 1) > 2 * len(self.slots):
            self._grow()
        if self.count % _PIECE == 0:
            self.pieces.append(array("q", bytes(8 * _WIDTH * _PIECE)))
        piece, start = self.row(self.count)
        piece[start + _MARK] = mark
        for column, number in enumerate(row, 1):
            piece[start + column] = number
        self.count += 1
        self._point(mark, self.count)
        self.highest = max(self.highest, row[_NEXT - 1])

    def row(self, number: int) -> tuple[array[int], int]:
        """Return the piece that has a row, and the index in it where the row begins."""
        return self.pieces[number // _PIECE], number % _PIECE * _WIDTH

    def find(self, mark: int, oldest: int) -> int:
        """Return the number of the valid row with a hash, -1 if there is none.

        ``oldest``: rows before that place are ignored.
        """
        slots = self.slots
        mask = len(slots) - 1
        slot = mark & mask
        while (place := slots[slot]) != 0:
            piece, start = self.row(place - 1)
            known = piece[start + _MARK] == mark and piece[start + _COUNT] != _VOID
            if known and self.base + place >= oldest:
                return place - 1
            slot = (slot + 1) & mask
        return -1

    def _point(self, mark: int, place: int) -> None:
        slots = self.slots
        mask = len(slots) - 1
        slot = mark & mask
        while slots[slot] != 0:
            slot = (slot + 1) & mask
        slots[slot] = place

    def _grow(self) -> None:
        self.slots = array("i", bytes(8 * len(self.slots)))
        for number in range(self.count):
            piece, start = self.row(number)
            self._point(piece[start + _MARK], number + 1)


@final
class PastAsks:
    """The latest asks of a partition that ended. Rules: SI-34, SI-35.

    ``total``: how many asks ever ended. ``floor``: identities with lower numbers may belong to
    forgotten keys; ``newest``: the arrival number of the newest application that may have such a
    key. ``remembered``: see REMEMBERED.
    """

    __slots__ = ("_old", "_young", "floor", "newest", "remembered", "total")

    def __init__(self, remembered: int = REMEMBERED) -> None:
        self.remembered = remembered
        self.total: int = 0
        self.floor: int = 0
        self.newest: int = 0
        self._old = Table(0)
        self._young = Table(0)

    def put(self, application: int, key: str, past: PastAsk, newest: int) -> int:
        """Add an ask that ended, and return its place among all that ever ended.

        ``application``: the number of its application, ``newest`` the latest arrival number.
        """
        if self._young.count >= self.remembered:
            self._turn_over(newest)
        flags = _ATTEMPTED * past.attempted + _REPORTED * past.reported
        count = (past.made << _FLAGS) + flags
        row = (past.number, past.created_ns, count, past.next_identity)
        self._young.add(_mark(application, key), row)
        self.total += 1
        return self.total

    def take(self, application: int, key: str, oldest: int) -> PastAsk | None:
        """Remove and return the record of an ask that ended, None if it is not known.

        ``oldest``: asks before that place are ignored.
        """
        mark = _mark(application, key)
        for table in (self._young, self._old):
            number = table.find(mark, oldest)
            if number >= 0:
                piece, start = table.row(number)
                count = piece[start + _COUNT]
                piece[start + _COUNT] = _VOID
                return PastAsk(
                    piece[start + _ARRIVAL],
                    piece[start + _CREATED],
                    count >> _FLAGS,
                    piece[start + _NEXT],
                    attempted=count & _ATTEMPTED > 0,
                    reported=count & _REPORTED > 0,
                )
        return None

    def knows(self, last: int) -> bool:
        """Whether the ask at a place is still known; place 0 means no ask."""
        return last > self._old.base

    def first_identity(self, application: int) -> int:
        """Return the least number for the identities of a forgotten or new key. Rules: SI-35.

        It is 0 unless the application may have had the key before.
        """
        return self.floor if application <= self.newest else 0

    def _turn_over(self, newest: int) -> None:
        """Drop the older table; the younger one becomes the older one."""
        gone = self._old
        self.floor = max(self.floor, gone.highest)
        self.newest = max(self.newest, gone.newest)
        self._young.newest = newest
        self._old = self._young
        self._young = Table(self.total)


def _mark(application: int, key: str) -> int:
    """Return a 64-bit hash of a key of an application, the same in every run."""
    text = f"{application}/{key}".encode("utf-8", "surrogatepass")
    digest = blake2b(text, digest_size=8, usedforsecurity=False).digest()
    return int.from_bytes(digest, "little", signed=True)
