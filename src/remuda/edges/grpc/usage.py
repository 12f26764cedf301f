"""Amounts of partitions, queues, applications, nodes, users and groups over gRPC.

Answers come in pages, sorted by name. The token of the next page is the last name of this one, so
pages fit together although objects come and go meanwhile.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from typing import Final

import grpc

from remuda.base.errors import ProtocolError
from remuda.core.messages.holdings import Holder, HoldingsQuery, HoldingView
from remuda.core.messages.queries import (
    PartitionsQuery,
    PartitionView,
    UsageQuery,
    UsageView,
    View,
)
from remuda.core.messages.rows import rows
from remuda.edges.grpc.access import Caller
from remuda.edges.grpc.refusals import RefusalError
from remuda.runtime.loop import SchedulerLoop
from remuda.si import limits
from remuda.si.pb import extension_pb2 as ext
from remuda.si.wire import resource

# Items of one page, at most and without a page_size: they take 2 ms of the core's time.
PAGE_LIMIT: Final = 200

# Bytes of one page, after which the rest is left for the next.
_BYTES: Final = 1024 * 1024

# Characters of a name or token; paths of queues are the longest.
_NAME_LIMIT: Final = 16 * limits.ID_LENGTH_LIMIT

_ROOT: Final = "root"

_Kind = ext.UsageRequest.Kind
_HOLDERS: Final[Mapping[int, Holder]] = {
    _Kind.QUEUE: Holder.QUEUE,
    _Kind.APPLICATION: Holder.APPLICATION,
    _Kind.NODE: Holder.NODE,
}
_WORDS: Final[Mapping[int, str]] = {
    _Kind.PARTITION: "Partition",
    _Kind.QUEUE: "Queue",
    _Kind.APPLICATION: "Application",
    _Kind.NODE: "Node",
    _Kind.USER: "User",
    _Kind.GROUP: "Group",
}


class UsagePages:
    """Answers GetUsage with questions to the core. Rules: EXT-25."""

    def __init__(self, core: SchedulerLoop) -> None:
        self._core = core

    async def page(self, request: ext.UsageRequest, caller: Caller) -> ext.UsageResponse:
        """Return one page of what the caller may see. Rules: EXT-23, EXT-25.

        Raises: ProtocolError, RefusalError.
        """
        _require_sane(request)
        if request.rm_id:
            caller.require_sight(request.rm_id)
        found = await self._partitions(request.rm_id, caller)
        limit = min(request.page_size or PAGE_LIMIT, PAGE_LIMIT)
        if request.kind == _Kind.PARTITION:
            items = await self._of_partitions(found, request, limit)
        else:
            items = await self._inside(chosen(found, request.partition), request, limit)
        if request.name and not items:
            raise RefusalError(grpc.StatusCode.NOT_FOUND, f"{_WORDS[request.kind]} not found")
        return _response(items, limit)

    async def _partitions(self, rm_id: str, caller: Caller) -> list[PartitionView]:
        views = await asyncio.wrap_future(self._core.query(PartitionsQuery()))
        return [
            view
            for view in rows(PartitionView, views)
            if rm_id in ("", view.rm_id) and caller.sees(view.rm_id)
        ]

    async def _of_partitions(
        self, views: Iterable[PartitionView], request: ext.UsageRequest, limit: int
    ) -> list[ext.Usage]:
        """Return partitions by their full names, ``[rmID]name``."""
        named = {f"[{view.rm_id}]{view.name}": view for view in views}
        wanted = [
            (name, named[name])
            for name in sorted(named)
            if request.name in ("", name, named[name].name)
            and request.partition in ("", named[name].name)
            and name > request.page_token
        ][: limit + 1]
        roots = [HoldingsQuery(v.name, Holder.QUEUE, 1, _ROOT, "", v.rm_id) for _, v in wanted]
        answers = await asyncio.wrap_future(self._core.operations.snapshot(roots))
        return [
            _partition(name, view, root) for (name, view), root in zip(wanted, answers, strict=True)
        ]

    async def _inside(
        self, home: PartitionView, request: ext.UsageRequest, limit: int
    ) -> list[ext.Usage]:
        """Return what is inside a partition: one more than fits, if there is more."""
        holder = _HOLDERS.get(request.kind)
        if holder is None:
            groups = request.kind == _Kind.GROUP
            query = UsageQuery(home.name, groups, home.rm_id)
            users = await asyncio.wrap_future(self._core.query(query))
            wanted = [
                view
                for view in ([] if users is None else rows(UsageView, users))
                if (view.name == request.name if request.name else view.name > request.page_token)
            ]
            return [_user(view) for view in wanted[: limit + 1]]
        name = request.name.lower() if holder is Holder.QUEUE else request.name
        page = HoldingsQuery(home.name, holder, limit + 1, name, request.page_token, home.rm_id)
        held = await asyncio.wrap_future(self._core.query(page))
        return [_usage(view) for view in ([] if held is None else rows(HoldingView, held))]


def _require_sane(request: ext.UsageRequest) -> None:
    """Refuse a kind that does not exist. Raises: ProtocolError."""
    if request.kind not in _WORDS:
        known = ", ".join(f"{number} {word}" for number, word in _WORDS.items())
        raise ProtocolError(f"kind {request.kind} is none; there are {known}")
    if max(len(request.name), len(request.page_token)) > _NAME_LIMIT:
        raise ProtocolError(f"a name or page_token has at most {_NAME_LIMIT} characters")


def chosen(views: list[PartitionView], name: str) -> PartitionView:
    """Return the named partition; if several RMs have one of that name, the first RM's (REST-21).

    Raises: RefusalError if there is none, ProtocolError if it has to be named.
    """
    if not name and len({view.name for view in views}) > 1:
        names = ", ".join(sorted({view.name for view in views}))[:300]
        raise ProtocolError(f"partition is empty and there are several: {names}")
    for view in views:
        if name in ("", view.name):
            return view
    raise RefusalError(grpc.StatusCode.NOT_FOUND, "Partition not found")


def _response(items: list[ext.Usage], limit: int) -> ext.UsageResponse:
    """Return as many items as fit a message, and the token of the next page if there are more."""
    response = ext.UsageResponse()
    size = 0
    for item in items:
        if len(response.items) == limit or size > _BYTES:
            response.next_page_token = response.items[-1].name
            break
        response.items.append(item)
        size += item.ByteSize()
    return response


def _partition(name: str, view: PartitionView, root: View) -> ext.Usage:
    """Return a partition; its amounts are those of its root queue. Rules: REST-69, REST-75."""
    item = ext.Usage(
        name=name,
        state=view.state,
        capacity=resource(view.capacity),
        allocated=resource(view.allocated),
    )
    for held in [] if root is None else rows(HoldingView, root):
        item.pending.CopyFrom(resource(held.pending))
    return item


def _usage(view: HoldingView) -> ext.Usage:
    item = ext.Usage(name=view.name, state=view.state, allocated=resource(view.allocated))
    for field, amounts in (
        (item.capacity, view.capacity),
        (item.guaranteed, view.guaranteed),
        (item.pending, view.pending),
        (item.placeholder, view.placeholder),
        (item.occupied, view.occupied),
    ):
        if amounts is not None:
            field.CopyFrom(resource(amounts))
    return item


def _user(view: UsageView) -> ext.Usage:
    """Return a user or group: its usage and its limit in the whole partition. Rules: REST-63."""
    top = view.queues
    item = ext.Usage(name=view.name, allocated=resource(top.used))
    if top.maximum is not None:
        item.capacity.CopyFrom(resource(top.maximum))
    return item
