"""The resource manager's end of the wire, as lean as it can be, so that the scheduler is measured.

Requests are encoded by the caller and sent as they are. It speaks the streams of the scheduler
interface (docs/spec, chapter 70, section 9) through the gRPC library, as a resource manager would.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from types import TracebackType
from typing import Final, Self, TypeAlias

import grpc

from remuda.base.errors import RemudaError
from remuda.bench.throughput.run import TIMEOUT_S
from remuda.si.pb import si_pb2 as si
from remuda.si.pb.extension_pb2_grpc import SchedulerExtensionStub
from remuda.si.pb.si_pb2_grpc import SchedulerStub
from remuda.si.wire import RM_ID_METADATA, Request

_SERVICE: Final = "/si.v1.Scheduler"
_MESSAGE_BYTES_LIMIT: Final = 64 * 1024 * 1024

_Verdicts: TypeAlias = type[si.NodeResponse | si.ApplicationResponse]


def encoded(request: Request) -> bytes:
    """Encode a request; whose it is, the stream says."""
    request.rmID = ""
    return request.SerializeToString()


class Wire:
    """A connection to a scheduler. Use as a context manager.

    Args:
        address: HOST:PORT of the scheduler's gRPC listener.
        rm_id: identity of the resource manager.
    """

    def __init__(self, address: str, rm_id: str) -> None:
        limit = ("grpc.max_receive_message_length", _MESSAGE_BYTES_LIMIT)
        self._channel = grpc.insecure_channel(address, options=(limit,))
        self._rm_id = rm_id

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._channel.close()

    def register(self, config: str) -> None:
        """Register with a configuration of queues. Raises: grpc.RpcError."""
        request = si.RegisterResourceManagerRequest(rmID=self._rm_id, config=config)
        SchedulerStub(self._channel).RegisterResourceManager(
            request, timeout=TIMEOUT_S, wait_for_ready=True
        )

    def configure(self, config: str) -> None:
        """Replace the configuration of queues. Raises: grpc.RpcError."""
        request = si.UpdateConfigurationRequest(rmID=self._rm_id, config=config)
        SchedulerExtensionStub(self._channel).UpdateConfiguration(request, timeout=TIMEOUT_S)

    def add_nodes(self, requests: list[bytes], awaited: int) -> None:
        """Send nodes and wait until ``awaited`` of them are accepted.

        Raises: RemudaError, grpc.RpcError.
        """
        self._add("UpdateNode", si.NodeResponse, requests, awaited)

    def add_applications(self, requests: list[bytes], awaited: int) -> None:
        """Send applications and wait likewise. Raises: RemudaError, grpc.RpcError."""
        self._add("UpdateApplication", si.ApplicationResponse, requests, awaited)

    def add_allocations(self, requests: list[bytes], awaited: int) -> None:
        """Send what runs already and wait likewise. Raises: RemudaError, grpc.RpcError."""
        accepted = 0
        for answer in self.allocations(requests):
            response = si.AllocationResponse.FromString(answer)
            for refused in response.rejectedAllocations:
                raise RemudaError(f"an allocation was rejected: {refused.reason}")
            accepted += len(response.new)
        _expect("allocations", accepted, awaited)

    def allocations(self, requests: Iterable[bytes]) -> Iterator[bytes]:
        """Send requests as they come, on a thread of the library, and yield responses.

        The stream ends, after the answers, when the requests do. Raises: grpc.RpcError.
        """
        return self._stream("UpdateAllocation", requests)

    def _add(self, method: str, kind: _Verdicts, requests: list[bytes], awaited: int) -> None:
        accepted = 0
        for answer in self._stream(method, requests):
            verdicts = kind.FromString(answer)
            for refused in verdicts.rejected:
                raise RemudaError(f"{method}: {refused.reason}")
            accepted += len(verdicts.accepted)
        _expect(method, accepted, awaited)

    def _stream(self, method: str, requests: Iterable[bytes]) -> Iterator[bytes]:
        call: grpc.StreamStreamMultiCallable[bytes, bytes] = self._channel.stream_stream(
            f"{_SERVICE}/{method}", request_serializer=None, response_deserializer=None
        )
        metadata = ((RM_ID_METADATA, self._rm_id),)
        answers: Iterator[bytes] = call(iter(requests), metadata=metadata, timeout=TIMEOUT_S)
        return answers


def _expect(what: str, accepted: int, awaited: int) -> None:
    if accepted != awaited:
        raise RemudaError(f"{what}: {accepted} of {awaited} were accepted")
