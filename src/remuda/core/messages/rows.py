"""Questions whose answers may be large, and answers that are made while they are read.

Building 100,000 views takes most of a second, and nothing would be scheduled meanwhile. So the core
copies only the values that may change, and returns rows. The reader's thread makes each view when
it reads it. Every view shows the moment of the question, however late it is read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Generic, TypeVar, final, overload

from remuda.base.message import message

T = TypeVar("T")


@message
class NodeRowsQuery:
    """The nodes of one partition -> Rows[NodeView], or None if it is unknown.

    They are sorted by ID, as in the answer to a NodesQuery.
    """

    partition: str
    rm_id: str = ""


@message
class ApplicationRowsQuery:
    """The live applications of one queue, or of all -> Rows[ApplicationView], by ID.

    Like an ApplicationsQuery, but ``requests`` and ``allocations`` of each view may be rows too.
    """

    partition: str
    queue: str = ""
    rm_id: str = ""


@message
class PartitionRowsQuery:
    """All of one partition at one moment -> PartitionRows, or None if it is unknown.

    Cheaper than the separate questions, because facts of nodes and applications are copied once.
    """

    partition: str
    rm_id: str = ""


@final
class WaitingAsks(Generic[T]):
    """The waiting asks of an application at one moment, too many to copy the values of each.

    The list is that of the moment. The values of each ask are queried in portions while they are
    read, with an AskPortionQuery; asks that no longer wait are left out then.

    Args: asks: an opaque reference to each ask, in no order; an ask may no longer wait when it is
        read. key: returns the allocation key of an ask. Any thread. rank: returns the sort key of
        an ask in the order they are served. Any thread. note: returns the values of some asks. Core
        thread. reserved: (node ID, allocation key) of each of their reservations.

    Rules: REST-77, REST-144.
    """

    __slots__ = ("asks", "key", "note", "rank", "reserved")

    def __init__(
        self,
        asks: Sequence[object],
        key: Callable[[object], str],
        rank: Callable[[object], tuple[object, ...]],
        note: Callable[[Sequence[object]], Rows[T]],
        reserved: tuple[tuple[str, str], ...],
    ) -> None:
        self.asks = asks
        self.key = key
        self.rank = rank
        self.note = note
        self.reserved = reserved


@final
class Rows(Sequence[T], Generic[T]):
    """Views of one moment; each is made anew whenever it is read. Any thread may read.

    Args: count: the number of views. make: makes the view at a place. key: None: the views are
    sorted. Otherwise there are too many to sort, and the reader sorts them by what this returns for
    each place, a few at a time.
    """

    __slots__ = ("_count", "_make", "key")

    def __init__(
        self, count: int, make: Callable[[int], T], key: Callable[[int], str] | None = None
    ) -> None:
        self._count = count
        self._make = make
        self.key = key

    def __len__(self) -> int:
        """Return the number of views."""
        return self._count

    @overload
    def __getitem__(self, place: int) -> T: ...

    @overload
    def __getitem__(self, place: slice) -> Rows[T]: ...

    def __getitem__(self, place: int | slice) -> T | Rows[T]:
        """Return one view, or rows of some views that are not made yet."""
        if isinstance(place, slice):
            chosen = range(self._count)[place]
            make = self._make
            return Rows(len(chosen), lambda number: make(chosen[number]))
        return self._make(range(self._count)[place])

    def __iter__(self) -> Iterator[T]:
        """Make one after the other."""
        return map(self._make, range(self._count))


def rows(kind: type[T], found: object) -> list[T]:
    """Return the views of one kind in the answer to a query that is a list, all of them made.

    A query is answered with a ``View``, which may be a list of any kind; the caller knows which.
    Rules: DMP-15.
    """
    assert isinstance(found, tuple | Rows)
    return [view for view in found if isinstance(view, kind)]
