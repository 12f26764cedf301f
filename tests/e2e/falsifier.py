"""A scheduler that lies: it passes everything on to a real one, and changes some of the answers.

A fault takes one response and returns what is sent in its place: nothing, the same twice, or
something else. What is not to be changed passes as it is, with its metadata.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from concurrent.futures import Future
from types import TracebackType
from typing import Any, Final, Self, TypeAlias

import grpc
import grpc.aio
from google.protobuf.message import Message

from remuda.si.pb import extension_pb2 as ext
from remuda.si.pb import si_pb2 as si

# A change of one message; the type of the message is that of its stream.
Fault: TypeAlias = Callable[[Any], list[Any]]
Status: TypeAlias = Callable[[grpc.StatusCode], grpc.StatusCode]

SECONDS: Final = 60.0

_SCHEDULER: Final = "/si.v1.Scheduler/"

_RESPONSES: Final[dict[str, type[Message]]] = {
    f"{_SCHEDULER}UpdateAllocation": si.AllocationResponse,
    f"{_SCHEDULER}UpdateApplication": si.ApplicationResponse,
    f"{_SCHEDULER}UpdateNode": si.NodeResponse,
    f"{_SCHEDULER}RegisterResourceManager": si.RegisterResourceManagerResponse,
    "/remuda.v1.SchedulerExtension/GetCapabilities": ext.Capabilities,
    "/remuda.v1.SchedulerExtension/UnregisterResourceManager": ext.UnregisterResponse,
}

_REQUESTS: Final[dict[str, type[Message]]] = {
    f"{_SCHEDULER}UpdateAllocation": si.AllocationRequest,
    f"{_SCHEDULER}UpdateApplication": si.ApplicationRequest,
    f"{_SCHEDULER}UpdateNode": si.NodeRequest,
}


def truth(response: Any) -> list[Any]:
    """No fault."""
    return [response]


class Falsifier:
    """A gRPC server on a thread of its own; ``address`` is HOST:PORT.

    ``fault`` changes responses and ``asked`` requests, ``status`` how calls end; what has
    ``hidden`` in its name is not served.
    """

    def __init__(self, upstream: str) -> None:
        self.fault: Fault = truth
        self.asked: Fault = truth
        self.status: Status = lambda code: code
        self.hidden = ""
        self.address = ""
        self._upstream = upstream
        self._started: Future[tuple[str, asyncio.AbstractEventLoop, asyncio.Event]] = Future()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()))

    def honest(self) -> None:
        """Forget all faults."""
        self.fault = self.asked = truth
        self.status, self.hidden = lambda code: code, ""

    def __enter__(self) -> Self:
        self._thread.start()
        self.address, self._loop, self._stop = self._started.result(SECONDS)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(SECONDS)

    async def _serve(self) -> None:
        server = grpc.aio.server(options=(("grpc.max_receive_message_length", -1),))
        stop = asyncio.Event()
        async with grpc.aio.insecure_channel(
            self._upstream, options=(("grpc.max_receive_message_length", -1),)
        ) as channel:
            server.add_generic_rpc_handlers((_Every(self, channel),))
            port = server.add_insecure_port("127.0.0.1:0")
            await server.start()
            self._started.set_result((f"127.0.0.1:{port}", asyncio.get_running_loop(), stop))
            await stop.wait()
            await server.stop(0)


class _Every(grpc.GenericRpcHandler):
    """Handles every method there is."""

    def __init__(self, owner: Falsifier, channel: grpc.aio.Channel) -> None:
        self._owner = owner
        self._channel = channel

    def service(self, details: grpc.HandlerCallDetails) -> grpc.RpcMethodHandler[Any, Any] | None:
        method = details.method
        if self._owner.hidden and self._owner.hidden in method:
            return None
        if method in _RESPONSES and "Update" in method:
            return grpc.stream_stream_rpc_method_handler(self._stream(method))
        return grpc.unary_unary_rpc_method_handler(self._unary(method))

    def _falsified(self, method: str, data: bytes) -> list[bytes]:
        kind = _RESPONSES.get(method)
        if kind is None:
            return [data]
        return [each.SerializeToString() for each in self._owner.fault(kind.FromString(data))]

    async def _asked(self, method: str, requests: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
        async for data in requests:
            for each in self._owner.asked(_REQUESTS[method].FromString(data)):
                yield each.SerializeToString()

    async def _end(self, context: Any, error: grpc.aio.AioRpcError) -> None:
        code = self._owner.status(error.code())
        if code is not grpc.StatusCode.OK:
            await context.abort(code, error.details() or "")

    def _stream(self, method: str) -> Callable[[AsyncIterator[bytes], Any], Any]:
        async def serve(requests: AsyncIterator[bytes], context: Any) -> AsyncIterator[bytes]:
            metadata = [pair for pair in context.invocation_metadata() if "remuda" in pair[0]]
            forward: grpc.aio.StreamStreamMultiCallable[bytes, bytes]
            forward = self._channel.stream_stream(method)
            call = forward(self._asked(method, requests), metadata=metadata)
            try:
                async for data in call:
                    for each in self._falsified(method, data):
                        yield each
            except grpc.aio.AioRpcError as error:
                await self._end(context, error)
            finally:
                call.cancel()

        return serve

    def _unary(self, method: str) -> Callable[[bytes, Any], Awaitable[bytes]]:
        async def serve(request: bytes, context: Any) -> bytes:
            forward: grpc.aio.UnaryUnaryMultiCallable[bytes, bytes]
            forward = self._channel.unary_unary(method)
            try:
                data = await forward(request)
            except grpc.aio.AioRpcError as error:
                await self._end(context, error)
                return b""
            return self._falsified(method, data)[0]

        return serve
