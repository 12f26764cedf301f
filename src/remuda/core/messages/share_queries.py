"""What each queue uses, what it is guaranteed, and what it is owed (rules: EXT-60)."""

from __future__ import annotations

from remuda.base.message import message
from remuda.base.resources import Resource
from remuda.core.messages.trace_queries import ShareTermView

# Queues in one answer: some milliseconds of the core.
PORTION = 100


@message
class FairSharesQuery:
    """Queues of a partition, by path -> tuple[FairShareView, ...], PORTION at most.

    Those after the path ``after``; "": from the first. ``queue``: only the queue with that path;
    "": all. None: no such partition. An empty answer: there are no more.
    """

    partition: str
    after: str = ""
    queue: str = ""
    rm_id: str = ""


@message
class FairShareView:
    """The share of one queue, and what it is owed (EXT-60).

    ``maximum`` and ``guaranteed`` None: it has none. ``share``: by which its parent compares it
    with other queues, the largest of ``terms`` (RES-52). ``priority``: what its parent sees.
    ``owed``: by type, the part of its guarantee that is missing for asks that wait now.
    """

    path: str
    leaf: bool
    allocated: Resource
    pending: Resource
    guaranteed: Resource | None
    maximum: Resource | None
    share: float
    terms: tuple[ShareTermView, ...]
    priority: int
    owed: Resource
