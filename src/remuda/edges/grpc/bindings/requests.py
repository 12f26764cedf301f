"""Handles the frames an RM sends over its session, one after the other (EXT-4).

A frame counts as applied when its request is in the scheduler's queue or was refused, or when its
answer was handled. While the queue is full the frames behind it wait here, and when too much waits
nothing more is read. A frame that cannot be queued is answered by a RequestError; the session goes
on (see extension.proto).
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Final, Protocol, TypeAlias

from remuda.base.errors import ProtocolError
from remuda.base.scopes import Scope
from remuda.edges.grpc.long_messages import LONG_BYTES, UnpackThread
from remuda.runtime import requests
from remuda.runtime.errors import LoopStoppedError, NotRegisteredError
from remuda.runtime.loop import SchedulerLoop
from remuda.si.codec_in import RequestReader
from remuda.si.limits import MessageTooLargeError
from remuda.si.pb import extension_pb2 as ext
from remuda.si.pb import si_pb2 as si
from remuda.si.protocol import frames
from remuda.si.protocol.conversation import Arrival

RmArrival: TypeAlias = Arrival[ext.RMFrame]
Code: TypeAlias = ext.RequestError.Code.ValueType

# Bytes that a frame takes here besides its own, so that many small ones are bounded, too.
_FRAME_BYTES: Final = 1_024

# Characters of what a RequestError says.
_TEXT_LIMIT: Final = 2_000

# The requests that are translated and queued, by their fields.
_PLAIN: Final = {
    frames.field_number(ext.RMFrame, name): name
    for name in ("application", "allocation", "node", "classed_allocation")
}


class Owner(Protocol):
    """The owner of the frames of a session: the session itself."""

    rm_id: str

    def applied(self, number: int) -> None:
        """Note that a frame had its effect."""
        ...

    def reply(self, name: str, inside: bytes, /) -> None:
        """Send a frame with this body."""
        ...

    def check_current(self) -> None:
        """Raise NotRegisteredError if the registration of this session is over. Any thread."""
        ...

    def answered(self, frame: ext.RMFrame) -> None:
        """Deal with an answer to a call."""
        ...

    async def leave(self, goodbye: ext.Goodbye) -> None:
        """The RM ended its stream, or itself."""
        ...


class RefusedError(Exception):
    """A request frame that is answered by a RequestError."""

    def __init__(self, code: Code, text: str) -> None:
        super().__init__(text)
        self.code = code


class Requests:
    """The frames of one session that were received and not dealt with yet.

    Args:
        core: the running loop.
        owner: the session.
        reader: translates the requests of its RM.
        configure: carries out a configuration update; None: that is not agreed on (EXT-20).
        bytes_limit: of frames that may wait here before nothing more is read.
        unpack_thread: where long frames are translated.

    ``scope``: that of the caller whose stream carries the session: requests in frames that come now
    reach nothing else; None: everything.
    Rules: EXT-3, EXT-4, EXT-20, EXT-21, EXT-33, SI-2, SI-6.
    """

    def __init__(
        self,
        core: SchedulerLoop,
        owner: Owner,
        reader: RequestReader,
        configure: Callable[
            [si.UpdateConfigurationRequest], Awaitable[ext.UpdateConfigurationResponse]
        ]
        | None,
        bytes_limit: int,
        *,
        unpack_thread: UnpackThread,
    ) -> None:
        self._core = core
        self._unpack_thread = unpack_thread
        self._owner = owner
        self._configure = configure
        self._bytes_limit = bytes_limit
        self._reader = reader
        self.scope: Scope | None = None
        self._waiting: deque[tuple[RmArrival, int, Scope | None]] = deque()
        self._bytes = 0
        self._changed = asyncio.Event()
        # The request in front, if it was translated already and there was no room for it.
        self._translated: requests.Request | None = None

    def put(self, arrival: RmArrival, size: int) -> None:
        """Handle a frame in its order; at once if it need not wait."""
        at_once = not self._waiting and arrival.frame is not None and size < LONG_BYTES
        if at_once and self._done_at_once(arrival):
            return
        size += _FRAME_BYTES
        self._waiting.append((arrival, size, self.scope))
        self._bytes += size
        self._changed.set()

    @property
    def full(self) -> bool:
        """Whether nothing more should be read before something was dealt with. Rules: SI-6."""
        return self._bytes >= self._bytes_limit

    async def room(self) -> None:
        """Wait until something more may be read."""
        while self.full:
            self._changed.clear()
            await self._changed.wait()

    async def run(self) -> None:
        """Deal with frames for as long as the session lives; cancel it to end it."""
        while True:
            while not self._waiting:
                self._changed.clear()
                await self._changed.wait()
            arrival, size, scope = self._waiting[0]
            await self._deal(arrival, size, scope)
            self._waiting.popleft()
            self._bytes -= size
            self._changed.set()

    def _done_at_once(self, arrival: RmArrival) -> bool:
        """Handle a frame if no wait is needed; return whether it was handled.

        So the task behind the queue is not woken for each frame of the most frequent kinds.
        """
        frame = arrival.frame
        assert frame is not None
        if arrival.field in frames.ANSWERS:
            self._owner.answered(frame)
            self._owner.applied(arrival.number)
            return True
        name = _PLAIN.get(arrival.field)
        if name is None:
            return False
        try:
            command = self._command(frame, name, self.scope)
            if not self._core.try_submit(command, self._owner.check_current):
                self._translated = command
                return False
        except LoopStoppedError:
            return True
        except NotRegisteredError as error:
            self._refuse(arrival, RefusedError(ext.RequestError.NOT_REGISTERED, str(error)))
        except RefusedError as refusal:
            self._refuse(arrival, refusal)
        self._owner.applied(arrival.number)
        return True

    async def _deal(self, arrival: RmArrival, size: int, scope: Scope | None) -> None:
        try:
            if arrival.number == 0:
                assert arrival.frame is not None
                await self._owner.leave(arrival.frame.goodbye)
                return
            await self._carry_out(arrival, size, scope)
        except LoopStoppedError:
            return
        except RefusedError as refusal:
            self._refuse(arrival, refusal)
        self._owner.applied(arrival.number)

    def _refuse(self, arrival: RmArrival, refusal: RefusedError) -> None:
        error = ext.RequestError(
            request_seq=arrival.number, code=refusal.code, message=str(refusal)[:_TEXT_LIMIT]
        )
        self._owner.reply("request_error", error.SerializeToString())

    async def _carry_out(self, arrival: RmArrival, size: int, scope: Scope | None) -> None:
        """Do what a frame asks for. Raises: RefusedError, LoopStoppedError."""
        if arrival.fault:
            if arrival.field in frames.REQUESTS:
                raise RefusedError(ext.RequestError.TOO_LARGE, arrival.fault)
            return
        frame = arrival.frame
        assert frame is not None
        name = frame.WhichOneof("body")
        if name is None:
            if arrival.field in frames.REQUESTS:
                text = f"requests in field {arrival.field} are not known here"
                raise RefusedError(ext.RequestError.UNSUPPORTED, text)
        elif name == "configuration":
            await self._update(frame.configuration)
        elif arrival.field in frames.REQUESTS:
            command, self._translated = self._translated, None
            if command is None and size >= LONG_BYTES:
                translate = partial(self._command, frame, name, scope)
                command = await self._unpack_thread.run(translate)
            await self._submit(command or self._command(frame, name, scope))
        else:
            self._owner.answered(frame)

    def _command(self, frame: ext.RMFrame, name: str, scope: Scope | None) -> requests.Request:
        """Translate a request of a caller with this scope. Raises: RefusedError."""
        classed = frame.classed_allocation if name == "classed_allocation" else None
        request = getattr(frame, name) if classed is None else classed.request
        self._refuse_other_rm(request.rmID)
        try:
            if classed is not None:
                return self._reader.allocations(classed.request, classed.classes)
            if name == "allocation":
                return self._reader.allocations(frame.allocation)
            read = self._reader
            found = (
                read.nodes(frame.node) if name == "node" else read.applications(frame.application)
            )
            return found if scope is None else requests.limited(found, scope)
        except MessageTooLargeError as error:
            raise RefusedError(ext.RequestError.TOO_LARGE, str(error)) from None
        except ProtocolError as error:
            raise RefusedError(ext.RequestError.MALFORMED, str(error)) from None

    async def _submit(self, command: requests.Request) -> None:
        """Queue a request as soon as there is room. Rules: SI-2, SI-6, RM-2."""
        try:
            while not self._core.try_submit(command, self._owner.check_current):
                room = self._core.room(self._owner.rm_id)
                if room is not None:
                    await asyncio.wrap_future(room)
        except NotRegisteredError as error:
            raise RefusedError(ext.RequestError.NOT_REGISTERED, str(error)) from None

    async def _update(self, update: ext.ConfigurationUpdate) -> None:
        """Change the configuration of the RM; answered when all is in force. Rules: SI-85."""
        if self._configure is None:
            text = "the feature 'configuration' is not agreed on"
            raise RefusedError(ext.RequestError.UNSUPPORTED, text)
        self._refuse_other_rm(update.update.rmID)
        update.update.rmID = self._owner.rm_id
        try:
            self._owner.check_current()
            result = await self._configure(update.update)
        except NotRegisteredError as error:
            raise RefusedError(ext.RequestError.NOT_REGISTERED, str(error)) from None
        except MessageTooLargeError as error:
            raise RefusedError(ext.RequestError.TOO_LARGE, str(error)) from None
        except ProtocolError as error:
            raise RefusedError(ext.RequestError.MALFORMED, str(error)) from None
        answer = ext.ConfigurationResult(request_id=update.request_id, result=result)
        self._owner.reply("configuration", answer.SerializeToString())

    def _refuse_other_rm(self, rm_id: str) -> None:
        if rm_id not in ("", self._owner.rm_id):
            text = f"this session belongs to {self._owner.rm_id!r}, not to {rm_id[:300]!r}"
            raise RefusedError(ext.RequestError.WRONG_RM, text)
