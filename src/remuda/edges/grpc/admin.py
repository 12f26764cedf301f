"""The service for administrators: stored configurations, and what is registered.

There is no authentication yet, so it listens where the scheduler interface listens, on loopback
unless told otherwise, and whoever reaches it is an administrator. The calls that are not here
are not built yet and answer UNIMPLEMENTED.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

import grpc

from remuda.base.errors import ConfigError
from remuda.config.schema import Load
from remuda.core.messages.effects import ConfigurationAnswered
from remuda.core.messages.queries import PartitionsQuery, PartitionView
from remuda.edges.grpc.refusals import one_line
from remuda.edges.grpc.unary import unary
from remuda.runtime.configuration.configurations import ConfigurationChange, NewDocument
from remuda.runtime.loop import SchedulerLoop
from remuda.runtime.rows import rows
from remuda.si import limits
from remuda.si.codec_in import texts
from remuda.si.pb import extension_pb2 as ext
from remuda.si.wire import resource

SERVICE: Final = "remuda.v1.Admin"


class AdminService:
    """Serves ``remuda.v1.Admin``. Event loop of the server.

    Args:
        core: the running loop.
        load: turns configuration text into records.
        waiting: how many responses wait for an RM on this server, None if it is not here.

    Rules: EXT-24, RM-4, RM-5, RM-8, TOOL-2.
    """

    def __init__(
        self, core: SchedulerLoop, load: Load, waiting: Callable[[str], int | None]
    ) -> None:
        self._core = core
        self._load = load
        self._waiting = waiting

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
                "ListPartitions": unary(ext.ListPartitionsRequest, self._partitions, limits.FLAT),
            },
        )

    async def _validate(
        self, request: ext.ConfigurationDocument
    ) -> ext.ValidateConfigurationResponse:
        """Say whether a text would be accepted, whatever is running. Rules: TOOL-2."""
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
        they are. Rules: EXT-24, SI-88.
        """
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
        """List the registered RMs, by ID. Rules: RM-4, RM-8."""
        registered = await asyncio.wrap_future(self._core.configurations.registered())
        partitions = await self._partition_views()
        response = ext.ListResourceManagersResponse()
        for known in registered:
            waiting = self._waiting(known.rm_id)
            response.resource_managers.add(
                rm_id=known.rm_id,
                version=known.version,
                policy_group=known.policy_group,
                state=ext.ResourceManagerInfo.RUNNING,
                state_since_unix_nano=known.since_ns,
                build_info={**known.build_info, "rmId": known.rm_id},
                partitions=[view.name for view in partitions if view.rm_id == known.rm_id],
                transport="in-process" if waiting is None else "streams",
                queued_messages=waiting or 0,
            )
        return response

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
                )
        return response

    async def _partition_views(self) -> list[PartitionView]:
        views = await asyncio.wrap_future(self._core.query(PartitionsQuery()))
        return rows(PartitionView, views)


def _outcome(change: ConfigurationChange, dry_run: bool) -> ext.SetConfigurationResponse:
    """Say what became of a new document; the checksum is that of the one in force now."""
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
