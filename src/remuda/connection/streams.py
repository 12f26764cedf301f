"""The three streams of a client, from one registration to the next, and the verdicts it waits for.

They belong together: when one breaks, messages on the others may be lost as well, because the
streams have no acknowledgements. So all of them end, and the client gets one report.
"""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future
from typing import Any, Final

import grpc

from remuda.connection.channel import ClientError, explain
from remuda.connection.routes import Routes, StaleSchedulerError
from remuda.si.pb import si_pb2 as si
from remuda.si.pb.si_pb2_grpc import SchedulerStub
from remuda.si.wire import Request, Response

_REMEDY: Final = "register again and send everything anew"


class Streams:
    """The streams of one registration. Any thread.

    Args:
        routes: to the scheduler.
        timeout: seconds that the end of the streams is waited for.
        receive: called with every response, on the thread that received it.
        broken: called once, on such a thread, when a stream ended that was not to end.
    """

    def __init__(
        self,
        routes: Routes,
        timeout: float,
        receive: Callable[[Response], object],
        broken: Callable[[ClientError], object],
    ) -> None:
        self._routes = routes
        self._address = routes.address
        self._timeout = timeout
        self._receive = receive
        self._broken = broken
        self._requests: dict[type[Request], queue.SimpleQueue[Request | None]] = {}
        self._calls: list[grpc.Call] = []
        self._readers: list[threading.Thread] = []
        self._lock = threading.Lock()
        self._over = False
        self.failure: ClientError | None = None

    def open(self, stub: SchedulerStub, metadata: tuple[tuple[str, str], ...]) -> None:
        """Open them, each with a thread that reads it. Once only."""
        kinds: tuple[tuple[type[Request], grpc.StreamStreamMultiCallable[Any, Any]], ...] = (
            (si.AllocationRequest, stub.UpdateAllocation),
            (si.ApplicationRequest, stub.UpdateApplication),
            (si.NodeRequest, stub.UpdateNode),
        )
        for kind, method in kinds:
            waiting: queue.SimpleQueue[Request | None] = queue.SimpleQueue()
            call = method(iter(waiting.get, None), metadata=metadata, wait_for_ready=True)
            self._requests[kind] = waiting
            self._calls.append(call)
            name = f"remuda-{kind.__name__}"
            reader = threading.Thread(target=self._read, args=(call,), name=name, daemon=True)
            self._readers.append(reader)
        for reader in self._readers:
            reader.start()

    def send(self, request: Request) -> None:
        """Send a request. Raises: ClientError if the streams are not open, or broke."""
        with self._lock:
            if self.failure is not None:
                raise self.failure
            waiting = self._requests.get(type(request))
            if waiting is None or self._over:
                raise ClientError("not registered; call register first")
            waiting.put(request)

    def end(self) -> None:
        """Half-close; the scheduler answers what is open and ends the streams."""
        with self._lock:
            self._over = True
            for waiting in self._requests.values():
                waiting.put(None)
        deadline = time.monotonic() + self._timeout
        for reader in self._readers:
            if reader is not threading.current_thread():
                reader.join(max(0.0, deadline - time.monotonic()))

    def _read(self, call: Iterable[Response]) -> None:
        try:
            token = self._routes.look(call)
            for response in call:
                self._routes.require(token)
                self._receive(response)
            reason = "the scheduler ended a stream"
        except grpc.RpcError as error:
            reason = explain(error, self._address)
        except StaleSchedulerError as error:
            reason = str(error)
        except Exception as error:  # noqa: BLE001 - the user's callback may raise anything
            reason = f"on_response failed: {error!r}"
        self._break(f"connection lost: {reason}; {_REMEDY}")

    def _break(self, reason: str) -> None:
        """End all streams and call ``broken``, unless they ended already or were closed."""
        with self._lock:
            if self._over or self.failure is not None:
                return
            error = self.failure = ClientError(reason)
            for waiting in self._requests.values():
                waiting.put(None)
        for call in self._calls:
            call.cancel()
        self._broken(error)


class Verdicts:
    """The verdicts on nodes and applications that threads wait for. Any thread."""

    def __init__(self) -> None:
        self._waiting: dict[tuple[str, str], Future[str]] = {}
        self._lock = threading.Lock()

    def expect(self, kind: str, names: Iterable[str]) -> dict[tuple[str, str], Future[str]]:
        """Begin to wait for verdicts on elements about to be sent."""
        verdicts: dict[tuple[str, str], Future[str]] = {(kind, name): Future() for name in names}
        with self._lock:
            self._waiting.update(verdicts)
        return verdicts

    def forget(self, verdicts: Mapping[tuple[str, str], Future[str]]) -> None:
        """Do not wait any more."""
        with self._lock:
            for place in verdicts:
                self._waiting.pop(place, None)

    def give_up(self, error: ClientError) -> None:
        """Fail all waiting threads."""
        with self._lock:
            waiting, self._waiting = self._waiting, {}
        for verdict in waiting.values():
            verdict.set_exception(error)

    def settle(self, response: Response) -> None:
        """Pass verdicts on to the threads that wait for them."""
        if isinstance(response, si.NodeResponse):
            for node in response.accepted:
                self._settle_one("node", node.nodeID, "")
            for refused in response.rejected:
                self._settle_one("node", refused.nodeID, refused.reason)
        elif isinstance(response, si.ApplicationResponse):
            for application in response.accepted:
                self._settle_one("application", application.applicationID, "")
            for declined in response.rejected:
                self._settle_one("application", declined.applicationID, declined.reason)

    def _settle_one(self, kind: str, name: str, reason: str) -> None:
        with self._lock:
            verdict = self._waiting.pop((kind, name), None)
        if verdict is not None:
            verdict.set_result(reason)
