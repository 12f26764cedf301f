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
``responses``. The messages are those of ``remuda.si.pb.si_pb2``; ``send`` takes any of them.
``Admin`` is for operators; ``Security`` is for schedulers that want to know who calls.
"""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self, TypeAlias, TypeVar, cast

import grpc

from remuda.si.pb import extension_pb2 as ext
from remuda.si.pb import si_pb2 as si
from remuda.si.pb.extension_pb2_grpc import AdminStub, SchedulerExtensionStub
from remuda.si.pb.si_pb2_grpc import SchedulerStub
from remuda.si.wire import RM_ID_METADATA, Request, Response, resource

Amounts: TypeAlias = Mapping[str, int]

E = TypeVar("E")
Q = TypeVar("Q")
A = TypeVar("A")

# Nodes or asks in one message; a response to a longer list might exceed the usual 4 MiB.
_PER_MESSAGE: Final = 1_000


class ClientError(Exception):
    """The scheduler refused a call or an element, or cannot be reached; one line says why."""


@dataclass(frozen=True, slots=True)
class Security:
    """How a client makes sure whom it talks to, and says who it is.

    ``ca``: PEM file with the authorities that may have signed the scheduler's certificate, None:
    no TLS. ``certificate`` and ``key``: PEM files of the client's own. ``token``: its own token.
    """

    ca: Path | None = None
    certificate: Path | None = None
    key: Path | None = None
    token: str = field(default="", repr=False)

    def channel(self, address: str, options: Sequence[tuple[str, int]]) -> grpc.Channel:
        """Return a channel to a scheduler. Raises: ClientError if a file cannot be read."""
        if self.ca is None:
            return grpc.insecure_channel(address, options=options)
        ca, key, certificate = [_content(path) for path in (self.ca, self.key, self.certificate)]
        return grpc.secure_channel(
            address, grpc.ssl_channel_credentials(ca, key, certificate), options=options
        )

    def metadata(self) -> tuple[tuple[str, str], ...]:
        """Return what every call says about its caller."""
        return (("authorization", f"Bearer {self.token}"),) if self.token else ()


def _content(path: Path | None) -> bytes | None:
    try:
        return None if path is None else path.read_bytes()
    except OSError as error:
        raise ClientError(f"cannot read {path}: {error.strerror}") from None


class _Connection:
    """A channel to a scheduler. Use as a context manager, or call ``close``."""

    def __init__(self, address: str, timeout: float, security: Security | None) -> None:
        self._address = address
        self._timeout = timeout
        secure = security or Security()
        self._metadata = secure.metadata()
        limit = ("grpc.max_receive_message_length", 64 * 1024 * 1024)
        self._channel = secure.channel(address, (limit,))

    def close(self) -> None:
        """End the connection."""
        self._channel.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def _call(
        self, method: grpc.UnaryUnaryMultiCallable[Q, A], request: Q, *, wait: bool = False
    ) -> A:
        """Return the answer to a call; ``wait``: for a scheduler that does not listen yet.

        Raises: ClientError.
        """
        try:
            return method(
                request, timeout=self._timeout, wait_for_ready=wait, metadata=self._metadata
            )
        except grpc.RpcError as error:
            raise ClientError(_explain(error, self._address)) from None


class Client(_Connection):
    """One resource manager, connected to one scheduler; safe to use from several threads.

    Args:
        address: HOST:PORT of the scheduler's gRPC listener.
        rm_id: identity of the resource manager.
        on_response: called with every response, on the thread that received it, instead of
            keeping it for ``responses``.
        timeout: seconds that calls which wait for an answer wait at most.
        security: files for TLS, and a token; by default neither.
    """

    def __init__(
        self,
        address: str,
        rm_id: str,
        *,
        on_response: Callable[[Response], object] | None = None,
        timeout: float = 10.0,
        security: Security | None = None,
    ) -> None:
        super().__init__(address, timeout, security)
        self.rm_id = rm_id
        self._stub = SchedulerStub(self._channel)
        self._requests: dict[type[Request], queue.SimpleQueue[Request | None]] = {}
        self._readers: list[threading.Thread] = []
        self._received: queue.SimpleQueue[Response | ClientError] = queue.SimpleQueue()
        self._deliver = on_response or self._received.put
        self._verdicts: dict[tuple[str, str], Future[str]] = {}
        self._lock = threading.Lock()
        self._closed = False

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

        Responses of the earlier life that nobody read are dropped.

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
        self._end_streams()
        while not self._received.empty():
            self._received.get()
        self._call(self._stub.RegisterResourceManager, request, wait=True)
        self._open(si.AllocationRequest, self._stub.UpdateAllocation)
        self._open(si.ApplicationRequest, self._stub.UpdateApplication)
        self._open(si.NodeRequest, self._stub.UpdateNode)

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
        answer = self._call(SchedulerExtensionStub(self._channel).UpdateConfiguration, request)
        if not answer.success:
            raise ClientError(f"configuration refused: {answer.reason}")
        return answer.changed

    def send(self, request: Request) -> None:
        """Send a request as it is; ``rmID`` is filled in.

        Raises: ClientError if the streams are not open.
        """
        waiting = self._requests.get(type(request))
        if waiting is None:
            raise ClientError("not registered; call register first")
        request.rmID = self.rm_id
        waiting.put(request)

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
        verdicts = self._expect("node", capacities)
        for part in _parts(nodes):
            self.send(si.NodeRequest(nodes=part))
        self._await(verdicts)

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
        verdicts = self._expect("application", [application_id])
        request = si.AddApplicationRequest(
            applicationID=application_id,
            queueName=queue,
            partitionName=partition,
            ugi=si.UserGroupInformation(user=user, groups=list(groups)),
            tags=dict(tags or {}),
        )
        self.send(si.ApplicationRequest(new=[request]))
        self._await(verdicts)

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
        self._closed = True
        self._end_streams()
        super().close()

    def _open(self, kind: type[Request], method: grpc.StreamStreamMultiCallable[Any, Any]) -> None:
        """Open one stream and the thread that reads it."""
        waiting: queue.SimpleQueue[Request | None] = queue.SimpleQueue()
        metadata = ((RM_ID_METADATA, self.rm_id), *self._metadata)
        call = method(iter(waiting.get, None), metadata=metadata, wait_for_ready=True)
        self._requests[kind] = waiting
        name = f"remuda-{kind.__name__}"
        reader = threading.Thread(target=self._read, args=(call,), name=name, daemon=True)
        self._readers.append(reader)
        reader.start()

    def _read(self, call: Iterable[Response]) -> None:
        try:
            for response in call:
                self._settle(response)
                self._deliver(response)
        except grpc.RpcError as error:
            if not self._closed:
                self._break(ClientError(_explain(error, self._address)))
        except Exception as error:  # noqa: BLE001 - the user's callback may raise anything
            self._break(ClientError(f"on_response failed: {error!r}"))

    def _end_streams(self) -> None:
        """Half-close; the scheduler answers what is open and ends the streams."""
        for waiting in self._requests.values():
            waiting.put(None)
        self._requests.clear()
        deadline = time.monotonic() + self._timeout
        for reader in self._readers:
            if reader is not threading.current_thread():
                reader.join(max(0.0, deadline - time.monotonic()))
        self._readers.clear()

    def _break(self, error: ClientError) -> None:
        self._received.put(error)
        with self._lock:
            verdicts, self._verdicts = self._verdicts, {}
        for verdict in verdicts.values():
            verdict.set_exception(error)

    def _expect(self, kind: str, names: Iterable[str]) -> dict[tuple[str, str], Future[str]]:
        verdicts: dict[tuple[str, str], Future[str]] = {(kind, name): Future() for name in names}
        with self._lock:
            self._verdicts.update(verdicts)
        return verdicts

    def _await(self, verdicts: Mapping[tuple[str, str], Future[str]]) -> None:
        deadline = time.monotonic() + self._timeout
        for (kind, name), verdict in verdicts.items():
            try:
                reason = verdict.result(max(0.0, deadline - time.monotonic()))
            except TimeoutError:
                raise ClientError(f"no verdict on {kind} {name} within {self._timeout} s") from None
            if reason:
                raise ClientError(f"{kind} {name} rejected: {reason}")

    def _settle(self, response: Response) -> None:
        """Pass verdicts on to whoever waits for them."""
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
            verdict = self._verdicts.pop((kind, name), None)
        if verdict is not None:
            verdict.set_result(reason)


class Admin(_Connection):
    """An administrator of one scheduler: its configurations, and who and what is running.

    Args:
        address: HOST:PORT of the scheduler's gRPC listener.
        timeout: seconds that a call waits for its answer at most.
        security: files for TLS, and a token; by default neither.

    An empty ``policy_group`` means the only one there is.
    """

    def __init__(
        self, address: str, *, timeout: float = 30.0, security: Security | None = None
    ) -> None:
        super().__init__(address, timeout, security)
        self._stub = AdminStub(self._channel)

    def validate(self, config: str) -> str:
        """Return all that is wrong with a configuration, "" if nothing is.

        Raises: ClientError if the scheduler cannot be asked.
        """
        document = ext.ConfigurationDocument(config=config)
        return self._call(self._stub.ValidateConfiguration, document).reason

    def get_configuration(self, policy_group: str = "") -> ext.ConfigurationDocument:
        """Return the document that counts for a policy group.

        Raises: ClientError, for example if several groups exist and none is named.
        """
        request = ext.GetConfigurationRequest(policy_group=policy_group)
        return self._call(self._stub.GetConfiguration, request)

    def set_configuration(
        self,
        config: str,
        *,
        policy_group: str = "",
        extra_config: Mapping[str, str] | None = None,
        expected_checksum: str = "",
        dry_run: bool = False,
    ) -> str:
        """Store a document and put it in force for all that use it, or for none.

        Returns the checksum of the document in force afterwards.

        ``config`` empty: the group goes back to the default document. ``extra_config`` replaces
        the extra maps, unless it is empty. ``expected_checksum``: refuse if somebody else changed
        the document meanwhile. ``dry_run``: only try against what is running.

        Raises: ClientError with the reason; then nothing has changed.
        """
        document = ext.ConfigurationDocument(
            policy_group=policy_group, config=config, extra_config=dict(extra_config or {})
        )
        request = ext.SetConfigurationRequest(
            document=document, expected_checksum=expected_checksum, dry_run=dry_run
        )
        answer = self._call(self._stub.SetConfiguration, request)
        if not answer.success:
            failed = "".join(f"; {rm}: {why}" for rm, why in sorted(answer.failed_rms.items()))
            raise ClientError(f"configuration refused: {answer.reason}{failed}")
        return answer.checksum

    def resource_managers(self) -> list[ext.ResourceManagerInfo]:
        """Return all resource managers by ID, those that stopped, too. Raises: ClientError."""
        answer = self._call(self._stub.ListResourceManagers, ext.ListResourceManagersRequest())
        return list(answer.resource_managers)

    def stop_resource_manager(self, rm_id: str, reason: str = "") -> ext.UnregisterResponse:
        """Remove a resource manager with all it has, and count that. Raises: ClientError."""
        request = ext.StopResourceManagerRequest(rm_id=rm_id, reason=reason)
        return self._call(self._stub.StopResourceManager, request)

    def partitions(self, rm_id: str = "") -> list[ext.PartitionInfo]:
        """Return the partitions of one resource manager, or of all. Raises: ClientError."""
        request = ext.ListPartitionsRequest(rm_id=rm_id)
        return list(self._call(self._stub.ListPartitions, request).partitions)

    def stop(self, rm_id: str, queue: str = "", *, partition: str = "") -> str:
        """Place nothing more in a queue and below it, or in a partition; return its old state.

        Raises: ClientError.
        """
        request = ext.ChangeObjectStateRequest(
            rm_id=rm_id, partition=partition, queue=queue, action=ext.ChangeObjectStateRequest.STOP
        )
        return self._call(self._stub.ChangeObjectState, request).previous

    def start(self, rm_id: str, queue: str = "", *, partition: str = "") -> str:
        """Go on with a queue or a partition that was stopped; return its old state.

        Raises: ClientError.
        """
        request = ext.ChangeObjectStateRequest(
            rm_id=rm_id, partition=partition, queue=queue, action=ext.ChangeObjectStateRequest.START
        )
        return self._call(self._stub.ChangeObjectState, request).previous

    def set_log_level(self, level: str, logger: str = "") -> str:
        """Change what a logger says, or all of the scheduler; return the old level.

        Raises: ClientError.
        """
        request = ext.SetLogLevelRequest(logger=logger, level=level)
        return self._call(self._stub.SetLogLevel, request).previous

    def state_dump(self, *, ask_managers: bool = False, budget_seconds: float = 0.0) -> bytes:
        """Return all there is to see as JSON. ``ask_managers``: with what they say of themselves.

        ``budget_seconds``: how long each of them is given, 0: as long as the scheduler thinks.

        Raises: ClientError.
        """
        request = ext.StateDumpRequest(
            include_rm=ask_managers, rm_budget_millis=round(budget_seconds * 1_000)
        )
        stub = SchedulerExtensionStub(self._channel)
        try:
            chunks = stub.GetStateDump(request, timeout=self._timeout, metadata=self._metadata)
            return b"".join([chunk.data for chunk in chunks])
        except grpc.RpcError as error:
            raise ClientError(_explain(error, self._address)) from None


def _parts(entries: list[E]) -> Iterator[list[E]]:
    for start in range(0, len(entries), _PER_MESSAGE):
        yield entries[start : start + _PER_MESSAGE]


def _explain(error: grpc.RpcError, address: str) -> str:
    """Return one line on what went wrong."""
    call = cast("grpc.Call", error)
    code, details = call.code(), call.details()
    if code in (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED):
        return f"no scheduler answers at {address}: {details}"
    return f"{code.name}: {details}"
