"""The state dump of an RM: one call, answered in pieces (SI-84)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

from remuda.base.errors import ProtocolError
from remuda.si.pb import extension_pb2 as ext
from remuda.si.protocol import frames
from remuda.si.protocol.calls import Call, CallLoad, CallTable
from remuda.si.protocol.conversation import Conversation
from remuda.si.protocol.terms import MILLISECOND_NS

# Bytes a dump may have; what is longer is no dump.
DUMP_LIMIT: Final = 64 * 1024 * 1024


class DumpError(ProtocolError):
    """An RM did not send its state; the text says why."""


class Dump:
    """The dump call of one session. One at a time. Event loop of the server. Rules: SI-84."""

    def __init__(self, conversation: Conversation[ext.RMFrame], wake: Callable[[], None]) -> None:
        self._conversation = conversation
        self._wake = wake
        self.calls: CallTable[asyncio.Future[bytes]] = CallTable(CallLoad(1), conversation.call_ids)
        self._pieces: list[bytes] = []
        self._size = 0

    async def request(self, budget_ms: int, now_ns: int) -> bytes:
        """Return the RM's part of the dump: JSON, unchecked.

        Raises: DumpError if it does not answer within ``budget_ms``, or another dump is in
        progress.
        """
        if self.calls.load.full():
            raise DumpError("another state dump of this resource manager is under way")
        if not self._conversation.open:
            raise DumpError("the resource manager is not connected")
        call_id = self.calls.next_id()
        content = ext.StateDumpCall(call_id=call_id, budget_millis=budget_ms)
        number = self._conversation.send(frames.body(ext.CoreFrame, "state_dump", content))
        told: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        self._pieces, self._size = [], 0
        self.calls.put(Call(call_id, number, now_ns + budget_ms * MILLISECOND_NS, told))
        self._wake()
        return await told

    def part(self, part: ext.StateDumpPart) -> None:
        """Take a piece in; the last one, or an error, ends the call."""
        if self.calls.peek(part.call_id) is None:
            return
        if part.data:
            self._pieces.append(part.data)
        self._size += len(part.data)
        size = self._size
        if not (part.last or part.error or size > DUMP_LIMIT):
            return
        call = self.calls.answered(part.call_id)
        assert call is not None
        if call.what.done():
            return
        if part.error:
            call.what.set_exception(DumpError(part.error[:1_024]))
        elif size > DUMP_LIMIT:
            call.what.set_exception(DumpError(f"the dump has more than {DUMP_LIMIT} bytes"))
        else:
            call.what.set_result(b"".join(self._pieces))
        self._pieces = []

    def miss(self, now_ns: int) -> None:
        """End a call that is overdue."""
        for call in self.calls.overdue(now_ns):
            cancel = ext.CancelCall(call_id=call.call_id)
            self._conversation.send(frames.body(ext.CoreFrame, "cancel", cancel))
            self._wake()
            _fail(call, "the resource manager did not answer in time")

    def drop(self) -> None:
        """The stream is over, and with it the call. Rules: EXT-10."""
        for call in self.calls.drop():
            cancel = frames.body(ext.CoreFrame, "cancel", ext.CancelCall(call_id=call.call_id))
            self._conversation.outgoing.replace(call.number, cancel)
            _fail(call, "the connection of the resource manager broke")


def _fail(call: Call[asyncio.Future[bytes]], reason: str) -> None:
    if not call.what.done():
        call.what.set_exception(DumpError(reason))
