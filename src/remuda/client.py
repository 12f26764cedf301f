"""A small client for resource managers, and administrators, that talk to a scheduler over gRPC.

    with Client("127.0.0.1:9079", "my-cluster") as client:
        client.register()
        client.add_nodes({"node-1": {"vcore": 8000, "memory": 16_000_000_000}})
        client.add_application("app-1", queue="root.default", user="ann")
        client.ask("app-1", "task-1", {"vcore": 1000, "memory": 1_000_000_000})
        for allocation in client.allocations(1):
            print(allocation.allocationKey, "runs on", allocation.nodeID)

Registering nodes and applications waits for the verdict, because asks that come before it are
rejected (SI-104). Everything the scheduler sends is available in the order of its stream through
``responses``. After a break of the connection every call fails until ``register`` is called again,
because what was sent last may be lost; ``on_disconnect`` is told at once. The messages are those of
``remuda.si.pb.si_pb2``; ``send`` takes any of them.
``Admin`` is for operators, ``Insight`` asks why something waits and what would happen, and
``Security`` is for schedulers that want to know who calls.
"""

from __future__ import annotations

import logging
import queue
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Final, TypeAlias, TypeVar

from remuda.connection.admin import Admin
from remuda.connection.calls import Connection
from remuda.connection.channel import ClientError, Security
from remuda.connection.insight import Insight
from remuda.connection.streams import Streams, Verdicts
from remuda.si.pb import si_pb2 as si
from remuda.si.pb.extension_pb2_grpc import SchedulerExtensionStub
from remuda.si.pb.si_pb2_grpc import SchedulerStub
from remuda.si.wire import RM_ID_METADATA, Request, Response, resource

_log = logging.getLogger("remuda.client")

__all__ = ["Admin", "Amounts", "Client", "ClientError", "Insight", "Security"]

Amounts: TypeAlias = Mapping[str, int]

E = TypeVar("E")

# Nodes or asks in one message; a response to a longer list might exceed the usual 4 MiB.
_PER_MESSAGE: Final = 1_000


class Client(Connection):
    """One resource manager, connected to one scheduler; safe to use from several threads.

    Args:
        address: HOST:PORT of the scheduler's gRPC listener; of several, with commas between them,
            one is active, and registering finds it.
        rm_id: identity of the resource manager.
        on_response: called with every response, on the thread that received it, instead of
            keeping it for ``responses``.
        on_disconnect: called once with the reason, on a thread of the client, when a stream breaks.
            It may register again. Without it the reason is raised by ``responses``, or, with
            ``on_response``, goes to the log ``remuda.client``.
        timeout: seconds that calls which wait for an answer wait at most.
        security: files for TLS, and a token; by default neither.
    """

    def __init__(
        self,
        address: str,
        rm_id: str,
        *,
        on_response: Callable[[Response], object] | None = None,
        on_disconnect: Callable[[ClientError], object] | None = None,
        timeout: float = 10.0,
        security: Security | None = None,
    ) -> None:
        super().__init__(address, timeout, security)
        self.rm_id = rm_id
        self._received: queue.SimpleQueue[Response | ClientError] = queue.SimpleQueue()
        self._deliver = on_response or self._received.put
        self._on_disconnect = on_disconnect or (_quiet if on_response is None else _log_disconnect)
        self._verdicts = Verdicts()
        self._streams = self._new_streams()

    def register(
        self,
        config: str = "",
        *,
        policy_group: str = "",
        version: str = "",
        build_info: Mapping[str, str] | None = None,
        extra_config: Mapping[str, str] | None = None,
    ) -> None:
        """Register the resource manager, which wipes an earlier life of it, and open its streams.

        Responses of the earlier life that nobody read are dropped. Waits for a scheduler that does
        not listen yet.

        ``config``: queue configuration in YAML; empty: the one the scheduler has.

        Raises: ClientError with the scheduler's reason.
        """
        request = si.RegisterResourceManagerRequest(
            rmID=self.rm_id,
            version=version,
            policyGroup=policy_group,
            buildInfo=dict(build_info or {}),
            config=config,
            extraConfig=dict(extra_config or {}),
        )
        self._streams.end()
        while not self._received.empty():
            self._received.get()
        self._routes.anywhere(partial(self._register, request), self._timeout)
        streams = self._new_streams()
        metadata = ((RM_ID_METADATA, self.rm_id), *self._routes.metadata)
        streams.open(SchedulerStub(self._routes.channel), metadata)
        self._streams = streams

    def update_configuration(
        self, config: str = "", *, extra_config: Mapping[str, str] | None = None
    ) -> bool:
        """Replace the configuration while everything runs; False if it was in force already.

        Returns when all of it is in force. ``config`` empty: the document that the scheduler has
        stored for the policy group. ``extra_config`` replaces the whole map in any case.

        Raises: ClientError with all that stands in the way; then nothing has changed.
        """
        request = si.UpdateConfigurationRequest(
            rmID=self.rm_id, config=config, extraConfig=dict(extra_config or {})
        )
        answer = self._call(
            SchedulerExtensionStub(self._routes.channel).UpdateConfiguration, request
        )
        if not answer.success:
            raise ClientError(f"configuration refused: {answer.reason}")
        return answer.changed

    def send(self, request: Request) -> None:
        """Send a request as it is; ``rmID`` is filled in.

        Raises: ClientError if the streams are not open, or broke since ``register``.
        """
        request.rmID = self.rm_id
        self._streams.send(request)

    def add_nodes(
        self,
        capacities: Mapping[str, Amounts],
        *,
        attributes: Mapping[str, Mapping[str, str]] | None = None,
    ) -> None:
        """Add schedulable nodes by name and wait until all are accepted.

        Raises: ClientError naming the first rejected node and why.
        """
        known = attributes or {}
        nodes = [
            si.NodeInfo(
                nodeID=name,
                action=si.NodeInfo.CREATE,
                schedulableResource=resource(amounts),
                attributes=dict(known.get(name, {})),
            )
            for name, amounts in capacities.items()
        ]
        requests = [si.NodeRequest(nodes=part) for part in _parts(nodes)]
        self._send_and_wait("node", capacities, requests)

    def add_application(
        self,
        application_id: str,
        *,
        queue: str = "",
        user: str = "nobody",
        groups: Iterable[str] = ("nogroup",),
        partition: str = "",
        tags: Mapping[str, str] | None = None,
    ) -> None:
        """Add an application and wait until it is accepted.

        Raises: ClientError with the reason of a rejection.
        """
        request = si.AddApplicationRequest(
            applicationID=application_id,
            queueName=queue,
            partitionName=partition,
            ugi=si.UserGroupInformation(user=user, groups=list(groups)),
            tags=dict(tags or {}),
        )
        self._send_and_wait("application", [application_id], [si.ApplicationRequest(new=[request])])

    def remove_application(self, application_id: str, *, partition: str = "") -> None:
        """Remove an application with all it has; its allocations come back as released."""
        removal = si.RemoveApplicationRequest(applicationID=application_id, partitionName=partition)
        self.send(si.ApplicationRequest(remove=[removal]))

    def ask(
        self,
        application_id: str,
        key: str,
        amounts: Amounts,
        *,
        count: int = 1,
        priority: int = 0,
        tags: Mapping[str, str] | None = None,
    ) -> None:
        """Ask for ``count`` allocations of the same size; the answer is in ``responses``."""
        self.ask_many(
            [
                si.AllocationAsk(
                    applicationID=application_id,
                    allocationKey=key,
                    resourceAsk=resource(amounts),
                    maxAllocations=count,
                    priority=priority,
                    tags=dict(tags or {}),
                )
            ]
        )

    def ask_many(self, asks: Iterable[si.AllocationAsk]) -> None:
        """Send asks, in as few messages as is good."""
        for part in _parts(list(asks)):
            self.send(si.AllocationRequest(asks=part))

    def release(self, application_id: str, allocation_id: str = "", *, key: str = "") -> None:
        """Release an allocation by its ID, those of an ask by its key, or all if both are empty.

        The acknowledgement is in ``responses``.
        """
        entry = si.AllocationRelease(
            applicationID=application_id,
            UUID=allocation_id,
            allocationID=allocation_id,
            allocationKey=key,
            terminationType=si.STOPPED_BY_RM,
        )
        releases = si.AllocationReleasesRequest(allocationsToRelease=[entry])
        self.send(si.AllocationRequest(releases=releases))

    def responses(self, timeout: float | None = None) -> Iterator[Response]:
        """Yield what the scheduler sends; ends when nothing came for ``timeout`` seconds.

        ``timeout`` None: the client's. Raises: ClientError when a stream breaks.
        """
        pause = self._timeout if timeout is None else timeout
        while True:
            try:
                received = self._received.get(timeout=pause)
            except queue.Empty:
                if self._streams.failure is not None:
                    raise self._streams.failure from None
                return
            if isinstance(received, ClientError):
                raise received
            yield received

    def allocations(self, count: int, timeout: float | None = None) -> list[si.Allocation]:
        """Return the next ``count`` new allocations; other responses on the way are dropped.

        Raises: ClientError if they do not come within ``timeout`` seconds, or an ask is rejected.
        """
        limit = self._timeout if timeout is None else timeout
        deadline = time.monotonic() + limit
        found: list[si.Allocation] = []
        while len(found) < count:
            response = next(self.responses(max(0.0, deadline - time.monotonic())), None)
            if response is None:
                raise ClientError(f"{len(found)} of {count} allocations came within {limit} s")
            if isinstance(response, si.AllocationResponse):
                found.extend(response.new)
                for rejected in response.rejected:
                    raise ClientError(f"ask {rejected.allocationKey}: {rejected.reason}")
        return found

    def close(self) -> None:
        """End the streams and the connection; what was sent before is still processed."""
        self._streams.end()
        super().close()

    def _register(self, request: si.RegisterResourceManagerRequest, seconds: float) -> None:
        method = SchedulerStub(self._routes.channel).RegisterResourceManager
        # Of several schedulers one that does not listen is not waited for.
        self._call(method, request, wait=not self._routes.several, seconds=seconds)

    def _new_streams(self) -> Streams:
        return Streams(self._routes, self._timeout, self._pass_on, self._report_break)

    def _send_and_wait(self, kind: str, names: Iterable[str], requests: Sequence[Request]) -> None:
        """Send requests about nodes or applications and wait until all are accepted."""
        verdicts = self._verdicts.expect(kind, names)
        deadline = time.monotonic() + self._timeout
        try:
            for request in requests:
                self.send(request)
            for (_, name), verdict in verdicts.items():
                reason = verdict.result(max(0.0, deadline - time.monotonic()))
                if reason:
                    raise ClientError(f"{kind} {name} rejected: {reason}")
        except TimeoutError:
            waiting = next(name for (_, name), verdict in verdicts.items() if not verdict.done())
            text = f"no verdict on {kind} {waiting} within {self._timeout} s"
            raise ClientError(text) from None
        finally:
            self._verdicts.forget(verdicts)

    def _pass_on(self, response: Response) -> None:
        self._verdicts.settle(response)
        self._deliver(response)

    def _report_break(self, error: ClientError) -> None:
        """Tell all waiting calls and the callback."""
        self._verdicts.give_up(error)
        self._received.put(error)
        self._on_disconnect(error)


def _quiet(_: ClientError) -> None:
    """Tell nobody: ``responses`` raises it."""


def _log_disconnect(error: ClientError) -> None:
    """Write the reason to the log, if there is no callback for it."""
    _log.error("%s", error)


def _parts(entries: list[E]) -> Iterator[list[E]]:
    for start in range(0, len(entries), _PER_MESSAGE):
        yield entries[start : start + _PER_MESSAGE]
