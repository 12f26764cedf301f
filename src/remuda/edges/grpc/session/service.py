"""The session service: handshakes, and the sessions that can be resumed.

A stream begins with Hello: a registration, a resumption, or callbacks for an RM that registered over
the plain streams (EXT-2). Event loop of the server.
"""

from __future__ import annotations

import asyncio
import contextlib
import uuid
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Final

import grpc

import remuda
from remuda.base.errors import ConfigError, ProtocolError
from remuda.config.schema import Load
from remuda.core.messages.commands import RegisterResourceManager
from remuda.edges.grpc.refusals import Context, one_line
from remuda.edges.grpc.session.binding import Binding, Configure, Surroundings, now_ns
from remuda.edges.grpc.session.carrier import StreamCarrier, say
from remuda.edges.grpc.session.homes import OwnRegistration, Streams
from remuda.edges.grpc.settings import GrpcSettings
from remuda.edges.grpc.wishes import Wishes
from remuda.runtime.driver import Removed
from remuda.runtime.loop import SchedulerLoop
from remuda.runtime.roster import SESSION
from remuda.si.codec_in import registration
from remuda.si.pb import extension_pb2 as ext
from remuda.si.session.errors import SessionError, resync
from remuda.si.session.handshake import Identity, Standing, hello_of, welcome
from remuda.si.session.terms import HANDSHAKE_NS, PREDICATES, Terms, agree

SERVICE: Final = "remuda.v1.ResourceManagerSession"

_HANDSHAKE_SECONDS: Final = HANDSHAKE_NS / 1e9


class SessionService:
    """Serves ``remuda.v1.ResourceManagerSession``.

    Args:
        core: the running loop.
        load: turns configuration text into records.
        settings: limits of the server.
        registering: held while an RM registers or leaves (RM-11).
        streams: finds, and ends, what an RM has over the plain streams.
        unregister: removes an RM; must not be called while ``registering`` is held.
        configure: carries out a configuration update.
        wishes: what RMs set for themselves.
        core_uuid: changes with every process.

    Rules: EXT-1, EXT-2, EXT-9, EXT-11, EXT-12, RM-9, RM-11, RM-13.
    """

    def __init__(
        self,
        core: SchedulerLoop,
        load: Load,
        settings: GrpcSettings,
        *,
        registering: asyncio.Lock,
        streams: Streams,
        unregister: Callable[[str], Awaitable[Removed]],
        configure: Configure,
        wishes: Wishes,
        core_uuid: str,
    ) -> None:
        self._core = core
        self._load = load
        self._settings = settings
        self._registering = registering
        self._streams = streams
        self._unregister = unregister
        self._configure = configure
        self._wishes = wishes
        self._identity = Identity(remuda.__version__, core_uuid)
        self._bindings: dict[str, Binding] = {}

    def handlers(self) -> grpc.GenericRpcHandler:
        """Return the handlers of the service."""
        method = grpc.stream_stream_rpc_method_handler(self._connect)
        return grpc.method_handlers_generic_handler(SERVICE, {"Connect": method})

    def find(self, rm_id: str) -> Binding | None:
        """Return the session of an RM, None if it has none."""
        return self._bindings.get(rm_id)

    def end(self, rm_id: str, error: SessionError | None = None) -> None:
        """The registration of an RM is over, or another one takes its place. Rules: RM-9."""
        binding = self._bindings.pop(rm_id, None)
        if binding is not None:
            binding.finish(error)

    def stop(self) -> None:
        """Tell all RMs that the scheduler ends."""
        text = "the scheduler is being stopped"
        for binding in self._bindings.values():
            binding.dismiss(SessionError(text, ext.Goodbye.RESTARTING), text)

    # ------------------------------------------------------------------ handshake

    async def _connect(self, _requests: object, context: Context) -> None:
        carrier = StreamCarrier(context)
        try:
            async with asyncio.timeout(_HANDSHAKE_SECONDS):
                data: object = await context.read()
        except TimeoutError:
            text = f"no Hello came within {_HANDSHAKE_SECONDS:g} s"
            await say(context, SessionError(text))
            return
        if not isinstance(data, bytes):
            return
        try:
            beginning = asyncio.ensure_future(self._begin(hello_of(data), carrier))
            binding, first = await asyncio.shield(beginning)
        except SessionError as error:
            await say(context, error)
        except asyncio.CancelledError:
            # What has begun has to be brought to its end, and then the RM is away.
            beginning.add_done_callback(partial(_abandon, carrier))
            raise
        else:
            await carrier.run(binding, first)

    async def _begin(self, hello: ext.Hello, carrier: StreamCarrier) -> tuple[Binding, bytes]:
        """Return the session a Hello is about, and what to answer. Raises: SessionError."""
        terms = agree(hello, self._settings.session_features, self._settings.session_limits)
        start = hello.WhichOneof("start")
        command = await self._command(hello, terms) if start == "register" else None
        async with self._registering:
            if command is not None:
                binding = await self._register(command, hello, terms, carrier)
                received = None
            elif start == "attach":
                binding = await self._attach(hello.attach, terms, carrier)
                received = None
            else:
                binding = await self._resume(hello.resume, terms, carrier)
                received = binding.conversation.incoming.last
                terms = Terms(terms.minor, binding.terms.features, terms.limits)
        window_ns = self._wishes.pause_ns(binding.rm_id)
        standing = Standing(binding.session_id, received, window_ns)
        return binding, welcome(terms, standing, self._identity)

    async def _register(
        self,
        command: RegisterResourceManager,
        hello: ext.Hello,
        terms: Terms,
        carrier: StreamCarrier,
    ) -> Binding:
        """Register an RM and bind it; on failure it is unregistered. Rules: EXT-2, RM-9, RM-13."""
        rm_id = command.rm_id
        superseded = SessionError("the RM registered again", ext.Goodbye.SUPERSEDED)
        self.end(rm_id, superseded)
        self._streams.end(rm_id)
        binding = self._binding(rm_id, terms)
        home = OwnRegistration(self._core, binding)
        binding.make_port(home.hand_over)
        binding.home = home
        binding.carry(carrier)
        binding.conversation.begin(now_ns())
        answer = await asyncio.wrap_future(
            self._core.register(
                command,
                home.sink,
                binding.port,
                stored=not hello.register.config,
                transport=SESSION,
                ended=partial(self._over, binding, asyncio.get_running_loop()),
            )
        )
        if answer.reason:
            binding.finish()
            raise SessionError(answer.reason)
        self._bindings[rm_id] = binding
        return binding

    async def _command(self, hello: ext.Hello, terms: Terms) -> RegisterResourceManager:
        """Translate a registration. Raises: SessionError, and the RM is unregistered. RM-13."""
        request = hello.register
        asks = terms.has(PREDICATES)
        try:
            return await asyncio.to_thread(registration, request, self._load, predicates=asks)
        except (ConfigError, ProtocolError) as error:
            if self._core.registered(request.rmID):
                await asyncio.wrap_future(self._core.unregister(request.rmID))
            text = one_line(error) if isinstance(error, ConfigError) else str(error)
            raise SessionError(text) from None

    async def _resume(self, resume: ext.Resume, terms: Terms, carrier: StreamCarrier) -> Binding:
        """Go on with a session whose stream broke. Rules: EXT-9, EXT-11, RM-15."""
        binding = self._bindings.get(resume.rm_id)
        if binding is None or binding.session_id != resume.session_id:
            raise resync("no such session; register again")
        if binding.unusable:
            raise resync(binding.unusable)
        binding.carry(carrier)
        assert binding.home is not None
        try:
            binding.resume(terms, resume.last_seq)
            if not await binding.home.connected():
                raise resync("the registration of this session is over; register again")
        except SessionError as error:
            binding.drop(carrier, str(error))
            raise
        return binding

    async def _attach(self, attach: ext.Attach, terms: Terms, carrier: StreamCarrier) -> Binding:
        """Bind callbacks for an RM that registered through si.v1. Rules: EXT-2, EXT-11, EXT-12."""
        rm_id = attach.rm_id
        host = self._streams.find(rm_id)
        if host is None:
            raise resync(f"resource manager {rm_id[:300]!r} is not registered through si.v1")
        self.end(rm_id, SessionError("another stream took over", ext.Goodbye.SUPERSEDED))
        binding = self._binding(rm_id, terms, delivers=attach.deliver_responses)
        binding.make_port(host.hand_over)
        binding.carry(carrier)
        binding.conversation.begin(now_ns())
        binding.home = await host.host(binding)
        if not await binding.home.connected():
            binding.finish()
            raise resync("the registration of this RM is over; register again")
        self._bindings[rm_id] = binding
        return binding

    def _binding(self, rm_id: str, terms: Terms, *, delivers: bool = True) -> Binding:
        around = Surroundings(
            settings=self._settings,
            unregister=self._unregister,
            configure=self._configure,
            kept_limit=partial(self._wishes.kept_limit, rm_id),
        )
        session_id = str(uuid.uuid4())
        return Binding(self._core, rm_id, session_id, terms, around, delivers=delivers)

    # ------------------------------------------------------------------ registrations

    def _over(self, binding: Binding, loop: asyncio.AbstractEventLoop) -> None:
        """A registration is over, whoever ended it. Core thread. Rules: RM-9, RM-17."""
        binding.forbid()
        with contextlib.suppress(RuntimeError):  # the server may have ended
            loop.call_soon_threadsafe(self._drop, binding)

    def _drop(self, binding: Binding) -> None:
        binding.finish()
        if self._bindings.get(binding.rm_id) is binding:
            del self._bindings[binding.rm_id]


def _abandon(carrier: StreamCarrier, beginning: asyncio.Future[tuple[Binding, bytes]]) -> None:
    """The stream broke before its session began."""
    if not beginning.cancelled() and beginning.exception() is None:
        beginning.result()[0].drop(carrier, "its stream broke")
