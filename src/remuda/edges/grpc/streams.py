"""One duplex stream: requests of one kind in, responses of that kind out.

Reading and writing go on independently until one of them, or the session, ends the stream. A
clean half-close by the client ends it too, after the answers to its requests were sent.
Rules: SI-101 to SI-106.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, Final, TypeAlias

import grpc

from remuda.base.errors import ProtocolError
from remuda.edges.grpc.aside import LONG_BYTES, Aside
from remuda.edges.grpc.outbound import Kind
from remuda.edges.grpc.refusals import Context, RefusalError, refusing
from remuda.edges.grpc.sessions import Session
from remuda.edges.grpc.settings import GrpcSettings
from remuda.runtime import requests
from remuda.runtime.loop import SchedulerLoop
from remuda.si import limits
from remuda.si.codec_in import RequestReader
from remuda.si.pb import si_pb2 as si
from remuda.si.wire import RM_ID_METADATA, Request

# How the requests of one kind are counted, unpacked and translated.
_Format: TypeAlias = tuple[
    type[Request], limits.Countable, Callable[[RequestReader, Any], requests.Request]
]

_FORMATS: Final[dict[Kind, _Format]] = {
    Kind.ALLOCATION: (si.AllocationRequest, limits.ALLOCATION_REQUEST, RequestReader.allocations),
    Kind.APPLICATION: (
        si.ApplicationRequest,
        limits.APPLICATION_REQUEST,
        RequestReader.applications,
    ),
    Kind.NODE: (si.NodeRequest, limits.NODE_REQUEST, RequestReader.nodes),
}


class Stream:
    """One stream of one kind, from its first message to its status."""

    def __init__(
        self,
        kind: Kind,
        context: Context,
        core: SchedulerLoop,
        find: Callable[[str], Session],
        settings: GrpcSettings,
        *,
        aside: Aside,
    ) -> None:
        self._aside = aside
        self._kind = kind
        self._context = context
        self._core = core
        self._find = find
        self._settings = settings
        self._format, self._countable, self._read = _FORMATS[kind]

    async def run(self) -> None:
        """Serve the stream; returns on a clean end.

        Raises: RefusalError for any other end.
        """
        metadata = dict(self._context.invocation_metadata() or ())
        rm_id = str(metadata.get(RM_ID_METADATA, ""))
        first: Request | None = None
        if not rm_id:
            with refusing():
                first = await self._receive()
            if first is None:
                return
            rm_id = first.rmID
        if not rm_id:
            raise RefusalError(
                grpc.StatusCode.INVALID_ARGUMENT,
                f"no resource manager named: set rmID in the first message or {RM_ID_METADATA}",
            )
        session = self._find(rm_id)
        end = session.attach(self._kind)
        try:
            await self._serve(session, end, first)
        finally:
            session.detach(self._kind, end)

    async def _serve(
        self, session: Session, end: asyncio.Future[RefusalError], first: Request | None
    ) -> None:
        """Read and write until the first of both, or the session, ends the stream."""
        tasks: list[asyncio.Future[None]] = [
            asyncio.create_task(self._take_requests(session, first)),
            asyncio.create_task(self._give_responses(session, end)),
            asyncio.create_task(_raise(end)),
        ]
        try:
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _take_requests(self, session: Session, first: Request | None) -> None:
        """Submit requests in order, waiting while there is no room, until the client ends them.

        Then wait until the answers to them were sent.
        """
        read: Callable[[], Awaitable[object]] = self._context.read
        submit, outbound = self._core.try_submit, session.outbound
        # Around all of them, because entering and leaving it costs as much as unpacking one.
        with refusing():
            if first is not None:
                await self._take_long(session, first)
            while isinstance(data := await read(), bytes):
                if len(data) >= LONG_BYTES:
                    await self._take_long(session, await self._unpack_long(data))
                    continue
                # What is on the path of every small request calls little and awaits nothing.
                request = self._unpack(data)
                self._check_owner(session, request)
                if outbound.overflowed:
                    session.check_open()
                try:
                    command = self._read(session.reader, request)
                    taken = submit(command, session.check_current)
                except ProtocolError:
                    session.check_open()  # it may say better what is wrong
                    raise
                if not taken:
                    await self._submit(session, command)
            await asyncio.wrap_future(self._core.barrier(session.rm_id))
        await outbound.drained(self._kind)

    async def _take_long(self, session: Session, request: Request) -> None:
        """Submit a request that takes a while to translate."""
        self._check_owner(session, request)
        session.check_open()
        translate = partial(self._read, session.reader, request)
        await self._submit(session, await self._aside.run(translate))

    async def _submit(self, session: Session, command: requests.Request) -> None:
        """Submit a request as soon as there is room. Rules: SI-2, SI-6."""
        while not self._core.try_submit(command, session.check_current):
            room = self._core.room(session.rm_id)
            if room is not None:
                await asyncio.wrap_future(room)
            session.check_open()

    @staticmethod
    def _check_owner(session: Session, request: Request) -> None:
        """Raise RefusalError if a request names another RM than its stream. Rules: SI-101."""
        if request.rmID and request.rmID != session.rm_id:
            raise RefusalError(
                grpc.StatusCode.INVALID_ARGUMENT,
                f"this stream belongs to {session.rm_id!r}, not to {request.rmID!r} (SI-101)",
            )

    async def _give_responses(self, session: Session, end: asyncio.Future[RefusalError]) -> None:
        """Write responses in their turn for as long as the stream lives.

        What is written when a newer stream has taken over is given to that one again.
        """
        outbound = session.outbound
        while True:
            response = await outbound.next(self._kind)
            await self._context.write(response)
            if end.done():
                return
            outbound.done(self._kind)

    async def _receive(self) -> Request | None:
        """Return the first request, None if there is none."""
        data: object = await self._context.read()
        if not isinstance(data, bytes):
            return None
        return await self._unpack_long(data)

    async def _unpack_long(self, data: bytes) -> Request:
        return await self._aside.run(partial(self._unpack, data))

    def _unpack(self, data: bytes) -> Request:
        limits.refuse_too_many(data, self._countable, self._settings.elements_limit)
        return self._format.FromString(data)


async def _raise(end: asyncio.Future[RefusalError]) -> None:
    raise await end
