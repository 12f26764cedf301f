"""Sends the question of a request to the core, and has the refusals that all routes share.

Every question is about a partition, or about all of them; which one is checked first (REST-14).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import field
from typing import Protocol, TypeVar, cast

from remuda.base.message import message
from remuda.base.scopes import Scope
from remuda.core.messages.queries import (
    PartitionsQuery,
    PartitionView,
    Query,
    UnknownQueue,
    View,
)
from remuda.core.messages.rows import Rows, rows
from remuda.edges.rest.requests.errors import PARTITION_NOT_FOUND, QUEUE_NOT_FOUND, ApiError
from remuda.edges.rights import Identity

T = TypeVar("T")


class Views(Protocol):
    """Answers read-only questions; SchedulerLoop in production.

    ``turns``: a number that changes when the core does something.
    """

    turns: int

    def query(self, query: Query) -> Future[View]:
        """Return the future answer to a question."""
        ...


@message
class Asked:
    """One request: decoded path parameters and the first value of each query key.

    ``accept``: the header of that name; ``known``: ``If-None-Match``, the tags of what the client
    has already (REST-124); ``body``: only that of a POST is read. ``peer``: whose connection it
    is, without the port (EVT-118); ``origin``: with the port, for the audit log. ``caller``: the
    name of a known caller, else the peer. ``scope``: of what the caller may read; None:
    everything. ``identity``: of a known caller. ``headers``: those that say who calls and from
    where, by name in small letters, as far as they were sent.
    Implements: REST-10.
    """

    path: Mapping[str, str] = field(default_factory=dict)
    options: Mapping[str, str] = field(default_factory=dict)
    accept: str = ""
    body: bytes = b""
    known: str = ""
    peer: str = ""
    origin: str = ""
    caller: str = ""
    scope: Scope | None = None
    identity: Identity | None = None
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def partition(self) -> str:
        """The partition's name."""
        return self.path["partition"]

    @property
    def rm_id(self) -> str:
        """Which RM's partition is meant; empty: the first by RM ID. Implements: REST-21."""
        return self.options.get("rm", "")

    def sees(self, partition: str, queue: str = "") -> bool:
        """Whether the caller may read about a queue; "": about its partition. Rules: EXT-32."""
        return self.scope is None or self.scope.includes(self.rm_id, partition, queue)


async def ask(views: Views, query: Query) -> View:
    """Return the answer to a question. Raises: ApiError if what it is about does not exist."""
    found = await asyncio.wrap_future(views.query(query))
    if found is None:
        raise ApiError(404, PARTITION_NOT_FOUND)
    if isinstance(found, UnknownQueue):
        raise ApiError(404, QUEUE_NOT_FOUND)
    return found


async def ask_rows(views: Views, query: Query, kind: type[T]) -> list[T]:
    """Return the answer to a question about several things."""
    return rows(kind, await ask(views, query))


async def ask_many(views: Views, query: Query, kind: type[T]) -> Sequence[T]:
    """Return the answer to a question about many things, each made when it is read.

    ``kind``: their type, which is not checked here.
    """
    del kind
    found = await ask(views, query)
    assert isinstance(found, Rows)
    return cast("Rows[T]", found)


async def ask_partitions(views: Views) -> list[PartitionView]:
    """Return all partitions."""
    return await ask_rows(views, PartitionsQuery(), PartitionView)


async def require_partition(views: Views, asked: Asked) -> PartitionView:
    """Return the partition that is meant. Raises: ApiError if it does not exist."""
    for view in await ask_partitions(views):
        if view.name == asked.partition and asked.rm_id in ("", view.rm_id):
            return view
    raise ApiError(404, PARTITION_NOT_FOUND)


async def after_partition(views: Views, asked: Asked, check: Callable[[], T]) -> T:
    """Return what a check of the question returns; an unknown partition is found first.

    Raises: ApiError if the partition does not exist, else what the check raises.
    Implements: REST-14.
    """
    try:
        return check()
    except ApiError:
        await require_partition(views, asked)
        raise
