"""Questions whose answers may be large, and answers that are made while they are read.

Building 100,000 views takes most of a second, in which nothing would be scheduled. So the core
only notes what may change later and hands out rows; whoever reads them, on a thread of its own,
makes each view then. What is read is the moment of the question, however late that is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Generic, TypeVar, final, overload

from remuda.base.message import message

T = TypeVar("T")


@message
class NodeRowsQuery:
    """The nodes of one partition -> Rows[NodeView], or None if it is unknown.

    They are by ID, as those of a NodesQuery.
    """

    partition: str
    rm_id: str = ""


@message
class ApplicationRowsQuery:
    """The live applications of one queue, or of all -> Rows[ApplicationView], by ID.

    As an ApplicationsQuery, but in each view ``requests`` and ``allocations`` may be rows, too.
    """

    partition: str
    queue: str = ""
    rm_id: str = ""


@message
class PartitionRowsQuery:
    """All of one partition at one moment -> PartitionRows, or None if it is unknown.

    Cheaper than the questions it stands for: what nodes and applications share is noted once.
    """

    partition: str
    rm_id: str = ""


@final
class Rows(Sequence[T], Generic[T]):
    """Views of one moment, each made anew whenever it is read. Any thread may read.

    Args:
        count: how many there are.
        make: makes one, by its place.
    """

    __slots__ = ("_count", "_make")

    def __init__(self, count: int, make: Callable[[int], T]) -> None:
        self._count = count
        self._make = make

    def __len__(self) -> int:
        """Return how many there are."""
        return self._count

    @overload
    def __getitem__(self, place: int) -> T: ...

    @overload
    def __getitem__(self, place: slice) -> Rows[T]: ...

    def __getitem__(self, place: int | slice) -> T | Rows[T]:
        """Return one of them, or some of them, not made yet."""
        if isinstance(place, slice):
            chosen = range(self._count)[place]
            make = self._make
            return Rows(len(chosen), lambda number: make(chosen[number]))
        return self._make(range(self._count)[place])

    def __iter__(self) -> Iterator[T]:
        """Make one after the other."""
        return map(self._make, range(self._count))
