"""A client for administrators; users import it from ``remuda.client``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeVar

import grpc

from remuda.connection.calls import Connection
from remuda.connection.channel import ClientError, Security, failure
from remuda.si.pb import extension_pb2 as ext
from remuda.si.pb.extension_pb2_grpc import AdminStub, SchedulerExtensionStub

Q = TypeVar("Q")
A = TypeVar("A")


class Admin(Connection):
    """The administrator's calls to one scheduler: configurations, resource managers, object states.

    Args:
        address: HOST:PORT of the scheduler's gRPC listener, or several with commas between them,
            of which the first that answers is asked.
        timeout: seconds that a call waits for its answer at most.
        security: files for TLS, and a token; by default neither.

    An empty ``policy_group`` means the only one there is.
    """

    def __init__(
        self, address: str, *, timeout: float = 30.0, security: Security | None = None
    ) -> None:
        super().__init__(address, timeout, security)

    def validate(self, config: str) -> str:
        """Return all that is wrong with a configuration, "" if nothing is.

        Raises: ClientError if the scheduler cannot be asked.
        """
        document = ext.ConfigurationDocument(config=config)
        return self._ask(lambda stub: stub.ValidateConfiguration, document).reason

    def get_configuration(self, policy_group: str = "") -> ext.ConfigurationDocument:
        """Return the document in force for a policy group.

        Raises: ClientError, for example if several groups exist and none is named.
        """
        request = ext.GetConfigurationRequest(policy_group=policy_group)
        return self._ask(lambda stub: stub.GetConfiguration, request)

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

        ``config`` empty: the group goes back to the default document. ``extra_config`` replaces the
        extra maps, unless it is empty. ``expected_checksum``: refuse if the document has another
        checksum. ``dry_run``: only try against what is running.

        Raises: ClientError with the reason; then nothing has changed.
        """
        document = ext.ConfigurationDocument(
            policy_group=policy_group, config=config, extra_config=dict(extra_config or {})
        )
        request = ext.SetConfigurationRequest(
            document=document, expected_checksum=expected_checksum, dry_run=dry_run
        )
        answer = self._ask(lambda stub: stub.SetConfiguration, request)
        if not answer.success:
            failed = "".join(f"; {rm}: {why}" for rm, why in sorted(answer.failed_rms.items()))
            raise ClientError(f"configuration refused: {answer.reason}{failed}")
        return answer.checksum

    def resource_managers(self) -> list[ext.ResourceManagerInfo]:
        """Return all resource managers by ID, those that stopped, too. Raises: ClientError."""
        answer = self._ask(
            lambda stub: stub.ListResourceManagers, ext.ListResourceManagersRequest()
        )
        return list(answer.resource_managers)

    def stop_resource_manager(self, rm_id: str, reason: str = "") -> ext.UnregisterResponse:
        """Remove a resource manager with all it has, and count that. Raises: ClientError."""
        request = ext.StopResourceManagerRequest(rm_id=rm_id, reason=reason)
        return self._ask(lambda stub: stub.StopResourceManager, request)

    def partitions(self, rm_id: str = "") -> list[ext.PartitionInfo]:
        """Return the partitions of one resource manager, or of all. Raises: ClientError."""
        request = ext.ListPartitionsRequest(rm_id=rm_id)
        return list(self._ask(lambda stub: stub.ListPartitions, request).partitions)

    def stop(self, rm_id: str, queue: str = "", *, partition: str = "") -> str:
        """Stop a queue and all queues below it, or a partition; return its old state.

        Raises: ClientError.
        """
        request = ext.ChangeObjectStateRequest(rm_id=rm_id, partition=partition, queue=queue)
        request.action = ext.ChangeObjectStateRequest.STOP
        return self._ask(lambda stub: stub.ChangeObjectState, request).previous

    def start(self, rm_id: str, queue: str = "", *, partition: str = "") -> str:
        """Go on with a queue or a partition that was stopped; return its old state.

        Raises: ClientError.
        """
        request = ext.ChangeObjectStateRequest(rm_id=rm_id, partition=partition, queue=queue)
        request.action = ext.ChangeObjectStateRequest.START
        return self._ask(lambda stub: stub.ChangeObjectState, request).previous

    def drain(self, rm_id: str, node_id: str, *, partition: str = "") -> str:
        """Place nothing new on a node, whatever its resource manager says; return its old state.

        Raises: ClientError.
        """
        request = ext.ChangeNodeStateRequest(rm_id=rm_id, partition=partition, node_id=node_id)
        request.action = ext.ChangeNodeStateRequest.DRAIN
        return self._ask(lambda stub: stub.ChangeNodeState, request).previous

    def undrain(self, rm_id: str, node_id: str, *, partition: str = "") -> str:
        """End what ``drain`` began; return the old state of the node. Raises: ClientError."""
        request = ext.ChangeNodeStateRequest(rm_id=rm_id, partition=partition, node_id=node_id)
        request.action = ext.ChangeNodeStateRequest.UNDRAIN
        return self._ask(lambda stub: stub.ChangeNodeState, request).previous

    def set_log_level(self, level: str, logger: str = "") -> str:
        """Set the level of a logger, or of all loggers; return the old level.

        Raises: ClientError.
        """
        request = ext.SetLogLevelRequest(logger=logger, level=level)
        return self._ask(lambda stub: stub.SetLogLevel, request).previous

    def state_dump(self, *, ask_managers: bool = False, budget_seconds: float = 0.0) -> bytes:
        """Return the state dump as JSON. ``ask_managers``: with the parts of the resource managers.

        ``budget_seconds``: how long each of them is given, 0: the default of the scheduler.

        Raises: ClientError.
        """
        request = ext.StateDumpRequest(
            include_rm=ask_managers, rm_budget_millis=round(budget_seconds * 1_000)
        )

        def call(seconds: float) -> bytes:
            stub = SchedulerExtensionStub(self._routes.channel)
            try:
                chunks = stub.GetStateDump(request, timeout=seconds, metadata=self._routes.metadata)
                return b"".join([chunk.data for chunk in chunks])
            except grpc.RpcError as error:
                raise failure(error, self._routes.address) from None

        return self._routes.anywhere(call, self._timeout)

    def _ask(
        self, method: Callable[[AdminStub], grpc.UnaryUnaryMultiCallable[Q, A]], request: Q
    ) -> A:
        return self._first(lambda channel: method(AdminStub(channel)), request)
