"""What waits in the inbox for the core thread: requests, and errands among them."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future
from typing import TypeAlias

from remuda.core.messages.queries import Query
from remuda.core.messages.rows import ApplicationRowsQuery, NodeRowsQuery, PartitionRowsQuery
from remuda.runtime.errand import Errand
from remuda.runtime.pace import MOST
from remuda.runtime.requests import Request, effort, parts_of, weight

Entry: TypeAlias = Request | Errand[object]


def cut(entry: Entry, heft: int) -> Sequence[tuple[Entry, int, int]]:
    """Cut a request that takes longer than a batch into parts, with their weights and efforts."""
    if isinstance(entry, Errand):
        return ((entry, heft, heft),)
    own = effort(entry)
    if own <= MOST + 1:
        return ((entry, heft, own),)
    return [(part, weight(part), effort(part)) for part in parts_of(entry)]


def is_large(query: Query) -> bool:
    """Whether a question is about all nodes, all applications, or a whole partition."""
    if isinstance(query, ApplicationRowsQuery):
        return not query.queue
    return isinstance(query, NodeRowsQuery | PartitionRowsQuery)


def nothing() -> None:
    """Do nothing: for an errand that only has its turn."""


def pass_error(waiter: Future[None], errand: Future[None]) -> None:
    """Let ``waiter`` fail if the errand that should have queued it was given up."""
    if (error := errand.exception()) is not None:
        waiter.set_exception(error)
