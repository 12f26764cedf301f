"""The composition root: builds everything `remuda serve` consists of, runs it, takes it down.

Two threads do the work: the core thread inside SchedulerLoop, and the edge thread, which is the
main thread with one asyncio event loop for gRPC, REST and the demo; ADR 7 names those that only
wait for others. Files are checked before anything starts. SIGTERM, Ctrl-C, a given duration or a
fault of the scheduler ends the process. It stops in the same order each time: demo, edges, core.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import socket
import sys
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AsyncExitStack, contextmanager
from dataclasses import field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias

import remuda
from remuda.base.errors import UsageError
from remuda.base.message import message
from remuda.config.load import load_configuration
from remuda.config.process_limits import DEFAULT_LIMITS, Limits
from remuda.config.schema import Configuration, built_in
from remuda.config.settings import RESERVATION_DELAY_NS
from remuda.edges.access_file import AccessFile
from remuda.edges.addresses import Address, address_text, is_loopback
from remuda.edges.callers import KnownCallers
from remuda.edges.event_loop import event_loop
from remuda.edges.grpc.server import GrpcServer
from remuda.edges.grpc.settings import ADDRESS_CONNECTIONS, JOURNAL_FOLLOWERS, GrpcSettings
from remuda.edges.lease.etcd import keeper
from remuda.edges.lease.keeper import LeaseKeeper
from remuda.edges.lease.settings import LeaseSettings
from remuda.edges.observation import Observation, ObservationSettings
from remuda.edges.protection import Files, Protection, read_protection
from remuda.edges.rest.transport.app import build_app
from remuda.edges.rest.transport.hosts import own_hosts
from remuda.edges.rest.transport.server import ADDRESS_LIMIT, RestServer
from remuda.edges.supervisor import Supervisor
from remuda.local.settings import LocalSettings
from remuda.runtime.configuration.documents import StoredDocuments
from remuda.runtime.configuration.file import ConfigurationFile
from remuda.runtime.configuration.followed_file import INTERVAL_SECONDS, Mark, mark_of
from remuda.runtime.configuration.process_settings import ProcessSettings
from remuda.runtime.configuration.text import read_configuration, read_configuration_again
from remuda.runtime.errors import LoopStoppedError, RecordingError
from remuda.runtime.fault_points import scheduler_factory
from remuda.runtime.fault_reports import FaultReports
from remuda.runtime.faults import Reporter, no_report
from remuda.runtime.interpreter import tune_interpreter
from remuda.runtime.journal import JournalWriter
from remuda.runtime.journals.layout import JournalBounds
from remuda.runtime.journals.writer import Journal
from remuda.runtime.loop import SchedulerLoop
from remuda.runtime.ports import Recorder
from remuda.runtime.users.choice import Resolvers
from remuda.runtime.users.ldap_settings import read_settings
from remuda.telemetry.audit.log import AuditLog, AuditSettings
from remuda.telemetry.audit.records import DONE, REFUSED, RELOAD_CONFIGURATION, Record
from remuda.telemetry.descriptors import raise_limit
from remuda.telemetry.memory_limits import save_addresses
from remuda.telemetry.pulse import Pulse
from remuda.telemetry.tracing import Tracing, open_tracing

if TYPE_CHECKING:
    from remuda.local.node import LocalNode

_log = logging.getLogger("remuda.config")

# How long open calls may go on when the lease is given back; a standby waits meanwhile.
_HAND_OVER_SECONDS: Final = 0.2


@message
class Settings:
    """What `remuda serve` was told. Addresses are (host, port); port 0 means a free one.

    ``ldap_settings`` None: they are where a cluster mounts them, if a configuration needs them.
    ``reservation_delay_ns`` None: nodes are never reserved (RSV-3). ``limits``: how much each
    partition may keep (SI-14). ``grpc_files`` and ``rest_files`` keep strangers out (EXT-23,
    REST-1). ``debug`` off: the HTTP API has no dumps and profiles (REST-55). ``tracing``: calls,
    requests and steps become spans, for OpenTelemetry as its variables say. ``rest_hosts``: names
    by which HTTP clients may call, besides its own (REST-145). ``grpc_connections``,
    ``rest_connections``: of one address, 0: any number. ``audit``: where records of what matters
    for security are kept (EXT-26). ``journal``, ``journal_bounds``: where every input is kept, and
    how long (EXT-50). ``journal_followers``: how many may follow it at a time (EXT-163).
    ``fault_reports``: where reports about faults of the scheduler are written (SI-15); None:
    nowhere, its log has them. ``lease``: the one by which the active process is chosen (EXT-34);
    None: this one is alone. ``local``: this machine is a node, on which commands run (EXT-102);
    None: it is not.
    """

    config: Path | None
    grpc_address: Address
    rest_address: Address
    rest_cors: bool
    demo: bool
    duration_seconds: float | None
    record: Path | None
    journal: Path | None = None
    journal_bounds: JournalBounds = field(default_factory=JournalBounds)
    journal_followers: int = JOURNAL_FOLLOWERS
    watch: bool = True
    ldap_settings: Path | None = None
    reservation_delay_ns: int | None = RESERVATION_DELAY_NS
    limits: Limits = field(default_factory=lambda: DEFAULT_LIMITS)
    grpc_files: Files = field(default_factory=Files)
    rest_files: Files = field(default_factory=Files)
    debug: bool = True
    observation: ObservationSettings = field(default_factory=ObservationSettings)
    tracing: bool = False
    rest_hosts: str = ""
    grpc_connections: int = ADDRESS_CONNECTIONS
    rest_connections: int = ADDRESS_LIMIT
    audit: AuditSettings = field(default_factory=AuditSettings)
    fault_reports: Path | None = None
    lease: LeaseSettings | None = None
    local: LocalSettings | None = None


# What runs beside the service, on its loop; gets the address of the gRPC listener. The service ends
# when it does.
Beside: TypeAlias = Callable[[str], Awaitable[None]]


def run(settings: Settings, beside: Beside | None = None) -> None:
    """Serve until told to stop. ``beside``: a resource manager that runs in this process.

    Raises: ConfigError, UsageError for files and addresses that cannot be used,
        LoopStoppedError if the scheduler stopped itself after a fault, RecordingError if the
        recording is not complete.
    """
    logging.basicConfig(format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    for handler in logging.getLogger().handlers:
        handler.addFilter(_is_no_cut_off_call)
    logging.getLogger("remuda").setLevel(logging.INFO)
    raise_limit()
    save_addresses()
    mark = None if settings.config is None else mark_of(settings.config)
    stored = built_in() if settings.config is None else read_configuration(settings.config)
    resolvers = _resolvers(settings.ldap_settings)
    resolvers.require(stored, str(settings.config))
    make_scheduler = scheduler_factory(os.environ)
    protection = read_protection(settings.grpc_files, settings.rest_files)
    _require_local_door(settings)
    _require_writable("--event-dir", settings.observation.event_directory)
    _require_writable("--fault-reports", settings.fault_reports)
    audit = AuditLog(settings.audit.files(), syslog=settings.audit.sender())
    tracing = open_tracing(os.environ) if settings.tracing else None
    with (
        listen("gRPC", settings.grpc_address) as probe,
        listen("REST", settings.rest_address) as listener,
    ):
        probe.close()
        recorder = _recorder(settings)
        core = SchedulerLoop(
            make_scheduler,
            recorder=recorder,
            documents=StoredDocuments(stored),
            resolvers=resolvers,
            reservation_delay_ns=settings.reservation_delay_ns,
            limits=settings.limits,
            contain=_reporter(settings.fault_reports),
        )
        core.configurations.watch(ProcessSettings())
        file = (
            None if settings.config is None else _file(settings, settings.config, core, mark, audit)
        )
        try:
            with asyncio.Runner(loop_factory=event_loop) as runner:
                runner.run(
                    _serve(
                        settings,
                        core,
                        file,
                        listener,
                        protection,
                        audit=audit,
                        tracing=tracing,
                        beside=beside,
                    )
                )
        finally:
            core.stop()
            if tracing is not None:
                tracing.close()
            if core.failed:
                raise LoopStoppedError(f"stopped after a fault of the scheduler: {core.failure}")
        if recorder is not None and recorder.failure:
            raise RecordingError(recorder.failure)


def _require_local_door(settings: Settings) -> None:
    """Raise UsageError for a local node that strangers could reach. Rules: EXT-111."""
    open_to_all = settings.rest_files.access is None
    if settings.local is not None and open_to_all and not is_loopback(settings.rest_address[0]):
        address = address_text(settings.rest_address)
        raise UsageError(
            f"--local-node with --rest-address {address} would run commands for other machines;"
            " listen on 127.0.0.1, or name who may call with --rest-access"
        )


def _recorder(settings: Settings) -> Recorder | None:
    """Return what records all inputs, None if nothing does. Raises: UsageError. Rules: EXT-50."""
    if settings.journal is not None:
        return Journal(settings.journal, settings.journal_bounds)
    return None if settings.record is None else JournalWriter(settings.record)


def _require_writable(option: str, directory: Path | None) -> None:
    """Raise UsageError for a directory that cannot be used. Rules: EVT-132, SI-15."""
    if directory is None:
        return
    if not directory.is_dir():
        raise UsageError(f"{option} {directory}: is no directory; make it first")
    if not os.access(directory, os.W_OK | os.X_OK):
        raise UsageError(f"{option} {directory}: this user may not write there")


def _reporter(directory: Path | None) -> Reporter:
    """Return what writes reports about faults. Rules: SI-15."""
    return no_report if directory is None else FaultReports(directory)


def _is_no_cut_off_call(record: logging.LogRecord) -> bool:
    """Whether a record is something else than a call that ended because the service does.

    The gRPC library may log a traceback for each stream that is open then.
    """
    return record.exc_info is None or record.exc_info[0] is not asyncio.CancelledError


def _resolvers(ldap_settings: Path | None) -> Resolvers:
    """Return what makes the resolvers of users; settings that are named have to be good.

    Raises: UsageError. Rules: UGR-26.
    """
    if ldap_settings is None:
        return Resolvers()
    read_settings(ldap_settings)
    return Resolvers(ldap_settings)


def _file(
    settings: Settings, path: Path, core: SchedulerLoop, mark: Mark, audit: AuditLog
) -> ConfigurationFile:
    """Return what keeps the default document in step with its file (RM-5)."""

    def reloaded(refusal: str) -> None:
        outcome = REFUSED if refusal else DONE
        audit.record(Record(RELOAD_CONFIGURATION, outcome, target=str(path), reason=refusal))

    return ConfigurationFile(
        path,
        partial(_read, path, core),
        core.configurations,
        mark=mark,
        interval_seconds=INTERVAL_SECONDS if settings.watch else None,
        reloaded=reloaded,
    )


def _read(path: Path, core: SchedulerLoop) -> Configuration:
    """Read the file anew. Raises: ConfigError, UsageError."""
    return core.configurations.ready(read_configuration_again(path), str(path))


def _announce(grpc_address: str, rest_address: str, *, tls: bool) -> None:
    """Say where the service listens, and to a person where its web interface is."""
    print(f"listening grpc={grpc_address} rest={rest_address}", flush=True)  # noqa: T201
    if sys.stdout.isatty():
        scheme = "https" if tls else "http"
        print(f"web interface: {scheme}://{rest_address}/ui/", flush=True)  # noqa: T201


async def _serve(
    settings: Settings,
    core: SchedulerLoop,
    file: ConfigurationFile | None,
    listener: socket.socket,
    protection: Protection,
    *,
    audit: AuditLog,
    tracing: Tracing | None,
    beside: Beside | None,
) -> None:
    """Start the parts, say where they listen, wait for the end, stop the parts."""
    callers, readers = protection.known_callers(audit.record)
    followed: list[ConfigurationFile | AccessFile] = [] if file is None else [file]
    followed += protection.access_files(callers, readers, audit.record)
    stop = stop_on_signals([each.tell for each in followed])
    async with AsyncExitStack() as running:
        local = _local(settings, core, readers, audit, running)
        running.enter_context(hangups_let_in())
        running.enter_context(audit.kept(f"remuda {remuda.__version__}"))
        lease = keeper(settings.lease) if settings.lease else None
        observed = Observation(core, settings.observation, [audit.add], lease)
        running.callback(observed.stop)
        if tracing is not None:
            core.watch_steps(tracing.steps.watch)
        core.start()
        running.callback(core.stop)
        observed.start()
        grpc_server = GrpcServer(
            core,
            load_configuration,
            _grpc_settings(settings),
            credentials=protection.grpc.credentials,
            callers=None if callers.everybody else callers,
            dump=observed.dump,
            measurements=observed.measurements,
            insight=observed.insight,
            tracing=tracing,
            audit=audit.record,
            fence=None if lease is None else lease.fence,
            journal=settings.journal,
        )
        grpc_address = await grpc_server.start(address_text(settings.grpc_address))
        running.push_async_callback(grpc_server.stop)
        rest_server = RestServer(
            build_app(
                core,
                more={**observed.routes, **({} if local is None else local.routes)},
                cors=settings.rest_cors,
                observer=observed.metrics.requests.observe,
                callers=readers,
                debug=settings.debug,
                tracing=tracing,
                hosts=own_hosts(settings.rest_hosts, settings.rest_address[0]),
                audit=audit.record,
                scarce=observed.memory.scarce,
            ),
            listener,
            tls=protection.rest_tls,
            address_limit=settings.rest_connections,
        )
        await rest_server.start()
        running.push_async_callback(rest_server.stop)
        running.callback(observed.end_streams)
        rest_address = address_text(listener.getsockname()[:2])
        tune_interpreter()
        if local is not None:
            await asyncio.to_thread(local.start, rest_address, tls=bool(protection.rest_tls))
        protection.warn(settings.grpc_address, settings.rest_address)
        _announce(grpc_address, rest_address, tls=bool(protection.rest_tls))
        supervisor = Supervisor()
        supervisor.ready(f"listening grpc={grpc_address} rest={rest_address}")
        running.callback(supervisor.stopping)
        for kept in (supervisor.keep(Pulse(core)), observed.keep()):
            running.callback(asyncio.create_task(kept).cancel)
        fault: asyncio.Future[None] = asyncio.wrap_future(core.ended)
        ends: list[Awaitable[object]] = [stop.wait(), fault, *[each.keep() for each in followed]]
        if lease is not None:
            running.push_async_callback(_hand_over, lease, core, grpc_server)
            ends.append(lease.lead(grpc_address, grpc_server.serve))
        ends += _parts(settings, core, tracing, local, beside and beside(grpc_address))
        await first(ends, settings.duration_seconds)


async def _hand_over(lease: LeaseKeeper, core: SchedulerLoop, server: GrpcServer) -> None:
    """End the streams, then give the lease back, so that a standby takes over at once.

    A process that has lost the lease decides nothing any more, before all else. Rules: EXT-38.
    """
    if lease.fence.closed:
        core.stop()
    await server.stop(_HAND_OVER_SECONDS)
    await lease.give_back()


def stop_on_signals(read_again: list[Callable[[], None]]) -> asyncio.Event:
    """Return an event that SIGTERM and Ctrl-C set; a second signal ends the process at once.

    SIGHUP has the configuration and the files of identities read again.
    """
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()

    def told() -> None:
        stop.set()
        for each in (signal.SIGTERM, signal.SIGINT):
            loop.remove_signal_handler(each)

    for each in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(each, told)

    def hung_up() -> None:
        for tell in read_again or [_no_file]:
            tell()

    loop.add_signal_handler(signal.SIGHUP, hung_up)
    return stop


@contextmanager
def hangups_let_in() -> Iterator[None]:
    """Let SIGHUP in while there is a handler.

    Without a handler the signal would end the process, so it is blocked before and after. A signal
    that was blocked arrives now.
    """
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGHUP])
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGHUP])


def _no_file() -> None:
    _log.warning("SIGHUP without effect: started without --config, there is no file to read")


def listen(purpose: str, address: Address) -> socket.socket:
    """Return a listening socket. Raises: UsageError, one line, if the address cannot be used.

    The gRPC library binds its own and complains at length; trying first gives the reason.
    """
    family = socket.AF_INET6 if ":" in address[0] else socket.AF_INET
    try:
        return socket.create_server(address, family=family)
    except OSError as error:
        reason = (error.strerror or str(error)).partition(" (while")[0]
        raise UsageError(
            f"cannot listen on {address_text(address)} for {purpose}: {reason}"
        ) from None


def _grpc_settings(settings: Settings) -> GrpcSettings:
    """Return the limits of the gRPC listener."""
    return GrpcSettings(
        address_connections_limit=settings.grpc_connections,
        journal_followers_limit=settings.journal_followers,
    )


def _parts(
    settings: Settings,
    core: SchedulerLoop,
    tracing: Tracing | None,
    local: LocalNode | None,
    beside: Awaitable[None] | None,
) -> Iterator[Awaitable[object]]:
    """Yield what runs beside the service, because its options or its caller say so."""
    if beside is not None:
        yield beside
    if tracing is not None:
        yield tracing.keep()
    if settings.demo:
        yield _demo(settings, core)
    if local is not None:
        yield local.keep()


def _local(
    settings: Settings,
    core: SchedulerLoop,
    readers: KnownCallers,
    audit: AuditLog,
    running: AsyncExitStack,
) -> LocalNode | None:
    """Return this machine as a node, if that is wanted. Raises: UsageError. Rules: EXT-102."""
    if settings.local is None:
        return None
    from remuda.local.node import LocalNode  # noqa: PLC0415 - rarely wanted

    known = not readers.everybody
    node = LocalNode(settings.local, core, known_callers=known, audit=audit.record)
    return running.enter_context(node)


async def _demo(settings: Settings, core: SchedulerLoop) -> None:
    """Run the embedded cluster until cancelled."""
    from remuda.demo.run import demo_configuration, run_demo  # noqa: PLC0415 - rarely wanted
    from remuda.demo.status import display  # noqa: PLC0415
    from remuda.edges.inproc import InProcessScheduler  # noqa: PLC0415

    config = "" if settings.config else demo_configuration()
    with InProcessScheduler(core=core) as scheduler:
        await run_demo(scheduler, config, display())


async def first(ends: list[Awaitable[object]], seconds: float | None) -> None:
    """Wait until the first of ``ends`` is over or the time is up, then cancel the others.

    Raises: what the first one raised.
    """
    tasks = [asyncio.ensure_future(end) for end in ends]
    done, rest = await asyncio.wait(tasks, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
    for task in rest:
        task.cancel()
    await asyncio.gather(*rest, return_exceptions=True)
    errors = [error for error in [task.exception() for task in done] if error is not None]
    if errors:
        raise errors[0]
