"""The state dump: everything a scheduler shows, as one JSON document written piece by piece.

A large cluster's dump has hundreds of megabytes. So each partition is looked at when its turn
comes, all of it at one moment, and its text is made a few objects at a time, on another thread
than those that serve and schedule.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from itertools import islice
from typing import Final

import msgspec

from remuda.base.message import message
from remuda.core.messages.queries import (
    ApplicationsQuery,
    ApplicationView,
    NodesQuery,
    NodeView,
    PartitionsQuery,
    PartitionView,
    QueuesQuery,
    QueueView,
)
from remuda.edges.rest import dao
from remuda.runtime.dumps import diagnostics
from remuda.runtime.loop import SchedulerLoop
from remuda.runtime.rows import rows

# Objects whose text is made at a time: some milliseconds of work.
_SLICE: Final = 128


async def dump(core: SchedulerLoop, *, rm_budget_seconds: float | None) -> AsyncIterator[bytes]:
    """Yield the text of a dump in pieces, the end of the document with the last one.

    ``rm_budget_seconds``: how long RMs are given for their parts, None: they are not asked.

    Raises: LoopStoppedError. Rules: SI-84, DMP-1 to DMP-4, DMP-6, DMP-8, DMP-11, DMP-15 (Ours).
    """
    partitions = rows(PartitionView, await asyncio.wrap_future(core.query(PartitionsQuery())))
    snapshots = [await _snapshot(core, partition) for partition in partitions]
    pieces = _text(time.time_ns(), snapshots)
    while slice_ := await asyncio.to_thread(_join, pieces):
        yield slice_
    if rm_budget_seconds is not None:
        parts = await asyncio.to_thread(core.dumps.gather, rm_budget_seconds)
        yield await asyncio.to_thread(_member, "rmDiagnostics", diagnostics(parts))
    yield b"\n}\n"


@message
class _Snapshot:
    """What one partition has at one moment."""

    partition: PartitionView
    top: QueueView | None
    applications: Sequence[ApplicationView]
    nodes: Sequence[NodeView]


async def _snapshot(core: SchedulerLoop, partition: PartitionView) -> _Snapshot:
    """Look at one partition, which may be gone by now. Rules: DMP-15 (Ours)."""
    name, rm_id = partition.name, partition.rm_id
    queries = (
        QueuesQuery(name, rm_id),
        ApplicationsQuery(name, "", rm_id),
        NodesQuery(name, rm_id),
    )
    views = await asyncio.wrap_future(core.operations.snapshot(queries))
    top, applications, nodes = views
    return _Snapshot(
        partition,
        top if isinstance(top, QueueView) else None,
        rows(ApplicationView, applications or ()),
        rows(NodeView, nodes or ()),
    )


def _text(now_ns: int, snapshots: Sequence[_Snapshot]) -> Iterator[bytes]:
    """Yield the document but for its end, object by object. Empty parts are left out (DMP-1)."""
    yield b'{\n  "timestamp": %d' % now_ns
    yield from _list("partitions", [dao.partition(each.partition) for each in snapshots])
    yield from _list(
        "applications", (dao.application(view) for each in snapshots for view in each.applications)
    )
    yield from _nodes(snapshots)
    yield from _list(
        "queues", [dao.queue(each.top, subtree=True) for each in snapshots if each.top is not None]
    )


def _nodes(snapshots: Sequence[_Snapshot]) -> Iterator[bytes]:
    """Yield the nodes, partition by partition. Rules: DMP-6."""
    for number, each in enumerate(snapshots):
        yield b"," if number else b',\n  "nodes": ['
        yield b'\n    {\n      "partitionName": ' + dao.encode(each.partition.name).rstrip()
        yield from _list("nodesInfo", (dao.node(view) for view in each.nodes), depth=3)
        yield b"\n    }"
    if snapshots:
        yield b"\n  ]"


def _list(name: str, shapes: Iterable[object], depth: int = 1) -> Iterator[bytes]:
    """Yield a member that is a list, object by object, with the comma before it."""
    inner = b"  " * (depth + 1)
    opened = False
    for shape in shapes:
        yield b"," if opened else b",\n" + b"  " * depth + dao.encode(name).rstrip() + b": ["
        yield b"\n" + inner + _pretty(shape, inner)
        opened = True
    if opened:
        yield b"\n" + b"  " * depth + b"]"


def _member(name: str, shape: object) -> bytes:
    """Return a member of the document, with the comma before it."""
    return b",\n  " + dao.encode(name).rstrip() + b": " + _pretty(shape, b"  ")


def _pretty(shape: object, indent: bytes) -> bytes:
    """Return JSON in lines, all but the first indented; texts have no line breaks in JSON."""
    lines = msgspec.json.format(dao.encode(shape).rstrip(), indent=2)
    return lines.replace(b"\n", b"\n" + indent)


def _join(pieces: Iterator[bytes]) -> bytes:
    """Return the text of the next objects, b"" after the last."""
    return b"".join(islice(pieces, _SLICE))
