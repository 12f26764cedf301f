"""The scheduler under test: its address, its services and its unary calls.

An obstacle for all checks (no listener, no gRPC, no scheduler) is found before the first check and
reported in one line.
"""

from __future__ import annotations

import http.client
import json
import socket
import urllib.error
import urllib.request
from collections.abc import Callable
from typing import Any, Final, TypeVar, cast

import grpc

from remuda.base.errors import UsageError
from remuda.conformance.elements import Kind
from remuda.conformance.failures import NotApplicableError
from remuda.conformance.stream import Ended, Method
from remuda.si.pb import extension_pb2 as ext
from remuda.si.pb import si_pb2 as si
from remuda.si.pb.extension_pb2_grpc import AdminStub, SchedulerExtensionStub
from remuda.si.pb.si_pb2_grpc import SchedulerStub

# The most seconds to find out whether the endpoint answers.
_CONNECT_SECONDS: Final = 5.0

# Bytes of one answer over HTTP that are read.
_BODY_LIMIT: Final = 16 * 1024 * 1024

A = TypeVar("A")


class Endpoint:
    """One scheduler under test; safe to use from several threads.

    Args:
        host, port: of its gRPC listener.
        rest: base address of its HTTP API, "" if there is none.
        timeout: seconds that every wait takes at most.

    Attributes: capabilities: the capabilities it reports, None if it does not serve remuda.v1.
    """

    def __init__(self, host: str, port: int, *, rest: str = "", timeout: float = 5.0) -> None:
        self.timeout = timeout
        self.address = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        self.rest = rest.rstrip("/")
        self.capabilities: ext.Capabilities | None = None
        self._host, self._port = host, port
        limit = ("grpc.max_receive_message_length", 64 * 1024 * 1024)
        self._channel = grpc.insecure_channel(self.address, options=(limit,))
        self._stub = SchedulerStub(self._channel)
        self.extension = SchedulerExtensionStub(self._channel)
        self.admin = AdminStub(self._channel)

    def close(self) -> None:
        """End the connection, and with it every stream."""
        self._channel.close()

    def greet(self) -> None:
        """Find out whether a scheduler answers, and which other services it has.

        Raises: UsageError, one line, if there is none.
        """
        self._connect()
        self._find_scheduler()
        try:
            self.capabilities = self.extension.GetCapabilities(
                ext.CapabilitiesRequest(), timeout=self.timeout
            )
        except grpc.RpcError as error:
            if _status(error).code is not grpc.StatusCode.UNIMPLEMENTED:
                raise UsageError(f"{self.address}: {_status(error).text()}") from None
        if self.rest:
            self._find_rest()

    def method(self, kind: Kind) -> Method:
        """Return the method that opens a stream of this kind."""
        method: Method = getattr(self._stub, kind.value)
        return method

    def register(self, request: si.RegisterResourceManagerRequest) -> Ended | None:
        """Register; return the refusal, None if there was none."""
        try:
            self._stub.RegisterResourceManager(request, timeout=self.timeout)
        except grpc.RpcError as error:
            return _status(error)
        return None

    def call(self, method: Callable[..., A], request: object) -> A | Ended:
        """Return the answer of an extension service, or the refusal of the call.

        Raises: NotApplicableError if the other side does not serve it.
        """
        try:
            return method(request, timeout=self.timeout)
        except grpc.RpcError as error:
            refused = _status(error)
        if refused.code is grpc.StatusCode.UNIMPLEMENTED:
            raise NotApplicableError(f"{type(request).__name__} is not served")
        return refused

    def get(self, path: str) -> tuple[int, Any]:
        """Return status and decoded body of a GET of the HTTP API.

        Raises: NotApplicableError if no address of it was given, or it has no such route (REST-7);
            OSError if it does not answer.
        """
        if not self.rest:
            raise NotApplicableError("no --rest was given")
        try:
            with self._fetch(path) as answer:
                return answer.status, json.loads(answer.read(_BODY_LIMIT))
        except urllib.error.HTTPError as error:
            with error:
                if error.code == 404 and error.headers.get_content_type() != "application/json":
                    raise NotApplicableError(
                        f"GET {path.partition('?')[0]} is not served"
                    ) from None
                return error.code, None

    def _fetch(self, path: str) -> Any:
        try:
            # The scheme was looked at when the option was read.
            return urllib.request.urlopen(f"{self.rest}{path}", timeout=self.timeout)  # noqa: S310
        except http.client.HTTPException as error:
            raise OSError(f"the answer is not HTTP: {type(error).__name__}") from None

    def _connect(self) -> None:
        seconds = min(self.timeout, _CONNECT_SECONDS)
        try:
            socket.create_connection((self._host, self._port), seconds).close()
        except OSError as error:
            why = error.strerror or str(error)
            raise UsageError(f"nobody listens at {self.address}: {why}") from None
        try:
            grpc.channel_ready_future(self._channel).result(seconds)
        except grpc.FutureTimeoutError:
            raise UsageError(
                f"{self.address} listens and does not speak gRPC without TLS; "
                "is it the gRPC address, and not that of the HTTP API?"
            ) from None

    def _find_scheduler(self) -> None:
        """Open a stream and end it at once, which changes nothing. Raises: UsageError."""
        try:
            for _ in self._stub.UpdateNode(iter(()), timeout=self.timeout):
                break
        except grpc.RpcError as error:
            status = _status(error)
            if status.code is grpc.StatusCode.UNIMPLEMENTED:
                raise UsageError(
                    f"{self.address} speaks gRPC and does not serve si.v1.Scheduler"
                ) from None
            if status.code is grpc.StatusCode.UNAVAILABLE:
                raise UsageError(f"{self.address}: {status.text()}") from None

    def _find_rest(self) -> None:
        try:
            status, _ = self.get("/ws/v1/partitions")
        except (OSError, ValueError, NotApplicableError) as error:
            reason = getattr(error, "reason", error)
            raise UsageError(f"--rest: {self.rest} is not the HTTP API: {reason}") from None
        if status != 200:
            raise UsageError(
                f"--rest: {self.rest}/ws/v1/partitions answers {status}; give the address "
                "without a path, for example http://127.0.0.1:9080"
            )


def _status(error: grpc.RpcError) -> Ended:
    status = cast("grpc.Call", error)
    return Ended(status.code(), status.details() or "")
