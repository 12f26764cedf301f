"""The service for everything that an RM can do besides scheduling requests.

It has its own name in the server, so clients of the plain scheduler interface do not see it.
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from typing import Final

import grpc

import remuda
from remuda.base.errors import ConfigError
from remuda.config.schema import Load
from remuda.edges.grpc.access import caller
from remuda.edges.grpc.audited import Deed, recorded
from remuda.edges.grpc.refusals import Context, RefusalError, abort, one_line, refusing
from remuda.edges.grpc.streaming import write
from remuda.edges.grpc.unary import unary
from remuda.edges.rest.routes.dump import StateDump
from remuda.runtime.driver import Removed
from remuda.runtime.dumps import BUDGET_SECONDS
from remuda.runtime.errors import NotRegisteredError
from remuda.runtime.loop import SchedulerLoop
from remuda.si import limits
from remuda.si.codec_in import configuration_update
from remuda.si.pb import extension_pb2 as ext
from remuda.si.pb import si_pb2 as si
from remuda.si.protocol.terms import FEATURES
from remuda.telemetry.audit.records import CONFIGURE, READ_STATE_DUMP

SERVICE: Final = "remuda.v1.SchedulerExtension"

# The newest level of the scheduler interface that is understood.
_SI_LEVEL: Final = "1.5.1"
_VERSION: Final = ext.ProtocolVersion(major=1, minor=0)

# Bytes of a piece of a dump, which fit a message of any client; how long it may take to write one;
# and how long RMs may be given for their parts.
_CHUNK_BYTES: Final = 1024 * 1024
_CHUNK_SECONDS: Final = 30
_BUDGET_SECONDS_LIMIT: Final = 60.0


class ExtensionService:
    """Serves ``remuda.v1.SchedulerExtension``. Event loop of the server.

    Args:
        core: the running loop.
        load: turns configuration text into records.
        unregister: removes an RM with its streams and counts what it owned.
        dump: writes dumps, those of other edges too.

    Rules: RM-19, SI-84, SI-85, SI-86, SI-87, SI-88, EXT-20.
    """

    def __init__(
        self,
        core: SchedulerLoop,
        load: Load,
        unregister: Callable[[str], Awaitable[Removed]],
        dump: StateDump,
    ) -> None:
        self._core = core
        self._load = load
        self._remove = unregister
        self.core_uuid = str(uuid.uuid4())
        self._state_dump = dump

    def handlers(self) -> grpc.GenericRpcHandler:
        """Return the handlers of the service."""
        return grpc.method_handlers_generic_handler(
            SERVICE,
            {
                "GetCapabilities": unary(ext.CapabilitiesRequest, self._capabilities, limits.FLAT),
                "UpdateConfiguration": unary(
                    si.UpdateConfigurationRequest, self.update, limits.CONFIGURATION_UPDATE
                ),
                "UnregisterResourceManager": unary(
                    ext.UnregisterRequest, self._unregister, limits.FLAT
                ),
                "GetStateDump": grpc.unary_stream_rpc_method_handler(self._dump),
            },
        )

    async def _capabilities(self, request: ext.CapabilitiesRequest) -> ext.Capabilities:
        return ext.Capabilities(
            version=_VERSION,
            core_version=remuda.__version__,
            core_uuid=self.core_uuid,
            si_level=_SI_LEVEL,
            features=FEATURES,
        )

    async def update(
        self, request: si.UpdateConfigurationRequest
    ) -> ext.UpdateConfigurationResponse:
        """Replace the configuration of an RM; answered when all of it is in force.

        Rules: SI-88, EXT-23, EXT-26, EXT-33.
        """
        caller().require_rm(request.rmID)
        with recorded(CONFIGURE, rm_id=request.rmID) as deed:
            return await self._update(request, deed)

    async def _update(
        self, request: si.UpdateConfigurationRequest, deed: Deed
    ) -> ext.UpdateConfigurationResponse:
        if not self._core.registered(request.rmID):
            raise NotRegisteredError(request.rmID)
        deed.refusal = caller().configuring_fault(request.config)
        if deed.refusal:
            return await self._refused(request, deed)
        try:
            command = await asyncio.to_thread(configuration_update, request, self._load)
            update = self._core.configurations.update(
                command, stored=not request.config, process_wide=caller().sets_process
            )
            change = await asyncio.wrap_future(update)
            change.raise_if_refused()
        except ConfigError as error:
            deed.refusal = one_line(error)
            return await self._refused(request, deed)
        deed.target = f"checksum {change.after.checksum}"
        return ext.UpdateConfigurationResponse(
            success=True, changed=change.changed, checksum=change.after.checksum
        )

    async def _refused(
        self, request: si.UpdateConfigurationRequest, deed: Deed
    ) -> ext.UpdateConfigurationResponse:
        return ext.UpdateConfigurationResponse(
            success=False, reason=deed.refusal, checksum=await self._checksum(request.rmID)
        )

    async def _checksum(self, rm_id: str) -> str:
        """Return the checksum in force for an RM, "" if it has left."""
        for known in await asyncio.wrap_future(self._core.configurations.registered()):
            if known.rm_id == rm_id:
                return known.configuration.checksum
        return ""

    async def _unregister(self, request: ext.UnregisterRequest) -> ext.UnregisterResponse:
        """Remove an RM with all it owns, and count that. Rules: RM-19, EXT-23."""
        caller().require_rm(request.rm_id)
        return counted(await self._remove(request.rm_id))

    async def _dump(self, data: bytes, context: Context) -> None:
        """Send the whole dump in pieces; one dump at a time.

        Rules: SI-84, DMP-1. A client that does not read would delay the others, so its call is
        ended after a while.
        """
        try:
            with refusing():
                limits.refuse_many_fields(data, limits.FLAT)
                request = ext.StateDumpRequest.FromString(data)
                await self._send_dump(request, context)
        except RefusalError as refusal:
            await abort(context, refusal)

    async def _send_dump(self, request: ext.StateDumpRequest, context: Context) -> None:
        caller().record(READ_STATE_DUMP)
        budget = min(request.rm_budget_millis / 1_000 or BUDGET_SECONDS, _BUDGET_SECONDS_LIMIT)
        pieces = self._state_dump.pieces(budget if request.include_rm else None)
        async with aclosing(pieces):
            async for piece in pieces:
                await _send(piece, context)


async def _send(piece: bytes, context: Context) -> None:
    """Send a piece of a dump. Raises: RefusalError if the client does not take it."""
    for start in range(0, len(piece), _CHUNK_BYTES):
        chunk = ext.StateDumpChunk(data=piece[start : start + _CHUNK_BYTES])
        await write(context, chunk, _CHUNK_SECONDS)


def counted(removed: Removed) -> ext.UnregisterResponse:
    """Return the answer to the removal of an RM. Rules: RM-19."""
    return ext.UnregisterResponse(
        removed_partitions=removed.partitions,
        removed_applications=removed.applications,
        removed_nodes=removed.nodes,
    )
