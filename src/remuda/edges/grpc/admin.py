"""The service for administrators: stored configurations, resource managers, stopped objects.

It listens where the scheduler interface listens, on loopback unless told otherwise; without
authentication (access.py) everybody who reaches it is an administrator.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Final

import grpc

from remuda.base.errors import ConfigError, ProtocolError
from remuda.base.message import message
from remuda.config.findings import cut
from remuda.config.schema import Load
from remuda.core.messages.commands import START, STOP, ChangeObjectState
from remuda.core.messages.effects import ConfigurationAnswered
from remuda.core.messages.queries import PartitionsQuery, PartitionView
from remuda.core.messages.rows import rows
from remuda.edges.grpc.access import caller
from remuda.edges.grpc.audited import recorded
from remuda.edges.grpc.extension import counted
from remuda.edges.grpc.refusals import RefusalError, one_line
from remuda.edges.grpc.unary import unary
from remuda.runtime.configuration.configurations import ConfigurationChange, NewDocument
from remuda.runtime.configuration.process_settings import change_level
from remuda.runtime.driver import Removed
from remuda.runtime.loop import SchedulerLoop
from remuda.si import limits
from remuda.si.codec_in import texts
from remuda.si.pb import extension_pb2 as ext
from remuda.si.wire import resource
from remuda.telemetry.audit.records import CHANGE_STATE, SET_LOG_LEVEL, STORE_CONFIGURATION

_log = logging.getLogger("remuda.rpc")

SERVICE: Final = "remuda.v1.Admin"

_NOT_FOUND: Final = grpc.StatusCode.NOT_FOUND


@message
class Traffic:
    """Messages on their way to an RM: ``queued`` ones, and ``unacked`` frames that were sent."""

    queued: int = 0
    unacked: int = 0


class AdminService:
    """Serves ``remuda.v1.Admin``. Event loop of the server.

    Args:
        core: the running loop.
        load: turns configuration text into records.
        traffic: what is on its way to an RM on this server.
        stop: removes an RM with its streams and counts what it owned.

    Rules: EXT-24, EXT-25, EXT-26, RM-4, RM-5, RM-8, RM-14, RM-15, RM-16, RM-17, RM-18, RM-19,
    TOOL-2.
    """

    def __init__(
        self,
        core: SchedulerLoop,
        load: Load,
        traffic: Callable[[str], Traffic],
        stop: Callable[[str], Awaitable[Removed]],
    ) -> None:
        self._core = core
        self._load = load
        self._traffic = traffic
        self._stop = stop

    def handlers(self) -> grpc.GenericRpcHandler:
        """Return the handlers of the service."""
        return grpc.method_handlers_generic_handler(
            SERVICE,
            {
                "ValidateConfiguration": unary(
                    ext.ConfigurationDocument, self._validate, limits.DOCUMENT
                ),
                "GetConfiguration": unary(ext.GetConfigurationRequest, self._get, limits.FLAT),
                "SetConfiguration": unary(
                    ext.SetConfigurationRequest, self._set, limits.NEW_DOCUMENT
                ),
                "ListResourceManagers": unary(
                    ext.ListResourceManagersRequest, self._resource_managers, limits.FLAT
                ),
                "StopResourceManager": unary(
                    ext.StopResourceManagerRequest, self._stop_resource_manager, limits.FLAT
                ),
                "ListPartitions": unary(ext.ListPartitionsRequest, self._partitions, limits.FLAT),
                "ChangeObjectState": unary(
                    ext.ChangeObjectStateRequest, self._change_state, limits.FLAT
                ),
                "ChangeNodeState": unary(
                    ext.ChangeNodeStateRequest, self._change_node, limits.FLAT
                ),
                "SetLogLevel": unary(ext.SetLogLevelRequest, self._set_log_level, limits.FLAT),
            },
        )

    async def _validate(
        self, request: ext.ConfigurationDocument
    ) -> ext.ValidateConfigurationResponse:
        """Return whether a text is valid, apart from the objects that run. Rules: TOOL-2."""
        try:
            await asyncio.to_thread(self._load, request.config)
        except ConfigError as error:
            return ext.ValidateConfigurationResponse(allowed=False, reason=one_line(error))
        return ext.ValidateConfigurationResponse(allowed=True)

    async def _get(self, request: ext.GetConfigurationRequest) -> ext.ConfigurationDocument:
        """Return the document that counts for a policy group. Rules: RM-4, RM-5."""
        group = await asyncio.wrap_future(self._core.configurations.group(request.policy_group))
        document = self._core.documents.find(group)
        return ext.ConfigurationDocument(
            policy_group=group,
            config=document.configuration.text,
            extra_config=document.extra_config,
            checksum=document.configuration.checksum,
        )

    async def _set(self, request: ext.SetConfigurationRequest) -> ext.SetConfigurationResponse:
        """Store a document and put it in force for all RMs that use it, or for none.

        An empty text takes the group's own document away; an empty extra map leaves the maps as
        they are. Implements: EXT-24. Rules: SI-88.
        """
        if request.dry_run:
            return await self._store(request)
        group = f"policy group {cut(request.document.policy_group)!r}"
        with recorded(STORE_CONFIGURATION, target=group) as deed:
            response = await self._store(request)
            if response.success:
                deed.target = f"{group}, checksum {response.checksum}"
            else:
                failed = [f"{rm_id}: {why}" for rm_id, why in response.failed_rms.items()]
                deed.refusal = "; ".join([response.reason, *sorted(failed)])
            return response

    async def _store(self, request: ext.SetConfigurationRequest) -> ext.SetConfigurationResponse:
        document = request.document
        group = await asyncio.wrap_future(self._core.configurations.group(document.policy_group))
        try:
            new = NewDocument(
                await asyncio.to_thread(self._load, document.config) if document.config else None,
                policy_group=group,
                extra_config=texts(document.extra_config) or None,
                expected_checksum=request.expected_checksum,
                dry_run=request.dry_run,
            )
        except ConfigError as error:
            in_force = self._core.documents.find(group).configuration.checksum
            return ext.SetConfigurationResponse(reason=one_line(error), checksum=in_force)
        change = await asyncio.wrap_future(self._core.configurations.store(new))
        return _outcome(change, request.dry_run)

    async def _resource_managers(
        self, request: ext.ListResourceManagersRequest
    ) -> ext.ListResourceManagersResponse:
        """List the RMs by ID, those that stopped, too. Rules: RM-4, RM-8, RM-17."""
        partitions = await self._partition_views()
        response = ext.ListResourceManagersResponse()
        for known in self._core.roster.all():
            traffic = self._traffic(known.rm_id)
            response.resource_managers.add(
                rm_id=known.rm_id,
                version=known.version,
                policy_group=known.policy_group,
                state=ext.ResourceManagerInfo.State.Value(known.state.value),
                state_since_unix_nano=known.since_ns,
                build_info={**known.build_info, "rmId": known.rm_id},
                partitions=[view.name for view in partitions if view.rm_id == known.rm_id],
                transport=known.transport,
                unacked_frames=traffic.unacked,
                queued_messages=traffic.queued,
            )
        return response

    async def _stop_resource_manager(
        self, request: ext.StopResourceManagerRequest
    ) -> ext.UnregisterResponse:
        """Remove an RM on behalf of an operator, and count what it had. Rules: RM-17, RM-19."""
        removed = await self._stop(request.rm_id)
        _log.warning(
            "%s stopped resource manager %r, reason: %r",
            caller().name,
            request.rm_id,
            cut(request.reason),
        )
        return counted(removed)

    async def _partitions(self, request: ext.ListPartitionsRequest) -> ext.ListPartitionsResponse:
        """List the partitions of one RM, or of all if none is named."""
        response = ext.ListPartitionsResponse()
        for view in await self._partition_views():
            if request.rm_id in ("", view.rm_id):
                response.partitions.add(
                    rm_id=view.rm_id,
                    name=view.name,
                    state=view.state,
                    state_since_unix_nano=view.state_time_ns,
                    capacity=resource(view.capacity),
                    allocated=resource(view.allocated),
                    applications_by_state=view.applications,
                    nodes=view.total_nodes,
                    allocations=view.total_containers,
                    placeholder_allocations=view.placeholders,
                    reservations=view.reservations,
                )
        return response

    async def _change_state(
        self, request: ext.ChangeObjectStateRequest
    ) -> ext.ChangeObjectStateResponse:
        """Start or stop a queue, or a partition without one.

        Rules: EXT-25, EXT-26, OBJ-4, OBJ-8.
        """
        target = f"partition {cut(request.partition)!r}"
        if request.queue:
            target = f"queue {cut(request.queue)!r} of {target}"
        words = f"{START} starts, {STOP} stops"
        return await self._changed(
            ChangeObjectState(request.rm_id, request.partition, request.queue, int(request.action)),
            target,
            words,
        )

    async def _change_node(
        self, request: ext.ChangeNodeStateRequest
    ) -> ext.ChangeObjectStateResponse:
        """Drain a node for operators, or end that. Rules: EXT-176, EXT-26, EXT-30."""
        if not request.node_id:
            raise ProtocolError("node_id is empty")
        target = f"node {cut(request.node_id)!r} of partition {cut(request.partition)!r}"
        words = f"{START} undrains, {STOP} drains"
        command = ChangeObjectState(
            request.rm_id, request.partition, action=int(request.action), node=request.node_id
        )
        return await self._changed(command, target, words)

    async def _changed(
        self, command: ChangeObjectState, target: str, words: str
    ) -> ext.ChangeObjectStateResponse:
        """Have the core change a state, and record that. ``words``: what the actions mean."""
        with recorded(CHANGE_STATE, rm_id=command.rm_id, target=target) as deed:
            if command.action not in (START, STOP):
                raise ProtocolError(f"action {command.action} is none: {words}")
            caller().require_scope(command.rm_id, command.partition, command.queue)
            answer = await asyncio.wrap_future(self._core.operations.change_object_state(command))
            if answer.reason:
                code = grpc.StatusCode.FAILED_PRECONDITION if answer.previous else _NOT_FOUND
                raise RefusalError(code, answer.reason)
            deed.target = f"{target}: {answer.previous} to {answer.current}"
        _log.warning(
            "%s changed %s of resource manager %r from %s to %s",
            caller().name,
            target,
            command.rm_id,
            answer.previous,
            answer.current,
        )
        return ext.ChangeObjectStateResponse(previous=answer.previous, current=answer.current)

    async def _set_log_level(self, request: ext.SetLogLevelRequest) -> ext.SetLogLevelResponse:
        """Set the level of a logger until it is changed again. Rules: KV-2."""
        target = f"logger {cut(request.logger)!r}: {cut(request.level)}"
        with recorded(SET_LOG_LEVEL, target=target):
            previous = change_level(request.logger, request.level)
        return ext.SetLogLevelResponse(previous=previous)

    async def _partition_views(self) -> list[PartitionView]:
        views = await asyncio.wrap_future(self._core.query(PartitionsQuery()))
        return rows(PartitionView, views)


def _outcome(change: ConfigurationChange, dry_run: bool) -> ext.SetConfigurationResponse:
    """Return the result for a new document; the checksum is that of the document in force now."""
    refusing = len(change.refusals)
    reason = change.reason
    if refusing:
        reason = f"{refusing} of {len(change.rm_ids)} resource managers cannot take it"
    return ext.SetConfigurationResponse(
        success=not change.refused,
        reason=reason,
        failed_rms={rm_id: _why(answer) for rm_id, answer in change.refusals.items()},
        checksum=(change.before if dry_run else change.after).checksum,
    )


def _why(answer: ConfigurationAnswered) -> str:
    return "; ".join(answer.problems or (answer.reason,))
