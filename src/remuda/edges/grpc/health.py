"""The service for health probes of clusters: grpc.health.v1.Health, as gRPC defines it.

Everybody may probe, with no identity. So a request is looked at only if it is short.
Its two messages are described here, in a pool of their own: generated code would clash with that of
gRPC's package for it, where somebody has that, too.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any, Final, TypeAlias

import grpc
import grpc.aio
from google.protobuf.descriptor_pb2 import FieldDescriptorProto, FileDescriptorProto
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message_factory import GetMessageClass

from remuda.edges.grpc.refusals import RefusalError, abort, refusing
from remuda.si import limits

SERVICE: Final = "grpc.health.v1.Health"

# Values of HealthCheckResponse.ServingStatus.
SERVING: Final = 1
NOT_SERVING: Final = 2
_SERVICE_UNKNOWN: Final = 3

# The longest request that is looked at; names of services have some 20 characters.
_REQUEST_BYTES: Final = 1_024

_Context: TypeAlias = grpc.aio.ServicerContext[bytes, bytes]


def _described() -> FileDescriptorProto:
    """Return the two messages; the status is a number here, which is the same on the wire."""
    file = FileDescriptorProto(
        name="grpc/health/v1/health.proto", package="grpc.health.v1", syntax="proto3"
    )
    for message, field, kind in (
        ("HealthCheckRequest", "service", FieldDescriptorProto.TYPE_STRING),
        ("HealthCheckResponse", "status", FieldDescriptorProto.TYPE_INT32),
    ):
        file.message_type.add(name=message).field.add(
            name=field, number=1, type=kind, label=FieldDescriptorProto.LABEL_OPTIONAL
        )
    return file


_POOL: Final = DescriptorPool()
_POOL.Add(_described())


def _class_of(name: str) -> Any:
    return GetMessageClass(_POOL.FindMessageTypeByName(f"grpc.health.v1.{name}"))


_Request: Final = _class_of("HealthCheckRequest")
_Response: Final = _class_of("HealthCheckResponse")


class Health:
    """The status of each service; "" means all of them. Event loop of the server.

    At first none is served.
    """

    def __init__(self, server: grpc.aio.Server) -> None:
        self._known = {""}
        self._serving = False
        self._changed = asyncio.Event()
        methods: dict[str, grpc.RpcMethodHandler[bytes, bytes]] = {
            "Check": grpc.unary_unary_rpc_method_handler(self._check),
            "Watch": grpc.unary_stream_rpc_method_handler(self._watch),
        }
        server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(SERVICE, methods),))

    def know(self, name: str) -> None:
        """Report from now on about a service."""
        self._known.add(name)

    def report(self, *, serving: bool) -> None:
        """Report from now on that all services are served, or none."""
        self._serving = serving
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()

    def _status(self, name: str) -> int:
        if name not in self._known:
            return _SERVICE_UNKNOWN
        return SERVING if self._serving else NOT_SERVING

    async def _check(self, data: bytes, context: _Context) -> bytes:
        """Answer once; NOT_FOUND for a service that is not known."""
        name = await _service(data, context)
        status = self._status(name)
        if status == _SERVICE_UNKNOWN:
            refusal = RefusalError(grpc.StatusCode.NOT_FOUND, f"no service {name[:300]!r}")
            await abort(context, refusal)
        return _response(status)

    async def _watch(self, data: bytes, context: _Context) -> AsyncIterator[bytes]:
        """Send the status, and again when it changes; the client ends the call."""
        name = await _service(data, context)
        before: int | None = None
        while True:
            changed = self._changed
            if (now := self._status(name)) != before:
                yield _response(now)
                before = now
            await changed.wait()


async def _service(data: bytes, context: _Context) -> str:
    """Return the service that a request names; end the call if it is none, or too long."""
    try:
        with refusing():
            limits.refuse_long(data, _REQUEST_BYTES)
            return str(_Request.FromString(data).service)
    except RefusalError as refusal:
        await abort(context, refusal)


def _response(status: int) -> bytes:
    encoded: bytes = _Response(status=status).SerializeToString()
    return encoded
