"""What each path answers: one table of routes over read-only questions to the core.

A handler asks one view and dresses it; it raises ApiError for what the catalogue names. The
order of checks is partition, syntax of the queue path, queue (REST-14).
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import Future
from typing import Final, Protocol, TypeAlias

from remuda.base.message import message
from remuda.core.messages.queries import (
    ApplicationsQuery,
    ApplicationView,
    NodesQuery,
    NodeView,
    PartitionsQuery,
    PartitionView,
    Query,
    QueuesQuery,
    QueueView,
    UnknownQueue,
    View,
)
from remuda.edges.rest import dao
from remuda.edges.rest.errors import (
    PARTITION_NOT_FOUND,
    QUEUE_NOT_FOUND,
    ApiError,
    check_queue_path,
)


class Views(Protocol):
    """Whoever answers read-only questions; SchedulerLoop in production."""

    def query(self, query: Query) -> Future[View]:
        """Return the future answer to a question."""
        ...


@message
class Asked:
    """One request: decoded path parameters and the first value of each query key (REST-10)."""

    path: Mapping[str, str]
    options: Mapping[str, str]

    @property
    def partition(self) -> str:
        """The partition's name."""
        return self.path["partition"]

    @property
    def rm_id(self) -> str:
        """Which RM's partition is meant; empty: the first by RM ID (REST-21)."""
        return self.options.get("rm", "")


Handler: TypeAlias = Callable[[Views, Asked], Awaitable[object]]


async def _ask(views: Views, query: Query) -> View:
    return await asyncio.wrap_future(views.query(query))


async def partitions(views: Views, _: Asked) -> object:
    """All partitions (REST-28)."""
    return [dao.partition(view) for view in await _partitions(views)]


async def queues(views: Views, asked: Asked) -> object:
    """The root queue with the whole tree (REST-29, REST-72)."""
    return dao.queue(await _root(views, asked), subtree=True)


async def queue(views: Views, asked: Asked) -> object:
    """One queue; its children if the query has a key ``subtree`` (REST-30, REST-73)."""
    path = asked.path["queue"]
    root = await _root(views, asked)
    check_queue_path(path)
    found = _find(root, path.lower())
    if found is None:
        raise ApiError(404, QUEUE_NOT_FOUND)
    return dao.queue(found, subtree="subtree" in asked.options)


async def nodes(views: Views, asked: Asked) -> object:
    """All nodes of a partition (REST-31)."""
    found = await _ask(views, NodesQuery(asked.partition, asked.rm_id))
    if found is None:
        raise ApiError(404, PARTITION_NOT_FOUND)
    assert isinstance(found, tuple)
    return [dao.node(view) for view in found if isinstance(view, NodeView)]


async def applications(views: Views, asked: Asked) -> object:
    """The active applications of one queue, none for a parent (REST-33, REST-76)."""
    path = asked.path["queue"]
    try:
        check_queue_path(path)
    except ApiError:
        await _require_partition(views, asked)
        raise
    query = ApplicationsQuery(asked.partition, path.lower(), asked.rm_id)
    found = await _ask(views, query)
    if found is None:
        raise ApiError(404, PARTITION_NOT_FOUND)
    if isinstance(found, UnknownQueue):
        raise ApiError(404, QUEUE_NOT_FOUND)
    assert isinstance(found, tuple)
    return [dao.application(view) for view in found if isinstance(view, ApplicationView)]


ROUTES: Final[Mapping[str, Handler]] = {
    "/ws/v1/partitions": partitions,
    "/ws/v1/partition/{partition}/queues": queues,
    "/ws/v1/partition/{partition}/queue/{queue}": queue,
    "/ws/v1/partition/{partition}/nodes": nodes,
    "/ws/v1/partition/{partition}/queue/{queue}/applications": applications,
}


async def _partitions(views: Views) -> list[PartitionView]:
    found = await _ask(views, PartitionsQuery())
    assert isinstance(found, tuple)
    return [view for view in found if isinstance(view, PartitionView)]


async def _require_partition(views: Views, asked: Asked) -> None:
    for view in await _partitions(views):
        if view.name == asked.partition and asked.rm_id in ("", view.rm_id):
            return
    raise ApiError(404, PARTITION_NOT_FOUND)


async def _root(views: Views, asked: Asked) -> QueueView:
    found = await _ask(views, QueuesQuery(asked.partition, asked.rm_id))
    if found is None:
        raise ApiError(404, PARTITION_NOT_FOUND)
    assert isinstance(found, QueueView)
    return found


def _find(top: QueueView, path: str) -> QueueView | None:
    """Walk down to the queue with this lower-case path (REST-75); None if there is none."""
    current: QueueView | None = top
    while current is not None and current.path.lower() != path:
        current = next(
            (child for child in current.children if _leads_to(child.path.lower(), path)), None
        )
    return current


def _leads_to(queue_path: str, wanted: str) -> bool:
    return wanted == queue_path or wanted.startswith(queue_path + ".")
