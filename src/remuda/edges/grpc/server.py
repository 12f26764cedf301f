"""The gRPC listener of the scheduler interface and of the services that complete it.

Messages arrive as bytes and are unpacked here, not by the library, so that their elements can be
counted first (SI-105). It runs in an event loop of the composition root and shares nothing with
the core thread but the inbox and the hand-over of effects.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Final

import grpc
import grpc.aio

from remuda.base.errors import ConfigError, ProtocolError, UsageError
from remuda.config.schema import Configuration, Load
from remuda.config.settings import read_settings
from remuda.edges.callers import KnownCallers
from remuda.edges.grpc.access import Access, caller
from remuda.edges.grpc.admin import SERVICE as ADMIN_SERVICE
from remuda.edges.grpc.admin import AdminService, Traffic
from remuda.edges.grpc.audited import Lives
from remuda.edges.grpc.bindings.binding import Surroundings
from remuda.edges.grpc.bindings.service import SERVICE as SESSION_SERVICE
from remuda.edges.grpc.bindings.service import SessionService
from remuda.edges.grpc.connection_limit import ConnectionLimit
from remuda.edges.grpc.extension import SERVICE as EXTENSION_SERVICE
from remuda.edges.grpc.extension import ExtensionService
from remuda.edges.grpc.fenced import Fenced
from remuda.edges.grpc.handler_search import replace_search
from remuda.edges.grpc.insight import SERVICE as INSIGHT_SERVICE
from remuda.edges.grpc.insight import InsightService
from remuda.edges.grpc.intake import Intake
from remuda.edges.grpc.journal import SERVICE as JOURNAL_SERVICE
from remuda.edges.grpc.journal import JournalService
from remuda.edges.grpc.long_messages import UnpackThread
from remuda.edges.grpc.measurements import Measurements
from remuda.edges.grpc.metrics import SERVICE as METRICS_SERVICE
from remuda.edges.grpc.metrics import MetricsService
from remuda.edges.grpc.outbound import Kind
from remuda.edges.grpc.refusals import Context, RefusalError, abort, not_registered, one_line
from remuda.edges.grpc.registrations import Registration
from remuda.edges.grpc.settings import GrpcSettings, transport_options
from remuda.edges.grpc.standard import StandardServices
from remuda.edges.grpc.streams import Stream
from remuda.edges.grpc.tracing import Traced
from remuda.edges.grpc.unary import unary
from remuda.edges.questions.insight import Insight
from remuda.edges.rest.routes.dump import StateDump
from remuda.runtime.driver import Removed
from remuda.runtime.errors import NotRegisteredError
from remuda.runtime.inbox import anything
from remuda.runtime.lease.fence import Fence
from remuda.runtime.loop import SchedulerLoop
from remuda.runtime.roster import STREAMS
from remuda.si import limits
from remuda.si.codec_in import registration
from remuda.si.generation import SI_LEVEL
from remuda.si.pb import si_pb2 as si
from remuda.telemetry.audit.records import Audit, no_audit
from remuda.telemetry.tracing import Tracing

SERVICE: Final = "si.v1.Scheduler"


class GrpcServer:
    """A gRPC server for one scheduler. Build, ``start`` and ``stop`` inside one event loop.

    Args:
        core: the running loop that requests are submitted to.
        load: turns configuration text into records.
        settings: limits.
        credentials: what TLS needs; None: connections are in clear text.
        callers: who may call; None: everybody, for everything.
        measurements: what ``remuda.v1.Metrics`` shows besides amounts.
        insight: what answers the questions of ``remuda.v1.Insight``; None: it is not offered.
        tracing: what makes spans of calls; None: there are none.
        audit: takes records of what matters for security.
        fence: says whether this process is the active scheduler; None: it is alone.
        journal: the directory of the journal; None: there is none.

    Rules: RM-2, RM-9, RM-11, RM-13, RM-14, RM-15, RM-16, RM-17, chapter 70 section 11, EXT-23,
    EXT-26.
    """

    def __init__(
        self,
        core: SchedulerLoop,
        load: Load,
        settings: GrpcSettings | None = None,
        *,
        credentials: grpc.ServerCredentials | None = None,
        callers: KnownCallers | None = None,
        dump: StateDump | None = None,
        measurements: Measurements | None = None,
        insight: Insight | None = None,
        tracing: Tracing | None = None,
        audit: Audit = no_audit,
        fence: Fence | None = None,
        journal: Path | None = None,
    ) -> None:
        self._core = core
        self._fence = fence
        self._load = load = core.configurations.loading(load)
        self._settings = settings or GrpcSettings()
        self._registrations: dict[str, Registration] = {}
        self._registering = asyncio.Lock()
        self._unpack_thread = UnpackThread()
        self._credentials = credentials
        replace_search()
        interceptors: list[grpc.aio.ServerInterceptor] = []
        if tracing is not None:
            interceptors.append(Traced(tracing))
        if callers is not None or audit is not no_audit:
            interceptors.append(Access(callers or KnownCallers(), audit))
        if fence is not None:
            interceptors.append(Fenced(fence))
        self._lives = Lives(core.roster, audit)
        chosen = self._settings
        interceptors.append(Intake(chosen.address_calls_limit, chosen.read_seconds))
        self._server = grpc.aio.server(
            interceptors=interceptors,
            options=transport_options(chosen),
            maximum_concurrent_rpcs=chosen.calls_limit,
        )
        self._limiting: asyncio.Task[None] | None = None
        core.configurations.watch(self._note_limit)
        extension = ExtensionService(core, load, self._unregister, dump or StateDump(core))
        admin = AdminService(core, load, self._traffic, self._unregister)
        self._session_service = SessionService(
            core,
            load,
            Surroundings(self._settings, self._unregister, extension.update, self._unpack_thread),
            registering=self._registering,
            find_streams=self._registrations.get,
            end_streams=self._end_session,
            core_uuid=extension.core_uuid,
            lives=self._lives,
            fence=fence,
        )
        metrics = MetricsService(
            core, measurements or Measurements(), self._settings.send_bytes_limit
        )
        followed = JournalService(journal, chosen.journal_followers_limit)
        services = (extension, admin, metrics, followed, self._session_service)
        handlers = [service.handlers() for service in services]
        names = [
            SERVICE,
            EXTENSION_SERVICE,
            ADMIN_SERVICE,
            SESSION_SERVICE,
            METRICS_SERVICE,
            JOURNAL_SERVICE,
        ]
        if insight is not None:
            limit = self._settings.send_bytes_limit
            handlers.append(InsightService(core, insight, limit).handlers())
            names.append(INSIGHT_SERVICE)
        self._server.add_generic_rpc_handlers((self._handlers(), *handlers))
        self._standard = StandardServices(self._server, names)

    async def start(self, address: str) -> str:
        """Listen on ``address`` (HOST:PORT, port 0: a free one); return it with the real port.

        Raises: UsageError, one line, if it cannot be used.
        """
        try:
            if self._credentials is None:
                port = self._server.add_insecure_port(address)
            else:
                port = self._server.add_secure_port(address, self._credentials)
        except RuntimeError:
            port = 0
        if not port:
            raise UsageError(f"cannot listen on {address} for gRPC: taken, or not an address here")
        await self._server.start()
        limit = ConnectionLimit(port, self._settings.address_connections_limit)
        self._limiting = asyncio.create_task(limit.keep())
        await self._standard.start(self._core, serving=self._fence is None)
        return f"{address.rpartition(':')[0]}:{port}"

    def serve(self) -> None:
        """Tell probes that calls are answered from now on, because this process is active."""
        self._standard.serve()

    async def stop(self, grace_seconds: float = 1.0) -> None:
        """Refuse new calls, give running ones ``grace_seconds``, then end them."""
        self._session_service.stop()
        await self._standard.stop()
        await self._server.stop(grace_seconds)
        if self._limiting is not None:
            self._limiting.cancel()
        self._unpack_thread.stop()

    def _handlers(self) -> grpc.GenericRpcHandler:
        methods: dict[str, grpc.RpcMethodHandler[bytes, bytes]] = {
            "RegisterResourceManager": unary(
                si.RegisterResourceManagerRequest, self._register, limits.REGISTRATION
            )
        }
        for kind in Kind:
            methods[kind.value] = grpc.stream_stream_rpc_method_handler(self._stream(kind))
        return grpc.method_handlers_generic_handler(SERVICE, methods)

    async def _register(
        self, request: si.RegisterResourceManagerRequest
    ) -> si.RegisterResourceManagerResponse:
        """Serve RegisterResourceManager. Implements: SI-100. Rules: RM-2, RM-11, EXT-23."""
        caller().require_registration(request.rmID, request.config)
        async with self._registering:
            with (
                self._lives.registering(request.rmID, STREAMS),
                self._core.connections.arriving(request.rmID, STREAMS),
            ):
                await self._enroll(request)
        return si.RegisterResourceManagerResponse()

    async def _enroll(self, request: si.RegisterResourceManagerRequest) -> None:
        """Register an RM; on failure it is unregistered afterwards. Rules: RM-9, RM-13."""
        rm_id = request.rmID
        try:
            command = await asyncio.to_thread(registration, request, self._load)
        except (ConfigError, ProtocolError) as error:
            self._end_session(rm_id)
            with contextlib.suppress(NotRegisteredError):
                await asyncio.wrap_future(self._core.unregister(rm_id))
            if isinstance(error, ProtocolError):
                raise
            raise RefusalError(grpc.StatusCode.INVALID_ARGUMENT, one_line(error)) from None
        # Before the core knows, so that nothing of the old life gets into the new one.
        self._end_session(rm_id)
        level = request.buildInfo.get(SI_LEVEL, "")
        registered = Registration(rm_id, self._settings, self._core, level)
        self._registrations[rm_id] = registered
        answer = await asyncio.wrap_future(
            self._core.register(
                command,
                registered.sink,
                stored=not request.config,
                process_wide=caller().sets_process,
                transport=STREAMS,
                ended=partial(self._over, registered, asyncio.get_running_loop()),
                events=registered.events,
                records=registered.hosts,
            )
        )
        if not answer.reason:
            return
        self._drop(registered)
        if answer.rule == "RM-1":
            raise RefusalError(grpc.StatusCode.INVALID_ARGUMENT, answer.reason)
        raise RefusalError(grpc.StatusCode.FAILED_PRECONDITION, answer.reason)

    async def _unregister(self, rm_id: str, check: Callable[[], None] = anything) -> Removed:
        """Remove an RM, and what it may have here; not if ``check`` raises. Rules: RM-19."""
        async with self._registering:
            with self._lives.unregistering(rm_id):
                return await self._remove(rm_id, check)

    async def _remove(self, rm_id: str, check: Callable[[], None]) -> Removed:
        check()
        removed = await asyncio.wrap_future(self._core.unregister(rm_id))
        self._end_session(rm_id)
        return removed

    def _end_session(self, rm_id: str) -> None:
        old = self._registrations.pop(rm_id, None)
        if old is not None:
            old.finish()

    def _over(self, registration: Registration, loop: asyncio.AbstractEventLoop) -> None:
        """Handle the end of a registration, for any cause: its streams end. Core thread.

        Rules: RM-9, RM-17.
        """
        registration.forbid()
        self._lives.over(registration.rm_id)
        with contextlib.suppress(RuntimeError):  # the server may have ended
            loop.call_soon_threadsafe(self._drop, registration)

    def _drop(self, registration: Registration) -> None:
        registration.finish()
        if self._registrations.get(registration.rm_id) is registration:
            del self._registrations[registration.rm_id]

    def _note_limit(
        self, rm_id: str, _config: Configuration, extra: Mapping[str, str] | None
    ) -> None:
        """Remember how much an RM wants kept while it is gone. Core thread. Rules: RM-15, KV-1."""
        registration = self._registrations.get(rm_id)
        if registration is not None and extra is not None:
            settings, _ = read_settings(extra)
            own = "rm.outboundLimit" in extra
            registration.outbound.limit = settings.rm_outbound_limit if own else None
            registration.pause_ns = settings.rm_pause_timeout_ns

    def _traffic(self, rm_id: str) -> Traffic:
        """Return how much waits for an RM here."""
        streams, binding = self._registrations.get(rm_id), self._session_service.find(rm_id)
        queued = 0 if streams is None else streams.outbound.waiting
        if binding is None:
            return Traffic(queued)
        return Traffic(queued + binding.outlet.queued, binding.outlet.unacknowledged)

    def _stream(self, kind: Kind) -> Callable[[object, Context], Awaitable[None]]:
        async def serve(_requests: object, context: Context) -> None:
            stream = Stream(
                kind,
                context,
                self._core,
                self._find,
                self._settings,
                unpack_thread=self._unpack_thread,
            )
            try:
                await stream.run()
            except RefusalError as refusal:
                await abort(context, refusal)

        return serve

    def _find(self, rm_id: str) -> Registration:
        """Return the registration of an RM here. Rules: SI-101, EXT-23.

        Raises: RefusalError if it has none, or the caller may not act for it.
        """
        caller().require_rm(rm_id)
        registration = self._registrations.get(rm_id)
        if registration is None:
            raise not_registered(rm_id, self._core.roster.find(rm_id))
        registration.check_usable()
        return registration
