"""The state dump: everything a scheduler shows, as one JSON document written piece by piece.

A large cluster's dump has hundreds of megabytes. So the core only notes what each partition is,
all of it at one moment, and the text is made a little at a time, on another thread than those that
serve and schedule (scribe.py).
"""

from __future__ import annotations

import asyncio
import inspect
import logging
import os
import time
from collections.abc import (
    AsyncGenerator,
    AsyncIterator,
    Awaitable,
    Callable,
    Iterable,
    Iterator,
    Sequence,
)
from dataclasses import replace
from typing import Final, TypeAlias, TypeVar

import msgspec

import remuda
from remuda.base.message import message
from remuda.config.settings import read_switches
from remuda.core.messages.application_views import ApplicationView
from remuda.core.messages.queries import (
    ConfigurationsQuery,
    ConfigurationView,
    PartitionRows,
    PartitionsQuery,
    PartitionView,
    Query,
    UsageQuery,
    UsageView,
    View,
)
from remuda.core.messages.rows import PartitionRowsQuery, rows
from remuda.edges.rest.requests.asking import Asked, Views
from remuda.edges.rest.requests.endpoint import Endpoint, Routes, Stream
from remuda.edges.rest.requests.errors import ApiError
from remuda.edges.rest.shapes import configuration as config_shapes
from remuda.edges.rest.shapes import dao, usage
from remuda.edges.rest.shapes.placement import placement_rules
from remuda.edges.rest.text.scribe import written
from remuda.edges.rest.text.units import Layout, applications, array, nodes, values
from remuda.runtime.dumps import BUDGET_SECONDS, diagnostics
from remuda.runtime.loop import SchedulerLoop

_log = logging.getLogger("remuda.rest")

T = TypeVar("T")

# Shown instead of what may be a secret.
_HIDDEN: Final = "(not shown)"

# Returns one part of a dump when its turn comes: a shape, or an awaitable of one. An empty part is
# left out, and so is a part whose source refuses or fails.
Part: TypeAlias = Callable[[], object]

# Returns the ended applications of a partition: completed, then rejected.
Ended: TypeAlias = Callable[[PartitionView], Awaitable[Sequence[ApplicationView]]]


def absent() -> None:
    """Return the answer for a part without a source."""


async def none_ended(_: PartitionView) -> Sequence[ApplicationView]:
    """Return the answer where ended applications are not kept."""
    return ()


@message
class DumpParts:
    """The parts of a dump that do not come from the core.

    ``application_history``, ``container_history``: as REST-62; ``clusters``: as REST-23;
    ``log_level``: the name of the finest level; ``event_streams``: the open ones; ``health``: as
    REST-93; ``event_range``: lowest and highest ID. ``ended``: of each partition. Rules: DMP-4,
    DMP-5, DMP-7, DMP-9, DMP-12, DMP-14, DMP-16.
    """

    application_history: Part = absent
    container_history: Part = absent
    clusters: Part = absent
    log_level: Part = absent
    event_streams: Part = absent
    health: Part = absent
    event_range: Part = absent
    ended: Ended = none_ended


class StateDump:
    """Writes dumps, one at a time for all clients. One event loop.

    Args:
        core: whose state it is.
        parts: what comes from elsewhere.

    Implements: DMP-1, DMP-2, DMP-3. Rules: chapter 97 section 7, SI-84.
    """

    def __init__(self, core: SchedulerLoop, parts: DumpParts | None = None) -> None:
        self._core = core
        self._parts = parts or DumpParts()
        self._turn = asyncio.Lock()

    async def pieces(
        self, rm_budget_seconds: float | None = BUDGET_SECONDS
    ) -> AsyncGenerator[bytes, None]:
        """Yield the text of a dump in pieces, the end of the document with the last one.

        Waits for its turn; who stops reading gives it up. ``rm_budget_seconds``: how long RMs are
        given for their parts, None: they are not asked.

        Raises: LoopStoppedError.
        """
        async with self._turn:
            found = rows(PartitionView, await self._ask(PartitionsQuery()))
            snapshots = [await self._snapshot(partition) for partition in found]
            yield b'{\n  "timestamp": %d' % time.time_ns()
            async for piece in self._written(_first(snapshots, self._core)):
                yield piece
            parts = self._parts
            yield await _member("appHistory", parts.application_history)
            yield await _member("containerHistory", parts.container_history)
            async for piece in self._written(_nodes(snapshots)):
                yield piece
            yield await _member("clusterInfo", parts.clusters)
            async for piece in self._written(_queues(snapshots)):
                yield piece
            yield await _member("logLevel", parts.log_level)
            yield await _member("config", self._configuration)
            if rm_budget_seconds is not None:
                said = await asyncio.to_thread(self._core.dumps.gather, rm_budget_seconds)
                yield await asyncio.to_thread(_text, "rmDiagnostics", diagnostics(said))
            yield await _member("eventStreams", parts.event_streams)
            async for piece in self._rest(snapshots):
                yield piece
            yield b"\n}\n"

    async def _rest(self, snapshots: Sequence[_Snapshot]) -> AsyncIterator[bytes]:
        """Yield the parts that only later releases or only remuda have.

        Implements: DMP-14. Rules: DMP-13.
        """
        async for piece in self._written(_rules(snapshots)):
            yield piece
        for name, groups in (("users", False), ("groups", True)):
            found = [await self._usage(each.partition, groups=groups) for each in snapshots]
            dress = usage.group if groups else usage.user
            shapes = (dress(view) for views in found for view in views)
            async for piece in self._written(_list(name, values(_INNER, shapes))):
                yield piece
        yield await _member("health", self._parts.health)
        yield await _member("eventRange", self._parts.event_range)
        yield _text("version", remuda.__version__)

    def _written(self, units: Iterator[bytes]) -> AsyncIterator[bytes]:
        return written(units, self._core)

    async def _ask(self, query: Query) -> View:
        return await asyncio.wrap_future(self._core.query(query))

    async def _usage(self, partition: PartitionView, *, groups: bool) -> list[UsageView]:
        query = UsageQuery(partition.name, groups, partition.rm_id)
        return _those(UsageView, await self._ask(query))

    async def _configuration(self) -> object:
        """Return the configuration of the first RM, JSON as REST-58 shows it.

        Dumps are passed on, so values of the extra map are not in them. Implements: DMP-10. Rules:
        EXT-23.
        """
        found = _those(ConfigurationView, await self._ask(ConfigurationsQuery()))
        chosen = None
        if found:
            chosen = replace(found[0], extra_config=dict.fromkeys(found[0].extra_config, _HIDDEN))
        switches = read_switches(os.environ)
        text = await asyncio.to_thread(config_shapes.as_json, chosen, switches)
        return msgspec.Raw(text.rstrip())

    async def _snapshot(self, partition: PartitionView) -> _Snapshot:
        """Look at one partition, which may be gone by now. Implements: DMP-15 (Ours)."""
        rows_of = await self._ask(PartitionRowsQuery(partition.name, partition.rm_id))
        found = rows_of if isinstance(rows_of, PartitionRows) else None
        return _Snapshot(partition, found, await self._parts.ended(partition))


@message
class _Snapshot:
    """What one partition has at one moment; ``rows`` None: it is gone."""

    partition: PartitionView
    rows: PartitionRows | None
    ended: Sequence[ApplicationView]


class _PartitionRules(msgspec.Struct):
    """The placement rules of one partition (DMP-13)."""

    partition: str
    rules: object


def dump_routes(dump: StateDump) -> Routes:
    """Return the routes of the dump, of both releases.

    Implements: REST-52, REST-54. Rules: REST-48.
    """

    async def state_dump(_views: Views, _asked: Asked) -> object:
        """Everything the scheduler shows. Implements: REST-48, REST-94."""
        pieces = dump.pieces()
        first = await anext(pieces)
        return Stream(_after(first, pieces), dao.JSON_TYPE)

    endpoint = Endpoint(state_dump, large=True)
    return {"/ws/v1/fullstatedump": endpoint, "/debug/fullstatedump": endpoint}


async def _after(first: bytes, rest: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    yield first
    async for piece in rest:
        yield piece


# ------------------------------------------------------------------------------ text in pieces

_TOP: Final = Layout(lines=True)
_INNER: Final = _TOP.inner()


def _first(found: Sequence[_Snapshot], core: Views) -> Iterator[bytes]:
    """Yield the partitions and the applications of each. Rules: DMP-3, DMP-4."""
    shown = [each.partition if each.rows is None else each.rows.partition for each in found]
    yield from _list("partitions", values(_INNER, map(dao.partition, shown)))
    views = (
        view
        for each in found
        for known in (each.rows.applications if each.rows else (), each.ended)
        for view in known
    )
    yield from _list("applications", applications(_INNER, views, core))


def _nodes(found: Sequence[_Snapshot]) -> Iterator[bytes]:
    """Yield the nodes, partition by partition. Implements: DMP-6."""
    yield from _list("nodes", (_partition_nodes(each) for each in found))


def _partition_nodes(snapshot: _Snapshot) -> Iterator[bytes]:
    layout = _INNER.inner()
    inner = layout.inner()
    yield b"{" + inner.key("partitionName") + inner.value(snapshot.partition.name)
    if snapshot.rows is not None and len(snapshot.rows.nodes):
        yield b"," + inner.key("nodesInfo")
        yield from array(inner, nodes(inner, snapshot.rows.nodes))
    yield layout.new_line() + b"}"


def _queues(found: Sequence[_Snapshot]) -> Iterator[bytes]:
    """Yield the queue trees. Implements: DMP-8."""
    shapes = (dao.queue(each.rows.queues[0], subtree=True) for each in found if each.rows)
    yield from _list("queues", values(_INNER, shapes))


def _rules(found: Sequence[_Snapshot]) -> Iterator[bytes]:
    """Yield the placement rules, partition by partition. Implements: DMP-13."""
    shapes = (
        _PartitionRules(each.partition.name, placement_rules(each.rows.rules))
        for each in found
        if each.rows
    )
    yield from _list("placementRules", values(_INNER, shapes))


def _list(name: str, items: Iterable[Iterable[bytes]]) -> Iterator[bytes]:
    """Yield a member that is a list, with the comma before it, or nothing (DMP-1)."""
    found = iter(items)
    for first in found:
        yield b"," + _INNER.key(name)
        yield from array(_INNER, _chained(first, found))


def _chained(first: Iterable[bytes], rest: Iterator[Iterable[bytes]]) -> Iterator[Iterable[bytes]]:
    yield first
    yield from rest


def _text(name: str, shape: object) -> bytes:
    """Return a member of the document, with the comma before it."""
    return b"," + _INNER.key(name) + _INNER.value(shape)


async def _member(name: str, part: Part) -> bytes:
    """Return a member from outside the core, b"" if there is none. Rules: DMP-1, DMP-16."""
    try:
        found = part()
        if inspect.isawaitable(found):
            found = await found
        return _text(name, found) if found not in (None, "", [], {}, ()) else b""
    except ApiError:
        return b""
    except Exception:  # noqa: BLE001 - a dump is wanted most when something is wrong
        _log.warning("the dump has no %s: its source failed", name, exc_info=True)
        return b""


def _those(kind: type[T], found: object) -> list[T]:
    """Return a list of a partition; none if that is gone by now."""
    return [each for each in found if isinstance(each, kind)] if isinstance(found, tuple) else []
