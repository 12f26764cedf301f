"""The scheduler as a Python object: the scheduler interface without a network.

    from remuda.edges.inproc import InProcessScheduler

    with InProcessScheduler() as scheduler:
        scheduler.register_resource_manager(request, callback)
        scheduler.update_node(...)

Requests and responses are the messages of ``remuda.si.pb.si_pb2``. A callback is any object
with some of the methods ``update_allocation(response)``, ``update_application(response)``,
``update_node(response)``, ``update_container_scheduling_state(request)``, ``predicates(args)``,
``nodes_predicates(items)``, ``preemption_predicates(args)``, ``send_event(records)`` and
``get_state_dump()``, which returns a JSON object as text; one that is missing is not called.
Without predicates every node is accepted, and every choice of victims; ``remuda.edges.predicates``
and ``remuda.edges.preemption`` say how they are asked. ``update_container_scheduling_state`` gets
each ask that waits only because the cluster is too small, once, as an
UpdateContainerSchedulingStateRequest (SI-82).

The update methods and predicates are called on the core thread, one after another, in the
order of the decisions. They may send requests, which never waits there, but must not wait for
the scheduler. ``send_event`` is called about every two seconds on a thread of its own, and
``get_state_dump`` on one whenever somebody asks for a dump. An RM that sets ``rm.userEventsOnly``
in its extra map gets only the events that people are shown (EVT-93).
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from remuda.base.errors import ConfigError, ProtocolError
from remuda.config.load import load_configuration
from remuda.config.process_limits import DEFAULT_LIMITS, Limits
from remuda.config.schema import Load
from remuda.config.settings import RESERVATION_DELAY_NS
from remuda.core.messages.effects import ContainerStateUpdated, Effect, EventRecord
from remuda.edges.predicates import port_of
from remuda.edges.preemption import preemption_port_of
from remuda.runtime.configuration.configurations import ConfigurationChange
from remuda.runtime.configuration.documents import StoredDocuments
from remuda.runtime.configuration.process_settings import ProcessSettings
from remuda.runtime.driver import Removed
from remuda.runtime.dumps import DumpSource, call_on_thread
from remuda.runtime.event_feed import EventFeed
from remuda.runtime.journal import JournalWriter
from remuda.runtime.loop import SchedulerLoop
from remuda.runtime.roster import IN_PROCESS
from remuda.runtime.users.choice import Resolvers
from remuda.runtime.users.ldap_settings import DIRECTORY as LDAP_DIRECTORY
from remuda.si.codec_in import RequestReader, configuration_update, registration
from remuda.si.codec_out import ResponseWriter, container_state, event_message
from remuda.si.generation import SI_LEVEL
from remuda.si.pb import si_pb2 as si
from remuda.si.wire import Response

_log = logging.getLogger("remuda.si")


class InProcessScheduler:
    """A scheduler in this process, or a way into one that already runs.

    Args:
        core: a running loop to attach to; without it one is started, and ended by ``stop``.
        load: turns configuration text into a configuration; of the empty text it makes the
            one that counts for RMs without a configuration, unless ``core`` has documents.
        record: file to record all inputs to, for ``remuda replay``; recordings that it
            holds already are kept. Only without ``core``.
        ldap_settings: directory with the settings of the LDAP resolver. Only without ``core``.
        reservation_delay_ns: how old an ask must be to reserve a node (RSV-3), in nanoseconds;
            None: never. Only without ``core``.
        limits: how much each partition may keep (SI-14), by the names in
            ``config.process_limits``. Only without ``core``.

    Every method may be called from any thread; those that wait for an answer refuse to be
    called from a callback. Use as a context manager, or call ``stop``.

    Rules: chapter 70 section 3, SI-80, SI-81, SI-82, SI-83, SI-85, SI-86, SI-87, SI-88, PRE-26,
    RM-1, RM-2, RM-5, RM-9, RM-11, RM-19, RM-20.
    """

    def __init__(
        self,
        *,
        core: SchedulerLoop | None = None,
        load: Load = load_configuration,
        record: Path | None = None,
        ldap_settings: Path = LDAP_DIRECTORY,
        reservation_delay_ns: int | None = RESERVATION_DELAY_NS,
        limits: Limits = DEFAULT_LIMITS,
    ) -> None:
        self._owned = core is None
        self._bindings: dict[str, _Binding] = {}
        self._registering = threading.Lock()
        if core is None:
            resolvers = Resolvers(ldap_settings)
            stored = resolvers.guarded(load)("")
            core = SchedulerLoop(
                recorder=None if record is None else JournalWriter(record),
                documents=StoredDocuments(stored),
                resolvers=resolvers,
                reservation_delay_ns=reservation_delay_ns,
                limits=limits,
            )
            core.configurations.watch(ProcessSettings())
            core.start()
        self._core = core
        self._load = core.configurations.loading(load)

    @property
    def core(self) -> SchedulerLoop:
        """The loop behind this object, for queries and observers."""
        return self._core

    def register_resource_manager(
        self, request: si.RegisterResourceManagerRequest, callback: object = None
    ) -> si.RegisterResourceManagerResponse:
        """Register an RM, or replace it with all it owns; returns when it takes requests.

        Raises: ConfigError, ProtocolError with the cause. Rules: RM-1, RM-2, RM-9, RM-13.
        """
        self._refuse_on_core_thread("register_resource_manager")
        level = request.buildInfo.get(SI_LEVEL, "")
        binding = _Binding(self._core, request.rmID, callback, level)
        with self._registering, self._core.connections.arriving(request.rmID, IN_PROCESS):
            try:
                command = registration(
                    request,
                    self._load,
                    predicates=binding.predicates is not None,
                    preemption=binding.preemption is not None,
                )
            except (ConfigError, ProtocolError):
                binding.close()
                self._forget(request.rmID)
                raise
            answer = self._core.register(
                command,
                binding.receive,
                binding.predicates,
                preemption=binding.preemption,
                stored=not request.config,
                ended=binding.end,
                events=binding.events,
                records=_never,
            ).result()
            self._replace_binding(request.rmID, None if answer.reason else binding)
            if not answer.reason:
                self._core.dumps.offer(request.rmID, binding.dump_source)
                if binding.over:  # another one has taken over meanwhile
                    self._core.dumps.withdraw(request.rmID, binding.dump_source)
        if answer.reason:
            binding.close()
            raise ProtocolError(f"{answer.reason} ({answer.rule})")
        return si.RegisterResourceManagerResponse()

    def unregister_resource_manager(self, rm_id: str) -> Removed:
        """Remove an RM with all it owns, and count that; nothing is sent to it (RM-19).

        Raises: ProtocolError if it is not registered.
        """
        self._refuse_on_core_thread("unregister_resource_manager")
        removed = self._core.unregister(rm_id).result()
        self._replace_binding(rm_id, None)
        return removed

    def update_application(self, request: si.ApplicationRequest) -> None:
        """Add and remove applications.

        Raises: ProtocolError, LoopStoppedError. Rules: SI-1, SI-20, SI-29.
        """
        binding = self._binding(request.rmID)
        self._core.submit(binding.reader.applications(request), binding.check)

    def update_allocation(self, request: si.AllocationRequest) -> None:
        """Ask, report what runs, release and confirm.

        Raises: ProtocolError, LoopStoppedError. Rules: SI-1, SI-31, SI-40, SI-50, SI-60.
        """
        binding = self._binding(request.rmID)
        self._core.submit(binding.reader.allocations(request), binding.check)

    def update_node(self, request: si.NodeRequest) -> None:
        """Add, change, drain and remove nodes.

        Raises: ProtocolError, LoopStoppedError. Rules: SI-1, chapter 70 section 9.
        """
        binding = self._binding(request.rmID)
        self._core.submit(binding.reader.nodes(request), binding.check)

    def update_configuration(self, request: si.UpdateConfigurationRequest) -> ConfigurationChange:
        """Replace the configuration of an RM while it runs; returns when all is in force.

        The extra map is replaced in any case, the queues only if the text is another one. An
        empty text means the stored document of the policy group the RM registered with.

        Raises: ConfigError, and nothing has changed; ProtocolError.
        Rules: SI-85, SI-86, SI-87, SI-88, RM-5, CFG-3, CFG-4, CHK-5.
        """
        self._refuse_on_core_thread("update_configuration")
        self._binding(request.rmID)
        command = configuration_update(request, self._load)
        stored = not request.config
        change = self._core.configurations.update(command, stored=stored).result()
        change.raise_if_refused()
        return change

    def takes_requests(self, rm_id: str) -> bool:
        """Whether an RM registered here still is: nobody replaced or removed it. Rules: RM-9."""
        binding = self._bindings.get(rm_id)
        return binding is not None and not binding.over and self._core.registered(rm_id)

    def wait_idle(self, timeout: float = 10.0) -> None:
        """Wait until all requests are processed, nothing can be placed and all was called back.

        Raises: TimeoutError after ``timeout`` seconds, LoopStoppedError.
        """
        self._refuse_on_core_thread("wait_idle")
        self._core.idle().result(timeout)
        for binding in list(self._bindings.values()):
            binding.flush_events()

    def stop(self) -> None:
        """End the scheduler, or take this object's RMs out of a shared one. State is lost.

        Rules: RM-20.
        """
        if self._owned:
            self._core.stop()
        for rm_id, binding in list(self._bindings.items()):
            if binding.over:
                self._replace_binding(rm_id, None)
            else:
                self._forget(rm_id)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.stop()

    def _binding(self, rm_id: str) -> _Binding:
        binding = self._bindings.get(rm_id)
        if binding is None:
            raise _not_registered(rm_id)
        binding.check()
        return binding

    def _forget(self, rm_id: str) -> None:
        """Unregister an RM of ours if it still is one. Rules: RM-13."""
        if not self._core.on_core_thread():
            self._core.unregister(rm_id).exception()
        self._replace_binding(rm_id, None)

    def _replace_binding(self, rm_id: str, binding: _Binding | None) -> None:
        old = self._bindings.pop(rm_id, None)
        if old is not None:
            old.close()
        if binding is not None:
            self._bindings[rm_id] = binding

    def _refuse_on_core_thread(self, method: str) -> None:
        if self._core.on_core_thread():
            raise ProtocolError(
                f"{method} waits for the scheduler and cannot be called from a callback (SI-9)"
            )


def _not_registered(rm_id: str) -> ProtocolError:
    return ProtocolError(
        f"resource manager {rm_id!r} is not registered; call register_resource_manager first (RM-2)"
    )


class _Binding:
    """One registration of an RM in this process: its callback, and the translation both ways."""

    def __init__(self, core: SchedulerLoop, rm_id: str, callback: object, level: str) -> None:
        self._core = core
        self._rm_id = rm_id
        self.over = False
        self.reader = RequestReader(rm_id, level)
        self._writer = ResponseWriter(self.reader.generation)
        self._calls: dict[type[Response], Callable[[Any], object]] = {}
        for kind, name in (
            (si.AllocationResponse, "update_allocation"),
            (si.ApplicationResponse, "update_application"),
            (si.NodeResponse, "update_node"),
        ):
            method = getattr(callback, name, None)
            if method is not None:
                self._calls[kind] = method
        self._report_state = getattr(callback, "update_container_scheduling_state", None)
        self.predicates = port_of(callback)
        self.preemption = preemption_port_of(callback)
        self._dump_state = getattr(callback, "get_state_dump", None)
        self.dump_source: DumpSource | None = None if self._dump_state is None else self._dump
        self._dumping: Future[str] | None = None
        send = getattr(callback, "send_event", None)
        self._feed = None if send is None else EventFeed(core.feeds, _sender(send))
        self.events = None if self._feed is None else self._feed.store

    def end(self) -> None:
        """The registration has ended; later messages belong to another one. Core thread."""
        self.over = True
        self._core.dumps.withdraw(self._rm_id, self.dump_source)

    def check(self) -> None:
        """Raise ProtocolError unless requests to this registration are taken. Rules: RM-2, RM-9."""
        if self.over or not self._core.registered(self._rm_id):
            raise _not_registered(self._rm_id)

    def receive(self, effects: Sequence[Effect]) -> None:
        """Call back with what these effects make, in order. Core thread. Rules: SI-7, SI-82."""
        start = 0
        if self._report_state is not None:
            for place, effect in enumerate(effects):
                if isinstance(effect, ContainerStateUpdated):
                    self._respond(effects[start:place])
                    _call(self._report_state, container_state(effect))
                    start = place + 1
        self._respond(effects[start:] if start else effects)

    def _respond(self, effects: Sequence[Effect]) -> None:
        if not self._calls:
            return
        for response in self._writer.responses(effects):
            call = self._calls.get(type(response))
            if call is not None:
                _call(call, response)

    def _dump(self, _budget_seconds: float) -> Future[str]:
        """Call back for a state dump, on a thread of its own. Rules: SI-84."""
        assert self._dump_state is not None
        if self._dumping is not None and not self._dumping.done():
            raise ProtocolError("the last call of get_state_dump has not returned yet")
        self._dumping = call_on_thread(self._dump_state, "remuda-state-dump")
        return self._dumping

    def flush_events(self) -> None:
        """Send at once the events that have gathered."""
        if self._feed is not None:
            self._feed.flush()

    def close(self) -> None:
        """End the event thread."""
        if self._feed is not None:
            self._feed.close()


def _never() -> bool:
    """Event records come from their store (SI-83), not among the effects."""
    return False


def _call(call: Callable[[Any], object], argument: object) -> None:
    """Call back; an error is logged and otherwise ignored. Implements: SI-8."""
    try:
        call(argument)
    except Exception as error:  # noqa: BLE001 - theirs, not ours (SI-8)
        _log.error("a callback of the resource manager failed, ignored: %r", error)
        _log.debug("traceback of the callback", exc_info=True)


def _sender(
    send: Callable[[list[si.EventRecord]], object],
) -> Callable[[Sequence[EventRecord]], None]:
    def translate_and_send(records: Sequence[EventRecord]) -> None:
        send([event_message(record) for record in records])

    return translate_and_send
