"""One stream that carries a session, from its Welcome to its end."""

from __future__ import annotations

import asyncio
import contextlib
from functools import partial
from typing import Final

from remuda.edges.grpc.bindings.binding import Binding
from remuda.edges.grpc.bindings.outlet import now_ns
from remuda.edges.grpc.long_messages import LONG_BYTES, UnpackThread
from remuda.edges.grpc.refusals import Context
from remuda.si.pb import extension_pb2 as ext
from remuda.si.protocol.errors import SessionError
from remuda.si.protocol.handshake import farewell

# How long a stream that ends may take to write its last frame.
FAREWELL_SECONDS: Final = 1.0


class StreamCarrier:
    """A gRPC stream. Rules: EXT-4, EXT-8, EXT-11, RM-14."""

    def __init__(self, context: Context, unpack_thread: UnpackThread) -> None:
        self._context = context
        self._unpack_thread = unpack_thread
        self._end: asyncio.Future[SessionError | None] = asyncio.get_running_loop().create_future()
        self._writing: asyncio.Future[None] | None = None

    def dismiss(self, error: SessionError | None) -> None:
        """End the stream, with a Goodbye for the reason of ``error``. The first call counts."""
        if not self._end.done():
            self._end.set_result(error)

    async def run(self, binding: Binding, welcome: bytes) -> None:
        """Carry a session until the stream or the session ends."""
        try:
            await self._context.write(welcome)
            error = await self._serve(binding)
        except BaseException:
            binding.drop(self, "its stream broke")
            raise
        binding.drop(self, "its stream ended" if error is None else str(error))
        if error is not None:
            await self._written()
            await say(self._context, error)

    async def _written(self) -> None:
        """Wait for the frame that is being written: the library takes one at a time."""
        if self._writing is not None:
            await asyncio.wait({self._writing}, timeout=FAREWELL_SECONDS)

    async def _serve(self, binding: Binding) -> SessionError | None:
        """Read and write until the first of both ends; return why, None for a clean end."""
        tasks: list[asyncio.Future[SessionError | None]] = [
            asyncio.create_task(self._read(binding)),
            asyncio.create_task(self._write(binding)),
            asyncio.create_task(self._listen(binding)),
            self._end,
        ]
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            # If several tasks are done, an end from outside gives the best reason.
            done = [task for task in reversed(tasks) if task.done()]
            return done[0].result()
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _read(self, binding: Binding) -> SessionError | None:
        while True:
            await binding.requests.room()
            data: object = await self._context.read()
            if not isinstance(data, bytes):
                return await self._end if binding.parting else None
            if self._end.done():
                return None
            try:
                unpacked = None
                if len(data) >= LONG_BYTES:
                    binding.conversation.heard(now_ns())
                    unpacked = await self._unpack_thread.run(
                        partial(binding.conversation.unpack, data)
                    )
                    if self._end.done():
                        return None
                binding.receive(data, unpacked)
            except SessionError as error:
                return error

    async def _write(self, binding: Binding) -> SessionError | None:
        conversation = binding.conversation
        while True:
            binding.outlet.awake.clear()
            data = conversation.next(now_ns())
            if data is not None:
                self._writing = asyncio.ensure_future(self._context.write(data))
                self._writing.add_done_callback(_look_at)
                await asyncio.shield(self._writing)
                continue
            pause = max(0.0, (conversation.due_ns() - now_ns()) / 1e9)
            # Cheaper than a timeout, and the same: it wakes this task to look again.
            waking = asyncio.get_running_loop().call_later(pause, binding.outlet.awake.set)
            try:
                await binding.outlet.awake.wait()
            finally:
                waking.cancel()

    async def _listen(self, binding: Binding) -> SessionError | None:
        """Notice that the peer is gone, even while a write is blocked."""
        conversation = binding.conversation
        patience = conversation.patience_ns() / 1e9
        while True:
            await asyncio.sleep(patience / 4)
            if binding.requests.full:
                conversation.heard(now_ns())
            if conversation.silent(now_ns()):
                text = f"nothing was heard for {patience:g} s"
                return SessionError(text, ext.Goodbye.REASON_UNSPECIFIED)


def _look_at(written: asyncio.Future[None]) -> None:
    """Note how a write ended, even if no task waits for it any more."""
    if not written.cancelled():
        written.exception()


async def say(context: Context, error: SessionError) -> None:
    """Write the last frame of a stream, if the peer still takes one."""
    with contextlib.suppress(Exception):
        async with asyncio.timeout(FAREWELL_SECONDS):
            await context.write(farewell(error))
