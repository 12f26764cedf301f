"""The session service: handshakes, and the sessions that can be resumed.

A stream begins with Hello: a registration, a resumption, or callbacks for an RM that registered
over the plain streams (EXT-2). Event loop of the server.
"""

from __future__ import annotations

import asyncio
import contextlib
import uuid
from collections.abc import Callable, Mapping
from functools import partial
from typing import Final

import grpc

import remuda
from remuda.base.errors import ConfigError, ProtocolError
from remuda.config.schema import Configuration, Load
from remuda.config.settings import read_settings
from remuda.core.messages.commands import RegisterResourceManager
from remuda.edges.grpc.access import caller
from remuda.edges.grpc.audited import Lives, recorded
from remuda.edges.grpc.bindings.binding import Binding, Surroundings
from remuda.edges.grpc.bindings.carrier import StreamCarrier, say
from remuda.edges.grpc.bindings.guests import Guest
from remuda.edges.grpc.bindings.homes import OwnRegistration
from remuda.edges.grpc.refusals import Context, RefusalError, abort, one_line
from remuda.edges.grpc.registrations import Registration
from remuda.runtime.errors import LoopStoppedError, NotRegisteredError
from remuda.runtime.event_store import EventStore
from remuda.runtime.lease.fence import Fence
from remuda.runtime.loop import SchedulerLoop
from remuda.runtime.roster import SESSION
from remuda.si.codec_in import RequestReader, registration
from remuda.si.generation import SI_LEVEL
from remuda.si.pb import extension_pb2 as ext
from remuda.si.protocol.errors import SessionError, resync
from remuda.si.protocol.handshake import Identity, SessionState, hello_of, welcome
from remuda.si.protocol.terms import EVENTS, PREDICATES, PREEMPTION_PREDICATES, Terms, agree
from remuda.telemetry.audit.records import ATTACH, RESUME

SERVICE: Final = "remuda.v1.ResourceManagerSession"


class SessionService:
    """Serves ``remuda.v1.ResourceManagerSession``.

    Args:
        core: the running loop.
        load: turns configuration text into records.
        around: what sessions need besides; its ``unregister`` takes ``registering``.
        registering: held while an RM registers or leaves (RM-11).
        find_streams: finds what an RM has over the plain streams.
        end_streams: ends that.
        core_uuid: changes with every process.
        lives: records how registrations begin and end.
        fence: has the token that a Welcome tells; None: there is none.

    Rules: EXT-1, EXT-2, EXT-9, EXT-11, EXT-12, EXT-26, RM-9, RM-11, RM-13.
    """

    def __init__(
        self,
        core: SchedulerLoop,
        load: Load,
        around: Surroundings,
        *,
        registering: asyncio.Lock,
        find_streams: Callable[[str], Registration | None],
        end_streams: Callable[[str], None],
        core_uuid: str,
        lives: Lives,
        fence: Fence | None = None,
    ) -> None:
        self._core = core
        self._load = load
        self._around = around
        self._settings = around.settings
        self._registering = registering
        self._find_streams = find_streams
        self._end_streams = end_streams
        self._lives = lives
        self._fence = fence
        self._core_uuid = core_uuid
        self._bindings: dict[str, Binding] = {}
        core.configurations.watch(self._note_settings)

    def handlers(self) -> grpc.GenericRpcHandler:
        """Return the handlers of the service."""
        methods: dict[str, grpc.RpcMethodHandler[bytes, bytes]] = {
            "Connect": grpc.stream_stream_rpc_method_handler(self._connect)
        }
        return grpc.method_handlers_generic_handler(SERVICE, methods)

    def find(self, rm_id: str) -> Binding | None:
        """Return the session of an RM, None if it has none."""
        return self._bindings.get(rm_id)

    def stop(self) -> None:
        """Tell all RMs that the scheduler ends. Rules: RM-20."""
        text = "the scheduler is being stopped"
        for binding in self._bindings.values():
            binding.dismiss(SessionError(text, ext.Goodbye.RESTARTING), text)

    # ------------------------------------------------------------------ handshake

    async def _connect(self, _requests: object, context: Context) -> None:
        hello = await self._hello(context)
        if hello is None:
            return
        try:
            caller().require_registration(_rm_id(hello), hello.register.config)
        except RefusalError as refusal:
            await abort(context, refusal)
        carrier = StreamCarrier(context, self._around.unpack_thread)
        beginning = asyncio.ensure_future(self._begin(hello, carrier))
        try:
            binding, first = await asyncio.shield(beginning)
        except SessionError as error:
            await say(context, error)
        except LoopStoppedError as error:
            await abort(context, RefusalError(grpc.StatusCode.UNAVAILABLE, str(error)))
        except asyncio.CancelledError:
            # The beginning of the session must come to its end; then the RM is away.
            beginning.add_done_callback(partial(_abandon, carrier))
            raise
        else:
            await carrier.run(binding, first)

    async def _hello(self, context: Context) -> ext.Hello | None:
        """Return the first frame, None if the stream is refused or over. Implements: EXT-1."""
        seconds = self._settings.handshake_seconds
        try:
            async with asyncio.timeout(seconds):
                data: object = await context.read()
            return hello_of(data) if isinstance(data, bytes) else None
        except TimeoutError:
            await say(context, SessionError(f"no Hello came within {seconds:g} s"))
        except SessionError as error:
            await say(context, error)
        return None

    async def _begin(self, hello: ext.Hello, carrier: StreamCarrier) -> tuple[Binding, bytes]:
        """Return the session a Hello is about, and what to answer. Raises: SessionError."""
        terms = agree(hello, self._settings.session_features, self._settings.session_limits)
        start = hello.WhichOneof("start")
        received: int | None = None
        async with self._registering:
            if start == "register":
                binding = await self._register(hello, terms, carrier)
            elif start == "attach":
                with recorded(ATTACH, rm_id=hello.attach.rm_id):
                    binding = await self._attach(hello.attach, terms, carrier)
            else:
                with recorded(RESUME, rm_id=hello.resume.rm_id):
                    binding = await self._resume(hello.resume, terms, carrier)
                self._lives.carried(hello.resume.rm_id, SESSION)
                received = binding.conversation.incoming.last
                terms = Terms(terms.minor, binding.terms.features, terms.limits)
        state = SessionState(binding.session_id, received, binding.pause_ns)
        token = 0 if self._fence is None else self._fence.token
        return binding, welcome(terms, state, Identity(remuda.__version__, self._core_uuid, token))

    async def _register(self, hello: ext.Hello, terms: Terms, carrier: StreamCarrier) -> Binding:
        """Register an RM and bind it; on failure it is unregistered.

        Implements: EXT-2. Rules: RM-9, RM-13.
        """
        request = hello.register
        translate = partial(
            registration,
            predicates=terms.has(PREDICATES),
            preemption=terms.has(PREEMPTION_PREDICATES),
        )
        with (
            self._lives.registering(request.rmID, SESSION),
            self._core.connections.arriving(request.rmID, SESSION),
        ):
            try:
                command = await asyncio.to_thread(translate, request, self._load)
            except (ConfigError, ProtocolError) as error:
                await self._forget(request.rmID)
                text = one_line(error) if isinstance(error, ConfigError) else str(error)
                raise SessionError(text) from None
            return await self._enroll(command, terms, carrier, stored=not request.config)

    async def _enroll(
        self,
        command: RegisterResourceManager,
        terms: Terms,
        carrier: StreamCarrier,
        *,
        stored: bool,
    ) -> Binding:
        """Register an RM in the place of an earlier life. Rules: EXT-11, RM-9."""
        rm_id = command.rm_id
        self._end(rm_id, SessionError("the RM registered again", ext.Goodbye.SUPERSEDED))
        self._end_streams(rm_id)
        reader = RequestReader(rm_id, command.build_info.get(SI_LEVEL, ""))
        events = self._core.feeds.store(read=terms.has(EVENTS))
        binding = self._new(reader, terms, events)
        home = OwnRegistration(self._core, binding)
        binding.settle_at(home)
        self._bindings[rm_id] = binding
        answer = await asyncio.wrap_future(
            self._core.register(
                command,
                home.sink,
                binding.ports.nodes,
                preemption=binding.ports.victims,
                stored=stored,
                process_wide=caller().sets_process,
                transport=SESSION,
                ended=partial(self._over, binding, asyncio.get_running_loop()),
                events=events,
                records=partial(_wants_records, terms),
            )
        )
        if answer.reason:
            self._drop(binding)
            raise SessionError(answer.reason)
        binding.begin(carrier)
        return binding

    async def _attach(self, attach: ext.Attach, terms: Terms, carrier: StreamCarrier) -> Binding:
        """Bind callbacks for an RM that registered through si.v1. Rules: EXT-2, EXT-11, EXT-12."""
        rm_id = attach.rm_id
        host = self._find_streams(rm_id)
        if host is None:
            raise resync(f"resource manager {rm_id[:300]!r} is not registered through si.v1")
        delivers = attach.deliver_responses
        binding = self._new(host.reader, terms, host.events, delivers=delivers)
        binding.pause_ns, binding.outlet.kept_limit = host.pause_ns, host.outbound.limit
        guest = Guest(self._core, host, binding, partial(self._drop, binding))
        binding.settle_at(guest)
        self._bindings[rm_id] = binding
        binding.begin(carrier)
        await guest.come()
        if not await guest.connected():
            self._drop(binding)
            raise resync("the registration of this RM is over; register again")
        return binding

    async def _resume(self, resume: ext.Resume, terms: Terms, carrier: StreamCarrier) -> Binding:
        """Go on with a session whose stream broke. Rules: EXT-9, EXT-11, RM-15."""
        binding = self._bindings.get(resume.rm_id)
        if binding is None or binding.session_id != resume.session_id:
            raise resync("no such session; register again")
        try:
            binding.resume(carrier, terms, resume.last_seq)
            assert binding.home is not None
            if not await binding.home.connected():
                raise resync("the registration of this session is over; register again")
        except SessionError as error:
            binding.drop(carrier, str(error))
            raise
        return binding

    def _new(
        self, reader: RequestReader, terms: Terms, events: EventStore, *, delivers: bool = True
    ) -> Binding:
        return Binding(
            self._core,
            reader,
            str(uuid.uuid4()),
            terms,
            self._around,
            events=events,
            delivers=delivers,
        )

    # ------------------------------------------------------------------ registrations

    async def _forget(self, rm_id: str) -> None:
        """A registration failed: the RM is unregistered. Rules: RM-13."""
        self._end_streams(rm_id)
        self._end(rm_id, resync("a later registration failed; register again"))
        with contextlib.suppress(NotRegisteredError):
            await asyncio.wrap_future(self._core.unregister(rm_id))

    def _end(self, rm_id: str, error: SessionError) -> None:
        """End the session of an RM, because another registration takes its place. Rules: RM-9."""
        binding = self._bindings.pop(rm_id, None)
        if binding is not None:
            binding.finish(error)

    def _over(self, binding: Binding, loop: asyncio.AbstractEventLoop) -> None:
        """Handle the end of a registration, for any cause. Core thread. Rules: RM-9, RM-17."""
        binding.forbid()
        self._lives.over(binding.rm_id)
        with contextlib.suppress(RuntimeError):  # the server may have ended
            loop.call_soon_threadsafe(self._drop, binding)

    def _drop(self, binding: Binding) -> None:
        binding.finish()
        if self._bindings.get(binding.rm_id) is binding:
            del self._bindings[binding.rm_id]

    def _note_settings(
        self, rm_id: str, _config: Configuration, extra: Mapping[str, str] | None
    ) -> None:
        """Remember what an RM set for its connection. Core thread. Rules: RM-15, RM-18, KV-1."""
        binding = self._bindings.get(rm_id)
        if binding is not None and extra is not None:
            settings, _ = read_settings(extra)
            own = "rm.outboundLimit" in extra
            binding.outlet.kept_limit = settings.rm_outbound_limit if own else None
            binding.pause_ns = settings.rm_pause_timeout_ns


def _wants_records(terms: Terms) -> bool:
    """Whether a session looks at event records: to send them, or to know which nodes changed."""
    return terms.has(EVENTS) or terms.has(PREDICATES) or terms.has(PREEMPTION_PREDICATES)


def _rm_id(hello: ext.Hello) -> str:
    """Return which RM a Hello is about."""
    start = hello.WhichOneof("start")
    if start == "register":
        return hello.register.rmID
    return hello.attach.rm_id if start == "attach" else hello.resume.rm_id


def _abandon(carrier: StreamCarrier, beginning: asyncio.Future[tuple[Binding, bytes]]) -> None:
    """The stream broke before its session began."""
    if not beginning.cancelled() and beginning.exception() is None:
        beginning.result()[0].drop(carrier, "its stream broke")
