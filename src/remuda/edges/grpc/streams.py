"""One duplex stream: requests of one kind in, responses of that kind out.

Reading and writing are independent; the stream ends when one of them or the registration ends. A
clean half-close by the client ends it, too, after the answers to its requests were sent. Rules:
SI-101, SI-102, SI-103, SI-104, SI-105, SI-106.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, Final, TypeAlias

import grpc

from remuda.base.errors import ProtocolError
from remuda.base.scopes import Scope
from remuda.edges.grpc.access import caller
from remuda.edges.grpc.long_messages import LONG_BYTES, UnpackThread
from remuda.edges.grpc.outbound import Kind
from remuda.edges.grpc.refusals import Context, RefusalError, refusing
from remuda.edges.grpc.registrations import Registration
from remuda.edges.grpc.settings import GrpcSettings
from remuda.runtime import requests
from remuda.runtime.loop import SchedulerLoop
from remuda.si import limits, slices
from remuda.si.codec_in import RequestReader
from remuda.si.pb import si_pb2 as si
from remuda.si.wire import RM_ID_METADATA, Request

# How the requests of one kind are counted, sliced, unpacked and translated.
_Format: TypeAlias = tuple[
    type[Request],
    limits.Countable,
    slices.Lists,
    Callable[[RequestReader, Any], requests.Request],
]

_FORMATS: Final[dict[Kind, _Format]] = {
    Kind.ALLOCATION: (
        si.AllocationRequest,
        limits.ALLOCATION_REQUEST,
        slices.ALLOCATION_REQUEST,
        RequestReader.allocations,
    ),
    Kind.APPLICATION: (
        si.ApplicationRequest,
        limits.APPLICATION_REQUEST,
        slices.APPLICATION_REQUEST,
        RequestReader.applications,
    ),
    Kind.NODE: (si.NodeRequest, limits.NODE_REQUEST, slices.NODE_REQUEST, RequestReader.nodes),
}


class Stream:
    """One stream of one kind, from its first message to its status."""

    def __init__(
        self,
        kind: Kind,
        context: Context,
        core: SchedulerLoop,
        find: Callable[[str], Registration],
        settings: GrpcSettings,
        *,
        unpack_thread: UnpackThread,
    ) -> None:
        self._unpack_thread = unpack_thread
        self._kind = kind
        self._context = context
        self._core = core
        self._find = find
        self._settings = settings
        self._format, self._countable, self._lists, self._read = _FORMATS[kind]

    async def run(self) -> None:
        """Serve the stream; returns on a clean end.

        Raises: RefusalError for any other end.
        """
        metadata = dict(self._context.invocation_metadata() or ())
        rm_id = str(metadata.get(RM_ID_METADATA, ""))
        first = b""
        if not rm_id:
            with refusing():
                data: object = await self._context.read()
                if not isinstance(data, bytes):
                    return
                first = data
                rm_id = await self._unpack_thread.run(partial(self._named, first))
        if not rm_id:
            raise RefusalError(
                grpc.StatusCode.INVALID_ARGUMENT,
                f"no resource manager named: set rmID in the first message or {RM_ID_METADATA}",
            )
        registration = self._find(rm_id)
        self._limit(caller().places)
        end = registration.attach(self._kind)
        try:
            await self._serve(registration, end, first)
        finally:
            registration.detach(self._kind, end)

    def _limit(self, scope: Scope | None) -> None:
        """Let requests come into a scope only; without one they take no step more.

        Rules: EXT-33.
        """
        if scope is not None:
            read = self._read
            self._read = lambda reader, request: requests.limited(read(reader, request), scope)

    async def _serve(
        self, registration: Registration, end: asyncio.Future[RefusalError], first: bytes
    ) -> None:
        """Read and write until the first of both, or the registration, ends the stream."""
        tasks: list[asyncio.Future[None]] = [
            asyncio.create_task(self._take_requests(registration, first)),
            asyncio.create_task(self._give_responses(registration, end)),
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

    async def _take_requests(self, registration: Registration, first: bytes) -> None:
        """Submit requests in order, waiting while there is no room, until the client ends them.

        Then wait until the answers to them were sent.
        """
        read: Callable[[], Awaitable[object]] = self._context.read
        submit, outbound = self._core.try_submit, registration.outbound
        # Around all of them, because entering and leaving it costs as much as unpacking one.
        with refusing():
            if first:
                await self._take_long(registration, first)
            while isinstance(data := await read(), bytes):
                if len(data) >= LONG_BYTES:
                    await self._take_long(registration, data)
                    continue
                # Every small request takes this path, so it makes few calls and awaits nothing.
                request = self._unpack(data)
                self._check_owner(registration, request)
                if outbound.overflowed:
                    registration.check_open()
                try:
                    command = self._read(registration.reader, request)
                    taken = submit(command, registration.check_current)
                except ProtocolError:
                    registration.check_open()  # it may say better what is wrong
                    raise
                if not taken:
                    await self._submit(registration, command)
            await asyncio.wrap_future(self._core.barrier(registration.rm_id))
        await outbound.drained(self._kind)

    async def _take_long(self, registration: Registration, data: bytes) -> None:
        """Unpack and translate a long request slice by slice, and submit it whole."""
        run = self._unpack_thread.run
        await run(partial(self._refuse_too_many, data))
        translated = map(partial(self._translated, registration), slices.slices(data, self._lists))
        commands = []
        # One slice at a time, so that long requests of others have their turn on the thread.
        while (command := await run(partial(next, translated, None))) is not None:
            commands.append(command)
        registration.check_open()
        if commands:
            await self._submit(registration, requests.joined(commands))

    def _translated(self, registration: Registration, part: bytes) -> requests.Request:
        request: Request = self._format.FromString(part)
        self._check_owner(registration, request)
        return self._read(registration.reader, request)

    async def _submit(self, registration: Registration, command: requests.Request) -> None:
        """Submit a request as soon as there is room. Rules: SI-2, SI-6."""
        while not self._core.try_submit(command, registration.check_current):
            room = self._core.room(registration.rm_id)
            if room is not None:
                await asyncio.wrap_future(room)
            registration.check_open()

    @staticmethod
    def _check_owner(registration: Registration, request: Request) -> None:
        """Raise RefusalError if a request names another RM than its stream. Implements: SI-101."""
        if request.rmID and request.rmID != registration.rm_id:
            raise RefusalError(
                grpc.StatusCode.INVALID_ARGUMENT,
                f"this stream belongs to {registration.rm_id!r}, not to {request.rmID[:300]!r}"
                " (SI-101)",
            )

    async def _give_responses(
        self, registration: Registration, end: asyncio.Future[RefusalError]
    ) -> None:
        """Write responses in their turn for as long as the stream lives.

        If a newer stream takes over during a write, it gets that response again.
        """
        outbound = registration.outbound
        while True:
            response = await outbound.next(self._kind)
            await self._context.write(response)
            if end.done():
                return
            outbound.done(self._kind)

    def _named(self, data: bytes) -> str:
        """Return the RM that a request names."""
        self._refuse_too_many(data)
        first = next(slices.slices(data, self._lists), b"")
        return self._format.FromString(first).rmID

    def _unpack(self, data: bytes) -> Request:
        self._refuse_too_many(data)
        return self._format.FromString(data)

    def _refuse_too_many(self, data: bytes) -> None:
        limits.refuse_too_many(data, self._countable, self._settings.elements_limit)


async def _raise(end: asyncio.Future[RefusalError]) -> None:
    raise await end
